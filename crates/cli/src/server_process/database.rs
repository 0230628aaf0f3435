//! Location and opening of the database.

use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use maestro_core::Settings;
use maestro_core::workflow::executions::quote_word;
use maestro_engine::daemon::EventRetention;
use maestro_store::{
    AutomaticBackups, Clock, DatabaseLocation, DatabaseLock, PreviousEnd, Store, StoreError, StoreRules, check_pages,
};

use crate::host::files;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// How long the last server of a file may take to end.
const LAST_SERVER: Duration = Duration::from_secs(12);
/// How often it is looked whether it has ended.
const PAUSE: Duration = Duration::from_millis(50);

/// The database from the command line, the settings, or the default.
pub(crate) fn database_url(world: &World) -> DatabaseLocation {
    let named = world.aim.database.as_deref().or_else(|| world.variable("MAESTRO_DATABASE"));
    match named {
        Some(named) => match DatabaseLocation::parse(named) {
            DatabaseLocation::File(path) => DatabaseLocation::File(world.places.working_dir.join(path)),
            place @ DatabaseLocation::Postgres(_) => place,
        },
        None => DatabaseLocation::File(default_file(world)),
    }
}

fn default_file(world: &World) -> PathBuf {
    directory(world).join("maestro.db")
}

/// The option with which a command of a hint acts on the same database; nothing where it does so without.
pub(crate) fn hint_option(world: &World) -> String {
    match database_url(world) {
        DatabaseLocation::File(path) if path == default_file(world) => String::new(),
        DatabaseLocation::File(path) => format!(" --database {}", quote_word(&path.to_string_lossy())),
        DatabaseLocation::Postgres(_) if world.aim.database.is_none() => String::new(),
        place @ DatabaseLocation::Postgres(_) => format!(" --database {}", quote_word(&display_url(&place))),
    }
}

fn directory(world: &World) -> PathBuf {
    let named = world.variable("DATA_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    named.unwrap_or_else(|| world.maestro_home.clone())
}

/// A name for the database without secrets, for `server.json` and for people.
pub(crate) fn display_url(place: &DatabaseLocation) -> String {
    match place {
        DatabaseLocation::File(path) => path.display().to_string(),
        DatabaseLocation::Postgres(url) => without_password(url),
    }
}

fn without_password(url: &str) -> String {
    match url.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.split_once('@')?))) {
        Some((scheme, (login, rest))) => {
            let user = login.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{rest}")
        }
        None => url.to_owned(),
    }
}

/// Opens the store; the directory of a file is created, for its owner only.
pub(crate) fn open(place: DatabaseLocation, world: &World) -> CommandResult<Store> {
    let file = match &place {
        DatabaseLocation::File(path) => Some(path.clone()),
        DatabaseLocation::Postgres(_) => None,
    };
    if let Some(path) = &file {
        create_file(path)?;
    }
    Store::open(place, &clock()).map_err(|error| match &file {
        Some(path) => damage_error(&error, path, world),
        None => store_error(&error),
    })
}

/// Creates the file, for its owner only: SQLite would let others read it.
fn create_file(path: &Path) -> CommandResult<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    files::own_directory(directory).map_err(|error| {
        CommandError::io(format!("cannot create {}", directory.display()), &error)
            .hint("set MAESTRO_HOME to a writable directory")
    })?;
    // Whatever fails here shows when SQLite opens the file.
    let _ = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    Ok(())
}

/// Opens the store for a server, which has a file for itself; after an unclean end its pages are checked first.
pub(crate) fn open_for_server(place: DatabaseLocation, world: &World) -> CommandResult<(Store, Option<DatabaseLock>)> {
    let DatabaseLocation::File(path) = &place else { return Ok((open(place, world)?, None)) };
    create_file(path)?;
    let (lock, previous) = lock(path)?;
    if previous == PreviousEnd::Unclean {
        tracing::warn!("the last server of {} did not end as it should; its pages are checked", path.display());
        check_pages(path).map_err(|error| damage_error(&error, path, world))?;
    }
    Ok((open(place, world)?, Some(lock)))
}

/// Takes the lock of a database file; a server that is about to end gets the time to do so.
pub(crate) fn lock(path: &Path) -> CommandResult<(DatabaseLock, PreviousEnd)> {
    let holder = format!("process {}", std::process::id());
    let until = Instant::now() + LAST_SERVER;
    loop {
        match DatabaseLock::take(path, &holder) {
            Err(StoreError::InUse { .. }) if Instant::now() < until => thread::sleep(PAUSE),
            taken => return taken.map_err(|error| store_error(&error)),
        }
    }
}

/// The error of a file, with the command that restores its newest backup where it is damaged.
fn damage_error(error: &StoreError, database: &Path, world: &World) -> CommandError {
    if !matches!(error, StoreError::Damaged { .. } | StoreError::Open { .. }) {
        return store_error(error);
    }
    let answer = CommandError::server(error.to_string());
    match AutomaticBackups::beside(database, 0).newest(clock()()) {
        Some(backup) => answer.hint(format!(
            "restore its newest backup with `maestro{} db restore {}`; the damaged file is kept",
            hint_option(world),
            quote_word(&backup.to_string_lossy())
        )),
        None => answer.hint(format!(
            "it has no backup: to begin with an empty one, move it and the files beside it away with `mkdir {0} \
             && mv {1}* {0}/`",
            quote_word(&database.with_file_name("damaged").to_string_lossy()),
            quote_word(&database.to_string_lossy())
        )),
    }
}

/// The automatic backups of a database that is a file.
pub(crate) fn automatic_backups(place: &DatabaseLocation, settings: &Settings) -> Option<AutomaticBackups> {
    let DatabaseLocation::File(database) = place else { return None };
    let keep = usize::try_from(settings.backups_kept.value).unwrap_or(usize::MAX);
    Some(AutomaticBackups::beside(database, keep))
}

/// Whether anything was ever stored here; unknown for a remote server.
pub(crate) fn exists(world: &World) -> bool {
    match database_url(world) {
        DatabaseLocation::File(path) => path.exists(),
        DatabaseLocation::Postgres(_) => true,
    }
}

/// Store options from the settings.
pub(crate) fn rules(settings: &Settings) -> StoreRules {
    const MINUTE: i64 = 60 * 1000;
    let silence = i64::from(settings.session_silence_minutes.value) * MINUTE;
    StoreRules { when_done: settings.task_when_done.value, silence_limit: silence }
}

/// How long a server keeps events of finished work.
pub(crate) fn retention(settings: &Settings) -> EventRetention {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    EventRetention::Forget { after: i64::from(settings.event_retention_days.value) * DAY }
}

/// The current time in milliseconds, as stored.
pub(crate) fn clock() -> Clock {
    Arc::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// The error of a store that cannot be used.
pub(crate) fn store_error(error: &StoreError) -> CommandError {
    CommandError::server(error.to_string()).hint(store_hint(error))
}

/// The way out of such an error.
pub(crate) fn store_hint(error: &StoreError) -> &'static str {
    match error {
        StoreError::NewerSchema { .. } => "update Maestro, or use another database with --database",
        StoreError::Busy => "wait for the other program, or stop it",
        StoreError::ReadOnly(_) => "check the permissions of the file and its directory",
        StoreError::Full => "free disk space and try again",
        StoreError::InUse { .. } => "stop that server, or use another database with --database",
        StoreError::Corrupt(_) => "run `maestro db check` for details, `maestro db restore FILE` to restore a copy",
        _ => "check the database and its address, or use another with --database",
    }
}
