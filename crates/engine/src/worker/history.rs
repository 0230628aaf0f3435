//! History of an agent's work, in this process and in those before it.

use maestro_core::agent::spawn::{SkillContent, SpawnSpec};
use maestro_core::agent::{
    AgentEvent, Evidence, ExpectedChange, ReportAbility, ToolKind, ToolStatus, UsageLedger, WorkProgress, WorkTime,
};
use maestro_core::id::SessionId;
use maestro_core::report::ReportKind;
use maestro_core::session::{Session, TimelineEntry};
use maestro_store::{DeliveryStage, ListPage, Store, StoreError, TimelineQuery, TimelineRange, TranscriptPage};
use serde_json::Value as Json;

use super::AgentWorker;

/// How many things are read at once.
const PART: i64 = 500;
/// How many of a session's last words count.
const LAST_WORDS: i64 = 100;
/// How many reports the next agent receives.
const REPORTS: usize = 10;
/// How many calls of tools are remembered.
const CALLS: usize = 256;

/// The prompt of an agent that resumes its own session after an interruption.
pub(super) const GO_ON: &str = "You were interrupted. Look at the files first: they count, not what you remember. Then go on \
                                with your task from there, and report as you were told.";

/// What is known of an agent's work.
pub(super) struct SessionHistory {
    pub(super) evidence: Evidence,
    pub(super) ledger: UsageLedger,
    pub(super) progress: WorkProgress,
    pub(super) worked: WorkTime,
    skills: Vec<SkillContent>,
    workspace: String,
    /// The last calls of tools: what they do, and the skill that they open.
    calls: Vec<ToolCallRecord>,
    reports: Vec<String>,
}

/// A call of a tool.
pub(super) struct ToolCallRecord {
    id: String,
    pub(super) kind: ToolKind,
    pub(super) input: Json,
    skills: Vec<usize>,
}

impl SessionHistory {
    /// What is known of a session's agent so far.
    pub(super) async fn load(
        worker: &AgentWorker,
        session: &Session,
        reporting: ReportAbility,
        spec: &SpawnSpec,
    ) -> Result<Self, StoreError> {
        let mut history = Self {
            evidence: Evidence::new(reporting, ExpectedChange::Anything),
            ledger: UsageLedger::default(),
            progress: WorkProgress::default(),
            worked: WorkTime::default(),
            skills: spec.skills.clone(),
            workspace: spec.workspace.clone(),
            calls: Vec::new(),
            reports: Vec::new(),
        };
        let mut page = ListPage { limit: PART, after: 0 };
        loop {
            let part = worker.store.read(TranscriptPage { session: session.id.clone(), page }).await?;
            for entry in &part.items {
                history.ledger.note(&entry.event);
                history.progress.note(&entry.event);
                history.worked.replay(entry.at, &entry.event);
            }
            match part.next {
                Some(after) => page.after = after,
                None => break,
            }
        }
        let told = lines(&worker.store, &session.id).await?;
        let reports = told.iter().filter(|line| kind_of(line).is_some()).map(|line| line.message.clone());
        history.reports = reports.collect();
        let extra = history.reports.len().saturating_sub(REPORTS);
        history.reports.drain(..extra);
        Ok(history)
    }

    /// What was done so far, for an agent that knows nothing of it.
    pub(super) fn summary(&self) -> Option<String> {
        self.progress.summarize(&self.reports, &[])
    }

    /// Takes note of what the agent did. Says which skill texts it got at by that.
    pub(super) fn note(&mut self, event: &AgentEvent) -> Vec<(String, String, DeliveryStage)> {
        self.evidence.note(event);
        self.ledger.note(event);
        self.progress.note(event);
        match event {
            AgentEvent::ToolBegan { id, kind, input, .. } => self.note_call(id, *kind, input),
            AgentEvent::ToolEnded { id, status: ToolStatus::Ok, output } if !output.trim().is_empty() => {
                // What a tool answers is what the model reads next.
                let call = self.calls.iter().find(|call| call.id == *id);
                self.receipts(call.map(|call| call.skills.as_slice()).unwrap_or_default(), DeliveryStage::Read)
            }
            _ => Vec::new(),
        }
    }

    /// A call of a tool, as far as it is remembered.
    pub(super) fn call(&self, id: &str) -> Option<&ToolCallRecord> {
        self.calls.iter().find(|call| call.id == id)
    }

    fn note_call(&mut self, id: &str, kind: ToolKind, input: &Json) -> Vec<(String, String, DeliveryStage)> {
        let text = input.to_string();
        let opens = |skill: &SkillContent| {
            let commands = [format!("skills read {}", skill.id), format!("skill read {}", skill.id)];
            // Who works in the project names its skills from there.
            let below = skill.path.strip_prefix(&self.workspace).map(|path| path.trim_start_matches('/'));
            let places = [Some(skill.path.as_str()), below].into_iter().flatten();
            places.into_iter().any(|place| !place.is_empty() && text.contains(place))
                || commands.iter().any(|command| text.contains(command))
        };
        let skills: Vec<usize> =
            self.skills.iter().enumerate().filter(|(_, skill)| opens(skill)).map(|(at, _)| at).collect();
        self.calls.retain(|call| call.id != id);
        if self.calls.len() == CALLS {
            self.calls.remove(0);
        }
        let receipts = self.receipts(&skills, DeliveryStage::Opened);
        self.calls.push(ToolCallRecord { id: id.to_owned(), kind, input: input.clone(), skills });
        receipts
    }

    fn receipts(&self, skills: &[usize], stage: DeliveryStage) -> Vec<(String, String, DeliveryStage)> {
        let skills = skills.iter().filter_map(|at| self.skills.get(*at));
        skills.map(|skill| (skill.id.clone(), skill.hash.clone(), stage)).collect()
    }

    /// Records the session's last report since the agent started.
    pub(super) fn note_reports(&mut self, lines: &[TimelineEntry], since: i64) {
        let last = lines.iter().rev().filter(|line| line.at >= since).find_map(|line| Some((kind_of(line)?, line)));
        if let Some((kind, line)) = last {
            self.evidence.note_report(kind, &line.message);
        }
    }
}

/// The last lines of a session's timeline.
pub(super) async fn lines(store: &Store, session: &SessionId) -> Result<Vec<TimelineEntry>, StoreError> {
    let wanted = TimelineQuery { session: session.clone(), range: TimelineRange::Last(LAST_WORDS) };
    Ok(store.read(wanted).await?.items)
}

/// What a line of the timeline reports, if it is a report.
fn kind_of(line: &TimelineEntry) -> Option<ReportKind> {
    ReportKind::ALL.into_iter().find(|kind| kind.entry_kind() == line.kind)
}
