//! Reports of sessions about their work. The most frequent change: few statements, however deep the tree is.

use maestro_core::Role;
use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::notice::Notice;
use maestro_core::report::ReportKind;
use maestro_core::session::{Approach, EndReason, PairStatus, SessionStatus};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::actor::{self, Actor, Reach};
use crate::change::Change;
use crate::error::{StoreError, What};
use crate::notices::{self, Notices};
use crate::sessions::{self, CreateSession};
use crate::timeline::{self, NewEntry};
use crate::tx::Tx;
use crate::{pairs, queues, tasks};

/// Whose report it is.
#[derive(Debug, Clone)]
pub enum Who {
    /// This session's.
    Session(SessionId),
    /// That of the session at work on this task; one is created if there is none.
    Task(TaskId),
    /// This session's, about this task, which must be its own.
    At {
        /// The session.
        session: SessionId,
        /// The task.
        task: TaskId,
    },
}

/// A session says how it goes. Without words it is a sign of life.
#[derive(Debug, Clone)]
pub struct Report {
    /// Whose it is.
    pub who: Who,
    /// How it goes.
    pub kind: ReportKind,
    /// In its words.
    pub message: Option<String>,
    /// About which of its tasks; none means its only one, and all of them when it is done.
    pub tasks: Vec<TaskId>,
    /// Further data to store.
    pub metadata: Option<Json>,
    /// Who makes the change.
    pub actor: Actor,
}

/// The result of a report, and the notices for its session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reported {
    /// The session.
    pub session: SessionId,
    /// Its project.
    pub project: ProjectId,
    /// Its status.
    pub status: SessionStatus,
    /// The tasks the report was about.
    pub tasks: Vec<TaskId>,
    /// What the session has not been notified of yet.
    pub news: Notices,
}

/// What a report needs to know of its session.
struct Reporter {
    id: SessionId,
    project: ProjectId,
    status: SessionStatus,
    end: Option<EndReason>,
    asks: Option<String>,
    first_notice: Option<i64>,
}

impl Change for Report {
    type Output = Reported;

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut Tx<'_>) -> Result<Reported, StoreError> {
        if let Who::At { session, task } = &self.who {
            return self.at(tx, session, task)?.apply(tx);
        }
        let id = self.session(tx)?;
        actor::own_session(tx, &self.actor, &id)?;
        let reporter = reporter(tx, &id)?;
        let bound = pairs::of_session(tx, &id)?;
        let subjects = self.subjects(tx, &id, &bound)?;
        let status = self.new_status(&reporter);
        let asks = self.asks(&reporter, status);
        touch(tx, &reporter, status, asks.as_deref())?;
        self.write_lines(tx, &reporter, &subjects)?;
        if !self.is_heartbeat() || status != reporter.status {
            let affected = self.heeded(&reporter, status, &bound, &subjects);
            self.set_pairs(tx, &reporter, &bound, &affected)?;
        }
        if status != reporter.status && status.is_over() {
            finish(tx, &id, status)?;
        } else if status != reporter.status || asks != reporter.asks {
            let session = sessions::by_id(tx, &id)?;
            sessions::note_change(tx, &session);
        }
        let news = news(tx, &reporter, status)?;
        Ok(Reported { session: id, project: reporter.project, status, tasks: subjects, news })
    }
}

impl Report {
    /// The report of a session that names one of its tasks. A report about a subtask affects only that one; one about
    /// a task of another session is refused, and never applied to its own.
    fn at(&self, tx: &mut Tx<'_>, session: &SessionId, task: &TaskId) -> Result<Self, StoreError> {
        tasks::by_id(tx, task)?;
        let below = actor::require(tx, &self.actor, task)? == Some(Reach::Below);
        let tasks = if below && self.tasks.is_empty() { vec![task.clone()] } else { self.tasks.clone() };
        Ok(Self { who: Who::Session(session.clone()), tasks, ..self.clone() })
    }

    fn session(&self, tx: &mut Tx<'_>) -> Result<SessionId, StoreError> {
        match &self.who {
            Who::Session(session) | Who::At { session, .. } => Ok(session.clone()),
            Who::Task(task) => match self.afterthought(tx, task)? {
                Some(session) => Ok(session),
                None => session_of(tx, task),
            },
        }
    }

    /// The session that last completed the task, when the report repeats that or is about subtasks only: it starts no
    /// new session.
    fn afterthought(&self, tx: &mut Tx<'_>, task: &TaskId) -> Result<Option<SessionId>, StoreError> {
        let again = self.kind == ReportKind::Complete && self.tasks.is_empty();
        let beside = !self.tasks.is_empty() && !self.tasks.contains(task);
        if !again && !beside {
            return Ok(None);
        }
        let last = tx.row(
            "SELECT sessions.id, sessions.status FROM sessions \
             JOIN task_sessions ON task_sessions.session_id = sessions.id \
             WHERE task_sessions.task_id = $1 ORDER BY sessions.ord DESC LIMIT 1",
            &[task.into()],
        )?;
        let Some(mut row) = last else { return Ok(None) };
        let (id, status): (SessionId, SessionStatus) = (row.parsed()?, row.parsed()?);
        Ok((status == SessionStatus::Completed).then_some(id))
    }

    /// Whether it only says that the session is alive.
    fn is_heartbeat(&self) -> bool {
        self.kind == ReportKind::Progress && self.message.is_none()
    }

    /// The tasks it is about: those named; else the only one there is; and when the session is done, all of them but
    /// for those whose turn in its queue never came.
    fn subjects(
        &self,
        tx: &mut Tx<'_>,
        id: &SessionId,
        bound: &[(TaskId, Option<PairStatus>)],
    ) -> Result<Vec<TaskId>, StoreError> {
        if !self.tasks.is_empty() {
            tasks::hold(tx, &self.tasks)?;
            let mut named = Vec::new();
            for task in &self.tasks {
                tasks::by_id(tx, task)?;
                actor::require(tx, &self.actor, task)?;
                if !named.contains(task) {
                    named.push(task.clone());
                }
            }
            return Ok(named);
        }
        let all = bound.iter().map(|(task, _)| task.clone());
        if self.kind == ReportKind::Complete {
            let waiting = queues::waiting(tx, id)?;
            return Ok(all.filter(|task| !waiting.contains(task)).collect());
        }
        Ok(if bound.len() == 1 { all.collect() } else { Vec::new() })
    }

    /// The new status of the session. A session that fell silent is revived; one that was paused or cancelled is not.
    fn new_status(&self, reporter: &Reporter) -> SessionStatus {
        let done = self.kind == ReportKind::Complete && self.tasks.is_empty();
        match reporter.status {
            ended if ended.is_over() && !sessions::may_come_back(ended, reporter.end) => ended,
            _ if done => SessionStatus::Completed,
            SessionStatus::Paused => SessionStatus::Paused,
            _ => SessionStatus::Working,
        }
    }

    /// The tasks that it changes. Reports of a session that was ended are only recorded; one that completed may still
    /// complete the subtasks it names.
    fn heeded(
        &self,
        reporter: &Reporter,
        status: SessionStatus,
        bound: &[(TaskId, Option<PairStatus>)],
        subjects: &[TaskId],
    ) -> Vec<TaskId> {
        if !status.is_over() || status != reporter.status {
            return subjects.to_vec();
        }
        if status != SessionStatus::Completed || self.kind != ReportKind::Complete {
            return Vec::new();
        }
        subjects.iter().filter(|task| bound.iter().all(|(own, _)| own != *task)).cloned().collect()
    }

    /// What the session asks of a person from now on; a sign of life answers nothing.
    fn asks(&self, reporter: &Reporter, status: SessionStatus) -> Option<String> {
        match self.kind {
            _ if status.is_over() => None,
            ReportKind::NeedsInput => Some(self.words()),
            _ if self.is_heartbeat() => reporter.asks.clone(),
            _ => None,
        }
    }

    fn words(&self) -> String {
        match (&self.message, self.kind) {
            (Some(message), _) => message.clone(),
            (None, ReportKind::Complete) => "Completed".to_owned(),
            (None, other) => other.to_string(),
        }
    }

    fn write_lines(&self, tx: &mut Tx<'_>, reporter: &Reporter, subjects: &[TaskId]) -> Result<(), StoreError> {
        if self.is_heartbeat() {
            return Ok(());
        }
        let words = self.words();
        let line = |task: Option<&TaskId>| NewEntry {
            kind: self.kind.entry_kind(),
            message: words.clone(),
            task: task.cloned(),
            metadata: self.metadata.clone(),
        };
        if subjects.is_empty() {
            return timeline::add(tx, &reporter.project, &reporter.id, &line(None));
        }
        subjects.iter().try_for_each(|task| timeline::add(tx, &reporter.project, &reporter.id, &line(Some(task))))
    }

    fn set_pairs(
        &self,
        tx: &mut Tx<'_>,
        reporter: &Reporter,
        bound: &[(TaskId, Option<PairStatus>)],
        subjects: &[TaskId],
    ) -> Result<(), StoreError> {
        let status = self.kind.pair_status();
        tasks::hold(tx, subjects)?;
        for task in subjects {
            match bound.iter().find(|(id, _)| id == task) {
                Some((_, before)) if *before == Some(status) => {}
                // Going on with what was said to be done is a remark, not a change of mind.
                Some((_, Some(PairStatus::Completed))) if self.kind == ReportKind::Progress => {}
                Some(_) => {
                    pairs::update(tx, task, &reporter.id, status)?;
                    pairs::changed(tx, task, &reporter.id)?;
                }
                None => below(tx, task, self.kind, &reporter.id)?,
            }
        }
        Ok(())
    }
}

/// A report about a subtask moves the subtask itself, since no session is bound to it.
fn below(tx: &mut Tx<'_>, task: &TaskId, kind: ReportKind, by: &SessionId) -> Result<(), StoreError> {
    use maestro_core::task::TaskStatus;
    let mut subtask = tasks::by_id(tx, task)?;
    let status = match kind {
        ReportKind::Complete => TaskStatus::Completed,
        ReportKind::Blocked | ReportKind::Error => TaskStatus::Blocked,
        ReportKind::Progress | ReportKind::NeedsInput => TaskStatus::InProgress,
    };
    // Words about what is done are a remark here too, not a change of mind.
    let remark = kind == ReportKind::Progress && subtask.status.is_closed();
    if remark || subtask.status == status || !subtask.status.may_become(status) {
        return Ok(());
    }
    subtask.status = status;
    tasks::save(tx, &mut subtask)?;
    tasks::set_by_hand(tx, &subtask.id, false)?;
    let by = Actor::Session { id: by.clone(), role: Role::Worker };
    tasks::note_progress(tx, &subtask, &["status"], &by);
    match &subtask.parent {
        Some(parent) => pairs::settle(tx, parent),
        None => Ok(()),
    }
}

fn reporter(tx: &mut Tx<'_>, id: &SessionId) -> Result<Reporter, StoreError> {
    let sql = format!(
        "SELECT project_id, status, end_reason, needs_input, \
         (SELECT min(ord) FROM notices WHERE notices.session_id = sessions.id) FROM sessions WHERE id = $1{}",
        tx.held()
    );
    let found = tx.row(&sql, &[id.into()])?;
    let mut row = found.ok_or_else(|| StoreError::not_found(What::Session, id))?;
    Ok(Reporter {
        id: id.clone(),
        project: row.parsed()?,
        status: row.parsed()?,
        end: row.maybe_parsed()?,
        asks: row.maybe_text()?,
        first_notice: row.maybe_int()?,
    })
}

fn touch(tx: &mut Tx<'_>, reporter: &Reporter, status: SessionStatus, asks: Option<&str>) -> Result<(), StoreError> {
    if status.is_over() || (status == reporter.status && asks == reporter.asks.as_deref()) {
        let sql = "UPDATE sessions SET last_activity = $1 WHERE id = $2";
        tx.execute(sql, &[tx.now.into(), (&reporter.id).into()])?;
        return Ok(());
    }
    tx.execute(
        "UPDATE sessions SET last_activity = $1, status = $2, end_reason = NULL, needs_input = $3, \
         completed_at = NULL, revision = revision + 1 WHERE id = $4",
        &[tx.now.into(), status.as_str().into(), asks.into(), (&reporter.id).into()],
    )?;
    Ok(())
}

/// Ends a session that says it is done.
fn finish(tx: &mut Tx<'_>, id: &SessionId, status: SessionStatus) -> Result<(), StoreError> {
    let mut session = sessions::by_id(tx, id)?;
    if session.status.is_over() {
        // It had been given up, and comes back with its work done.
        session.status = SessionStatus::Working;
    }
    sessions::become_status(tx, &mut session, status, None)
}

fn news(tx: &mut Tx<'_>, reporter: &Reporter, status: SessionStatus) -> Result<Notices, StoreError> {
    let mut news = if reporter.first_notice.is_some() { notices::of(tx, &reporter.id)? } else { Notices::default() };
    // A pause or cancellation is repeated with every reply.
    let standing = match (status, reporter.end) {
        (SessionStatus::Paused, _) => Some(Notice::Paused),
        (SessionStatus::Stopped, Some(EndReason::Cancelled)) => Some(Notice::Cancelled),
        _ => None,
    };
    if let Some(standing) = standing.filter(|standing| !news.notices.contains(standing)) {
        news.notices.push(standing);
    }
    Ok(news)
}

/// The youngest living session at work on a task; else one that fell silent and is revived, or one that was
/// cancelled and was not notified yet. One is created if there is none.
fn session_of(tx: &mut Tx<'_>, task: &TaskId) -> Result<SessionId, StoreError> {
    let task = tasks::by_id(tx, task)?;
    let found = tx.row(
        "SELECT sessions.id FROM sessions JOIN task_sessions ON task_sessions.session_id = sessions.id \
         WHERE task_sessions.task_id = $1 AND (sessions.status NOT IN ('completed', 'failed', 'stopped') \
           OR sessions.end_reason = 'silence' \
           OR (sessions.end_reason = 'cancelled' \
             AND EXISTS (SELECT 1 FROM notices WHERE notices.session_id = sessions.id))) \
         ORDER BY CASE WHEN sessions.end_reason IS NULL THEN 0 ELSE 1 END, sessions.ord DESC LIMIT 1",
        &[(&task.id).into()],
    )?;
    if let Some(mut row) = found {
        return row.parsed();
    }
    let mut metadata = Map::new();
    metadata.insert("spawnSource".to_owned(), "cli".into());
    let create = CreateSession {
        id: None,
        project: task.project,
        name: Some(format!("Session for {}", task.title.chars().take(80).collect::<String>())),
        tasks: vec![task.id],
        role: Role::Worker,
        agent: None,
        strategy: Approach::Simple,
        status: SessionStatus::Idle,
        env: Map::new(),
        metadata,
        parent: None,
        hostname: String::new(),
        platform: std::env::consts::OS.to_owned(),
    };
    Ok(create.apply(tx)?.id)
}
