//! Projects.

use maestro_core::Project;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::fields::DeletedReply;
use crate::request::{ApiRequest, in_path};
use crate::schemas::{IdText, NonBlankText};

/// A directory in which work is done.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProjectJson)]
pub struct ProjectBody {
    #[schema(value_type = IdText)]
    pub id: String,
    pub name: String,
    pub working_dir: String,
    pub description: String,
    pub created_at: i64,
    pub updated_at: i64,
    /// Counts its changes.
    pub revision: i64,
}

/// What a project is made of.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewProject {
    /// What people call it.
    #[schema(value_type = NonBlankText)]
    pub name: Option<String>,
    /// Its directory.
    pub working_dir: Option<String>,
    /// What it is about.
    pub description: Option<String>,
}

/// What of a project is to change.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectChange {
    #[schema(value_type = Option<NonBlankText>)]
    pub name: Option<String>,
    pub working_dir: Option<String>,
    pub description: Option<String>,
}

/// All projects, oldest first.
pub fn list() -> ApiRequest<Vec<ProjectBody>> {
    ApiRequest::get("/api/projects")
}

/// One project.
pub fn get(id: &str) -> ApiRequest<ProjectBody> {
    ApiRequest::get(format!("/api/projects/{}", in_path(id)))
}

/// Makes a project.
pub fn create(project: &NewProject) -> ApiRequest<ProjectBody> {
    ApiRequest::post("/api/projects", project)
}

/// Removes a project without tasks and sessions.
pub fn delete(id: &str) -> ApiRequest<DeletedReply> {
    ApiRequest::delete(format!("/api/projects/{}", in_path(id)))
}

impl From<Project> for ProjectBody {
    fn from(project: Project) -> Self {
        Self {
            id: project.id.into(),
            name: project.name,
            working_dir: project.working_dir,
            description: project.description,
            created_at: project.created_at,
            updated_at: project.updated_at,
            revision: project.revision,
        }
    }
}
