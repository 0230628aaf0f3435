//! What is an agent told, word for word?

use insta::assert_snapshot;

use super::{PLAN, git, repository};

#[test]
fn a_dry_run_shows_the_whole_prompt_and_does_nothing() {
    let config = "skills_enabled = true\nskills_budget_tokens = 400\n";
    let plan = "# Plan\n\n## Letters\n\n- [ ] Write a letter to the customers\n";
    let sandbox = repository(&[("PLAN.md", plan), (".maestro/config.toml", config)]);
    sandbox.skill(".claude/skills", "letters", "Writes letters. Use when a letter to customers is to be written.");
    // The paths in it count, too.
    let lengths = vec![(r"about \d+ tokens", "about N tokens")];
    insta::with_settings!({ filters => lengths }, {
    assert_snapshot!(sandbox.maestro("loop PLAN.md --agent demo --dry-run"), @r#"
    $ maestro loop PLAN.md --agent demo --dry-run
    # Do the task

    You do one task of a plan, from start to finish, in the current directory.
    - Do only this task. Report anything else you notice instead of changing it.
    - Read existing code before you change it, follow the conventions of this project, and check your work.
    - Do not edit the checklist and do not commit; both happen after your work has passed its gates.
    - If `reported_before` is given, an earlier session of this task said so. Its work is in the files and not committed; continue from there.
    - If `items`, `findings`, `failed_check` or `failed_together` are given, fix exactly these first. If a finding is wrong, say why in your report.
    - At the end report what you changed, how you checked it and what the check printed. If it is not done, say so.

    ## Selected Task

    Work on this specific task:
    > Write a letter to the customers
    (Section: Letters)

    It is line 5 of `PLAN.md`.

    The plan begins:

    > # Plan
    >
    > ## Letters


    <skills_system priority="1">

    ## Available Skills

    <!-- SKILLS_TABLE_START -->
    <usage>
    When users ask you to perform tasks, check if any of the available skills below can help complete the task more effectively. Skills provide specialized capabilities and domain knowledge.

    How to use skills:
    - Invoke: `maestro skills read <skill-name>` (run in your shell)
      - For multiple: `maestro skills read skill-one,skill-two`
    - The skill content will load with detailed instructions on how to complete the task
    - Base directory provided in output for resolving bundled resources (references/, scripts/, assets/)

    Usage notes:
    - Only use skills listed in <available_skills> below
    - Do not invoke a skill that is already loaded in your context
    - Each skill invocation is stateless
    </usage>

    <available_skills>

    <skill>
    <name>letters</name>
    <description>Writes letters. Use when a letter to customers is to be written.</description>
    <location>project</location>
    </skill>

    </available_skills>
    <!-- SKILLS_TABLE_END -->

    </skills_system>

    Reading: letters
    Base directory: [PROJECT]/.claude/skills/letters

    ---
    name: letters
    description: Writes letters. Use when a letter to customers is to be written.
    ---

    # How to

    Step by step.


    Skill read: letters

    `maestro skills select "…"` finds a skill for what you are about to do.

    ## Reporting

    What you print is not read; people and other agents see only what you report. Run these commands in your shell. They know your session and your task from variables such as `MAESTRO_SESSION_ID`, so leave those as they are.

    - `maestro update "…"` before and after each step: what you do, what you found.
    - `maestro complete "…"` once everything is done and verified. Without it your work does not count as done.
    - `maestro blocked "…"` if you cannot continue: say what blocks you.
    - `maestro report needs-input "…"` if a person must decide something.
    - `maestro info` shows your task as it is now.

    A line of a reply that begins with `!` is a message to you: a change of the task, a message of a person, `paused` or `cancelled`. Follow it before anything else.
    --- stderr
    about N tokens
    skill letters (keyword: letter, customers, write)
    "#);
    });
    assert_eq!(git(&sandbox, &["branch", "--format=%(refname:short)"]), "main\n");
    assert!(!sandbox.path("~/.maestro/maestro.db").exists(), "nothing is stored");
}

#[test]
fn a_dry_run_without_skills_names_the_task_only() {
    let sandbox = repository(&[("PLAN.md", PLAN)]);
    let told = sandbox.maestro("loop PLAN.md --agent demo --dry-run --no-skills");
    let text = told.stdout();
    assert!(text.contains("> Add a file a.txt that says one\n(Section: Plan)\n\nIt is line 3 of `PLAN.md`.\n\nThe plan begins:\n\n> # Plan\n\n\n## Reporting\n"), "{told}");
    assert!(!text.contains("skill"), "{told}");
    assert!(told.stderr().ends_with("\nno skills (off here, or `--no-skills`)\n"), "{told}");
    assert!(!sandbox.path(".maestro").exists(), "nothing is written");
}

#[test]
fn the_words_of_the_project_stand_first() {
    let words = "Work as PLAN_PATH says, and read SPEC_PATH.\n";
    let sandbox = repository(&[("PLAN.md", PLAN), (".loop/prompt.txt", words)]);
    assert_eq!(sandbox.maestro("trust --config --yes").code, 0);
    let told = sandbox.maestro("loop PLAN.md --agent demo --dry-run --no-skills");
    let begin = "Work as PLAN.md says, and read PLAN.md.\n\n## Selected Task\n\nWork on this specific task:\n";
    assert!(told.stdout().starts_with(begin), "{told}");
}

#[test]
fn nothing_is_left_to_try_in_a_plan_that_is_done() {
    let sandbox = repository(&[("PLAN.md", "- [x] done\n")]);
    assert_snapshot!(sandbox.maestro("loop PLAN.md --agent demo --dry-run"), @"
    $ maestro loop PLAN.md --agent demo --dry-run
    Every task of PLAN.md is done.
    ");
}
