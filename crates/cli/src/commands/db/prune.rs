//! `maestro db prune`: old events of finished work, moved from the database to an archive.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use maestro_store::{DatabaseLocation, ForgetEvents, PrunableEvents, PrunablePart, Store};
use serde_json::json;
use tokio::runtime::Runtime;

use super::{must_exist, runtime};
use crate::args::PruneArgs;
use crate::host::world::World;
use crate::host::{config, files};
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{clean_path, count};
use crate::output::time;
use crate::server_process::database;

const DAY: i64 = 24 * 60 * 60 * 1000;

/// The database, and the moment before which events may go.
struct PrunedStore {
    store: Store,
    runtime: Runtime,
    before: i64,
}

/// How much goes.
#[derive(Debug, Default, Clone, Copy)]
struct PrunedAmount {
    events: usize,
    bytes: usize,
}

pub(super) fn run(args: &PruneArgs, world: &World) -> CommandResult {
    let place = database::database_url(world);
    if let DatabaseLocation::File(path) = &place {
        must_exist(path)?;
    }
    let kept = args.keep_days.map_or_else(|| config::settings(world).map(|set| set.event_retention_days.value), Ok)?;
    let now = database::clock()();
    let before = now - i64::from(kept) * DAY;
    let pruned = PrunedStore { store: database::open(place)?, runtime: runtime()?, before };
    let archive = match &args.archive {
        Some(file) => world.places.working_dir.join(file),
        None => world.maestro_home.join(format!("archive/events-{}.jsonl", time::file_stamp(now))),
    };
    if args.yes { apply(&pruned, kept, &archive, world) } else { preview(&pruned, kept, &archive, world) }
}

fn preview(pruned: &PrunedStore, kept: u32, archive: &Path, world: &World) -> CommandResult {
    let mut amount = PrunedAmount::default();
    pruned.each_part(|part| {
        amount.add(part);
        Ok(())
    })?;
    if world.json {
        return reply(amount, kept, None);
    }
    if amount.events == 0 {
        return Ok(CommandOutput::text(format!("No events of finished work are older than {}.\n", days(kept))));
    }
    let archive = world.display_path(archive);
    let text = format!("Older than {}: {amount}, to be moved to {}.\n", days(kept), clean_path(&archive));
    Ok(CommandOutput::text(text).with_notes(format!("hint: `maestro db prune --keep-days {kept} --yes` moves them\n")))
}

fn apply(pruned: &PrunedStore, kept: u32, archive: &Path, world: &World) -> CommandResult {
    let mut amount = PrunedAmount::default();
    let mut file: Option<BufWriter<File>> = None;
    pruned.each_part(|part| {
        if part.rows.is_empty() {
            return Ok(());
        }
        let failed = |error: io::Error| {
            CommandError::io(format!("cannot write {}", archive.display()), &error)
                .hint("pass a new file in a writable directory with --archive")
        };
        let out = match file.take() {
            Some(out) => file.insert(out),
            None => file.insert(create(archive).map_err(failed)?),
        };
        // On the disk first: a crash in between leaves an event in both places, and never in none.
        write(out, part).map_err(failed)?;
        let seqs = part.rows.iter().map(|row| row.seq).collect();
        let forget = ForgetEvents { seqs, before: pruned.before };
        let forgotten = runtime::wait(&pruned.runtime, pruned.store.write(forget));
        forgotten.map_err(|error| database::store_error(&error))?;
        amount.add(part);
        Ok(())
    })?;
    let written = file.is_some().then(|| archive.to_owned());
    if world.json {
        return reply(amount, kept, written);
    }
    let Some(written) = written else {
        return Ok(CommandOutput::text(format!("No events of finished work are older than {}.\n", days(kept))));
    };
    let shown = world.display_path(&written);
    Ok(CommandOutput::text(format!("Moved {amount} to {}.\n", clean_path(&shown)))
        .with_notes(format!("hint: `maestro events --archive {}` shows them\n", clean_path(&shown))))
}

impl PrunedStore {
    /// Passes the events that may go, part by part.
    fn each_part(&self, mut take: impl FnMut(&PrunablePart) -> CommandResult<()>) -> CommandResult<()> {
        let mut next = Some(0);
        while let Some(from) = next {
            let part = runtime::wait(&self.runtime, self.store.read(PrunableEvents { before: self.before, from }));
            let part = part.map_err(|error| database::store_error(&error))?;
            take(&part)?;
            next = part.next;
        }
        Ok(())
    }
}

impl PrunedAmount {
    fn add(&mut self, part: &PrunablePart) {
        self.events += part.rows.len();
        self.bytes += part.rows.iter().map(|row| row.payload.get().len()).sum::<usize>();
    }
}

impl std::fmt::Display for PrunedAmount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let events = count(self.events, "event of finished work", "events of finished work");
        write!(f, "{events} ({} kB)", self.bytes.div_ceil(1000))
    }
}

fn days(number: u32) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), "day", "days")
}

fn reply(amount: PrunedAmount, kept: u32, archive: Option<PathBuf>) -> CommandResult {
    CommandOutput::json(&json!({
        "events": amount.events,
        "bytes": amount.bytes,
        "keepDays": kept,
        "archive": archive.map(|path| path.to_string_lossy().into_owned()),
    }))
}

fn create(archive: &Path) -> io::Result<BufWriter<File>> {
    files::own_directory(archive.parent().unwrap_or(Path::new("/")))?;
    Ok(BufWriter::new(OpenOptions::new().write(true).create_new(true).mode(0o600).open(archive)?))
}

fn write(out: &mut BufWriter<File>, part: &PrunablePart) -> io::Result<()> {
    for row in &part.rows {
        serde_json::to_writer(&mut *out, row)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    out.get_ref().sync_data()
}
