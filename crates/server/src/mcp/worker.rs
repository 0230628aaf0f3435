//! Reports of a working agent: the five worker tools; each answers with what changed.
//!
//! All of them may be repeated: a repeated message is a heartbeat, and a completed subtask stays so.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use maestro_core::report::ReportKind;
use maestro_core::session::SessionStatus;
use maestro_core::task::TaskStatus;
use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::client::ToolCaller;
use super::tools::{ToolFailure, put, tool_result};
use super::{McpHandler, clipped};
use maestro_api::fields::PageQuery;
use maestro_api::reports::{self, NewReport, NoticeConfirmation, ReportReply};
use maestro_api::tasks::{self, DepthQuery, TaskBody, TaskQuery};
use maestro_api::{ApiRequest, ClientError};
use serde::Serialize;

pub(super) const INFO: &str = "Use when you begin, and when something changed. Returns your task, its subtasks and what changed since your last call.";
pub(super) const PROGRESS: &str =
    "Use when a part is done or another begins. Shows it to the user; the answer says what changed meanwhile.";
pub(super) const SUBTASK: &str = "Use when a subtask is done. Marks it so.";
pub(super) const COMPLETION: &str = "Use when all your work is done and checked. Ends your session.";
pub(super) const BLOCKER: &str = "Use when you cannot continue without help. Tells the user why.";

/// For how many sessions the last message and reply are remembered.
const MOST: usize = 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskInfoArgs {
    task_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgressArgs {
    message: String,
    task_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SubtaskDoneArgs {
    #[serde(alias = "subtask_id")]
    subtask_id: String,
    #[serde(rename = "task_id")]
    task_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CompletionArgs {
    message: Option<String>,
    task_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlockerArgs {
    reason: String,
    task_id: Option<String>,
}

/// The last messages and replies of sessions. A further call shows that the session received the previous reply; only
/// then is it confirmed, so that lost replies are sent again.
#[derive(Default)]
pub(super) struct ReportMemory {
    last: Mutex<BTreeMap<ReportTarget, LastReport>>,
}

#[derive(Clone)]
struct LastReport {
    said: ReportContent,
    /// The key under which a repeated message is carried out once.
    key: String,
    session: String,
    /// The state of that session then.
    status: SessionStatus,
    confirmed: i64,
}

/// A message: its kind, its task, and the hash of its text.
#[derive(Clone, PartialEq, Eq)]
struct ReportContent {
    kind: ReportKind,
    task: Option<String>,
    words: Option<u64>,
}

impl ReportMemory {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ReportTarget, LastReport>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, place: &ReportTarget) -> Option<LastReport> {
        self.lock().get(place).cloned()
    }

    fn note(&self, place: &ReportTarget, last: LastReport) {
        let mut known = self.lock();
        if known.len() >= MOST && !known.contains_key(place) {
            known.clear();
        }
        known.insert(place.clone(), last);
    }
}

/// The target of reports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum ReportTarget {
    /// A session.
    Session(String),
    /// The session that works on a task.
    Task(String),
}

impl ReportTarget {
    fn report(&self, report: &NewReport) -> ApiRequest<ReportReply> {
        match self {
            Self::Session(id) => reports::of_session(id, report),
            Self::Task(id) => reports::of_task(id, report),
        }
    }
}

/// The caller: a session, or the session of a task.
struct WorkerReporter<'s> {
    mcp: &'s McpHandler,
    who: &'s ToolCaller,
    place: ReportTarget,
    /// The task that was named beside a session.
    task: Option<String>,
}

impl<'s> WorkerReporter<'s> {
    fn of(mcp: &'s McpHandler, who: &'s ToolCaller, task: Option<String>) -> Result<Self, ToolFailure> {
        let session = who.session().or_else(|| mcp.parts.session.clone());
        let (place, task) = match (session, task, &mcp.parts.task) {
            (Some(session), task, _) => (ReportTarget::Session(session), task),
            (None, Some(task), _) => (ReportTarget::Task(task), None),
            (None, None, Some(task)) => (ReportTarget::Task(task.clone()), None),
            (None, None, None) => {
                let help = "no task set; pass `task_id`, or set MAESTRO_TASK_ID for this server";
                return Err(ToolFailure::Message(help.to_owned()));
            }
        };
        Ok(Self { mcp, who, place, task })
    }

    /// Sends a report, after the previous reply was confirmed. A repeated message is a heartbeat, or has already been
    /// recorded.
    async fn report(
        &self,
        kind: ReportKind,
        message: Option<&str>,
        about: Option<&str>,
    ) -> Result<ReportReply, ClientError> {
        let (api, known) = (self.mcp.api(), &self.mcp.parts.reports);
        let last = known.of(&self.place);
        if let Some(last) = last.as_ref().filter(|last| last.confirmed > 0) {
            let confirmation = NoticeConfirmation {
                notice_cursor: Some(last.confirmed),
                how: Some("reply to a tool call".to_owned()),
            };
            // Unconfirmed notices are sent again.
            let _ = api.call(self.who, reports::confirm(&last.session, &confirmation)).await;
        }
        let task = about.or(self.task.as_deref());
        let said = ReportContent { kind, task: task.map(str::to_owned), words: message.map(hash) };
        let repeated = last.as_ref().filter(|last| last.said == said && said.words.is_some());
        let message = message.filter(|_| repeated.is_none() || kind != ReportKind::Progress);
        let key = match repeated.filter(|_| kind != ReportKind::Progress) {
            Some(last) => last.key.clone(),
            None => uuid::Uuid::now_v7().to_string(),
        };
        let report = NewReport {
            kind: Some(kind.to_string()),
            message: message.map(str::to_owned),
            task_ids: Some(task.into_iter().map(str::to_owned).collect()),
            ..NewReport::default()
        };
        let place = self.target(last.as_ref().filter(|_| repeated.is_none())).await?;
        let answer = api.call(self.who, place.report(&report).under_key(key.as_str())).await?;
        let (session, status, confirmed) =
            (answer.session_id.clone(), answer.session_status, answer.news.notice_cursor);
        known.note(&self.place, LastReport { said, key, session, status, confirmed });
        Ok(answer)
    }

    /// Where a report goes. What comes late to a task that is done goes to the session that did it, and starts no other.
    async fn target(&self, last: Option<&LastReport>) -> Result<ReportTarget, ClientError> {
        if let (ReportTarget::Task(task), Some(last)) = (&self.place, last)
            && last.status.is_over()
            && self.mcp.api().call(self.who, tasks::get(task)).await?.status.is_closed()
        {
            return Ok(ReportTarget::Session(last.session.clone()));
        }
        Ok(self.place.clone())
    }

    /// The session's tasks, each with everything below it.
    async fn tasks(&self, session: &str) -> Result<Vec<SessionTask>, ClientError> {
        let query = TaskQuery { session_id: Some(session.to_owned()), ..TaskQuery::default() };
        let page = PageQuery { limit: Some(100), cursor: None };
        let mut own = Vec::new();
        for task in self.mcp.api().call(self.who, tasks::list(&query).with_query(&page)).await? {
            let below = tasks::children(&task.id, DepthQuery { recursive: Some(true) });
            own.push(SessionTask { below: self.mcp.api().call(self.who, below).await?, task });
        }
        Ok(own)
    }
}

/// A task of a session with everything below it.
struct SessionTask {
    task: TaskBody,
    below: Vec<TaskBody>,
}

pub(super) async fn info(
    mcp: &McpHandler,
    who: &ToolCaller,
    args: TaskInfoArgs,
) -> Result<CallToolResult, ToolFailure> {
    let speaker = WorkerReporter::of(mcp, who, args.task_id)?;
    // The notices first: a change during the rest of the reads is sent twice rather than never.
    let answer = speaker.report(ReportKind::Progress, None, None).await?;
    let tasks = speaker.tasks(&answer.session_id).await?;
    let mut text = String::new();
    for task in &tasks {
        let SessionTask { task, below } = task;
        let _ = writeln!(text, "Task {}", line(task));
        if !task.description.trim().is_empty() {
            let _ = writeln!(text, "{}", task.description.trim());
        }
        for subtask in below {
            let _ = writeln!(text, "- {}", line(subtask));
            for line in subtask.description.trim().lines() {
                let _ = writeln!(text, "{}", format!("  {line}").trim_end());
            }
        }
    }
    if tasks.is_empty() {
        text.push_str("You have no task.\n");
    }
    let data = json!({ "tasks": tasks.iter().map(TaskDetails::of).collect::<Vec<_>>() });
    Ok(tool_answer(text, data, &answer))
}

pub(super) async fn progress(
    mcp: &McpHandler,
    who: &ToolCaller,
    args: ProgressArgs,
) -> Result<CallToolResult, ToolFailure> {
    let message = require_text(&args.message, "message")?;
    let answer = WorkerReporter::of(mcp, who, args.task_id)?.report(ReportKind::Progress, Some(message), None).await?;
    Ok(tool_answer("Reported.\n".to_owned(), json!({}), &answer))
}

pub(super) async fn subtask(
    mcp: &McpHandler,
    who: &ToolCaller,
    args: SubtaskDoneArgs,
) -> Result<CallToolResult, ToolFailure> {
    let speaker = WorkerReporter::of(mcp, who, args.task_id)?;
    let id = args.subtask_id.trim();
    let mut task = match mcp.api().call(who, tasks::get(id)).await {
        Ok(task) if task.parent_id.is_some() => task,
        Err(error) if !error.is_not_found() => return Err(error.into()),
        _ => return Err(ToolFailure::Message(other_subtasks(&speaker, id).await?)),
    };
    let (text, answer) = if task.status.is_closed() {
        (format!("Already done: {}\n", line(&task)), speaker.report(ReportKind::Progress, None, None).await?)
    } else {
        let answer = speaker.report(ReportKind::Complete, None, Some(id)).await?;
        task.status = TaskStatus::Completed;
        (format!("Completed: {}\n", line(&task)), answer)
    };
    Ok(tool_answer(text, json!({ "subtaskId": id }), &answer))
}

/// The error for an unknown subtask: the existing ones.
async fn other_subtasks(speaker: &WorkerReporter<'_>, id: &str) -> Result<String, ToolFailure> {
    let answer = speaker.report(ReportKind::Progress, None, None).await?;
    let tasks = speaker.tasks(&answer.session_id).await?;
    let below = tasks.iter().flat_map(|own| &own.below);
    let known: Vec<String> = below.map(|subtask| format!("- {}", line(subtask))).collect();
    Ok(match known.as_slice() {
        [] => format!("`{id}` is not a subtask of yours; you have none"),
        known => format!("`{id}` is not a subtask of yours; you have\n{}", known.join("\n")),
    })
}

pub(super) async fn completion(
    mcp: &McpHandler,
    who: &ToolCaller,
    args: CompletionArgs,
) -> Result<CallToolResult, ToolFailure> {
    let speaker = WorkerReporter::of(mcp, who, args.task_id)?;
    let message = args.message.as_deref().map(str::trim).filter(|message| !message.is_empty());
    // What is open is refused, with its names.
    let answer = speaker.report(ReportKind::Complete, message, None).await?;
    let open: [&str; 0] = [];
    Ok(tool_answer("Reported as complete.\n".to_owned(), json!({ "open_subtasks": open }), &answer))
}

pub(super) async fn blocker(
    mcp: &McpHandler,
    who: &ToolCaller,
    args: BlockerArgs,
) -> Result<CallToolResult, ToolFailure> {
    let reason = require_text(&args.reason, "reason")?;
    let answer = WorkerReporter::of(mcp, who, args.task_id)?.report(ReportKind::Blocked, Some(reason), None).await?;
    Ok(tool_answer("Reported as blocked.\n".to_owned(), json!({}), &answer))
}

fn require_text<'w>(text: &'w str, name: &str) -> Result<&'w str, ToolFailure> {
    let text = text.trim();
    if text.is_empty() {
        Err(ToolFailure::Message(format!("`{name}` is empty; say it in a sentence")))
    } else {
        Ok(text)
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// A task on a line.
fn line(task: &TaskBody) -> String {
    format!("{} [{}] {}", task.id, task.status, clipped(&task.title, 200))
}

/// A task as a program reads it in a list.
#[derive(Serialize)]
struct TaskOutline<'t> {
    id: &'t str,
    title: &'t str,
    status: TaskStatus,
}

impl<'t> TaskOutline<'t> {
    fn of(task: &'t TaskBody) -> Self {
        Self { id: &task.id, title: &task.title, status: task.status }
    }
}

/// The fields of a task that a program needs.
#[derive(Serialize)]
struct TaskDetails<'t> {
    #[serde(flatten)]
    brief: TaskOutline<'t>,
    description: &'t str,
    subtasks: Vec<SubtaskDetails<'t>>,
}

/// A subtask with what is to be done.
#[derive(Serialize)]
struct SubtaskDetails<'t> {
    #[serde(flatten)]
    brief: TaskOutline<'t>,
    description: &'t str,
}

impl<'t> TaskDetails<'t> {
    fn of(SessionTask { task, below }: &'t SessionTask) -> Self {
        let subtask =
            |task: &'t TaskBody| SubtaskDetails { brief: TaskOutline::of(task), description: &task.description };
        let subtasks = below.iter().map(subtask).collect();
        Self { brief: TaskOutline::of(task), description: &task.description, subtasks }
    }
}

/// The answer of a tool, with what changed since the session's last call.
fn tool_answer(mut text: String, mut data: Json, answer: &ReportReply) -> CallToolResult {
    if answer.session_status == SessionStatus::Stopped {
        "Recorded. Your session has ended, so nothing changes.\n".clone_into(&mut text);
    }
    for change in &answer.news.changes {
        let _ = writeln!(text, "! {}", clipped(change, 2000));
    }
    put(&mut data, "session_id", json!(answer.session_id));
    put(&mut data, "session_status", json!(answer.session_status));
    put(&mut data, "changes", json!(answer.news.changes));
    tool_result(text, data)
}
