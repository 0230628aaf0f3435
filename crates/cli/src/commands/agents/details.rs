//! Details of one agent, for people.

use std::fmt::Write as _;

use maestro_core::agent::{
    CodingAgent, ConversationFlags, Driver, LaunchSpec, LaunchValues, Permission, PromptDelivery, ReportAbility,
};
use maestro_core::workflow::executions::quote_word;

use super::{AgentStatus, DefaultAgent, InstallState};
use crate::host::agents::{AgentOrigin, AgentTable, program};
use crate::host::world::World;
use crate::output::screen::{clean, clean_path, pad};

/// Width of the labels.
const NAMES: usize = 13;

/// Everything about one agent.
pub(super) fn agent_details(
    known: &AgentStatus<'_>,
    table: &AgentTable,
    usual: Option<&DefaultAgent>,
    world: &World,
) -> String {
    let agent = known.agent;
    let mut text = format!("{}  {}\n\n", world.paint.strong(&agent.name), clean(&agent.title));
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "  {} {value}", world.paint.dim(&pad(name, NAMES)));
        }
    };
    line("program", &known.program(world));
    if let InstallState::Missing = known.state {
        line("", &known.why());
    }
    line("answers", &known.answer.as_ref().map(|answer| clean(&answer.to_string()).into_owned()).unwrap_or_default());
    // The driver in use, or the one that would be if its program were installed.
    let taken = known.chosen().map(|chosen| chosen.driver).or_else(|| Some(agent.drivers().next()?.0));
    for (driver, launch) in agent.drivers().filter(|(driver, _)| Some(*driver) == taken) {
        let why = if let InstallState::Missing = known.state {
            clean(&agent.explain_preference()).into_owned()
        } else {
            known.why()
        };
        line("driver", &format!("{driver}: {why}"));
        line("runs", &runs(known, launch));
        line("prompt", prompt(launch.prompt));
        for permission in Permission::ALL {
            line(&format!("mode {permission}"), &allowed(agent, launch, permission));
        }
        line("model", &model(launch));
        line("resumes", &resumes(driver, launch));
    }
    for (driver, launch) in agent.drivers().filter(|(driver, _)| Some(*driver) != taken) {
        let there = launch.programs.iter().any(|name| program(name, world).is_some());
        let state = if there { "" } else { " (not installed)" };
        line("or", &format!("{driver}: {}{state}", clean(&launch.programs.join(", "))));
    }
    line("variables", &clean(&variables(agent).join(", ")));
    line(
        "reports",
        match agent.reporting {
            ReportAbility::Able => "with `maestro` commands while it works",
            ReportAbility::Unable => "nothing; only its changed files show what it did",
        },
    );
    line("MCP tools", &clean(agent.mcp.as_deref().unwrap_or_default()));
    line("instructions", &clean(agent.instructions.as_deref().unwrap_or_default()));
    line("skills", &clean(&agent.skills.join(", ")));
    let places: Vec<String> = writes(agent).iter().map(|place| world.display_path(place.as_ref())).collect();
    line("writes", &clean_path(&places.join(", ")));
    line("leaves", &clean(&agent.leaves.join(", ")));
    line("described", &origin_text(table, &agent.name, world));
    if let Some(usual) = usual.filter(|_| known.is_default) {
        line("default", &format!("yes: {}", clean(&usual.because)));
    }
    text
}

/// The arguments of a fresh session, with unknown values in braces.
pub(super) fn command(launch: &LaunchSpec) -> Vec<String> {
    let plain = LaunchSpec { permissions: std::collections::BTreeMap::new(), ..launch.clone() };
    plain.arguments(&LaunchValues {
        conversation: ConversationFlags::Fresh("{session}"),
        model: None,
        prompt_file: "{prompt_file}",
        permission: Permission::Edits,
    })
}

/// The names of its variables, for any permission.
pub(super) fn variables(agent: &CodingAgent) -> Vec<String> {
    let mut names: Vec<String> = agent.env.keys().chain(&agent.retries).cloned().collect();
    names.sort();
    names.dedup();
    names
}

/// Where it writes its own files on this machine.
pub(super) fn writes(agent: &CodingAgent) -> Vec<String> {
    agent.places(&|name| std::env::var(name).ok())
}

fn runs(known: &AgentStatus<'_>, launch: &LaunchSpec) -> String {
    let name = match known.chosen() {
        Some(chosen) => chosen.name.as_str(),
        None => launch.programs.first().map_or("PROGRAM", String::as_str),
    };
    shell_words(std::iter::once(name.to_owned()).chain(command(launch)))
}

/// Arguments as typed in a shell.
fn shell_words(arguments: impl IntoIterator<Item = String>) -> String {
    let words: Vec<String> = arguments.into_iter().map(|argument| quote_word(&argument)).collect();
    clean_path(&words.join(" ")).into_owned()
}

fn prompt(by: PromptDelivery) -> &'static str {
    match by {
        PromptDelivery::Stdin => "on its standard input",
        PromptDelivery::Stream => "as a message on its standard input",
        PromptDelivery::File => "in a file",
        PromptDelivery::Protocol => "as a message of the protocol",
    }
}

/// What a permission adds.
fn allowed(agent: &CodingAgent, launch: &LaunchSpec, permission: Permission) -> String {
    let mut parts = Vec::new();
    parts.extend(launch.permissions.get(&permission).map(|arguments| shell_words(arguments.iter().cloned())));
    let sandboxed = launch.sandboxed.get(&permission).map(|arguments| shell_words(arguments.iter().cloned()));
    parts.extend(sandboxed.map(|arguments| format!("in the sandbox {arguments} instead")));
    parts.extend(launch.modes.get(&permission).map(|mode| format!("its own mode `{}`", clean(mode))));
    let names = agent.permission_env.get(&permission).into_iter().flat_map(|values| values.keys());
    parts.extend(names.map(|name| format!("${}", clean(name))));
    if parts.is_empty() { "nothing added".to_owned() } else { parts.join(", ") }
}

fn model(launch: &LaunchSpec) -> String {
    match &launch.model_env {
        Some(name) => format!("${}", clean(name)),
        None => shell_words(launch.model.iter().cloned()),
    }
}

fn resumes(driver: Driver, launch: &LaunchSpec) -> String {
    match (launch.can_resume(), driver) {
        (true, Driver::Acp) => "by the protocol, if supported".to_owned(),
        (true, _) => shell_words(launch.resume.iter().cloned()),
        (false, _) => "no; a new session receives a summary".to_owned(),
    }
}

/// The sources of these values.
fn origin_text(table: &AgentTable, name: &str, world: &World) -> String {
    let told = |origin: &AgentOrigin| match origin {
        AgentOrigin::BuiltIn => "built in".to_owned(),
        AgentOrigin::User(path) => format!("your {}", clean_path(&world.display_path(path))),
        AgentOrigin::Project(path) => format!("the project's {}", clean_path(&world.display_path(path))),
    };
    table.origins(name).map(told).collect::<Vec<_>>().join(", changed by ")
}
