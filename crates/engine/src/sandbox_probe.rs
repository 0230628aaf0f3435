//! Probe of the sandbox: what confines programs on this machine, and what they can do nevertheless.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::child::{ChildSpec, ChildStdin};
use crate::process::{self, Limits};
use crate::sandbox::{SandboxReport, SandboxSettings, WritePolicy};

/// How long the probe may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts our own program in a sandbox, and returns what confined it; the reason where it did not start.
pub async fn probe(maestro: &Path, settings: &SandboxSettings) -> Result<SandboxReport, String> {
    let policy = WritePolicy { confinement: settings.confinement, ..WritePolicy::default() }.for_agent(settings);
    let spec = ChildSpec {
        program: maestro.to_owned(),
        argv: vec!["maestro".to_owned(), "--version".to_owned()],
        cwd: PathBuf::from("/"),
        env: BTreeMap::new(),
        policy,
        stdin: ChildStdin::Nothing,
    };
    let ended = process::run(maestro, &spec, Limits { time: PATIENCE, ..Limits::default() }).await;
    let ended = ended.map_err(|error| error.to_string())?;
    ended.sandbox.ok_or_else(|| format!("{:?}", ended.how))
}
