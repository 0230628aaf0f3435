//! Reports of sessions about their work. The most frequent change: few statements, however deep the tree is.

use maestro_core::SessionRole;
use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::notice::SessionNotice;
use maestro_core::report::ReportKind;
use maestro_core::session::{Approach, EndReason, SessionStatus, TaskSessionStatus};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::access::{self, TaskAccess};
use crate::actor::Actor;
use crate::change::Change;
use crate::completion::{self, CompletionExtent};
use crate::error::{RecordKind, StoreError};
use crate::notices::{self, PendingNotices};
use crate::sessions::CreateSession;
use crate::timeline::{self, NewTimelineEntry};
use crate::tx::ChangeTx;
use crate::{queue_rows, session_rows, session_status, task_rollup, task_rows, task_session_rows, waiting};

/// How exact the time of a session's last activity is, in milliseconds: what a session says has its own time, and its row, a
/// page of the file, is not written for less.
const ACTIVITY_GRAIN: i64 = 1000;

/// Whose report it is.
#[derive(Debug, Clone)]
pub enum ReportSource {
    /// This session's.
    Session(SessionId),
    /// That of the session at work on this task; one is created if there is none.
    Task(TaskId),
    /// This session's, about this task, which must be its own.
    SessionTask {
        /// The session.
        session: SessionId,
        /// The task.
        task: TaskId,
    },
}

/// A session says how it goes. Without words it is a sign of life.
#[derive(Debug, Clone)]
pub struct SubmitReport {
    /// Whose it is.
    pub source: ReportSource,
    /// How it goes.
    pub kind: ReportKind,
    /// In its words.
    pub message: Option<String>,
    /// About which of its tasks; none means its only one, and all of them when it is done.
    pub tasks: Vec<TaskId>,
    /// Further data to store.
    pub metadata: Option<Json>,
    /// What becomes of the question that it asked before.
    pub question: QuestionFate,
    /// Who makes the change.
    pub actor: Actor,
}

/// What a report does to the open question of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QuestionFate {
    /// It stays until it is answered.
    #[default]
    Stays,
    /// The session takes it back.
    Withdrawn,
}

/// The result of a report, and the notices for its session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportResult {
    /// The session.
    pub session: SessionId,
    /// Its project.
    pub project: ProjectId,
    /// Its status.
    pub status: SessionStatus,
    /// The tasks the report was about.
    pub tasks: Vec<TaskId>,
    /// What the session has not been notified of yet.
    pub news: PendingNotices,
}

/// What a report needs to know of its session.
struct ReporterSession {
    id: SessionId,
    project: ProjectId,
    status: SessionStatus,
    end: Option<EndReason>,
    question: Option<String>,
    /// Whether words for it came after it asked.
    answered: bool,
    first_notice: Option<i64>,
    last_activity: i64,
}

impl Change for SubmitReport {
    type Output = ReportResult;

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<ReportResult, StoreError> {
        if let ReportSource::SessionTask { session, task } = &self.source {
            return self.for_task(tx, session, task)?.apply(tx);
        }
        let id = self.session(tx)?;
        access::require_session_access(tx, &self.actor, &id)?;
        let reporter = reporter(tx, &id)?;
        let bound = task_session_rows::of_session(tx, &id)?;
        let subjects = self.subjects(tx, &id, &bound)?;
        let status = self.new_status(&reporter);
        if self.kind == ReportKind::Complete && (!status.is_over() || status != reporter.status) {
            let extent = if self.tasks.is_empty() { CompletionExtent::Session } else { CompletionExtent::NamedTasks };
            completion::require_finished(tx, extent, &bound, &subjects)?;
            if extent == CompletionExtent::Session {
                completion::require_verdict(tx, &id)?;
            }
        }
        let asks = self.new_question(&reporter, status);
        touch(tx, &reporter, status, asks.as_deref())?;
        self.write_lines(tx, &reporter, &subjects)?;
        if !self.is_heartbeat() || status != reporter.status {
            let affected = self.affected_tasks(&reporter, status, &bound, &subjects);
            self.set_task_sessions(tx, &reporter, &bound, &affected)?;
        }
        if status != reporter.status && status.is_over() {
            finish(tx, &id, status)?;
        } else if status != reporter.status || asks != reporter.question {
            let session = session_rows::by_id(tx, &id)?;
            session_rows::note_change(tx, &session);
        }
        let news = pending_notices(tx, &reporter, status)?;
        Ok(ReportResult { session: id, project: reporter.project, status, tasks: subjects, news })
    }
}

impl SubmitReport {
    /// The report of a session that names one of its tasks. A report about a subtask affects only that one; one about
    /// a task of another session is refused, and never applied to its own.
    fn for_task(&self, tx: &mut ChangeTx<'_>, session: &SessionId, task: &TaskId) -> Result<Self, StoreError> {
        task_rows::by_id(tx, task)?;
        let below = access::require_task_access(tx, &self.actor, task)? == Some(TaskAccess::Subtask);
        let tasks = if below && self.tasks.is_empty() { vec![task.clone()] } else { self.tasks.clone() };
        Ok(Self { source: ReportSource::Session(session.clone()), tasks, ..self.clone() })
    }

    fn session(&self, tx: &mut ChangeTx<'_>) -> Result<SessionId, StoreError> {
        match &self.source {
            ReportSource::Session(session) | ReportSource::SessionTask { session, .. } => Ok(session.clone()),
            ReportSource::Task(task) => match self.completed_session(tx, task)? {
                Some(session) => Ok(session),
                None => session_of(tx, task),
            },
        }
    }

    /// The session that last completed the task, when the report repeats that or is about subtasks only: it starts no
    /// new session.
    fn completed_session(&self, tx: &mut ChangeTx<'_>, task: &TaskId) -> Result<Option<SessionId>, StoreError> {
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
    /// for those whose turn in its queue never came and those that it said it could not do.
    fn subjects(
        &self,
        tx: &mut ChangeTx<'_>,
        id: &SessionId,
        bound: &[(TaskId, Option<TaskSessionStatus>)],
    ) -> Result<Vec<TaskId>, StoreError> {
        if !self.tasks.is_empty() {
            task_rows::lock_tasks(tx, &self.tasks)?;
            let mut named = Vec::new();
            for task in &self.tasks {
                task_rows::by_id(tx, task)?;
                access::require_task_access(tx, &self.actor, task)?;
                if !named.contains(task) {
                    named.push(task.clone());
                }
            }
            return Ok(named);
        }
        let all = bound.iter().map(|(task, _)| task.clone());
        if self.kind == ReportKind::Complete {
            let waiting = queue_rows::waiting(tx, id)?;
            let stuck = |status| matches!(status, Some(TaskSessionStatus::Blocked | TaskSessionStatus::Failed));
            let left = bound.iter().filter(|(task, status)| !waiting.contains(task) && !stuck(*status));
            return Ok(left.map(|(task, _)| task.clone()).collect());
        }
        Ok(if bound.len() == 1 { all.collect() } else { Vec::new() })
    }

    /// The new status of the session. A session that fell silent is revived; one that was paused or cancelled is not.
    fn new_status(&self, reporter: &ReporterSession) -> SessionStatus {
        let done = self.kind == ReportKind::Complete && self.tasks.is_empty();
        match reporter.status {
            ended if ended.is_over() && !session_rows::can_revive(ended, reporter.end) => ended,
            _ if done => SessionStatus::Completed,
            SessionStatus::Paused => SessionStatus::Paused,
            _ => SessionStatus::Working,
        }
    }

    /// The tasks that it changes. Reports of a session that was ended are only recorded; one that completed may still
    /// complete the subtasks it names.
    fn affected_tasks(
        &self,
        reporter: &ReporterSession,
        status: SessionStatus,
        bound: &[(TaskId, Option<TaskSessionStatus>)],
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

    /// What the session asks of a person from now on. A question stays until it is answered or taken back, also when
    /// the session goes on; what blocks it is one, too.
    fn new_question(&self, reporter: &ReporterSession, status: SessionStatus) -> Option<String> {
        match self.kind {
            _ if status.is_over() || self.question == QuestionFate::Withdrawn => None,
            ReportKind::NeedsInput | ReportKind::Blocked => Some(self.message_text()),
            _ if self.is_heartbeat() || !reporter.answered => reporter.question.clone(),
            _ => None,
        }
    }

    fn message_text(&self) -> String {
        match (&self.message, self.kind) {
            (Some(message), _) => message.clone(),
            (None, ReportKind::Complete) => "Completed".to_owned(),
            (None, other) => other.to_string(),
        }
    }

    fn write_lines(
        &self,
        tx: &mut ChangeTx<'_>,
        reporter: &ReporterSession,
        subjects: &[TaskId],
    ) -> Result<(), StoreError> {
        if self.is_heartbeat() {
            return Ok(());
        }
        let words = self.message_text();
        let line = |task: Option<&TaskId>| NewTimelineEntry {
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

    fn set_task_sessions(
        &self,
        tx: &mut ChangeTx<'_>,
        reporter: &ReporterSession,
        bound: &[(TaskId, Option<TaskSessionStatus>)],
        subjects: &[TaskId],
    ) -> Result<(), StoreError> {
        let status = self.kind.task_session_status();
        task_rows::lock_tasks(tx, subjects)?;
        for task in subjects {
            match bound.iter().find(|(id, _)| id == task) {
                Some((_, before)) if *before == Some(status) => {}
                // Going on with what was said to be done is a remark, not a change of mind.
                Some((_, Some(TaskSessionStatus::Completed))) if self.kind == ReportKind::Progress => {}
                Some(_) => {
                    task_session_rows::update(tx, task, &reporter.id, status)?;
                    task_rollup::record_change(tx, task, &reporter.id)?;
                }
                None => update_subtask(tx, task, self.kind, &reporter.id)?,
            }
        }
        Ok(())
    }
}

/// A report about a subtask moves the subtask itself, since no session is bound to it.
fn update_subtask(tx: &mut ChangeTx<'_>, task: &TaskId, kind: ReportKind, by: &SessionId) -> Result<(), StoreError> {
    use maestro_core::task::TaskStatus;
    let mut subtask = task_rows::by_id(tx, task)?;
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
    task_rows::save(tx, &mut subtask)?;
    task_rows::set_manual_status(tx, &subtask.id, false)?;
    let by = Actor::Session { id: by.clone(), role: SessionRole::Worker };
    task_rows::note_progress(tx, &subtask, &["status"], &by);
    match &subtask.parent {
        Some(parent) => task_rollup::roll_up_task(tx, parent),
        None => Ok(()),
    }
}

fn reporter(tx: &mut ChangeTx<'_>, id: &SessionId) -> Result<ReporterSession, StoreError> {
    let sql = format!(
        "SELECT project_id, status, end_reason, needs_input, last_activity, \
         (SELECT min(ord) FROM notices WHERE notices.session_id = sessions.id) FROM sessions WHERE id = $1{}",
        tx.lock_clause()
    );
    let found = tx.row(&sql, &[id.into()])?;
    let mut row = found.ok_or_else(|| StoreError::not_found(RecordKind::Session, id))?;
    let (project, status, end) = (row.parsed()?, row.parsed()?, row.maybe_parsed()?);
    let question = row.maybe_text()?;
    let (last_activity, first_notice) = (row.int()?, row.maybe_int()?);
    // Few sessions wait for an answer, and all report.
    let answered = match question {
        Some(_) => {
            tx.number(
                &format!("SELECT count(*) FROM sessions WHERE id = $1 AND {}", waiting::answered()),
                &[id.into()],
            )? > 0
        }
        None => false,
    };
    Ok(ReporterSession { id: id.clone(), project, status, end, question, answered, first_notice, last_activity })
}

fn touch(
    tx: &mut ChangeTx<'_>,
    reporter: &ReporterSession,
    status: SessionStatus,
    asks: Option<&str>,
) -> Result<(), StoreError> {
    if status.is_over() || (status == reporter.status && asks == reporter.question.as_deref()) {
        if (0..ACTIVITY_GRAIN).contains(&(tx.now - reporter.last_activity)) {
            return Ok(());
        }
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
fn finish(tx: &mut ChangeTx<'_>, id: &SessionId, status: SessionStatus) -> Result<(), StoreError> {
    let mut session = session_rows::by_id(tx, id)?;
    if session.status.is_over() {
        // It had been given up, and comes back with its work done.
        session.status = SessionStatus::Working;
    }
    session_status::set_status(tx, &mut session, status, None)
}

fn pending_notices(
    tx: &mut ChangeTx<'_>,
    reporter: &ReporterSession,
    status: SessionStatus,
) -> Result<PendingNotices, StoreError> {
    let mut news =
        if reporter.first_notice.is_some() { notices::pending(tx, &reporter.id)? } else { PendingNotices::default() };
    // A pause or cancellation is repeated with every reply.
    let standing = match (status, reporter.end) {
        (SessionStatus::Paused, _) => Some(SessionNotice::Paused),
        (SessionStatus::Stopped, Some(EndReason::Cancelled)) => Some(SessionNotice::Cancelled),
        _ => None,
    };
    if let Some(standing) = standing.filter(|standing| !news.notices.contains(standing)) {
        news.notices.push(standing);
    }
    Ok(news)
}

/// The youngest living session at work on a task, or one that fell silent and is revived. Else the last one stays the speaker
/// if it was cancelled, or if it completed the task; its words are recorded and change nothing. One is created where there
/// is none.
fn session_of(tx: &mut ChangeTx<'_>, task: &TaskId) -> Result<SessionId, StoreError> {
    let task = task_rows::by_id(tx, task)?;
    let found = tx.row(
        "SELECT sessions.id FROM sessions JOIN task_sessions ON task_sessions.session_id = sessions.id \
         WHERE task_sessions.task_id = $1 AND (sessions.status IN ('spawning', 'idle', 'working', 'paused') \
           OR sessions.end_reason = 'silence') \
         ORDER BY CASE WHEN sessions.end_reason IS NULL THEN 0 ELSE 1 END, sessions.ord DESC LIMIT 1",
        &[(&task.id).into()],
    )?;
    if let Some(mut row) = found {
        return row.parsed();
    }
    if let Some(last) = completion::last_speaker(tx, &task)? {
        return Ok(last);
    }
    let mut metadata = Map::new();
    metadata.insert("spawnSource".to_owned(), "cli".into());
    let create = CreateSession {
        id: None,
        project: task.project,
        name: Some(format!("Session for {}", task.title.chars().take(80).collect::<String>())),
        tasks: vec![task.id],
        role: SessionRole::Worker,
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
