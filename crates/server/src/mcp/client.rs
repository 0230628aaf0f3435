//! The client of the MCP server: connects when it is first needed, and again when no one answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use maestro_api::events::EventQuery;
use maestro_api::fields::PageQuery;
use maestro_api::projects::{self, ProjectBody};
use maestro_api::{ApiClient, ApiRequest, ChangeWatch, ClientError};
use rmcp::model::Extensions;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use super::directory::WorkDirectory;
use crate::caller::Caller;

/// Among how many projects the one of a directory is searched.
const MOST_PROJECTS: i64 = 1000;

/// A way to the API, and what is known of the process that uses it.
pub struct Connection {
    /// The way.
    pub client: ApiClient,
    /// The project that the process works for, if something else than its directory says so.
    pub project: Option<String>,
}

/// Finds the way to the API from a directory. It may read files and wait, so it is called on a blocking thread, and not before it is
/// needed. A failure is a sentence.
pub type Connect = Arc<dyn Fn(&Path) -> Result<Connection, String> + Send + Sync>;

/// The caller of a request, as far as the connection identifies it.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolCaller(Option<Caller>);

impl ToolCaller {
    /// The caller that the guard made out; none where there is no guard, as at a pipe.
    pub(super) fn of(extensions: &Extensions) -> Self {
        Self(extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Caller>()).cloned())
    }

    /// The caller's session.
    pub(super) fn session(&self) -> Option<String> {
        self.0.as_ref().and_then(|caller| caller.session_id()).map(ToString::to_string)
    }

    /// The client that speaks for it. What is executed is waited for here, where the MCP client can be told of it.
    fn client(&self, connection: &Connection) -> ApiClient {
        let no_wait = (HeaderName::from_static("prefer"), HeaderValue::from_static("wait=0"));
        let client = connection.client.clone().with_headers(HeaderMap::from_iter([no_wait]));
        match &self.0 {
            Some(caller) => client.with_extension(caller.clone()),
            None => client,
        }
    }
}

/// The way to the API, found when it is first needed and looked for again when no one answers any more.
pub(super) struct ReconnectingClient {
    connect: Connect,
    directory: Arc<WorkDirectory>,
    connection: Mutex<Option<Arc<Connection>>>,
}

impl ReconnectingClient {
    pub(super) fn new(connect: Connect, directory: Arc<WorkDirectory>) -> Self {
        Self { connect, directory, connection: Mutex::new(None) }
    }

    /// The project that the handler works for: the one that its process names, else the innermost that its directory
    /// belongs to.
    pub(super) async fn project(&self, who: &ToolCaller) -> Result<Option<String>, ClientError> {
        if let Some(known) = self.open().await?.project.clone() {
            return Ok(Some(known));
        }
        let page = PageQuery { limit: Some(MOST_PROJECTS), cursor: None };
        let projects = self.call(who, projects::list().with_query(&page)).await?;
        let directory = self.directory.current();
        let found = tokio::task::spawn_blocking(move || innermost(&projects, &directory)).await;
        found.map_err(|error| ClientError::NotConnected(error.to_string()))
    }

    /// Sends a request for a caller and reads its answer.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        who: &ToolCaller,
        request: ApiRequest<T>,
    ) -> Result<T, ClientError> {
        let request = request.with_fresh_key();
        let used = self.open().await?;
        match who.client(&used).call(request.clone()).await {
            // What is reached may have ended and started elsewhere. The request has a key or changes nothing.
            Err(error) if error.is_network() => {
                self.forget(&used).await;
                who.client(&*self.open().await?).call(request).await
            }
            answered => answered,
        }
    }

    /// Waits, for a caller, for changes of what these events are about.
    pub(super) async fn watch(&self, who: &ToolCaller, query: EventQuery) -> Result<ChangeWatch, ClientError> {
        Ok(ChangeWatch::new(who.client(&*self.open().await?), query))
    }

    /// Forgets a connection by which no one answers; another one that was found meanwhile stays.
    async fn forget(&self, used: &Arc<Connection>) {
        let mut connection = self.connection.lock().await;
        if connection.as_ref().is_some_and(|connection| Arc::ptr_eq(connection, used)) {
            *connection = None;
        }
    }

    async fn open(&self) -> Result<Arc<Connection>, ClientError> {
        let mut connection = self.connection.lock().await;
        if let Some(connection) = connection.as_ref() {
            return Ok(Arc::clone(connection));
        }
        let (connect, directory) = (Arc::clone(&self.connect), self.directory.current());
        let found = tokio::task::spawn_blocking(move || connect(&directory)).await;
        let found = found.map_err(|error| ClientError::NotConnected(error.to_string()))?;
        Ok(Arc::clone(connection.insert(Arc::new(found.map_err(ClientError::NotConnected)?))))
    }
}

/// The innermost project that contains a directory.
fn innermost(projects: &[ProjectBody], directory: &Path) -> Option<String> {
    let home = |project: &ProjectBody| {
        let home = Some(PathBuf::from(&project.working_dir)).filter(|home| home.is_absolute())?;
        Some(home.canonicalize().unwrap_or(home))
    };
    let ours = projects.iter().filter_map(|project| Some((home(project)?, &project.id)));
    let ours = ours.filter(|(home, _)| directory.starts_with(home));
    ours.max_by_key(|(home, _)| home.components().count()).map(|(_, id)| id.clone())
}
