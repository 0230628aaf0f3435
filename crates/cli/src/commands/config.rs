//! `maestro config`: the settings in force, and where they come from.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use maestro_core::settings::{ConfigText, SettingKey, SettingsLayer};
use maestro_core::{Problem, ProblemSeverity, Settings};
use maestro_skills::{MAX_TEXT_BYTES, read_bounded};
use serde_json::{Map, Value as Json, json};

use crate::args::{ConfigArgs, ConfigCommand};
use crate::client;
use crate::commands::{init, trust};
use crate::host::runtime;
use crate::host::world::World;
use crate::host::{agents, config, files};
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::{self, clean, clean_path, pad};

pub(crate) fn run(args: &ConfigArgs, world: &World) -> CommandResult {
    let (key, origin) = match &args.command {
        ConfigCommand::Show { key, origin } => (key, origin),
        ConfigCommand::Get { key } => return get(key, world),
        ConfigCommand::Set { key, value, in_project } => {
            let file = if *in_project { SettingsFile::Project } else { SettingsFile::User };
            return set(parse_key(key)?, value, file, world);
        }
    };
    let loaded = config::load(world);
    let keys: Vec<SettingKey> = match key {
        Some(name) => vec![parse_key(name)?],
        None => SettingKey::ALL.to_vec(),
    };
    let failed = loaded.problems.iter().any(|problem| problem.severity == ProblemSeverity::Error);
    let exit = if failed { ExitKind::Failed } else { ExitKind::Ok };
    if world.json {
        let settings: Map<String, Json> = keys
            .iter()
            .map(|&key| {
                let (value, origin) = loaded.settings.get(key);
                (key.as_str().to_owned(), json!({ "value": value, "origin": origin.to_string() }))
            })
            .collect();
        let reply = json!({ "settings": settings, "files": loaded.files, "problems": loaded.problems });
        return Ok(CommandOutput::json(&reply)?.with_exit(exit));
    }
    let width = keys.iter().map(|key| key.as_str().len()).max().unwrap_or_default();
    let mut text = String::new();
    for &key in &keys {
        let (value, from) = loaded.settings.get(key);
        let name = pad(key.as_str(), width);
        let _ = writeln!(text, "{} = {}", world.paint.strong(&name), clean(&value.to_string()));
        if *origin {
            let _ = writeln!(text, "{}   {}", pad("", width), world.paint.dim(&clean(&from.to_string())));
        }
    }
    let notes: String =
        loaded.problems.iter().map(|found: &Problem| screen::problem(found, world.note_paint)).collect();
    Ok(CommandOutput::text(text).with_notes(notes).with_exit(exit))
}

/// One value for scripts: a text without quotes, anything else as JSON.
fn get(name: &str, world: &World) -> CommandResult {
    let settings = config::settings(world)?;
    let (value, _) = settings.get(parse_key(name)?);
    match value {
        _ if world.json => CommandOutput::json(&value),
        Json::String(text) => Ok(CommandOutput::text(format!("{}\n", clean(&text)))),
        other => Ok(CommandOutput::text(format!("{other}\n"))),
    }
}

/// The file that a setting is written to.
#[derive(Debug, Clone, Copy)]
enum SettingsFile {
    User,
    Project,
}

impl SettingsFile {
    fn path(self, world: &World) -> PathBuf {
        match self {
            Self::User => world.user_config.clone(),
            Self::Project => config::project_file(world),
        }
    }

    /// What a new file begins with. In a project without any config, the first loop would turn skills on; a setting
    /// that is written before must not keep them off.
    fn first_text(self, world: &World) -> &'static str {
        match self {
            Self::User => "",
            Self::Project => init::first_config(world).unwrap_or_default(),
        }
    }

    fn layer(self, text: ConfigText) -> SettingsLayer {
        match self {
            Self::User => SettingsLayer::User(text),
            Self::Project => SettingsLayer::Project(text),
        }
    }

    fn write(self, path: &Path, text: &str) -> io::Result<()> {
        match self {
            Self::User => files::write_private(path, text.as_bytes()),
            Self::Project if path.exists() => files::replace(path, text),
            Self::Project => {
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                files::create(path, text)
            }
        }
    }
}

/// Writes one line of a settings file, if the result is valid.
fn set(key: SettingKey, value: &str, file: SettingsFile, world: &World) -> CommandResult {
    let path = &file.path(world);
    let before = match read_bounded(path, MAX_TEXT_BYTES) {
        Ok(contents) if !contents.cut => String::from_utf8(contents.bytes).map_err(|error| {
            CommandError::io(format!("{} is not a text file", path.display()), &error).hint("fix or remove the file")
        })?,
        Ok(_) => return Err(CommandError::invalid(format!("{} is too large", path.display())).hint("edit the file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => file.first_text(world).to_owned(),
        Err(error) => return Err(CommandError::io(format!("cannot read {}", path.display()), &error)),
    };
    let line = setting_line(key, value, world);
    let text = with_line(&before, key, &line).ok_or_else(|| {
        CommandError::invalid(format!("`{}` spans several lines in {}", key.as_str(), path.display()))
            .hint("edit the file")
    })?;
    let layer = file.layer(ConfigText { path: path.clone(), text: text.clone() });
    let (settings, problems) = Settings::from_layers(&world.places, &[layer]);
    let errors: Vec<&Problem> = problems.iter().filter(|problem| problem.severity == ProblemSeverity::Error).collect();
    if !errors.is_empty() {
        // The file does not have the line that is wrong.
        let why: Vec<String> = errors.iter().map(|problem| clean(&problem.message).into_owned()).collect();
        let help = errors.first().map(|problem| clean(&problem.help).into_owned()).unwrap_or_default();
        let message = format!("`{}` was not written to {}: {}", clean(&line), path.display(), why.join("; "));
        return Err(CommandError::invalid(message).hint(help));
    }
    file.write(path, &text).map_err(|error| CommandError::io(format!("cannot write {}", path.display()), &error))?;
    if matches!(file, SettingsFile::Project) && key == SettingKey::Verify {
        // Who writes the checks allows them.
        trust::allow_checks(&settings.verify.value, world)?;
    }
    let (value, _) = settings.get(key);
    if world.json {
        return CommandOutput::json(&json!({ "key": key.as_str(), "value": value, "file": path.to_string_lossy() }));
    }
    let file = clean_path(&world.display_path(path)).into_owned();
    let text = CommandOutput::text(format!("{} = {} in {file}\n", key.as_str(), clean(&value.to_string())));
    Ok(text.with_notes(match key {
        SettingKey::Agent => agent_note(&settings.agent.value, world),
        SettingKey::EventRetentionDays | SettingKey::BackupsKept => server_note(world),
        _ => String::new(),
    }))
}

/// What is said about a setting that a server reads when it starts, where one runs.
fn server_note(world: &World) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let server = runtime.ok().and_then(|runtime| runtime::wait(&runtime, client::running(world)));
    let note = "The server that runs uses it after a restart: Ctrl-C where `maestro up` runs, then `maestro up`.\n";
    server.map(|_| note.to_owned()).unwrap_or_default()
}

/// What is said about an agent that cannot be started.
fn agent_note(name: &str, world: &World) -> String {
    let table = agents::table(world);
    let why = match table.agents.find(name) {
        _ if name.is_empty() => return String::new(),
        Err(_) => "is no agent that Maestro knows; `maestro agents` lists them, agents.toml adds more",
        Ok(agent) if agents::choose_driver(agent, world).is_none() => "is not installed",
        Ok(_) => return String::new(),
    };
    format!("{} `{}` {why}\n", world.note_paint.warning("warning:"), clean(name))
}

/// The line of a setting. A single value for a list is a list of one, whatever word it is.
fn setting_line(key: SettingKey, value: &str, world: &World) -> String {
    let (default, _) = Settings::from_layers(&world.places, &[]).0.get(key);
    let plain = value.parse::<bool>().is_ok() || value.parse::<f64>().is_ok() || value.starts_with('[');
    // A JSON text is a TOML text.
    let written = match default {
        Json::Array(_) if !value.starts_with('[') => json!([value]).to_string(),
        _ if plain => value.to_owned(),
        _ => json!(value).to_string(),
    };
    format!("{} = {written}", key.as_str())
}

/// The text with one setting changed or added; `None` if the old value continues on the next line.
pub(crate) fn with_line(text: &str, key: SettingKey, line: &str) -> Option<String> {
    let names = |line: &str| line.split_once('=').is_some_and(|(name, _)| name.trim() == key.as_str());
    let mut lines: Vec<&str> = text.lines().collect();
    match lines.iter().position(|line| names(line)) {
        Some(at) if lines[at].contains('[') && !lines[at].contains(']') => return None,
        Some(at) => lines[at] = line,
        // Below a table's heading it would belong to the table.
        None => lines.insert(lines.iter().position(|line| line.starts_with('[')).unwrap_or(lines.len()), line),
    }
    Some(lines.join("\n") + "\n")
}

fn parse_key(name: &str) -> CommandResult<SettingKey> {
    SettingKey::from_word(name).ok_or_else(|| {
        let error = CommandError::not_found(format!("unknown setting `{name}`"));
        match SettingKey::closest(name) {
            Some(close) => error.hint(format!("did you mean `{}`?", close.as_str())),
            None => error.hint("run `maestro config show` for the list"),
        }
    })
}
