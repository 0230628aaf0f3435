//! A project on the wire.

use maestro_core::Project;
use serde::Serialize;
use utoipa::ToSchema;

use super::words::Id;

/// A directory in which work is done.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProjectJson {
    #[schema(value_type = Id)]
    id: String,
    name: String,
    working_dir: String,
    description: String,
    created_at: i64,
    updated_at: i64,
    /// Counts its changes.
    revision: i64,
}

impl From<Project> for ProjectJson {
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
