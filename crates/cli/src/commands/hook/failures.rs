//! Failures of hooks, stored in a small file until a report gets through.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use maestro_api::sessions::{self, NewSessionEvent};
use maestro_skills::read_bounded;
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value as Json, json};

use crate::client::CliClient;
use crate::host::files;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::server_process::database;

/// Maximum size; later failures are lost.
const MAX_BYTES: u64 = 64 * 1024;

/// Stores a failure. If that fails too, nothing is left to do.
pub(super) fn record(agent: &str, why: &str, world: &World) {
    let path = path(world);
    let is_full = path.metadata().is_ok_and(|file| file.len() > MAX_BYTES);
    let Some(directory) = path.parent().filter(|_| !is_full) else { return };
    let line = json!({ "at": database::clock()(), "agent": agent, "reason": why });
    let _ = files::own_directory(directory)
        .and_then(|()| fs::OpenOptions::new().append(true).create(true).open(&path))
        .and_then(|mut file| writeln!(file, "{line}"));
}

/// Sends the failures as an event of the session.
pub(super) fn report(client: &CliClient, session: &str, world: &World) -> CommandResult<()> {
    let Some(taken) = TakenFailures::of(&path(world)) else { return Ok(()) };
    let data = json!({ "failures": taken.failures });
    let event = NewSessionEvent { kind: Some("hook_failed".to_owned()), data: Some(data) };
    client.call(sessions::add_event(session, &event))?;
    // They are sent again if this fails, which is better than never.
    let _ = fs::remove_file(&taken.path);
    Ok(())
}

/// The failures so far, moved to a file of their own, so that later ones are not taken for sent.
struct TakenFailures {
    path: PathBuf,
    failures: Vec<Json>,
    /// Held until they are sent.
    _lock: File,
}

impl TakenFailures {
    /// `None` if there are no failures, as nearly always, or if another hook sends them now.
    fn of(kept: &Path) -> Option<Self> {
        let path = kept.with_file_name("telling.jsonl");
        if !kept.exists() && !path.exists() {
            return None;
        }
        let lock = File::create(kept.with_extension("lock")).ok()?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
        // Failures that a hook took and could not send come first.
        if !path.exists() {
            fs::rename(kept, &path).ok()?;
        }
        let bytes = read_bounded(&path, 2 * MAX_BYTES).ok()?.bytes;
        let lines = bytes.split(|byte| *byte == b'\n');
        let failures = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        Some(Self { path, failures, _lock: lock })
    }
}

fn path(world: &World) -> PathBuf {
    world.maestro_home.join("hooks/missed.jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_and_not_told_is_taken_again_and_never_by_two() {
        let directory = tempfile::tempdir().unwrap();
        let kept = directory.path().join("missed.jsonl");
        assert!(TakenFailures::of(&kept).is_none());
        fs::write(&kept, "{\"reason\": 1}\n").unwrap();
        let first = TakenFailures::of(&kept).unwrap();
        fs::write(&kept, "{\"reason\": 2}\n").unwrap();
        assert!(TakenFailures::of(&kept).is_none(), "another hook is sending it");
        // The sender ends before it could.
        drop(first);
        let again = TakenFailures::of(&kept).unwrap();
        assert_eq!(again.failures, [json!({ "reason": 1 })]);
        fs::remove_file(&again.path).unwrap();
        drop(again);
        assert_eq!(TakenFailures::of(&kept).unwrap().failures, [json!({ "reason": 2 })]);
    }
}
