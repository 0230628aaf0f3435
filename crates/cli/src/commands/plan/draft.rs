//! A plan by an agent: it looks at the project, changes nothing, and answers with a Markdown text.

use maestro_api::spawns::{self, NewSpawn};
use maestro_api::tasks::{self, NewTask, TaskChange};
use maestro_core::agent::{AgentEvent, DEMO_AGENT, Stream};
use maestro_core::plan::find_plan;
use maestro_core::{SessionRole, Settings};

use crate::client::CliClient;
use crate::client::own_server::ServedClient;
use crate::commands::{init, show, transcript};
use crate::host::agents;
use crate::host::world::World;
use crate::output::command_output::{self, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::clean;

/// What the agent has to do, beside the goal.
const INSTRUCTIONS: &str = "\
Write a plan for the goal above; do not work on the goal itself. Look at this repository first. Change no file in it.

Answer with the plan alone, as Markdown:

- A heading. Below it, in two to six lines, what everyone who works on a task must know: the goal, limits, what to leave alone.
- A list with a box for each task: `- [ ] Task`. A numbered list (`1. [ ] Task`) if each needs the one before.
- A task is as much as one session can do and one reviewer can judge; its first line says what is true afterwards. Two to twelve tasks.
- Below each task, after an empty line and indented: `Done when: …`, with a command that shows it or a thing that can be seen.
- No boxes elsewhere.

Say the plan in one message of its own: this time what you say is read, and your reports are not. Then report that you are \
done, without repeating it.";

/// How many characters of the goal the task's title has.
const TITLE: usize = 120;

/// Has an agent write a plan, and shows what it does meanwhile.
pub(super) fn by_agent(goal: &str, named: Option<&str>, settings: &Settings, world: &World) -> CommandResult<String> {
    let agent = choose(named, settings, world)?;
    let ServedClient { client, own } = ServedClient::open(world)?;
    let project = init::require_project(&client, world)?;
    if !world.json {
        command_output::show(&format!("{} looks at the project and writes a plan.\n", clean(&agent)))?;
    }
    let title: String = format!("Write a plan: {goal}").chars().take(TITLE).collect();
    let task = client.call(tasks::create(&NewTask {
        project_id: Some(project.id.clone()),
        title: Some(title),
        description: Some(format!("The goal: {goal}\n\n{INSTRUCTIONS}")),
        ..NewTask::default()
    }))?;
    let answer = ask(&client, &agent, &project.id, &task.id, world);
    // The plan, not this record, is what the user wants; the session stays for its costs.
    let done = TaskChange { status: Some("completed".to_owned()), ..TaskChange::default() };
    let _ = client.call(tasks::update(&task.id, &done));
    let (session, texts) = answer?;
    drop(own);
    texts.iter().rev().find_map(|text| find_plan(text)).ok_or_else(|| {
        CommandError::refused(format!("{} answered without a plan", clean(&agent)))
            .hint(format!("run `maestro show {} --transcript` to see what it said", clean(&session)))
            .hint("try again, with another `--agent`, or with `--recipe upgrade|coverage|lint`")
    })
}

/// Starts the agent and follows it to the end; its session, and its texts in order.
fn ask(
    client: &CliClient,
    agent: &str,
    project: &str,
    task: &str,
    world: &World,
) -> CommandResult<(String, Vec<String>)> {
    let spawn = NewSpawn {
        project_id: Some(project.to_owned()),
        task_ids: Some(vec![task.to_owned()]),
        role: Some(SessionRole::Worker.to_string()),
        spawn_source: Some("ui".to_owned()),
        agent: Some(agent.to_owned()),
        // It only looks, so it needs no worktree.
        permission: Some("ask".to_owned()),
        worktree: Some(false),
        ..NewSpawn::default()
    };
    let session = client.call(spawns::create(&spawn)).map_err(CommandError::of_spawn)?.session_id;
    // How the session is judged does not matter here: the answer is the result.
    let _ = show::follow(client, &session, world)?;
    let entries = transcript::load_all(client, &session)?.value;
    Ok((session, texts(entries.into_iter().map(|entry| entry.event))))
}

/// What an agent said, as whole texts: pieces that follow each other are one.
fn texts(events: impl Iterator<Item = AgentEvent>) -> Vec<String> {
    let (mut texts, mut open) = (Vec::new(), String::new());
    for event in events {
        match event {
            AgentEvent::Said { text } => open.push_str(&text),
            // The words of an agent that only prints.
            AgentEvent::Printed { stream: Stream::Out, text } => {
                open.push_str(&text);
                open.push('\n');
            }
            _ => texts.push(std::mem::take(&mut open)),
        }
    }
    texts.push(open);
    texts.retain(|text| !text.trim().is_empty());
    texts
}

/// The agent that writes: the named one, the setting's, or the first one installed.
fn choose(named: Option<&str>, settings: &Settings, world: &World) -> CommandResult<String> {
    let set = Some(settings.agent.value.as_str()).filter(|name| !name.is_empty());
    if let Some(name) = named.or(set) {
        agents::require_agent(name, world)?;
        if name == DEMO_AGENT {
            return Err(CommandError::invalid("the demo agent has no model and cannot write plans")
                .hint("name another with `--agent` (see `maestro agents`), or use `--recipe upgrade|coverage|lint`"));
        }
        return Ok(name.to_owned());
    }
    let table = agents::table(world);
    let can_start = |agent: &&maestro_core::agent::CodingAgent| {
        !agents::is_own(agent) && agents::choose_driver(agent, world).is_some()
    };
    let first = table.agents.all().iter().find(can_start).map(|agent| agent.name.clone());
    first.ok_or_else(|| {
        CommandError::not_spawned("no coding agent found that could write a plan")
            .hint("`--recipe upgrade|coverage|lint` needs none; `maestro agents` lists those that Maestro can start")
    })
}
