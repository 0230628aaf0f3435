//! What waits for a person, counted once for everything that shows it.

use std::collections::BTreeMap;

use maestro_core::waiting::WaitingKind;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::request::ApiRequest;
use crate::schemas::{IdText, RunUuid, WaitingKindWord};

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WaitingJson)]
pub struct WaitingBody {
    #[schema(value_type = WaitingKindWord)]
    pub kind: WaitingKind,
    /// What an answer is addressed to: the session, the run or the task.
    pub id: String,
    #[schema(value_type = Option<IdText>)]
    pub project_id: Option<String>,
    #[schema(value_type = Option<IdText>)]
    pub session_id: Option<String>,
    #[schema(value_type = Option<RunUuid>)]
    pub run_id: Option<String>,
    #[schema(value_type = Option<IdText>)]
    pub task_id: Option<String>,
    /// Who asks: the agent, the session or the workflow.
    pub name: String,
    /// What is asked.
    pub text: String,
    /// What can be answered; empty where any text can.
    pub options: Vec<String>,
    /// What people read instead of an option, by the option.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub titles: BTreeMap<String, String>,
    /// The permission request, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The ticket of a run's question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// When it was asked.
    pub since: i64,
}

/// Whose items are wanted.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct WaitingQuery {
    /// Only this project's.
    #[param(value_type = Option<IdText>)]
    pub project_id: Option<String>,
}

/// What waits for a person, oldest first.
pub fn list(query: &WaitingQuery) -> ApiRequest<Vec<WaitingBody>> {
    ApiRequest::get("/api/waiting").with_query(query)
}
