//! Work passed from one role to another.

use maestro_core::handoff::{Handoff, HandoffState};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::request::{ApiRequest, in_path};
use crate::schemas::{HandoffWord, IdText, NonBlankText, RoleName};

/// Work passed from one role to another.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = HandoffJson)]
pub struct HandoffBody {
    #[schema(value_type = IdText)]
    pub id: String,
    #[schema(value_type = IdText)]
    pub project_id: String,
    #[schema(value_type = Option<IdText>)]
    pub task_id: Option<String>,
    #[schema(value_type = RoleName)]
    pub from: String,
    #[schema(value_type = RoleName)]
    pub to: String,
    pub title: String,
    pub body: String,
    #[schema(value_type = HandoffWord)]
    pub state: HandoffState,
    pub accepted_by: Option<String>,
    pub result: Option<String>,
    pub created_at: i64,
    pub accepted_at: Option<i64>,
    pub completed_at: Option<i64>,
}

/// Which hand-offs are wanted.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct HandoffQuery {
    /// Only this project's.
    #[param(value_type = Option<IdText>)]
    pub project_id: Option<String>,
    /// Only those for this role.
    pub to: Option<String>,
    /// Only those that far.
    #[param(value_type = Option<HandoffWord>)]
    pub state: Option<String>,
}

/// What is passed on.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewHandoff {
    #[schema(value_type = IdText)]
    pub project_id: Option<String>,
    #[schema(value_type = Option<IdText>)]
    pub task_id: Option<String>,
    /// The role that passes it on.
    #[schema(value_type = RoleName)]
    pub from: Option<String>,
    /// The role that gets it.
    #[schema(value_type = RoleName)]
    pub to: Option<String>,
    #[schema(value_type = NonBlankText)]
    pub title: Option<String>,
    /// What the other needs to know.
    pub body: Option<String>,
}

/// Who takes it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = Acceptance)]
pub struct HandoffAcceptance {
    pub by: Option<String>,
}

/// The result of the work.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = Completion)]
pub struct HandoffCompletion {
    pub result: Option<String>,
}

/// Hand-offs, oldest first.
pub fn list(query: &HandoffQuery) -> ApiRequest<Vec<HandoffBody>> {
    ApiRequest::get("/api/handoffs").with_query(query)
}

/// Passes work on.
pub fn create(handoff: &NewHandoff) -> ApiRequest<HandoffBody> {
    ApiRequest::post("/api/handoffs", handoff)
}

/// Takes work that was passed on; only one can.
pub fn accept(id: &str, acceptance: &HandoffAcceptance) -> ApiRequest<HandoffBody> {
    ApiRequest::post(format!("/api/handoffs/{}/accept", in_path(id)), acceptance)
}

/// Reports that work passed on is done.
pub fn complete(id: &str, completion: &HandoffCompletion) -> ApiRequest<HandoffBody> {
    ApiRequest::post(format!("/api/handoffs/{}/complete", in_path(id)), completion)
}

impl From<Handoff> for HandoffBody {
    fn from(handoff: Handoff) -> Self {
        Self {
            id: handoff.id.into(),
            project_id: handoff.project_id.into(),
            task_id: handoff.task_id.map(Into::into),
            from: handoff.from,
            to: handoff.to,
            title: handoff.title,
            body: handoff.body,
            state: handoff.state,
            accepted_by: handoff.accepted_by,
            result: handoff.result,
            created_at: handoff.created_at,
            accepted_at: handoff.accepted_at,
            completed_at: handoff.completed_at,
        }
    }
}
