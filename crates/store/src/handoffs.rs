//! Handoffs of work from one role to another.

use maestro_core::event::{Event, HandoffFact};
use maestro_core::handoff::{Handoff, HandoffState};
use maestro_core::id::{HandoffId, ProjectId, TaskId};

use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::{RecordKind, StoreError};
use crate::sql_query::SqlQuery;
use crate::tx::{ChangeTx, EventScope};
use crate::value::SqlRow;
use crate::{ListPage, PageItems, projects, task_rows};

const SELECT: &str = "SELECT ord, id, project_id, task_id, from_role, to_role, title, body, state, accepted_by, \
                      result, created_at, accepted_at, completed_at FROM handoffs";

fn handoff(row: &mut SqlRow) -> Result<Handoff, StoreError> {
    Ok(Handoff {
        id: row.parsed()?,
        project_id: row.parsed()?,
        task_id: row.maybe_parsed()?,
        from: row.text()?,
        to: row.text()?,
        title: row.text()?,
        body: row.text()?,
        state: {
            let word = row.text()?;
            HandoffState::from_word(&word).ok_or_else(|| StoreError::corrupt(format!("hand-off state `{word}`")))?
        },
        accepted_by: row.maybe_text()?,
        result: row.maybe_text()?,
        created_at: row.int()?,
        accepted_at: row.maybe_int()?,
        completed_at: row.maybe_int()?,
    })
}

fn by_id(db: &mut DbTx<'_>, id: &HandoffId) -> Result<Handoff, StoreError> {
    let found = db.row(&format!("{SELECT} WHERE id = $1{}", db.lock_clause()), &[id.into()])?;
    let mut row = found.ok_or_else(|| StoreError::not_found(RecordKind::Handoff, id))?;
    row.int()?;
    handoff(&mut row)
}

fn emit(tx: &mut ChangeTx<'_>, handoff: &Handoff, event: fn(HandoffFact) -> Event) {
    let fact = HandoffFact {
        id: handoff.id.clone(),
        from: handoff.from.clone(),
        to: handoff.to.clone(),
        title: handoff.title.clone(),
    };
    let scope = EventScope { task: handoff.task_id.clone(), ..EventScope::project(&handoff.project_id) };
    tx.emit(scope, event(fact));
}

/// Offers work to another role.
#[derive(Debug, Clone)]
pub struct CreateHandoff {
    /// The project.
    pub project: ProjectId,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// Who passes it on.
    pub from: String,
    /// Who gets it.
    pub to: String,
    /// What it is about, in a line.
    pub title: String,
    /// What the other needs to know.
    pub body: String,
}

impl Change for CreateHandoff {
    type Output = Handoff;

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Handoff, StoreError> {
        projects::by_id(tx, &self.project)?;
        if let Some(task) = &self.task {
            task_rows::by_id(tx, task)?;
        }
        let handoff = Handoff {
            id: tx.make_id()?,
            project_id: self.project.clone(),
            task_id: self.task.clone(),
            from: self.from.clone(),
            to: self.to.clone(),
            title: self.title.clone(),
            body: self.body.clone(),
            state: HandoffState::Pending,
            accepted_by: None,
            result: None,
            created_at: tx.now,
            accepted_at: None,
            completed_at: None,
        };
        tx.execute(
            "INSERT INTO handoffs (id, project_id, task_id, from_role, to_role, title, body, state, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            &[
                (&handoff.id).into(),
                (&handoff.project_id).into(),
                handoff.task_id.as_ref().into(),
                (&handoff.from).into(),
                (&handoff.to).into(),
                (&handoff.title).into(),
                (&handoff.body).into(),
                handoff.state.as_str().into(),
                handoff.created_at.into(),
            ],
        )?;
        emit(tx, &handoff, Event::HandoffCreated);
        Ok(handoff)
    }
}

/// Takes work that was offered; only one can.
#[derive(Debug, Clone)]
pub struct AcceptHandoff {
    /// Which hand-off.
    pub id: HandoffId,
    /// Who takes it.
    pub by: String,
}

impl Change for AcceptHandoff {
    type Output = Handoff;

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Handoff, StoreError> {
        let found = by_id(tx, &self.id)?;
        if found.state != HandoffState::Pending {
            return Err(StoreError::Rule(format!("hand-off '{}' is {} already", self.id, found.state.as_str())));
        }
        tx.execute(
            "UPDATE handoffs SET state = 'accepted', accepted_by = $1, accepted_at = $2 WHERE id = $3",
            &[(&self.by).into(), tx.now.into(), (&self.id).into()],
        )?;
        let handoff = by_id(tx, &self.id)?;
        emit(tx, &handoff, Event::HandoffAccepted);
        Ok(handoff)
    }
}

/// Says that work passed on is done.
#[derive(Debug, Clone)]
pub struct CompleteHandoff {
    /// Which hand-off.
    pub id: HandoffId,
    /// The result.
    pub result: Option<String>,
}

impl Change for CompleteHandoff {
    type Output = Handoff;

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Handoff, StoreError> {
        let found = by_id(tx, &self.id)?;
        if found.state != HandoffState::Accepted {
            let message =
                format!("hand-off '{}' is {}, and only an accepted one is completed", self.id, found.state.as_str());
            return Err(StoreError::Rule(message));
        }
        tx.execute(
            "UPDATE handoffs SET state = 'completed', result = $1, completed_at = $2 WHERE id = $3",
            &[self.result.as_ref().into(), tx.now.into(), (&self.id).into()],
        )?;
        let handoff = by_id(tx, &self.id)?;
        emit(tx, &handoff, Event::HandoffCompleted);
        Ok(handoff)
    }
}

/// One hand-off.
#[derive(Debug, Clone)]
pub struct HandoffById(
    /// Which one.
    pub HandoffId,
);

impl Query for HandoffById {
    type Output = Handoff;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Handoff, StoreError> {
        by_id(db, &self.0)
    }
}

/// Hand-offs, oldest first.
#[derive(Debug, Clone, Default)]
pub struct HandoffList {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Only those for this role.
    pub to: Option<String>,
    /// Only those with this status.
    pub state: Option<HandoffState>,
    /// Which part.
    pub page: ListPage,
}

impl Query for HandoffList {
    type Output = PageItems<Handoff>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<PageItems<Handoff>, StoreError> {
        let rows = SqlQuery::new(format!("{SELECT} WHERE ord > $1"), self.page.after)
            .only("project_id = ?", self.project.as_ref())
            .only("to_role = ?", self.to.as_ref())
            .only("state = ?", self.state.map(HandoffState::as_str))
            .page(db, self.page)?;
        self.page.list(rows, handoff)
    }
}
