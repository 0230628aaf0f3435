//! What happens when an agent really runs: does it get what it is told, is it heard, and does it end?

mod acp;
mod demo;
mod pause;
mod probe;
mod process;
mod read_only;
mod stream;

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use maestro_core::agent::{AgentCatalogue, AgentEvent, CodingAgent, Driver, Permission, StopReason};
use maestro_engine::agents::process::ProcessLimits;
use maestro_engine::agents::{AgentLaunch, RunningAgent, start};
use maestro_engine::sandbox::WritePolicy;

use crate::execute::{MAESTRO, Place};

/// The demo agent that prints what it does.
fn plain(place: &Place, prompt: &str) -> AgentLaunch {
    launch(place, demo(), Driver::Json, prompt)
}

/// The demo agent that speaks the protocol.
fn protocol(place: &Place, permission: Permission, prompt: &str) -> AgentLaunch {
    AgentLaunch { permission, ..launch(place, demo(), Driver::Acp, prompt) }
}

fn demo() -> CodingAgent {
    AgentCatalogue::builtin().find("demo").unwrap().clone()
}

/// A shell that is taken for an agent.
fn shell(place: &Place, table: &str, driver: Driver, prompt: &str) -> AgentLaunch {
    let (agents, mistakes) = AgentCatalogue::builtin().extend_from_toml(table);
    assert_eq!(mistakes, []);
    let agent = agents.all().last().unwrap().clone();
    AgentLaunch { program: "/bin/sh".into(), ..launch(place, agent, driver, prompt) }
}

fn launch(place: &Place, agent: CodingAgent, driver: Driver, prompt: &str) -> AgentLaunch {
    let tmp = place.path("tmp");
    fs::create_dir_all(place.path("home")).unwrap();
    let variables = [
        ("PATH", std::env::var("PATH").unwrap()),
        ("HOME", place.path("home").display().to_string()),
        ("TMPDIR", tmp.display().to_string()),
        ("MAESTRO_BIN", MAESTRO.to_owned()),
        ("MAESTRO_HOME", place.home().display().to_string()),
    ];
    AgentLaunch {
        maestro: MAESTRO.into(),
        agent,
        driver,
        program: MAESTRO.into(),
        arguments: Vec::new(),
        model: None,
        cwd: place.workspace(),
        env: variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<BTreeMap<_, _>>(),
        retries: 0,
        prompt: prompt.to_owned(),
        session: "0190b6a0-0000-7000-8000-000000000000".to_owned(),
        resume: None,
        permission: Permission::All,
        limits: ProcessLimits { time: Duration::from_mins(1), idle: Duration::from_mins(1) },
        waits: false,
        policy: WritePolicy::default_policy(&place.workspace(), Some(&tmp)).allow([place.path("home")]),
        mcp: Vec::new(),
    }
}

/// The same agent, which follows a script.
fn scripted(mut launch: AgentLaunch, place: &Place, script: &str) -> AgentLaunch {
    let path = place.path("script");
    fs::write(&path, script).unwrap();
    launch.env.insert("MAESTRO_DEMO_SCRIPT".to_owned(), path.display().to_string());
    launch
}

/// Everything that is told until nothing more is.
async fn rest(session: &mut RunningAgent) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    while let Some(event) = session.events.recv().await {
        events.push(event);
    }
    events
}

/// Everything that is told until this is.
async fn until(session: &mut RunningAgent, is_it: impl Fn(&AgentEvent) -> bool) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    while events.last().is_none_or(|event| !is_it(event)) {
        let event = session.events.recv().await;
        events.push(event.unwrap_or_else(|| panic!("it ended before: {events:?}")));
    }
    events
}

/// Starts an agent and hears it to its end.
async fn run(launch: AgentLaunch) -> Vec<AgentEvent> {
    rest(&mut start(launch).await.unwrap()).await
}

fn stops(events: &[AgentEvent]) -> Vec<StopReason> {
    let stop = |event: &AgentEvent| match event {
        AgentEvent::Ended { stop, .. } => Some(*stop),
        _ => None,
    };
    events.iter().filter_map(stop).collect()
}

fn troubles(events: &[AgentEvent]) -> Vec<&str> {
    let mut messages = Vec::new();
    for event in events {
        if let AgentEvent::Trouble { message, .. } = event {
            messages.push(message.as_str());
        }
    }
    messages
}

fn said(events: &[AgentEvent]) -> String {
    let text = |event: &AgentEvent| match event {
        AgentEvent::Said { text } => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}
