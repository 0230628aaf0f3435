//! Form that starts a run of a workflow.

use std::path::PathBuf;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use maestro_api::runs::NewRun;
use maestro_core::agent::DEMO_AGENT;
use maestro_core::id::ProjectId;
use maestro_core::workflow::definition::Variable;
use maestro_engine::Freshness;
use maestro_engine::host;
use serde_json::Map;

use super::param_field::{declared_params, parse_value};
use crate::api::{start_run, workflow_error};
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{parse_word, required};
use crate::page::failure;
use crate::page::screens::skills::directory;
use crate::page::screens::work::forms::{FilledPairs, FormPairs};
use crate::page::screens::work::run_address;

/// Before the name of a parameter in the form.
const PARAM: &str = "param-";

/// The routes of these forms.
pub(in crate::page) fn routes() -> Router<AppState> {
    Router::new().route("/page/workflows/start", post(start))
}

/// `POST /page/workflows/start`: leads to the run.
async fn start(State(app): State<AppState>, caller: Caller, filled: FilledPairs) -> Response {
    let started = async { start_workflow(&app, &caller, &FormPairs::of(filled)?).await };
    match started.await {
        Ok(address) => Redirect::to(&address).into_response(),
        Err(error) => failure(&error),
    }
}

async fn start_workflow(app: &AppState, caller: &Caller, fields: &FormPairs) -> Result<String, ApiError> {
    caller.require_person("start a workflow")?;
    let name = required(fields.filled("workflow"), "Not started: the workflow is missing.")?;
    let project = required(fields.filled("project"), "Not started: choose a project.")?;
    let id: Option<ProjectId> = parse_word("project", Some(&project))?;
    let place = directory(app, id).await?.unwrap_or_default();
    let mut params = Map::new();
    for param in params_of(app, place.clone(), name.clone()).await? {
        let written = fields.get(&format!("{PARAM}{}", param.name)).unwrap_or_default();
        if let Some(value) = parse_value(&param, &written)? {
            params.insert(param.name.to_string(), value);
        }
    }
    let is_demo = |name: &str| params.get(name).and_then(serde_json::Value::as_str) == Some(DEMO_AGENT);
    let agent = fields.filled("agent");
    let demo = (is_demo("agent") || is_demo("reviewer") || agent.as_deref() == Some(DEMO_AGENT)).then_some(true);
    let run = NewRun {
        workflow: Some(name),
        params: Some(params),
        permission: fields.filled("permission"),
        agent,
        demo,
        project_id: Some(project),
        workspace: Some(place.to_string_lossy().into_owned()),
        ..NewRun::default()
    };
    let id = start_run(app, caller, run).await?;
    Ok(run_address(&id.to_string()))
}

/// The parameters of a workflow.
async fn params_of(app: &AppState, place: PathBuf, name: String) -> Result<Vec<Variable>, ApiError> {
    let found = host::ask(&app.host, move |host| {
        let skills = host.skills(Some(&place), Freshness::Kept)?;
        Ok(declared_params(&skills.catalogue, &place, &name))
    });
    let found = found.await.map_err(|error| ApiError::internal(error.to_string()))?;
    found.map_err(|error| workflow_error(&error))
}
