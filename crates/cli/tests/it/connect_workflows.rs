//! A workflow is started from within a tool, by the file that `maestro connect --workflow` made for it.

use std::fs;

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

/// Where each tool gets its file.
const FILES: [(&str, &str); 7] = [
    ("claude-code", "~/.claude/skills/run-session-start/SKILL.md"),
    ("cursor", "~/.cursor/skills/run-session-start/SKILL.md"),
    ("opencode", "~/.config/opencode/skills/run-session-start/SKILL.md"),
    ("codex", "~/.codex/skills/run-session-start/SKILL.md"),
    ("gemini", "~/.gemini/skills/run-session-start/SKILL.md"),
    ("goose", "~/.config/goose/skills/run-session-start/SKILL.md"),
    ("aider", "~/.aider/maestro/run-session-start.txt"),
];

fn connected() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut args = vec!["connect"];
    args.extend(FILES.iter().map(|(tool, _)| *tool));
    args.extend(["--workflow", "session-start", "--create"]);
    let output = sandbox.maestro_with(&args);
    assert_eq!(output.code, 0, "{output}");
    sandbox
}

#[test]
fn every_tool_is_told_how_to_start_a_workflow() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.maestro("connect opencode vscode aider --workflow session-start --create"), @r#"
    $ maestro connect opencode vscode aider --workflow session-start --create
    Added Maestro to OpenCode (created ~/.config/opencode/opencode.json).
    Added the command `skill(name="run-session-start")` to OpenCode (created ~/.config/opencode/skills/run-session-start/SKILL.md).
    Added Maestro to VS Code (created ~/.config/Code/User/mcp.json).
    Added the command `/run maestro workflow start session-start --tool aider` to Aider (created ~/.aider/maestro/run-session-start.txt).
    Restart these tools to load it; `maestro doctor` checks the connection.
    "#);
    let text = |path: &str| fs::read_to_string(sandbox.path(path)).unwrap();
    assert_snapshot!(text("~/.config/opencode/skills/run-session-start/SKILL.md"), @r#"
    ---
    name: run-session-start
    description: "Starts the workflow `session-start` with Maestro. Use when it is asked for by name. Begin a session with a role and a name, register it, and see what waits. Use when work in a project begins."
    ---

    # session-start

    Run this, and do what it prints, one step at a time:

        maestro workflow start session-start --tool opencode

    It takes parameters; give each as `--param NAME=VALUE`, in quotes, and ask for one that is required and not known:

    - role (string): The role to take; asked for when missing or unknown
    - name (string, default ""): The name to go by; asked for when missing
    - task (string): The id of a task to begin right away

    Report each step with the command that it names. Skip none, and add none: only the workflow decides what comes next. `maestro workflow runs` lists the runs, and `maestro workflow next RUN` says where one stands.
    "#);
    assert_snapshot!(text("~/.aider/maestro/run-session-start.txt"), @"
    # Starts the workflow session-start with Maestro; load it with /load.
    /run maestro workflow start session-start --tool aider
    ");
}

#[test]
fn what_a_file_says_starts_the_workflow() {
    let sandbox = connected();
    for (tool, path) in FILES {
        let text = fs::read_to_string(sandbox.path(path)).unwrap();
        let line = text.lines().find_map(|line| line.split_once("maestro workflow start ")).unwrap().1;
        let mut args = vec!["workflow", "start"];
        args.extend(line.split_whitespace());
        let output = sandbox.maestro_with(&args);
        assert_eq!(output.code, 0, "{tool}: {output}");
        assert!(output.stdout().contains("Which role should I take?"), "{tool}: {output}");
    }
    let runs = sandbox.maestro("workflow runs --all --json").json();
    assert_eq!(runs.as_array().unwrap().len(), FILES.len());
}

#[test]
fn such_a_skill_is_flawless_and_does_not_hide_the_workflow() {
    let sandbox = connected();
    let dir = sandbox.path("~/.claude/skills");
    let output = sandbox.maestro_with(&["skills", "validate", "--dir", dir.to_str().unwrap()]);
    assert_eq!(output.code, 0, "{output}");
    let shown = sandbox.maestro("workflow show session-start --json").json();
    assert!(shown["steps"].as_array().unwrap().len() > 1, "{shown}");
}

#[test]
fn disconnect_removes_exactly_these_files() {
    let sandbox = connected();
    sandbox.skill("~/.claude/skills", "mine", "Something of mine.");
    let cursor = sandbox.path("~/.cursor/skills/run-session-start/SKILL.md");
    fs::write(&cursor, "I have changed it.\n").unwrap();
    assert_snapshot!(sandbox.maestro("disconnect all"), @"
    $ maestro disconnect all
    Removed Maestro from Claude Code (~/.claude.json).
    Removed a workflow command from Claude Code (~/.claude/skills/run-session-start/SKILL.md).
    Removed Maestro from Cursor (~/.cursor/mcp.json).
    Kept ~/.cursor/skills/run-session-start/SKILL.md: it was edited since Maestro created it.
    Removed Maestro from OpenCode (~/.config/opencode/opencode.json).
    Removed a workflow command from OpenCode (~/.config/opencode/skills/run-session-start/SKILL.md).
    Removed Maestro from Codex (~/.codex/config.toml).
    Removed a workflow command from Codex (~/.codex/skills/run-session-start/SKILL.md).
    Removed Maestro from Gemini CLI (~/.gemini/settings.json).
    Removed a workflow command from Gemini CLI (~/.gemini/skills/run-session-start/SKILL.md).
    Removed Maestro from Goose (~/.config/goose/config.yaml).
    Removed a workflow command from Goose (~/.config/goose/skills/run-session-start/SKILL.md).
    Removed a workflow command from Aider (~/.aider/maestro/run-session-start.txt).
    ");
    for (tool, path) in FILES {
        assert_eq!(sandbox.path(path).exists(), tool == "cursor", "{tool}");
    }
    assert!(!sandbox.path("~/.claude/skills/run-session-start").exists());
    assert!(sandbox.path("~/.claude/skills/mine/SKILL.md").exists());
}

#[test]
fn a_workflow_that_is_not_there_or_a_file_that_is_leaves_all_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.claude/skills/run-session-start/SKILL.md", "mine\n");
    assert_snapshot!(sandbox.maestro("connect claude-code --workflow sesion-start --create"), @"
    $ maestro connect claude-code --workflow sesion-start --create
    --- stderr
    error: there is no workflow `sesion-start`
    hint: did you mean `session-start`?
    --- exit 2
    ");
    assert_snapshot!(sandbox.maestro("connect claude-code --workflow session-start --create"), @"
    $ maestro connect claude-code --workflow session-start --create
    --- stderr
    error: ~/.claude/skills/run-session-start/SKILL.md exists and is not from Maestro
    hint: remove or rename it, then run `maestro connect` again
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("connect aider"), @"
    $ maestro connect aider
    --- stderr
    error: Aider does not support MCP
    hint: add a workflow: `maestro connect aider --workflow NAME`
    --- exit 1
    ");
    assert!(!sandbox.path("~/.claude.json").exists());
    assert!(!sandbox.path("~/.maestro/connections.json").exists());
}

#[test]
fn a_file_follows_its_workflow_and_still_goes() {
    let sandbox = Sandbox::new();
    let workflow = |about: &str| {
        format!(
            "name: tidy\nversion: \"1.0\"\ndescription: {about}\nsteps:\n  - id: look\n    type: output\n    template: hello\ntemplates:\n  hello: Hello.\n"
        )
    };
    sandbox.write(".claude/skills/tidy/workflow.yaml", workflow("Tidies up."));
    assert_eq!(sandbox.maestro("connect codex --workflow tidy --create").code, 0);
    sandbox.write(".claude/skills/tidy/workflow.yaml", workflow("Tidies up well."));
    let output = sandbox.maestro("connect codex --workflow tidy --create");
    assert_eq!(output.code, 0, "{output}");
    let path = sandbox.path("~/.codex/skills/run-tidy/SKILL.md");
    assert!(fs::read_to_string(&path).unwrap().contains("Tidies up well."));
    assert_eq!(sandbox.maestro("disconnect codex").code, 0);
    assert!(!path.parent().unwrap().exists());
}

#[test]
fn folders_go_with_the_files_that_they_were_made_for() {
    let sandbox = Sandbox::new();
    let mut tools: Vec<&str> = FILES.iter().map(|(tool, _)| *tool).collect();
    tools.push("vscode");
    // These were there, although nothing is in them.
    for path in ["~/.config/goose/skills", "~/.gemini/skills/run-session-start", ".cursor"] {
        fs::create_dir_all(sandbox.path(path)).unwrap();
    }
    let outside = |sandbox: &Sandbox| {
        let mut tree = sandbox.tree();
        let own = ["~/.maestro", "~/.cache", "~/.local"].map(|path| sandbox.path(path));
        tree.retain(|path, _| !own.iter().any(|own| path.starts_with(own)));
        tree.into_keys().collect::<Vec<_>>()
    };
    let before = outside(&sandbox);
    for scope in ["user", "project"] {
        let named = tools.iter().filter(|tool| scope == "user" || **tool != "goose");
        let mut args = vec!["connect"];
        args.extend(named);
        args.extend(["--workflow", "session-start", "--hooks", "--create", "--scope", scope]);
        let output = sandbox.maestro_with(&args);
        assert_eq!(output.code, 0, "{output}");
        assert_ne!(outside(&sandbox), before);
        // Each tool by itself, since some have a folder in common.
        for tool in tools.iter().filter(|tool| scope == "user" || **tool != "goose") {
            let output = sandbox.maestro_with(&["disconnect", tool, "--scope", scope]);
            assert_eq!(output.code, 0, "{output}");
        }
        assert_eq!(outside(&sandbox), before);
    }
}

#[test]
fn a_folder_that_somebody_put_something_into_stays() {
    let sandbox = connected();
    sandbox.write("~/.config/opencode/skills/mine.md", "mine\n");
    assert_eq!(sandbox.maestro("disconnect opencode codex").code, 0);
    assert!(sandbox.path("~/.config/opencode/skills/mine.md").exists());
    assert!(!sandbox.path("~/.config/opencode/skills/run-session-start").exists());
    assert!(!sandbox.path("~/.codex").exists());
    // Once it is somebody's own, it is theirs although it is empty.
    fs::remove_file(sandbox.path("~/.config/opencode/skills/mine.md")).unwrap();
    assert_eq!(sandbox.maestro("disconnect all").code, 0);
    assert!(sandbox.path("~/.config/opencode/skills").exists());
}

#[test]
fn a_folder_that_outlived_its_file_is_somebodys_own() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.maestro("connect codex --create").code, 0);
    fs::remove_file(sandbox.path("~/.codex/config.toml")).unwrap();
    assert_eq!(sandbox.maestro("connect codex --create").code, 0);
    assert_eq!(sandbox.maestro("disconnect codex").code, 0);
    assert!(!sandbox.path("~/.codex/config.toml").exists());
    assert!(sandbox.path("~/.codex").exists(), "it was there before");
}

#[test]
fn nothing_that_a_workflow_says_of_itself_steers_a_terminal() {
    let sandbox = Sandbox::new();
    let hostile = r#""Tidies \e[31m up\a. \u202e""#;
    sandbox.write(
        ".claude/skills/tidy/workflow.yaml",
        format!(
            "name: tidy\nversion: \"1.0\"\ndescription: {hostile}\nparams:\n  where:\n    type: string\n    description: \"a\\e[31m\\nb\"\nsteps:\n  - id: look\n    type: output\n    template: hello\ntemplates:\n  hello: Hello.\n"
        ),
    );
    let output = sandbox.maestro("connect codex --workflow tidy --create");
    assert_eq!(output.code, 0, "{output}");
    let text = fs::read_to_string(sandbox.path("~/.codex/skills/run-tidy/SKILL.md")).unwrap();
    assert!(text.contains("Tidies \u{fffd}[31m up\u{fffd}. \u{fffd}\"\n"), "{text}");
    assert!(text.contains("- where (string): a\u{fffd}[31m b\n"), "{text}");
}
