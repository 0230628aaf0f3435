//! `maestro prompt`: exactly what an agent would be told about a task.

use insta::assert_snapshot;
use serde_json::Value as Json;

use crate::sandbox::Sandbox;

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "pdf-forms", "Fill in and flatten PDF forms, and merge PDF files into one.");
    sandbox.write("PLAN.md", "# Plan\n\n## Papers\n\n- [x] Scan them\n- [ ] Merge the signed PDF forms\n");
    sandbox
}

fn event_names(answer: &Json) -> Vec<&str> {
    answer["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[test]
fn the_prompt_holds_the_task_the_table_and_the_chosen_skills_in_this_order() {
    // The paths in it count, too.
    let lengths = vec![(r"about \d+ tokens", "about N tokens")];
    insta::with_settings!({ filters => lengths }, {
    assert_snapshot!(project().maestro("prompt PLAN.md --set skills_builtin=false"), @r#"
    $ maestro prompt PLAN.md --set skills_builtin=false
    You work on one task of a plan. Do this task and no other; what else you notice, report instead of changing it.
    Read what is there before you change it, keep to the ways of this project, and check what you did.
    Finish by saying what you changed, how you checked it and what the check printed. If it is not done, say so.

    ## Selected Task

    Work on this specific task:
    > Merge the signed PDF forms
    (Section: Papers)

    It is line 6 of `PLAN.md`.

    The plan begins:

    > # Plan
    >
    > ## Papers


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
    <name>pdf-forms</name>
    <description>Fill in and flatten PDF forms, and merge PDF files into one.</description>
    <location>project</location>
    </skill>

    </available_skills>
    <!-- SKILLS_TABLE_END -->

    </skills_system>

    Reading: pdf-forms
    Base directory: [PROJECT]/.claude/skills/pdf-forms

    ---
    name: pdf-forms
    description: Fill in and flatten PDF forms, and merge PDF files into one.
    ---

    # How to

    Step by step.


    Skill read: pdf-forms
    --- stderr
    about N tokens, pdf-forms of 1
    "#);
    });
}

#[test]
fn a_review_is_told_to_review() {
    let sandbox = project();
    let answer = sandbox.maestro("prompt PLAN.md --step review --json").json();
    let text = answer["text"].as_str().unwrap();
    assert!(text.contains("\n\n## Task Under Review\n\nThe implementation is for this task:\n> Merge the signed PDF forms\n(Section: Papers)\n"), "{text}");
    assert_eq!(answer["events"][1]["payload"]["step_kind"], "review");
}

#[test]
fn what_happened_is_told_as_events() {
    let sandbox = project();
    sandbox.write(".claude/skills/broken/SKILL.md", "# no header\n");
    let answer =
        sandbox.maestro_with(&["prompt", "Merge the PDF forms", "--json", "--set", "skills_max_body_chars=20"]);
    let answer = answer.json();
    assert_eq!(
        event_names(&answer),
        ["SKILLS_DISCOVERED", "SKILLS_LOAD_FAILED", "SKILLS_SELECTED", "SKILLS_TRUNCATED"]
    );
    assert_eq!(answer["events"][1]["payload"]["name"], "broken");
    assert_eq!(answer["events"][3]["payload"]["max_chars"], 20);
    let runs: Vec<&Json> =
        answer["events"].as_array().unwrap().iter().map(|event| &event["payload"]["run_id"]).collect();
    assert!(runs.windows(2).all(|pair| pair[0] == pair[1]), "one run: {runs:?}");
}

#[test]
fn a_prompt_among_many_skills_stays_in_its_budget_and_says_what_it_left_out() {
    let sandbox = project();
    for number in 0..300 {
        let description = format!("Does task number {number} of many, at length and with care for every detail of it.");
        sandbox.skill(".agents/skills", &format!("filler-{number:03}"), &description);
    }
    let answer = sandbox.maestro("prompt PLAN.md --json --set skills_budget_tokens=1000").json();
    assert!(answer["tokens"].as_u64().unwrap() < 1300, "{}", answer["tokens"]);
    let left_out = answer["left_out"].as_array().unwrap().len();
    assert!(left_out > 100);
    assert!(answer["text"].as_str().unwrap().contains("<name>pdf-forms</name>"), "the relevant one is in the table");
    assert!(!answer["left_out"].as_array().unwrap().contains(&Json::from("pdf-forms")));
}

#[test]
fn a_plan_that_is_done_missing_or_an_empty_task_is_an_error() {
    let sandbox = project();
    sandbox.write("DONE.md", "- [x] All\n");
    assert_snapshot!(sandbox.maestro("prompt DONE.md"), @"
    $ maestro prompt DONE.md
    --- stderr
    error: no open task in DONE.md
    hint: run `maestro plan list DONE.md` for the state of each task
    --- exit 2
    ");
    assert_snapshot!(sandbox.maestro("prompt GONE.md"), @r#"
    $ maestro prompt GONE.md
    --- stderr
    error: plan `GONE.md` not found
    hint: pass a Markdown file with `- [ ]` lines; `maestro plan new "GOAL"` writes one
    --- exit 2
    "#);
    assert_snapshot!(sandbox.maestro_with(&["prompt", " "]), @"
    $ maestro prompt
    --- stderr
    error: the task is empty
    hint: pass a task in quotes, a task ID, or a plan
    --- exit 1
    ");
}

#[test]
fn a_stored_task_is_prompted_for_by_its_id() {
    let sandbox = project();
    sandbox.maestro("project create shop");
    let words = ["task", "create", "Merge the signed PDF forms", "-d", "Only those of @pdf-forms from May."];
    let task = sandbox.maestro_with(&words).id();
    sandbox.maestro_with(&["task", "create", "Sort them", "--parent", &task, "-d", "By date."]);
    let prompt = sandbox.maestro(&format!("prompt {task}")).stdout();
    for told in ["> Merge the signed PDF forms\n", "Only those of @pdf-forms from May.", "- [ ] Sort them", "By date."]
    {
        assert!(prompt.contains(told), "{told}: {prompt}");
    }
    assert!(prompt.contains("Skill read: pdf-forms"), "{prompt}");
    let short = task.rsplit('_').next().unwrap();
    assert_eq!(sandbox.maestro(&format!("prompt {short}")).stdout(), prompt, "a short id means the same task");
    assert_eq!(sandbox.maestro("prompt task_1_nonesuch").code, 2);
}
