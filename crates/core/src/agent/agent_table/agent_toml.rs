//! Reading of agents from TOML.

use std::collections::BTreeMap;

use super::{CodingAgent, Driver, LaunchSpec, Permission, PromptDelivery, ReportAbility};
use crate::agent::parse::Format;
use crate::toml_table::{TableMistake, TableReader, TomlEntry, TomlValue};

const KEYS: [&str; 16] = [
    "title",
    "prefer",
    "reason",
    "json",
    "acp",
    "text",
    "env",
    "permission_env",
    "retries",
    "reporting",
    "mcp",
    "instructions",
    "skills",
    "writes",
    "leaves",
    "inherits",
];

const LAUNCH_KEYS: [&str; 13] = [
    "programs",
    "args",
    "tail",
    "model",
    "model_env",
    "session",
    "resume",
    "attach",
    "permissions",
    "sandboxed",
    "modes",
    "prompt",
    "format",
];

/// Adds what a text says to what is known.
pub(super) fn add(text: &str, agents: &mut Vec<CodingAgent>) -> Vec<TableMistake> {
    let help = "an agent is a table such as `[claude]` with lines `key = value`";
    TableReader::read(text, help, |reader, entry| agent(reader, entry, agents))
}

fn agent(reader: &mut TableReader<'_>, entry: &TomlEntry<'_, '_>, agents: &mut Vec<CodingAgent>) {
    let Some(fields) = reader.named_table("an agent", entry) else { return };
    let (name, at, _) = entry;
    let known = agents.iter().position(|agent| agent.name == *name).unwrap_or_else(|| {
        agents.push(CodingAgent::new(name));
        agents.len() - 1
    });
    for (key, value) in fields {
        field(reader, &mut agents[known], key.get_ref(), key.span().start, value);
    }
    for (message, help) in missing_parts(&agents[known]) {
        reader.add_mistake(*at, message, help);
    }
}

/// Why an agent cannot be spoken with as its entry says.
fn missing_parts(agent: &CodingAgent) -> Vec<(String, String)> {
    let CodingAgent { name, drivers, prefer, .. } = agent;
    if drivers.is_empty() {
        let help = format!("add `[{name}.text]`, `[{name}.json]` or `[{name}.acp]` with its `programs`");
        return vec![(format!("no driver is configured for `{name}`"), help)];
    }
    let absent = prefer.iter().filter(|driver| !drivers.contains_key(driver));
    absent
        .map(|driver| {
            (format!("`{name}` prefers `{driver}`, which is not configured"), format!("add `[{name}.{driver}]`"))
        })
        .collect()
}

fn field(reader: &mut TableReader<'_>, agent: &mut CodingAgent, key: &str, at: usize, value: &TomlValue<'_>) {
    match key {
        "title" => agent.title = reader.string(key, value).unwrap_or_else(|| agent.title.clone()),
        "reason" => set(&mut agent.reason, reader.string(key, value)),
        "retries" => set(&mut agent.retries, reader.string(key, value)),
        "mcp" => set(&mut agent.mcp, reader.string(key, value)),
        "instructions" => set(&mut agent.instructions, reader.string(key, value)),
        "skills" => list(reader, key, value, &mut agent.skills),
        "writes" => list(reader, key, value, &mut agent.writes),
        "leaves" => list(reader, key, value, &mut agent.leaves),
        "inherits" => list(reader, key, value, &mut agent.inherits),
        "env" => agent.env.extend(texts(reader, key, value)),
        "reporting" => {
            let known = one(reader, key, value, ReportAbility::ALL.iter().map(|known| known.as_str()));
            agent.reporting = known.unwrap_or(agent.reporting);
        }
        "prefer" => {
            let words: Vec<&str> = Driver::ALL.iter().map(|driver| driver.as_str()).collect();
            if let Some(listed) = reader.strings(key, value) {
                let parsed =
                    listed.iter().filter_map(|(word, at)| reader.word(*at, "driver", word, &words, |w| w.parse().ok()));
                agent.prefer = parsed.collect();
            }
        }
        "permission_env" => {
            for (permission, value) in by_permission(reader, key, value) {
                let values = texts(reader, permission.as_str(), value);
                agent.permission_env.entry(permission).or_default().extend(values);
            }
        }
        other => match Driver::ALL.iter().find(|driver| driver.as_str() == other) {
            Some(driver) => {
                let launch = agent.drivers.entry(*driver).or_insert_with(|| LaunchSpec::new(*driver));
                for (key, at, value) in reader.table(other, value).unwrap_or_default() {
                    read_launch_field(reader, launch, &key, at, value);
                }
            }
            None => reader.unknown(at, "an agent", other, &KEYS),
        },
    }
}

fn read_launch_field(
    reader: &mut TableReader<'_>,
    launch: &mut LaunchSpec,
    key: &str,
    at: usize,
    value: &TomlValue<'_>,
) {
    match key {
        "programs" => programs(reader, key, value, &mut launch.programs),
        "args" => list(reader, key, value, &mut launch.args),
        "tail" => list(reader, key, value, &mut launch.tail),
        "model" => list(reader, key, value, &mut launch.model),
        "session" => list(reader, key, value, &mut launch.session),
        "resume" => list(reader, key, value, &mut launch.resume),
        "attach" => list(reader, key, value, &mut launch.attach),
        "model_env" => set(&mut launch.model_env, reader.string(key, value)),
        "prompt" => {
            let known = one(reader, key, value, PromptDelivery::ALL.iter().map(|known| known.as_str()));
            launch.prompt = known.unwrap_or(launch.prompt);
        }
        "format" => {
            let known = one(reader, key, value, Format::ALL.iter().map(|known| known.as_str()));
            launch.format = known.unwrap_or(launch.format);
        }
        "permissions" | "sandboxed" => {
            let known = if key == "sandboxed" { &mut launch.sandboxed } else { &mut launch.permissions };
            for (permission, value) in by_permission(reader, key, value) {
                let arguments = known.entry(permission).or_default();
                list(reader, permission.as_str(), value, arguments);
            }
        }
        "modes" => {
            for (permission, value) in by_permission(reader, key, value) {
                let mode = reader.string(permission.as_str(), value);
                launch.modes.extend(mode.map(|mode| (permission, mode)));
            }
        }
        other => reader.unknown(at, "a way to start an agent", other, &LAUNCH_KEYS),
    }
}

/// Replaces what was known, unless nothing could be read.
fn set(known: &mut Option<String>, read: Option<String>) {
    *known = read.or(known.take());
}

fn list(reader: &mut TableReader<'_>, key: &str, value: &TomlValue<'_>, known: &mut Vec<String>) {
    if let Some(listed) = reader.strings(key, value) {
        *known = listed.into_iter().map(|(text, _)| text).collect();
    }
}

/// A relative path would be another program in each directory.
fn programs(reader: &mut TableReader<'_>, key: &str, value: &TomlValue<'_>, known: &mut Vec<String>) {
    let Some(listed) = reader.strings(key, value) else { return };
    known.clear();
    for (name, at) in listed {
        if name.is_empty() || name.contains('/') && !name.starts_with('/') && !name.starts_with("~/") {
            let help = "write a name that is on the PATH, or a path that begins with `/` or `~/`";
            reader.add_mistake(at, format!("`{name}` names no program"), help);
        } else {
            known.push(name);
        }
    }
}

fn texts(reader: &mut TableReader<'_>, key: &str, value: &TomlValue<'_>) -> BTreeMap<String, String> {
    let entries = reader.table(key, value).unwrap_or_default().into_iter();
    entries.filter_map(|(name, _, value)| Some((name.clone(), reader.string(&name, value)?))).collect()
}

/// One of several words.
fn one<T: std::str::FromStr>(
    reader: &mut TableReader<'_>,
    key: &str,
    value: &TomlValue<'_>,
    words: impl Iterator<Item = &'static str>,
) -> Option<T> {
    let word = reader.string(key, value)?;
    let words: Vec<&str> = words.collect();
    reader.word(value.span().start, key, &word, &words, |word| word.parse().ok())
}

fn by_permission<'v, 't>(
    reader: &mut TableReader<'_>,
    key: &str,
    value: &'v TomlValue<'t>,
) -> Vec<(Permission, &'v TomlValue<'t>)> {
    let words: Vec<&str> = Permission::ALL.iter().map(|permission| permission.as_str()).collect();
    let entries = reader.table(key, value).unwrap_or_default().into_iter();
    let known = entries.filter_map(|(word, at, value)| {
        Some((reader.word(at, "permission", &word, &words, |word| word.parse().ok())?, value))
    });
    known.collect()
}
