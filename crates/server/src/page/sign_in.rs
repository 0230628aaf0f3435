//! Sign-in of a browser: by a link that works once, or with a token.
//! The browser keeps a secret of its own in a cookie that neither scripts nor other sites can read.

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maestro_store::{CreateAccessToken, TokenAccess, TokenKind};
use serde::Deserialize;

use super::{page, shell};
use crate::app::AppState;
use crate::caller;
use crate::extract::UrlQuery;

/// The largest form.
pub(super) const BODY: usize = 4096;
/// For how long a browser stays signed in.
const DAYS: i64 = 30;

/// The form, with the previous error.
pub(crate) fn form(wrong: Option<&str>) -> Response {
    let html = shell::sign_in(wrong).unwrap_or_else(|_| "Missing token.".to_owned());
    page(StatusCode::UNAUTHORIZED, html)
}

/// The query of a link.
#[derive(Deserialize)]
pub(super) struct LinkQuery {
    code: Option<String>,
}

/// Follows a link: signs the browser in, or shows the form.
pub(super) async fn follow_link(State(app): State<AppState>, UrlQuery(link): UrlQuery<LinkQuery>) -> Response {
    match link.code {
        None => form(None),
        Some(code) if app.sign_in.take_code(&code, (app.clock)()) => admit(&app).await,
        Some(_) => form(Some("this link was used or has expired; run `maestro open` for another")),
    }
}

/// The fields of the form.
#[derive(Deserialize)]
pub(super) struct SignInForm {
    token: String,
}

/// Signs the browser in with the server's own token. One that was made for a program makes no browser's, which would outlive it.
pub(super) async fn sign_in(State(app): State<AppState>, shown: Result<Form<SignInForm>, FormRejection>) -> Response {
    let now = (app.clock)();
    if let Some(seconds) = app.sign_in.attempts.wait(now) {
        let mut response = form(Some("too many attempts; wait a little, or run `maestro open`"));
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        return response;
    }
    let Ok(Form(SignInForm { token })) = shown else { return form(Some("enter the token")) };
    if caller::is_server_token(&app, token.trim()) {
        app.sign_in.attempts.clear();
        return admit(&app).await;
    }
    app.sign_in.attempts.note(now);
    form(Some("wrong token; only the server's own signs in here, `maestro open` needs none"))
}

/// Gives the browser a secret of its own.
async fn admit(app: &AppState) -> Response {
    let token = CreateAccessToken {
        name: "browser".to_owned(),
        kind: TokenKind::Browser,
        access: TokenAccess::Write,
        project: None,
        lifetime: Some(DAYS * 24 * 60 * 60 * 1000),
    };
    let made = match app.store.write(token).await {
        Ok(made) => made,
        Err(error) => return super::failure(&error.into()),
    };
    let (name, seconds) = (&app.facts.cookie, DAYS * 24 * 60 * 60);
    let cookie = format!("{name}={}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict", made.secret);
    let Ok(cookie) = HeaderValue::from_str(&cookie) else { return form(Some("the cookie cannot be set")) };
    ([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response()
}
