//! `maestro init`: looks at a project, proposes what fits, and does it after one yes. An existing config file is
//! never replaced.

mod proposal;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use maestro_api::projects::{self, NewProject, ProjectBody};
use maestro_core::{Problem, Settings};
use maestro_skills::SkillPack;
use serde_json::{Value as Json, json};

use self::proposal::{ConfigState, SetupProposal};
use crate::args::InitArgs;
use crate::client::CliClient;
use crate::commands::{import, proposed_checks};
use crate::host::git_gap::no_project_here;
use crate::host::packs::{SyncState, SyncedPack};
use crate::host::world::World;
use crate::host::{config, files, packs, skill_vectors};
use crate::output::command_output::{self, CommandOutput, CommandResult};
use crate::output::confirm::{self, EmptyAnswer};
use crate::output::error::CommandError;
use crate::output::screen::{self, clean, clean_path};

/// The skill of workers.
const WORKER: &str = "maestro-worker";

/// What to do after it.
const NEXT: &str = "Next: `maestro do \"TASK\"` has an agent do one task, `maestro skills try \"TASK\"` shows its skills, \
                    `maestro doctor` checks the setup.\n";

/// Said where an earlier system was used.
const IMPORT_HINT: &str =
    "hint: run `maestro import --dry-run` to see what an earlier system left and can come along\n";

/// Text of a new project's file.
const CONFIG: &str = "\
# Maestro's settings for this project.
# `maestro config show --origin` lists every setting and where it comes from.

# Agents that Maestro starts here get the skills that fit their task.
skills_enabled = true
";

pub(crate) fn run(args: &InitArgs, world: &World) -> CommandResult {
    if let Some(place) = no_project_here(world) {
        return Err(CommandError::refused(format!("this is {place}: a project here would contain all others"))
            .hint("change to a project first, for example `cd shop && maestro init`; `git init` makes this one, too"));
    }
    let path = config::project_file(world);
    let shown = clean_path(&world.display_path(&path)).into_owned();
    // A broken link counts as existing, too.
    let exists = path.symlink_metadata().is_ok();
    let state = if exists { ConfigState::Written } else { ConfigState::Missing };
    let before = config::settings(world)?;
    let found = SetupProposal::look(args, &before, world);
    if args.dry_run && world.json {
        return CommandOutput::json(&json!({ "config": path.to_string_lossy(), "found": found.to_json() }));
    }
    if args.dry_run {
        return Ok(CommandOutput::text(format!("{}\nNothing was written.\n", found.describe(&shown, state, world)?)));
    }
    let answer = if exists && found.is_empty() { InitAnswer::Yes } else { ask(args, &found, state, &shown, world)? };
    if answer == InitAnswer::No {
        return Ok(CommandOutput::text("Nothing was written.\n"));
    }
    let mut text = match state {
        ConfigState::Missing => write_config(&path, &shown, world)?,
        ConfigState::Written if answer == InitAnswer::Yes && found.check.is_some() => String::new(),
        ConfigState::Written => format!("{shown} already exists; not changed.\n"),
    };
    let (report, git_hint) = (found.to_json(), found.git_hint());
    let mut notes = String::new();
    adopt(found, answer, world, &mut text, &mut notes)?;
    let setup = ProjectSetup::make(args, world)?;
    if world.json {
        return setup.to_json(&path, state, &report);
    }
    setup.describe(git_hint, world, &mut text, &mut notes);
    Ok(CommandOutput::text(text).with_notes(notes))
}

/// Does what was proposed and agreed to. Tools that cannot be connected keep nothing else from being set up.
fn adopt(
    found: SetupProposal,
    answer: InitAnswer,
    world: &World,
    text: &mut String,
    notes: &mut String,
) -> CommandResult<()> {
    let SetupProposal { check, tools, obstacle, .. } = found;
    if answer == InitAnswer::Yes {
        text.extend(check.map(|check| proposed_checks::adopt_check(check, world)).transpose()?);
        match tools.map(|tools| tools.apply(world)).transpose() {
            Ok(done) => text.extend(done),
            Err(error) => notes.push_str(&tools_warning(error.message(), world)),
        }
    }
    notes.extend(obstacle.map(|why| tools_warning(&why, world)));
    Ok(())
}

/// A project that is set up: its skills, and its place in the database.
struct ProjectSetup {
    settings: Settings,
    pack: Option<SyncedPack>,
    worker_skill: Option<WrittenSkill>,
    registered: CommandResult<ProjectBody>,
    problems: Vec<Problem>,
}

impl ProjectSetup {
    fn make(args: &InitArgs, world: &World) -> CommandResult<Self> {
        let settings = config::settings(world)?;
        let (mut problems, mut pack) = (Vec::new(), None);
        if settings.skills_sync_on_start.value {
            packs::sync_builtin(&settings, &world.spare_dir, &mut problems);
            pack = packs::sync_workspace(&settings, &world.places.project, &mut problems);
        }
        if settings.skills_enabled.value && settings.skills_sync_on_start.value {
            // The first prompt in the user's own agent gets its skill within the time that a hook has.
            skill_vectors::prepare(&settings, world);
        }
        let worker_skill = if args.worker_skill { Some(write_worker_skill(world)?) } else { None };
        Ok(Self { settings, pack, worker_skill, registered: register(world), problems })
    }

    fn to_json(&self, path: &Path, state: ConfigState, found: &Json) -> CommandResult {
        CommandOutput::json(&json!({
            "config": path.to_string_lossy(),
            "written": state == ConfigState::Missing,
            "project": self.registered.as_ref().ok().map(|registered| &registered.id),
            "projectProblem": self.registered.as_ref().err().map(CommandError::message),
            "workerSkill": self.worker_skill.as_ref().map(|written| written.path.to_string_lossy()),
            "pack": self.pack.as_ref().map(|pack| pack.directory.to_string_lossy()),
            "problems": self.problems,
            "found": found,
        }))
    }

    fn describe(&self, git_hint: Option<String>, world: &World, text: &mut String, notes: &mut String) {
        if let Some(pack) = &self.pack {
            let (from, copy) =
                (world.display_path(&self.settings.skills_builtin_dir.value), world.display_path(&pack.directory));
            let (from, copy) = (clean_path(&from), clean_path(&copy));
            let _ = match pack.state {
                SyncState::Copied => writeln!(text, "Copied the skill pack {from} to {copy}."),
                SyncState::Current => writeln!(text, "Skill pack {from} is up to date in {copy}."),
            };
        }
        if let Some(written) = &self.worker_skill {
            let shown = world.display_path(&written.path);
            let _ = if written.is_new {
                writeln!(text, "Wrote {} (how an agent reports to Maestro).", clean_path(&shown))
            } else {
                writeln!(text, "{} already exists; not changed.", clean_path(&shown))
            };
        }
        if let Ok(registered) = &self.registered {
            let _ = writeln!(text, "Project ID: {}", clean(&registered.id));
        }
        text.push_str(&proposed_checks::hints(&self.settings, world));
        if import::has_sources(world) {
            text.push_str(IMPORT_HINT);
        }
        text.extend(git_hint);
        text.push_str(NEXT);
        notes.extend(self.problems.iter().map(|problem| screen::problem(problem, world.note_paint)));
        if let Err(error) = &self.registered {
            let why = clean_path(error.message());
            let _ = writeln!(notes, "{} cannot register the project: {why}", world.note_paint.warning("warning:"));
            let _ = writeln!(notes, "{} run `maestro init` to try again", world.note_paint.help("hint:"));
        }
    }
}

/// Writes a project's first config file, and reports it.
fn write_config(path: &Path, shown: &str, world: &World) -> CommandResult<String> {
    if !files::stays_inside(path, &world.places.project) {
        return Err(CommandError::invalid(format!("{shown} leads out of the project"))
            .hint("remove the link in its path; Maestro does not write through it"));
    }
    match files::create(path, CONFIG) {
        Ok(()) => Ok(format!("Wrote {shown} (skills are on for agents that Maestro starts here).\n")),
        // Another process was faster, and its file counts.
        Err(_) if path.symlink_metadata().is_ok() => Ok(String::new()),
        Err(error) => Err(CommandError::io(format!("cannot write {shown}"), &error)
            .hint("check the permissions of the project's directory")),
    }
}

/// The text of the config file that a project without any gets first.
pub(crate) fn first_config(world: &World) -> Option<&'static str> {
    let files = [config::project_file(world), world.places.project.join(".loop/config")];
    (!files.iter().any(|path| path.symlink_metadata().is_ok())).then_some(CONFIG)
}

/// Sets up a project that is not set up yet; returns a note of what was written.
pub(crate) fn set_up_first(world: &World) -> CommandResult<Option<String>> {
    if first_config(world).is_none() {
        return Ok(None);
    }
    let path = config::project_file(world);
    let shown = clean_path(&world.display_path(&path)).into_owned();
    write_config(&path, &shown, world).map(Some)
}

/// Registers the project with the store, unless it is.
fn register(world: &World) -> CommandResult<ProjectBody> {
    require_project(&CliClient::open(world)?, world)
}

/// The project of this directory; registered if it is not.
pub(crate) fn require_project(client: &CliClient, world: &World) -> CommandResult<ProjectBody> {
    let directory = world.places.project.to_string_lossy();
    if let Some(project) = client.list(projects::list())?.into_iter().find(|project| project.working_dir == directory) {
        return Ok(project);
    }
    let name = world.places.project.file_name().map_or_else(|| directory.clone(), |name| name.to_string_lossy());
    let new = NewProject {
        name: Some(name.into_owned()),
        working_dir: Some(directory.clone().into_owned()),
        description: None,
    };
    client.call(projects::create(&new))
}

/// A skill folder in the project.
struct WrittenSkill {
    path: PathBuf,
    is_new: bool,
}

fn write_worker_skill(world: &World) -> CommandResult<WrittenSkill> {
    let path = world.places.project.join(".skills").join(WORKER);
    if path.symlink_metadata().is_ok() {
        return Ok(WrittenSkill { path, is_new: false });
    }
    if !files::stays_inside(&path, &world.places.project) {
        return Err(CommandError::invalid(format!("{} leads out of the project", world.display_path(&path)))
            .hint("remove the link in its path; Maestro does not write through it"));
    }
    files::create_directory(&path, &SkillPack::builtin().skill_files(WORKER)).map_err(|error| {
        CommandError::io(format!("cannot write {}", world.display_path(&path)), &error)
            .hint("check the permissions of the project's directory")
    })?;
    Ok(WrittenSkill { path, is_new: true })
}

/// What the user wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InitAnswer {
    /// Everything that is proposed.
    Yes,
    /// Only what needs no question: the project is set up already.
    OnlyUpdate,
    No,
}

/// Shows what was found and what is proposed, and asks once.
fn ask(
    args: &InitArgs,
    found: &SetupProposal,
    state: ConfigState,
    shown: &str,
    world: &World,
) -> CommandResult<InitAnswer> {
    if args.yes {
        return Ok(InitAnswer::Yes);
    }
    let can_ask = world.terminals.stdin && world.terminals.stderr && !world.json;
    if !can_ask && state == ConfigState::Written {
        return Ok(InitAnswer::OnlyUpdate);
    }
    if !can_ask {
        if !world.json {
            command_output::show(&found.describe(shown, state, world)?)?;
        }
        return Err(
            CommandError::invalid(format!("confirmation required to write {shown}")).hint("run `maestro init --yes`")
        );
    }
    let question = format!("{}\nDo this?", found.describe(shown, state, world)?);
    Ok(match (confirm::confirm(&question, EmptyAnswer::Agrees)?, state) {
        (true, _) => InitAnswer::Yes,
        (false, ConfigState::Written) => InitAnswer::OnlyUpdate,
        (false, ConfigState::Missing) => InitAnswer::No,
    })
}

fn tools_warning(why: &str, world: &World) -> String {
    format!(
        "{} no tool was connected: {}\n{} fix that and run `maestro connect all --hooks`\n",
        world.note_paint.warning("warning:"),
        clean_path(why),
        world.note_paint.help("hint:")
    )
}
