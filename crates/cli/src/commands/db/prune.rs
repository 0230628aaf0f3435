//! `maestro db prune`: old events of finished work, moved from the database to an archive.

mod archive_file;
mod pruned_amount;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use maestro_core::id::EntityId as _;
use maestro_store::{DatabaseLocation, ForgetEvents, ProjectList, PrunableEvents, PrunablePart, Store, empty_log};
use serde_json::json;
use tokio::runtime::Runtime;

use self::archive_file::ArchiveFile;
use self::pruned_amount::{PrunedAmount, events, size};
use super::{must_exist, runtime};
use crate::args::PruneArgs;
use crate::host::config;
use crate::host::world::World;
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

/// What was asked for.
struct PruneRequest<'a> {
    /// For how many days events are kept.
    kept: u32,
    /// The archive that is written.
    archive: PathBuf,
    /// The archive that was named.
    named: Option<&'a Path>,
    world: &'a World,
}

pub(super) fn run(args: &PruneArgs, world: &World) -> CommandResult {
    let place = database::database_url(world);
    if let DatabaseLocation::File(path) = &place {
        must_exist(path)?;
    }
    let kept = args.keep_days.map_or_else(|| config::settings(world).map(|set| set.event_retention_days.value), Ok)?;
    let now = database::clock()();
    let before = now - i64::from(kept) * DAY;
    let pruned = PrunedStore { store: database::open(place, world)?, runtime: runtime()?, before };
    let archive = match &args.archive {
        Some(file) => world.places.working_dir.join(file),
        None => world.maestro_home.join(format!("archive/events-{}.jsonl", time::file_stamp(now))),
    };
    let request = PruneRequest { kept, archive, named: args.archive.as_deref(), world };
    if args.yes { request.apply(&pruned) } else { request.preview(&pruned) }
}

impl PruneRequest<'_> {
    fn preview(&self, pruned: &PrunedStore) -> CommandResult {
        let mut amount = PrunedAmount::default();
        pruned.each_part(|part| {
            let counted = part.rows.iter().try_for_each(|event| amount.add(event));
            counted.map_err(|error| CommandError::io("cannot measure the events", &error))
        })?;
        let names = pruned.project_names()?;
        if self.world.json {
            let mut reply = amount.to_json(&names);
            reply["keepDays"] = json!(self.kept);
            reply["archive"] = json!(null);
            return CommandOutput::json(&reply);
        }
        if amount.events == 0 {
            return Ok(self.nothing());
        }
        let shown = self.world.display_path(&self.archive);
        let shown = clean_path(&shown);
        let text = format!(
            "Older than {}: {amount}, {}, to be moved to {shown}.\n{}",
            days(self.kept),
            amount.days(),
            amount.project_lines(&names)
        );
        let note = if self.archive.symlink_metadata().is_ok() {
            format!("hint: {shown} exists already; pass a new file with --archive\n")
        } else {
            let archive = self.named.map(|_| format!(" --archive {}", self.world.path_word(&self.archive)));
            format!("hint: `{}{} --yes` moves them\n", self.command(), archive.unwrap_or_default())
        };
        Ok(CommandOutput::text(text).with_notes(note))
    }

    fn apply(&self, pruned: &PrunedStore) -> CommandResult {
        let mut moved = 0;
        let mut archive: Option<ArchiveFile> = None;
        pruned.each_part(|part| {
            if part.rows.is_empty() {
                return Ok(());
            }
            let failed = |error: io::Error| self.write_error(&error, moved);
            let file = match archive.take() {
                Some(file) => archive.insert(file),
                None => archive.insert(ArchiveFile::create(&self.archive).map_err(failed)?),
            };
            // On the disk first: a crash in between leaves an event in both places, and never in none.
            file.append(&part.rows).map_err(failed)?;
            let seqs = part.rows.iter().map(|row| row.seq).collect();
            let forget = ForgetEvents { seqs, before: pruned.before };
            let forgotten = runtime::wait(&pruned.runtime, pruned.store.write(forget));
            let forgotten = forgotten.map_err(|error| {
                let archive = self.archive.display();
                database::store_error(&error)
                    .hint(format!("{archive} has what was moved; what it has beyond that is in the database, too"))
            })?;
            moved += forgotten;
            Ok(())
        })?;
        if let (Some(file), true) = (pruned.store.file(), moved > 0)
            && let Err(error) = empty_log(file)
        {
            tracing::debug!("the write-ahead log is not emptied: {error}");
        }
        let bytes = archive.as_ref().map(ArchiveFile::bytes).unwrap_or_default();
        if self.world.json {
            let written = (bytes > 0).then(|| self.archive.to_string_lossy());
            let reply = json!({ "events": moved, "bytes": bytes, "keepDays": self.kept, "archive": written });
            return CommandOutput::json(&reply);
        }
        if bytes == 0 {
            return Ok(self.nothing());
        }
        let shown = self.world.display_path(&self.archive);
        let text = format!("Moved {} ({}) to {}.\n", events(moved), size(bytes), clean_path(&shown));
        let word = self.world.path_word(&self.archive);
        let note = format!("hint: `maestro events --all --archive {word}` shows them\n");
        Ok(CommandOutput::text(text).with_notes(note))
    }

    fn nothing(&self) -> CommandOutput {
        CommandOutput::text(format!("No events of finished work are older than {}.\n", days(self.kept)))
    }

    /// The command that does the same on the same database.
    fn command(&self) -> String {
        format!("maestro{} db prune --keep-days {}", database::hint_option(self.world), self.kept)
    }

    fn write_error(&self, error: &io::Error, moved: u64) -> CommandError {
        let archive = self.archive.display();
        let message = match moved {
            0 => format!("cannot write {archive}; nothing was moved"),
            _ => format!("cannot write all of {archive}: {} were moved to it, the rest is untouched", events(moved)),
        };
        CommandError::io(message, error)
            .hint(format!("pass a new file in a writable directory: `{} --archive FILE --yes`", self.command()))
    }
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

    fn project_names(&self) -> CommandResult<BTreeMap<String, String>> {
        let projects = runtime::wait(&self.runtime, self.store.read(ProjectList::default()));
        let projects = projects.map_err(|error| database::store_error(&error))?;
        Ok(projects.items.into_iter().map(|project| (project.id.as_str().to_owned(), project.name)).collect())
    }
}

fn days(number: u32) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), "day", "days")
}
