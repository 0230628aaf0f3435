//! What can be known within two seconds, before anything is created or paid for: agents, signing, hooks, rights.

use std::time::Duration;

use maestro_core::Settings;
use maestro_core::agent::{CodingAgent, DEMO_AGENT, Driver, LaunchChoice, Permission, PromptDelivery};
use maestro_core::settings::{Setting, SettingOrigin};
use maestro_engine::agents::probe::{self, AgentProbe, ProbeAnswer};
use maestro_engine::git::Git;

use crate::args::WorkArgs;
use crate::commands::agents::check;
use crate::host::agents;
use crate::host::runtime;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::screen::clean;

/// How long an agent or a signature may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// An agent that would be started, and how.
struct ReadyAgent {
    agent: CodingAgent,
    launch: LaunchChoice,
}

/// Refuses what could only fail later, and returns what a person should know before it begins.
pub(super) fn check_ready(
    work: &WorkArgs,
    plan_cost: Option<f64>,
    settings: &Settings,
    world: &World,
) -> CommandResult<Vec<String>> {
    let mut notes = Vec::new();
    let agents = if is_elsewhere(world) { Vec::new() } else { required_agents(work, settings, world)? };
    notes.extend(answers(&agents, world)?);
    check_signing(settings, world)?;
    notes.extend(git_notes(work, settings, world));
    notes.extend(rights_note(work, &agents));
    notes.extend(cost_note(work, plan_cost, settings, &agents));
    Ok(notes)
}

/// Whether another machine may start the agents.
fn is_elsewhere(world: &World) -> bool {
    let named = ["MAESTRO_API_URL", "MAESTRO_SERVER_URL"].iter().any(|name| world.variable(name).is_some());
    world.aim.server.is_some() || named
}

/// The agents that do the work, review it and take over, each once. All of them must be installed.
fn required_agents(work: &WorkArgs, settings: &Settings, world: &World) -> CommandResult<Vec<ReadyAgent>> {
    let table = agents::table(world);
    let own = work.agent.as_ref().unwrap_or(&settings.agent.value);
    let mut ready: Vec<ReadyAgent> = Vec::new();
    if own.is_empty() {
        ready.push(first_installed(&table.agents, world)?);
    }
    for name in [Some(own), work.reviewer.as_ref(), work.fallback.as_ref()].into_iter().flatten() {
        if name.is_empty() || ready.iter().any(|known| known.agent.name == *name) {
            continue;
        }
        // An unknown name was refused before.
        let Ok(agent) = table.agents.find(name) else { continue };
        // The caller of `command` names its program.
        if agent.programs().is_empty() {
            continue;
        }
        let launch = agents::choose_driver(agent, world).ok_or_else(|| not_installed(agent))?;
        ready.push(ReadyAgent { agent: agent.clone(), launch });
    }
    Ok(ready)
}

fn not_installed(agent: &CodingAgent) -> CommandError {
    let programs: Vec<String> = agent.programs().iter().map(|program| format!("`{program}`")).collect();
    CommandError::not_spawned(format!("{} not found on PATH", programs.join(" or ")))
        .hint(format!("install {}, or run `maestro agents` for the agents that are installed", clean(&agent.title)))
}

/// The agent that is started where none is named.
fn first_installed(table: &maestro_core::agent::AgentCatalogue, world: &World) -> CommandResult<ReadyAgent> {
    let others = table.all().iter().filter(|agent| !agents::is_own(agent));
    let mut ready = others.filter_map(|agent| {
        let launch = agents::choose_driver(agent, world)?;
        Some(ReadyAgent { agent: agent.clone(), launch })
    });
    ready.next().ok_or_else(|| {
        CommandError::not_spawned("no coding agent found")
            .hint("install one; `maestro agents` lists those that Maestro can start")
            .hint("or try it without a model: `--agent demo` does tasks like \"Add a file hi.txt that says hi\"")
    })
}

/// Starts the agents for a moment. One that refuses or fails is an error; one that is slow is worth a note.
fn answers(agents: &[ReadyAgent], world: &World) -> CommandResult<Vec<String>> {
    // The demo agent is this program, and a program that only takes a prompt would take this for one.
    let asked: Vec<&ReadyAgent> =
        agents.iter().filter(|known| known.agent.name != DEMO_AGENT && known.launch.driver != Driver::Text).collect();
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let maestro =
        std::env::current_exe().map_err(|error| CommandError::io("cannot find the path of this program", &error))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::io("cannot start programs here", &error))?;
    let probes = asked.iter().map(|known| AgentProbe {
        maestro: maestro.clone(),
        home: world.maestro_home.clone(),
        agent: known.agent.clone(),
        driver: known.launch.driver,
        program: known.launch.program.clone(),
        env: check::environment(),
    });
    let answers = runtime::wait(&runtime, probe::probe_all(probes.collect(), PATIENCE));
    let mut notes = Vec::new();
    for (known, answer) in asked.iter().zip(answers) {
        let name = clean(&known.agent.name).into_owned();
        match answer {
            ProbeAnswer::Answers { .. } => {}
            ProbeAnswer::Silent { .. } => notes.push(format!("note: {name} {answer}; starting anyway\n")),
            ProbeAnswer::NotStarted(_) | ProbeAnswer::Ended { .. } | ProbeAnswer::Refused(_) => {
                return Err(CommandError::not_spawned(format!("{name} {}", clean(&answer.to_string())))
                    .hint(format!("run `maestro agents {name} --check`, and the program itself, to see why")));
            }
        }
    }
    Ok(notes)
}

/// Signs something that no branch gets: a key that asks for a passphrase would stop the first commit.
fn check_signing(settings: &Settings, world: &World) -> CommandResult<()> {
    if !settings.git_sign.value {
        return Ok(());
    }
    Git::at(&world.places.project).check_signing(PATIENCE).map_err(|reason| {
        CommandError::refused(format!("commits cannot be signed: {reason}"))
            .hint("unlock your key with an agent (`ssh-add`, `gpg-agent`), or set `git_sign = false`")
    })
}

/// What the user's git would do at a commit, and whether Maestro's does it too.
fn git_notes(work: &WorkArgs, settings: &Settings, world: &World) -> Vec<String> {
    let git = Git::at(&world.places.project);
    let mut notes = Vec::new();
    if !settings.git_sign.value && git.is_signing_configured() {
        notes.push(
            "note: commits of Maestro are not signed; set `git_sign = true` in your config to sign them\n".to_owned(),
        );
    }
    let hooks = git.commit_hooks().join(", ");
    match (hooks.is_empty(), settings.git_hooks.value) {
        (true, _) => {}
        (false, true) => notes.push(format!("note: the repository's hooks run before each commit: {hooks}\n")),
        (false, false) => notes.push(format!(
            "note: the repository's hooks do not run ({hooks}); set `git_hooks = true` in your config to run them\n"
        )),
    }
    if !work.in_place && world.places.project.join(".gitmodules").is_file() {
        notes.push(
            "note: a worktree does not contain the files of submodules; checks that need them fail there\n".to_owned(),
        );
    }
    notes
}

/// What agents will ask for, as far as they can ask.
fn rights_note(work: &WorkArgs, agents: &[ReadyAgent]) -> Option<String> {
    let can_ask = |known: &&ReadyAgent| {
        let delivery = known.agent.launch(known.launch.driver).map(|launch| launch.prompt);
        let converses = known.launch.driver == Driver::Acp || delivery == Some(PromptDelivery::Stream);
        converses && known.agent.name != DEMO_AGENT
    };
    let name = clean(&agents.iter().find(can_ask)?.agent.name).into_owned();
    let permission = work.permission.as_deref().and_then(Permission::from_word).unwrap_or(Permission::Edits);
    let asks = match permission {
        Permission::All => return None,
        Permission::Ask => "every change and command other than the checks and commands that only look",
        Permission::Edits => "commands other than the checks and commands that only look",
    };
    Some(format!(
        "note: {name} asks before {asks}, and the run waits for your answer; with `--permission all` it asks \
         nothing, and the sandbox still confines it\n"
    ))
}

/// That a limit in dollars does not bind an agent that does not report them.
fn cost_note(work: &WorkArgs, plan_cost: Option<f64>, settings: &Settings, agents: &[ReadyAgent]) -> Option<String> {
    let is_set = |setting: &Setting<Option<f64>>| setting.origin != SettingOrigin::Default && setting.value.is_some();
    let limits = [
        (work.task_cost.is_some() || is_set(&settings.task_cost), "--task-cost"),
        (plan_cost.is_some() || is_set(&settings.plan_cost), "--plan-cost"),
    ];
    let limits: Vec<String> = limits.iter().filter(|(set, _)| *set).map(|(_, name)| format!("`{name}`")).collect();
    let silent = agents.iter().find(|known| !known.agent.reports_cost(known.launch.driver))?;
    if limits.is_empty() {
        return None;
    }
    Some(format!(
        "note: {} reports no cost, so {} can't bind; `--task-tokens` and `--task-minutes` do\n",
        clean(&silent.agent.name),
        limits.join(" and ")
    ))
}
