//! `maestro attach`: a session's agent in its own interface; Maestro continues when the user leaves.

use std::pin::pin;
use std::time::Duration;

use maestro_api::ReceivedReply;
use maestro_api::events::EventQuery;
use maestro_api::sessions::{self, SessionBody};
use maestro_api::spawns::{self, AttachRequest, SpawnBody};
use maestro_engine::identity::ProcessIdentity;
use maestro_engine::user_program::{ProgramError, UserProgram};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use crate::args::AttachArgs;
use crate::client::CliClient;
use crate::host::agents;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;

/// How long a worker may take to let go of the agent.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is said that we are still there.
const KEEP: Duration = Duration::from_secs(10);

pub(crate) fn run(args: &AttachArgs, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    let session = client.call(sessions::get(&args.id))?;
    let spawn = client.call(spawns::get(&args.id))?;
    // Before anything is stopped: that it can be gone on with.
    let command = command(&session, &spawn, world)?;
    let by = AttachRequest { by: Some(ProcessIdentity::of_this_process().as_str().to_owned()), token: false };
    let attached = wait_attached(&client, &args.id, &by)?;
    let ended = run_interface(&command, &session, &attached, &client, &by);
    let ReceivedReply { raw, value: given_back } = client.call_raw(spawns::detach(&args.id, &by))?;
    ended?;
    let text = match given_back.state.as_str() {
        "waiting" => "Maestro continues the session.\n",
        _ => "The session has ended.\n",
    };
    if world.json { CommandOutput::json(&raw) } else { Ok(CommandOutput::text(text)) }
}

/// What opens the agent's own interface.
fn command(session: &SessionBody, spawn: &SpawnBody, world: &World) -> CommandResult<Vec<String>> {
    let spec = spawn.read_spec();
    let there = world.at(std::path::Path::new(&spec.workspace));
    let name = session.agent_id.as_deref().or(spec.agent.as_deref()).unwrap_or_default();
    let table = agents::table(&there);
    let agent = table.agents.find(name).map_err(|error| CommandError::not_found(error.to_string()))?;
    let driver = spec.driver.or_else(|| agents::choose_driver(agent, &there).map(|chosen| chosen.driver));
    let Some(own) = spawn.agent_session.as_deref() else {
        return Err(CommandError::invalid("the agent has not started a session yet").hint("try again in a moment"));
    };
    let mut command =
        driver.and_then(|driver| agent.launch(driver)).map(|way| way.attach_arguments(own)).unwrap_or_default();
    let Some(program) = command.first_mut() else {
        return Err(CommandError::invalid(format!("{} cannot resume a session in its own interface", agent.title))
            .hint("use `maestro show ID --follow` to watch it, `maestro say` to send a message"));
    };
    let found = agents::program(program, &there)
        .ok_or_else(|| CommandError::not_found(format!("`{program}` not found on PATH")))?;
    *program = found.display().to_string();
    Ok(command)
}

/// Asks for the agent until its worker has let go of it.
fn wait_attached(client: &CliClient, session: &str, by: &AttachRequest) -> CommandResult<SpawnBody> {
    let asks = AttachRequest { token: true, ..by.clone() };
    let mut changes = client.watch(EventQuery { session_id: Some(session.to_owned()), ..EventQuery::default() });
    let attached = async {
        loop {
            let spawn = client.send(spawns::attach(session, &asks)).await?;
            if spawn.state == "attached" {
                return Ok(spawn);
            }
            changes.changed().await;
        }
    };
    let released = client.wait(async { timeout(PATIENCE, attached).await });
    released.unwrap_or_else(|_| {
        client.call(spawns::detach(session, by))?;
        Err(CommandError::refused("its worker does not release it").hint("run `maestro session cancel` to end it"))
    })
}

/// Runs the agent's own interface in this terminal, and says now and then that we are still there.
fn run_interface(
    command: &[String],
    session: &SessionBody,
    attached: &SpawnBody,
    client: &CliClient,
    by: &AttachRequest,
) -> CommandResult<()> {
    let [program, arguments @ ..] = command else { return Ok(()) };
    let mut agent = UserProgram::new(program).args(arguments).current_dir(attached.read_spec().workspace);
    for (name, value) in &session.env {
        agent = agent.env(name, value.as_str().unwrap_or_default());
    }
    let agent = agent.env("MAESTRO_SESSION_TOKEN", attached.token.as_deref().unwrap_or_default());
    client.wait(async {
        // What is typed is for the agent: its interrupt must not end us before we gave it back.
        let _ignored = signal(SignalKind::interrupt());
        let mut ended = pin!(agent.run_in_terminal());
        loop {
            tokio::select! {
                ended = &mut ended => {
                    let cannot = |error: ProgramError| CommandError::io(format!("cannot start {program}"), &error);
                    return ended.map(drop).map_err(cannot);
                }
                () = tokio::time::sleep(KEEP) => {
                    // If this fails, the next heartbeat reports it.
                    let _ = client.send(spawns::attach(&session.id, by)).await;
                }
            }
        }
    })
}
