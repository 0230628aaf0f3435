//! Schema migrations, applied one by one when a store is opened, and never undone.

use crate::db::DbTx;
use crate::error::StoreError;
use crate::{search_words, spawns};

/// What a step writes that follows from the rows by more than SQL.
type FillRows = fn(&mut DbTx<'_>) -> Result<(), StoreError>;

/// A step from one schema to the next.
struct MigrationStep {
    /// Its statements.
    sql: &'static str,
    fill: Option<FillRows>,
}

/// Every step that was ever made, oldest first; the schema's version is how many of them there are.
const STEPS: &[MigrationStep] = &[
    plain(include_str!("../migrations/0001_base.sql")),
    plain(include_str!("../migrations/0002_runs.sql")),
    plain(include_str!("../migrations/0003_agents.sql")),
    plain(include_str!("../migrations/0004_seats.sql")),
    plain(include_str!("../migrations/0005_plain_names.sql")),
    plain(include_str!("../migrations/0006_run_rights.sql")),
    plain(include_str!("../migrations/0007_access_tokens.sql")),
    plain(include_str!("../migrations/0008_run_hosts.sql")),
    plain(include_str!("../migrations/0009_growth.sql")),
    MigrationStep { sql: include_str!("../migrations/0010_costs_and_words.sql"), fill: Some(fill_costs_and_words) },
    plain(include_str!("../migrations/0011_awaited_agents.sql")),
    plain(include_str!("../migrations/0012_timeline_tail.sql")),
];

const fn plain(sql: &'static str) -> MigrationStep {
    MigrationStep { sql, fill: None }
}

fn fill_costs_and_words(db: &mut DbTx<'_>) -> Result<(), StoreError> {
    if db.is_postgres() {
        // Lines of refused changes have used up numbers; an event must not get one that an older line has.
        db.rows(
            "SELECT setval(pg_get_serial_sequence('events', 'seq'), newest) FROM \
             (SELECT max(ord) AS newest FROM timeline) AS lines \
             WHERE newest > coalesce(pg_sequence_last_value(pg_get_serial_sequence('events', 'seq')::regclass), 0)",
            &[],
        )?;
    }
    spawns::fill_costs(db)?;
    search_words::fill(db)
}

/// The newest schema this program knows.
pub(crate) fn newest_version() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Which schema the database has; 0 when it is empty.
pub(crate) fn version(db: &mut DbTx<'_>) -> Result<i64, StoreError> {
    let tables = if db.is_postgres() {
        "SELECT count(*) FROM information_schema.tables \
         WHERE table_schema = current_schema() AND table_name = 'maestro_schema'"
    } else {
        "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'maestro_schema'"
    };
    if db.number(tables, &[])? == 0 {
        return Ok(0);
    }
    db.number("SELECT CAST(coalesce(max(version), 0) AS BIGINT) FROM maestro_schema", &[])
}

/// Takes the steps that are missing, inside the caller's transaction.
pub(crate) fn migrate(db: &mut DbTx<'_>, now: i64) -> Result<(), StoreError> {
    if db.is_postgres() {
        db.rows("SELECT CAST(pg_advisory_xact_lock(7246290, hashtext(current_schema())) AS TEXT)", &[])?;
    }
    let found = version(db)?;
    check_version(found)?;
    if found == 0 {
        db.execute("CREATE TABLE maestro_schema (version BIGINT PRIMARY KEY, at BIGINT NOT NULL)", &[])?;
    }
    for (step, version) in STEPS.iter().zip(1_i64..).skip(usize::try_from(found).unwrap_or_default()) {
        for statement in statements(step.sql, db.is_postgres()) {
            db.execute(&statement, &[])?;
        }
        if let Some(fill) = step.fill {
            fill(db)?;
        }
        db.execute("INSERT INTO maestro_schema (version, at) VALUES ($1, $2)", &[version.into(), now.into()])?;
    }
    Ok(())
}

/// Refuses a database that a newer program wrote.
pub(crate) fn check_version(found: i64) -> Result<(), StoreError> {
    if found > newest_version() { Err(StoreError::NewerSchema { found, known: newest_version() }) } else { Ok(()) }
}

fn statements(step: &str, postgres: bool) -> Vec<String> {
    let dialect = if postgres {
        [
            ("ORDER KEY", "BIGSERIAL PRIMARY KEY"),
            ("SEQUENCE KEY", "BIGSERIAL PRIMARY KEY"),
            (") CLUSTERED", ")"),
            (" WORD ", " TEXT COLLATE \"C\" "),
        ]
    } else {
        [
            ("ORDER KEY", "INTEGER PRIMARY KEY"),
            ("SEQUENCE KEY", "INTEGER PRIMARY KEY AUTOINCREMENT"),
            (") CLUSTERED", ") WITHOUT ROWID"),
            (" WORD ", " TEXT "),
        ]
    };
    let lines = step.lines().filter(|line| !line.trim_start().starts_with("--"));
    let text = lines.collect::<Vec<_>>().join("\n");
    let text = dialect.iter().fold(text, |text, (ours, theirs)| text.replace(ours, theirs));
    text.split(';').map(str::trim).filter(|statement| !statement.is_empty()).map(str::to_owned).collect()
}
