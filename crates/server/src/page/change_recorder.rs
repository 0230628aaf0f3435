//! Recorder of the changes that requests make, so that other open pages can say by whom.

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::middleware::Next;
use axum::response::Response;
use maestro_store::SessionById;

use super::cards::worker_name;
use crate::app::AppState;
use crate::caller::Caller;
use crate::change_notes::{ChangeNote, requested_change};

/// How many characters the name of a page has at most.
const NAME: usize = 64;
/// The header in which an open page names itself. It is a label, and gives no right.
const PAGE: &str = "maestro-page";

/// Keeps a note on what a request changes. A page that shows the change finds it here, so it is kept before; one that
/// fails is removed again.
pub(crate) async fn note_change(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let Some(change) = requested_change(request.method(), &path) else { return next.run(request).await };
    let page = page_name(request.headers());
    let who = match request.extensions().get::<Caller>().cloned() {
        _ if path.starts_with("/page/") => "you, elsewhere".to_owned(),
        Some(caller) => author(&app, &caller).await,
        None => return next.run(request).await,
    };
    let note = |at| {
        let (subject, words) = (change.subject.to_owned(), change.words);
        ChangeNote { number: 0, subject, words, who: who.clone(), page: page.clone(), at }
    };
    let early = (!change.is_slow).then(|| app.page.changes_made.keep(note((app.clock)())));
    let response = next.run(request).await;
    let has_failed = response.status().is_client_error() || response.status().is_server_error();
    match early {
        Some(number) if has_failed => app.page.changes_made.remove(number),
        None if !has_failed => drop(app.page.changes_made.keep(note((app.clock)()))),
        _ => {}
    }
    response
}

/// The sender of a request, in words.
async fn author(app: &AppState, caller: &Caller) -> String {
    let session = match caller.session_id() {
        Some(id) => app.store.read(SessionById(id.clone())).await.ok(),
        None => None,
    };
    session.map_or_else(|| caller.in_words().to_owned(), |session| worker_name(&session))
}

fn page_name(headers: &HeaderMap) -> Option<String> {
    let name = headers.get(PAGE)?.to_str().ok()?;
    (name.len() <= NAME).then(|| name.to_owned())
}
