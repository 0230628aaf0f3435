//! What went wrong in a hook? Kept in a small file, since nobody is there to be told, until a report gets through.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use maestro_skills::read_bounded;
use serde_json::{Value as Json, json};

use crate::client::Client;
use crate::database;
use crate::error::CommandError;
use crate::files;
use crate::world::World;

/// How much is kept; what comes then is lost.
const MAX_BYTES: u64 = 64 * 1024;

/// Keeps what went wrong. If even that cannot be done, nothing is left to do.
pub(super) fn keep(agent: &str, why: &str, world: &World) {
    let path = path(world);
    let is_full = path.metadata().is_ok_and(|file| file.len() > MAX_BYTES);
    let Some(directory) = path.parent().filter(|_| !is_full) else { return };
    let line = json!({ "at": database::clock()(), "agent": agent, "reason": why });
    let _ = files::own_directory(directory)
        .and_then(|()| fs::OpenOptions::new().append(true).create(true).open(&path))
        .and_then(|mut file| writeln!(file, "{line}"));
}

/// Tells what went wrong, as an event of the session that can.
pub(super) fn tell(client: &Client, session: &str, world: &World) -> Result<(), CommandError> {
    let path = path(world);
    // Nothing went wrong, as nearly always.
    let Ok(kept) = read_bounded(&path, 2 * MAX_BYTES) else { return Ok(()) };
    let lines: Vec<Json> =
        kept.bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    client
        .post::<Json>(&format!("{session}/events"), &json!({ "type": "hook_failed", "data": { "failures": lines } }))?;
    // It is told once more if this fails, which is better than never.
    let _ = fs::remove_file(&path);
    Ok(())
}

fn path(world: &World) -> PathBuf {
    world.maestro_home.join("hooks/missed.jsonl")
}
