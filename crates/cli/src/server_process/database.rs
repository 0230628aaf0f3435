//! Where is everything stored, and how is it opened?

use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use maestro_core::Settings;
use maestro_store::{Clock, Place, Rules, Store, StoreError};

use crate::host::files;
use crate::host::world::World;
use crate::output::error::CommandError;

/// The place that was typed, set, or usual.
pub(crate) fn place(world: &World) -> Place {
    let named = world.aim.database.as_deref().or_else(|| world.variable("MAESTRO_DATABASE"));
    match named {
        Some(named) => match Place::parse(named) {
            Place::File(path) => Place::File(world.places.working_dir.join(path)),
            place @ Place::Postgres(_) => place,
        },
        None => Place::File(directory(world).join("maestro.db")),
    }
}

fn directory(world: &World) -> PathBuf {
    let named = world.variable("DATA_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    named.unwrap_or_else(|| world.maestro_home.clone())
}

/// A name for the place that holds no secret, for `server.json` and for people.
pub(crate) fn shown(place: &Place) -> String {
    match place {
        Place::File(path) => path.display().to_string(),
        Place::Postgres(url) => without_password(url),
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

/// Opens the store; the directory of a file is made, for its owner only.
pub(crate) fn open(place: Place) -> Result<Store, CommandError> {
    if let Place::File(path) = &place {
        let directory = path.parent().unwrap_or(Path::new("/"));
        files::own_directory(directory).map_err(|error| {
            CommandError::io(format!("{} cannot be made", directory.display()), &error)
                .hint("set MAESTRO_HOME to a directory you may write to")
        })?;
        // Before SQLite does, which would let others read it; why it cannot be made, SQLite tells.
        let _ = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    }
    Store::open(place, &clock()).map_err(|error| failed(&error))
}

/// Whether anything was ever stored here; of a server elsewhere nobody knows before asking.
pub(crate) fn exists(world: &World) -> bool {
    match place(world) {
        Place::File(path) => path.exists(),
        Place::Postgres(_) => true,
    }
}

/// What the settings decide about what is stored.
pub(crate) fn rules(settings: &Settings) -> Rules {
    const MINUTE: i64 = 60 * 1000;
    let silence = i64::from(settings.session_silence_minutes.value) * MINUTE;
    Rules { when_done: settings.task_when_done.value, silence }
}

/// For how many milliseconds events of finished things are kept.
pub(crate) fn retention(settings: &Settings) -> i64 {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    i64::from(settings.event_retention_days.value) * DAY
}

/// The time, as everything stored has it.
pub(crate) fn clock() -> Clock {
    Arc::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// What a person can do about a store that cannot be used.
pub(crate) fn failed(error: &StoreError) -> CommandError {
    let hint = match error {
        StoreError::Newer { .. } => "update this Maestro, or name another database with --database",
        StoreError::Busy => "wait until the other program is done, or end it",
        StoreError::ReadOnly(_) => "check that you may write to the file and its directory",
        StoreError::Full => "make room and try again",
        StoreError::Corrupt(_) => "`maestro db check` shows what is wrong; `maestro db restore` brings a copy back",
        _ => "check the database; `maestro db restore` puts a copy in its place, --database names another",
    };
    CommandError::server(error.to_string()).hint(hint)
}
