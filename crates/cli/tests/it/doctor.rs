//! `maestro doctor`: everything that could be mended, with file, line and help.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use crate::sandbox::Sandbox;
use crate::served::Server;
use crate::waiting::wait_until;

fn sick_project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".maestro/config.toml", "skills_enabled = true\nskills_validaton = \"strict\"\n");
    sandbox.write(".claude/skills/half/SKILL.md", "---\nname: half\n---\n");
    sandbox.write(".claude/skills/colon/SKILL.md", "---\nname: colon\ndescription: Use it: always\n---\n");
    sandbox
}

#[test]
fn a_healthy_project_has_no_problems() {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "changelog", "Writes the changelog.");
    sandbox.write(".maestro/config.toml", "skills_enabled = true\n");
    sandbox.install("codex");
    assert_snapshot!(sandbox.maestro("doctor"), @"
    $ maestro doctor
    Settings
      not found  ~/.config/maestro/config.toml
      not found  .loop/config
      read       .maestro/config.toml

    Agents
      Codex        ~/bin/codex

    Sandbox
      [SANDBOX]

    Skill directories
      .claude/skills                           claude-code 1 skill folder
      ~/.local/share/maestro/skills/builtin    maestro     21 skill folders
      and 43 more that do not exist

    Problems
      none
    ");
}

#[test]
fn each_fault_of_the_setup_is_found_with_the_command_that_fixes_it() {
    let sandbox = Sandbox::new();
    sandbox.install("codex");
    let found = || sandbox.maestro("doctor").stdout();
    sandbox.write("~/.config/maestro/config.toml", "agent = \"claude\"\n");
    let missing = found();
    assert!(
        missing.contains("warning[agent-missing]: `claude`, the agent of the settings, is not installed\n  --> ")
            && missing.contains(
                ".config/maestro/config.toml:1:1\n  hint: install it, or run `maestro config set agent NAME`"
            ),
        "{missing}"
    );
    sandbox.write("~/.config/maestro/config.toml", "agent = \"cluade\"\n");
    assert!(found().contains("`cluade`, the agent of the settings, is no agent that Maestro knows"), "{}", found());
    sandbox.write("~/.config/maestro/config.toml", "agent = \"codex\"\n");
    assert!(found().ends_with("Problems\n  none\n"), "{}", found());
    assert_eq!(sandbox.maestro("skills sync").code, 0);
    assert!(found().ends_with("Problems\n  none\n"), "the table is new: {}", found());
    sandbox.skill(".agents/skills", "pdf", "Merge PDFs. Use for PDFs.");
    let old = found();
    assert!(old.contains("warning[skill-table-old]") && old.contains("hint: run `maestro skills sync`"), "{old}");
    assert_eq!(sandbox.maestro("skills sync").code, 0);
    sandbox.write("~/.maestro/maestro.db", "no database at all, but some text in its place");
    let damaged = sandbox.maestro("doctor");
    assert_eq!(damaged.code, 1, "{damaged}");
    assert!(damaged.stdout().contains("error[database-broken]"), "{damaged}");
    assert!(damaged.stdout().contains("move it and the files beside it away"), "{damaged}");
}

#[test]
fn problems_come_with_place_and_help_and_fail_the_command() {
    assert_snapshot!(sick_project().maestro("doctor"), @"
    $ maestro doctor
    Settings
      not found  ~/.config/maestro/config.toml
      not found  .loop/config
      read       .maestro/config.toml

    Agents
      no coding agent found on PATH

    Sandbox
      [SANDBOX]

    Skill directories
      .claude/skills                           claude-code 2 skill folders
      ~/.local/share/maestro/skills/builtin    maestro     21 skill folders
      and 43 more that do not exist

    Problems
    error[config-unknown]: unknown setting `skills_validaton`
      --> [PROJECT]/.maestro/config.toml:2:1
      hint: did you mean `skills_validation`?
    warning[frontmatter-repaired]: `description` is not valid YAML (mapping values are not allowed in this context) and was read as text
      --> [PROJECT]/.claude/skills/colon/SKILL.md:3:20
      hint: write: description: 'Use it: always'
    error[description-missing]: there is no description
      --> [PROJECT]/.claude/skills/half/SKILL.md:2:1
      hint: add `description:` with what the skill does and when to use it
    info[agent-missing]: no coding agent found
      --> $PATH
      hint: install one that `maestro agents` lists; until then, `maestro demo` and `--agent demo` work without one

    2 errors, 1 warning
    --- exit 1
    ");
}

#[test]
fn programs_get_problems_roots_agents_and_settings() {
    let sandbox = sick_project();
    sandbox.install("claude");
    let report = sandbox.maestro("doctor --json --set skills_builtin=false --set skills_extra_dirs=");
    assert_snapshot!(report, @r#"
    $ maestro doctor --json --set skills_builtin=false --set skills_extra_dirs=
    {
      "ok": false,
      "problems": [
        {
          "code": "config-unknown",
          "severity": "error",
          "path": "[PROJECT]/.maestro/config.toml",
          "line": 2,
          "column": 1,
          "message": "unknown setting `skills_validaton`",
          "help": "did you mean `skills_validation`?"
        },
        {
          "code": "frontmatter-repaired",
          "severity": "warning",
          "path": "[PROJECT]/.claude/skills/colon/SKILL.md",
          "line": 3,
          "column": 20,
          "message": "`description` is not valid YAML (mapping values are not allowed in this context) and was read as text",
          "help": "write: description: 'Use it: always'"
        },
        {
          "code": "description-missing",
          "severity": "error",
          "path": "[PROJECT]/.claude/skills/half/SKILL.md",
          "line": 2,
          "column": 1,
          "message": "there is no description",
          "help": "add `description:` with what the skill does and when to use it"
        }
      ],
      "roots": [
        {
          "path": "[PROJECT]/.agent/skills",
          "source": "project",
          "owner": "shared",
          "exists": false,
          "folders": 0
        },
        {
          "path": "[HOME]/.agent/skills",
          "source": "user",
          "owner": "shared",
          "exists": false,
          "folders": 0
        },
        {
          "path": "[PROJECT]/.claude/skills",
          "source": "project",
          "owner": "claude-code",
          "exists": true,
          "folders": 2
        },
        {
          "path": "[HOME]/.claude/skills",
          "source": "user",
          "owner": "claude-code",
          "exists": false,
          "folders": 0
        },
        {
          "path": "[PROJECT]/skills",
          "source": "workspace",
          "exists": false,
          "folders": 0
        }
      ],
      "agents": [
        {
          "name": "Claude Code",
          "program": "claude",
          "path": "[HOME]/bin/claude"
        }
      ],
      "connections": [],
      "settings": [
        {
          "path": "[HOME]/.config/maestro/config.toml",
          "exists": false
        },
        {
          "path": "[PROJECT]/.loop/config",
          "exists": false
        },
        {
          "path": "[PROJECT]/.maestro/config.toml",
          "exists": true
        }
      ],
      "sandbox": "[SANDBOX]",
      "inhibits_sleep": false
    }
    --- exit 1
    "#);
}

#[test]
fn warnings_alone_do_not_fail_the_command() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/skills/colon/SKILL.md", "---\nname: colon\ndescription: Use it: always\n---\n");
    let report = sandbox.maestro("doctor");
    assert_eq!(report.code, 0, "{report}");
    assert!(report.stdout().ends_with("\n0 errors, 1 warning\n"), "{report}");
}

#[test]
fn only_the_given_directories_are_examined() {
    let sandbox = sick_project();
    sandbox.write(".maestro/config.toml", "");
    sandbox.skill("kit", "pdf", "Fills PDF forms.");
    assert_snapshot!(sandbox.maestro("doctor --dir kit"), @"
    $ maestro doctor --dir kit
    Settings
      not found  ~/.config/maestro/config.toml
      not found  .loop/config
      read       .maestro/config.toml

    Agents
      no coding agent found on PATH

    Sandbox
      [SANDBOX]

    Skill directories
      kit                                                  1 skill folder

    Problems
    info[agent-missing]: no coding agent found
      --> $PATH
      hint: install one that `maestro agents` lists; until then, `maestro demo` and `--agent demo` work without one

    0 errors, 0 warnings
    ");
}

#[test]
fn given_directories_are_examined_even_where_the_settings_are_wrong() {
    let sandbox = sick_project();
    sandbox.skill("kit", "pdf", "Fills PDF forms.");
    assert_snapshot!(sandbox.maestro("doctor --dir kit"), @"
    $ maestro doctor --dir kit
    Settings
      not found  ~/.config/maestro/config.toml
      not found  .loop/config
      read       .maestro/config.toml

    Agents
      no coding agent found on PATH

    Sandbox
      [SANDBOX]

    Skill directories
      kit                                                  1 skill folder

    Problems
    error[config-unknown]: unknown setting `skills_validaton`
      --> [PROJECT]/.maestro/config.toml:2:1
      hint: did you mean `skills_validation`?
    info[agent-missing]: no coding agent found
      --> $PATH
      hint: install one that `maestro agents` lists; until then, `maestro demo` and `--agent demo` work without one

    1 error, 0 warnings
    --- exit 1
    ");
    assert_eq!(sandbox.maestro("doctor --dir nowhere").code, 2);
}

#[test]
fn one_directory_reached_by_two_ways_is_told() {
    let sandbox = Sandbox::new();
    sandbox.skill(".agents/skills", "changelog", "Writes the changelog.");
    sandbox.write(".claude/settings.json", "{}");
    std::os::unix::fs::symlink("../.agents/skills", sandbox.path(".claude/skills")).unwrap();
    assert_snapshot!(sandbox.maestro("doctor --set skills_builtin=false"), @"
    $ maestro doctor --set skills_builtin=false
    Settings
      not found  ~/.config/maestro/config.toml
      not found  .loop/config
      not found  .maestro/config.toml

    Agents
      no coding agent found on PATH

    Sandbox
      [SANDBOX]

    Skill directories
      .claude/skills                           claude-code 1 skill folder
      .agents/skills                           shared      the same as .claude/skills
      and 42 more that do not exist

    Problems
    info[agent-missing]: no coding agent found
      --> $PATH
      hint: install one that `maestro agents` lists; until then, `maestro demo` and `--agent demo` work without one

    0 errors, 0 warnings
    ");
}

#[test]
fn missing_and_circular_dependencies_are_reported() {
    let sandbox = Sandbox::new();
    for (id, needs) in [("hen", "egg"), ("egg", "hen"), ("nest", "twig")] {
        let manifest =
            format!(r#"{{"name": "{id}", "version": "1.0.0", "description": "A {id}.", "dependencies": ["{needs}"]}}"#);
        sandbox.write(&format!(".maestro/skills/{id}/manifest.json"), manifest);
        sandbox.write(&format!(".maestro/skills/{id}/skill.md"), "# Be\n");
    }
    let report = sandbox.maestro("doctor --set skills_builtin=false");
    assert_snapshot!(report, @"
    $ maestro doctor --set skills_builtin=false
    Settings
      not found  ~/.config/maestro/config.toml
      not found  .loop/config
      not found  .maestro/config.toml

    Agents
      no coding agent found on PATH

    Sandbox
      [SANDBOX]

    Skill directories
      .maestro/skills                          maestro     3 skill folders
      and 43 more that do not exist

    Problems
    warning[dependency-cycle]: Dependency cycle: egg → hen → egg
      --> [PROJECT]/.maestro/skills/hen/manifest.json:1:1
      hint: remove one of these dependencies
    warning[dependency-missing]: Missing dependency: nest requires twig
      --> [PROJECT]/.maestro/skills/nest/manifest.json:1:1
      hint: install `twig`, or remove it from the dependencies
    info[agent-missing]: no coding agent found
      --> $PATH
      hint: install one that `maestro agents` lists; until then, `maestro demo` and `--agent demo` work without one

    0 errors, 2 warnings
    ");
}

#[test]
fn a_server_whose_disk_is_full_is_degraded_and_says_why() {
    let sandbox = Sandbox::new().with_variable("MAESTRO_BACKUPS_KEPT", "0");
    let project = sandbox.maestro("project create shop").id();
    // What was stored may still be in the log, which is copied into the file when the server starts.
    let size = |name: &str| fs::metadata(sandbox.home().join(".maestro").join(name)).map_or(0, |file| file.len());
    let server = Server::start_cramped(&sandbox, (size("maestro.db") + size("maestro.db-wal")) / 512 + 2048);
    let healthy = sandbox.maestro("doctor --json");
    assert!(!healthy.stdout().contains("server-degraded"), "{healthy}");
    let task = json!({ "projectId": project, "title": "Large", "description": "x".repeat(100_000) });
    // The server tries again by itself, and something small may still fit.
    wait_until("the doctor says what fails", || {
        let (status, _) = server.ask("POST", "/api/tasks", None, Some(&task));
        let ill = sandbox.maestro("doctor");
        let told = ill.stdout() + &ill.stderr();
        let degraded = told.contains("error[server-degraded]: the server is degraded: database failed");
        assert!(ill.code == 1 || !degraded, "{ill}");
        status >= 500 && degraded
    });
}

#[test]
fn what_keeps_work_from_starting_is_named_with_the_command_that_helps() {
    let sandbox = Sandbox::new();
    sandbox.install("claude");
    sandbox.write(".maestro/config.toml", "skills_enabled = true\nverify = [\"no-such-check -q\", \"./check\"]\n");
    sandbox.write("check", "");
    let server = Server::start(&sandbox, &[]);
    let shown = sandbox.normal(&sandbox.maestro("doctor").stdout());
    let (_, problems) = shown.split_once("Problems\n").unwrap();
    assert_snapshot!(problems, @r#"
    warning[check-not-found]: `no-such-check -q` in `verify` cannot run: `no-such-check` not found
      --> [PROJECT]/.maestro/config.toml:2:1
      hint: install it, or run `maestro config set --project verify '["COMMAND"]'` with another one
    warning[project-unknown]: the server that runs does not know this project, so its page does not show it
      --> [PROJECT]/.maestro/config.toml:1:1
      hint: run `maestro init` here to register it

    0 errors, 2 warnings
    "#);
    assert_eq!(sandbox.maestro("init --yes").code, 0);
    assert!(!sandbox.maestro("doctor").stdout().contains("project-unknown"));
    drop(server);
}
