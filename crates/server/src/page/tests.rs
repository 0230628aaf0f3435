//! Pages as a person sees them, state by state.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use futures_util::StreamExt as _;
use http_body_util::BodyExt as _;
use maestro_store::{Clock, DatabaseLocation, Store};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::time::timeout;
use tower::ServiceExt as _;

use crate::{AccessPolicy, AppState, ServerOptions, router};

/// Long enough for a busy machine; only a failing test takes as long.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server with a clock that stands still.
struct Site {
    router: Router,
    store: Store,
    clock: Arc<AtomicI64>,
    directory: TempDir,
}

impl Site {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicI64::new(1_738_713_600_000));
        let hand = Arc::clone(&clock);
        let told: Clock = Arc::new(move || hand.load(Ordering::Relaxed));
        let store = Store::open(DatabaseLocation::File(directory.path().join("maestro.db")), &told).unwrap();
        let app = AppState::new(ServerOptions {
            store: store.clone(),
            access: AccessPolicy::Open,
            hosts: Vec::new(),
            instance: "test".to_owned(),
            site: "site".to_owned(),
            url: "http://localhost:3000".to_owned(),
            phone: None,
            version: "0".to_owned(),
            hostname: "box".to_owned(),
            clock: told,
            retention: maestro_engine::daemon::EventRetention::Keep,
            backups: None,
            host: Arc::new(maestro_engine::BareHost),
            endpoints: maestro_core::agent::spawn::AgentEndpoints::default(),
            hosting: None,
            execution: None,
            mcp: None,
        });
        Self { router: router(app), store, clock, directory }
    }

    /// Lets so many seconds pass.
    fn wait(&self, seconds: i64) {
        self.clock.fetch_add(seconds * 1000, Ordering::Relaxed);
    }

    async fn send(&self, request: Request<Body>) -> Response<Body> {
        self.router.clone().oneshot(request).await.unwrap()
    }

    async fn get(&self, path: &str) -> Response<Body> {
        let request = Request::get(path).header(header::HOST, "localhost").body(Body::empty());
        self.send(request.unwrap()).await
    }

    async fn page(&self, path: &str) -> String {
        text(self.get(path).await).await
    }

    async fn post(&self, path: &str, body: Json) -> Json {
        self.api("POST", path, body).await
    }

    async fn api(&self, method: &str, path: &str, body: Json) -> Json {
        let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
        let request = request.header(header::CONTENT_TYPE, "application/json").body(Body::from(body.to_string()));
        let answer = self.send(request.unwrap()).await;
        let status = answer.status();
        let text = text(answer).await;
        assert!(status.is_success(), "{path}: {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Sends a form as a browser does.
    async fn form(&self, path: &str, fields: &str, origin: &str) -> Response<Body> {
        let request = Request::post(path).header(header::HOST, "localhost").header(header::ORIGIN, origin);
        let kind = "application/x-www-form-urlencoded";
        self.send(request.header(header::CONTENT_TYPE, kind).body(Body::from(fields.to_owned())).unwrap()).await
    }

    async fn project(&self, name: &str) -> String {
        id(&self.post("/api/projects", json!({ "name": name })).await)
    }

    async fn task(&self, project: &str, title: &str) -> String {
        id(&self.post("/api/tasks", json!({ "projectId": project, "title": title })).await)
    }

    /// A session on a task of its own, which says something.
    async fn session(&self, project: &str, name: &str, title: &str, said: Option<(&str, &str)>) -> String {
        let task = self.task(project, title).await;
        let body = json!({ "id": name, "projectId": project, "taskIds": [task], "agentId": "claude" });
        self.post("/api/sessions", body).await;
        if let Some((kind, words)) = said {
            self.report(name, kind, words).await;
        }
        name.to_owned()
    }

    async fn report(&self, session: &str, kind: &str, words: &str) -> Json {
        self.post(&format!("/api/sessions/{session}/reports"), json!({ "kind": kind, "message": words })).await
    }
}

fn id(made: &Json) -> String {
    made["id"].as_str().unwrap().to_owned()
}

async fn text(answer: Response<Body>) -> String {
    String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

/// Compares a page without what differs from build to build and from run to run.
macro_rules! assert_page {
    ($name:literal, $page:expr) => {
        insta::with_settings!({ filters => [
            (r"(proj|task)_\d+_\w{9}", "${1}_ID"),
            (r"/assets/[0-9a-f]{16}/", "/assets/HASH/"),
            (r#"data-build="[0-9a-f]{16}""#, r#"data-build="HASH""#),
        ] }, { insta::assert_snapshot!($name, $page) });
    };
}

mod activity;
mod agent;
mod runs;
mod work;

#[tokio::test]
async fn a_first_start_shows_three_steps() {
    let site = Site::new();
    let page = site.page("/").await;
    assert_page!("first_start", page);
    assert!(page.contains("No coding agent found (looked for "), "{page}");
    let project = site.project("my-repo").await;
    let own = json!({ "id": "own", "projectId": project, "taskIds": [], "agentId": "claude", "metadata": { "spawnSource": "hook" } });
    site.post("/api/sessions", own).await;
    let page = site.page("/").await;
    assert_eq!(page.matches("<li class=\"done\">").count(), 1, "a step is done when it happened: {page}");
    assert!(page.contains("Your own sessions") && !page.contains("waiting for your first prompt"), "{page}");
    for name in ["s1", "s2", "s3"] {
        site.session(&project, name, "Rate-limit the upload", None).await;
    }
    let page = site.page("/").await;
    assert!(page.contains(r#"<section class="steps" id="steps" aria-label="First steps" hidden>"#), "{page}");
}

#[tokio::test]
async fn every_state_has_its_place() {
    let site = Site::new();
    let (repo, docs) = (site.project("my-repo").await, site.project("docs").await);
    site.session(&repo, "silent", "Profile the cold start", Some(("progress", "collecting samples"))).await;
    site.wait(60);
    site.session(&repo, "asks", "Make the importer resume", Some(("needs-input", "A or B?\nB is slower."))).await;
    site.session(&repo, "works", "Upload", Some(("progress", "checking"))).await;
    site.session(&repo, "paused", "Upgrade", Some(("progress", "13 of 21"))).await;
    site.post("/api/sessions/paused/pause", json!({})).await;
    site.session(&docs, "blocked", "Publish", Some(("blocked", "403 on the bucket"))).await;
    site.session(&docs, "idle", "Translate", None).await;
    site.session(&repo, "failed", "Export", Some(("error", "401: key revoked"))).await;
    site.api("PATCH", "/api/sessions/failed", json!({ "status": "failed" })).await;
    site.session(&repo, "cancelled", "Old idea", None).await;
    site.post("/api/sessions/cancelled/cancel", json!({})).await;
    site.session(&repo, "done", "Fix the test", Some(("complete", "all green"))).await;
    site.api("PATCH", "/api/sessions/silent", json!({ "status": "stopped" })).await;
    site.wait(61);
    let page = site.page("/").await;
    assert!(page.contains("<title>(3) Maestro</title>"), "{page}");
    assert!(!page.contains("state good"), "what an agent says is never green");
    let export = page.matches("Export").count();
    assert_eq!(export, 1, "what stopped and holds up its task is one card, and no row as well: {page}");
    assert!(page.contains("blocker</span><span>claude</span><a class=\"title\" href=\"/sessions/blocked\">"), "{page}");
    assert_page!("every_state", page);

    let page = site.page(&format!("/?project={docs}")).await;
    assert!(page.contains("<title>(1) Maestro</title>"), "{page}");
    assert!(page.contains("Publish") && !page.contains("Upgrade"), "{page}");
    assert!(
        page.contains(&format!(r#"<input type="hidden" name="back" value="/?project={docs}">"#)),
        "forms lead back"
    );
}

#[tokio::test]
async fn an_answer_becomes_a_line_until_the_agent_goes_on() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    site.session(&project, "asks", "Resume", Some(("needs-input", "A or B?"))).await;
    site.wait(5);
    let answer = site
        .form("/page/sessions/asks/messages", "text=B+%3Cplease%3E%0D%0Aand+soon&back=%2F", "http://localhost")
        .await;
    assert_eq!((answer.status(), &answer.headers()[header::LOCATION]), (StatusCode::SEE_OTHER, &"/".parse().unwrap()));
    let page = site.page("/").await;
    assert!(page.contains("<title>Maestro</title>"), "nothing waits: {page}");
    assert!(page.contains("answered claude · Resume: “B &lt;please&gt;\nand soon”"), "{page}");
    assert!(page.contains("queued until its next call"), "not delivered before it was: {page}");
    let reply = site.report("asks", "progress", "B it is").await;
    assert_eq!(reply["changes"], json!(["the user says: B <please>\nand soon"]));
    let page = site.page("/").await;
    assert!(page.contains("Nothing waits for you.") && page.contains("“B it is”"), "{page}");
}

#[tokio::test]
async fn forms_say_why_not() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    site.session(&project, "s1", "Upload", None).await;
    let empty = site.form("/page/sessions/s1/messages", "text=+", "http://localhost").await;
    assert_eq!(empty.status(), StatusCode::BAD_REQUEST);
    assert!(text(empty).await.contains("the message is empty"));
    let foreign = site.form("/page/sessions/s1/cancel", "", "http://elsewhere.example").await;
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
    assert_eq!(site.form("/page/sessions/s1/cancel", "", "http://localhost").await.status(), StatusCode::SEE_OTHER);
    let late = site.form("/page/sessions/s1/messages", "text=hello", "http://localhost").await;
    assert_eq!(late.status(), StatusCode::CONFLICT);
    assert!(text(late).await.contains("the session has ended"));
    let missing = site.get("/?project=nobody").await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    assert_eq!(missing.headers()[header::REFERRER_POLICY], "same-origin", "or browsers hide where forms come from");
    assert!(text(missing).await.contains("<p id=\"why\">"));
}

#[tokio::test]
async fn a_blocked_task_nobody_works_on_can_be_opened_again() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    let session = site.session(&project, "gone", "Export", Some(("blocked", "no key"))).await;
    site.post(&format!("/api/sessions/{session}/cancel"), json!({})).await;
    let page = site.page("/").await;
    let action = page.split("action=\"").find(|part| part.starts_with("/page/tasks/")).unwrap();
    let action = action.split('"').next().unwrap();
    assert!(page.contains("(1) Maestro") && page.contains("no key"), "{page}");
    assert_eq!(site.form(action, "", "http://localhost").await.status(), StatusCode::SEE_OTHER);
    assert!(site.page("/").await.contains("Nothing waits for you."));
}

#[tokio::test]
async fn what_others_wrote_stays_text() {
    let site = Site::new();
    let evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>";
    let project = site.project(evil).await;
    site.project("another").await;
    for (name, kind) in [("a", "needs-input"), ("b", "progress"), ("c", "blocked"), ("d", "complete"), ("e", "error")] {
        let task = site.task(&project, evil).await;
        let body = json!({ "id": name, "projectId": project, "taskIds": [task], "agentId": evil, "name": evil });
        site.post("/api/sessions", body).await;
        site.report(name, kind, evil).await;
        site.post(&format!("/api/sessions/{name}/messages"), json!({ "text": evil })).await;
    }
    let page = site.page("/").await;
    assert!(page.matches("&lt;script&gt;").count() > 12, "{page}");
    for raw in ["<script>alert", "<img", "\"'>"] {
        assert!(!page.contains(raw), "{raw} in {page}");
    }
    assert_eq!(
        page.matches("<script").count(),
        page.matches("<script type=\"module\" src=\"/assets/").count(),
        "only our own"
    );
    for inline in [" style=", " onclick=", "javascript:"] {
        assert!(!page.contains(inline), "{inline}");
    }
}

#[tokio::test]
async fn many_sessions_make_a_page_of_bounded_size() {
    let site = Site::new();
    let (one, two) = (site.project("one").await, site.project("two").await);
    let long = "word ".repeat(10_000);
    for number in 0..200 {
        let name = format!("s{number}");
        site.session(&one, &name, &long[..5000], Some(("progress", &long))).await;
    }
    for other in [None, Some("other")] {
        if let Some(name) = other {
            site.session(&two, name, "Another", None).await;
        }
        let all = site.page("/").await;
        assert!(all.contains("200 working") && !all.contains("class=\"row run\""), "{all}");
        assert!(all.len() < 20_000, "{} bytes", all.len());
    }
    let page = site.page(&format!("/?project={one}")).await;
    assert_eq!(page.matches("class=\"row run\"").count(), 100);
    assert!(page.contains("and 100 more"));
    assert!(page.len() < 300_000, "{} bytes", page.len());
}

#[tokio::test]
async fn a_live_page_is_sent_what_changed() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    site.session(&project, "s1", "Upload", Some(("progress", "one"))).await;
    let page = site.page("/").await;
    let value = |name: &str| page.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().to_owned();
    let (build, seen) = (value("data-build"), value("data-seq"));

    assert_eq!(value("data-server"), "site");
    let mut live = frames(site.get(&format!("/page/live?build={build}&seen={seen}&server=site")).await);
    let first = live.next().await.unwrap();
    assert_eq!((&first["html"], &first["lists"]["running"]), (&json!({}), &json!(["run-s1"])), "it is current");
    site.report("s1", "progress", "two").await;
    let second = live.next().await.unwrap();
    let changed: Vec<&String> = second["html"].as_object().unwrap().keys().collect();
    assert_eq!(changed, ["run-s1"], "nothing else has changed");
    assert!(second["html"]["run-s1"].as_str().unwrap().contains("“two”"));

    let mut late = frames(site.get(&format!("/page/live?build={build}&seen=1")).await);
    let whole = late.next().await.unwrap();
    assert!(whole["html"].as_object().unwrap().len() > 8, "who may show anything gets everything");
    let nowhere = site.get(&format!("/page/live?build={build}&seen=1&screen=%2Fnowhere")).await;
    assert_eq!(nowhere.status(), StatusCode::BAD_REQUEST, "it shows no screen");
    let foreign = text(site.get(&format!("/page/live?build={build}&seen=1&server=elsewhere")).await).await;
    assert_eq!(foreign, "event: foreign\ndata: {}\n\n", "it does not become another server's page");
    let old = text(site.get("/page/live?build=older&seen=1").await).await;
    assert!(old.contains("event: reload"), "{old}");
}

#[tokio::test]
async fn a_live_page_shows_that_the_database_cannot_be_read() {
    let site = Site::new();
    site.project("my-repo").await;
    let page = site.page("/").await;
    let value = |name: &str| page.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().to_owned();
    let (build, seen) = (value("data-build"), value("data-seq"));
    let mut live = frames(site.get(&format!("/page/live?build={build}&seen={seen}")).await);
    let mut next = async || timeout(PATIENCE, live.next()).await.expect("a patch in time").unwrap();
    next().await;

    let database = rusqlite::Connection::open(site.directory.path().join("maestro.db")).unwrap();
    let rename = |from: &str, to: &str| {
        let keep_references = "PRAGMA legacy_alter_table = ON";
        database.execute_batch(&format!("{keep_references}; ALTER TABLE {from} RENAME TO {to}")).unwrap();
    };
    rename("events", "lost_events");
    assert_eq!(site.get("/").await.status(), StatusCode::INTERNAL_SERVER_ERROR);
    let failing = next().await;
    let changed: Vec<&String> = failing["html"].as_object().unwrap().keys().collect();
    assert_eq!(changed, ["health"], "the rest stays as it was read last");
    let banner = failing["html"]["health"].as_str().unwrap();
    assert!(banner.contains("Degraded since 2025-02-05T00:00:00.000Z: database: "), "{banner}");

    rename("lost_events", "events");
    // The banner may change before it goes: what failed last need not be what failed first.
    while next().await["html"]["health"].as_str().is_none_or(|banner| banner.contains("Degraded")) {}
}

/// The patches of a stream.
fn frames(answer: Response<Body>) -> impl futures_util::Stream<Item = Json> + Unpin {
    let chunks = answer.into_body().into_data_stream().map(|chunk| String::from_utf8(chunk.unwrap().to_vec()).unwrap());
    Box::pin(chunks.filter_map(|chunk| async move {
        // The first thing says which server this is.
        let patch = chunk.split("\n\n").find(|event| !event.contains("event: server"))?;
        let data = patch.lines().find_map(|line| line.strip_prefix("data: "))?;
        serde_json::from_str(data).ok()
    }))
}

#[tokio::test]
async fn assets_are_kept_until_they_change() {
    let site = Site::new();
    let page = site.page("/").await;
    let addresses = page.split("href=\"").filter_map(|part| part.split('"').next());
    let address = addresses.into_iter().find(|address| address.ends_with("/shell.css")).unwrap();
    let answer = site.get(address).await;
    assert_eq!(answer.headers()[header::CACHE_CONTROL], "public, max-age=31536000, immutable");
    assert_eq!(answer.headers()[header::CONTENT_TYPE], "text/css; charset=utf-8");
    let tag = answer.headers()[header::ETAG].clone();
    assert_eq!(site.get("/assets/shell.css").await.headers()[header::CACHE_CONTROL], "no-cache");
    let again = Request::get("/assets/shell.css").header(header::HOST, "localhost").header(header::IF_NONE_MATCH, tag);
    assert_eq!(site.send(again.body(Body::empty()).unwrap()).await.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(site.get("/assets/older/shell.css").await.headers()[header::CACHE_CONTROL], "no-cache");
    for missing in ["/assets/none.css", "/assets/older/none.css"] {
        assert_eq!(site.get(missing).await.status(), StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn pages_and_assets_are_sent_compressed_to_browsers_that_can() {
    let site = Site::new();
    for path in ["/", "/assets/shell.css"] {
        let request = Request::get(path).header(header::HOST, "localhost").header(header::ACCEPT_ENCODING, "gzip, br");
        let answer = site.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.headers()[header::CONTENT_ENCODING], "gzip", "{path}");
    }
    assert!(!site.get("/").await.headers().contains_key(header::CONTENT_ENCODING));
}

#[tokio::test]
async fn an_unknown_address_is_a_page_for_people_and_json_for_programs() {
    let site = Site::new();
    let ask = async |path: &str, accept: &str| {
        let request = Request::get(path).header(header::HOST, "localhost").header(header::ACCEPT, accept);
        let answer = site.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
        (answer.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned(), text(answer).await)
    };
    let (kind, page) = ask("/nowhere/%3Cb%3E", "text/html,*/*").await;
    assert!(kind.starts_with("text/html") && page.contains("there is nothing at"), "{page}");
    assert!(page.contains(r#"<a href="/">"#) && !page.contains("<b>"), "it leads on: {page}");
    for (path, accept) in
        [("/api/nowhere", "text/html"), ("/nowhere", "application/json"), ("/assets/none.css", "text/html")]
    {
        let (kind, body) = ask(path, accept).await;
        assert!(kind.starts_with("application/json") && body.contains("NOT_FOUND"), "{path}: {body}");
    }
}

#[tokio::test]
async fn forms_lead_back_to_screens_and_nowhere_else() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    site.session(&project, "s1", "Upload", None).await;
    for (back, leads) in
        [("%2Fsessions%2Fs1", "/sessions/s1"), ("%2F%3Fproject%3Dp1", "/?project=p1"), ("%2Fnowhere", "/"), ("", "/")]
    {
        let answer = site.form("/page/sessions/s1/messages", &format!("text=hi&back={back}"), "http://localhost").await;
        let place = answer.headers().get(header::LOCATION).map(|place| place.to_str().unwrap().to_owned());
        assert_eq!(place.as_deref(), Some(leads), "{back}: {}", text(answer).await);
    }
    for foreign in ["http%3A%2F%2Felsewhere.example%2F", "%2F%2Felsewhere.example%2F"] {
        let answer =
            site.form("/page/sessions/s1/messages", &format!("text=hi&back={foreign}"), "http://localhost").await;
        assert!(!answer.headers().get(header::LOCATION).is_some_and(|place| place.to_str().unwrap().contains("else")));
    }
}
