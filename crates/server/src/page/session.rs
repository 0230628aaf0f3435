//! Contents of a session's page, as of one moment.

mod account;
mod groups;

use maestro_core::agent::AgentEvent;
use maestro_core::agent::spawn::SpawnSpec;
use maestro_core::id::SessionId;
use maestro_core::message::Message;
use maestro_core::session::TimelineEntry;
use maestro_core::{Project, Session};
use maestro_store::{
    Db, LastMessages, LastSeq, LastWords, Permission, PermissionsWaiting, ProjectById, Read, Receipt, Receipts,
    SessionById, Spawn, SpawnOf, StoreError, Titles, TranscriptTail,
};

pub(super) use account::Account;
pub(super) use groups::{Group, Groups};

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
pub(super) struct Look {
    pub(super) session: SessionId,
    pub(super) at: i64,
    /// Only what its agent did before this place; otherwise the newest.
    pub(super) before: Option<i64>,
    /// The account so far, if the session was read before.
    pub(super) account: Account,
}

/// The contents.
#[derive(Debug)]
pub(super) struct Sight {
    pub(super) at: i64,
    pub(super) seq: i64,
    pub(super) session: Session,
    pub(super) project: Project,
    /// The title of its first task.
    pub(super) task: Option<String>,
    pub(super) spawn: Option<Spawn>,
    /// The specification it was started with, if it can be parsed.
    pub(super) spec: Option<SpawnSpec>,
    pub(super) account: Account,
    pub(super) groups: Groups,
    /// Whether newer entries exist.
    pub(super) past: bool,
    /// The open permission requests.
    pub(super) questions: Vec<Permission>,
    pub(super) receipts: Vec<Receipt>,
    /// Its last report.
    pub(super) words: Option<TimelineEntry>,
    /// The last message sent to it.
    pub(super) told: Option<Message>,
}

impl Read for Look {
    type Output = Sight;

    fn load(&self, db: &mut Db<'_>) -> Result<Sight, StoreError> {
        let id = &self.session;
        let session = SessionById(id.clone()).load(db)?;
        let tasks = session.tasks.first().cloned().into_iter().collect();
        let spawn = SpawnOf(id.clone()).load(db)?;
        let tail = TranscriptTail { session: id.clone(), before: self.before, limit: ENTRIES, characters: CHARACTERS };
        let questions = PermissionsWaiting { project: None, session: Some(id.clone()), at: self.at, limit: QUESTIONS };
        let only = vec![id.clone()];
        Ok(Sight {
            at: self.at,
            seq: LastSeq.load(db)?,
            project: ProjectById(session.project.clone()).load(db)?,
            task: Titles { tasks }.load(db)?.into_values().next(),
            spec: spawn.as_ref().and_then(|spawn| serde_json::from_value(spawn.spec.clone()).ok()),
            spawn,
            account: self.account.clone().read_on(id, db)?,
            groups: Groups::of(tail.load(db)?, SHOWN),
            past: self.before.is_some(),
            questions: questions.load(db)?.items,
            receipts: Receipts(id.clone()).load(db)?,
            words: LastWords { sessions: only.clone(), kind: None }.load(db)?.remove(id),
            told: LastMessages { sessions: only }.load(db)?.remove(id),
            session,
        })
    }
}

/// The last message of an agent that a worker follows, and when.
#[derive(Debug, Clone)]
pub(super) struct Listen(pub(super) SessionId);

impl Read for Listen {
    type Output = Option<(i64, String)>;

    fn load(&self, db: &mut Db<'_>) -> Result<Option<(i64, String)>, StoreError> {
        let tail = TranscriptTail { session: self.0.clone(), before: None, limit: EAR, characters: EAR_CHARACTERS };
        let groups = Groups::of(tail.load(db)?, SHOWN).items;
        let said = groups.iter().rfind(|group| matches!(group.events.first(), Some(AgentEvent::Said { .. })));
        Ok(said.map(|group| {
            let words = group.words();
            (group.until, if group.torn { format!("…{words}") } else { words })
        }))
    }
}
