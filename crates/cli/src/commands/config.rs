//! `maestro config`: the settings in force, and who set them.

use std::fmt::Write as _;

use maestro_core::settings::Key;
use maestro_core::{Problem, Severity, suggest};
use serde_json::{Map, Value as Json, json};

use crate::args::{ConfigArgs, ConfigCommand};
use crate::config;
use crate::error::{CommandError, Exit};
use crate::reply::Reply;
use crate::screen::{self, clean, pad};
use crate::world::World;

pub(crate) fn run(args: &ConfigArgs, world: &World) -> Result<Reply, CommandError> {
    let (key, origin) = match &args.command {
        ConfigCommand::Show { key, origin } => (key, origin),
        ConfigCommand::Get { key } => return get(key, world),
    };
    let loaded = config::load(world);
    let keys: Vec<Key> = match key {
        Some(name) => vec![known(name)?],
        None => Key::ALL.to_vec(),
    };
    let failed = loaded.problems.iter().any(|problem| problem.severity == Severity::Error);
    let exit = if failed { Exit::Failed } else { Exit::Ok };
    if world.json {
        let settings: Map<String, Json> = keys
            .iter()
            .map(|&key| {
                let (value, origin) = loaded.settings.get(key);
                (key.as_str().to_owned(), json!({ "value": value, "origin": origin.to_string() }))
            })
            .collect();
        let reply = json!({ "settings": settings, "files": loaded.files, "problems": loaded.problems });
        return Ok(Reply::json(&reply)?.ending(exit));
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
    Ok(Reply::text(text).with_notes(notes).ending(exit))
}

/// One value as a script wants it: a text without quotes, anything else as JSON.
fn get(name: &str, world: &World) -> Result<Reply, CommandError> {
    let settings = config::settings(world)?;
    let (value, _) = settings.get(known(name)?);
    match value {
        _ if world.json => Reply::json(&value),
        Json::String(text) => Ok(Reply::text(format!("{}\n", clean(&text)))),
        other => Ok(Reply::text(format!("{other}\n"))),
    }
}

fn known(name: &str) -> Result<Key, CommandError> {
    Key::from_name(name).ok_or_else(|| {
        let error = CommandError::not_found(format!("there is no setting `{name}`"));
        match suggest::closest(name, Key::ALL.iter().map(|key| key.as_str())) {
            Some(close) => error.hint(format!("did you mean `{close}`?")),
            None => error.hint("`maestro config show` lists every setting"),
        }
    })
}
