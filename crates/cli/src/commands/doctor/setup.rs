//! Setup problems that keep work from starting: no agent, a check without its program, an unknown project, no sandbox.

use std::path::PathBuf;

use maestro_api::projects;
use maestro_core::settings::{Setting, SettingOrigin};
use maestro_core::{Problem, ProblemCode, ProblemSeverity, Settings};
use maestro_engine::sandbox::{SandboxLayer, SandboxReport};

use crate::client::own_server;
use crate::host::agents::{self, InstalledAgent};
use crate::host::config;
use crate::host::git_gap::{GitGap, has_repository};
use crate::host::world::World;

/// Where Linux says which security modules are in use.
const SECURITY_MODULES: &str = "/sys/kernel/security/lsm";

/// What keeps work from starting here.
pub(super) fn problems(
    settings: &Settings,
    installed: &[InstalledAgent],
    sandbox: &SandboxReport,
    world: &World,
) -> Vec<Problem> {
    let mut found = Vec::new();
    if installed.is_empty() {
        found.push(Problem::new(
            ProblemCode::AgentMissing,
            ProblemSeverity::Info,
            "$PATH",
            "no coding agent found",
            "install one that `maestro agents` lists; until then, `maestro demo` and `--agent demo` work without one",
        ));
    }
    found.extend(missing_agent(&settings.agent, world).filter(|_| !installed.is_empty()));
    found.extend(GitGap::find(world).filter(|_| has_repository(world)).map(|gap| {
        let place =
            if gap == GitGap::Commits { world.places.project.join(".git") } else { PathBuf::from("~/.gitconfig") };
        Problem::new(ProblemCode::GitNotReady, ProblemSeverity::Warning, place, gap.message(), gap.hint())
    }));
    for (name, setting) in [("verify", &settings.verify), ("worktree_setup", &settings.worktree_setup)] {
        found.extend(setting.value.iter().filter_map(|command| missing_program(name, command, setting, world)));
    }
    found.extend(unknown_project(world));
    if sandbox.layer == SandboxLayer::None {
        found.push(Problem::new(
            ProblemCode::NotConfined,
            ProblemSeverity::Warning,
            SECURITY_MODULES,
            "nothing confines agents on this machine: neither Landlock nor namespaces",
            "use Linux 5.13 or newer with `landlock` in this file, or run Maestro in a container; `maestro help guide \
             security` says what agents can do here",
        ));
    }
    found
}

/// The agent of the settings, where it cannot be started.
fn missing_agent(setting: &Setting<String>, world: &World) -> Option<Problem> {
    let name = &setting.value;
    let table = agents::table(world);
    let why = match table.agents.find(name) {
        _ if name.is_empty() => return None,
        Err(_) => "is no agent that Maestro knows",
        // The caller of `command` names its program.
        Ok(agent) if agent.programs().is_empty() || agents::choose_driver(agent, world).is_some() => return None,
        Ok(_) => "is not installed",
    };
    let (path, line) = place(&setting.origin, "agent");
    let help = "install it, or run `maestro config set agent NAME` with one that is (`maestro agents` lists them)";
    let message = format!("`{name}`, the agent of the settings, {why}");
    Some(Problem::new(ProblemCode::AgentMissing, ProblemSeverity::Warning, path, message, help).at(line, 1))
}

/// A command whose program is not there.
fn missing_program(name: &str, command: &str, setting: &Setting<Vec<String>>, world: &World) -> Option<Problem> {
    let program = command.split_whitespace().next()?;
    let is_there = if program.contains('/') {
        world.places.project.join(program).is_file()
    } else {
        agents::program(program, world).is_some()
    };
    let (path, line) = place(&setting.origin, name);
    (!is_there).then(|| {
        Problem::new(
            ProblemCode::CheckNotFound,
            ProblemSeverity::Warning,
            path,
            format!("`{command}` in `{name}` cannot run: `{program}` not found"),
            format!("install it, or run `maestro config set --project {name} '[\"COMMAND\"]'` with another one"),
        )
        .at(line, 1)
    })
}

fn place(origin: &SettingOrigin, name: &str) -> (PathBuf, usize) {
    match origin {
        SettingOrigin::File { path, line, .. } => (path.clone(), *line),
        SettingOrigin::Variable(variable) => (PathBuf::from(format!("${variable}")), 1),
        SettingOrigin::Default | SettingOrigin::Flag => (PathBuf::from(format!("--set {name}")), 1),
    }
}

/// A project with a config of its own that the running server has not registered.
fn unknown_project(world: &World) -> Option<Problem> {
    let file = config::project_file(world);
    if !file.is_file() {
        return None;
    }
    let client = own_server::running(world)?;
    // A server that does not answer is a problem of its own.
    let known = client.list(projects::list()).ok()?;
    let is_known = known.iter().any(|project| world.places.working_dir.starts_with(&project.working_dir));
    (!is_known).then(|| {
        Problem::new(
            ProblemCode::ProjectUnknown,
            ProblemSeverity::Warning,
            file,
            "the server that runs does not know this project, so its page does not show it",
            "run `maestro init` here to register it",
        )
    })
}
