//! Runs on the first screen: their rows, their questions, and what a person decides.

use axum::http::{StatusCode, header};
use maestro_core::SessionRole;
use maestro_core::id::SessionId;
use maestro_core::session::{Approach, SessionStatus};
use maestro_store::{
    ClaimPolicy, ClaimScope, ClaimSpawn, CreateSession, MarkDelivered, RequestSpawn, StartStepSession, UnreadMessages,
};
use serde_json::{Map, Value as Json, json};

use super::{Site, text};

const HERE: &str = "http://localhost";

const CHOICE: &str = "
name: choice
params: {only: {type: string, default: ''}}
variables: {window: {type: string, default: ''}, note: {type: string, default: ''}}
steps:
- {id: which, type: question, title: Choose a window, prompt: 'Which window?', options: [minute, hour], store: window, next: {ok: say, declined: stop}}
- {id: say, type: question, title: Explain, prompt: 'Why {window}?', store: note, next: {ok: done, declined: stop}}
- {id: done, type: end, message: 'It is {window}, because {note}.'}
- {id: stop, type: end, status: blocked, message: 'Stopped at: the window\nnobody chose one'}
";

impl Site {
    /// A run that asks a person.
    async fn run(&self, project: &str, task: &str) -> String {
        let definition = json!({ "text": CHOICE, "folder": "/skills/choice", "resources": {} });
        let pinned = json!({ "main": "choice", "definitions": { "choice": definition } });
        let body = json!({ "pinned": pinned, "params": { "only": task }, "projectId": project, "workspace": "/work/shop", "driver": "caller" });
        self.post("/api/runs", body).await["id"].as_str().unwrap().to_owned()
    }

    async fn decide(&self, run: &str, what: &str, fields: &str) -> StatusCode {
        self.form(&format!("/page/runs/{run}/{what}"), fields, HERE).await.status()
    }
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    text.split(before).nth(1).unwrap_or_else(|| panic!("no {before} in {text}")).split(after).next().unwrap()
}

#[tokio::test]
async fn a_question_of_a_run_is_answered_in_its_card() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    let run = site.run(&project, "Rate-limit the <b>upload</b>").await;
    let page = site.page("/").await;
    assert!(page.contains("<title>(1) Maestro</title>") && page.contains("Which window?"), "{page}");
    assert!(page.contains("Rate-limit the &lt;b&gt;upload"), "it is named by its task: {page}");
    assert_eq!(page.matches(r#"name="value" value="#).count(), 2, "each option is a button: {page}");
    let ticket = between(&page, r#"name="ticket" value=""#, "\"").to_owned();
    assert_eq!(site.decide(&run, "answer", "value=hour").await, StatusCode::BAD_REQUEST, "of nothing");
    assert_eq!(
        site.decide(&run, "answer", &format!("ticket={}&value=hour", ticket.replace('#', "%23"))).await,
        StatusCode::SEE_OTHER
    );
    let page = site.page("/").await;
    assert!(page.contains("Why hour?") && page.contains(r#"<textarea name="value""#), "{page}");
    let old = site.decide(&run, "answer", &format!("ticket={}&value=minute", ticket.replace('#', "%23"))).await;
    assert!(old == StatusCode::CONFLICT || old == StatusCode::SEE_OTHER, "an old answer changes nothing: {old}");
    let ticket = between(&page, r#"name="ticket" value=""#, "\"").replace('#', "%23");
    let fields = format!("ticket={ticket}&value=x");
    let foreign = site.form(&format!("/page/runs/{run}/answer"), &fields, "http://elsewhere.example").await;
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
    let done = site
        .form(&format!("/page/runs/{run}/answer"), &format!("ticket={ticket}&value=most+use+it&back=%2F"), HERE)
        .await;
    assert_eq!((done.status(), &done.headers()[header::LOCATION]), (StatusCode::SEE_OTHER, &"/".parse().unwrap()));
    let ended: Json = serde_json::from_str(&text(site.get(&format!("/api/runs/{run}")).await).await).unwrap();
    assert_eq!(ended["message"], "It is hour, because most use it.");
    let page = site.page("/").await;
    assert!(page.contains("Nothing waits for you.") && page.contains("1 done · 0 stopped"), "{page}");
}

#[tokio::test]
async fn a_run_is_a_row_that_can_be_steered_and_says_why_it_stopped() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    let run = site.run(&project, "Rate-limit the upload").await;
    let row = format!(r#"id="run-{run}""#);
    assert!(site.page("/").await.contains(&row));
    assert_eq!(site.decide(&run, "pause", "").await, StatusCode::SEE_OTHER);
    let page = site.page("/").await;
    assert!(page.contains(">paused</span>") && page.contains(&format!("/page/runs/{run}/resume")), "{page}");
    assert_eq!(site.decide(&run, "resume", "").await, StatusCode::SEE_OTHER);
    assert!(site.page("/").await.contains("waiting for you"));
    assert_eq!(site.decide(&run, "cancel", "").await, StatusCode::SEE_OTHER);
    let page = site.page("/").await;
    assert!(page.contains(&format!(r#"id="stop-{run}""#)) && page.contains("stopped:</span> canceled"), "{page}");
    assert!(!page.contains(&row) && page.contains("0 done · 1 stopped"), "{page}");
}

#[tokio::test]
async fn what_is_hidden_in_a_text_is_seen_on_every_screen() {
    let site = Site::new();
    let project = site.project("my\u{202e}repo").await;
    site.project("another").await;
    let hidden = "Fix it\u{e0068}\u{e0069}\u{200b}";
    site.session(&project, "s1", hidden, Some(("needs-input", hidden))).await;
    site.run(&project, hidden).await;
    for path in ["/", "/sessions/s1", "/settings"] {
        let page = site.page(path).await;
        for raw in ['\u{202e}', '\u{e0068}', '\u{200b}'] {
            assert!(!page.contains(raw), "{raw:?} on {path}");
        }
        assert!(page.contains("my\\u{202e}repo"), "{path}: {page}");
    }
    assert!(site.page("/").await.contains("Fix it\\u{e0068}\\u{e0069}\\u{200b}"));
}

#[tokio::test]
async fn settings_list_devices_and_sign_them_out() {
    let site = Site::new();
    let made = site.post("/api/tokens", json!({ "name": "editor <b>" })).await;
    let page = site.page("/settings").await;
    assert!(page.contains("editor &lt;b&gt;") && page.contains("max_cost_day") || page.contains("Limits"), "{page}");
    assert!(page.contains("maestro up --phone"), "off by default: {page}");
    let id = made["id"].as_str().unwrap();
    let gone = site.form(&format!("/page/devices/{id}/revoke"), "back=%2Fsettings", HERE).await;
    assert_eq!(
        (gone.status(), &gone.headers()[header::LOCATION]),
        (StatusCode::SEE_OTHER, &"/settings".parse().unwrap())
    );
    assert!(!site.page("/settings").await.contains("editor"));
    assert_eq!(site.get("/page/phone").await.status(), StatusCode::NOT_FOUND, "not reachable from a phone");
}

#[tokio::test]
async fn a_second_visit_says_since_when() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    let first = site.get("/").await;
    let cookie = first.headers()[header::SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned();
    assert!(text(first).await.contains("In the last 24 hours"));
    site.wait(2 * 60 * 60);
    site.session(&project, "done", "Fix the test", Some(("complete", "all green"))).await;
    let again = axum::http::Request::get("/").header(header::HOST, "localhost").header(header::COOKIE, cookie);
    let page = text(site.send(again.body(axum::body::Body::empty()).unwrap()).await).await;
    assert!(page.contains("Since your last visit") && page.contains("1 done · 0 stopped"), "{page}");
    assert!(page.contains(r#"data-screen="/?since=1738713600000""#), "the live page follows the same: {page}");
}

const REVIEWED: &str = "
name: reviewed
params: {task: {type: string, default: ''}}
steps:
- {id: work, type: agent, title: Do the work, phase: implement, outcomes: [ok, fail], max_visits: 9, next: {ok: look, fail: stop, exhausted: stop}}
- {id: look, type: agent, title: Look at it, phase: review, outcomes: [pass, fail], result: {findings: {type: string, default: ''}}, next: {pass: done, fail: work}}
- {id: done, type: end, message: 'All well'}
- {id: stop, type: end, status: blocked, message: 'the <b>key</b> was revoked'}
";

impl Site {
    /// A run whose steps this test reports itself.
    async fn reviewed_run(&self, project: &str, task: &str) -> String {
        let definition = json!({ "text": REVIEWED, "folder": "/skills/reviewed", "resources": {} });
        let pinned = json!({ "main": "reviewed", "definitions": { "reviewed": definition } });
        let body = json!({ "pinned": pinned, "params": { "task": task }, "projectId": project, "workspace": "/work/shop", "driver": "caller" });
        self.post("/api/runs", body).await["id"].as_str().unwrap().to_owned()
    }

    async fn report_step(&self, run: &str, outcome: &str, result: Json) {
        let now: Json = serde_json::from_str(&text(self.get(&format!("/api/runs/{run}")).await).await).unwrap();
        let ticket = now["next"]["directive"]["ticket"].as_str().unwrap_or_else(|| panic!("{now}")).to_owned();
        let body = json!({ "ticket": ticket, "outcome": outcome, "result": result });
        self.post(&format!("/api/runs/{run}/report"), body).await;
    }
}

/// The steps in the spine, each with its glyph.
fn spine(page: &str) -> Vec<String> {
    let nav = between(page, "<nav class=\"spine\"", "</nav>");
    let rows = nav.split("<a class=\"step").skip(1);
    let glyph = |row: &str| between(row, "class=\"glyph", "</span>").split('>').nth(1).unwrap_or_default().to_owned();
    let title = |row: &str| between(row, "class=\"step-title\">", "<").trim().to_owned();
    rows.map(|row| format!("{} {}", glyph(row), title(row))).collect()
}

#[tokio::test]
async fn a_run_shows_its_steps_as_they_happened() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    let run = site.reviewed_run(&project, "Rate-limit the <i>upload</i>").await;
    site.wait(60);
    site.report_step(&run, "ok", json!({})).await;
    site.wait(30);
    site.report_step(&run, "fail", json!({ "findings": "- the limit is per process\n- no <test>" })).await;
    let page = site.page(&format!("/runs/{run}")).await;
    assert!(page.contains("Rate-limit the &lt;i&gt;upload"), "{page}");
    assert_eq!(spine(&page), ["✓ Do the work", "✗ Look at it", "● Do the work"]);
    assert!(page.contains("<a class=\"step fix\"") && page.contains("implement, round 2"), "{page}");
    assert!(page.contains("<li>the limit is per process</li><li>no &lt;test&gt;</li>"), "findings are a block: {page}");
    assert!(page.contains("class=\"time-bar\"") && !page.contains("<i>upload"), "{page}");
    let graph = site.page(&format!("/runs/{run}?tab=graph")).await;
    assert!(graph.contains("<svg") && graph.contains("current") && graph.contains("taken"), "{graph}");
    let second = site.page(&format!("/runs/{run}?step=2")).await;
    assert!(second.contains("aria-current=\"true\"") && second.contains("All steps"), "{second}");
    site.report_step(&run, "ok", json!({})).await;
    site.report_step(&run, "pass", json!({})).await;
    let ended = site.page(&format!("/runs/{run}")).await;
    assert!(
        ended.contains("data-tab=\"diff\"") && ended.contains("data-screen=\"/runs/"),
        "what ended opens on its diff"
    );
    assert!(ended.contains("✓</span> ready") && !ended.contains("/pause\""), "{ended}");
    let told = site.page(&format!("/runs/{run}?tab=timeline")).await;
    assert!(told.contains("data-tab=\"timeline\"") && told.contains("All well"), "{told}");
}

#[tokio::test]
async fn a_stopped_run_says_why() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    let run = site.reviewed_run(&project, "Export").await;
    site.report_step(&run, "fail", json!({})).await;
    let page = site.page(&format!("/runs/{run}?tab=timeline")).await;
    assert!(page.contains("✗</span> stopped") && page.contains("the &lt;b&gt;key&lt;/b&gt; was revoked"), "{page}");
    assert!(!page.contains("/retry"), "who drives a run itself starts another one: {page}");
    assert_eq!(site.decide(&run, "retry", "").await, StatusCode::CONFLICT);
    let run = site.reviewed_run(&project, "Import").await;
    assert!(site.page("/").await.contains(&format!("href=\"/runs/{run}\"")), "the first screen leads there");
    for (path, status) in [
        ("/runs/nonsense".to_owned(), StatusCode::NOT_FOUND),
        ("/runs/0193a5c8-7d40-7000-8000-000000000001".to_owned(), StatusCode::NOT_FOUND),
        (format!("/runs/{run}?step=99&tab=nonsense"), StatusCode::OK),
    ] {
        let answer = site.get(&path).await;
        assert_eq!(answer.status(), status, "{path}");
        assert!(text(answer).await.contains("<html"), "{path}");
    }
    for order in ["merge", "discard", "propose", "revise"] {
        let answer = site.form(&format!("/page/runs/{run}/{order}"), "text=more", HERE).await;
        assert_eq!(answer.status(), StatusCode::CONFLICT, "{order} of what goes on");
    }
    assert_eq!(
        site.form(&format!("/page/runs/{run}/merge"), "", "http://elsewhere.example").await.status(),
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn a_comment_on_a_run_is_fixed_before_it_ends_well() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    let run = site.reviewed_run(&project, "Rate-limit").await;
    let fields = "text=per+client+%3Cb%3E&file=src%2Flimit.rs&line=41&back=%2F";
    assert_eq!(site.decide(&run, "comment", fields).await, StatusCode::SEE_OTHER);
    assert_eq!(site.decide(&run, "comment", "text=+").await, StatusCode::BAD_REQUEST);
    let page = site.page(&format!("/runs/{run}")).await;
    assert!(page.contains("you: src/limit.rs:41: per client &lt;b&gt;") && page.contains("queued"), "{page}");
    site.report_step(&run, "ok", json!({})).await;
    site.report_step(&run, "pass", json!({})).await;
    let page = site.page(&format!("/runs/{run}")).await;
    assert!(page.contains("delivered") && page.contains("●</span> working"), "the review did not let it pass: {page}");
    site.report_step(&run, "ok", json!({})).await;
    site.report_step(&run, "pass", json!({})).await;
    let page = site.page(&format!("/runs/{run}?tab=timeline")).await;
    assert!(page.contains("verified") && page.contains("✓</span> ready"), "{page}");
    let late = site.decide(&run, "comment", "text=more").await;
    assert_eq!(late, StatusCode::CONFLICT, "there is no branch that could be worked on");
}

/// A session at the current step of a run, whose agent a worker has started.
async fn agent_at_work(site: &Site, project: &str, run: &str) -> SessionId {
    let now: Json = serde_json::from_str(&text(site.get(&format!("/api/runs/{run}")).await).await).unwrap();
    let session = CreateSession {
        id: None,
        project: project.parse().unwrap(),
        tasks: Vec::new(),
        name: None,
        role: SessionRole::Worker,
        agent: Some("claude".to_owned()),
        strategy: Approach::Simple,
        status: SessionStatus::Spawning,
        env: Map::new(),
        metadata: Map::new(),
        parent: None,
        hostname: "box".to_owned(),
        platform: "linux".to_owned(),
    };
    let request = RequestSpawn { session, spec: json!({}), claim_policy: ClaimPolicy::AnyWorker, limits: Vec::new() };
    let ticket = now["next"]["directive"]["ticket"].as_str().unwrap().to_owned();
    let seat = StartStepSession { run: run.parse().unwrap(), ticket, request };
    let session = site.store.write(seat).await.unwrap().id;
    let claim = ClaimSpawn { worker: "w".to_owned(), lease: 60_000, session: None, scope: ClaimScope::Server };
    site.store.write(claim).await.unwrap().unwrap();
    session
}

#[tokio::test]
async fn a_comment_reaches_the_agent_at_work_and_is_seen_to() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    let run = site.reviewed_run(&project, "Rate-limit").await;
    let session = agent_at_work(&site, &project, &run).await;
    let fields = "text=per+client&file=src%2Flimit.rs&line=41";
    assert_eq!(site.decide(&run, "comment", fields).await, StatusCode::SEE_OTHER);
    let said = site.store.read(UnreadMessages(session.clone())).await.unwrap();
    let [message] = &said[..] else { panic!("{said:?}") };
    assert_eq!(message.text, "Fix this as well, before you report: src/limit.rs:41: per client");
    let evidence = async || {
        let page = site.page(&format!("/runs/{run}?tab=timeline")).await;
        between(&page, "<ul class=\"evidence\">", "</ul>").to_owned()
    };
    assert!(evidence().await.contains(" queued:"), "{}", evidence().await);
    let (messages, how) = (vec![message.id.clone()], "in its turn".to_owned());
    site.store.write(MarkDelivered { session, worker: "w".to_owned(), messages, how }).await.unwrap();
    assert!(evidence().await.contains(" delivered:"), "while it still works: {}", evidence().await);
}

#[tokio::test]
async fn a_copy_of_a_run_needs_nothing_else() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    let run = site.reviewed_run(&project, "Use <b>ghp_0123456789abcdefghij</b>").await;
    site.report_step(&run, "ok", json!({})).await;
    site.report_step(&run, "fail", json!({ "findings": "the key sk-ant-api03-0123456789abcdef is in it" })).await;
    let answer = site.get(&format!("/page/runs/{run}/share")).await;
    let name = answer.headers()[header::CONTENT_DISPOSITION].to_str().unwrap().to_owned();
    assert_eq!(name, format!("attachment; filename=\"maestro-run-{run}.html\""));
    let copy = text(answer).await;
    assert!(copy.starts_with("<!doctype html>") && copy.contains("<style>"), "{copy}");
    for wrong in ["<script", "<link", "href=\"/", "0123456789abcdefghij", "sk-ant-api03-0123", "<b>"] {
        assert!(!copy.contains(wrong), "{wrong} in {copy}");
    }
    assert!(copy.contains("ghp_(secret)") && copy.contains("sk-(secret) is in it"), "{copy}");
    let same: Json = serde_json::from_str(&text(site.get(&format!("/api/runs/{run}/share")).await).await).unwrap();
    assert_eq!(same["file"], format!("maestro-run-{run}.html"));
}
