//! Shared copy of a run: one page that needs no server, no script and no other file, with secrets masked.

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maestro_core::RunId;
use maestro_core::id::SessionId;
use maestro_core::secret_mask::SecretMask;
use minijinja::{Value, context};

use super::tabs::RunTab;
use super::timeline::TimelineExtent;
use super::{RunAddress, RunSubject};
use crate::api::RunPath;
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::PathId;
use crate::page::failure;
use crate::page::files::ASSETS;
use crate::page::fragments::ScreenRenderer;
use crate::page::templates::{escape, render};
use crate::run_sharing::SharedCopy;

/// The style sheets that are part of the copy.
const STYLES: [&str; 3] = ["shell.css", "text.css", "run.css"];

/// The routes of the page.
pub(in crate::page) fn routes() -> Router<AppState> {
    Router::new()
        .route("/page/runs/{id}/share", get(download_run))
        .route("/page/sessions/{id}/share", get(download_session))
}

async fn download_run(State(app): State<AppState>, caller: Caller, RunPath(id): RunPath) -> Response {
    download(&app, &caller, RunSubject::Run(id)).await
}

async fn download_session(State(app): State<AppState>, caller: Caller, PathId(id): PathId<SessionId>) -> Response {
    download(&app, &caller, RunSubject::Session(id)).await
}

async fn download(app: &AppState, caller: &Caller, subject: RunSubject) -> Response {
    let name = file_name(&subject);
    let html = async {
        caller.require_person("see the page")?;
        shared_html(app, subject).await
    };
    match html.await {
        Ok(html) => {
            let disposition = format!("attachment; filename=\"{name}\"");
            let kind = (header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned());
            ([kind, (header::CONTENT_DISPOSITION, disposition)], html).into_response()
        }
        Err(error) => failure(&error),
    }
}

/// The name of the file.
fn file_name(subject: &RunSubject) -> String {
    let kind = match subject {
        RunSubject::Run(_) => "run",
        RunSubject::Session(_) => "session",
    };
    let id: String = subject.id().chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
    format!("maestro-{kind}-{id}.html")
}

/// A copy of a run, with the name of its file.
pub(crate) fn share_run(app: AppState, id: RunId) -> SharedCopy {
    Box::pin(async move {
        let subject = RunSubject::Run(id);
        Ok((file_name(&subject), shared_html(&app, subject).await?))
    })
}

async fn shared_html(app: &AppState, subject: RunSubject) -> Result<String, ApiError> {
    let address = |tab| RunAddress {
        subject: subject.clone(),
        tab: Some(tab),
        step: None,
        before: None,
        at: None,
        find: None,
        comment: None,
    };
    let now = (app.clock)();
    let mut told = ScreenRenderer::new(subject.path(), 0, now, None);
    let page = address(RunTab::Timeline).render_extent(app, &[], TimelineExtent::Copy, &mut told).await?;
    let told = told.finish(page);
    let mut changed = ScreenRenderer::new(subject.path(), 0, now, None);
    let page = address(RunTab::Diff).render(app, &[], &mut changed).await?;
    let changed = changed.finish(page);
    let mut style = String::new();
    for file in ASSETS.iter().filter(|file| STYLES.contains(&file.name)) {
        style.push_str(&file.text());
    }
    let part = |html: &str| Value::from_safe_string(html.to_owned());
    let html = render(
        "run/share.html",
        context! {
            title => told.title(),
            style => part(&style),
            about => part(told.html("about")),
            spine => part(told.html("spine")),
            inspector => part(told.html("inspector")),
            entries => told.items("transcript").map(part).collect::<Vec<_>>(),
            diff => part(changed.html("diff")),
            now,
        },
    )?;
    // Addresses of this server lead nowhere in the copy.
    let html = html.replace("href=\"/", "data-was=\"/");
    // A secret is in the copy as it is, or as HTML writes it.
    let written = |(name, value): (String, String)| [(name.clone(), escape(&value)), (name, value)];
    Ok(SecretMask::of_variables(std::env::vars().flat_map(written)).apply(&html))
}
