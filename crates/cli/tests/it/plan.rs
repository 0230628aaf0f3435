//! `maestro plan`: which task is next, and how the others stand.

use std::fmt::Write as _;

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

const PLAN: &str = "\
# Shop

Write to ops@example.com before you touch `@types/node`.

## Catalogue

- [x] Model the products
- [R] Import the old ones
- [ ] Show them @frontend
  - [x] As a list
  - [ ] As a grid,
    three columns wide (skill: css, a11y)
- [~] Show them in 3D
- [ ]? Let people rate them

## Checkout

1. [ ] Take money
2. [ ] Send a receipt

## Verification

- [ ] Buy something
";

fn with_plan(text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", text);
    sandbox
}

#[test]
fn the_next_task_is_the_first_open_one_children_before_their_parent() {
    assert_snapshot!(with_plan(PLAN).maestro("plan next PLAN.md"), @"
    $ maestro plan next PLAN.md
    As a grid, three columns wide (skill: css, a11y)
      PLAN.md:11
      section: Catalogue
      skills:  css, a11y
    ");
}

#[test]
fn programs_get_the_next_task_with_its_line_and_skill_hints() {
    assert_snapshot!(with_plan(PLAN).maestro("plan next PLAN.md --json"), @r#"
    $ maestro plan next PLAN.md --json
    {
      "label": "As a grid, three columns wide (skill: css, a11y)",
      "line_number": 11,
      "section": "Catalogue",
      "skill_hints": [
        "css",
        "a11y"
      ]
    }
    "#);
}

#[test]
fn the_list_shows_how_every_task_stands() {
    assert_snapshot!(with_plan(PLAN).maestro("plan list PLAN.md"), @"
    $ maestro plan list PLAN.md
    Catalogue
      ✓     7  Model the products
      ✓✓    8  Import the old ones
      ○     9  Show them @frontend
        ✓    10  As a list
        ○    11  As a grid, three columns wide (skill: css, a11y)
      ~    13  Show them in 3D
      ?    14  Let people rate them

    Checkout
      ○    18  Take money
      ○    19  Send a receipt

    Verification
      ○    23  Buy something  (set aside: verification section)

    3 of 7 done
    ");
}

#[test]
fn programs_get_every_task() {
    let plan = "- [x] Dig\n- [ ] Plant @garden\n  - [ ]? Water\n- []Reap\n- [] Sow\n";
    assert_snapshot!(with_plan(plan).maestro("plan list PLAN.md --json"), @r#"
    $ maestro plan list PLAN.md --json
    {
      "tasks": [
        {
          "label": "Dig",
          "line_number": 1,
          "column": 3,
          "section": null,
          "status": "done",
          "depth": 0,
          "parent": null,
          "skill_hints": [],
          "set_aside": null
        },
        {
          "label": "Plant @garden",
          "line_number": 2,
          "column": 3,
          "section": null,
          "status": "open",
          "depth": 0,
          "parent": null,
          "skill_hints": [
            "garden"
          ],
          "set_aside": null
        },
        {
          "label": "Water",
          "line_number": 3,
          "column": 5,
          "section": null,
          "status": "optional",
          "depth": 1,
          "parent": 1,
          "skill_hints": [],
          "set_aside": null
        }
      ],
      "problems": [
        {
          "code": "checkbox-malformed",
          "severity": "warning",
          "path": "PLAN.md",
          "line": 5,
          "column": 3,
          "message": "this checkbox does not hold exactly one space, so it is not a task",
          "help": "write `[ ]` with one space for an open task"
        }
      ],
      "done": 1,
      "total": 2
    }
    "#);
}

#[test]
fn when_all_is_done_nothing_is_left() {
    let sandbox = with_plan("- [x] Dig\n- [R] Plant\n");
    assert_snapshot!(sandbox.maestro("plan next PLAN.md"), @"
    $ maestro plan next PLAN.md
    All tasks are done.
    ");
    assert_snapshot!(sandbox.maestro("plan next PLAN.md --json"), @"
    $ maestro plan next PLAN.md --json
    null
    ");
}

#[test]
fn open_tasks_that_are_set_aside_are_counted() {
    let sandbox = with_plan("# Garden\n\n- [x] Dig\n\n## Checklist\n\n- [ ] Tools are back\n- [ ] Gate is shut\n");
    assert_snapshot!(sandbox.maestro("plan next PLAN.md"), @"
    $ maestro plan next PLAN.md
    No task is next: 2 open tasks are set aside; run `maestro plan list PLAN.md` to see why.
    ");
    assert_snapshot!(sandbox.maestro("plan list PLAN.md"), @"
    $ maestro plan list PLAN.md
    Garden
      ✓     3  Dig

    Checklist
      ○     7  Tools are back  (set aside: checklist section)
      ○     8  Gate is shut  (set aside: checklist section)

    1 of 1 done
    ");
}

#[test]
fn a_file_without_tasks_is_told_what_a_task_is() {
    let sandbox = with_plan("# Notes\n\n- buy milk\n\n```\n- [ ] only an example\n```\n");
    assert_snapshot!(sandbox.maestro("plan next PLAN.md"), @"
    $ maestro plan next PLAN.md
    No tasks in this plan. A task is a line like `- [ ] Do this`.
    ");
    assert_snapshot!(sandbox.maestro("plan list PLAN.md"), @"
    $ maestro plan list PLAN.md
    No tasks in this plan. A task is a line like `- [ ] Do this`.
    ");
}

#[test]
fn boxes_that_are_none_are_pointed_out() {
    let sandbox = with_plan("- [] Dig\n- [ x] Plant\n- [ ]Water\n- [ ]\n- [ ] Reap\n");
    assert_snapshot!(sandbox.maestro("plan next PLAN.md"), @"
    $ maestro plan next PLAN.md
    Reap
      PLAN.md:5
    --- stderr
    warning[checkbox-malformed]: this checkbox does not hold exactly one space, so it is not a task
      --> PLAN.md:1:3
      hint: write `[ ]` with one space for an open task
    warning[checkbox-malformed]: this checkbox has a space beside its mark, so it is not a task
      --> PLAN.md:2:3
      hint: write the mark alone, as in `[x]`
    warning[checkbox-malformed]: no space follows this checkbox, so it is not a task
      --> PLAN.md:3:3
      hint: put a space between the box and the text
    warning[checkbox-malformed]: this checkbox has no text, so it is not a task
      --> PLAN.md:4:3
      hint: say on the same line what is to be done, or remove the item
    ");
}

#[test]
fn a_plan_of_malformed_boxes_does_not_look_finished_to_a_program() {
    let next = with_plan("- [] Dig\n").maestro("plan next PLAN.md --json");
    assert_snapshot!(next, @"
    $ maestro plan next PLAN.md --json
    null
    --- stderr
    warning[checkbox-malformed]: this checkbox does not hold exactly one space, so it is not a task
      --> PLAN.md:1:3
      hint: write `[ ]` with one space for an open task
    ");
}

#[test]
fn a_plan_that_is_missing_is_not_found() {
    assert_snapshot!(Sandbox::new().maestro("plan next PLAN.md"), @r#"
    $ maestro plan next PLAN.md
    --- stderr
    error: plan `PLAN.md` not found
    hint: pass a Markdown file with `- [ ]` lines; `maestro plan new "GOAL"` writes one
    --- exit 2
    "#);
    assert_eq!(Sandbox::new().maestro("plan list PLAN.md").code, 2);
}

#[test]
fn a_directory_is_no_plan() {
    let sandbox = Sandbox::new();
    sandbox.write("plans/one.md", "- [ ] Dig\n");
    assert_snapshot!(sandbox.maestro("plan next plans"), @"
    $ maestro plan next plans
    --- stderr
    error: `plans` is a directory, not a plan
    hint: pass a Markdown file with `- [ ]` lines
    --- exit 1
    ");
}

#[test]
fn a_plan_that_is_not_utf8_is_refused_with_the_line() {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", b"- [x] Dig\n- [ ] Plant the ros\xe9\n");
    assert_snapshot!(sandbox.maestro("plan next PLAN.md"), @"
    $ maestro plan next PLAN.md
    --- stderr
    error: the plan `PLAN.md` is not UTF-8 text (line 2)
    hint: save it as UTF-8, for example: iconv -f latin1 -t utf-8 OLD > NEW
    --- exit 1
    ");
}

#[test]
fn a_plan_of_forty_thousand_lines_is_read_whole() {
    let mut plan = String::from("# Long\n");
    for number in 2..40_000 {
        let _ = writeln!(plan, "- [x] Step {number}");
    }
    plan.push_str("- [ ] The last step\n");
    let sandbox = with_plan(&plan);
    assert_snapshot!(sandbox.maestro("plan next PLAN.md"), @"
    $ maestro plan next PLAN.md
    The last step
      PLAN.md:40000
      section: Long
    ");
    let list = sandbox.maestro("plan list PLAN.md");
    assert_eq!(list.code, 0);
    assert!(list.stdout().ends_with("39998 of 39999 done\n"), "{}", list.stdout().lines().last().unwrap());
}

#[test]
fn a_plan_larger_than_any_plan_is_refused() {
    let next = with_plan(&"- [x] Dig\n".repeat(1_700_000)).maestro("plan next PLAN.md");
    assert_snapshot!(next, @"
    $ maestro plan next PLAN.md
    --- stderr
    error: the plan `PLAN.md` is larger than 16 MiB
    hint: split it into several plans
    --- exit 1
    ");
}

#[test]
fn a_plan_is_never_changed() {
    let sandbox = with_plan(PLAN);
    let before = sandbox.tree();
    sandbox.maestro("plan next PLAN.md");
    sandbox.maestro("plan list PLAN.md --json");
    assert_eq!(sandbox.tree(), before);
}
