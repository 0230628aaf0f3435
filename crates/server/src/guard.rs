//! Checks of host, origin and token, before anything of a request is read.

use std::net::IpAddr;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::AppState;
use crate::caller::{self, Caller};
use crate::connections::StrangerPlace;
use crate::error::ApiError;
use crate::guarded_body::GuardedBody;
use crate::origin::RequestOrigin;
use crate::page::{self, sign_in};
use crate::request_limits::RequestTurn;
use crate::sign_in_state::PLACE;

/// Headers of every response: other origins cannot read it, and only our own scripts run in it.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
];

/// Where a server says that it lives.
const HEALTH: &str = "/health";

/// Passes a request on to the API, or refuses it.
pub(crate) async fn guard(State(app): State<AppState>, mut request: Request, next: Next) -> Response {
    let mut response = match admit(&app, &mut request).await {
        Ok(None) => next.run(request).await,
        // A response that streams keeps its turn; so does a WebSocket, which takes it from the request.
        Ok(Some(turn)) => {
            request.extensions_mut().insert(turn.clone());
            next.run(request).await.map(|body| Body::new(GuardedBody::holding(body, turn)))
        }
        Err(error) if error.status() == StatusCode::UNAUTHORIZED && wants_page(&request) => sign_in::form(None),
        Err(error) => error.into_response(),
    };
    app.metrics.answered(response.status());
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Lets a request in, with its turn; health checks need none.
async fn admit(app: &AppState, request: &mut Request) -> Result<Option<RequestTurn>, ApiError> {
    let host = host(request).ok_or_else(|| ApiError::invalid("the Host header is missing"))?;
    if !is_ours(app, &host) {
        return Err(ApiError::forbidden(format!("this server is not `{host}`")));
    }
    check_origin(app, request.headers())?;
    if request.method() == Method::OPTIONS {
        return Ok(None);
    }
    let origin = request.extensions().get::<RequestOrigin>().cloned().unwrap_or_default();
    let caller = caller::identify(app, &origin, request.headers()).await;
    if !is_public(request.uri().path()) {
        let caller = caller.as_ref().map_err(Clone::clone)?;
        if *caller == Caller::Stranger {
            return Err(ApiError::unauthorized("missing token: send `Authorization: Bearer …`"));
        }
        if !request.method().is_safe() {
            caller.check_write()?;
        }
    }
    let caller = caller.unwrap_or(Caller::Stranger);
    if caller != Caller::Stranger
        && let Some(place) = request.extensions().get::<StrangerPlace>()
    {
        place.leave();
    }
    let turn = if request.uri().path() == HEALTH { None } else { Some(app.limits.enter(caller.credential()).await?) };
    request.extensions_mut().insert(caller);
    Ok(turn)
}

/// Health checks and signing in need no token.
fn is_public(path: &str) -> bool {
    path == HEALTH || path == PLACE || path.starts_with("/assets/")
}

/// Whether a person opens the page in a browser and can be asked for the token.
fn wants_page(request: &Request) -> bool {
    page::is_for_people(request.method(), request.uri(), request.headers())
}

fn host(request: &Request) -> Option<String> {
    let header = request.headers().get(header::HOST).and_then(|value| value.to_str().ok());
    let host = header.map(str::to_owned).or_else(|| request.uri().authority().map(ToString::to_string))?;
    Some(name_of(&host).to_ascii_lowercase())
}

/// The host without its port.
fn name_of(authority: &str) -> &str {
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.split(':').next().unwrap_or(authority),
    }
}

fn is_ours(app: &AppState, host: &str) -> bool {
    let hosts = &app.facts.hosts;
    // A server that listens on all addresses accepts any IP address as host. A page that rebinds DNS has a name.
    let everywhere = || hosts.iter().any(|own| own.parse().is_ok_and(|ip: IpAddr| ip.is_unspecified()));
    matches!(host, "localhost" | "127.0.0.1" | "::1")
        || hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
        || (host.parse::<IpAddr>().is_ok() && everywhere())
}

/// A page of another origin must not call us from the user's browser.
fn check_origin(app: &AppState, headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match authority {
        Some(authority)
            if authority.eq_ignore_ascii_case(host) && is_ours(app, &name_of(authority).to_ascii_lowercase()) =>
        {
            Ok(())
        }
        _ => Err(ApiError::forbidden("requests from another origin are not allowed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_known_without_its_port() {
        assert_eq!(name_of("localhost:3000"), "localhost");
        assert_eq!(name_of("[::1]:3000"), "::1");
        assert_eq!(name_of("127.0.0.1"), "127.0.0.1");
    }
}
