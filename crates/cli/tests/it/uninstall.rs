//! `maestro uninstall`: shows what is Maestro's, removes that after a yes, and leaves the rest alone.

use std::fs;

use insta::assert_snapshot;

use crate::sandbox::Sandbox;
use crate::served::Server;

/// A machine on which Maestro was used: a merged run and an open one, a connected tool, settings, and files of others.
fn used() -> Sandbox {
    let sandbox = Sandbox::new().with_variable("PATH", &std::env::var("PATH").unwrap());
    sandbox.write("~/.gitconfig", "[user]\nname = Ada\nemail = ada@example.com\n[init]\ndefaultBranch = main\n");
    sandbox.write("README", "shop\n");
    for line in ["init -q", "add .", "commit -qm Begin", "branch maestro/mine"] {
        git(&sandbox, line);
    }
    assert_eq!(sandbox.maestro("init --yes --no-tools").code, 0);
    let merged = sandbox.maestro_with(&["do", "Add a file a.txt that says a", "--agent", "demo", "--merge"]);
    assert_eq!(merged.code, 0, "{merged}");
    let open = sandbox.maestro_with(&["do", "Add a file b.txt that says b", "--agent", "demo"]);
    assert_eq!(open.code, 0, "{open}");
    let step = "{id: a, type: command, command: [\"true\"]}";
    sandbox.write(".claude/skills/w/workflow.yaml", format!("name: w\ndescription: It.\nsteps:\n- {step}\n"));
    let trusted = sandbox.maestro("trust w --yes");
    assert!(trusted.code == 0 && sandbox.path("~/.maestro/trusted").is_dir(), "{trusted}");
    sandbox.write("~/.cursor/mcp.json", "{\n  \"theirs\": 1\n}\n");
    assert_eq!(sandbox.maestro("connect cursor").code, 0);
    sandbox.write("~/.config/maestro/config.toml", "skills_enabled = true\n");
    sandbox.write("~/.maestro/skills/own/SKILL.md", "---\nname: own\ndescription: Mine.\n---\n");
    sandbox.write("~/.maestro/data/projects/proj_1.json", "{}");
    sandbox
}

fn git(sandbox: &Sandbox, line: &str) -> String {
    let maestro = sandbox.command();
    let mut git = std::process::Command::new("git");
    git.args(line.split(' ')).current_dir(sandbox.project()).env_clear();
    git.envs(maestro.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = git.output().unwrap();
    assert!(output.status.success(), "git {line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_is_maestros_goes_and_what_is_not_stays() {
    let sandbox = used();
    let before = sandbox.tree();
    let shown = sandbox.maestro("uninstall --dry-run");
    assert_eq!(shown.code, 0, "{shown}");
    for (part, line) in [
        ("settings", "  ~/.cursor/mcp.json\n"),
        ("data", "  ~/.maestro/maestro.db\n"),
        ("config", "  ~/.config/maestro/config.toml\n"),
        ("open work", "has work that is not merged; `--unmerged` removes it, too"),
        ("own skills", "  ~/.maestro/skills (not known to be Maestro's)\n"),
        ("earlier data", "  ~/.maestro/data (not known to be Maestro's)\n"),
        ("project", "  .maestro (settings and skills of the project)\n"),
        ("end", "Nothing was removed.\n"),
    ] {
        assert!(shown.stdout().contains(line), "{part}: {shown}");
    }
    let kept = |path: &std::path::Path| !path.to_string_lossy().contains("/.maestro/maestro.");
    let after: Vec<_> = sandbox.tree().into_iter().filter(|(path, _)| kept(path)).collect();
    assert_eq!(after, before.into_iter().filter(|(path, _)| kept(path)).collect::<Vec<_>>());
    let refused = sandbox.maestro("uninstall");
    assert_eq!(refused.code, 1, "{refused}");

    let removed = sandbox.maestro("uninstall --yes");
    assert_eq!(removed.code, 0, "{removed}");
    assert_eq!(fs::read_to_string(sandbox.path("~/.cursor/mcp.json")).unwrap(), "{\n  \"theirs\": 1\n}\n");
    let mut left: Vec<_> =
        fs::read_dir(sandbox.path("~/.maestro")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["data", "skills"], "{removed}");
    for gone in ["~/.config/maestro", "~/.cache/maestro", "~/.local/share/maestro"] {
        assert!(!sandbox.path(gone).exists(), "{gone} stayed: {removed}");
    }
    let branches = git(&sandbox, "branch --list maestro/*");
    assert!(branches.contains("maestro/mine") && branches.contains("maestro/loop-"), "{branches}");
    assert!(sandbox.path(".maestro/config.toml").is_file() && sandbox.path("a.txt").is_file());
}

#[test]
fn open_work_goes_only_when_that_is_wished() {
    let sandbox = used();
    let removed = sandbox.maestro("uninstall --yes --unmerged");
    assert_eq!(removed.code, 0, "{removed}");
    assert_eq!(git(&sandbox, "branch --list maestro/*").trim(), "maestro/mine");
    assert!(!sandbox.path(".maestro/worktrees").exists(), "{removed}");
    assert_eq!(git(&sandbox, "worktree list").lines().count(), 1);
}

#[test]
fn nothing_is_removed_under_a_server_or_by_an_agent() {
    let sandbox = Sandbox::new();
    assert_eq!(
        sandbox.maestro("uninstall --dry-run").stdout(),
        "Nothing of Maestro's is here.\nNothing was removed.\n"
    );
    let server = Server::start(&sandbox, &[]);
    assert_snapshot!(sandbox.maestro("uninstall --yes"), @"
    $ maestro uninstall --yes
    --- stderr
    error: the server is running, and it uses what would be removed
    hint: stop it with Ctrl-C where `maestro up` runs, then run `maestro uninstall` again
    --- exit 1
    ");
    assert_eq!(sandbox.maestro("uninstall --dry-run").code, 0, "looking is no harm");
    drop(server);
    let agent = sandbox.maestro_as(&[("MAESTRO_SESSION_ID", "sess_1")], &["uninstall", "--yes"]);
    assert_eq!(agent.code, 4, "{agent}");
}
