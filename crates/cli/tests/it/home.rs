//! `maestro` alone: what is here, and what to do next.

use insta::assert_snapshot;

use crate::sandbox::{Output, Sandbox};

/// An overview that has the figures. The program does not wait long for them, so on a busy machine it says that it is
/// still counting, and the next run may know.
fn counted(run: impl Fn() -> Output) -> Output {
    let is_counted = |output: &Output| {
        let text = output.stdout();
        !text.contains("still counting") && !text.contains("\"skills\":null")
    };
    (0..100).map(|_| run()).find(is_counted).expect("the skills were never counted")
}

fn overview(sandbox: &Sandbox, args: &str) -> Output {
    counted(|| sandbox.maestro(args))
}

/// A sandbox of someone who has used it before.
fn known() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("~/.config/maestro/config.toml", "");
    sandbox
}

#[test]
fn a_first_run_is_three_lines() {
    let sandbox = Sandbox::new();
    let before = sandbox.tree();
    assert_snapshot!(overview(&sandbox, ""), @"
    $ maestro
    Maestro [VERSION] gives coding agents the right skills, has them do tasks, and accepts work that is checked and reviewed.
      maestro demo  watch it work; needs no model, changes nothing of yours
      maestro init  look at this project, propose what fits it, and set it up after one yes
    ");
    assert_eq!(sandbox.tree(), before);
}

#[test]
fn what_waits_is_named_with_its_command_also_without_a_server() {
    let sandbox = Sandbox::new().with_variable("PATH", &std::env::var("PATH").unwrap());
    sandbox.write("~/.gitconfig", "[user]\nname = Ada\nemail = ada@example.com\n[init]\ndefaultBranch = main\n");
    let git = |line: &str| {
        let mut git = std::process::Command::new("git");
        git.args(line.split(' ')).current_dir(sandbox.project()).env("HOME", sandbox.home());
        assert!(git.output().unwrap().status.success(), "git {line}");
    };
    git("init -q");
    git("commit -q --allow-empty -m Begin");
    let done = sandbox.maestro_with(&["do", "Add a file a.txt that says a", "--agent", "demo"]);
    assert_eq!(done.code, 0, "{done}");
    let shown = sandbox.maestro("").stdout();
    let line = shown.lines().find(|line| line.trim_start().starts_with("waits")).unwrap();
    assert!(
        line.contains("ready: Add a file a.txt that says a (`maestro diff ") && line.contains("`maestro merge "),
        "{shown}"
    );
    let next = shown.lines().skip_while(|line| *line != "Next").nth(1).unwrap();
    assert!(next.trim_start().starts_with("maestro diff "), "what waits comes first: {shown}");
}

#[test]
fn the_home_directory_is_no_project_and_nothing_is_proposed_for_it() {
    let sandbox = Sandbox::new();
    let overview = || {
        let here = sandbox.command().current_dir(sandbox.home()).output().unwrap();
        sandbox.normal(&String::from_utf8(here.stdout).unwrap())
    };
    assert!(overview().contains("\n  cd PROJECT && maestro init  look at this project"), "{}", overview());
    sandbox.write("~/.config/maestro/config.toml", "");
    let shown = overview();
    assert!(
        shown.contains("  project  none: this is your home directory; change to a project's directory first\n"),
        "{shown}"
    );
    assert!(
        !shown.contains("git init") && !shown.contains("maestro init") && shown.contains("maestro demo"),
        "{shown}"
    );
}

fn busy_project() -> Sandbox {
    let sandbox = known();
    sandbox.skill(".claude/skills", "changelog", "Writes the changelog. Use it before a release.");
    sandbox.skill("~/.claude/skills", "changelog", "My own way of writing changelogs.");
    sandbox.skill("~/.claude/skills", "sql", "Writes SQL. Use it for queries.");
    sandbox.write(".claude/skills/broken/SKILL.md", "# No frontmatter\n");
    sandbox.write(".claude/skills/nameless/SKILL.md", "---\ndescription: Has no name.\n---\n");
    sandbox.write("PLAN.md", "# Plan\n\n- [x] Draw it\n- [ ] Build it @sql\n- [ ] Ship it\n");
    sandbox.write("docs/plans/cleanup.md", "- [x] Sweep\n");
    sandbox.install("claude");
    sandbox.install("aider");
    sandbox
}

#[test]
fn an_empty_project_is_told_how_to_begin() {
    let sandbox = known();
    assert_snapshot!(overview(&sandbox, ""), @r#"
    $ maestro
    Maestro [VERSION] in [PROJECT]

      agents   no coding agent found
      skills   21
      plans    none found
      git      `git` not found on PATH, and the work of agents is committed: install git
      server   not running
      waits    nothing waits for you

    Next
      maestro init                    look at this project, and set it up after one yes
      maestro agents                  which coding agents Maestro can start, once one is installed
      maestro do "TASK" --agent demo  without a model: tasks like "Add a file hi.txt that says hi"
      maestro plan new "GOAL"         write a plan, for `maestro loop`
      maestro demo                    watch it work; needs no model, changes nothing of yours
      maestro skills try "TASK"       which skills a task would get, and why
      maestro --help                  all commands
    "#);
}

#[test]
fn the_overview_shows_agents_skills_plans_and_what_is_wrong() {
    let sandbox = busy_project();
    assert_snapshot!(overview(&sandbox, ""), @r#"
    $ maestro
    Maestro [VERSION] in [PROJECT]

      agents   Claude Code, Aider
      skills   24 · 1 not loaded · 1 warning · 1 shadowed
      plans    PLAN.md  1 of 3 done, next: Build it @sql (line 4)
               docs/plans/cleanup.md  1 of 1 done, no open task
      git      `git` not found on PATH, and the work of agents is committed: install git
      server   not running
      waits    nothing waits for you

    Next
      maestro doctor             show problems and how to fix them
      maestro loop PLAN.md       do, check, review and commit its tasks; `--dry-run` first
      maestro init               look at this project, and set it up after one yes
      maestro do "TASK"          have an agent do one task
      maestro demo               watch it work; needs no model, changes nothing of yours
      maestro skills try "TASK"  which skills a task would get, and why
      maestro --help             all commands
    "#);
}

#[test]
fn the_overview_for_programs_holds_the_same_facts() {
    let sandbox = busy_project();
    assert_snapshot!(overview(&sandbox, "--json"), @r#"
    $ maestro --json
    {
      "version": "[VERSION]",
      "project": "[PROJECT]",
      "agents": [
        {
          "name": "Claude Code",
          "program": "claude",
          "path": "[HOME]/bin/claude"
        },
        {
          "name": "Aider",
          "program": "aider",
          "path": "[HOME]/bin/aider"
        }
      ],
      "skills": {
        "skills": 24,
        "not_loaded": 1,
        "warnings": 1,
        "shadowed": 1
      },
      "plans": [
        {
          "path": "[PROJECT]/PLAN.md",
          "done": 1,
          "total": 3,
          "next": {
            "label": "Build it @sql",
            "line_number": 4,
            "section": "Plan",
            "skill_hints": [
              "sql"
            ]
          }
        },
        {
          "path": "[PROJECT]/docs/plans/cleanup.md",
          "done": 1,
          "total": 1,
          "next": null
        }
      ],
      "server": null,
      "waiting": [],
      "config_errors": 0
    }
    "#);
}

#[test]
fn the_overview_starts_and_writes_nothing() {
    let sandbox = busy_project();
    sandbox.skill("skills", "house-style", "The workspace's own pack, which other commands copy.");
    let before = sandbox.tree();
    overview(&sandbox, "");
    overview(&sandbox, "--json");
    assert_eq!(sandbox.tree(), before);
}

#[test]
fn the_overview_survives_a_config_file_with_errors() {
    let sandbox = Sandbox::new();
    sandbox.write(".maestro/config.toml", "skills_enabled = \"maybe\"\n");
    assert_snapshot!(overview(&sandbox, ""), @r#"
    $ maestro
    Maestro [VERSION] in [PROJECT]

      agents   no coding agent found
      skills   21
      plans    none found
      git      `git` not found on PATH, and the work of agents is committed: install git
      server   not running
      waits    nothing waits for you
      config   1 error

    Next
      maestro doctor                  show problems and how to fix them
      maestro agents                  which coding agents Maestro can start, once one is installed
      maestro do "TASK" --agent demo  without a model: tasks like "Add a file hi.txt that says hi"
      maestro plan new "GOAL"         write a plan, for `maestro loop`
      maestro demo                    watch it work; needs no model, changes nothing of yours
      maestro skills try "TASK"       which skills a task would get, and why
      maestro --help                  all commands
    "#);
}

#[test]
fn below_the_project_the_overview_is_about_the_project() {
    let sandbox = busy_project();
    sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
    sandbox.write("web/src/main.ts", "");
    assert_snapshot!(counted(|| sandbox.maestro_in("web/src", &[])), @r#"
    $ maestro
    Maestro [VERSION] in [PROJECT]

      agents   Claude Code, Aider
      skills   24 · 1 not loaded · 1 warning · 1 shadowed
      plans    ../../PLAN.md  1 of 3 done, next: Build it @sql (line 4)
               ../../docs/plans/cleanup.md  1 of 1 done, no open task
      git      `git` not found on PATH, and the work of agents is committed: install git
      server   not running
      waits    nothing waits for you

    Next
      maestro doctor              show problems and how to fix them
      maestro loop ../../PLAN.md  do, check, review and commit its tasks; `--dry-run` first
      maestro init                look at this project, and set it up after one yes
      maestro do "TASK"           have an agent do one task
      maestro demo                watch it work; needs no model, changes nothing of yours
      maestro skills try "TASK"   which skills a task would get, and why
      maestro --help              all commands
    "#);
}

#[test]
fn only_the_first_plans_are_named_and_the_rest_counted() {
    let sandbox = known();
    for number in 1..=5 {
        sandbox.write(&format!("plans/step-{number}.md"), "- [ ] Take it\n");
    }
    sandbox.write("plans/notes.md", "No task in here.\n");
    assert_snapshot!(overview(&sandbox, ""), @r#"
    $ maestro
    Maestro [VERSION] in [PROJECT]

      agents   no coding agent found
      skills   21
      plans    plans/step-1.md  0 of 1 done, next: Take it (line 1)
               plans/step-2.md  0 of 1 done, next: Take it (line 1)
               plans/step-3.md  0 of 1 done, next: Take it (line 1)
               and 2 more
      git      `git` not found on PATH, and the work of agents is committed: install git
      server   not running
      waits    nothing waits for you

    Next
      maestro loop plans/step-1.md --dry-run  its next task, with skills and prompt; an agent does it
      maestro init                            look at this project, and set it up after one yes
      maestro agents                          which coding agents Maestro can start, once one is installed
      maestro do "TASK" --agent demo          without a model: tasks like "Add a file hi.txt that says hi"
      maestro demo                            watch it work; needs no model, changes nothing of yours
      maestro skills try "TASK"               which skills a task would get, and why
      maestro --help                          all commands
    "#);
}

#[test]
fn a_plan_that_is_huge_or_no_text_is_named_and_not_waited_for() {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", b"- [ ] caf\xe9\n");
    sandbox.write("TODO.md", "- [ ] one more\n".repeat(20_000));
    let plans = sandbox.maestro("--json").json()["plans"].clone();
    assert!(plans[0]["error"].as_str().unwrap().contains("not UTF-8"), "{plans}");
    assert!(plans[1]["error"].as_str().unwrap().contains("too large for the overview"), "{plans}");
}
