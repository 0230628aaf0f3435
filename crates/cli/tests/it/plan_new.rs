//! `maestro plan new`: plans from recipes and by agents, shown and never over another file.

use std::fs;

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

/// The demo agent by another name, with a script: an agent that has an answer.
fn with_agent(answer: &str) -> Sandbox {
    let sandbox = Sandbox::new().with_variable("PATH", &std::env::var("PATH").unwrap());
    let acts = serde_json::json!({ "do": "say", "text": answer }).to_string();
    sandbox.write("~/answer", format!("{acts}\n"));
    let table = format!(
        "[writer]\nprefer = [\"json\"]\nenv = {{ MAESTRO_DEMO_SCRIPT = \"{}\" }}\nwrites = [\"{{state}}/maestro-demo\"]\n\
         [writer.json]\nprograms = [\"maestro\"]\nargs = [\"demo-agent\"]\nprompt = \"stdin\"\nformat = \"events\"\n",
        sandbox.path("~/answer").display()
    );
    sandbox.write("~/.config/maestro/agents.toml", table);
    sandbox
}

#[test]
fn every_recipe_is_a_plan_whose_tasks_say_when_they_are_done() {
    for (recipe, goal) in [("upgrade", "serde to 2"), ("coverage", "crates/core at 80 percent"), ("lint", "clippy")] {
        let sandbox = Sandbox::new();
        sandbox.write("Makefile", "test:\n\ttrue\n");
        let written = sandbox.maestro_with(&["plan", "new", goal, "--recipe", recipe, "--json"]).json();
        assert_eq!(written["file"], "PLAN.md", "{written}");
        assert_eq!(written["withoutCriteria"], serde_json::json!([]), "{written}");
        assert_eq!(written["tasks"].as_array().unwrap().len(), 5, "{written}");
        let text = fs::read_to_string(sandbox.path("PLAN.md")).unwrap();
        assert_eq!(written["text"], text);
        assert!(text.contains(goal) && text.contains("`make test` passes after each task."), "{text}");
        assert!(!text.contains('{'), "{text}");
        let listed = sandbox.maestro("plan list PLAN.md");
        assert_eq!((listed.code, listed.stderr().as_str()), (0, ""), "{listed}");
    }
}

#[test]
fn a_recipe_is_shown_and_leads_to_the_loop() {
    let sandbox = Sandbox::new();
    let shown = sandbox.maestro_with(&["plan", "new", "clippy", "--recipe", "lint"]).stdout();
    assert!(shown.starts_with("# Fix lint findings: clippy\n"), "{shown}");
    let (_, end) = shown.split_once("\nWrote ").unwrap();
    assert_snapshot!(end, @r#"
    PLAN.md (5 tasks). Edit it as you like, then:
      git add PLAN.md && git commit -m "Add a plan"
      maestro loop PLAN.md --dry-run     the first task, its skills and the prompt
      maestro loop PLAN.md               do, check, review and commit every task
    Checks decide more reliably than words: `maestro config set --project verify '["COMMAND"]'` names one for this project.
    "#);
    assert!(sandbox.maestro("").stdout().contains("maestro loop PLAN.md"));
}

#[test]
fn nothing_is_written_over_what_is_there_or_without_a_wish() {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", "- [ ] Mine\n");
    assert_snapshot!(sandbox.maestro("plan new clippy --recipe lint --yes"), @"
    $ maestro plan new clippy --recipe lint --yes
    --- stderr
    error: PLAN.md already exists
    hint: choose another name, for example: `--file plans/login.md`; `--dry-run` only prints the plan
    --- exit 1
    ");
    assert_eq!(fs::read_to_string(sandbox.path("PLAN.md")).unwrap(), "- [ ] Mine\n");
    let before = sandbox.tree();
    let printed = sandbox.maestro("plan new clippy --recipe lint --dry-run");
    assert_eq!(printed.code, 0, "{printed}");
    assert_eq!(sandbox.tree(), before);
    let elsewhere = sandbox.maestro("plan new clippy --recipe lint --file plans/lint.md");
    assert_eq!(elsewhere.code, 0, "{elsewhere}");
    assert!(sandbox.path("plans/lint.md").is_file());
    for wrong in ["../lint.md", "lint.txt"] {
        let refused = sandbox.maestro_with(&["plan", "new", "clippy", "--recipe", "lint", "--file", wrong]);
        assert_eq!(refused.code, 1, "{refused}");
    }
}

#[test]
fn an_agent_looks_at_the_project_and_writes_the_plan() {
    let answer = "I read the code.\n\n```markdown\n# Log in\n\nBy e-mail only.\n\n- [ ] Send a link\n\n  Done when: `make test` passes.\n- [ ] Remember people\n```\n";
    let sandbox = with_agent(answer);
    let written = sandbox.maestro_with(&["plan", "new", "Users can log in", "--agent", "writer"]);
    assert_eq!(written.code, 0, "{written}");
    let plan =
        "# Log in\n\nBy e-mail only.\n\n- [ ] Send a link\n\n  Done when: `make test` passes.\n- [ ] Remember people\n";
    assert_eq!(fs::read_to_string(sandbox.path("PLAN.md")).unwrap(), plan);
    let warned = "warning: 1 task does not say when it is done (line 8); add `Done when: …` below\n";
    assert!(written.stderr().ends_with(warned), "{written}");
    assert!(written.stdout().contains("Wrote PLAN.md (2 tasks)."), "{written}");
    let tasks = sandbox.maestro("task list --all --json").json();
    assert_eq!(tasks[0]["title"], "Write a plan: Users can log in", "{tasks:#}");
    assert_eq!(tasks[0]["status"], "completed", "{tasks:#}");
}

#[test]
fn a_plan_is_found_in_what_an_agent_prints() {
    let sandbox = Sandbox::new().with_variable("PATH", &std::env::var("PATH").unwrap());
    let plan = "# Log in\n\n- [ ] Send a link\n\n  Done when: `make test` passes.\n";
    sandbox.write("answer.txt", format!("I read the code.\n\n{plan}"));
    let answer = sandbox.path("answer.txt").display().to_string();
    let table = format!(
        "[printer]\nprefer = [\"text\"]\n[printer.text]\nprograms = [\"cat\"]\nargs = [\"{answer}\"]\n\
         prompt = \"stdin\"\nformat = \"text\"\n"
    );
    sandbox.write("~/.config/maestro/agents.toml", table);
    let written = sandbox.maestro_with(&["plan", "new", "Users can log in", "--agent", "printer"]);
    assert_eq!(written.code, 0, "{written}");
    assert_eq!(fs::read_to_string(sandbox.path("PLAN.md")).unwrap(), plan);
}

#[test]
fn an_answer_without_a_plan_is_an_error_and_writes_nothing() {
    let sandbox = with_agent("I would rather not.");
    let refused = sandbox.maestro_with(&["plan", "new", "Users can log in", "--agent", "writer"]);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr().contains("error: writer answered without a plan\n"), "{refused}");
    assert!(!sandbox.path("PLAN.md").exists());
}
