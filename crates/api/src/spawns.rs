//! Agents that are started for sessions: what they do, what they ask, and how a person attaches to them.

use maestro_core::agent::spawn::PlanTaskText;
use maestro_core::agent::{AgentEvent, Driver, PermissionChoice, PermissionChoiceKind, SessionOutcome};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::{IntoParams, ToSchema};

use crate::fields::{PageQuery, whole_number};
use crate::request::{ApiRequest, in_path};
use crate::schemas::{
    ChoiceWord, IdText, NonBlankText, PermissionWord, RoleWord, SourceWord, StarterWord, StrategyWord, WayWord,
};
use crate::sessions::{SessionBody, path};

/// What an agent is started for.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewSpawn {
    #[schema(value_type = IdText)]
    pub project_id: Option<String>,
    /// Its tasks, the main one first; at least one.
    #[schema(value_type = Vec<IdText>, min_items = 1)]
    pub task_ids: Option<Vec<String>>,
    #[schema(value_type = Option<RoleWord>)]
    pub role: Option<String>,
    #[schema(value_type = Option<StrategyWord>)]
    pub strategy: Option<String>,
    /// `ui` or `session`.
    #[schema(value_type = Option<SourceWord>)]
    pub spawn_source: Option<String>,
    /// The session that starts it, where one does.
    #[schema(value_type = Option<IdText>)]
    pub session_id: Option<String>,
    pub session_name: Option<String>,
    /// Skills beside those of its role.
    pub skills: Option<Vec<String>>,
    /// What the starter wants to be written down.
    #[schema(value_type = Option<Object>)]
    pub context: Option<Map<String, Json>>,
    /// Which agent; the one that the settings name, unless said otherwise.
    pub agent: Option<String>,
    /// How it is spoken with, if not in the preferred way: `json`, `acp` or `text`.
    #[schema(value_type = Option<WayWord>)]
    pub driver: Option<String>,
    /// Which model.
    pub model: Option<String>,
    /// `ask`, `edits` or `all`: what it may do without asking.
    #[schema(value_type = Option<PermissionWord>)]
    pub permission: Option<String>,
    /// Its prompt beside its tasks.
    pub prompt: Option<String>,
    /// How much it may use up.
    #[schema(value_type = Option<SpawnBudget>)]
    pub budget: Option<Json>,
    /// Whether it works in a git worktree of its own, which is so unless said otherwise; without git it works in place.
    pub worktree: Option<bool>,
    /// `worker`, or `ui` for a client that runs `maestro worker init` itself.
    #[schema(value_type = Option<StarterWord>)]
    pub spawn_mode: Option<String>,
}

/// How much an agent may use up; what is left out is as usual.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct SpawnBudget {
    /// How many minutes it may take; at most a month.
    #[schema(exclusive_minimum = 0, maximum = 44640)]
    pub minutes: Option<f64>,
    /// How many minutes it may be silent.
    #[schema(exclusive_minimum = 0, maximum = 44640)]
    pub idle_minutes: Option<f64>,
    /// How many minutes a question of its waits for an answer before that is a no.
    #[schema(exclusive_minimum = 0, maximum = 44640)]
    pub question_minutes: Option<f64>,
    /// How many tokens it may use, in and out.
    #[serde(deserialize_with = "whole_number")]
    #[schema(minimum = 1)]
    pub tokens: Option<i64>,
    /// How much money it may cost, in dollars.
    #[schema(exclusive_minimum = 0)]
    pub cost_usd: Option<f64>,
    /// How many times it may ask the model.
    #[serde(deserialize_with = "whole_number")]
    #[schema(minimum = 1)]
    pub turns: Option<i64>,
    /// How many times it may be started, the first included.
    #[serde(deserialize_with = "whole_number")]
    #[schema(minimum = 1, maximum = 1000)]
    pub starts: Option<i64>,
}

/// That an agent will be started.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Spawned)]
pub struct SpawnReply {
    pub success: bool,
    #[schema(value_type = IdText)]
    pub session_id: String,
    pub manifest_path: String,
    pub message: String,
    /// The skills that it will not have, and why.
    pub skill_problems: Vec<SkillProblem>,
    /// Its own worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// Why it has none, though one was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    pub session: SessionBody,
}

/// A skill that an agent will not have.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SkillProblem {
    pub name: String,
    pub reason: String,
}

/// Something an agent did.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = TranscriptJson)]
pub struct TranscriptBody {
    /// Its place; the `Maestro-Next-Cursor` of a list is one.
    pub ord: i64,
    pub at: i64,
    #[schema(value_type = Object)]
    pub event: AgentEvent,
}

/// A skill's text that reached an agent.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ReceiptJson)]
pub struct ReceiptBody {
    pub skill: String,
    pub hash: String,
    /// handed, opened, read.
    pub stage: String,
    pub at: i64,
}

/// How far the start of an agent is.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SpawnJson)]
pub struct SpawnBody {
    /// waiting, claimed, attached, done.
    pub state: String,
    pub worker: Option<String>,
    pub attempt: i64,
    pub agent_session: Option<String>,
    /// The token of its programs, sent only to the person who has taken it over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub spec: Json,
    #[schema(value_type = Option<Object>)]
    pub outcome: Option<SessionOutcome>,
}

impl SpawnBody {
    /// What was asked for, as far as clients read it.
    pub fn read_spec(&self) -> SpawnSpecView {
        SpawnSpecView::deserialize(&self.spec).unwrap_or_else(|error| {
            tracing::warn!("what was asked for cannot be read: {error}");
            SpawnSpecView::default()
        })
    }
}

/// What clients read of what was asked for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct SpawnSpecView {
    pub agent: Option<String>,
    pub driver: Option<Driver>,
    pub workspace: String,
    #[serde(rename = "planTask")]
    pub plan_task: Option<PlanTaskText>,
}

/// Who takes an agent into their own hands.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = AttachBody)]
pub struct AttachRequest {
    /// A name that no other process has.
    #[schema(value_type = NonBlankText)]
    pub by: Option<String>,
    /// Whether a token for the session's programs is wanted.
    #[serde(default)]
    pub token: bool,
}

/// Which questions are wanted.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct PermissionQuery {
    /// Only this session's.
    #[param(value_type = Option<IdText>)]
    pub session_id: Option<String>,
    /// Also those that were answered.
    pub all: Option<bool>,
}

/// Something an agent asks before it does it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PermissionJson)]
pub struct PermissionBody {
    #[schema(value_type = IdText)]
    pub session_id: String,
    pub request: String,
    pub title: String,
    pub detail: String,
    #[schema(value_type = Vec<Object>)]
    pub options: Vec<PermissionChoice>,
    #[schema(value_type = Option<String>)]
    pub answer: Option<PermissionChoiceKind>,
    pub created_at: i64,
    pub expires_at: i64,
}

/// An answer to an agent.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = PermissionAnswerBody)]
pub struct PermissionAnswer {
    /// `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    #[schema(value_type = ChoiceWord)]
    pub answer: Option<String>,
}

/// Starts an agent for tasks.
pub fn create(spawn: &NewSpawn) -> ApiRequest<SpawnReply> {
    ApiRequest::post("/api/sessions/spawn", spawn)
}

/// How far the start of a session's agent is.
pub fn get(session: &str) -> ApiRequest<SpawnBody> {
    ApiRequest::get(format!("{}/spawn", path(session)))
}

/// What a session's agent did, oldest first.
pub fn transcript(session: &str, page: PageQuery) -> ApiRequest<Vec<TranscriptBody>> {
    ApiRequest::get(format!("{}/transcript", path(session))).with_query(&page)
}

/// Which skill texts reached a session's agent.
pub fn receipts(session: &str) -> ApiRequest<Vec<ReceiptBody>> {
    ApiRequest::get(format!("{}/receipts", path(session)))
}

/// Takes a session's agent into one's own hands.
pub fn attach(session: &str, attach: &AttachRequest) -> ApiRequest<SpawnBody> {
    ApiRequest::post(format!("{}/attach", path(session)), attach)
}

/// Gives a session's agent back.
pub fn detach(session: &str, attach: &AttachRequest) -> ApiRequest<SpawnBody> {
    ApiRequest::post(format!("{}/detach", path(session)), attach)
}

/// What agents ask, oldest first.
pub fn permissions(query: &PermissionQuery) -> ApiRequest<Vec<PermissionBody>> {
    ApiRequest::get("/api/permissions").with_query(query)
}

/// Answers what an agent asks; the first answer counts.
pub fn answer(session: &str, request: &str, answer: &PermissionAnswer) -> ApiRequest<PermissionBody> {
    ApiRequest::post(format!("{}/permissions/{}", path(session), in_path(request)), answer)
}
