//! Permission requests of agents. No answer means no.

use maestro_core::agent::{PermissionChoice, PermissionChoiceKind};
use maestro_core::event::{Event, PermissionFact};
use maestro_core::id::{ProjectId, SessionId};
use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::{RecordKind, StoreError};
use crate::overview::ListExcerpt;
use crate::sql_query::SqlQuery;
use crate::tx::{ChangeTx, EventScope};
use crate::value::{SqlRow, to_json};
use crate::{access, session_rows, spawns};

/// Something an agent asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionRequest {
    /// The session.
    pub session: SessionId,
    /// What the agent calls the question.
    pub request: String,
    /// What it wants to do, in a line.
    pub title: String,
    /// What exactly.
    pub detail: String,
    /// What can be answered.
    pub options: Vec<PermissionChoice>,
    /// What was answered.
    pub answer: Option<PermissionChoiceKind>,
    /// When it was asked.
    pub created_at: i64,
    /// When no answer becomes a no.
    pub expires_at: i64,
}

const SELECT: &str =
    "SELECT session_id, request, title, detail, options, answer, created_at, expires_at FROM permissions";

fn permission(row: &mut SqlRow) -> Result<PermissionRequest, StoreError> {
    Ok(PermissionRequest {
        session: row.parsed()?,
        request: row.text()?,
        title: row.text()?,
        detail: row.text()?,
        options: row.json()?,
        answer: row.maybe_json()?,
        created_at: row.int()?,
        expires_at: row.int()?,
    })
}

fn by_request(db: &mut DbTx<'_>, session: &SessionId, request: &str) -> Result<PermissionRequest, StoreError> {
    let sql = format!("{SELECT} WHERE session_id = $1 AND request = $2{}", db.lock_clause());
    let row = db.row(&sql, &[session.into(), request.into()])?;
    permission(&mut row.ok_or_else(|| StoreError::not_found(RecordKind::Permission, request))?)
}

fn note(
    tx: &mut ChangeTx<'_>,
    permission: &PermissionRequest,
    event: fn(PermissionFact) -> Event,
) -> Result<(), StoreError> {
    let session = session_rows::by_id(tx, &permission.session)?;
    let fact = PermissionFact {
        request: permission.request.clone(),
        title: permission.title.clone(),
        answer: permission.answer,
    };
    tx.emit(EventScope::project(&session.project).session(&session.id), event(fact));
    Ok(())
}

/// Keeps what an agent asks.
#[derive(Debug, Clone)]
pub struct AskPermission {
    /// Which session.
    pub session: SessionId,
    /// Who has it.
    pub worker: String,
    /// What the agent calls the question.
    pub request: String,
    /// What it wants to do, in a line.
    pub title: String,
    /// What exactly.
    pub detail: String,
    /// What can be answered.
    pub options: Vec<PermissionChoice>,
    /// For how many milliseconds an answer is waited for.
    pub patience: i64,
}

impl Change for AskPermission {
    type Output = PermissionRequest;

    fn actor(&self) -> Option<&Actor> {
        Some(&Actor::Worker)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<PermissionRequest, StoreError> {
        spawns::require_claim(tx, &self.session, &self.worker)?;
        tx.execute(
            "INSERT INTO permissions (session_id, request, title, detail, options, created_at, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (session_id, request) DO NOTHING",
            &[
                (&self.session).into(),
                (&self.request).into(),
                (&self.title).into(),
                (&self.detail).into(),
                (&to_json(&self.options)?).into(),
                tx.now.into(),
                (tx.now + self.patience).into(),
            ],
        )?;
        let permission = by_request(tx, &self.session, &self.request)?;
        note(tx, &permission, Event::PermissionAsked)?;
        Ok(permission)
    }
}

/// Answers what an agent asks. The first answer counts; sessions may not answer.
#[derive(Debug, Clone)]
pub struct AnswerPermission {
    /// Which session.
    pub session: SessionId,
    /// Which question.
    pub request: String,
    /// What is answered.
    pub answer: PermissionChoiceKind,
    /// Who answers.
    pub actor: Actor,
}

impl Change for AnswerPermission {
    type Output = PermissionRequest;

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<PermissionRequest, StoreError> {
        access::forbid_sessions(&self.actor, "answer what an agent asks")?;
        let permission = by_request(tx, &self.session, &self.request)?;
        match permission.answer {
            Some(given) if given == self.answer => return Ok(permission),
            Some(_) => return Err(StoreError::Rule("it was answered already".to_owned())),
            // The agent has been rejected by the timeout.
            None if self.answer.allows() && permission.expires_at <= tx.now => {
                return Err(StoreError::Rule("it was not answered in time and counts as rejected".to_owned()));
            }
            None => {}
        }
        tx.execute(
            "UPDATE permissions SET answer = $1, answered_at = $2 WHERE session_id = $3 AND request = $4",
            &[(&to_json(&self.answer)?).into(), tx.now.into(), (&self.session).into(), (&self.request).into()],
        )?;
        let permission = by_request(tx, &self.session, &self.request)?;
        note(tx, &permission, Event::PermissionAnswered)?;
        Ok(permission)
    }
}

/// What agents ask, oldest first.
#[derive(Debug, Clone, Default)]
pub struct PermissionList {
    /// Only this session's.
    pub session: Option<SessionId>,
    /// Which of them.
    pub filter: PermissionFilter,
}

/// Which questions are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PermissionFilter {
    /// Those without an answer.
    #[default]
    Open,
    /// All.
    All,
}

impl Query for PermissionList {
    type Output = Vec<PermissionRequest>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<PermissionRequest>, StoreError> {
        let query = SqlQuery::new(format!("{SELECT} WHERE ord > $1"), 0).only("session_id = ?", self.session.as_ref());
        let query = match self.filter {
            PermissionFilter::Open => query.and("answer IS NULL"),
            PermissionFilter::All => query,
        };
        query.rows(db, "ord", 1000)?.iter_mut().map(permission).collect()
    }
}

/// What waits for a person's answer: asked by sessions that have not ended, and still in time; oldest first.
#[derive(Debug, Clone)]
pub struct PendingPermissions {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Only this session's.
    pub session: Option<SessionId>,
    /// As of when.
    pub at: i64,
    /// How many at most.
    pub limit: i64,
}

impl Query for PendingPermissions {
    type Output = ListExcerpt<PermissionRequest>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<ListExcerpt<PermissionRequest>, StoreError> {
        let total = self.query("SELECT count(*) FROM permissions").rows(db, "1", 1)?;
        let total = total.into_iter().next().map_or(Ok(0), |mut row| row.int())?;
        let items =
            self.query(SELECT).rows(db, "ord", self.limit)?.iter_mut().map(permission).collect::<Result<_, _>>()?;
        Ok(ListExcerpt { items, total })
    }
}

impl PendingPermissions {
    fn query(&self, select: &str) -> SqlQuery<'_> {
        let living = "session_id IN (SELECT id FROM sessions WHERE status IN ('spawning', 'idle', 'working', 'paused')";
        let query = SqlQuery::new(format!("{select} WHERE expires_at > $1 AND answer IS NULL"), self.at)
            .only("session_id = ?", self.session.as_ref());
        match &self.project {
            Some(project) => query.only(&format!("{living} AND project_id = ?)"), project),
            None => query.and(&format!("{living})")),
        }
    }
}
