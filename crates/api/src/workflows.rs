//! Workflows that can be started.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A workflow.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = WorkflowJson)]
pub struct WorkflowBody {
    pub name: String,
    pub description: Option<String>,
    pub category: Option<String>,
    pub version: Option<String>,
    /// Whether it can be started.
    pub sound: bool,
    pub path: String,
    pub params: Vec<ParamBody>,
    pub steps: Vec<StepBody>,
    /// What is wrong with it, one line each.
    pub findings: Vec<String>,
}

/// What a workflow is started with.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ParamJson)]
pub struct ParamBody {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub required: bool,
    pub description: Option<String>,
}

/// A step of a workflow.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = StepJson)]
pub struct StepBody {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub phase: Option<String>,
}
