//! Skills, and what an agent would be told about a task.

use maestro_core::SkillSelection;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use utoipa::{IntoParams, ToSchema};

use crate::request::ApiRequest;
use crate::schemas::{IdText, NonBlankText, StepKindWord};

/// Whose skills are meant.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct CatalogueQuery {
    /// Those of this project's directory; without it, those where the server was started.
    #[param(value_type = Option<IdText>)]
    pub project_id: Option<String>,
}

/// A skill in a list.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = SkillJson)]
pub struct SkillBody {
    pub id: String,
    pub name: String,
    pub description: String,
    /// system, role, custom.
    #[serde(rename = "type")]
    pub kind: String,
    pub version: String,
    /// Its real id, where `id` is the name shown to people.
    #[serde(rename = "skillId", skip_serializing_if = "Option::is_none")]
    pub skill_id: Option<String>,
    /// Whose the directory is that it was found in, if that is known, when one skill was asked for: a tool, or a plugin
    /// as `name@marketplace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Its text, when one skill was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// That it was read again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reloaded: Option<bool>,
}

/// What is wrong with skills, and which are hidden by others.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Diagnostics)]
pub struct SkillDiagnostics {
    /// What is wrong, as [`maestro_core::Problem`] is written.
    #[schema(value_type = Vec<Object>)]
    pub problems: Vec<Json>,
    /// Skills that another one of the same name hides.
    pub shadowed: Vec<HiddenSkill>,
    /// Folders that are skills and could not be loaded.
    pub not_loaded: Vec<String>,
    /// Where was looked.
    #[schema(value_type = Vec<Object>)]
    pub roots: Json,
}

/// A skill that another one of the same name hides.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Hidden)]
pub struct HiddenSkill {
    pub id: String,
    pub path: String,
    pub shadowed_by: String,
}

/// A task that skills are wanted for.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Wish)]
pub struct SkillRequest {
    /// The task, as in a plan.
    #[schema(value_type = NonBlankText)]
    pub task: Option<String>,
    /// implementation unless said otherwise.
    #[schema(value_type = Option<StepKindWord>)]
    pub step: Option<String>,
    /// Whose skills.
    #[schema(value_type = Option<IdText>)]
    pub project_id: Option<String>,
}

/// Chooses the skills for a task.
pub fn select(request: &SkillRequest) -> ApiRequest<SkillSelection> {
    ApiRequest::post("/api/skills/select", request)
}
