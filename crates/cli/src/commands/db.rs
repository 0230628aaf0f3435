//! `maestro db`: copies the database, brings a copy back, and looks for what should not be.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use maestro_store::{Check, Finding, Place, StoreError, backup_file, restore};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::args::{DbArgs, DbCommand};
use crate::client;
use crate::host::files;
use crate::host::world::World;
use crate::output::error::{CommandError, Exit};
use crate::output::reply::Reply;
use crate::output::screen::{clean, clean_path, count};
use crate::output::time;
use crate::server_process::database;

pub(crate) fn run(args: &DbArgs, world: &World) -> Result<Reply, CommandError> {
    if world.variable("MAESTRO_SESSION_TOKEN").is_some() {
        return Err(CommandError::forbidden("a session never opens the database itself")
            .hint("ask the person who runs the server to do it"));
    }
    if world.aim.server.is_some() {
        return Err(CommandError::invalid("`maestro db` works on the database itself, not through a server")
            .hint("name the database with --database, on the machine where it is"));
    }
    match &args.command {
        DbCommand::Backup { file } => copy(file.as_deref(), world),
        DbCommand::Restore { file } => bring_back(file, world),
        DbCommand::Check => check(world),
    }
}

/// The database's file; for PostgreSQL, what to use instead.
fn file(world: &World, instead: &str) -> Result<PathBuf, CommandError> {
    match database::place(world) {
        Place::File(path) => Ok(path),
        Place::Postgres(_) => Err(CommandError::invalid("a PostgreSQL database has its own tools for this")
            .hint(format!("use `{instead}`, with the address given with --database"))),
    }
}

fn must_exist(path: &Path) -> Result<(), CommandError> {
    if path.is_file() {
        return Ok(());
    }
    Err(CommandError::not_found(format!("there is no database at {}", path.display()))
        .hint("name another with --database, or start with `maestro init`"))
}

fn copy(to: Option<&Path>, world: &World) -> Result<Reply, CommandError> {
    let from = file(world, "pg_dump --format=custom --file=FILE ADDRESS")?;
    must_exist(&from)?;
    let to = match to {
        Some(to) => world.places.working_dir.join(to),
        None => world.maestro_home.join(format!("backups/maestro-{}.db", time::in_a_name(database::clock()()))),
    };
    let failed = |error: &io::Error| {
        CommandError::io(format!("{} cannot be written", to.display()), error)
            .hint("name a file that does not exist, in a directory you may write to")
    };
    let parent = to.parent().unwrap_or(Path::new("/"));
    files::own_directory(parent).map_err(|error| failed(&error))?;
    if to.symlink_metadata().is_ok() {
        return Err(failed(&io::Error::from(io::ErrorKind::AlreadyExists)));
    }
    // Written aside first: under its name there is a whole copy or none.
    let aside = tempfile::Builder::new().prefix(".backup-").tempdir_in(parent).map_err(|error| failed(&error))?;
    let whole = aside.path().join("maestro.db");
    backup_file(&from, &whole).map_err(|error| database::failed(&error))?;
    let finish = || -> io::Result<u64> {
        fs::set_permissions(&whole, fs::Permissions::from_mode(0o600))?;
        fs::File::open(&whole)?.sync_all()?;
        let bytes = whole.metadata()?.len();
        fs::rename(&whole, &to)?;
        Ok(bytes)
    };
    let bytes = finish().map_err(|error| failed(&error))?;
    if world.json {
        return Reply::json(&json!({ "file": to.to_string_lossy(), "bytes": bytes }));
    }
    let (from, to) = (world.short(&from), world.short(&to));
    Ok(Reply::text(format!("Copied {} to {}.\n", clean_path(&from), clean_path(&to))))
}

fn bring_back(from: &Path, world: &World) -> Result<Reply, CommandError> {
    let to = file(world, "pg_restore --clean --dbname=ADDRESS FILE")?;
    let from = world.places.working_dir.join(from);
    if !from.is_file() {
        return Err(CommandError::not_found(format!("there is no copy at {}", from.display()))
            .hint("`maestro db backup` writes one"));
    }
    if from.canonicalize().ok() == to.canonicalize().ok() {
        return Err(CommandError::invalid("the copy is the database itself").hint("name a file that is a copy"));
    }
    let runtime = runtime()?;
    if runtime.block_on(client::running(world)).is_some() {
        return Err(CommandError::invalid("a server works with this database")
            .hint("end it first: Ctrl-C where `maestro up` runs"));
    }
    files::own_directory(to.parent().unwrap_or(Path::new("/")))
        .map_err(|error| CommandError::io(format!("{} cannot be written", to.display()), &error))?;
    let kept = keep(&to)?;
    restore(&from, &to).map_err(|error| {
        let error = database::failed(&error);
        match &kept {
            Some(kept) => error.hint(format!("the database as it was is in {}", kept.display())),
            None => error,
        }
    })?;
    let findings = findings(&runtime, to.clone())?;
    let exit = if findings.is_empty() { Exit::Ok } else { Exit::Failed };
    if world.json {
        let reply = json!({
            "database": to.to_string_lossy(),
            "from": from.to_string_lossy(),
            "kept": kept.as_ref().map(|kept| kept.to_string_lossy()),
            "findings": findings,
        });
        return Ok(Reply::json(&reply)?.ending(exit));
    }
    let mut text = format!("{} is back in its place.\n", clean_path(&world.short(&from)));
    if let Some(kept) = &kept {
        let _ = writeln!(text, "What was there is kept in {}.", clean_path(&world.short(kept)));
    }
    Ok(Reply::text(text).with_notes(in_words(&findings)).ending(exit))
}

/// Keeps what is about to be replaced. A file that is no database any more is moved aside as it is.
fn keep(database: &Path) -> Result<Option<PathBuf>, CommandError> {
    if !database.exists() {
        return Ok(None);
    }
    let beside = |suffix: &str| {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let stamp = format!(".before-restore-{}", time::in_a_name(database::clock()()));
    let kept = beside(&stamp);
    let moved = match backup_file(database, &kept) {
        Ok(()) => fs::set_permissions(&kept, fs::Permissions::from_mode(0o600)),
        Err(error @ (StoreError::Busy | StoreError::Full | StoreError::ReadOnly(_))) => {
            return Err(database::failed(&error));
        }
        Err(_) => fs::rename(database, &kept).map(|()| {
            for part in ["-wal", "-shm"] {
                // They belong to the file that was moved, and may not be there.
                let _ = fs::rename(beside(part), beside(&format!("{stamp}{part}")));
            }
        }),
    };
    moved.map_err(|error| CommandError::io(format!("{} cannot be kept", database.display()), &error))?;
    Ok(Some(kept))
}

fn check(world: &World) -> Result<Reply, CommandError> {
    let place = database::place(world);
    if let Place::File(path) = &place {
        must_exist(path)?;
    }
    let shown = database::shown(&place);
    let findings = match place {
        Place::File(path) => findings(&runtime()?, path)?,
        place @ Place::Postgres(_) => read(&runtime()?, place)?,
    };
    let exit = if findings.is_empty() { Exit::Ok } else { Exit::Failed };
    if world.json {
        let reply = json!({ "ok": findings.is_empty(), "database": shown, "findings": findings });
        return Ok(Reply::json(&reply)?.ending(exit));
    }
    let shown = world.short(Path::new(&shown));
    let text = if findings.is_empty() {
        format!("{}: nothing is wrong.\n", clean_path(&shown))
    } else {
        format!("{}: {}\n", clean_path(&shown), count(findings.len(), "thing is wrong", "things are wrong"))
    };
    Ok(Reply::text(text + &in_words(&findings)).ending(exit))
}

fn in_words(findings: &[Finding]) -> String {
    findings.iter().fold(String::new(), |mut text, found| {
        let _ = writeln!(text, "  {:>5}  {}", found.count, clean(&found.what));
        text
    })
}

fn findings(runtime: &Runtime, path: PathBuf) -> Result<Vec<Finding>, CommandError> {
    read(runtime, Place::File(path))
}

fn read(runtime: &Runtime, place: Place) -> Result<Vec<Finding>, CommandError> {
    let store = database::open(place)?;
    runtime.block_on(store.read(Check)).map_err(|error| database::failed(&error))
}

fn runtime() -> Result<Runtime, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CommandError::io("the program cannot start its work", &error))
}
