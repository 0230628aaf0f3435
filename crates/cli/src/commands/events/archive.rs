//! Events of archives that `maestro db prune` wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use maestro_api::events::EventBody;
use maestro_core::short_id::ShortIds;

use crate::args::EventsArgs;
use crate::client::short_ids::ambiguous;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::screen::clean_path;

/// The longest line that is read.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Which events of archives are wanted, and what of them was found.
pub(super) struct ArchiveReader<'a> {
    args: &'a EventsArgs,
    /// The project that was named, maybe by a short id.
    project: Option<&'a str>,
    /// The project that is meant where none was named.
    current: Option<&'a str>,
    most: usize,
    /// By their numbers: an event may be in several files, or twice in one after a crash.
    events: BTreeMap<i64, EventBody>,
    /// The ids that are in the archives, by what they mean.
    ids: BTreeMap<IdKind, BTreeSet<String>>,
    notes: String,
}

/// What an id means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum IdKind {
    Project,
    Task,
    Session,
    Run,
}

/// What archives hold of what is wanted.
pub(super) struct ArchivedEvents {
    /// The events, oldest first: the first ones after an event, or the last ones there are.
    pub(super) events: Vec<EventBody>,
    /// All ids of the archives.
    pub(super) short: ShortIds,
    /// What the reader should know of the files.
    pub(super) notes: String,
}

impl std::fmt::Display for IdKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Project => "project",
            Self::Task => "task",
            Self::Session => "session",
            Self::Run => "run",
        })
    }
}

impl<'a> ArchiveReader<'a> {
    /// Reads at most so many events: those of the project that was named, else of the current one.
    pub(super) fn new(args: &'a EventsArgs, project: Option<&'a str>, current: Option<&'a str>, most: usize) -> Self {
        Self { args, project, current, most, events: BTreeMap::new(), ids: BTreeMap::new(), notes: String::new() }
    }

    /// Reads a file.
    pub(super) fn read(&mut self, file: &Path, world: &World) -> CommandResult<()> {
        let path = world.places.working_dir.join(file);
        let failed = |error: &io::Error| {
            CommandError::io(format!("cannot read {}", path.display()), error)
                .hint("pass a file that `maestro db prune` wrote")
        };
        let mut reader = BufReader::new(File::open(&path).map_err(|error| failed(&error))?);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let length = (&mut reader).take(MOST_BYTES).read_until(b'\n', &mut line).map_err(|error| failed(&error))?;
            if length == 0 {
                break;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(event) => self.take(event),
                // A disk that was full, or a power cut.
                Err(_) if line.last() != Some(&b'\n') && (length as u64) < MOST_BYTES => {
                    let shown = world.display_path(&path);
                    let shown = clean_path(&shown);
                    let _ = writeln!(self.notes, "The last line of {shown} is incomplete and was left out.");
                }
                Err(error) => {
                    return Err(CommandError::invalid(format!("{}:{number} is no event: {error}", path.display()))
                        .hint("pass a file that `maestro db prune` wrote"));
                }
            }
        }
        Ok(())
    }

    /// Takes an event if it may be wanted; only at the end is it known what a short id means.
    fn take(&mut self, event: EventBody) {
        let ids = [
            (IdKind::Project, &event.project),
            (IdKind::Task, &event.task),
            (IdKind::Session, &event.session),
            (IdKind::Run, &event.run),
        ];
        for (kind, id) in ids {
            let known = self.ids.entry(kind).or_default();
            if let Some(id) = id.as_ref().filter(|id| !known.contains(*id)) {
                known.insert(id.clone());
            }
        }
        let may_be = |wanted: Option<&str>, found: Option<&String>| match (wanted, found) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(wanted), Some(found)) => {
                wanted == found || !ShortIds::new([found.clone()]).matches(wanted).is_empty()
            }
        };
        let is_wanted = event.seq > self.args.since.unwrap_or(0)
            && may_be(self.project, event.project.as_ref())
            && (self.current.is_none() || self.current == event.project.as_deref())
            && may_be(self.args.task.as_deref(), event.task.as_ref())
            && may_be(self.args.session.as_deref(), event.session.as_ref());
        if is_wanted {
            self.events.insert(event.seq, event);
        }
        if self.events.len() > self.most {
            match self.args.since {
                Some(_) => self.events.pop_last(),
                None => self.events.pop_first(),
            };
        }
    }

    /// What was found, once all files were read.
    pub(super) fn finish(mut self) -> CommandResult<ArchivedEvents> {
        let project = self.resolve(IdKind::Project, self.project)?;
        let task = self.resolve(IdKind::Task, self.args.task.as_deref())?;
        let session = self.resolve(IdKind::Session, self.args.session.as_deref())?;
        let same = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        let mut events: Vec<EventBody> = std::mem::take(&mut self.events).into_values().collect();
        events.retain(|event| {
            same(&project, &event.project) && same(&task, &event.task) && same(&session, &event.session)
        });
        if events.is_empty() && self.current.is_some() && !self.ids.is_empty() {
            self.notes += "Only events of this project are shown; `--all` shows all.\n";
        }
        let short = ShortIds::new(self.ids.into_values().flatten());
        Ok(ArchivedEvents { events, short, notes: self.notes })
    }

    /// The id that a text means.
    fn resolve(&self, kind: IdKind, text: Option<&str>) -> CommandResult<Option<String>> {
        let Some(text) = text else { return Ok(None) };
        let ids = ShortIds::new(self.ids.get(&kind).into_iter().flatten().cloned());
        match ids.matches(text).as_slice() {
            [] => Err(CommandError::not_found(format!("no event of {kind} `{text}` in the archive"))
                .hint("run `maestro events --all --archive FILE` for all events and their IDs")),
            [one] => Ok(Some((*one).to_owned())),
            many => Err(ambiguous(text, many)),
        }
    }
}
