//! The ids of everything that commands name, so that short ones can be made and understood.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::request::ApiRequest;
use crate::schemas::IdText;

/// An id, and what it names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IdBody {
    /// `project`, `task`, `session` or `run`.
    pub kind: String,
    pub id: String,
}

/// Whose ids are wanted.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct IdQuery {
    /// Only this project's.
    #[param(value_type = Option<IdText>)]
    pub project_id: Option<String>,
}

/// The newest ids of each kind.
pub fn list(query: &IdQuery) -> ApiRequest<Vec<IdBody>> {
    ApiRequest::get("/api/ids").with_query(query)
}
