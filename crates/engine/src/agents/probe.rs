//! Probe of an agent's program: whether it responds, and its version.
//!
//! An agent with a protocol gets a handshake; any other is asked for its version. It runs in an empty directory, so
//! that the probe neither reads nor changes a project.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use maestro_core::agent::{Agent, Driver, Line, Permission};
use maestro_core::excerpt::ellipsize;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::acp::greeting::{Greeted, greet};
use super::process::{self, Because, Ended, How, Process, StartError};
use super::{Launch, Way, places};
use crate::child::{Spec, Stdin};
use crate::sandbox::Policy;

/// How long an agent may take to answer.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How many lines of its output are searched.
const MOST_LINES: usize = 100;
/// How many characters of its output are reported.
const MOST_CHARS: usize = 200;

/// An agent to probe.
#[derive(Debug, Clone)]
pub struct Probe {
    /// Our own program, which supervises it.
    pub maestro: PathBuf,
    /// Our data directory, which it must not change.
    pub home: PathBuf,
    /// Its entry in the table.
    pub agent: Agent,
    /// The protocol to use with it.
    pub driver: Driver,
    /// The path of its program.
    pub program: PathBuf,
    /// Its environment, to which the table adds.
    pub env: BTreeMap<String, String>,
}

/// The result of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
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
        how: How,
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

impl fmt::Display for Answer {
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
                    How::Exited(0) => f.write_str("exits without a response")?,
                    How::Exited(code) => write!(f, "exits with code {code}")?,
                    How::Killed(signal) => write!(f, "is killed by signal {signal}")?,
                    How::Lost => f.write_str("ends for an unknown reason")?,
                }
                if said.is_empty() { Ok(()) } else { write!(f, ": {said}") }
            }
        }
    }
}

/// Probes all of them at once. The results are in the order of the probes; dropping the future ends every program.
pub async fn all(probes: Vec<Probe>, patience: Duration) -> Vec<Answer> {
    let asked = probes.into_iter().map(|probe| async move { probe.ask(patience).await });
    at_once(asked.collect(), &Answer::NotStarted(UNASKED.to_owned())).await
}

/// The results of all futures, in order; `lost` for one that was dropped.
pub(super) async fn at_once<T, F>(asked: Vec<F>, lost: &T) -> Vec<T>
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

impl Probe {
    /// Probes an agent, and returns when none of its processes is left.
    pub async fn ask(&self, patience: Duration) -> Answer {
        let folder = match tempfile::Builder::new().prefix("maestro-check-").tempdir() {
            Ok(folder) => folder,
            Err(error) => return Answer::NotStarted(format!("cannot create a directory for it: {error}")),
        };
        let Some(way) = self.agent.launch(self.driver) else {
            return Answer::NotStarted(format!("`{}` does not support the driver `{}`", self.agent.name, self.driver));
        };
        let spec = self.spec(way, folder.path().to_owned());
        // The idle and the total timeout are the same here.
        let limits = process::Limits { time: patience, idle: patience };
        let started = timeout(patience, process::start(&self.maestro, &spec, limits)).await;
        match started {
            Ok(Ok(process)) => self.hear(process, patience).await,
            Ok(Err(StartError::NotStarted(reason))) => Answer::NotStarted(reason),
            Ok(Err(error)) => Answer::NotStarted(error.to_string()),
            Err(_) => Answer::Silent { time: patience, said: String::new() },
        }
    }

    fn spec(&self, way: &Way, cwd: PathBuf) -> Spec {
        let policy = Policy::usual(&cwd, None).allow(places::of(&self.agent, &self.env)).seal(self.home.clone());
        let launch = Launch {
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
            limits: process::Limits::default(),
            policy,
            mcp: Vec::new(),
        };
        match self.driver {
            Driver::Acp => launch.spec(way, "", Stdin::Relay),
            Driver::Json | Driver::Text => {
                let argv = vec![self.program.display().to_string(), "--version".to_owned()];
                Spec { argv, ..launch.spec(way, "", Stdin::Nothing) }
            }
        }
    }

    async fn hear(&self, process: Process, patience: Duration) -> Answer {
        let Process { mut stdout, stderr, input, handle, .. } = process;
        let complaints = tokio::spawn(async move { first_lines(&mut { stderr }).await });
        let (greeted, printed) = match self.driver {
            Driver::Acp => (Some(greet(&input, &mut stdout).await), Vec::new()),
            Driver::Json | Driver::Text => (None, first_lines(&mut stdout).await),
        };
        drop(input);
        if greeted.as_ref().is_some_and(|greeted| *greeted != Greeted::Over) {
            handle.cancel();
        }
        let Ended { how, because } = handle.wait().await;
        let complaints = complaints.await.unwrap_or_default();
        match greeted {
            Some(Greeted::Back(version)) => Answer::Answers { version: version.map(|version| short(&version)) },
            Some(Greeted::Refused(reason)) => Answer::Refused(short(&reason)),
            _ if matches!(because, Some(Because::Time | Because::Idle)) => {
                Answer::Silent { time: patience, said: telling(&complaints).unwrap_or_default() }
            }
            None if how == How::Exited(0) => Answer::Answers { version: version(&printed) },
            _ => Answer::Ended { how, said: telling(&complaints).or_else(|| telling(&printed)).unwrap_or_default() },
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
pub(super) fn telling(lines: &[String]) -> Option<String> {
    let tells = |line: &&String| {
        let line = line.to_lowercase();
        ["error", "denied", "cannot", "not found", "failed"].iter().any(|word| line.contains(word))
    };
    lines.iter().find(tells).or(lines.last()).cloned()
}

fn text(line: &Line) -> String {
    let (Line::Whole(bytes) | Line::Cut { head: bytes, .. }) = line;
    short(String::from_utf8_lossy(bytes).trim())
}

pub(super) fn short(text: &str) -> String {
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
