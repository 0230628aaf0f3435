//! Maintenance: integrity check, backup and restore.

use std::path::Path;
use std::time::Duration;

use maestro_core::event::Event;
use rusqlite::backup::Backup;
use serde::Serialize;

use crate::change::Query;
use crate::db::{DbHandle, DbTx};
use crate::error::StoreError;
use crate::private_copy::write_copy;
use crate::shared_state::StoreOptions;
use crate::store::{DatabaseLocation, Store};
use crate::{migrate, sqlite};

/// Checks the integrity of the database.
#[derive(Debug, Clone, Copy)]
pub struct CheckIntegrity;

/// A violated integrity rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IntegrityFinding {
    /// What is wrong.
    pub what: String,
    /// How often.
    pub count: i64,
}

/// Statements that count what should not be, with what it would mean.
const RULES: &[(&str, &str)] = &[
    ("tasks without their project", "SELECT count(*) FROM tasks WHERE project_id NOT IN (SELECT id FROM projects)"),
    (
        "subtasks without their parent",
        "SELECT count(*) FROM tasks WHERE parent_id IS NOT NULL AND parent_id NOT IN (SELECT id FROM tasks)",
    ),
    (
        "bindings without their task or session",
        "SELECT count(*) FROM task_sessions WHERE task_id NOT IN (SELECT id FROM tasks) \
         OR session_id NOT IN (SELECT id FROM sessions)",
    ),
    (
        "timeline rows without their session",
        "SELECT count(*) FROM (SELECT session_id FROM timeline UNION ALL SELECT session_id FROM timeline_tail) AS lines \
         WHERE session_id NOT IN (SELECT id FROM sessions)",
    ),
    (
        "timeline rows without their event",
        "SELECT count(*) FROM (SELECT session_id, at FROM timeline UNION ALL SELECT session_id, at FROM timeline_tail) AS lines \
         WHERE (session_id, at) NOT IN (SELECT session, at FROM events \
         WHERE type = 'timeline:added' AND session IS NOT NULL) \
         AND at >= (SELECT coalesce(max(pruned_until), 0) FROM maintenance WHERE name = 'events')",
    ),
    (
        "timeline rows in the wrong order",
        "SELECT count(*) FROM timeline_tail WHERE EXISTS (SELECT 1 FROM timeline \
         WHERE timeline.session_id = timeline_tail.session_id AND timeline.ord >= timeline_tail.ord)",
    ),
    (
        "numbers of tasks that are wrong",
        "SELECT count(*) FROM (SELECT project_id, status, priority, \
         CASE WHEN parent_id IS NULL THEN 'task' ELSE 'subtask' END AS level, count(*) AS tasks FROM tasks \
         GROUP BY project_id, status, priority, CASE WHEN parent_id IS NULL THEN 'task' ELSE 'subtask' END) AS counted \
         FULL JOIN (SELECT * FROM task_counts WHERE tasks <> 0) AS known ON known.project_id = counted.project_id \
         AND known.status = counted.status AND known.priority = counted.priority AND known.level = counted.level \
         WHERE coalesce(known.tasks, 0) <> coalesce(counted.tasks, 0)",
    ),
    (
        "tasks without the event that made them",
        "SELECT count(*) FROM tasks WHERE id NOT IN (SELECT task FROM events \
         WHERE type = 'task:created' AND task IS NOT NULL) \
         AND created_at >= (SELECT coalesce(max(pruned_until), 0) FROM maintenance WHERE name = 'events')",
    ),
    (
        "ended sessions that are still at work on a task",
        "SELECT count(*) FROM task_sessions JOIN sessions ON sessions.id = task_sessions.session_id \
         WHERE sessions.status IN ('completed', 'failed', 'stopped') \
         AND task_sessions.status IN ('working', 'needs_input')",
    ),
    (
        "messages that wait for sessions that have ended",
        "SELECT count(*) FROM messages JOIN sessions ON sessions.id = messages.session_id \
         WHERE sessions.status IN ('completed', 'failed', 'stopped') AND messages.state = 'queued'",
    ),
    (
        "items in progress in the queue of a session that has ended",
        "SELECT count(*) FROM queue_items JOIN sessions ON sessions.id = queue_items.session_id \
         WHERE sessions.status IN ('completed', 'failed', 'stopped') AND queue_items.status = 'processing'",
    ),
    (
        "runs without what they were started with",
        "SELECT count(*) FROM runs WHERE definitions_hash NOT IN (SELECT hash FROM pinned_definitions)",
    ),
    (
        "ended runs that still have an executor",
        "SELECT count(*) FROM runs WHERE ended_at IS NOT NULL AND status <> 'cancelled' AND executor IS NOT NULL",
    ),
    (
        "queues with two items at once",
        "SELECT count(*) FROM (SELECT session_id FROM queue_items WHERE status = 'processing' \
         GROUP BY session_id HAVING count(*) > 1) AS twice",
    ),
];

impl Query for CheckIntegrity {
    type Output = Vec<IntegrityFinding>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<IntegrityFinding>, StoreError> {
        let mut findings = Vec::new();
        if !db.is_postgres() {
            for mut row in db.rows("PRAGMA integrity_check", &[])? {
                let said = row.text()?;
                if said != "ok" {
                    findings.push(IntegrityFinding { what: said, count: 1 });
                }
            }
        }
        for (what, sql) in RULES {
            let count = db.number(sql, &[])?;
            if count > 0 {
                findings.push(IntegrityFinding { what: (*what).to_owned(), count });
            }
        }
        let kinds = "SELECT type, payload FROM events WHERE version > 0 ORDER BY seq DESC LIMIT 1000";
        let unreadable = db.rows(kinds, &[])?.iter_mut().filter_map(|row| read_event(row).err()).count();
        if unreadable > 0 {
            let count = i64::try_from(unreadable).unwrap_or(i64::MAX);
            findings.push(IntegrityFinding { what: "events that cannot be read".to_owned(), count });
        }
        Ok(findings)
    }
}

fn read_event(row: &mut crate::value::SqlRow) -> Result<Event, StoreError> {
    let (kind, payload) = (row.text()?, row.text()?);
    Event::from_log(&kind, &payload).map_err(|error| StoreError::corrupt(error.to_string()))
}

/// Writes a copy of a SQLite store, as it is at one moment, while others go on working with it.
pub fn backup(store: &Store, to: &Path) -> Result<(), StoreError> {
    let from = match store.location() {
        DatabaseLocation::File(path) => path,
        DatabaseLocation::Postgres(_) => {
            return Err(StoreError::Invalid("a PostgreSQL database is backed up with pg_dump".to_owned()));
        }
    };
    backup_file(from, to)
}

/// Writes a copy of a SQLite file; only it is opened, and only while this takes.
pub fn backup_file(from: &Path, to: &Path) -> Result<(), StoreError> {
    write_copy(&sqlite::open(from, StoreOptions::default())?, to)
}

/// Copies the write-ahead log of a SQLite file into the file, and empties it. Where others are reading, some of it stays.
pub fn empty_log(path: &Path) -> Result<(), StoreError> {
    // Opening would make a new one.
    if !path.exists() {
        return Ok(());
    }
    let connection = sqlite::open(path, StoreOptions::default())?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(StoreError::from)
}

/// Replaces a SQLite store that is not in use by a copy.
pub fn restore(copy: &Path, to: &Path) -> Result<(), StoreError> {
    let refused = |cause: String| StoreError::File { path: copy.to_owned(), cause };
    let source = rusqlite::Connection::open_with_flags(copy, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
        .map_err(|error| refused(error.to_string()))?;
    let version = migrate::version(&mut DbTx(DbHandle::Sqlite(&source))).map_err(|error| match error {
        StoreError::Corrupt(cause) | StoreError::Database(cause) => refused(cause),
        other => other,
    })?;
    migrate::check_version(version)?;
    if version == 0 {
        return Err(refused("it is no copy of a Maestro database".to_owned()));
    }
    let mut target = sqlite::open(to, StoreOptions::default())?;
    // Leaving the write-ahead log needs the file for oneself, so this finds out whether another process has it open.
    wait_for_exclusive(&target)?;
    Backup::new(&source, &mut target)?.run_to_completion(1000, Duration::ZERO, None)?;
    Ok(())
}

/// Waits a while for others to close the file.
fn wait_for_exclusive(connection: &rusqlite::Connection) -> Result<(), StoreError> {
    const TRIES: u32 = 50;
    const PAUSE: Duration = Duration::from_millis(100);
    for _ in 0..TRIES {
        match connection.pragma_update(None, "journal_mode", "DELETE").map_err(StoreError::from) {
            Err(StoreError::Busy) => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
    Err(StoreError::Busy)
}
