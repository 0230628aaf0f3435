//! Files about a run for people: prompt, output and diff of each session, and a summary.
//!
//! They are a copy: what counts is in the store, so a file that cannot be written stops nothing.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use maestro_core::agent::AgentEvent;
use maestro_core::event::RunId;
use maestro_core::id::SessionId;
use maestro_store::{Page, Seat, SeatsOf, Spawn, SpawnOf, Store, Transcript};
use serde_json::{Value as Json, json};

use super::StepSessions;
use crate::changes;
use crate::runs::View;

/// How many parts of a transcript are read at once.
const PART: i64 = 500;
/// How much of what an agent did is written.
const MAX_CHARS: usize = 8 * 1024 * 1024;

impl StepSessions {
    /// Writes down what a session was told, did and changed.
    pub(super) async fn keep(&self, seat: &Seat, spawn: Option<&Spawn>, tree: Option<&str>) {
        let seats = self.store.read(SeatsOf(seat.run)).await.unwrap_or_default();
        let number = seats.iter().position(|other| other.session == seat.session).map_or(0, |at| at + 1);
        let (folder, step) = (self.folder(seat.run), step(seat));
        if fs::create_dir_all(&folder).is_err() {
            return;
        }
        let write = |what: &str, text: &str| {
            if !text.is_empty() {
                let _ = fs::write(folder.join(format!("{number:02}-{step}-{what}.txt")), text);
            }
        };
        let of = |key: &str| spawn.and_then(|spawn| spawn.spec[key].as_str()).unwrap_or_default().to_owned();
        write("prompt", &of("whole"));
        write("output", &output(&self.store, &seat.session).await);
        // What the task has changed so far; the last of a task is what it came to. Whoever changed nothing adds nothing.
        let changed = spawn.and_then(|spawn| spawn.outcome.as_ref()?["changedFiles"].as_array().map(Vec::len));
        if let Some(tree) = tree.filter(|_| changed != Some(0)) {
            write("diff", &changes::since_commit(Path::new(&of("workspace")), tree).unwrap_or_default());
        }
    }

    /// Writes down how a run stands and who worked for it, where somebody did.
    ///
    /// Several may do so at once. Whoever wrote looks again whether the run went on meanwhile, so that the last one to write
    /// has written how it stands.
    pub async fn write_summary(&self, run: RunId) {
        let folder = self.folder(run);
        let mut written = None;
        while let Ok(view) = self.runs.get(run, (self.clock)()).await {
            if !folder.is_dir() || written == Some(view.record.revision) {
                return;
            }
            let text = serde_json::to_string_pretty(&self.summary(&view).await).unwrap_or_default();
            let _ = replace(&folder.join("summary.json"), &(text + "\n"));
            written = Some(view.record.revision);
        }
    }

    async fn summary(&self, view: &View) -> Json {
        let mut sessions = Vec::new();
        for (at, seat) in self.store.read(SeatsOf(view.record.id)).await.unwrap_or_default().into_iter().enumerate() {
            let spawn = self.store.read(SpawnOf(seat.session.clone())).await.ok().flatten();
            sessions.push(json!({
                "number": at + 1,
                "step": step(&seat),
                "session": seat.session,
                "agent": spawn.as_ref().map(|spawn| &spawn.spec["agent"]),
                "outcome": spawn.as_ref().and_then(|spawn| spawn.outcome.as_ref()),
                "report": seat.report,
            }));
        }
        json!({
            "run": view.record.id,
            "workflow": view.record.about.workflow,
            "status": view.record.run.status,
            "sessions": sessions,
            "writtenAt": (self.clock)(),
        })
    }

    fn folder(&self, run: RunId) -> PathBuf {
        Path::new(&self.around.home).join("runs").join(run.to_string())
    }
}

/// The step that a session works at.
fn step(seat: &Seat) -> &str {
    seat.ticket.split('#').next().unwrap_or_default()
}

/// Puts a file in the place of another in one step: nobody reads half of one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut temporary = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new("/")))?;
    temporary.write_all(text.as_bytes())?;
    temporary.persist(path).map(drop).map_err(|error| error.error)
}

/// What an agent did, as text.
async fn output(store: &Store, session: &SessionId) -> String {
    let mut text = String::new();
    let mut page = Page { limit: PART, after: 0 };
    while let Ok(part) = store.read(Transcript { session: session.clone(), page }).await {
        for entry in &part.items {
            add(&mut text, &entry.event);
            if text.len() > MAX_CHARS {
                text.push_str("\n… the rest was left out\n");
                return text;
            }
        }
        match part.next {
            Some(after) => page.after = after,
            None => break,
        }
    }
    text
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
