//! Contents of a run's screen, as of one moment: the run, its sessions, and the one that is looked at.

use std::collections::BTreeMap;

use maestro_core::agent::AgentEvent;
use maestro_core::agent::spawn::SpawnSpec;
use maestro_core::event::{RunId, SkillSelection};
use maestro_core::id::{EntityId as _, SessionId};
use maestro_core::message::{MessageState, SessionMessage};
use maestro_core::session::{SessionStatus, TimelineEntry};
use maestro_core::workflow::run::{PersonItem, PersonItemState, Run};
use maestro_core::{Project, Session};
use maestro_store::{
    ClaimEnd, DbTx, EventRow, EventSearch, LastMessages, LastTimelineEntries, ListPage, MessageList,
    PendingPermissions, PermissionRequest, ProjectById, Query, RunById, RunLog, RunRecord, RunStepSessions,
    SessionById, SkillDeliveries, SkillDelivery, SpawnBySession, SpawnRecord, StepSessionEnds, StoreError, TaskTitles,
    TranscriptTail, UsualStart,
};
use serde::Deserialize as _;
use serde_json::Value as Json;

use super::RunSubject;
use super::groups::EventGroups;
use crate::page::agent_totals::AgentTotals;

/// How many events of a run are read at once.
const EVENTS: i64 = 5000;
/// How many transcript events are read to find the last message.
const EAR: i64 = 100;
const EAR_CHARACTERS: i64 = 8000;
/// How many groups of them are looked at.
const EAR_GROUPS: usize = 200;
/// How many permission requests are shown at once.
const QUESTIONS: i64 = 20;
/// How many messages to a session are shown.
const MESSAGES: i64 = 500;

/// The query of a run with its sessions, or of a session alone.
#[derive(Debug, Clone)]
pub(super) struct RunHeadQuery {
    pub(super) subject: RunSubject,
    /// The last event that is known.
    pub(super) after: i64,
    /// Its sessions that have ended, which do not change any more.
    pub(super) ended: BTreeMap<SessionId, Session>,
}

/// The run and its sessions.
#[derive(Debug)]
pub(super) struct RunHead {
    /// The run; nothing for a session alone.
    pub(super) record: Option<RunRecord>,
    pub(super) project: Option<Project>,
    /// The title of the session's first task.
    pub(super) task: Option<String>,
    /// What happened to the run since.
    pub(super) events: Vec<EventRow>,
    /// Its sessions, oldest first.
    pub(super) sessions: Vec<RunSession>,
}

/// A session of a run.
#[derive(Debug, Clone)]
pub(super) struct RunSession {
    pub(super) session: Session,
    /// The step it works for.
    pub(super) step: Option<String>,
    /// What it cost, if it has ended.
    pub(super) cost_usd: Option<f64>,
}

impl Query for RunHeadQuery {
    type Output = RunHead;

    fn load(&self, db: &mut DbTx<'_>) -> Result<RunHead, StoreError> {
        match &self.subject {
            RunSubject::Run(id) => self.load_run(*id, db),
            RunSubject::Session(id) => load_session(id, db),
        }
    }
}

impl RunHeadQuery {
    /// The query of all that is known.
    pub(super) fn first(subject: RunSubject) -> Self {
        Self { subject, after: 0, ended: BTreeMap::new() }
    }

    fn load_run(&self, id: RunId, db: &mut DbTx<'_>) -> Result<RunHead, StoreError> {
        let mut record = RunById(id).load(db)?;
        let mut events: Vec<EventRow> = Vec::new();
        loop {
            let after = events.last().map_or(self.after, |event| event.seq);
            let part = RunLog { id, after, limit: EVENTS }.load(db)?;
            let is_last = i64::try_from(part.len()).unwrap_or(0) < EVENTS;
            events.extend(part);
            if is_last {
                break;
            }
        }
        let mut costs = BTreeMap::new();
        for end in StepSessionEnds(id).load(db)? {
            if let (Some(session), Some(outcome)) = (end.session, end.outcome) {
                costs.insert(session, outcome.usage().cost_usd);
            }
        }
        let mut sessions = Vec::new();
        for found in RunStepSessions(id).load(db)? {
            let session = match self.ended.get(&found.session) {
                Some(session) => session.clone(),
                None => SessionById(found.session.clone()).load(db)?,
            };
            let cost_usd = costs.remove(&found.session);
            sessions.push(RunSession { session, step: Some(found.step().to_owned()), cost_usd });
        }
        if let Some(last) = sessions.last() {
            note_received(&mut record.run, &last.session.id, db)?;
        }
        let project = record.about.project.clone().map(|id| ProjectById(id).load(db)).transpose()?;
        Ok(RunHead { record: Some(record), project, task: None, events, sessions })
    }
}

/// Shows comments as delivered that the agent at work has received; the run itself learns it when the session ends.
fn note_received(run: &mut Run, session: &SessionId, db: &mut DbTx<'_>) -> Result<(), StoreError> {
    let is_told = |item: &&mut PersonItem| item.state == PersonItemState::Queued && item.message.is_some();
    let mut told: Vec<&mut PersonItem> = run.person_items.iter_mut().filter(is_told).collect();
    if told.is_empty() {
        return Ok(());
    }
    let messages = messages(session, db)?;
    let received = messages.iter().filter(|message| message.state == MessageState::Delivered);
    let received: Vec<&str> = received.map(|message| message.id.as_str()).collect();
    for item in &mut told {
        if item.message.as_deref().is_some_and(|message| received.contains(&message)) {
            item.state = PersonItemState::Delivered;
        }
    }
    Ok(())
}

fn load_session(id: &SessionId, db: &mut DbTx<'_>) -> Result<RunHead, StoreError> {
    let session = SessionById(id.clone()).load(db)?;
    let tasks = session.tasks.first().cloned().into_iter().collect();
    Ok(RunHead {
        record: None,
        project: Some(ProjectById(session.project.clone()).load(db)?),
        task: TaskTitles { tasks }.load(db)?.into_values().next(),
        events: Vec::new(),
        sessions: vec![RunSession { session, step: None, cost_usd: None }],
    })
}

/// The query of the session that is looked at.
#[derive(Debug, Clone)]
pub(super) struct SessionDetailQuery {
    pub(super) session: SessionId,
    /// The account so far, if the session was read before.
    pub(super) account: AgentTotals,
}

/// The session that is looked at.
#[derive(Debug)]
pub(super) struct SessionDetail {
    pub(super) session: Session,
    pub(super) spawn: Option<SpawnRecord>,
    /// The specification it was started with, if it can be parsed.
    pub(super) spec: Option<SpawnSpec>,
    pub(super) account: AgentTotals,
    pub(super) receipts: Vec<SkillDelivery>,
    /// Its last report.
    pub(super) words: Option<TimelineEntry>,
    /// The last message sent to it.
    pub(super) told: Option<SessionMessage>,
    /// Until when its worker has it.
    pub(super) lease_until: Option<i64>,
    /// How long its agent usually takes to start, while it does.
    pub(super) usual_start: Option<i64>,
}

impl Query for SessionDetailQuery {
    type Output = SessionDetail;

    fn load(&self, db: &mut DbTx<'_>) -> Result<SessionDetail, StoreError> {
        let id = &self.session;
        let spawn = SpawnBySession(id.clone()).load(db)?;
        let only = vec![id.clone()];
        let session = SessionById(id.clone()).load(db)?;
        let starting = session.agent.clone().filter(|_| session.status == SessionStatus::Spawning);
        Ok(SessionDetail {
            session,
            spec: spawn.as_ref().and_then(|spawn| read_spec(id, &spawn.spec)),
            spawn,
            account: self.account.clone().read_new(id, db)?,
            receipts: SkillDeliveries(id.clone()).load(db)?,
            words: LastTimelineEntries { sessions: only.clone(), kind: None }.load(db)?.remove(id),
            told: LastMessages { sessions: only }.load(db)?.remove(id),
            lease_until: ClaimEnd(id.clone()).load(db)?,
            usual_start: match starting {
                Some(agent) => UsualStart { agent }.load(db)?,
                None => None,
            },
        })
    }
}

/// The specification of a session, unless another version of Maestro wrote it.
fn read_spec(session: &SessionId, spec: &Json) -> Option<SpawnSpec> {
    let debug = |error: &_| tracing::debug!(%session, "its specification cannot be read: {error}");
    SpawnSpec::deserialize(spec).inspect_err(debug).ok()
}

/// The open permission requests of sessions, with who asks.
#[derive(Debug, Clone)]
pub(super) struct RunPermissions {
    pub(super) sessions: Vec<Session>,
    pub(super) at: i64,
}

impl Query for RunPermissions {
    type Output = Vec<(PermissionRequest, Session)>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Self::Output, StoreError> {
        let mut all = Vec::new();
        for session in &self.sessions {
            let only = Some(session.id.clone());
            let open = PendingPermissions { project: None, session: only, at: self.at, limit: QUESTIONS }.load(db)?;
            all.extend(open.items.into_iter().map(|asked| (asked, session.clone())));
        }
        Ok(all)
    }
}

/// How the skills of a run's step were chosen, the newest first.
#[derive(Debug, Clone)]
pub(super) struct RunSelections {
    pub(super) project: maestro_core::id::ProjectId,
    pub(super) run: RunId,
}

/// How many selections of a run are read.
const SELECTIONS: i64 = 50;

impl Query for RunSelections {
    type Output = Vec<(i64, SkillSelection)>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Self::Output, StoreError> {
        let search = EventSearch {
            project: Some(self.project.clone()),
            kind: Some("SKILLS_SELECTED".to_owned()),
            text: self.run.to_string(),
            limit: SELECTIONS,
            ..EventSearch::default()
        };
        let read = |row: &EventRow| Some((row.at, serde_json::from_str(row.payload.get()).ok()?));
        Ok(search.load(db)?.rows.iter().filter_map(read).collect())
    }
}

/// What people said to a session, oldest first.
pub(super) fn messages(session: &SessionId, db: &mut DbTx<'_>) -> Result<Vec<SessionMessage>, StoreError> {
    let page = ListPage { limit: MESSAGES, after: 0 };
    Ok(MessageList { session: session.clone(), page }.load(db)?.items)
}

/// The last message of an agent that a worker follows, and when.
#[derive(Debug, Clone)]
pub(in crate::page) struct LastMessageQuery(pub(in crate::page) SessionId);

impl Query for LastMessageQuery {
    type Output = Option<(i64, String)>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Option<(i64, String)>, StoreError> {
        let tail = TranscriptTail { session: self.0.clone(), before: None, limit: EAR, characters: EAR_CHARACTERS };
        let groups = EventGroups::of(tail.load(db)?, EAR_GROUPS).items;
        let said = groups.iter().rfind(|group| matches!(group.events.first(), Some(AgentEvent::Said { .. })));
        Ok(said.map(|group| {
            let words = group.words();
            (group.until, if group.torn { format!("…{words}") } else { words })
        }))
    }
}
