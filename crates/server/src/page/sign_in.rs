//! How does a person show the server's token? Once, in a form; the browser keeps it from then on, and shows it to nobody
//! else and to no script.

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::{fragments, page};
use crate::app::App;
use crate::caller;

/// Where the form is sent to; reached without a token, as the form itself is.
pub(crate) const PLACE: &str = "/page/sign-in";

/// The form, with what was wrong the last time.
pub(crate) fn form(wrong: Option<&str>) -> Response {
    let html = fragments::sign_in(wrong).unwrap_or_else(|_| "A token is needed.".to_owned());
    page(StatusCode::UNAUTHORIZED, html)
}

/// What the form holds.
#[derive(Deserialize)]
pub(super) struct Shown {
    token: String,
}

/// Has the browser keep the token, if it is the right one.
pub(super) async fn sign_in(State(app): State<App>, shown: Result<Form<Shown>, FormRejection>) -> Response {
    let Ok(Form(Shown { token })) = shown else { return form(Some("the form was not filled in")) };
    let token = token.trim();
    if !caller::is_token(&app, token) {
        return form(Some("this is not the token"));
    }
    let cookie = format!("{}={token}; Path=/; HttpOnly; SameSite=Strict", caller::COOKIE);
    let Ok(cookie) = HeaderValue::from_str(&cookie) else { return form(Some("this is not the token")) };
    ([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response()
}
