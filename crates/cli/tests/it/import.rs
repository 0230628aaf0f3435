//! `maestro import`: what earlier systems left, shown first, and what cannot come along.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use crate::sandbox::Sandbox;

/// A data folder of the first Maestro, with a task below another, and a file that was cut.
fn with_earlier_data() -> Sandbox {
    let sandbox = Sandbox::new();
    let write =
        |path: &str, record: serde_json::Value| sandbox.write(&format!("~/.maestro/data/{path}"), record.to_string());
    let shop = sandbox.project().display().to_string();
    write("projects/proj_1.json", json!({"id": "proj_1", "name": "shop", "workingDir": shop, "createdAt": 1}));
    write("projects/proj_2.json", json!({"id": "proj_2", "name": "nowhere", "workingDir": ""}));
    write(
        "tasks/proj_1/task_2.json",
        json!({"id": "task_2", "projectId": "proj_1", "parentId": "task_1", "title": "Write it", "status": "IN_PROGRESS", "createdAt": 2}),
    );
    write(
        "tasks/proj_1/task_1.json",
        json!({"id": "task_1", "projectId": "proj_1", "title": "Add a page", "description": "With prices.", "status": "completed",
               "priority": "high", "createdAt": 1_738_713_600_000_i64, "sessionIds": ["sess_1"], "useWorktree": true}),
    );
    sandbox.write("~/.maestro/data/tasks/proj_1/task_3.json", "{\"id\": \"task_3\", \"tit");
    write(
        "sessions/sess_1.json",
        json!({"id": "sess_1", "projectId": "proj_1", "taskIds": ["task_1"], "name": "Worker for task_1", "status": "running",
        "startedAt": 1_738_713_600_000_i64, "metadata": {"role": "worker"}, "timeline": [
            {"type": "session_started", "timestamp": 1, "message": "Session created"},
            {"type": "progress", "timestamp": 1_738_713_600_000_i64, "message": "Prices are in", "taskId": "task_1"},
        ]}),
    );
    write("sessions/sess_2.json", json!({"id": "sess_2"}));
    write("queues/sess_1.json", json!({"sessionId": "sess_1", "items": []}));
    write("templates/tmpl_1.json", json!({"name": "Worker", "role": "worker", "content": "Usual.", "isDefault": true}));
    write("templates/tmpl_2.json", json!({"name": "Night Shift", "role": "worker", "content": "Work on ${TASK_ID}."}));
    sandbox
}

#[test]
fn projects_tasks_sessions_and_templates_of_the_first_maestro_come_along_once() {
    let sandbox = with_earlier_data();
    let before = sandbox.tree();
    assert_snapshot!(sandbox.maestro("import maestro --dry-run"), @"
    $ maestro import maestro --dry-run
    The first Maestro
      import  the project shop ([PROJECT]) with 2 tasks and 1 ended session
      import  the prompt template Night Shift as a skill, .agents/skills/night-shift/SKILL.md; edit when to use it
      left    ~/.maestro/data/tasks/proj_1/task_3.json: EOF while parsing a string at line 1 column 21
      left    the session sess_2: its project is not there
      left    of the tasks of shop: useWorktree; nothing here is like it
      left    the project nowhere: it has no directory
      left    1 prompt template of the first Maestro itself: Maestro composes its own
      left    1 file of queues: their sessions are over; `maestro queue push` fills a new one; they stay in ~/.maestro/data/queues

    Nothing was written.
    ");
    assert_eq!(sandbox.tree(), before);
    assert!(
        sandbox.maestro("init --yes").stdout().contains("hint: run `maestro import --dry-run`"),
        "init points to it"
    );
    let refused = sandbox.maestro("import maestro");
    assert_eq!(refused.code, 1, "{refused}");
    let done = sandbox.maestro("import maestro --yes").stdout();
    assert!(done.contains("Imported 2 tasks and 1 session of the project shop\n"), "{done}");
    let tasks = sandbox.maestro("task list --all --json").json();
    let titled = |title: &str| tasks.as_array().unwrap().iter().find(|task| task["title"] == title).unwrap().clone();
    let (page, text) = (titled("Add a page"), titled("Write it"));
    assert_eq!((&page["status"], &page["priority"]), (&json!("completed"), &json!("high")), "{page:#}");
    assert_eq!((&text["status"], &text["parentId"]), (&json!("in_progress"), &page["id"]), "{text:#}");
    let described = "With prices.\n\nImported from the earlier Maestro: task_1 of 2025-02-05";
    assert!(page["description"].as_str().unwrap().starts_with(described), "{page:#}");
    let again = sandbox.maestro("import maestro --yes").stdout();
    assert!(again.contains("Imported 0 tasks and 0 sessions of the project shop, 3 were here already\n"), "{again}");
    let session = sandbox.maestro("session get sess_1 --json").json();
    assert_eq!((&session["status"], &session["taskIds"][0]), (&json!("stopped"), &page["id"]), "{session:#}");
    let said =
        session["timeline"].as_array().unwrap().iter().any(|line| line["message"] == "2025-02-05 00:00: Prices are in");
    assert!(said, "{session:#}");
    assert!(sandbox.maestro("skills read night-shift").stdout().contains("Work on ${TASK_ID}."));
    assert_eq!(sandbox.maestro("task list --all --json").json().as_array().unwrap().len(), 2);
}

#[test]
fn the_config_of_loopd_becomes_settings_with_its_checks_allowed() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".loop/config",
        "# ours\nskills_enabled=true\nskills_max_selected_impl=3\nverify_cmds=\"git status | git diff --check\"\nmodel=opus\niterations=9\n",
    );
    sandbox.write(".loop/prompt.txt", "Be brief.\n");
    assert_snapshot!(sandbox.maestro("import loop --yes"), @r#"
    $ maestro import loop --yes
    loopd (.loop)
      import  .maestro/config.toml with skills_enabled, skills_max_selected_impl, verify; allows the checks ["git status","git diff --check"]
      works   .loop/prompt.txt is added to every prompt after `maestro trust --config`
      left    model: the agent's own setting, or `tail` in agents.toml
      left    iterations: `maestro loop --max-tasks N`

    Wrote .maestro/config.toml
    All other files are as they were. `maestro doctor` checks the result.
    "#);
    fs::remove_dir_all(sandbox.path(".loop")).unwrap();
    let checks = sandbox.maestro("config get verify");
    assert_eq!(checks.stdout().trim(), r#"["git status","git diff --check"]"#, "{checks}");
    assert_eq!(sandbox.maestro("import loop").stdout(), "Nothing to import.\n");
}

#[test]
fn the_table_of_openskills_is_replaced_and_lost_skills_are_named() {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "pdf", "Merge PDFs. Use for PDFs.");
    let entry = |name: &str| {
        format!("<skill>\n<name>{name}</name>\n<description>x</description>\n<location>project</location>\n</skill>\n")
    };
    let block = format!(
        "# AGENTS\n\nOur rules.\n\n<skills_system priority=\"1\">\n\n- Invoke: `npx openskills read <skill-name>`\n\n<available_skills>\n\n{}\n{}\n</available_skills>\n\n</skills_system>\n",
        entry("pdf"),
        entry("gone")
    );
    sandbox.write("AGENTS.md", &block);
    let done = sandbox.maestro("import --yes").stdout();
    assert!(done.contains("left    not found in any skill folder: gone;"), "{done}");
    let text = fs::read_to_string(sandbox.path("AGENTS.md")).unwrap();
    assert!(text.starts_with("# AGENTS\n\nOur rules.\n") && text.contains("<name>pdf</name>"), "{text}");
    assert!(!text.contains("npx openskills") && !text.contains("gone"), "{text}");
}

#[test]
fn handoffs_of_site_nine_come_along_and_its_database_does_not() {
    let sandbox = Sandbox::new();
    sandbox.skill(".opencode/skills", "session-start", "Start a session.");
    sandbox.skill(".opencode/skills", "ours", "Our way.");
    sandbox.write(".opencode/data/project.db", "x");
    sandbox.write(".opencode/work/sessions/handoffs/1.administrator.engineer.pending.md", "# Build it\n");
    assert_snapshot!(sandbox.maestro("import site-nine --yes"), @"
    $ maestro import site-nine --yes
    site-nine (.opencode)
      import  the handoff 1.administrator.engineer.pending.md, to .maestro/handoffs/site-nine
      works   1 skill in .opencode/skills
      works   .opencode/skills/session-start comes before the built-in workflow of that name; remove it to use that one
      left    .opencode/data/project.db: site-nine's database: missions, tasks and personas have another shape here

    Wrote .maestro/handoffs/site-nine/1.administrator.engineer.pending.md
    All other files are as they were. `maestro doctor` checks the result.
    ");
}

#[test]
fn a_script_becomes_a_valid_workflow_and_is_never_started() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/skills/review/scripts/review.py",
        "import os\nos.system('touch was-started')\nSTEPS = {\n  1: Step(title='Look', actions=['Read the {diff}', \"Don't edit\"], routing=LinearRouting()),\n  2: {'title': 'Judge: well', 'actions': []},\n}\nparser.add_argument('--step')\n",
    );
    sandbox.write(".claude/skills/review/scripts/odd.py", "parser.add_argument('--step')\nprint(STEPS[step])\n");
    let done = sandbox.maestro("import scripts --yes");
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stdout().contains("scripts/odd.py: its steps are computed"), "{done}");
    assert!(!sandbox.path("was-started").exists());
    let checked = sandbox.maestro("workflow check .maestro/skills/review-steps");
    assert_eq!(checked.code, 0, "{checked}");
    assert_snapshot!(fs::read_to_string(sandbox.path(".maestro/skills/review-steps/workflow.yaml")).unwrap(), @r#"
    # Taken from .claude/skills/review/scripts/review.py: titles and actions of its steps, in their order. Add what its code does:
    # outcomes that lead elsewhere, gates, sub-agents. `maestro workflow check .maestro/skills/review-steps` finds mistakes.
    workflow: 1
    name: review-steps
    description: "The steps of .claude/skills/review/scripts/review.py. Use when a task asks for them by name."
    params:
      task: {type: string, default: "", max_length: 8000, description: What it is to be used for}
    steps:
      - id: look
        type: agent
        title: "Look"
        description: "{task}"
        actions:
          - "Read the {{diff}}"
          - "Don't edit"
        next: {ok: judge-well, fail: failed}
      - id: judge-well
        type: agent
        title: "Judge: well"
        next: {ok: end, fail: failed}
      - {id: failed, type: end, status: failure}
    "#);
}

#[test]
fn nothing_to_import_is_said_and_an_agent_may_not() {
    let sandbox = Sandbox::new();
    let before = sandbox.tree();
    assert_eq!(sandbox.maestro("import").stdout(), "Nothing to import.\n");
    assert_eq!(sandbox.tree(), before);
    let agent = sandbox.maestro_as(&[("MAESTRO_SESSION_ID", "sess_1")], &["import", "--yes"]);
    assert_eq!(agent.code, 4, "{agent}");
}
