//! `maestro init`: sets a project up, once.

use std::fs;

use insta::assert_snapshot;

use crate::sandbox::Sandbox;
use crate::served::Server;

/// The directory that the workspace's pack was copied to.
fn copy_of_pack(sandbox: &Sandbox) -> std::path::PathBuf {
    let entries = fs::read_dir(sandbox.sync_dir()).unwrap().map(|entry| entry.unwrap().path());
    let is_link = |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("workspace-");
    let links: Vec<_> = entries.filter(is_link).collect();
    let [link] = links.as_slice() else { panic!("not one copy: {links:?}") };
    link.clone()
}

#[test]
fn init_writes_a_config_that_turns_skills_on() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.maestro("init --yes"), @r#"
    $ maestro init --yes
    Wrote .maestro/config.toml (skills are on for agents that Maestro starts here).
    Project ID: [PROJECT-1]
    Next: `maestro do "TASK"` has an agent do one task, `maestro skills try "TASK"` shows its skills, `maestro doctor` checks the setup.
    "#);
    assert_snapshot!(fs::read_to_string(sandbox.path(".maestro/config.toml")).unwrap(), @"
    # Maestro's settings for this project.
    # `maestro config show --origin` lists every setting and where it comes from.

    # Agents that Maestro starts here get the skills that fit their task.
    skills_enabled = true
    ");
    assert_eq!(sandbox.maestro("config show skills_enabled").stdout(), "skills_enabled = true\n");
}

#[test]
fn init_leaves_a_config_alone_that_is_there() {
    let sandbox = Sandbox::new();
    sandbox.write(".maestro/config.toml", "# Mine\nskills_enabled = false\n");
    assert_snapshot!(sandbox.maestro("init --yes"), @r#"
    $ maestro init --yes
    .maestro/config.toml already exists; not changed.
    Project ID: [PROJECT-1]
    Next: `maestro do "TASK"` has an agent do one task, `maestro skills try "TASK"` shows its skills, `maestro doctor` checks the setup.
    "#);
    let kept = fs::read_to_string(sandbox.path(".maestro/config.toml")).unwrap();
    assert_eq!(kept, "# Mine\nskills_enabled = false\n");
}

#[test]
fn a_second_init_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.skill("skills", "house-style", "How we write.");
    sandbox.maestro("init --yes");
    // Asking the database whether the project is known leaves its traces there.
    let tree = || {
        let mut tree = sandbox.tree();
        tree.retain(|path, _| !path.to_string_lossy().contains("/.maestro/maestro.db"));
        tree
    };
    let before = tree();
    assert_eq!(sandbox.maestro("init --yes").code, 0);
    assert_eq!(tree(), before);
}

#[test]
fn without_a_terminal_init_needs_a_yes() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.maestro("init"), @r#"
    $ maestro init
    Found in [PROJECT]
      agents   none; `maestro demo` and `--agent demo` work without one
      skills   21
      tools    none found
      check    none found; `maestro config set --project verify '["COMMAND"]'` names one
      git      `git` not found on PATH, and the work of agents is committed: install git

    Proposed
      write .maestro/config.toml
        agents that Maestro starts here get the skills that fit their task
    --- stderr
    error: confirmation required to write .maestro/config.toml
    hint: run `maestro init --yes`
    --- exit 1
    "#);
    assert!(!sandbox.path(".maestro").exists() && !sandbox.path("~/.maestro").exists());
}

#[test]
fn a_dry_run_shows_what_would_be_set_up_and_writes_nothing() {
    let sandbox = Sandbox::new();
    let shown = sandbox.maestro("init --dry-run");
    assert_eq!(shown.code, 0, "{shown}");
    for part in ["Found in ", "Proposed\n  write .maestro/config.toml", "Nothing was written."] {
        assert!(shown.stdout().contains(part), "{part}: {shown}");
    }
    assert!(!sandbox.path(".maestro").exists() && !sandbox.path("~/.maestro").exists());
    sandbox.write(".maestro/config.toml", "skills_enabled = true\n");
    let shown = sandbox.maestro("init --dry-run").stdout();
    assert!(shown.contains("Proposed\n  nothing; it is set up\n"), "{shown}");
}

#[test]
fn init_below_the_project_writes_to_its_root() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
    sandbox.write("web/index.html", "");
    assert_snapshot!(sandbox.maestro_in("web", &["init", "--yes"]), @r#"
    $ maestro init --yes
    Wrote ../.maestro/config.toml (skills are on for agents that Maestro starts here).
    Project ID: [PROJECT-1]
    Next: `maestro do "TASK"` has an agent do one task, `maestro skills try "TASK"` shows its skills, `maestro doctor` checks the setup.
    "#);
    assert!(sandbox.path(".maestro/config.toml").is_file());
}

#[test]
fn init_copies_the_workspaces_skill_pack_with_everything_in_it() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    sandbox.skill("skills", "house-style", "How we write.");
    sandbox.write("skills/house-style/scripts/check.sh", "#!/bin/sh\n");
    let script = sandbox.path("skills/house-style/scripts/check.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    assert_snapshot!(sandbox.maestro("init --yes"), @r#"
    $ maestro init --yes
    Wrote .maestro/config.toml (skills are on for agents that Maestro starts here).
    Copied the skill pack skills to ~/.local/share/maestro/skills/workspace-[DIGEST].
    Project ID: [PROJECT-1]
    Next: `maestro do "TASK"` has an agent do one task, `maestro skills try "TASK"` shows its skills, `maestro doctor` checks the setup.
    "#);
    let copy = copy_of_pack(&sandbox).join("house-style");
    let text = fs::read(copy.join("SKILL.md")).unwrap();
    assert_eq!(text, fs::read(sandbox.path("skills/house-style/SKILL.md")).unwrap());
    let mode = copy.join("scripts/check.sh").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "a script stays one");
}

#[test]
fn a_skill_that_left_the_pack_leaves_the_copy() {
    let sandbox = Sandbox::new();
    sandbox.skill("skills", "old-way", "Goes away.");
    sandbox.skill("skills", "house-style", "Stays.");
    sandbox.maestro("init --yes");
    let copy = copy_of_pack(&sandbox);
    let first = copy.canonicalize().unwrap();
    assert!(copy.join("old-way").is_dir());

    fs::remove_dir_all(sandbox.path("skills/old-way")).unwrap();
    sandbox.skill("skills", "new-way", "Comes.");
    sandbox.maestro("init --yes");
    let mut skills: Vec<_> = fs::read_dir(&copy).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    skills.sort();
    assert_eq!(skills, ["house-style", "new-way"]);
    // A reader follows the link to the old directory or to the new one; neither is ever half written.
    assert_ne!(copy.canonicalize().unwrap(), first);
    assert!(!first.exists(), "what the link led to before is cleared away");
    let left: Vec<_> = fs::read_dir(sandbox.sync_dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "a link and a directory for each pack, and nothing half done: {left:?}");
}

#[test]
fn the_packs_of_two_workspaces_do_not_touch_each_other() {
    let sandbox = Sandbox::new();
    sandbox.skill("one/skills", "first", "Of the first workspace.");
    sandbox.skill("two/skills", "second", "Of the second workspace.");
    sandbox.maestro_in("one", &["init", "--yes"]);
    let copy = copy_of_pack(&sandbox);
    sandbox.maestro_in("two", &["init", "--yes"]);
    assert!(copy.join("first/SKILL.md").is_file());
}

#[test]
fn packs_are_not_copied_where_that_is_turned_off() {
    let sandbox = Sandbox::new();
    sandbox.skill("skills", "house-style", "How we write.");
    assert_snapshot!(sandbox.maestro("init --yes --set skills_sync_on_start=false"), @r#"
    $ maestro init --yes --set skills_sync_on_start=false
    Wrote .maestro/config.toml (skills are on for agents that Maestro starts here).
    Project ID: [PROJECT-1]
    Next: `maestro do "TASK"` has an agent do one task, `maestro skills try "TASK"` shows its skills, `maestro doctor` checks the setup.
    "#);
    assert!(!sandbox.sync_dir().exists());
}

#[test]
fn a_pack_that_cannot_be_copied_is_a_warning_and_is_read_where_it_is() {
    let sandbox = Sandbox::new();
    sandbox.skill("skills", "house-style", "How we write.");
    sandbox.write("~/.local/share/maestro/skills", "a file stands in the way\n");
    assert_snapshot!(sandbox.maestro("init --yes"), @r#"
    $ maestro init --yes
    Wrote .maestro/config.toml (skills are on for agents that Maestro starts here).
    Project ID: [PROJECT-1]
    Next: `maestro do "TASK"` has an agent do one task, `maestro skills try "TASK"` shows its skills, `maestro doctor` checks the setup.
    --- stderr
    warning[pack-not-synced]: cannot copy the built-in skill pack: cannot write to [HOME]/.local/share/maestro/skills: File exists (os error 17)
      --> [HOME]/.local/share/maestro/skills:1:1
      hint: make the directory writable, or set skills_sync_dir to another one
    warning[pack-not-synced]: cannot copy the workspace's skill pack: cannot write to [HOME]/.local/share/maestro/skills: File exists (os error 17)
      --> [HOME]/.local/share/maestro/skills:1:1
      hint: make the directory writable, or set skills_sync_dir to another one
    "#);
    let read = sandbox.maestro("skills read house-style");
    assert_snapshot!(read, @"
    $ maestro skills read house-style
    Reading: house-style
    Base directory: [PROJECT]/skills/house-style

    ---
    name: house-style
    description: How we write.
    ---

    # How to

    Step by step.


    Skill read: house-style
    ");
}

#[test]
fn somebody_elses_directory_in_place_of_a_copy_is_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.local/share/maestro/skills/builtin/mine/SKILL.md", "---\nname: mine\ndescription: Mine.\n---\n");
    assert_snapshot!(sandbox.maestro("init --yes"), @r#"
    $ maestro init --yes
    Wrote .maestro/config.toml (skills are on for agents that Maestro starts here).
    Project ID: [PROJECT-1]
    Next: `maestro do "TASK"` has an agent do one task, `maestro skills try "TASK"` shows its skills, `maestro doctor` checks the setup.
    --- stderr
    warning[pack-not-synced]: cannot copy the built-in skill pack: [HOME]/.local/share/maestro/skills/builtin exists and was not made by Maestro
      --> [HOME]/.local/share/maestro/skills:1:1
      hint: move it away, or set skills_sync_dir to another directory
    "#);
    assert!(sandbox.sync_dir().join("builtin/mine/SKILL.md").is_file());
    let listed = sandbox.maestro("skills list --json").json();
    let names: Vec<&str> = listed["skills"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"maestro-cli") && !names.contains(&"mine"), "nothing else passes for Maestro's: {names:?}");
}

#[test]
fn a_config_that_cannot_be_written_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write(".maestro", "a file, not a directory\n");
    assert_snapshot!(sandbox.maestro("init --yes"), @"
    $ maestro init --yes
    --- stderr
    error: cannot write .maestro/config.toml
      because File exists (os error 17)
    hint: check the permissions of the project's directory
    --- exit 1
    ");
}

#[test]
fn programs_are_told_what_was_written() {
    let sandbox = Sandbox::new();
    sandbox.skill("skills", "house-style", "How we write.");
    assert_snapshot!(sandbox.maestro("init --yes --json"), @r#"
    $ maestro init --yes --json
    {
      "config": "[PROJECT]/.maestro/config.toml",
      "written": true,
      "project": "[PROJECT-1]",
      "projectProblem": null,
      "workerSkill": null,
      "pack": "[HOME]/.local/share/maestro/skills/workspace-[DIGEST]",
      "problems": [],
      "found": {
        "agents": [],
        "check": null,
        "tools": []
      }
    }
    "#);
    assert_eq!(sandbox.maestro("init --yes --json").json()["written"], false);
}

#[test]
fn init_does_not_write_through_a_link_out_of_the_project() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("~/.cargo")).unwrap();
    std::os::unix::fs::symlink(sandbox.path("~/.cargo"), sandbox.path(".maestro")).unwrap();
    assert_snapshot!(sandbox.maestro("init --yes"), @"
    $ maestro init --yes
    --- stderr
    error: .maestro/config.toml leads out of the project
    hint: remove the link in its path; Maestro does not write through it
    --- exit 1
    ");
    assert!(!sandbox.path("~/.cargo/config.toml").exists());
}

#[test]
fn init_registers_the_project_once() {
    let sandbox = Sandbox::new();
    let first = sandbox.maestro("init --yes --json").json()["project"].clone();
    assert!(first.as_str().unwrap().starts_with("proj_"));
    assert_eq!(sandbox.maestro("init --yes --json").json()["project"], first);
    let server = Server::start(&sandbox, &[]);
    assert_eq!(sandbox.maestro("init --yes --json").json()["project"], first, "also through a server");
    let projects = server.ask("GET", "/api/projects", None, None).1;
    assert_eq!(projects.as_array().unwrap().len(), 1);
    assert_eq!(projects[0]["name"], "project");
    assert_eq!(projects[0]["workingDir"], sandbox.project().to_str().unwrap());
}

#[test]
fn a_database_that_cannot_be_opened_is_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.maestro/maestro.db", "this is no database, whatever its name says".repeat(100));
    let output = sandbox.maestro("init --yes");
    assert_eq!(output.code, 0);
    assert!(sandbox.path(".maestro/config.toml").is_file());
    assert_snapshot!(output, @r#"
    $ maestro init --yes
    Wrote .maestro/config.toml (skills are on for agents that Maestro starts here).
    Next: `maestro do "TASK"` has an agent do one task, `maestro skills try "TASK"` shows its skills, `maestro doctor` checks the setup.
    --- stderr
    warning: cannot register the project: the database [HOME]/.maestro/maestro.db cannot be opened: file is not a database
    hint: run `maestro init` to try again
    "#);
}

#[test]
fn init_writes_the_workers_skill_when_asked_and_once() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.maestro("init --yes --worker-skill"), @r#"
    $ maestro init --yes --worker-skill
    Wrote .maestro/config.toml (skills are on for agents that Maestro starts here).
    Wrote .skills/maestro-worker (how an agent reports to Maestro).
    Project ID: [PROJECT-1]
    Next: `maestro do "TASK"` has an agent do one task, `maestro skills try "TASK"` shows its skills, `maestro doctor` checks the setup.
    "#);
    for file in ["manifest.json", "skill.md", "skill.json"] {
        let builtin = format!("{}/../../skills/maestro-worker/{file}", env!("CARGO_MANIFEST_DIR"));
        let written = fs::read(sandbox.path(&format!(".skills/maestro-worker/{file}"))).unwrap();
        assert_eq!(written, fs::read(builtin).unwrap(), "{file}");
    }
    sandbox.write(".skills/maestro-worker/skill.md", "# Ours\n");
    assert_snapshot!(sandbox.maestro("init --yes --worker-skill"), @r#"
    $ maestro init --yes --worker-skill
    .maestro/config.toml already exists; not changed.
    .skills/maestro-worker already exists; not changed.
    Project ID: [PROJECT-1]
    Next: `maestro do "TASK"` has an agent do one task, `maestro skills try "TASK"` shows its skills, `maestro doctor` checks the setup.
    "#);
    assert_eq!(fs::read(sandbox.path(".skills/maestro-worker/skill.md")).unwrap(), b"# Ours\n");
}

#[test]
fn the_workers_skill_is_not_written_through_a_link_out_of_the_project() {
    let sandbox = Sandbox::new();
    sandbox.write("~/skills/keep", "");
    std::os::unix::fs::symlink(sandbox.path("~/skills"), sandbox.path(".skills")).unwrap();
    assert_eq!(sandbox.maestro("init --yes --worker-skill").code, 1);
    assert!(!sandbox.path("~/skills/maestro-worker").exists());
}

#[test]
fn a_yes_adds_the_check_that_fits_and_connects_what_is_installed() {
    let sandbox = Sandbox::new();
    sandbox.write("Makefile", "test:\n\ttrue\n");
    sandbox.install("make");
    sandbox.install("cursor");
    assert_snapshot!(sandbox.maestro("init --yes"), @r#"
    $ maestro init --yes
    Wrote .maestro/config.toml (skills are on for agents that Maestro starts here).
    Added `verify = ["make test"]` to .maestro/config.toml and allowed it.
    Added Maestro to Cursor (created ~/.cursor/mcp.json).
    Added Maestro's hooks to Cursor (created ~/.cursor/hooks.json).
    Restart these tools to load it.
    Project ID: [PROJECT-1]
    Next: `maestro do "TASK"` has an agent do one task, `maestro skills try "TASK"` shows its skills, `maestro doctor` checks the setup.
    "#);
    assert_eq!(sandbox.maestro("config get verify").stdout().trim(), r#"["make test"]"#);
    assert!(!sandbox.maestro("doctor").stdout().contains("config-not-allowed"), "what was agreed to is allowed");
    let again = sandbox.maestro("init --yes --json").json();
    assert_eq!(again["found"]["tools"], serde_json::json!([]), "{again:#}");
    assert_eq!(again["found"]["check"], serde_json::Value::Null, "{again:#}");
}

#[test]
fn the_settings_of_tools_are_left_alone_where_that_is_wished() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.cursor/mcp.json", "{}\n");
    assert_eq!(sandbox.maestro("init --yes --no-tools").code, 0);
    assert_eq!(fs::read_to_string(sandbox.path("~/.cursor/mcp.json")).unwrap(), "{}\n");
    sandbox.write("~/.cursor/mcp.json", "{ broken\n");
    let warned = sandbox.maestro("init --yes");
    assert_eq!(warned.code, 0, "{warned}");
    assert!(warned.stderr().contains("warning: no tool was connected: cannot read ~/.cursor/mcp.json"), "{warned}");
}
