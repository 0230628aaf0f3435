//! Files about a run for people: prompt, output and diff of each session, and a summary.
//!
//! They are a copy: what counts is in the store, so a file that cannot be written stops nothing.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use maestro_core::agent::AgentEvent;
use maestro_core::agent::spawn::SpawnSpec;
use maestro_core::event::RunId;
use maestro_core::id::SessionId;
use maestro_core::step_session::StepSession;
use maestro_core::workflow::run::RunStatus;
use maestro_store::{
    ListPage, RunStepSessions, SpawnBySession, SpawnRecord, StepSessionEnds, Store, StoreError, TranscriptPage,
};
use serde_json::{Value as Json, json};

use super::result::spec_of;
use super::{StepSessions, run_log};
use crate::blocking;
use crate::git_changes;
use crate::runs::{RunError, RunView};

/// How many parts of a transcript are read at once.
const PART: i64 = 500;
/// How much of what an agent did is written.
const MAX_CHARS: usize = 8 * 1024 * 1024;

impl StepSessions {
    /// Writes the prompt, the output and the diff of a session.
    pub(super) async fn write_artifacts(&self, seat: &StepSession, spawn: Option<&SpawnRecord>, tree: Option<&str>) {
        let written = self.try_keep(seat, spawn, tree).await;
        if let Err(error) = written {
            tracing::warn!(run = %seat.run, session = %seat.session, "the session's files could not be written: {error}");
        }
    }

    async fn try_keep(
        &self,
        seat: &StepSession,
        spawn: Option<&SpawnRecord>,
        tree: Option<&str>,
    ) -> Result<(), ArtifactError> {
        let seats = self.store.read(RunStepSessions(seat.run)).await?;
        let number = seats.iter().position(|other| other.session == seat.session).map_or(0, |at| at + 1);
        let (folder, step) = (self.folder(seat.run), seat.step().to_owned());
        let spec = spawn.and_then(spec_of);
        let output = output(&self.store, &seat.session).await?;
        let changed = spawn.and_then(|spawn| spawn.outcome.as_ref()?.changed_files()).map(<[String]>::len);
        // What the task has changed so far; the last of a task is what it came to. A session without changes adds nothing.
        let tree = tree.filter(|_| changed != Some(0)).map(str::to_owned);
        let write = move || -> io::Result<()> {
            fs::create_dir_all(&folder)?;
            let write = |what: &str, text: &str| {
                if text.is_empty() {
                    return Ok(());
                }
                fs::write(folder.join(format!("{number:02}-{step}-{what}.txt")), text)
            };
            let Some(SpawnSpec { whole, workspace, .. }) = spec else { return write("output", &output) };
            write("prompt", &whole.unwrap_or_default())?;
            write("output", &output)?;
            let diff = tree.and_then(|tree| git_changes::diff_since_head(Path::new(&workspace), &tree));
            write("diff", &diff.unwrap_or_default())
        };
        Ok(blocking::run(write).await?)
    }

    /// Writes down where a run is and which sessions worked for it, where one did.
    ///
    /// Several may do so at once. Each looks again whether the run went on meanwhile, so that the last one to write has
    /// written where it is.
    pub async fn write_summary(&self, run: RunId) {
        if let Err(error) = self.try_write_summary(run).await {
            tracing::warn!(%run, "the run's summary could not be written: {error}");
        }
    }

    async fn try_write_summary(&self, run: RunId) -> Result<(), ArtifactError> {
        let folder = self.folder(run);
        let mut written = None;
        loop {
            let view = match self.runs.get(run, (self.clock)()).await {
                Ok(view) => view,
                Err(RunError::Store(StoreError::NotFound { .. })) => return Ok(()),
                Err(error) => return Err(ArtifactError::Run(error)),
            };
            let there = folder.clone();
            let exists = blocking::run(move || there.is_dir()).await;
            if !exists || written == Some(view.record.revision) {
                return Ok(());
            }
            let text = serde_json::to_string_pretty(&self.summary(&view).await?).map_err(io::Error::from)? + "\n";
            let path = folder.join("summary.json");
            blocking::run(move || replace(&path, &text)).await?;
            written = Some(view.record.revision);
        }
    }

    async fn summary(&self, view: &RunView) -> Result<Json, StoreError> {
        let mut sessions = Vec::new();
        let ends = self.store.read(StepSessionEnds(view.record.id)).await?;
        for (at, seat) in self.store.read(RunStepSessions(view.record.id)).await?.into_iter().enumerate() {
            let spawn = self.store.read(SpawnBySession(seat.session.clone())).await?;
            sessions.push(json!({
                "number": at + 1,
                "step": seat.step(),
                "session": seat.session,
                "agent": spawn.as_ref().map(|spawn| &spawn.spec["agent"]),
                "outcome": spawn.as_ref().and_then(|spawn| spawn.outcome.as_ref()),
                "report": seat.report,
                "skillWarnings": ends
                    .iter()
                    .find(|end| end.session.as_ref() == Some(&seat.session))
                    .map(|end| &end.metadata.skill_warnings),
            }));
        }
        // Read once: while the run goes on, the command that follows it shows the same.
        let log = match view.record.run.status {
            RunStatus::New | RunStatus::Active | RunStatus::Paused => Vec::new(),
            RunStatus::Ended(_) | RunStatus::Cancelled => run_log::read(&self.store, view.record.id).await?,
        };
        Ok(json!({
            "run": view.record.id,
            "workflow": view.record.about.workflow,
            "status": view.record.run.status,
            "sessions": sessions,
            "log": log,
            "writtenAt": (self.clock)(),
        }))
    }

    fn folder(&self, run: RunId) -> PathBuf {
        Path::new(&self.endpoints.home).join("runs").join(run.to_string())
    }
}

/// Why a file about a run could not be written.
#[derive(Debug, thiserror::Error)]
enum ArtifactError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Run(RunError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Replaces a file atomically: readers never see half of one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut temporary = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new("/")))?;
    temporary.write_all(text.as_bytes())?;
    temporary.persist(path).map(drop).map_err(|error| error.error)
}

/// What an agent did, as text.
async fn output(store: &Store, session: &SessionId) -> Result<String, StoreError> {
    let mut text = String::new();
    let mut page = ListPage { limit: PART, after: 0 };
    loop {
        let part = store.read(TranscriptPage { session: session.clone(), page }).await?;
        for entry in &part.items {
            add(&mut text, &entry.event);
            if text.len() > MAX_CHARS {
                text.push_str("\n… the rest was cut\n");
                return Ok(text);
            }
        }
        match part.next {
            Some(after) => page.after = after,
            None => return Ok(text),
        }
    }
}

fn add(text: &mut String, event: &AgentEvent) {
    if let AgentEvent::Said { text: said } | AgentEvent::Thought { text: said } = event {
        text.push_str(said);
        return;
    }
    let line = match event {
        AgentEvent::ToolBegan { title, kind, .. } => format!("→ {kind}: {title}"),
        AgentEvent::ToolEnded { status, output, .. } => format!("  {status}: {}", output.trim_end()),
        AgentEvent::Changed { path, .. } => format!("± {path}"),
        AgentEvent::Asked { title, .. } => format!("? may it: {title}"),
        AgentEvent::Answered { kind, .. } => format!("  answered: {kind}"),
        AgentEvent::Trouble { kind, message, .. } => format!("! {kind}: {message}"),
        AgentEvent::Printed { text, .. } => text.trim_end().to_owned(),
        AgentEvent::Ended { text: Some(said), .. } => said.clone(),
        _ => return,
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let _ = writeln!(text, "{line}");
}
