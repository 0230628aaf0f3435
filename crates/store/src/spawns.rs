//! Which agents are to be started, and who sees to it?
//!
//! A worker that claims a spawn keeps it as long as it renews its claim. One that falls silent loses it, and the next
//! one goes on where it was; what the first one says after that counts for nothing.

use maestro_core::event::{Event, SessionFact};
use maestro_core::id::SessionId;
use maestro_core::session::{EndReason, SessionStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::change::{Change, Read};
use crate::db::Db;
use crate::error::{StoreError, What};
use crate::sessions::{self, CreateSession};
use crate::tx::{Scope, Tx};
use crate::value::{Row, to_json};

/// Something to be started, as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spawn {
    /// The session.
    pub session: SessionId,
    /// What is needed to start it; whoever asked and whoever starts it understand it.
    pub spec: Json,
    /// How far it is.
    pub state: SpawnState,
    /// Who has it.
    pub worker: Option<String>,
    /// How often it was started, this time included.
    pub attempt: i64,
    /// What the agent itself calls its session.
    pub agent_session: Option<String>,
    /// What came of it.
    pub outcome: Option<Json>,
}

/// How far a spawn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpawnState {
    /// Nobody has it.
    Waiting,
    /// A worker has it.
    Claimed,
    /// It is over.
    Done,
}

impl SpawnState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Claimed => "claimed",
            Self::Done => "done",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Waiting, Self::Claimed, Self::Done].into_iter().find(|state| state.as_str() == word)
    }
}

const SELECT: &str = "SELECT session_id, spec, state, worker, attempt, agent_session, outcome FROM spawns";

fn spawn(row: &mut Row) -> Result<Spawn, StoreError> {
    Ok(Spawn {
        session: row.parsed()?,
        spec: row.json()?,
        state: {
            let word = row.text()?;
            SpawnState::from_word(&word).ok_or_else(|| StoreError::corrupt(format!("spawn state `{word}`")))?
        },
        worker: row.maybe_text()?,
        attempt: row.int()?,
        agent_session: row.maybe_text()?,
        outcome: row.maybe_json()?,
    })
}

fn by_session(db: &mut Db<'_>, session: &SessionId) -> Result<Spawn, StoreError> {
    let found = db.row(&format!("{SELECT} WHERE session_id = $1{}", db.held()), &[session.into()])?;
    spawn(&mut found.ok_or_else(|| StoreError::not_found(What::Session, session))?)
}

/// Asks for an agent to be started: the session is made, and waits for a worker.
#[derive(Debug, Clone)]
pub struct RequestSpawn {
    /// The session.
    pub session: CreateSession,
    /// What is needed to start it.
    pub spec: Json,
}

impl Change for RequestSpawn {
    type Output = maestro_core::session::Session;

    fn apply(&self, tx: &mut Tx<'_>) -> Result<Self::Output, StoreError> {
        let session = self.session.apply(tx)?;
        tx.execute(
            "INSERT INTO spawns (session_id, spec, state, attempt, not_before, created_at, updated_at) \
             VALUES ($1, $2, 'waiting', 0, $3, $4, $5)",
            &[(&session.id).into(), (&to_json(&self.spec)?).into(), tx.now.into(), tx.now.into(), tx.now.into()],
        )?;
        Ok(session)
    }
}

/// Takes the next thing to be started, or what a worker that fell silent had.
#[derive(Debug, Clone)]
pub struct ClaimSpawn {
    /// Who takes it.
    pub worker: String,
    /// For how many milliseconds without a word.
    pub lease: i64,
}

impl Change for ClaimSpawn {
    type Output = Option<Spawn>;

    fn apply(&self, tx: &mut Tx<'_>) -> Result<Option<Spawn>, StoreError> {
        let sql = format!(
            "SELECT spawns.session_id FROM spawns JOIN sessions ON sessions.id = spawns.session_id \
             WHERE sessions.status IN ('spawning', 'idle', 'working') AND spawns.not_before <= $1 AND (spawns.state = 'waiting' \
             OR (spawns.state = 'claimed' AND spawns.lease_until < $2)) ORDER BY spawns.ord LIMIT 1{}",
            if tx.is_postgres() { " FOR UPDATE OF spawns SKIP LOCKED" } else { "" }
        );
        let Some(mut row) = tx.row(&sql, &[tx.now.into(), tx.now.into()])? else { return Ok(None) };
        let session: SessionId = row.parsed()?;
        tx.execute(
            "UPDATE spawns SET state = 'claimed', worker = $1, lease_until = $2, attempt = attempt + 1, \
             updated_at = $3 WHERE session_id = $4",
            &[(&self.worker).into(), (tx.now + self.lease).into(), tx.now.into(), (&session).into()],
        )?;
        by_session(tx, &session).map(Some)
    }
}

/// Says that a worker still has what it claimed; it hears what was decided meanwhile.
#[derive(Debug, Clone)]
pub struct RenewSpawn {
    /// Which session.
    pub session: SessionId,
    /// Who has it.
    pub worker: String,
    /// For how many milliseconds more.
    pub lease: i64,
    /// What the agent itself calls its session, as soon as that is known.
    pub agent_session: Option<String>,
}

impl Change for RenewSpawn {
    type Output = SessionStatus;

    fn apply(&self, tx: &mut Tx<'_>) -> Result<SessionStatus, StoreError> {
        held_by(tx, &self.session, &self.worker)?;
        let until = tx.now + self.lease;
        tx.execute(
            "UPDATE spawns SET lease_until = $1, agent_session = coalesce($2, agent_session), updated_at = $3 \
             WHERE session_id = $4",
            &[until.into(), self.agent_session.as_ref().into(), tx.now.into(), (&self.session).into()],
        )?;
        tx.execute("UPDATE sessions SET lease_until = $1 WHERE id = $2", &[until.into(), (&self.session).into()])?;
        Ok(sessions::by_id(tx, &self.session)?.status)
    }
}

/// Refuses whoever lost what it claimed.
pub(crate) fn held_by(tx: &mut Tx<'_>, session: &SessionId, worker: &str) -> Result<Spawn, StoreError> {
    let spawn = by_session(tx, session)?;
    if spawn.state == SpawnState::Claimed && spawn.worker.as_deref() == Some(worker) {
        return Ok(spawn);
    }
    Err(StoreError::Rule(format!("session '{session}' is not this worker's any more")))
}

/// What becomes of a spawn when its agent has ended.
#[derive(Debug, Clone)]
pub enum After {
    /// It is over, and this is how its session ended.
    Over {
        /// The session's status.
        status: SessionStatus,
        /// Why, where somebody or something else decided.
        end: Option<EndReason>,
    },
    /// It is started again, not before this time.
    Again {
        /// When.
        not_before: i64,
    },
}

/// Says what came of a spawn.
#[derive(Debug, Clone)]
pub struct SettleSpawn {
    /// Which session.
    pub session: SessionId,
    /// Who had it.
    pub worker: String,
    /// What came of it.
    pub outcome: Json,
    /// What follows.
    pub after: After,
}

impl Change for SettleSpawn {
    type Output = ();

    fn apply(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        held_by(tx, &self.session, &self.worker)?;
        let (state, not_before) = match &self.after {
            After::Over { .. } => (SpawnState::Done, tx.now),
            After::Again { not_before } => (SpawnState::Waiting, *not_before),
        };
        tx.execute(
            "UPDATE spawns SET state = $1, worker = NULL, lease_until = NULL, not_before = $2, outcome = $3, \
             updated_at = $4 WHERE session_id = $5",
            &[
                state.as_str().into(),
                not_before.into(),
                (&to_json(&self.outcome)?).into(),
                tx.now.into(),
                (&self.session).into(),
            ],
        )?;
        tx.execute("UPDATE sessions SET lease_until = NULL WHERE id = $1", &[(&self.session).into()])?;
        let mut session = sessions::by_id(tx, &self.session)?;
        match &self.after {
            After::Over { status, end } if !session.status.is_over() => {
                sessions::become_status(tx, &mut session, *status, *end)
            }
            After::Over { .. } => Ok(()),
            After::Again { .. } => {
                let fact = SessionFact {
                    id: session.id.clone(),
                    name: session.name.clone(),
                    status: session.status,
                    reason: Some("it is started again".to_owned()),
                };
                tx.emit(Scope::project(&session.project).session(&session.id), Event::SessionUpdated(fact));
                Ok(())
            }
        }
    }
}

/// What is kept of a session's spawn; nothing for a session that nobody spawned.
#[derive(Debug, Clone)]
pub struct SpawnOf(
    /// Which session.
    pub SessionId,
);

impl Read for SpawnOf {
    type Output = Option<Spawn>;

    fn load(&self, db: &mut Db<'_>) -> Result<Option<Spawn>, StoreError> {
        let row = db.row(&format!("{SELECT} WHERE session_id = $1"), &[(&self.0).into()])?;
        row.map(|mut row| spawn(&mut row)).transpose()
    }
}

/// How many agents of a parent session are at work or wait for it.
#[derive(Debug, Clone)]
pub struct LivingChildren(
    /// The parent.
    pub SessionId,
);

impl Read for LivingChildren {
    type Output = i64;

    fn load(&self, db: &mut Db<'_>) -> Result<i64, StoreError> {
        let sql = "SELECT count(*) FROM sessions WHERE parent_id = $1 \
                   AND status NOT IN ('completed', 'failed', 'stopped')";
        db.number(sql, &[(&self.0).into()])
    }
}
