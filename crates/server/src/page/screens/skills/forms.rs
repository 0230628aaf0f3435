//! Form of the skills screen: saves a tried task as a line of the project's own selection test.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use maestro_core::id::ProjectId;
use maestro_engine::host;
use maestro_skills::{UsageVerdict, corrections};

use super::directory;
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{parse_word, required};
use crate::page::failure;
use crate::page::forms::redirect_back;
use crate::page::screens::work::forms::{FilledPairs, FormPairs};

/// The routes of these forms.
pub(in crate::page) fn routes() -> Router<AppState> {
    Router::new().route("/page/skills/expectations", post(save))
}

/// `POST /page/skills/expectations`: a task, the skills that it got, and those that it should get.
async fn save(State(app): State<AppState>, caller: Caller, filled: FilledPairs) -> Response {
    match FormPairs::of(filled) {
        Ok(fields) => redirect_back(fields.back(), save_line(&app, &caller, &fields).await),
        Err(error) => failure(&error),
    }
}

async fn save_line(app: &AppState, caller: &Caller, fields: &FormPairs) -> Result<(), ApiError> {
    caller.require_person("save a task")?;
    let task = required(fields.filled("task"), "Not saved: the task is empty.")?;
    let project = parse_word::<ProjectId>("project", fields.filled("project").as_deref())?;
    let directory = directory(app, project).await?;
    let (expected, chosen) = (fields.all("skill"), fields.all("chosen"));
    let saved = host::ask(&app.host, move |host| {
        host.save_expectation(directory.as_deref(), &task, &expected)?;
        if let Some(directory) = &directory {
            let uses: Vec<(String, UsageVerdict)> =
                corrections(&chosen, &expected).map(|(name, verdict)| (name.to_owned(), verdict)).collect();
            host.count_skill_uses(directory, &uses);
        }
        Ok(())
    });
    saved.await.map_err(|error| ApiError::internal(format!("Not saved: {error}.")))
}
