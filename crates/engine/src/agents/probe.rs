//! Probe of an agent's program: whether it responds, and its version.
//!
//! An agent with a protocol gets a handshake; any other is asked for its version. It runs in an empty directory, so
//! that the probe neither reads nor changes a project.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use maestro_core::agent::{CodingAgent, Driver, OutputLine, Permission};
use maestro_core::excerpt::ellipsize;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::acp::handshake::{HandshakeReply, shake_hands};
use super::process::{self, AgentProcess, KillReason, ProcessExit, ProcessOutcome, ProcessStartError};
use super::{AgentLaunch, Way, writable_paths};
use crate::blocking;
use crate::child::{ChildSpec, ChildStdin};
use crate::sandbox::{SandboxSettings, WritePolicy};
use crate::scratch::ScratchDir;

/// How long an agent may take to answer.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How many lines of its output are searched.
const MOST_LINES: usize = 100;
/// How many characters of its output are reported.
const MOST_CHARS: usize = 200;

/// An agent to probe.
#[derive(Debug, Clone)]
pub struct AgentProbe {
    /// Our own program, which supervises it.
    pub maestro: PathBuf,
    /// Our data directory, which it must not change.
    pub home: PathBuf,
    /// Its entry in the table.
    pub agent: CodingAgent,
    /// The protocol to use with it.
    pub driver: Driver,
    /// The path of its program.
    pub program: PathBuf,
    /// Its environment, to which the table adds.
    pub env: BTreeMap<String, String>,
}

/// The result of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeAnswer {
    /// It responds.
    Answers {
        /// Its version, where it reports one.
        version: Option<String>,
    },
    /// It could not be started.
    NotStarted(
        /// Why.
        String,
    ),
    /// It ended without a response.
    Ended {
        /// How.
        how: ProcessExit,
        /// Its output about that.
        said: String,
    },
    /// It refuses to talk to us.
    Refused(
        /// Why.
        String,
    ),
    /// It did not respond in time.
    Silent {
        /// How long.
        time: Duration,
        /// Its other output.
        said: String,
    },
}

/// The reason for a probe that was dropped.
pub(super) const UNASKED: &str = "the probe was cancelled";

impl fmt::Display for ProbeAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answers { version: Some(version) } => write!(f, "answers ({version})"),
            Self::Answers { version: None } => f.write_str("answers"),
            Self::NotStarted(reason) => write!(f, "does not start: {reason}"),
            Self::Refused(reason) => write!(f, "refuses: {reason}"),
            Self::Silent { time, said } => {
                write!(f, "does not answer within {} s", time.as_secs_f32())?;
                if said.is_empty() { Ok(()) } else { write!(f, ": {said}") }
            }
            Self::Ended { how, said } => {
                match how {
                    ProcessExit::Exited(0) => f.write_str("exits without a response")?,
                    ProcessExit::Exited(code) => write!(f, "exits with code {code}")?,
                    ProcessExit::Killed(signal) => write!(f, "is killed by signal {signal}")?,
                    ProcessExit::Lost => f.write_str("ends for an unknown reason")?,
                }
                if said.is_empty() { Ok(()) } else { write!(f, ": {said}") }
            }
        }
    }
}

/// Probes all of them at once. The results are in the order of the probes; dropping the future ends every program.
pub async fn probe_all(probes: Vec<AgentProbe>, patience: Duration) -> Vec<ProbeAnswer> {
    let asked = probes.into_iter().map(|probe| async move { probe.probe(patience).await });
    join_all(asked.collect(), &ProbeAnswer::NotStarted(UNASKED.to_owned())).await
}

/// The results of all futures, in order; `lost` for one that was dropped.
pub(super) async fn join_all<T, F>(asked: Vec<F>, lost: &T) -> Vec<T>
where
    T: Clone + Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut answers = vec![lost.clone(); asked.len()];
    let mut waiting = JoinSet::new();
    for (at, asked) in asked.into_iter().enumerate() {
        waiting.spawn(async move { (at, asked.await) });
    }
    while let Some(answered) = waiting.join_next().await {
        if let Ok((at, answer)) = answered {
            answers[at] = answer;
        }
    }
    answers
}

impl AgentProbe {
    /// Probes an agent, and returns when none of its processes is left.
    pub async fn probe(&self, patience: Duration) -> ProbeAnswer {
        let probe = self.clone();
        blocking::drive(move || async move { probe.start(patience).await }).await
    }

    async fn start(&self, patience: Duration) -> ProbeAnswer {
        let folder = match ScratchDir::create("check", None) {
            Ok(folder) => folder,
            Err(error) => return ProbeAnswer::NotStarted(format!("cannot create a directory for it: {error}")),
        };
        let Some(way) = self.agent.launch(self.driver) else {
            return ProbeAnswer::NotStarted(format!(
                "`{}` does not support the driver `{}`",
                self.agent.name, self.driver
            ));
        };
        let spec = self.spec(way, folder.path().to_owned());
        // The idle and the total timeout are the same here.
        let limits = process::ProcessLimits { time: patience, idle: patience };
        let started = timeout(patience, process::start(&self.maestro, &spec, limits)).await;
        match started {
            Ok(Ok(process)) => self.receive(process, patience).await,
            Ok(Err(ProcessStartError::NotStarted(reason))) => ProbeAnswer::NotStarted(reason),
            Ok(Err(error)) => ProbeAnswer::NotStarted(error.to_string()),
            Err(_) => ProbeAnswer::Silent { time: patience, said: String::new() },
        }
    }

    fn spec(&self, way: &Way, cwd: PathBuf) -> ChildSpec {
        let policy = WritePolicy::default_policy(&cwd, Some(&cwd))
            .allow(writable_paths::of(&self.agent, &self.env))
            .hide_data(&self.home, &SandboxSettings::default());
        let launch = AgentLaunch {
            maestro: self.maestro.clone(),
            agent: self.agent.clone(),
            driver: self.driver,
            program: self.program.clone(),
            arguments: Vec::new(),
            model: None,
            cwd,
            env: self.env.clone(),
            retries: 0,
            prompt: String::new(),
            session: uuid::Uuid::nil().to_string(),
            resume: None,
            permission: Permission::Ask,
            limits: process::ProcessLimits::default(),
            waits: false,
            policy,
            mcp: Vec::new(),
        };
        match self.driver {
            Driver::Acp => launch.spec(way, "", ChildStdin::Relay),
            Driver::Json | Driver::Text => {
                let argv = vec![self.program.display().to_string(), "--version".to_owned()];
                ChildSpec { argv, ..launch.spec(way, "", ChildStdin::Nothing) }
            }
        }
    }

    async fn receive(&self, process: AgentProcess, patience: Duration) -> ProbeAnswer {
        let AgentProcess { mut stdout, stderr, input, handle, .. } = process;
        let complaints = tokio::spawn(async move { first_lines(&mut { stderr }).await });
        let (greeted, printed) = match self.driver {
            Driver::Acp => (Some(shake_hands(&input, &mut stdout).await), Vec::new()),
            Driver::Json | Driver::Text => (None, first_lines(&mut stdout).await),
        };
        drop(input);
        if greeted.as_ref().is_some_and(|greeted| *greeted != HandshakeReply::Ended) {
            handle.cancel();
        }
        let ProcessOutcome { how, because } = handle.wait().await;
        let complaints = complaints.await.unwrap_or_default();
        match greeted {
            Some(HandshakeReply::Accepted(version)) => {
                ProbeAnswer::Answers { version: version.map(|version| shorten(&version)) }
            }
            Some(HandshakeReply::Refused(reason)) => ProbeAnswer::Refused(shorten(&reason)),
            _ if matches!(because, Some(KillReason::Time | KillReason::Idle)) => {
                ProbeAnswer::Silent { time: patience, said: error_line(&complaints).unwrap_or_default() }
            }
            None if how == ProcessExit::Exited(0) => ProbeAnswer::Answers { version: version(&printed) },
            _ => ProbeAnswer::Ended {
                how,
                said: error_line(&complaints).or_else(|| error_line(&printed)).unwrap_or_default(),
            },
        }
    }
}

/// The first lines of a program's output; the rest is discarded.
pub(super) async fn first_lines<R: tokio::io::AsyncRead + Unpin>(from: &mut super::LineReader<R>) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(line) = from.next().await {
        let line = text(&line);
        if lines.len() < MOST_LINES && !line.is_empty() {
            lines.push(line);
        }
    }
    lines
}

/// The line that best explains a failure; programs print it first or last.
pub(super) fn error_line(lines: &[String]) -> Option<String> {
    let tells = |line: &&String| {
        let line = line.to_lowercase();
        ["error", "denied", "cannot", "not found", "failed"].iter().any(|word| line.contains(word))
    };
    lines.iter().find(tells).or(lines.last()).cloned()
}

fn text(line: &OutputLine) -> String {
    let (OutputLine::Whole(bytes) | OutputLine::Cut { head: bytes, .. }) = line;
    shorten(String::from_utf8_lossy(bytes).trim())
}

pub(super) fn shorten(text: &str) -> String {
    ellipsize(text, MOST_CHARS)
}

/// The first word that looks like a version, else the first line.
fn version(lines: &[String]) -> Option<String> {
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    let words = lines.iter().flat_map(|line| line.split_whitespace());
    let plain = |word: &'_ str| word.strip_prefix('v').unwrap_or(word).trim_end_matches([',', ';', '.']).to_owned();
    words.map(plain).find(|word| is_version(&word.as_str())).or_else(|| lines.first().cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_agents_print() {
        let found = |text: &str| version(&text.lines().map(str::to_owned).collect::<Vec<_>>());
        for (printed, expected) in [
            ("2.1.197 (Claude Code)", "2.1.197"),
            ("codex-cli 0.166.0", "0.166.0"),
            ("aider 0.86.2", "0.86.2"),
            ("Tool v1.2.3-rc.1, built today", "1.2.3-rc.1"),
            ("nightly\nsecond", "nightly"),
        ] {
            assert_eq!(found(printed).as_deref(), Some(expected), "{printed}");
        }
        assert_eq!(found(""), None);
    }
}
