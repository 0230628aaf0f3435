//! Contents of a session's page, as of one moment.

use maestro_core::agent::AgentEvent;
use maestro_core::agent::spawn::SpawnSpec;
use maestro_core::id::SessionId;
use maestro_core::message::SessionMessage;
use maestro_core::session::TimelineEntry;
use maestro_core::{Project, Session};
use maestro_store::{
    DbTx, LastMessages, LastTimelineEntries, PendingPermissions, PermissionRequest, ProjectById, Query, SessionById,
    SkillDeliveries, SkillDelivery, SpawnBySession, SpawnRecord, StoreError, TaskTitles, TranscriptTail,
};
use serde::Deserialize as _;
use serde_json::Value as Json;

use super::groups::EventGroups;
use crate::page::agent_totals::AgentTotals;

/// How many entries of the transcript are shown at once; the rest is a link away.
const SHOWN: usize = 200;
/// How many transcript events are read for them. Messages come in pieces, many of which make one entry.
const ENTRIES: i64 = 4000;
const CHARACTERS: i64 = 1024 * 1024;
/// How many events are read to find the last message.
const EAR: i64 = 100;
const EAR_CHARACTERS: i64 = 8000;
/// How many permission requests are shown at once.
const QUESTIONS: i64 = 20;

/// The query of a session.
#[derive(Debug, Clone)]
pub(super) struct SessionScreenQuery {
    pub(super) session: SessionId,
    pub(super) at: i64,
    /// Only what its agent did before this place; otherwise the newest.
    pub(super) before: Option<i64>,
    /// The account so far, if the session was read before.
    pub(super) account: AgentTotals,
}

/// The contents.
#[derive(Debug)]
pub(super) struct SessionScreenSnapshot {
    pub(super) session: Session,
    pub(super) project: Project,
    /// The title of its first task.
    pub(super) task: Option<String>,
    pub(super) spawn: Option<SpawnRecord>,
    /// The specification it was started with, if it can be parsed.
    pub(super) spec: Option<SpawnSpec>,
    pub(super) account: AgentTotals,
    pub(super) groups: EventGroups,
    /// Whether newer entries exist.
    pub(super) past: bool,
    /// The open permission requests.
    pub(super) questions: Vec<PermissionRequest>,
    pub(super) receipts: Vec<SkillDelivery>,
    /// Its last report.
    pub(super) words: Option<TimelineEntry>,
    /// The last message sent to it.
    pub(super) told: Option<SessionMessage>,
}

impl Query for SessionScreenQuery {
    type Output = SessionScreenSnapshot;

    fn load(&self, db: &mut DbTx<'_>) -> Result<SessionScreenSnapshot, StoreError> {
        let id = &self.session;
        let session = SessionById(id.clone()).load(db)?;
        let tasks = session.tasks.first().cloned().into_iter().collect();
        let spawn = SpawnBySession(id.clone()).load(db)?;
        let tail = TranscriptTail { session: id.clone(), before: self.before, limit: ENTRIES, characters: CHARACTERS };
        let questions = PendingPermissions { project: None, session: Some(id.clone()), at: self.at, limit: QUESTIONS };
        let only = vec![id.clone()];
        Ok(SessionScreenSnapshot {
            project: ProjectById(session.project.clone()).load(db)?,
            task: TaskTitles { tasks }.load(db)?.into_values().next(),
            spec: spawn.as_ref().and_then(|spawn| read_spec(id, &spawn.spec)),
            spawn,
            account: self.account.clone().read_new(id, db)?,
            groups: EventGroups::of(tail.load(db)?, SHOWN),
            past: self.before.is_some(),
            questions: questions.load(db)?.items,
            receipts: SkillDeliveries(id.clone()).load(db)?,
            words: LastTimelineEntries { sessions: only.clone(), kind: None }.load(db)?.remove(id),
            told: LastMessages { sessions: only }.load(db)?.remove(id),
            session,
        })
    }
}

/// The specification of a session, unless another version of Maestro wrote it.
fn read_spec(session: &SessionId, spec: &Json) -> Option<SpawnSpec> {
    let debug = |error: &_| tracing::debug!(%session, "its specification cannot be read: {error}");
    SpawnSpec::deserialize(spec).inspect_err(debug).ok()
}

/// The last message of an agent that a worker follows, and when.
#[derive(Debug, Clone)]
pub(in crate::page) struct LastMessageQuery(pub(in crate::page) SessionId);

impl Query for LastMessageQuery {
    type Output = Option<(i64, String)>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Option<(i64, String)>, StoreError> {
        let tail = TranscriptTail { session: self.0.clone(), before: None, limit: EAR, characters: EAR_CHARACTERS };
        let groups = EventGroups::of(tail.load(db)?, SHOWN).items;
        let said = groups.iter().rfind(|group| matches!(group.events.first(), Some(AgentEvent::Said { .. })));
        Ok(said.map(|group| {
            let words = group.words();
            (group.until, if group.torn { format!("…{words}") } else { words })
        }))
    }
}
