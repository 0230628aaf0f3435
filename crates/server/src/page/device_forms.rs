//! Forms about who is signed in: revoke a device, and sign in on a phone.

use axum::Router;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use maestro_core::id::{AccessTokenId, EntityId as _};
use maestro_store::RevokeAccessToken;
use serde::Deserialize;

use super::forms::{redirect_back, return_path};
use super::{failure, page, qr_code, shell};
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/page/devices/{id}/revoke", post(revoke)).route("/page/phone", get(sign_in_phone))
}

#[derive(Debug, Deserialize)]
struct DeviceForm {
    back: Option<String>,
}

/// Signs a device out.
async fn revoke(
    State(app): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    filled: Result<Form<DeviceForm>, FormRejection>,
) -> Response {
    let back = filled.ok().and_then(|Form(form)| form.back);
    let done = async {
        caller.require_person("revoke tokens")?;
        let id = AccessTokenId::parse(&id).map_err(|error| ApiError::field("id", error))?;
        app.store.write(RevokeAccessToken { id }).await?;
        Ok(())
    };
    redirect_back(return_path(back.as_deref()), done.await)
}

/// A page with a code that signs a phone in, once.
async fn sign_in_phone(State(app): State<AppState>, caller: Caller) -> Response {
    let html = async {
        caller.require_hand_out("sign in on a phone")?;
        let address = app.facts.phone.as_deref().ok_or_else(|| {
            ApiError::not_found("this server is not reachable from a phone; start it with `maestro up --phone`")
        })?;
        let link = app.sign_in.make_link(address, (app.clock)());
        let link =
            link.map_err(|error| ApiError::new(StatusCode::TOO_MANY_REQUESTS, "LIMIT_REACHED", error.to_string()))?;
        let code = qr_code::svg(&link.url).ok_or_else(|| ApiError::internal("the address is too long for a code"))?;
        Ok(shell::phone(&code, address)?)
    };
    match html.await {
        Ok(html) => page(StatusCode::OK, html),
        Err(error) => failure(&error),
    }
}
