//! `maestro attach`: a session's agent in its own interface; Maestro continues when the user leaves.

use std::process::Command;
use std::time::Duration;

use maestro_core::agent::Driver;
use maestro_engine::identity::Identity;
use serde_json::{Value as Json, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::AttachArgs;
use crate::client::{Client, escaped};
use crate::host::agents;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;

/// How often it is asked whether its worker let go of the agent.
const ASK: Duration = Duration::from_millis(200);
/// How many times it is asked.
const TIMES: usize = 150;
/// How often it is said that we are still there.
const KEEP: Duration = Duration::from_secs(10);

pub(crate) fn run(args: &AttachArgs, world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    let path = format!("/api/sessions/{}", escaped(&args.id));
    let session: Json = client.get(&path)?;
    let spawn: Json = client.get(&format!("{path}/spawn"))?;
    // Before anything is stopped: that it can be gone on with.
    let command = command(&session, &spawn, world)?;
    let by = json!({ "by": Identity::of_this_process().as_str() });
    let attached = attached(&client, &path, &by)?;
    let ended = talk(&command, &session, &attached, &client, &path, &by);
    let given_back: Json = client.post(&format!("{path}/detach"), &by)?;
    ended?;
    let text = match given_back["state"].as_str() {
        Some("waiting") => "Maestro continues the session.\n",
        _ => "The session has ended.\n",
    };
    if world.json { Reply::json(&given_back) } else { Ok(Reply::text(text)) }
}

/// What opens the agent's own interface.
fn command(session: &Json, spawn: &Json, world: &World) -> Result<Vec<String>, CommandError> {
    let workspace = spawn["spec"]["workspace"].as_str().unwrap_or_default();
    let there = world.at(std::path::Path::new(workspace));
    let name = session["agentId"].as_str().or(spawn["spec"]["agent"].as_str()).unwrap_or_default();
    let table = agents::table(&there);
    let agent = table.agents.find(name).map_err(|error| CommandError::not_found(error.to_string()))?;
    let driver = spawn["spec"]["driver"].as_str().and_then(|word| word.parse::<Driver>().ok());
    let driver = driver.or_else(|| agents::chosen(agent, &there).map(|chosen| chosen.driver));
    let Some(own) = spawn["agentSession"].as_str() else {
        return Err(CommandError::invalid("the agent has not started a session yet").hint("try again in a moment"));
    };
    let mut command = driver.and_then(|driver| agent.launch(driver)).map(|way| way.attached(own)).unwrap_or_default();
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
fn attached(client: &Client, path: &str, by: &Json) -> Result<Json, CommandError> {
    let asks = json!({ "by": by["by"], "token": true });
    for _ in 0..TIMES {
        let spawn: Json = client.post(&format!("{path}/attach"), &asks)?;
        if spawn["state"] == "attached" {
            return Ok(spawn);
        }
        std::thread::sleep(ASK);
    }
    let _: Json = client.post(&format!("{path}/detach"), by)?;
    Err(CommandError::refused("its worker does not release it").hint("run `maestro session cancel` to end it"))
}

/// Runs the agent's own interface in this terminal, and says now and then that we are still there.
fn talk(
    command: &[String],
    session: &Json,
    attached: &Json,
    client: &Client,
    path: &str,
    by: &Json,
) -> Result<(), CommandError> {
    let [program, arguments @ ..] = command else { return Ok(()) };
    let mut child = Command::new(program);
    child.args(arguments).current_dir(attached["spec"]["workspace"].as_str().unwrap_or("."));
    for (name, value) in session["env"].as_object().into_iter().flatten() {
        child.env(name, value.as_str().unwrap_or_default());
    }
    child.env("MAESTRO_SESSION_TOKEN", attached["token"].as_str().unwrap_or_default());
    client.wait(async {
        // What is typed is for the agent: its interrupt must not end us before we gave it back.
        let _ignored = signal(SignalKind::interrupt());
        let started = child.spawn();
        let mut started = started.map_err(|error| CommandError::io(format!("cannot start {program}"), &error))?;
        let mut ended = tokio::task::spawn_blocking(move || started.wait());
        loop {
            tokio::select! {
                _ = &mut ended => return Ok(()),
                () = tokio::time::sleep(KEEP) => {
                    // If this fails, the next heartbeat reports it.
                    let _ = client.send_to::<Json>(&format!("{path}/attach"), by).await;
                }
            }
        }
    })
}
