//! `maestro loop`, `do` and `demo` as a user meets them, with the agent that needs no model.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::Value as Json;

use crate::sandbox::{Output, Sandbox};

/// A repository with a commit, in which the programs of this machine are found.
fn repository(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new().with_variable("PATH", &std::env::var("PATH").unwrap());
    for (file, text) in files {
        sandbox.write(file, text);
    }
    git(&sandbox, &["init", "--quiet", "--initial-branch=main"]);
    git(&sandbox, &["config", "user.name", "Ada"]);
    git(&sandbox, &["config", "user.email", "ada@example.com"]);
    git(&sandbox, &["add", "--all"]);
    git(&sandbox, &["commit", "--quiet", "--allow-empty", "--message", "begin"]);
    sandbox
}

fn git(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).current_dir(sandbox.project()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What was printed, without the port, which depends on what else runs.
fn printed(output: &Output) -> String {
    let lines: Vec<String> = output.to_string().lines().map(without_port).collect();
    lines.join("\n")
}

fn without_port(line: &str) -> String {
    match line.split_once("http://127.0.0.1:") {
        Some((before, after)) => {
            format!("{before}http://127.0.0.1:[PORT]{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => line.to_owned(),
    }
}

/// The messages of the commits that were made beside `main`, the oldest first.
fn commits(sandbox: &Sandbox) -> String {
    git(sandbox, &["log", "--reverse", "--format=%s", "--branches=maestro/*", "--not", "main"])
}

const PLAN: &str = "# Plan\n\n- [ ] Add a file a.txt that says one\n- [ ] Add a file b.txt that says two\n";
const ON: &str = "skills_enabled = true\n";

#[test]
fn one_task_is_done_without_a_plan() {
    let sandbox = repository(&[]);
    let done = sandbox.maestro_with(&["do", "Add a file hello.txt that says hi", "--agent", "demo"]);
    assert_snapshot!(printed(&done), @"
    $ maestro do Add a file hello.txt that says hi --agent demo
    Run [RUN-1] does: Add a file hello.txt that says hi
    The page is http://127.0.0.1:[PORT]
    Wrote .maestro/config.toml: skills are on for the agents that Maestro starts here.
    No checks are configured: nothing but the review decides. `verify` in .maestro/config.toml names some.

    Add a file hello.txt that says hi
      an agent does it
        1 thing to do
        1 thing done
      somebody else looks at it
        1 thing to do
        1 thing done
      review: pass
      it is committed

    success: It is done: Add a file hello.txt that says hi
    ");
    assert_eq!(commits(&sandbox), "Add a file hello.txt that says hi\n");
    assert!(!sandbox.path("hello.txt").exists(), "the files of the user are left alone");
    // A second one shows nothing of the first, and finds the config that the first one wrote.
    let again = sandbox.maestro_with(&["do", "Add a file b.txt that says b", "--agent", "demo", "--no-review"]);
    assert_snapshot!(printed(&again), @"
    $ maestro do Add a file b.txt that says b --agent demo --no-review
    Run [RUN-2] does: Add a file b.txt that says b
    The page is http://127.0.0.1:[PORT]
    No checks are configured: nothing but the review decides. `verify` in .maestro/config.toml names some.

    Add a file b.txt that says b
      an agent does it
        1 thing to do
        1 thing done
      it is committed

    success: It is done: Add a file b.txt that says b
    ");
}

#[test]
fn a_task_must_say_something() {
    let sandbox = repository(&[]);
    assert_snapshot!(sandbox.maestro_with(&["do", " ", "--agent", "demo"]), @"
    $ maestro do   --agent demo
    --- stderr
    error: the task is empty
    hint: write what is to be done
    --- exit 1
    ");
}

#[test]
fn a_loop_ends_after_as_many_tasks_as_were_asked_for() {
    let plan = format!("{PLAN}- [ ] Add a file c.txt that says three\n");
    let sandbox = repository(&[("PLAN.md", &plan), (".maestro/config.toml", ON)]);
    let done = sandbox.maestro("loop PLAN.md --agent demo --no-review --max-tasks 2");
    assert_snapshot!(printed(&done), @"
    $ maestro loop PLAN.md --agent demo --no-review --max-tasks 2
    Run [RUN-1] works through PLAN.md
    The page is http://127.0.0.1:[PORT]
    No checks are configured: nothing but the review decides. `verify` in .maestro/config.toml names some.

    Add a file a.txt that says one
      an agent does it
        1 thing to do
        1 thing done
      it is committed

    Add a file b.txt that says two
      an agent does it
        1 thing to do
        1 thing done
      it is committed

    success: As many tasks were done as were asked for.
    ");
    assert_eq!(commits(&sandbox).lines().count(), 2);
    assert_eq!(sandbox.maestro("loop PLAN.md --max-tasks 0").code, 1);
}

#[test]
fn skills_that_are_off_are_said_to_be_and_named_ones_arrive() {
    let sandbox = repository(&[("PLAN.md", PLAN), (".maestro/config.toml", "skills_enabled = false\n")]);
    sandbox.skill(".claude/skills", "letters", "Writes letters. Use when a letter is to be written.");
    let off = sandbox.maestro("loop PLAN.md --agent demo --no-review --once");
    assert!(off.stdout().contains("Agents get no skills here: `skills_enabled = true`"), "{off}");
    assert!(!off.stdout().contains("skills:"), "{off}");
    let named = sandbox.maestro("loop PLAN.md --agent demo --no-review --once --skills letters");
    assert!(named.stdout().contains("  skills: letters (hint: @letters)"), "{named}");
}

#[test]
fn a_dry_run_shows_the_whole_prompt_and_does_nothing() {
    let config = "skills_enabled = true\nskills_budget_tokens = 400\n";
    let plan = "# Plan\n\n## Letters\n\n- [ ] Write a letter to the customers\n";
    let sandbox = repository(&[("PLAN.md", plan), (".maestro/config.toml", config)]);
    sandbox.skill(".claude/skills", "letters", "Writes letters. Use when a letter to customers is to be written.");
    assert_snapshot!(sandbox.maestro("loop PLAN.md --agent demo --dry-run"), @r#"
    $ maestro loop PLAN.md --agent demo --dry-run
    # Do the task

    You do one task of a plan, from beginning to end, in the current directory.
    - Do this task and no other. What else you notice, report instead of changing it.
    - Read what is there before you change it, keep to the ways of this project, and check what you did.
    - Do not touch the checklist and do not commit; both happen when your work has passed its gates.
    - If `findings`, `failed_check` or `failed_together` are given, mend exactly those first.
    - Finish by saying what you changed, how you checked it and what the check printed. If it is not done, say so.

    ## Selected Task

    Work on this specific task:
    > Write a letter to the customers
    (Section: Letters)


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

    <skill>
    <name>writing-style</name>
    <description>Writes or revises a text in the user&apos;s own style…</description>
    <location>global</location>
    </skill>

    <skill>
    <name>handoff-workflow</name>
    <description>Passes work from one role to another as a hand-off that can be…</description>
    <location>global</location>
    </skill>

    <skill>
    <name>prompt-engineer</name>
    <description>Improves prompts, or writes new ones, by techniques that are…</description>
    <location>global</location>
    </skill>

    18 more skills are not listed here; `maestro skills list` lists every skill.

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

    ## How you report

    Nobody reads what you print; people and other agents see only what you report. Run these commands in your shell. They know your session and your task from the environment (`MAESTRO_SESSION_ID`, `MAESTRO_TASK_ID`, `MAESTRO_TASK_IDS`, `MAESTRO_PROJECT_ID`, `MAESTRO_ROLE`), so leave those variables as they are.

    - `maestro update "…"` before and after each step: what you do, what you found.
    - `maestro complete "…"` once everything is done and you have seen that it is. Without it your work does not count as done.
    - `maestro blocked "…"` if you cannot go on at all: say what stands in the way.
    - `maestro report needs-input "…"` if a person must decide something.
    - `maestro info` shows your task as it is now.

    A line of a reply that begins with `!` is a message to you: a change of the task, words of a person, `paused` or `cancelled`. Follow it before anything else.
    --- stderr
    about 850 tokens
    skill letters (keyword: letter, customers, write)
    "#);
    assert_eq!(git(&sandbox, &["branch", "--format=%(refname:short)"]), "main\n");
    assert!(!sandbox.path("~/.maestro/maestro.db").exists(), "nothing is stored");
}

/// The files that are left of the only run, by name.
fn artifacts(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let runs: Vec<_> = fs::read_dir(sandbox.path("~/.maestro/runs")).unwrap().collect();
    assert_eq!(runs.len(), 1);
    let files = fs::read_dir(runs[0].as_ref().unwrap().path()).unwrap().map(|file| file.unwrap());
    files.map(|file| (file.file_name().into_string().unwrap(), fs::read_to_string(file.path()).unwrap())).collect()
}

#[test]
fn what_was_told_done_and_changed_is_left_for_people_to_read() {
    let config = "skills_enabled = true\nskills_budget_tokens = 1\n";
    let plan = "- [ ] Add a file letter.txt that says Dear customers (@letters)\n";
    let sandbox = repository(&[("PLAN.md", plan), (".maestro/config.toml", config)]);
    sandbox.skill(".claude/skills", "letters", "Writes letters. Use when a letter to customers is to be written.");
    let foreseen = sandbox.maestro("loop PLAN.md --agent demo --dry-run");
    let done = sandbox.maestro("loop PLAN.md --agent demo");
    assert_eq!(done.code, 0, "{done}");
    let left = artifacts(&sandbox);
    let names: Vec<&str> = left.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "01-implement-diff.txt",
            "01-implement-output.txt",
            "01-implement-prompt.txt",
            "02-look-output.txt",
            "02-look-prompt.txt",
            "summary.json",
        ]
    );
    assert_eq!(left["01-implement-prompt.txt"].trim_end(), foreseen.stdout().trim_end(), "a dry run tells the truth");
    assert!(left["01-implement-diff.txt"].contains("+Dear customers"), "{}", left["01-implement-diff.txt"]);
    assert!(left["01-implement-output.txt"].contains("Write letter.txt"), "{}", left["01-implement-output.txt"]);
    let summary: Json = serde_json::from_str(&left["summary.json"]).unwrap();
    assert_eq!(summary["status"]["ended"]["status"], "success", "{summary:#}");
    assert_eq!(summary["sessions"].as_array().unwrap().len(), 2);
    assert_snapshot!(sandbox.normal(&left["02-look-prompt.txt"]), @r#"
    # Review the task

    Somebody else did one task of a plan. You look at what they changed, with fresh eyes, and change nothing.
    - Read what changed since the last commit, and what it touches.
    - Say `pass` only if the task is done, whole and right. Anything that must be mended is a `fail`.
    - Each finding says where it is, what is wrong and what would be right, so that another can mend it without asking.
    - Never: Change, create or delete a file

    ## Task Under Review

    The implementation is for this task:
    > Add a file letter.txt that says Dear customers (@letters)




    Reading: letters
    Base directory: [PROJECT]/.claude/skills/letters

    ---
    name: letters
    description: Writes letters. Use when a letter to customers is to be written.
    ---

    # How to

    Step by step.


    Skill read: letters

    ## How you report

    Nobody reads what you print; people and other agents see only what you report. Run these commands in your shell. They know your session and your task from the environment (`MAESTRO_SESSION_ID`, `MAESTRO_TASK_ID`, `MAESTRO_TASK_IDS`, `MAESTRO_PROJECT_ID`, `MAESTRO_ROLE`), so leave those variables as they are.

    - `maestro update "…"` before and after each step: what you do, what you found.
    - `maestro complete "…"` once everything is done and you have seen that it is. Without it your work does not count as done.
    - `maestro blocked "…"` if you cannot go on at all: say what stands in the way.
    - `maestro report needs-input "…"` if a person must decide something.
    - `maestro info` shows your task as it is now.

    A line of a reply that begins with `!` is a message to you: a change of the task, words of a person, `paused` or `cancelled`. Follow it before anything else.

    ## Your verdict

    Before you run `maestro complete`, run one of these; without it your work counts as failed:

    - `maestro workflow report [RUN-1] --ticket look#1.[NONCE] --outcome pass --result-file -`
    - `maestro workflow report [RUN-1] --ticket look#1.[NONCE] --outcome fail --result-file -`

    They read a JSON object on their standard input; give it to them like this:

    ```sh
    maestro workflow report [RUN-1] --ticket look#1.[NONCE] --outcome fail --result-file - <<'END'
    {"findings": "…"}
    END
    ```

    - `findings`: What must be mended, one finding a line; empty with a pass
    "#);
}

#[test]
fn a_dry_run_without_skills_names_the_task_only() {
    let sandbox = repository(&[("PLAN.md", PLAN)]);
    assert_snapshot!(sandbox.maestro("loop PLAN.md --agent demo --dry-run --no-skills"), @r#"
    $ maestro loop PLAN.md --agent demo --dry-run --no-skills
    # Do the task

    You do one task of a plan, from beginning to end, in the current directory.
    - Do this task and no other. What else you notice, report instead of changing it.
    - Read what is there before you change it, keep to the ways of this project, and check what you did.
    - Do not touch the checklist and do not commit; both happen when your work has passed its gates.
    - If `findings`, `failed_check` or `failed_together` are given, mend exactly those first.
    - Finish by saying what you changed, how you checked it and what the check printed. If it is not done, say so.

    ## Selected Task

    Work on this specific task:
    > Add a file a.txt that says one
    (Section: Plan)


    ## How you report

    Nobody reads what you print; people and other agents see only what you report. Run these commands in your shell. They know your session and your task from the environment (`MAESTRO_SESSION_ID`, `MAESTRO_TASK_ID`, `MAESTRO_TASK_IDS`, `MAESTRO_PROJECT_ID`, `MAESTRO_ROLE`), so leave those variables as they are.

    - `maestro update "…"` before and after each step: what you do, what you found.
    - `maestro complete "…"` once everything is done and you have seen that it is. Without it your work does not count as done.
    - `maestro blocked "…"` if you cannot go on at all: say what stands in the way.
    - `maestro report needs-input "…"` if a person must decide something.
    - `maestro info` shows your task as it is now.

    A line of a reply that begins with `!` is a message to you: a change of the task, words of a person, `paused` or `cancelled`. Follow it before anything else.
    --- stderr
    about 392 tokens
    no skills: they are off here, or `--no-skills` was said
    "#);
    assert!(!sandbox.path(".maestro").exists(), "nothing is written");
}

#[test]
fn the_words_of_the_project_stand_first() {
    let words = "Work as PLAN_PATH says, and read SPEC_PATH.\n";
    let sandbox = repository(&[("PLAN.md", PLAN), (".loop/prompt.txt", words)]);
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

#[test]
fn the_demo_shows_a_review_that_fails_and_one_that_passes() {
    let sandbox = repository(&[]);
    let demo = sandbox.maestro("demo --clean");
    assert_eq!(demo.code, 0, "{demo}");
    let text = demo.stdout();
    for said in ["  review: fail", "  review: pass", "skills: price-lists", "success: Every task of PLAN.md is done."] {
        assert!(text.contains(said), "{said}:\n{text}");
    }
    assert!(text.contains("Nothing is left of it."), "{text}");
    assert!(!sandbox.path("~/.maestro").exists(), "nothing of the user's is touched");
}

#[test]
fn the_likely_check_is_proposed_and_not_written() {
    let sandbox = repository(&[("go.mod", "module shop\n")]);
    let proposed = "`verify = [\"go test ./...\"]` in .maestro/config.toml has it run after each task.";
    for command in [&["init", "--yes"][..], &["do", "Add a file a that says b", "--agent", "demo", "--no-review"]] {
        let output = sandbox.maestro_with(command);
        assert!(output.code == 0 && output.stdout().contains(proposed), "{output}");
    }
    assert!(!fs::read_to_string(sandbox.path(".maestro/config.toml")).unwrap().contains("verify"));
}
