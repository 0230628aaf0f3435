//! `maestro db`: backup, restore, check and pruning of the database.

mod prune;

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use maestro_store::{CheckIntegrity, DatabaseLocation, IntegrityFinding, StoreError, backup_file, restore};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::args::{DbArgs, DbCommand};
use crate::client;
use crate::host::files;
use crate::host::runtime;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::{clean, clean_path, count};
use crate::output::time;
use crate::server_process::database;

pub(crate) fn run(args: &DbArgs, world: &World) -> CommandResult {
    if world.variable("MAESTRO_SESSION_TOKEN").is_some() {
        return Err(
            CommandError::forbidden("sessions cannot open the database").hint("ask the user who runs the server")
        );
    }
    if world.aim.server.is_some() {
        return Err(CommandError::invalid("`maestro db` does not work through a server")
            .hint("run it on the machine of the database, with --database"));
    }
    // What the environment names is where an agent works, and no wish.
    if world.aim.project.is_some() {
        return Err(CommandError::invalid("`maestro db` works on all projects, not on one of them")
            .hint("run it without --project"));
    }
    match &args.command {
        DbCommand::Backup { file } => backup(file.as_deref(), world),
        DbCommand::Restore { file } => restore_backup(file, world),
        DbCommand::Check => check(world),
        DbCommand::Prune(args) => prune::run(args, world),
    }
}

/// The database's file; for PostgreSQL, the command to use instead.
fn file(world: &World, instead: &str) -> CommandResult<PathBuf> {
    match database::database_url(world) {
        DatabaseLocation::File(path) => Ok(path),
        DatabaseLocation::Postgres(_) => Err(CommandError::invalid("not supported for PostgreSQL databases")
            .hint(format!("run `{instead}` with the address from --database"))),
    }
}

fn must_exist(path: &Path) -> CommandResult<()> {
    if path.is_file() {
        return Ok(());
    }
    Err(CommandError::not_found(format!("no database at {}", path.display()))
        .hint("use another with --database, or run `maestro init`"))
}

fn backup(to: Option<&Path>, world: &World) -> CommandResult {
    let from = file(world, "pg_dump --format=custom --file=FILE ADDRESS")?;
    must_exist(&from)?;
    let to = match to {
        Some(to) => world.places.working_dir.join(to),
        None => world.maestro_home.join(format!("backups/maestro-{}.db", time::file_stamp(database::clock()()))),
    };
    let failed = |error: &io::Error| {
        CommandError::io(format!("cannot write {}", to.display()), error)
            .hint("pass a new file in a writable directory")
    };
    let parent = to.parent().unwrap_or(Path::new("/"));
    files::own_directory(parent).map_err(|error| failed(&error))?;
    if to.symlink_metadata().is_ok() {
        return Err(failed(&io::Error::from(io::ErrorKind::AlreadyExists)));
    }
    // Written to a temporary file first: under its name there is a whole copy or none.
    let aside = tempfile::Builder::new().prefix(".backup-").tempdir_in(parent).map_err(|error| failed(&error))?;
    let whole = aside.path().join("maestro.db");
    backup_file(&from, &whole).map_err(|error| {
        let answer = CommandError::server(format!("cannot copy {} to {}", from.display(), to.display()));
        answer.because(&error).hint(database::store_hint(&error))
    })?;
    let finish = || -> io::Result<u64> {
        let bytes = whole.metadata()?.len();
        fs::rename(&whole, &to)?;
        Ok(bytes)
    };
    let bytes = finish().map_err(|error| failed(&error))?;
    if world.json {
        return CommandOutput::json(&json!({ "file": to.to_string_lossy(), "bytes": bytes }));
    }
    let (from, to) = (world.display_path(&from), world.display_path(&to));
    Ok(CommandOutput::text(format!("Copied {} to {}.\n", clean_path(&from), clean_path(&to))))
}

fn restore_backup(from: &Path, world: &World) -> CommandResult {
    let to = file(world, "pg_restore --clean --dbname=ADDRESS FILE")?;
    let from = world.places.working_dir.join(from);
    if !from.is_file() {
        return Err(CommandError::not_found(format!("no copy at {}", from.display()))
            .hint("run `maestro db backup` to write one"));
    }
    if !is_database(&from) {
        return Err(CommandError::invalid(format!("{} is no database; nothing was changed", from.display()))
            .hint("pass a copy written by `maestro db backup`"));
    }
    if from.canonicalize().ok() == to.canonicalize().ok() {
        return Err(
            CommandError::invalid("the copy is the database itself").hint("pass a copy written by `maestro db backup`")
        );
    }
    let runtime = runtime()?;
    if runtime::wait(&runtime, client::running(world)).is_some() {
        return Err(CommandError::invalid("a server is using this database")
            .hint("stop it first: Ctrl-C where `maestro up` runs"));
    }
    files::own_directory(to.parent().unwrap_or(Path::new("/")))
        .map_err(|error| CommandError::io(format!("cannot write {}", to.display()), &error))?;
    // A server of another home may have it.
    let (lock, _) = database::lock(&to)?;
    let kept = keep_replaced(&to)?;
    restore(&from, &to).map_err(|error| {
        let error = database::store_error(&error);
        match &kept {
            Some(kept) => error.hint(format!("the old database is in {}", kept.display())),
            None => error,
        }
    })?;
    lock.release().map_err(|error| CommandError::io("cannot release the database", &error))?;
    let findings = findings(&runtime, to.clone(), world)?;
    let exit = if findings.is_empty() { ExitKind::Ok } else { ExitKind::Failed };
    if world.json {
        let reply = json!({
            "database": to.to_string_lossy(),
            "from": from.to_string_lossy(),
            "kept": kept.as_ref().map(|kept| kept.to_string_lossy()),
            "findings": findings,
        });
        return Ok(CommandOutput::json(&reply)?.with_exit(exit));
    }
    let mut text = format!("Restored {}.\n", clean_path(&world.display_path(&from)));
    if let Some(kept) = &kept {
        let _ = writeln!(text, "The old database is kept in {}.", clean_path(&world.display_path(kept)));
    }
    Ok(CommandOutput::text(text).with_notes(findings_text(&findings)).with_exit(exit))
}

/// Whether a file begins as every SQLite database does.
fn is_database(path: &Path) -> bool {
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    let mut head = [0; MAGIC.len()];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == *MAGIC
}

/// Keeps the database that is about to be replaced. A file that is not a database is moved aside.
fn keep_replaced(database: &Path) -> CommandResult<Option<PathBuf>> {
    if !database.exists() {
        return Ok(None);
    }
    let beside = |suffix: &str| {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let stamp = format!(".before-restore-{}", time::file_stamp(database::clock()()));
    let kept = beside(&stamp);
    let moved = match backup_file(database, &kept) {
        Ok(()) => Ok(()),
        Err(error @ (StoreError::Busy | StoreError::Full | StoreError::ReadOnly(_))) => {
            return Err(database::store_error(&error));
        }
        // What belongs to the file goes first: beside another database it would damage that one.
        Err(_) => ["-wal", "-shm", ""].into_iter().try_for_each(|part| {
            match fs::rename(beside(part), beside(&format!("{stamp}{part}"))) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !part.is_empty() => Ok(()),
                moved => moved,
            }
        }),
    };
    moved.map_err(|error| CommandError::io(format!("cannot keep {}", database.display()), &error))?;
    Ok(Some(kept))
}

fn check(world: &World) -> CommandResult {
    let place = database::database_url(world);
    if let DatabaseLocation::File(path) = &place {
        must_exist(path)?;
    }
    let shown = database::display_url(&place);
    let findings = match place {
        DatabaseLocation::File(path) => findings(&runtime()?, path, world)?,
        place @ DatabaseLocation::Postgres(_) => read(&runtime()?, place, world)?,
    };
    let exit = if findings.is_empty() { ExitKind::Ok } else { ExitKind::Failed };
    if world.json {
        let reply = json!({ "ok": findings.is_empty(), "database": shown, "findings": findings });
        return Ok(CommandOutput::json(&reply)?.with_exit(exit));
    }
    let shown = world.display_path(Path::new(&shown));
    let text = if findings.is_empty() {
        format!("{}: no problems found.\n", clean_path(&shown))
    } else {
        format!("{}: {}\n", clean_path(&shown), count(findings.len(), "problem", "problems"))
    };
    Ok(CommandOutput::text(text + &findings_text(&findings)).with_exit(exit))
}

fn findings_text(findings: &[IntegrityFinding]) -> String {
    findings.iter().fold(String::new(), |mut text, found| {
        let _ = writeln!(text, "  {:>5}  {}", found.count, clean(&found.what));
        text
    })
}

fn findings(runtime: &Runtime, path: PathBuf, world: &World) -> CommandResult<Vec<IntegrityFinding>> {
    read(runtime, DatabaseLocation::File(path), world)
}

fn read(runtime: &Runtime, place: DatabaseLocation, world: &World) -> CommandResult<Vec<IntegrityFinding>> {
    let store = database::open(place, world)?;
    runtime::wait(runtime, store.read(CheckIntegrity)).map_err(|error| database::store_error(&error))
}

fn runtime() -> CommandResult<Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CommandError::io("cannot start the runtime", &error))
}
