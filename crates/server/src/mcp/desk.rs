//! How does a client of the protocol reach what is stored? Through the same API as everybody; where that is, whoever starts
//! the handler knows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Method, Request, Response, StatusCode, header};
use futures_util::future::BoxFuture;
use rmcp::model::Extensions;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tokio::sync::Mutex;

use crate::caller::Caller;

/// How much of an answer is read.
const LARGEST: usize = 64 * 1024 * 1024;
/// Among how many projects the one of a directory is looked for.
const MOST_PROJECTS: usize = 1000;

/// Carries a request to the API and its answer back, or says why nobody answers.
pub type Door = Arc<dyn Fn(Request<Body>) -> BoxFuture<'static, Result<Response<Body>, String>> + Send + Sync>;

/// A way to the API, and what is known of whoever uses it.
pub struct Opened {
    /// The way.
    pub door: Door,
    /// The project that whoever starts the handler works for, if that is known.
    pub project: Option<String>,
}

/// Finds the way to the API. It may look at files and wait, so it is called where that holds nobody up, and not before
/// somebody needs it. A failure is told in a sentence.
pub type Opening = Arc<dyn Fn() -> Result<Opened, String> + Send + Sync>;

/// Why something did not come about.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unheard {
    /// The API said no.
    #[error("{message}")]
    Refused { status: StatusCode, message: String, details: Json },
    /// Nobody answered.
    #[error("{0}")]
    Unreachable(String),
}

impl Unheard {
    /// Whether there is no such thing.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: StatusCode::NOT_FOUND, .. })
    }
}

/// Who makes a request, as far as the connection it came by says.
#[derive(Debug, Clone, Default)]
pub(super) struct Who(Option<Caller>);

impl Who {
    /// Whoever the guard made out; nobody where there is no guard, as at a pipe.
    pub(super) fn of(extensions: &Extensions) -> Self {
        Self(extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Caller>()).cloned())
    }

    /// The session that it is.
    pub(super) fn session(&self) -> Option<String> {
        self.0.as_ref().and_then(|caller| caller.0.session()).map(ToString::to_string)
    }
}

/// The way to the API, found when it is first needed and looked for again when nobody answers any more.
pub(super) struct Desk {
    opening: Opening,
    directory: PathBuf,
    opened: Mutex<Option<Arc<Opened>>>,
}

impl Desk {
    pub(super) fn new(opening: Opening, directory: PathBuf) -> Self {
        Self { opening, directory, opened: Mutex::new(None) }
    }

    /// The project that the handler works for: the one that whoever started it named, else the innermost that its directory
    /// belongs to.
    pub(super) async fn project(&self, who: &Who) -> Result<Option<String>, Unheard> {
        if let Some(known) = self.open().await?.project.clone() {
            return Ok(Some(known));
        }
        let projects: Vec<Json> = self.get(who, &format!("/api/projects?limit={MOST_PROJECTS}")).await?;
        let directory = self.directory.clone();
        let found = tokio::task::spawn_blocking(move || innermost(&projects, &directory)).await;
        found.map_err(|error| Unheard::Unreachable(error.to_string()))
    }

    /// Asks for something.
    pub(super) async fn get<T: DeserializeOwned>(&self, who: &Who, path: &str) -> Result<T, Unheard> {
        understood(path, self.ask(who, &Method::GET, path, None, None).await?)
    }

    /// Sends something; sent again, it is still carried out once.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        who: &Who,
        path: &str,
        body: &Json,
        key: Option<&str>,
    ) -> Result<T, Unheard> {
        let key = key.map_or_else(|| uuid::Uuid::now_v7().to_string(), str::to_owned);
        understood(path, self.ask(who, &Method::POST, path, Some(body), Some(&key)).await?)
    }

    async fn ask(
        &self,
        who: &Who,
        method: &Method,
        path: &str,
        body: Option<&Json>,
        key: Option<&str>,
    ) -> Result<Json, Unheard> {
        let request = || request(who, method, path, body, key);
        let used = self.open().await?;
        match sent(&used, request()?).await {
            // What is reached may have ended and begun elsewhere. The request has a key or changes nothing.
            Err(Unheard::Unreachable(_)) => {
                self.forget(&used).await;
                sent(&*self.open().await?, request()?).await
            }
            answered => answered,
        }
    }

    /// Forgets a way by which nobody answers; another one that somebody found meanwhile stays.
    async fn forget(&self, used: &Arc<Opened>) {
        let mut opened = self.opened.lock().await;
        if opened.as_ref().is_some_and(|opened| Arc::ptr_eq(opened, used)) {
            *opened = None;
        }
    }

    async fn open(&self) -> Result<Arc<Opened>, Unheard> {
        let mut opened = self.opened.lock().await;
        if let Some(opened) = opened.as_ref() {
            return Ok(Arc::clone(opened));
        }
        let opening = Arc::clone(&self.opening);
        let found = tokio::task::spawn_blocking(move || opening()).await;
        let found = found.map_err(|error| Unheard::Unreachable(error.to_string()))?.map_err(Unheard::Unreachable)?;
        Ok(Arc::clone(opened.insert(Arc::new(found))))
    }
}

/// The innermost of projects that a directory belongs to.
fn innermost(projects: &[Json], directory: &Path) -> Option<String> {
    let home = |project: &Json| {
        let home = project["workingDir"].as_str().map(PathBuf::from).filter(|home| home.is_absolute())?;
        Some(home.canonicalize().unwrap_or(home))
    };
    let ours = projects.iter().filter_map(|project| Some((home(project)?, project["id"].as_str()?)));
    let ours = ours.filter(|(home, _)| directory.starts_with(home));
    ours.max_by_key(|(home, _)| home.components().count()).map(|(_, id)| id.to_owned())
}

async fn sent(opened: &Opened, request: Request<Body>) -> Result<Json, Unheard> {
    let response = (opened.door)(request).await.map_err(Unheard::Unreachable)?;
    let status = response.status();
    let bytes = axum::body::to_bytes(response.into_body(), LARGEST).await;
    let bytes = bytes.map_err(|error| Unheard::Unreachable(format!("the answer broke off: {error}")))?;
    let answer: Json = serde_json::from_slice(&bytes).unwrap_or_default();
    if status.is_success() {
        return Ok(answer);
    }
    let message = answer["message"].as_str().map_or_else(|| format!("the API answered {status}"), str::to_owned);
    Err(Unheard::Refused { status, message, details: answer["details"].clone() })
}

fn understood<T: DeserializeOwned>(path: &str, answer: Json) -> Result<T, Unheard> {
    serde_json::from_value(answer)
        .map_err(|error| Unheard::Unreachable(format!("the answer to {path} cannot be understood: {error}")))
}

fn request(
    who: &Who,
    method: &Method,
    path: &str,
    body: Option<&Json>,
    key: Option<&str>,
) -> Result<Request<Body>, Unheard> {
    // What is executed is waited for here, where the client can be told of it meanwhile.
    let mut request = Request::builder().method(method).uri(path).header("prefer", "wait=0");
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    if let Some(caller) = &who.0 {
        request = request.extension(caller.clone());
    }
    let request = match body {
        Some(body) => request.header(header::CONTENT_TYPE, "application/json").body(Body::from(body.to_string())),
        None => request.body(Body::empty()),
    };
    request.map_err(|error| Unheard::Unreachable(format!("`{path}` cannot be asked for: {error}")))
}
