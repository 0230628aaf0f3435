//! Preconditions of work.

use std::path::Path;

use maestro_core::Settings;
use maestro_core::agent::DEMO_AGENT;
use maestro_core::settings::Setting;
use maestro_engine::Host as _;
use maestro_engine::branches;
use maestro_engine::git::{Git, RepositoryError};
use maestro_engine::step_sessions;
use maestro_engine::trust::{self, CommandsSetting, ConsentPlace, CoveredCommands, TrustStore};
use maestro_engine::workflows::WorkflowIndex;

use crate::args::WorkArgs;
use crate::client::own_server;
use crate::commands::skills::find as find_skill;
use crate::commands::trust::trust_error;
use crate::commands::workflow;
use crate::host::cli_host::CliHost;
use crate::host::git_gap::GitGap;
use crate::host::world::World;
use crate::host::{agents, catalogue};
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::screen::{clean, clean_path};

/// How many files are named that are in the way.
const NAMED: usize = 5;

/// Checks that the user trusts what the project's settings would run.
pub(super) fn require_consent(work: &WorkArgs, settings: &Settings, world: &World) -> CommandResult<()> {
    let (verify, setup) = (&settings.verify, &settings.worktree_setup);
    let sets_up = !work.in_place && !setup.value.is_empty();
    let words = step_sessions::prompt_file(&world.places.project)
        .map_err(|error| CommandError::io(format!("cannot read {}", step_sessions::OWN_WORDS), &error))?;
    if verify.value.is_empty() && !sets_up && words.is_none() {
        return Ok(());
    }
    let trust = TrustStore::load(&world.maestro_home).map_err(|error| trust_error(&error))?;
    let refused = |what: &str| {
        let refused = CommandError::invalid(format!("this project's {what} are not trusted yet"))
            .hint("run `maestro trust --config` to review and allow them");
        Err(trust.outdated_note().into_iter().fold(refused, CommandError::hint))
    };
    let project = &world.places.project;
    let allows = |setting: CommandsSetting, commands: &Setting<Vec<String>>| {
        let covered = CoveredCommands::read(setting, ConsentPlace::project(project), &commands.value);
        !commands.origin.comes_with_project() || covered.is_ok_and(|covered| trust.allows(&covered.hash))
    };
    if !verify.value.is_empty() && !allows(CommandsSetting::Checks, verify) {
        return refused("checks");
    }
    if sets_up && !allows(CommandsSetting::Setup, setup) {
        return refused("setup commands (`worktree_setup`)");
    }
    if words.is_some_and(|words| !trust.allows(&trust::prompt_hash(&world.places.project, &words))) {
        return refused("instructions for agents (`.loop/prompt.txt`)");
    }
    Ok(())
}

/// Checks that the user trusts a workflow that replaces the built-in one.
pub(super) fn require_trusted_workflow(name: &str, settings: &Settings, world: &World) -> CommandResult<()> {
    let catalogue = catalogue::load(world, &[], settings)?;
    let pinned = WorkflowIndex::of(&catalogue, &world.places.project).pinned(name)?;
    workflow::require_consent(&pinned, world)
}

/// Makes sure that there are such agents as shall do the work and look at it.
pub(super) fn require_agents(work: &WorkArgs, settings: &Settings, world: &World) -> CommandResult<()> {
    let by_setting = work.agent.is_none() && settings.agent.value == DEMO_AGENT;
    if by_setting && !CliHost::reading(world).allows_demo(&world.places.project) {
        return Err(CommandError::invalid("the demo agent is off here")
            .hint("name it with `--agent demo`, or set `demo_agent = true`"));
    }
    for (option, name) in [("--agent", &work.agent), ("--reviewer", &work.reviewer), ("--fallback", &work.fallback)] {
        match name.as_deref() {
            None => {}
            Some("") => {
                return Err(CommandError::invalid(format!("`{option}` is empty"))
                    .hint("pass a name that `maestro agents` lists, or leave the option out"));
            }
            Some(name) => agents::require_agent(name, world)?,
        }
    }
    if work.agent.is_some() || settings.agent.value.is_empty() {
        return Ok(());
    }
    agents::require_agent(&settings.agent.value, world).map_err(|error| {
        error.hint(format!(
            "the setting `agent` names it ({}); `maestro config set agent NAME` changes that",
            settings.agent.origin
        ))
    })
}

/// Makes sure that the skills of `--skills` exist: an agent without them would do the work otherwise.
pub(super) fn require_skills(work: &WorkArgs, settings: &Settings, world: &World) -> CommandResult<()> {
    if work.skills.is_empty() {
        return Ok(());
    }
    let skills = catalogue::load(world, &[], settings)?;
    work.skills.iter().try_for_each(|name| find_skill(&skills, name).map(|_| ()))
}

/// Makes sure that a plan of the repository is in the worktree as it is here.
pub(super) fn require_committed(plan: &str, world: &World) -> CommandResult<()> {
    let project = &world.places.project;
    if !is_tracked(plan, project) || Git::at(project).is_unchanged(plan) {
        return Ok(());
    }
    let plan = clean_path(plan).into_owned();
    Err(CommandError::refused(format!("{plan} has uncommitted changes, and a worktree only has the last commit"))
        .hint(format!("commit them with `git add {plan} && git commit`, or stash them with `git stash`")))
}

/// Whether a plan belongs to the repository.
pub(super) fn is_tracked(plan: &str, project: &Path) -> bool {
    Git::at(project).is_tracked(plan)
}

/// Makes sure that what is done can be committed.
pub(super) fn require_repository(world: &World) -> CommandResult<()> {
    if agents::program("git", world).is_none() {
        return Err(CommandError::refused("`git` not found on PATH; the loop commits its work").hint("install git"));
    }
    if world.places.project.to_str().is_none() {
        return Err(CommandError::refused(
            "the path of this directory is not valid UTF-8, and agents cannot work in it",
        )
        .hint("rename the directory, or clone it to a path of plain letters"));
    }
    let git = Git::at(&world.places.project);
    match git.check_repository() {
        Ok(()) => {}
        Err(RepositoryError::None(_)) => {
            return Err(CommandError::invalid("not a git repository; the loop commits its work").hint("run `git init`"));
        }
        Err(RepositoryError::Io { path, error }) => {
            return Err(CommandError::io(format!("cannot write `{}`", clean_path(&path.to_string_lossy())), &error)
                .hint("check the permissions of the folder"));
        }
        Err(error) => return Err(CommandError::refused(error.to_string()).hint("Maestro's git works without it only")),
    }
    git.check_filters().map_err(|error| CommandError::refused(error.to_string()))?;
    // An agent would work for an hour, and the commit would fail.
    match git.has_identity() {
        Ok(true) => Ok(()),
        Ok(false) => Err(CommandError::refused(GitGap::Identity.message()).hint(GitGap::Identity.hint())),
        Err(error) => Err(CommandError::refused(error.to_string()).hint("see git's message above")),
    }
}

/// Makes sure that there is a commit from which a worktree can start.
pub(super) fn require_commits(world: &World) -> CommandResult<()> {
    match Git::at(&world.places.project).has_commits() {
        Ok(true) => Ok(()),
        Ok(false) => Err(CommandError::refused(GitGap::Commits.message()).hint(GitGap::Commits.hint())),
        Err(error) => Err(CommandError::refused(error.to_string()).hint("see git's message above")),
    }
}

/// Makes sure that a server runs that goes on when this command has ended.
pub(super) fn require_server(world: &World) -> CommandResult<()> {
    if own_server::running(world).is_some() {
        return Ok(());
    }
    Err(CommandError::invalid("no server running to continue the work").hint("run `maestro up`"))
}

/// Makes sure that what is committed for a task in place is that task's work and nothing else.
pub(super) fn require_clean(world: &World) -> CommandResult<()> {
    let files = branches::uncommitted(&world.places.project)
        .map_err(|error| CommandError::refused(error.to_string()).hint("see git's message above"))?;
    if files.is_empty() {
        return Ok(());
    }
    let mut named: Vec<String> = files.iter().take(NAMED).map(|file| clean(file).into_owned()).collect();
    if files.len() > NAMED {
        named.push(format!("and {} more", files.len() - NAMED));
    }
    Err(CommandError::refused(format!("uncommitted changes: {}", named.join(", ")))
        .hint("they would become part of the first task's commit: commit them, or stash them with `git stash -u`")
        .hint("or omit `--in-place` to work in a worktree"))
}
