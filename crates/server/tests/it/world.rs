//! A server of its own for each test: always over a SQLite file, and over a PostgreSQL schema where a server is given.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, header};
use maestro_core::Settings;
use maestro_core::settings::SettingsDirs;
use maestro_engine::{BareHost, Freshness, Host, HostError, ProjectSkills};
use maestro_server::{AccessPolicy, AppState, ServerOptions, router};
use maestro_skills::{Catalogue, SkillRoot};
use maestro_store::{Clock, DatabaseLocation, Store};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

/// The variable with the address of a PostgreSQL server that tests may make schemas in.
const SERVER: &str = "MAESTRO_TEST_POSTGRES";

/// A server that is called without a connection.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) app: AppState,
    pub(crate) store: Store,
    router: Router,
    clock: Arc<AtomicI64>,
    headers: Vec<(String, String)>,
    _directory: Option<Arc<TempDir>>,
}

impl Api {
    pub(crate) fn sqlite() -> Self {
        Self::sqlite_for(AccessPolicy::Open)
    }

    pub(crate) fn sqlite_for(access: AccessPolicy) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self::at(DatabaseLocation::File(directory.path().join("maestro.db")), access, Some(directory), nowhere())
    }

    /// One that finds its skills in a folder.
    pub(crate) fn with_skills(folder: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = DatabaseLocation::File(directory.path().join("maestro.db"));
        Self::at(place, AccessPolicy::Open, Some(directory), Arc::new(FolderHost(folder.to_owned())))
    }

    /// One with a host of its own.
    pub(crate) fn with_host(access: AccessPolicy, host: Arc<dyn Host>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self::at(DatabaseLocation::File(directory.path().join("maestro.db")), access, Some(directory), host)
    }

    /// Nothing where no server is given; the test says so and passes.
    pub(crate) async fn postgres() -> Option<Self> {
        let Ok(server) = std::env::var(SERVER) else {
            eprintln!("skipped: {SERVER} is not set");
            return None;
        };
        let made = tokio::task::spawn_blocking(move || {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
            let schema = format!("s_{}_{now:x}", std::process::id());
            let mut admin = postgres::Client::connect(&server, postgres::NoTls).unwrap();
            admin.batch_execute(&format!("CREATE SCHEMA {schema}")).unwrap();
            let mark = if server.contains('?') { '&' } else { '?' };
            let place = DatabaseLocation::Postgres(format!("{server}{mark}options=-c%20search_path%3D{schema}"));
            Self::at(place, AccessPolicy::Open, None, nowhere())
        });
        Some(made.await.unwrap())
    }

    fn at(place: DatabaseLocation, access: AccessPolicy, directory: Option<TempDir>, host: Arc<dyn Host>) -> Self {
        let clock = Arc::new(AtomicI64::new(1_738_713_600_000));
        let ticking: Clock = {
            let clock = Arc::clone(&clock);
            Arc::new(move || clock.load(Ordering::Relaxed))
        };
        let store = Store::open(place, &ticking).unwrap();
        let app = AppState::new(ServerOptions {
            store: store.clone(),
            access,
            hosts: vec!["maestro.test".to_owned()],
            instance: "instance".to_owned(),
            site: "site".to_owned(),
            url: "http://localhost:3000".to_owned(),
            phone: None,
            version: "0.0.0".to_owned(),
            hostname: "host".to_owned(),
            clock: ticking,
            retention: maestro_engine::daemon::EventRetention::Keep,
            backups: None,
            host,
            endpoints: maestro_core::agent::spawn::AgentEndpoints::default(),
            hosting: Some(maestro_store::HostKind::Server),
            execution: None,
            mcp: None,
        });
        let router = router(app.clone());
        Self { app, store, router, clock, headers: Vec::new(), _directory: directory.map(Arc::new) }
    }

    /// Lets time pass.
    pub(crate) fn wait(&self, milliseconds: i64) {
        self.clock.fetch_add(milliseconds, Ordering::Relaxed);
    }

    /// The same, with a header on every request.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut same = self.clone();
        same.headers.push((name.to_owned(), value.to_owned()));
        same
    }

    /// The same, called by a session that shows its token.
    pub(crate) async fn as_session(&self, session: &str) -> Self {
        let token = self.post(&format!("/api/sessions/{session}/token"), json!({})).await.body["token"].clone();
        self.with("authorization", &format!("Bearer {}", token.as_str().unwrap()))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Json) -> Answer {
        self.send(Method::POST, path, Some(body.to_string())).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Json) -> Answer {
        self.send(Method::PATCH, path, Some(body.to_string())).await
    }

    pub(crate) async fn put(&self, path: &str, body: Json) -> Answer {
        self.send(Method::PUT, path, Some(body.to_string())).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, None).await
    }

    /// Sends any text as JSON.
    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<String>) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        let named = |name: &str| self.headers.iter().any(|(given, _)| given == name);
        if !named("host") {
            request = request.header(header::HOST, "localhost");
        }
        if body.is_some() && !named("content-type") {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(body.map_or_else(Body::empty, Body::from)).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status, headers, body: serde_json::from_str(&text).unwrap_or_default(), text }
    }

    pub(crate) async fn project(&self) -> String {
        self.post("/api/projects", json!({ "name": "shop", "workingDir": "/work/shop" })).await.id()
    }

    pub(crate) async fn task(&self, project: &str, title: &str) -> String {
        self.post("/api/tasks", json!({ "projectId": project, "title": title })).await.id()
    }

    pub(crate) async fn subtask(&self, parent: &str, title: &str) -> String {
        self.post("/api/tasks", json!({ "parentId": parent, "title": title })).await.id()
    }

    pub(crate) async fn session(&self, project: &str, tasks: &[&str]) -> String {
        self.post("/api/sessions", json!({ "projectId": project, "taskIds": tasks })).await.id()
    }
}

fn nowhere() -> Arc<dyn Host> {
    Arc::new(BareHost)
}

/// A host whose skills are those of one folder, read each time.
struct FolderHost(PathBuf);

impl Host for FolderHost {
    fn skills(&self, _: Option<&Path>, _: Freshness) -> Result<ProjectSkills, HostError> {
        let Self(folder) = self;
        let places = SettingsDirs {
            home: folder.join("home"),
            data: folder.join("data"),
            project: folder.clone(),
            working_dir: folder.clone(),
        };
        let settings = Settings::defaults(&places);
        let roots = [SkillRoot::given(folder.clone(), &places)];
        let catalogue = Catalogue::load(&roots, &places, settings.skills_validation.value, &AtomicUsize::new(0));
        Ok(ProjectSkills { catalogue: Arc::new(catalogue), settings: Arc::new(settings) })
    }
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Json,
    pub(crate) text: String,
}

impl Answer {
    /// The id of what was made.
    pub(crate) fn id(&self) -> String {
        assert_eq!(self.status, 201, "{self}");
        self.body["id"].as_str().unwrap().to_owned()
    }

    /// The status, and of a failure the code and message.
    pub(crate) fn line(&self) -> String {
        let word = |key: &str| self.body[key].as_str().unwrap_or_default();
        if self.status >= 400 {
            assert_eq!((&self.body["error"], &self.body["statusCode"]), (&json!(true), &json!(self.status)), "{self}");
        }
        plain(format!("{} {} {}", self.status, word("code"), word("message")).trim_end())
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn ids(&self) -> Vec<&str> {
        self.body.as_array().unwrap().iter().map(|thing| thing["id"].as_str().unwrap()).collect()
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = serde_json::to_string_pretty(&self.body).unwrap();
        write!(f, "{}\n{}", self.status, plain(&body))
    }
}

/// The text without what differs from run to run: made ids.
pub(crate) fn plain(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut plain = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let word = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        plain.push_str(without_number(word).unwrap_or(word));
        rest = &rest[word.len()..];
        let other = &rest[..rest.find(is_part).unwrap_or(rest.len())];
        plain.push_str(other);
        rest = &rest[other.len()..];
    }
    plain
}

/// The prefix of an id that was made.
fn without_number(word: &str) -> Option<&str> {
    let (rest, random) = word.rsplit_once('_')?;
    let (prefix, millis) = rest.rsplit_once('_')?;
    let made = random.len() == 9 && millis.len() == 13 && millis.bytes().all(|b| b.is_ascii_digit());
    made.then_some(prefix)
}

/// Runs each check twice: once for each database.
macro_rules! both {
    ($($name:ident,)*) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name(&crate::world::Api::sqlite()).await;
            })*
        }

        mod on_postgres {
            $(#[tokio::test]
            async fn $name() {
                if let Some(api) = crate::world::Api::postgres().await {
                    super::$name(&api).await;
                }
            })*
        }
    };
}

pub(crate) use both;
