//! `maestro import`: what earlier systems left in this project and on this machine, brought along after it was shown.

mod earlier_sessions;
mod loop_folder;
mod maestro_data;
mod openskills;
mod python_steps;
mod script_workflows;
mod site_nine;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use maestro_core::closest_word::closest;
use maestro_skills::read_bounded;
use serde_json::{Value as Json, json};

use self::maestro_data::EarlierProject;
use crate::args::{ImportArgs, ImportSource};
use crate::client::CliClient;
use crate::commands::branches::require_person;
use crate::commands::{skills, trust};
use crate::host::files;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::confirm::{self, EmptyAnswer};
use crate::output::error::CommandError;
use crate::output::screen::{clean, clean_path, count};

/// How large a file may be.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// How many entries of a folder are looked at.
const MAX_ENTRIES: usize = 10_000;

/// What a source has.
struct ImportPlan {
    source: ImportSource,
    items: Vec<ImportItem>,
    /// What works where it is.
    works: Vec<String>,
    /// What cannot come along, with the reason.
    left: Vec<String>,
}

impl ImportPlan {
    fn new(source: ImportSource) -> Self {
        Self { source, items: Vec::new(), works: Vec::new(), left: Vec::new() }
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty() && self.works.is_empty() && self.left.is_empty()
    }
}

/// A thing that comes along, in words and as what is done for it.
struct ImportItem {
    what: String,
    act: ImportAct,
}

/// What is done for an item.
enum ImportAct {
    /// Writes a new file.
    Write { path: PathBuf, text: String },
    /// Writes a config file, and allows the checks in it, which were shown.
    WriteConfig { path: PathBuf, text: String, checks: Vec<String> },
    /// Replaces the table of skills in `AGENTS.md`.
    SyncSkills,
    /// Creates a project with its tasks and sessions.
    Project(Box<EarlierProject>),
}

pub(crate) fn run(args: &ImportArgs, world: &World) -> CommandResult {
    require_person(world)?;
    let sources = sources(&args.sources)?;
    let mut plans = Vec::new();
    for source in sources {
        let plan = match source {
            ImportSource::Maestro => maestro_data::look(args.data.as_deref(), world)?,
            ImportSource::Loop => loop_folder::look(world),
            ImportSource::Openskills => openskills::look(world)?,
            ImportSource::SiteNine => site_nine::look(world),
            ImportSource::Scripts => script_workflows::look(world),
        };
        if !plan.is_empty() {
            plans.push(plan);
        }
    }
    let shown = describe(&plans, world);
    let total: usize = plans.iter().map(|plan| plan.items.len()).sum();
    if total == 0 || args.dry_run {
        let end = if total == 0 { "Nothing to import.\n" } else { "Nothing was written.\n" };
        return reply(&plans, &shown, end, &[], world);
    }
    if !args.yes {
        if !world.terminals.stdin || !world.terminals.stderr || world.json {
            return Err(CommandError::invalid("confirmation required; nothing was written")
                .hint("look at it with `maestro import --dry-run`, then run `maestro import --yes`"));
        }
        if !confirm::confirm(&format!("{shown}Import {}?", count(total, "thing", "things")), EmptyAnswer::Refuses)? {
            return Ok(CommandOutput::text("Nothing was written.\n"));
        }
    }
    let mut done = Vec::new();
    for item in plans.iter().flat_map(|plan| &plan.items) {
        done.push(item.act.carry_out(world)?);
    }
    reply(&plans, if args.yes { &shown } else { "" }, "", &done, world)
}

/// Whether something of an earlier system is here, by a quick look.
pub(crate) fn has_sources(world: &World) -> bool {
    let project = &world.places.project;
    let agents_file = || read_text(&project.join("AGENTS.md")).unwrap_or_default();
    project.join(".loop/config").is_file()
        || world.maestro_home.join("data/projects").is_dir()
        || project.join(".opencode/data/project.db").is_file()
        || agents_file().contains(openskills::COMMAND)
}

/// The sources of these names; all of them where none is named.
fn sources(names: &[String]) -> CommandResult<Vec<ImportSource>> {
    if names.is_empty() {
        return Ok(ImportSource::all());
    }
    let known: Vec<&str> = ImportSource::all().into_iter().map(ImportSource::name).collect();
    let parse = |name: &String| {
        ImportSource::all().into_iter().find(|source| source.name() == name).ok_or_else(|| {
            let error = CommandError::not_found(format!("unknown source `{}`", clean(name)));
            match closest(name, known.iter().copied()) {
                Some(meant) => error.hint(format!("did you mean `maestro import {meant}`?")),
                None if name.contains('/') => error.hint("`--data DIR` names the data folder of the first Maestro"),
                None => error.hint(format!("available: {}; without a name, all of them", known.join(", "))),
            }
        })
    };
    names.iter().map(parse).collect()
}

impl ImportAct {
    /// Does it, and says what was done.
    fn carry_out(&self, world: &World) -> CommandResult<String> {
        match self {
            Self::Write { path, text } => write(path, text, world),
            Self::WriteConfig { path, text, checks } => {
                let done = write(path, text, world)?;
                if !checks.is_empty() {
                    trust::allow_checks(checks, world)?;
                }
                Ok(done)
            }
            Self::SyncSkills => {
                skills::sync_table(world).map(|()| "Replaced the table of skills in AGENTS.md".to_owned())
            }
            Self::Project(project) => project.store(&CliClient::open(world)?),
        }
    }
}

fn write(path: &Path, text: &str, world: &World) -> CommandResult<String> {
    let shown = clean_path(&world.display_path(path)).into_owned();
    if !files::stays_inside(path, &world.places.project) {
        return Err(CommandError::refused(format!("{shown} leads out of the project"))
            .hint("remove the link in its path; Maestro does not write through it"));
    }
    files::create(path, text).map_err(|error| {
        CommandError::io(format!("cannot write {shown}"), &error).hint("move what is there away, and import again")
    })?;
    Ok(format!("Wrote {shown}"))
}

fn describe(plans: &[ImportPlan], world: &World) -> String {
    let mut text = String::new();
    for plan in plans {
        let _ = writeln!(text, "{}", world.paint.strong(plan.source.title()));
        let mut part = |name: &str, lines: &mut dyn Iterator<Item = &String>| {
            lines.for_each(|line| {
                let _ = writeln!(text, "  {} {}", world.paint.dim(&format!("{name:<7}")), clean(line));
            });
        };
        part("import", &mut plan.items.iter().map(|item| &item.what));
        part("works", &mut plan.works.iter());
        part("left", &mut plan.left.iter());
        text.push('\n');
    }
    text
}

fn reply(plans: &[ImportPlan], shown: &str, end: &str, done: &[String], world: &World) -> CommandResult {
    if world.json {
        let plan = |plan: &ImportPlan| -> Json {
            let items: Vec<&str> = plan.items.iter().map(|item| item.what.as_str()).collect();
            json!({ "source": plan.source.name(), "import": items, "works": plan.works, "left": plan.left })
        };
        let plans: Vec<Json> = plans.iter().map(plan).collect();
        return CommandOutput::json(&json!({ "sources": plans, "done": done }));
    }
    let mut text = format!("{shown}{end}");
    for line in done {
        let _ = writeln!(text, "{line}");
    }
    if !done.is_empty() {
        text.push_str("All other files are as they were. `maestro doctor` checks the result.\n");
    }
    Ok(CommandOutput::text(text))
}

/// The text of a file, if it is one and not too long.
fn read_text(path: &Path) -> Option<String> {
    let contents = read_bounded(path, MAX_BYTES).ok().filter(|contents| !contents.cut)?;
    String::from_utf8(contents.bytes).ok()
}

/// The entries of a folder in order, not links.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).take(MAX_ENTRIES);
    let mut paths: Vec<PathBuf> = found.map(|entry| entry.path()).filter(|path| !path.is_symlink()).collect();
    paths.sort();
    paths
}

/// The files of a folder with an ending.
fn files_with(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut paths = entries(folder);
    paths.retain(|path| path.is_file() && path.extension().is_some_and(|end| end == ending));
    paths
}
