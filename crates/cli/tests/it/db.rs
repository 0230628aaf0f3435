//! `maestro db`: copies, what is brought back, and what is found.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::json;

use crate::sandbox::Sandbox;
use crate::served::Server;
use crate::waiting::wait_until;

#[test]
fn a_copy_brings_back_what_was_there() {
    let sandbox = Sandbox::new();
    sandbox.maestro("init --yes");
    assert_snapshot!(sandbox.maestro("db backup copy.db"), @"
    $ maestro db backup copy.db
    Copied ~/.maestro/maestro.db to copy.db.
    ");
    assert_eq!(sandbox.path("copy.db").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let server = Server::start(&sandbox, &[]);
    server.make("/api/projects", &json!({ "name": "later", "workingDir": "/srv/later" }));
    assert_snapshot!(sandbox.maestro("db restore copy.db"), @"
    $ maestro db restore copy.db
    --- stderr
    error: a server is using this database
    hint: stop it first: Ctrl-C where `maestro up` runs
    --- exit 1
    ");
    drop(server);
    let restored = sandbox.maestro("db restore copy.db --json");
    assert_eq!(restored.code, 0, "{restored}");
    let kept = restored.json()["kept"].as_str().unwrap().to_owned();
    let server = Server::start(&sandbox, &[]);
    let projects = server.ask("GET", "/api/projects", None, None).1;
    assert_eq!(projects.as_array().unwrap().len(), 1, "what came later is gone");
    drop(server);
    assert_eq!(sandbox.maestro_with(&["db", "restore", &kept]).code, 0);
    let server = Server::start(&sandbox, &[]);
    assert_eq!(server.ask("GET", "/api/projects", None, None).1.as_array().unwrap().len(), 2, "and can be had back");
}

#[test]
fn old_events_move_to_an_archive_that_can_be_read() {
    let sandbox = Sandbox::new();
    sandbox.maestro("init --yes");
    sandbox.maestro_with(&["task", "create", "An old task"]);
    assert_snapshot!(sandbox.maestro("db prune"), @"
    $ maestro db prune
    No events of finished work are older than 30 days.
    ");
    // Nothing of today is older than a day; everything but the newest event is older than none.
    let shown = sandbox.maestro("db prune --keep-days 0 --json").json();
    assert_eq!(shown["archive"], json!(null), "nothing is written without --yes");
    let events = shown["events"].as_u64().unwrap();
    assert!(events > 0, "{shown}");
    let moved = sandbox.maestro("db prune --keep-days 0 --archive old.jsonl --yes --json").json();
    assert_eq!(moved["events"], json!(events));
    assert_eq!(sandbox.path("old.jsonl").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let archived = sandbox.maestro("events --archive old.jsonl --json").json();
    assert_eq!(archived.as_array().unwrap().len() as u64, events);
    assert_eq!(archived[0]["type"], json!("project:created"));
    let text = sandbox.maestro("events --archive old.jsonl");
    assert!(text.stdout().contains("project:created"), "{text}");
    assert_eq!(sandbox.maestro("db prune --keep-days 0 --json").json()["events"], json!(0));
    assert_snapshot!(sandbox.maestro("db check"), @"
    $ maestro db check
    ~/.maestro/maestro.db: no problems found.
    ");
    let missing = sandbox.maestro("events --archive none.jsonl");
    assert_eq!(missing.code, 1, "{missing}");
    assert!(missing.to_string().contains("hint: pass a file that `maestro db prune` wrote"), "{missing}");
}

#[test]
fn a_copy_never_replaces_a_file() {
    let sandbox = Sandbox::new();
    sandbox.maestro("init --yes");
    sandbox.write("notes.txt", "mine");
    assert_snapshot!(sandbox.maestro("db backup notes.txt"), @"
    $ maestro db backup notes.txt
    --- stderr
    error: cannot write [PROJECT]/notes.txt
      because entity already exists
    hint: pass a new file in a writable directory
    --- exit 1
    ");
    assert_eq!(fs::read(sandbox.path("notes.txt")).unwrap(), b"mine");
    let unnamed = sandbox.maestro("db backup --json").json();
    assert!(unnamed["file"].as_str().unwrap().contains("/.maestro/backups/maestro-"));
}

#[test]
fn a_sound_database_is_said_to_be_sound() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.maestro("db check"), @"
    $ maestro db check
    --- stderr
    error: no database at [HOME]/.maestro/maestro.db
    hint: use another with --database, or run `maestro init`
    --- exit 2
    ");
    sandbox.maestro("init --yes");
    assert_snapshot!(sandbox.maestro("db check"), @"
    $ maestro db check
    ~/.maestro/maestro.db: no problems found.
    ");
    assert_snapshot!(sandbox.maestro("--database other.db db check"), @"
    $ maestro --database other.db db check
    --- stderr
    error: no database at [PROJECT]/other.db
    hint: use another with --database, or run `maestro init`
    --- exit 2
    ");
}

#[test]
fn a_damaged_database_is_an_error_and_a_copy_still_replaces_it() {
    let sandbox = Sandbox::new();
    sandbox.maestro("init --yes");
    sandbox.maestro("db backup copy.db");
    for part in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(sandbox.path(&format!("~/.maestro/maestro.db{part}")));
    }
    sandbox.write("~/.maestro/maestro.db", "this is no database, whatever its name says".repeat(100));
    let found = sandbox.maestro("db check");
    assert_eq!(found.code, 1, "{found}");
    let restored = sandbox.maestro("db restore copy.db --json");
    assert_eq!(restored.code, 0, "{restored}");
    assert!(fs::metadata(restored.json()["kept"].as_str().unwrap()).is_ok());
    assert_eq!(sandbox.maestro("db check").code, 0);
}

#[test]
fn what_is_no_copy_is_refused_and_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.maestro("init --yes");
    sandbox.write("notes.db", "mine");
    for (file, code) in [("notes.db", 1), ("absent.db", 2)] {
        assert_eq!(sandbox.maestro_with(&["db", "restore", file]).code, code, "{file}");
    }
    let own = sandbox.path("~/.maestro/maestro.db");
    assert_eq!(sandbox.maestro_with(&["db", "restore", own.to_str().unwrap()]).code, 1);
    assert_eq!(sandbox.maestro("db check").code, 0);
}

#[test]
fn postgresql_has_its_own_tools() {
    assert_snapshot!(Sandbox::new().maestro("--database postgres://ada:secret@db/maestro db backup"), @"
    $ maestro --database postgres://ada:secret@db/maestro db backup
    --- stderr
    error: not supported for PostgreSQL databases
    hint: run `pg_dump --format=custom --file=FILE ADDRESS` with the address from --database
    --- exit 1
    ");
}

#[test]
fn a_session_may_not_touch_the_database() {
    let sandbox = Sandbox::new().with_variable("MAESTRO_SESSION_TOKEN", "x");
    assert_eq!(sandbox.maestro("db check").code, 4);
}

#[test]
fn a_damaged_database_is_refused_after_a_crash_and_its_backup_is_named() {
    let sandbox = Sandbox::new();
    sandbox.maestro("init --yes");
    let mut server = Server::start(&sandbox, &[]);
    server.make("/api/projects", &json!({ "name": "shop", "workingDir": "/srv/shop" }));
    let backups = sandbox.home().join(".maestro/backups");
    wait_until("the automatic backup is there", || {
        fs::read_dir(&backups).is_ok_and(|found| {
            found.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("maestro-auto-"))
        })
    });
    server.kill();
    let database = sandbox.home().join(".maestro/maestro.db");
    // What was in the log goes with it: what is left is the file, and half of its pages are not what they were.
    let backup = fs::read_dir(&backups).unwrap().next().unwrap().unwrap().path();
    let mut pages = fs::read(&backup).unwrap();
    let half = pages.len() / 2;
    pages[half..].fill(0xa5);
    for part in ["-wal", "-shm"] {
        fs::remove_file(sandbox.home().join(format!(".maestro/maestro.db{part}"))).unwrap();
    }
    fs::write(&database, &pages).unwrap();
    let refused = sandbox.maestro("up --port 0");
    assert_eq!(refused.code, 1, "{refused}");
    assert_eq!(refused.stderr().matches("hint: ").count(), 1, "{refused}");
    assert!(refused.stderr().contains("maestro.db is damaged: "), "{refused}");
    let hint = refused
        .stderr()
        .split("`maestro ")
        .nth(1)
        .unwrap()
        .split('`')
        .next()
        .unwrap()
        .replace('~', sandbox.home().to_str().unwrap());
    assert_eq!(sandbox.maestro(&hint).code, 0, "the way out that it names: {hint}");
    let server = Server::start(&sandbox, &[]);
    assert!(!server.get("/api/projects").as_array().unwrap().is_empty());
}

#[test]
fn a_server_of_another_home_is_refused_the_same_file() {
    let (sandbox, other) = (Sandbox::new(), Sandbox::new());
    sandbox.maestro("init --yes");
    let database = sandbox.home().join(".maestro/maestro.db");
    let _server = Server::start(&sandbox, &[]);
    let refused = other.maestro_with(&["--database", database.to_str().unwrap(), "up", "--port", "0"]);
    assert!(refused.stderr().contains("is in use by another server (process "), "{refused}");
    let restored =
        other.maestro_with(&["--database", database.to_str().unwrap(), "db", "restore", database.to_str().unwrap()]);
    assert_ne!(restored.code, 0, "{restored}");
}
