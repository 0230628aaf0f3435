//! Form that gives consent: for a person who signed in, and for exactly what was shown.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use maestro_core::RunId;
use maestro_engine::host;

use super::consents::{ConsentAbout, questions};
use super::failure;
use super::forms::redirect_back;
use super::screens::work::forms::{FilledPairs, FormPairs};
use crate::answer_notes::{AnswerWay, AnsweredCard};
use crate::app::{AccessPolicy, AppState};
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{parse_word, required};

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/page/consents", post(allow))
}

/// `POST /page/consents`: the hash that was shown, and what it is about.
async fn allow(State(app): State<AppState>, caller: Caller, filled: FilledPairs) -> Response {
    match require_signed_in(&app, &caller).and_then(|()| FormPairs::of(filled)) {
        Ok(fields) => redirect_back(fields.back(), give_consent(&app, &fields).await),
        Err(error) => failure(&error),
    }
}

async fn give_consent(app: &AppState, fields: &FormPairs) -> Result<(), ApiError> {
    let shown = required(fields.filled("hash"), "Not allowed: it is not said what.")?;
    let run: Option<RunId> = parse_word("run", fields.filled("run").as_deref())?;
    let about = match (run, parse_word("project", fields.filled("project").as_deref())?) {
        (Some(run), _) => ConsentAbout::Run(run),
        (None, Some(project)) => ConsentAbout::Project(project),
        (None, None) => ConsentAbout::All,
    };
    // Read again: what changed since it was shown has another hash, and is another question.
    let found = questions(app, &about).await?.into_iter().find(|question| question.consent.hash == shown);
    let Some(question) = found else {
        let why = "Not allowed: it changed since it was shown. Reload to see what it is now.";
        return Err(ApiError::new(StatusCode::CONFLICT, "CHANGED", why));
    };
    if let Some(run) = run {
        let page = fields.filled("page");
        let way = AnswerWay::Page(page.as_deref());
        app.page.answers.keep(AnsweredCard::Run(run), "Allowed exactly this", way, (app.clock)());
    }
    let given = host::ask(&app.host, move |host| host.allow(&question)).await;
    given.map_err(|error| ApiError::internal(error.to_string()))?;
    app.page.forget_consents();
    if let Some(run) = run {
        // It goes on beside this answer.
        drop(app.drivers.drive(run));
    }
    Ok(())
}

/// Refuses everyone but a person who signed in. Where callers need no token, anything on this machine may call.
fn require_signed_in(app: &AppState, caller: &Caller) -> Result<(), ApiError> {
    match (caller, &app.facts.access) {
        (Caller::Person, AccessPolicy::Token(_)) => Ok(()),
        (Caller::Person, AccessPolicy::Open) => Err(ApiError::forbidden(
            "Not allowed: this server lets everyone in, so it takes no consent. Run `maestro trust` in a terminal.",
        )),
        _ => Err(ApiError::forbidden("only a person who signed in can allow this")),
    }
}
