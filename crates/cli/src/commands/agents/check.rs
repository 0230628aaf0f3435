//! Check whether the installed agents answer; starts all of them at once.

use std::collections::BTreeMap;

use maestro_engine::agents::probe::{self, AgentProbe};

use super::AgentStatus;
use crate::host::runtime;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::progress::while_working;
use crate::output::screen::count;

/// Starts the installed agents, and records their answers.
pub(super) fn probe_installed(known: &mut [AgentStatus<'_>], world: &World) -> CommandResult<()> {
    let maestro =
        std::env::current_exe().map_err(|error| CommandError::io("cannot find the path of this program", &error))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::io("cannot start programs here", &error))?;
    let env = environment();
    let mut asked = Vec::new();
    let mut probes = Vec::new();
    for (at, known) in known.iter().enumerate() {
        let Some(chosen) = known.chosen() else { continue };
        asked.push(at);
        probes.push(AgentProbe {
            maestro: maestro.clone(),
            home: world.maestro_home.clone(),
            agent: known.agent.clone(),
            driver: chosen.driver,
            program: chosen.program.clone(),
            env: env.clone(),
        });
    }
    let what = format!("Asking {}", count(asked.len(), "agent", "agents"));
    let answers =
        while_working(world.terminals, &what, || runtime::wait(&runtime, probe::probe_all(probes, probe::PATIENCE)));
    for (at, answer) in asked.into_iter().zip(answers) {
        known[at].answer = Some(answer);
    }
    Ok(())
}

/// Environment of the agents, without our variables: they would name a session, and here there is none.
pub(crate) fn environment() -> BTreeMap<String, String> {
    let text =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    text.filter(|(name, _)| !name.starts_with("MAESTRO_")).collect()
}
