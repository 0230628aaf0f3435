//! Sign-in with the server's token.
//! The browser keeps the token in a cookie that neither scripts nor other sites can read.

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::{fragments, page};
use crate::app::AppState;
use crate::caller;

/// The address of the form; reachable without a token.
pub(crate) const PLACE: &str = "/page/sign-in";

/// The form, with the previous error.
pub(crate) fn form(wrong: Option<&str>) -> Response {
    let html = fragments::sign_in(wrong).unwrap_or_else(|_| "Missing token.".to_owned());
    page(StatusCode::UNAUTHORIZED, html)
}

/// The fields of the form.
#[derive(Deserialize)]
pub(super) struct SignInForm {
    token: String,
}

/// Sets the cookie if the token is correct.
pub(super) async fn sign_in(State(app): State<AppState>, shown: Result<Form<SignInForm>, FormRejection>) -> Response {
    let Ok(Form(SignInForm { token })) = shown else { return form(Some("enter the token")) };
    let token = token.trim();
    if !caller::is_token(&app, token) {
        return form(Some("wrong token"));
    }
    let cookie = format!("{}={token}; Path=/; HttpOnly; SameSite=Strict", caller::COOKIE);
    let Ok(cookie) = HeaderValue::from_str(&cookie) else { return form(Some("wrong token")) };
    ([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response()
}
