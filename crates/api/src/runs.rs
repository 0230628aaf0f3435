//! Runs of workflows: started, reported to, executed, steered and listed.

use std::collections::BTreeMap;

use maestro_core::WorkState;
use maestro_core::workflow::pinned_definition::{PinnedDefinition, PinnedText};
use maestro_core::workflow::run::{
    AnswerAuthor, AwaitedParty, CommandExit, FileState, Run, RunDriver, RunExecutor, RunState, Ticket,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::{IntoParams, ToSchema};

use crate::events::RunLogEntry;
use crate::fields::{EmptyBody, whole_number};
use crate::request::{ApiRequest, in_path};
use crate::schemas::{
    AnswerAuthorWord, DirectoryText, DriverWord, IdText, NonBlankText, RunStateWord, RunUuid, WaitingWord,
    WorkStateWord,
};
use crate::schemas::{LandingWord, PersonItemWord};
use crate::sessions::SteerAction;

mod body;

pub use body::RunBody;

/// A run in a list.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunSummary {
    #[schema(value_type = RunUuid)]
    pub id: String,
    pub workflow: String,
    #[schema(value_type = Option<IdText>)]
    pub project_id: Option<String>,
    #[schema(value_type = Option<IdText>)]
    pub task_id: Option<String>,
    #[schema(value_type = Option<IdText>)]
    pub session_id: Option<String>,
    /// The run that this one is a part of.
    #[schema(value_type = Option<RunUuid>)]
    pub parent_run: Option<String>,
    #[schema(value_type = RunStateWord)]
    pub status: RunState,
    /// How it stands, as people read it.
    #[serde(default)]
    #[schema(value_type = WorkStateWord, required)]
    pub state: WorkState,
    /// Why it stopped, or what it waits for.
    pub state_reason: Option<String>,
    /// Whom it waits for.
    #[schema(value_type = Option<WaitingWord>)]
    pub waiting: Option<AwaitedParty>,
    /// The step it is at.
    pub step: Option<String>,
    /// The task of a plan that it works at, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_task: Option<String>,
    /// What is said about its end.
    pub message: Option<String>,
    /// The directory it works in.
    pub workspace: String,
    /// Who executes what it orders.
    #[schema(value_type = DriverWord)]
    pub driver: RunDriver,
    /// The hash of what it was started with; this is what is consented to.
    pub hash: String,
    pub revision: i64,
    pub created_at: i64,
    pub updated_at: i64,
    pub ended_at: Option<i64>,
    /// When its result was merged or thrown away.
    pub landed_at: Option<i64>,
    /// The branch it was merged into.
    pub landed_into: Option<String>,
}

/// What the API adds to the refusal of a run that is reported to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RefusedRun {
    /// Where the run stands.
    pub run: RunBody,
}

/// A run's whole state.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = StateJson)]
pub struct RunStateBody {
    pub workflow: String,
    pub hash: String,
    pub revision: i64,
    /// Who executes something for it, and until when that is believed.
    #[schema(value_type = Option<Object>)]
    pub executor: Option<RunExecutor>,
    #[schema(value_type = Object)]
    pub run: Run,
    /// What it was started with, if that was asked for.
    #[schema(value_type = Option<Object>)]
    pub definitions: Option<BTreeMap<String, PinnedText>>,
}

/// Which runs are wanted.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct RunQuery {
    /// Only this project's.
    #[param(value_type = Option<IdText>)]
    pub project_id: Option<String>,
    /// Only those of this workflow.
    pub workflow: Option<String>,
    /// Only those that stand so.
    #[param(value_type = Option<RunStateWord>)]
    pub status: Option<String>,
}

/// What a run is started with: a workflow's name, a definition with all it reaches, or a sub-agent's ticket.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewRun {
    /// The name of a workflow that the server can find.
    #[schema(value_type = Option<NonBlankText>)]
    pub workflow: Option<String>,
    /// A definition and all it reaches, from a caller that found it itself.
    #[schema(value_type = Option<PinnedBody>)]
    pub pinned: Option<PinnedDefinition>,
    /// The run and the ticket of a sub-agent that walks through a workflow.
    pub parent: Option<ParentTicket>,
    /// The workflow's parameters.
    #[schema(value_type = Option<Object>)]
    pub params: Option<Map<String, Json>>,
    /// The directory it works in; without it the project's.
    #[schema(value_type = Option<DirectoryText>)]
    pub workspace: Option<String>,
    /// The directory of the tool that asks, such as `.claude`.
    pub tool: Option<String>,
    #[schema(value_type = Option<IdText>)]
    pub project_id: Option<String>,
    #[schema(value_type = Option<IdText>)]
    pub task_id: Option<String>,
    /// Who executes the commands of its steps: the server, or the caller.
    #[schema(value_type = Option<DriverWord>)]
    pub driver: Option<String>,
    /// Whether `workflow` is the one that came with Maestro, whatever the project has of that name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builtin: Option<bool>,
    /// The most that its agents may do without asking: `ask`, `edits` or `all`. Without it what the parameter
    /// `permission` says, else `edits`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission: Option<String>,
    /// Whether a model asks for it. Then its parameters cannot decide about rights; a person's settings do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_model: Option<bool>,
    /// The agent that does the steps of agents that start no session of their own. Only a person names one, and the
    /// server executes the run then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether the demo agent may work for it. Without it only if `agent`, or the parameter `agent` or `reviewer`, names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demo: Option<bool>,
}

/// A definition and all it reaches, as [`PinnedDefinition`] is written.
#[derive(Debug, ToSchema)]
pub struct PinnedBody {
    /// The name of what is walked through.
    pub main: String,
    /// Its definition and those it may call, by the names they are called by.
    pub definitions: BTreeMap<String, DefinitionBody>,
}

/// One definition with the texts it hands out.
#[derive(Debug, ToSchema)]
pub struct DefinitionBody {
    /// The definition.
    pub text: String,
    /// The folder of the skill it belongs to.
    pub folder: String,
    /// What its resources say, by their names.
    #[schema(value_type = Object)]
    pub resources: BTreeMap<String, String>,
}

/// A sub-agent's ticket.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ParentTicket {
    #[schema(value_type = RunUuid)]
    pub run: String,
    pub ticket: String,
}

/// What of a run's state is wanted.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RunStateQuery {
    /// Whether what it was started with is wanted too.
    pub pinned: Option<bool>,
}

/// Which part of a log is wanted.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RunLogQuery {
    /// Only what happened after this event.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    pub after: Option<i64>,
    /// How many at most.
    #[param(minimum = 1, maximum = 10_000)]
    pub limit: Option<i64>,
}

/// The result of a directive.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = ReportBody)]
pub struct RunReport {
    /// The directive's ticket.
    #[schema(value_type = NonBlankText)]
    pub ticket: Option<String>,
    /// What the step ended with; nothing where that follows from the result.
    pub outcome: Option<String>,
    /// Variables to set.
    #[schema(value_type = Option<Object>)]
    pub set: Option<Map<String, Json>>,
    /// What was found.
    #[schema(value_type = Option<Object>)]
    pub result: Option<Map<String, Json>>,
    /// What is known of the files that were worked on: `tree` and `changed`.
    #[schema(value_type = Option<Object>)]
    pub seen: Option<FileState>,
}

/// What the user said.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = RunAnswerBody)]
pub struct RunAnswer {
    /// The ticket of the question.
    #[schema(value_type = NonBlankText)]
    pub ticket: Option<String>,
    /// The answer: a text, or several in a list where several may be chosen.
    #[schema(value_type = Option<serde_json::Value>)]
    pub value: Option<Json>,
    /// `declined` or `cancelled`, where there is no answer.
    pub instead: Option<NoAnswer>,
    /// Who gives it: `user`, `agent` or `script`; the user, if nothing is said.
    #[schema(value_type = Option<AnswerAuthorWord>)]
    pub by: Option<AnswerAuthor>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Instead)]
pub enum NoAnswer {
    /// The user declined to answer.
    Declined,
    /// The user cancelled the question.
    Cancelled,
}

/// Who executes what a run orders.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = StartedBody)]
pub struct ExecutionStart {
    /// The ticket of what is executed.
    #[schema(value_type = NonBlankText)]
    pub ticket: Option<String>,
    /// The executor, with a unique name.
    #[schema(value_type = NonBlankText)]
    pub by: Option<String>,
    /// How many seconds it may take.
    #[serde(default, deserialize_with = "whole_number")]
    #[schema(minimum = 0, maximum = 86_400)]
    pub seconds: Option<i64>,
    /// What is known of the files, for a check of a review that was judged: `tree` and `changed`.
    #[schema(value_type = Option<Object>)]
    pub seen: Option<FileState>,
}

/// How something executed ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = FinishedBody)]
pub struct ExecutionEnd {
    /// The ticket of what was executed.
    #[schema(value_type = NonBlankText)]
    pub ticket: Option<String>,
    #[schema(value_type = FinishBody)]
    pub finish: Option<Json>,
}

/// How: `{"exited": {"code", "output"}}`, `"timed_out"` or `{"failed": reason}`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishBody {
    /// It exited.
    Exited {
        #[serde(deserialize_with = "whole_number")]
        #[schema(value_type = i32, minimum = 0, maximum = 255)]
        code: Option<i64>,
        output: String,
    },
    /// It took too long.
    TimedOut,
    /// It could not be executed.
    Failed(String),
}

/// Who is gone.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = LostBody)]
pub struct ExecutionLoss {
    /// The ticket of what was executed.
    #[schema(value_type = NonBlankText)]
    pub ticket: Option<String>,
    /// Who executed it, as the run has it.
    #[schema(value_type = NonBlankText)]
    pub by: Option<String>,
}

/// How a run goes on.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = ResumeBody)]
pub struct ResumeBody {
    /// Parameters that change, where the run stopped; those that its workflow does not have are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub params: Option<Map<String, Json>>,
}

/// Where a run that is over goes on.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = ReopenBody)]
pub struct RunReopening {
    /// The step, or `STEP#2` for its second visit; without it, where the run stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NonBlankText>)]
    pub at: Option<String>,
    /// Parameters that change; those that its workflow does not have are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub params: Option<Map<String, Json>>,
}

/// What a person says about the work of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = RunItemBody)]
pub struct RunComment {
    /// The words.
    #[schema(value_type = NonBlankText)]
    pub text: Option<String>,
    /// The file they are about.
    pub file: Option<String>,
    /// The line of that file.
    #[serde(default, deserialize_with = "whole_number")]
    #[schema(minimum = 1, maximum = 10_000_000)]
    pub line: Option<i64>,
    /// `comment`, the default, for something to fix; `message` for the agent of the next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PersonItemWord>)]
    pub kind: Option<String>,
}

/// What became of a run's result.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct RunLandingBody {
    #[schema(value_type = LandingWord)]
    pub how: Option<String>,
    /// The branch it was merged into.
    pub into: Option<String>,
}

fn path(id: &str) -> String {
    format!("/api/runs/{}", in_path(id))
}

/// Runs, oldest first.
pub fn list(query: &RunQuery) -> ApiRequest<Vec<RunSummary>> {
    ApiRequest::get("/api/runs").with_query(query)
}

/// Starts a run.
pub fn create(run: &NewRun) -> ApiRequest<RunBody> {
    ApiRequest::post("/api/runs", run)
}

/// A run: where it stands, and what is to be done now.
pub fn get(id: &str) -> ApiRequest<RunBody> {
    ApiRequest::get(path(id))
}

/// A run's whole state.
pub fn state(id: &str, query: RunStateQuery) -> ApiRequest<RunStateBody> {
    ApiRequest::get(format!("{}/state", path(id))).with_query(&query)
}

/// What happened to a run, oldest first.
pub fn log(id: &str, query: RunLogQuery) -> ApiRequest<Vec<RunLogEntry>> {
    ApiRequest::get(format!("{}/log", path(id))).with_query(&query)
}

/// Reports the result of a directive; the same again counts once.
pub fn report(id: &str, report: &RunReport) -> ApiRequest<RunBody> {
    ApiRequest::post(format!("{}/report", path(id)), report)
}

/// Answers a question; the same again counts once.
pub fn answer(id: &str, answer: &RunAnswer) -> ApiRequest<RunBody> {
    ApiRequest::post(format!("{}/answer", path(id)), answer)
}

/// Adds a comment on the work of a run, which is fixed and verified before the run ends well, or a message for the agent
/// of its next step.
pub fn add_item(id: &str, comment: &RunComment) -> ApiRequest<RunBody> {
    ApiRequest::post(format!("{}/items", path(id)), comment)
}

/// Claims the execution of what a run orders.
pub fn started(id: &str, ticket: &Ticket, by: &str, seconds: u32, seen: FileState) -> ApiRequest<RunBody> {
    let start = ExecutionStart {
        ticket: Some(ticket.as_str().to_owned()),
        by: Some(by.to_owned()),
        seconds: Some(seconds.into()),
        seen: Some(seen),
    };
    ApiRequest::post(format!("{}/started", path(id)), &start)
}

/// Reports how something executed ended; the same again counts once.
pub fn finished(id: &str, ticket: &Ticket, finish: &CommandExit) -> ApiRequest<RunBody> {
    #[derive(Serialize)]
    struct FinishRequest<'f> {
        ticket: &'f Ticket,
        finish: &'f CommandExit,
    }
    ApiRequest::post(format!("{}/finished", path(id)), &FinishRequest { ticket, finish })
}

/// Reports that the executor of something is gone.
pub fn lost(id: &str, ticket: &Ticket, by: &str) -> ApiRequest<RunBody> {
    let loss = ExecutionLoss { ticket: Some(ticket.as_str().to_owned()), by: Some(by.to_owned()) };
    ApiRequest::post(format!("{}/lost", path(id)), &loss)
}

/// A copy of a run for others: one page that needs nothing else.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SharedRunBody {
    /// The name of the file.
    pub file: String,
    /// The page.
    pub html: String,
}

/// A copy of a run, with secrets masked.
pub fn share(id: &str) -> ApiRequest<SharedRunBody> {
    ApiRequest::get(format!("{}/share", path(id)))
}

/// Records what became of a run's result; the last word counts.
pub fn landed(id: &str, landing: &RunLandingBody) -> ApiRequest<RunBody> {
    ApiRequest::post(format!("{}/landed", path(id)), landing)
}

/// Lets a run go on that is paused or stopped; each order counts.
pub fn resume(id: &str, body: &ResumeBody) -> ApiRequest<RunBody> {
    ApiRequest::step(format!("{}/resume", path(id)), body)
}

/// Lets a run that is over go on, from an earlier step or from where it stopped; each order counts.
pub fn reopen(id: &str, body: &RunReopening) -> ApiRequest<RunBody> {
    ApiRequest::step(format!("{}/reopen", path(id)), body)
}

/// Pauses, resumes or cancels a run; each order counts.
pub fn steer(id: &str, action: SteerAction) -> ApiRequest<RunBody> {
    ApiRequest::step(format!("{}/{}", path(id), action.as_str()), &EmptyBody {})
}
