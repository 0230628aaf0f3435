//! Old events: what goes, where it goes, and how it is read there.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value as Json, json};

use crate::sandbox::Sandbox;
use crate::waiting::wait_until;

/// A project with a finished task, and an open one after it.
fn worked() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.maestro("init --yes");
    let done = sandbox.maestro_with(&["task", "create", "Paint the fence"]).id();
    assert_eq!(sandbox.maestro_with(&["task", "complete", &done]).code, 0);
    sandbox.maestro_with(&["task", "create", "Mow the lawn"]);
    (sandbox, done)
}

fn seqs(events: &Json) -> Vec<i64> {
    events.as_array().unwrap().iter().map(|event| event["seq"].as_i64().unwrap()).collect()
}

#[test]
fn a_preview_says_what_goes_and_its_command_does_it() {
    let (sandbox, _) = worked();
    let seen = sandbox.maestro("db prune --keep-days 0 --archive old.jsonl");
    let text = seen.stdout();
    assert!(text.contains(" to be moved to old.jsonl.\n") && text.contains(", from 20"), "{seen}");
    let counted = text.lines().nth(1).unwrap().trim();
    assert!(counted.ends_with("  project"), "the project and how many of its events go: {seen}");
    let hint = seen.stderr();
    assert_eq!(hint, "hint: `maestro db prune --keep-days 0 --archive old.jsonl --yes` moves them\n");
    let expected = sandbox.maestro("db prune --keep-days 0 --json").json();
    assert_eq!(expected["projects"][0]["events"], expected["events"]);

    let moved = sandbox.maestro("db prune --keep-days 0 --archive old.jsonl -y --json").json();
    assert_eq!(moved["events"], expected["events"]);
    let file = sandbox.path("old.jsonl").metadata().unwrap().len();
    assert_eq!((expected["bytes"].as_u64(), moved["bytes"].as_u64()), (Some(file), Some(file)));
    assert_eq!(sandbox.path("~/.maestro/maestro.db-wal").metadata().map_or(0, |log| log.len()), 0, "the log is empty");

    let next = sandbox.maestro_with(&["task", "create", "Sweep the yard"]).id();
    sandbox.maestro_with(&["task", "complete", &next]);
    sandbox.maestro_with(&["task", "create", "Rest"]);
    let again = sandbox.maestro("db prune --keep-days 0 --archive old.jsonl");
    assert!(again.stderr().contains("old.jsonl exists already; pass a new file with --archive"), "{again}");
}

#[test]
fn hints_act_on_the_same_database_and_name_the_same_archive() {
    let (sandbox, _) = worked();
    assert_eq!(sandbox.maestro_with(&["db", "backup", "other one.db"]).code, 0);
    let seen = sandbox.maestro_with(&[
        "--database",
        "other one.db",
        "db",
        "prune",
        "--keep-days",
        "0",
        "--archive",
        "a b.jsonl",
    ]);
    assert_snapshot!(sandbox.normal(&seen.stderr()), @"
    hint: `maestro --database '[PROJECT]/other one.db' db prune --keep-days 0 --archive 'a b.jsonl' --yes` moves them
    ");
}

#[test]
fn the_backup_of_another_database_is_restored_to_that_database() {
    let (sandbox, _) = worked();
    sandbox.maestro_with(&["db", "backup", "backups/other one-auto-2020-01-01.db"]);
    sandbox.write("other one.db", "this is no database, whatever its name says".repeat(100));
    let refused = sandbox.maestro_with(&["--database", "other one.db", "db", "check"]);
    assert_snapshot!(sandbox.normal(&refused.stderr()), @"
    error: the database [PROJECT]/other one.db cannot be opened: file is not a database
    hint: restore its newest backup with `maestro --database '[PROJECT]/other one.db' db restore '[PROJECT]/backups/other one-auto-2020-01-01.db'`; the damaged file is kept
    ");
}

#[test]
fn all_projects_are_pruned_or_none() {
    let (sandbox, _) = worked();
    assert_snapshot!(sandbox.maestro("--project shop db prune --keep-days 0 --yes"), @"
    $ maestro --project shop db prune --keep-days 0 --yes
    --- stderr
    error: `maestro db` works on all projects, not on one of them
    hint: run it without --project
    --- exit 1
    ");
    let in_a_session = sandbox.maestro_as(&[("MAESTRO_PROJECT_ID", "proj_1")], &["db", "prune"]);
    assert_eq!(in_a_session.code, 0, "what the environment names is no wish: {in_a_session}");
}

#[test]
fn a_full_disk_leaves_the_events_where_they_were() {
    let sandbox = Sandbox::new();
    sandbox.maestro("init --yes");
    let server = sandbox.serve();
    let project = server.make("/api/projects", &json!({ "name": "shop", "workingDir": "/srv/shop" }));
    for number in 0..150 {
        let title = format!("{number} {}", "x".repeat(900));
        let task = server.make("/api/tasks", &json!({ "projectId": project["id"], "title": title }));
        let path = format!("/api/tasks/{}", task["id"].as_str().unwrap());
        assert_eq!(server.ask("PATCH", &path, None, Some(&json!({ "status": "cancelled" }))).0, 200);
    }
    drop(server);
    let before = sandbox.maestro("events --all --json").json();
    let refused = sandbox.maestro_cramped(150, &["db", "prune", "--keep-days", "0", "--archive", "old.jsonl", "--yes"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("old.jsonl; nothing was moved\n"), "{said}");
    assert!(!sandbox.path("old.jsonl").exists(), "half an archive is none");
    assert_eq!(seqs(&sandbox.maestro("events --all --json").json()), seqs(&before));
    assert_eq!(sandbox.maestro("db prune --keep-days 0 --archive old.jsonl --yes").code, 0);
}

#[test]
fn an_archive_is_read_up_to_its_incomplete_end() {
    let (sandbox, _) = worked();
    sandbox.maestro("db prune --keep-days 0 --archive old.jsonl --yes");
    let whole = fs::read_to_string(sandbox.path("old.jsonl")).unwrap();
    sandbox.write("cut.jsonl", format!("\n{}", &whole[..whole.len() - 20]));
    let cut = sandbox.maestro("events --archive cut.jsonl --json");
    assert_eq!(cut.json().as_array().unwrap().len(), whole.lines().count() - 1);
    assert_eq!(cut.stderr(), "The last line of cut.jsonl is incomplete and was left out.\n");
    sandbox.write("foreign.jsonl", format!("{{\"a\": 1}}\n{whole}"));
    let foreign = sandbox.maestro("events --archive foreign.jsonl");
    assert_eq!(foreign.code, 1, "{foreign}");
    assert!(foreign.stderr().contains("foreign.jsonl:1 is no event"), "{foreign}");
}

#[test]
fn archives_are_read_together_in_the_order_of_their_events() {
    let (sandbox, _) = worked();
    sandbox.maestro("db prune --keep-days 0 --archive one.jsonl --yes");
    let next = sandbox.maestro_with(&["task", "create", "Sweep the yard"]).id();
    sandbox.maestro_with(&["task", "complete", &next]);
    sandbox.maestro_with(&["task", "create", "Rest"]);
    sandbox.maestro("db prune --keep-days 0 --archive two.jsonl --yes");
    let read = |args: &str| seqs(&sandbox.maestro(args).json());
    let (one, two) = (read("events --archive one.jsonl --json"), read("events --archive two.jsonl --json"));
    assert!(!one.is_empty() && !two.is_empty());
    let all = [one, two].concat();
    assert_eq!(read("events --archive two.jsonl --archive one.jsonl --archive two.jsonl --json"), all);
    let text = |name: &str| fs::read_to_string(sandbox.path(name)).unwrap();
    sandbox.write("both.jsonl", text("two.jsonl") + &text("one.jsonl"));
    assert_eq!(read("events --archive both.jsonl --json"), all);
    let since = format!("events --archive both.jsonl --json --since {}", all[1]);
    assert_eq!(read(&since), all[2..]);
}

#[test]
fn an_archive_is_filtered_by_the_ids_that_it_shows() {
    let (sandbox, done) = worked();
    sandbox.maestro("db prune --keep-days 0 --archive old.jsonl --yes");
    let shown = sandbox.maestro("events --archive old.jsonl").stdout();
    let line = shown.lines().find(|line| line.contains("task:created")).unwrap();
    let short = line.split_whitespace().nth(3).unwrap();
    assert!(short.len() < done.len(), "{shown}");
    let of = |id: &str| sandbox.maestro_with(&["events", "--archive", "old.jsonl", "--json", "--task", id]);
    let found = of(short).json();
    assert!(!found.as_array().unwrap().is_empty());
    assert!(found.as_array().unwrap().iter().all(|event| event["task"] == json!(done)));
    assert_eq!(seqs(&of(&done).json()), seqs(&found));
    assert_snapshot!(sandbox.maestro("events --archive old.jsonl --task zzzzzz"), @"
    $ maestro events --archive old.jsonl --task zzzzzz
    --- stderr
    error: no event of task `zzzzzz` in the archive
    hint: run `maestro events --all --archive FILE` for all events and their IDs
    --- exit 2
    ");
}

#[test]
fn an_archive_shows_the_events_of_the_current_project() {
    let (sandbox, _) = worked();
    sandbox.write("elsewhere/notes.txt", "a");
    sandbox.maestro_with(&["project", "create", "elsewhere", "--dir", sandbox.path("elsewhere").to_str().unwrap()]);
    sandbox.maestro_with(&["task", "create", "Rest"]);
    sandbox.maestro("db prune --keep-days 0 --archive old.jsonl --yes");
    let read = |args: &str| seqs(&sandbox.maestro(args).json()).len();
    let (own, all) = (read("events --archive old.jsonl --json"), read("events --archive old.jsonl --all --json"));
    assert!(own > 0 && own < all, "{own} of {all}");
    // Wherever there is no database, an archive can be read all the same.
    let other = Sandbox::new();
    other.write("old.jsonl", fs::read(sandbox.path("old.jsonl")).unwrap());
    assert_eq!(seqs(&other.maestro("events --archive old.jsonl --json").json()).len(), all);
    assert!(!other.path("~/.maestro/maestro.db").exists());
}

#[test]
fn two_prunes_at_once_move_each_event_once() {
    let (sandbox, _) = worked();
    let expected = sandbox.maestro("db prune --keep-days 0 --json").json()["events"].as_u64().unwrap();
    let start = |archive: &str| {
        let mut command = sandbox.command();
        command.args(["db", "prune", "--keep-days", "0", "--yes", "--json", "--archive", archive]);
        command.stdout(std::process::Stdio::piped()).spawn().unwrap()
    };
    let moved: u64 = ["one.jsonl", "two.jsonl"]
        .map(start)
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            let reply: Json = serde_json::from_slice(&output.stdout).unwrap();
            reply["events"].as_u64().unwrap()
        })
        .sum();
    assert_eq!(moved, expected);
}

#[test]
fn a_server_backs_up_before_it_forgets_and_empties_its_log_at_the_end() {
    let (sandbox, _) = worked();
    let mut server = sandbox.serve();
    let backups = sandbox.path("~/.maestro/backups");
    wait_until("the automatic backup is there", || {
        fs::read_dir(&backups).is_ok_and(|mut found| found.next().is_some())
    });
    server.make("/api/projects", &json!({ "name": "shop", "workingDir": "/srv/shop" }));
    server.end();
    assert_eq!(sandbox.path("~/.maestro/maestro.db-wal").metadata().map_or(0, |log| log.len()), 0);
}

#[test]
fn a_server_that_runs_reads_how_much_is_kept_when_it_starts() {
    let sandbox = Sandbox::new();
    sandbox.maestro("init --yes");
    assert_eq!(sandbox.maestro("config set backups_kept 3").stderr(), "");
    let _server = sandbox.serve();
    for setting in ["backups_kept 3", "event_retention_days 90"] {
        let said = sandbox.maestro(&format!("config set {setting}")).stderr();
        assert!(said.starts_with("The server that runs uses it after a restart"), "{said}");
    }
    assert_eq!(sandbox.maestro("config set session_minutes 90").stderr(), "");
}

#[test]
fn other_words_for_it_lead_to_it() {
    let sandbox = Sandbox::new();
    sandbox.maestro("init --yes");
    let hints = [
        ("prune", "`maestro db prune`"),
        ("--set keep_days=7 db prune", "`event_retention_days`"),
        ("config set keep_days 7", "`event_retention_days`"),
    ];
    for (typed, meant) in hints {
        let refused = sandbox.maestro(typed);
        assert!(refused.stderr().contains(&format!("did you mean {meant}?")), "{refused}");
    }
}

#[test]
fn archives_are_part_of_what_is_uninstalled() {
    let (sandbox, _) = worked();
    sandbox.maestro("db prune --keep-days 0 --yes");
    let shown = sandbox.maestro("uninstall --dry-run");
    let text = shown.to_string();
    let line = text.lines().find(|line| line.contains("/archive")).unwrap_or_else(|| panic!("{shown}"));
    assert!(!line.contains("not known to be Maestro's"), "{shown}");
}
