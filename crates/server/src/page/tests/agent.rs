//! Pages of a working agent, and the answers a person can give.

use axum::http::{StatusCode, header};
use futures_util::StreamExt as _;
use maestro_core::agent::{
    AgentEvent, FailureKind, PermissionChoice, PermissionChoiceKind, PlanEntry, PlanEntryStatus, Scope, SessionOutcome,
    StopReason, Stream, ToolKind, ToolStatus,
};
use maestro_core::id::SessionId;
use maestro_core::session::{EndReason, SessionStatus};
use maestro_store::{
    AppendTranscript, AskPermission, ClaimSpawn, DeliveryStage, NextStart, RecordDeliveries, SettleSpawn, StoreError,
};
use serde_json::{Value as Json, json};

use super::{Site, frames, text};

const MINUTE: i64 = 60_000;
const HERE: &str = "http://localhost";

impl Site {
    /// An agent that a worker has started.
    async fn agent(&self, title: &str) -> SessionId {
        let project = self.project("my-repo").await;
        let task = self.task(&project, title).await;
        let body = json!({ "projectId": project, "taskIds": [task], "agent": "claude", "model": "opus", "skills": ["rest-api", "tdd"] });
        let made = self.post("/api/sessions/spawn", body).await;
        self.store
            .write(ClaimSpawn {
                worker: "w".to_owned(),
                lease: MINUTE,
                session: None,
                scope: maestro_store::ClaimScope::Server,
            })
            .await
            .unwrap()
            .unwrap();
        made["sessionId"].as_str().unwrap().parse().unwrap()
    }

    async fn did(&self, session: &SessionId, events: Vec<AgentEvent>) {
        let at = self.clock.load(std::sync::atomic::Ordering::Relaxed);
        let events = events.into_iter().map(|event| (at, event)).collect();
        let append = AppendTranscript { session: session.clone(), worker: "w".to_owned(), events };
        self.store.write(append).await.unwrap();
    }

    async fn asks(&self, session: &SessionId, request: &str, detail: &str, kinds: &[PermissionChoiceKind]) {
        let choice = |kind: &PermissionChoiceKind| PermissionChoice {
            id: kind.to_string(),
            name: "any".to_owned(),
            kind: *kind,
        };
        let ask = AskPermission {
            session: session.clone(),
            worker: "w".to_owned(),
            request: request.to_owned(),
            title: "npm i rate-limiter".to_owned(),
            detail: detail.to_owned(),
            options: kinds.iter().map(choice).collect(),
            patience: 5 * MINUTE,
        };
        self.store.write(ask).await.unwrap();
    }

    async fn settle(&self, session: &SessionId, outcome: Json) -> Result<(), StoreError> {
        let after = NextStart::Over { status: SessionStatus::Failed, end: Some(EndReason::Exited) };
        let settle = SettleSpawn {
            session: session.clone(),
            worker: "w".to_owned(),
            outcome: SessionOutcome::from_stored(outcome).unwrap_or_default(),
            line: "It ended".to_owned(),
            next_start: after,
        };
        self.store.write(settle).await
    }
}

fn said(text: &str) -> AgentEvent {
    AgentEvent::Said { text: text.to_owned() }
}

fn call(id: &str, title: &str, input: Json) -> AgentEvent {
    let (id, name) = (id.to_owned(), "Bash".to_owned());
    AgentEvent::ToolBegan { id, name, title: title.to_owned(), kind: ToolKind::Execute, input }
}

fn answer(id: &str, status: ToolStatus, output: &str) -> AgentEvent {
    AgentEvent::ToolEnded { id: id.to_owned(), status, output: output.to_owned() }
}

fn usage(scope: Scope, input: u64, output: u64) -> AgentEvent {
    let (input, output, cost_usd) = (Some(input), Some(output), Some(0.25));
    AgentEvent::Usage { scope, input, output, cached: None, reasoning: None, cost_usd }
}

/// One of everything, with the same text wherever a text can be.
fn everything(words: &str) -> Vec<AgentEvent> {
    let text = || words.to_owned();
    let part = |status| PlanEntry { text: text(), status };
    let choice = PermissionChoice { id: text(), name: text(), kind: PermissionChoiceKind::AllowOnce };
    vec![
        AgentEvent::Began { agent_session: Some(text()), model: Some(text()), version: Some(text()) },
        AgentEvent::Thought { text: text() },
        said(words),
        call(words, words, json!({ words: words })),
        answer(words, ToolStatus::Failed, words),
        AgentEvent::Changed {
            path: text(),
            added: Some(41),
            removed: Some(2),
            diff: Some(format!("+{words}\n-{words}")),
        },
        AgentEvent::Planned { entries: vec![part(PlanEntryStatus::Completed), part(PlanEntryStatus::InProgress)] },
        AgentEvent::Asked { id: text(), title: text(), detail: text(), call: Some(text()), options: vec![choice] },
        AgentEvent::Answered { id: text(), kind: PermissionChoiceKind::AllowAlways },
        AgentEvent::Trouble {
            kind: FailureKind::RateLimit,
            status: Some(429),
            message: text(),
            retry_after_ms: Some(90_000),
        },
        AgentEvent::Retrying { attempt: 2, most: Some(5), delay_ms: 3000, status: Some(529) },
        AgentEvent::Printed { stream: Stream::Err, text: text() },
        AgentEvent::Cut { bytes: 77 },
        usage(Scope::Session, 12_345, 678),
        AgentEvent::Context { used: 50_000, size: 200_000 },
        AgentEvent::Ended { stop: StopReason::Exited { code: 3 }, text: Some(text()) },
    ]
}

/// What is to be read on a page: no markup, and white space as one.
fn read(page: &str) -> String {
    let body = page.split("<main").nth(1).unwrap();
    let plain: Vec<&str> = body.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect();
    plain.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn everything_an_agent_did_is_told_in_order() {
    let site = Site::new();
    let session = site.agent("Rate-limit the upload").await;
    site.did(&session, vec![said("token "), AgentEvent::Context { used: 1, size: 2 }, said("bucket done")]).await;
    assert!(site.page("/").await.contains("“token bucket done”"), "its last words are on the first screen");
    site.did(&session, everything("it")).await;
    let texts =
        [("rest-api", "a".repeat(64), DeliveryStage::Handed), ("rest-api", "b".repeat(64), DeliveryStage::Opened)];
    let texts = texts.map(|(skill, hash, stage)| (skill.to_owned(), hash, stage)).to_vec();
    site.store.write(RecordDeliveries { session: session.clone(), texts }).await.unwrap();
    let seen = read(&site.page(&format!("/sessions/{session}")).await);
    let told = [
        "Rate-limit the upload",
        "claude",
        "token bucket done",
        "started it · it",
        "thought",
        "run it",
        "✗ failed",
        "answer",
        "changed it",
        "+41 −2",
        "+it -it",
        "1 of 2 done, as reported",
        "✓ allowed in this run",
        "✗ error rate limit of the model provider reached (429); again in 1:30",
        "○ retrying attempt 2 of 5 in 0:03, after 529",
        "stderr",
        "77 bytes of its output",
        "✗ ended exited with code 3",
        "Its plan 1/2",
        "rest-api asked for",
        "handed ✓ opened ✓ read –",
        "the text changed in between",
        "tdd asked for ✗ not loaded",
        "12,345 tokens in · 678 tokens out · $.25 · context 25 % of 200,000",
    ];
    let mut rest = seen.as_str();
    for words in told {
        let (_, after) = rest.split_once(words).unwrap_or_else(|| panic!("no “{words}” in: {rest}"));
        rest = after;
    }
    let outcome = json!({ "kind": "failed", "reasons": ["the check failed"], "attempt": 1, "changedFiles": ["a.rs"] });
    site.settle(&session, outcome).await.unwrap();
    let seen = read(&site.page(&format!("/sessions/{session}")).await);
    for words in ["✗ stopped", "✗ the check failed", "Files changed a.rs", "claude has ended"] {
        assert!(seen.contains(words), "no “{words}” in: {seen}");
    }
    assert!(site.page("/").await.contains(&format!("href=\"/sessions/{session}\"")), "the first screen leads there");
}

#[tokio::test]
async fn what_an_agent_reports_stands_in_its_timeline_once() {
    let site = Site::new();
    let session = site.agent("Rate-limit the upload").await;
    site.report(&session.to_string(), "progress", "reading the **handler**").await;
    let ended = |stop| AgentEvent::Ended { stop, text: None };
    let events = vec![
        call("1", "maestro update \"reading the **handler**\"", json!({})),
        answer("1", ToolStatus::Ok, "Reported."),
        call("2", "npm test", json!({})),
        answer("2", ToolStatus::Ok, "passed"),
        ended(StopReason::EndTurn),
        ended(StopReason::Exited { code: 0 }),
    ];
    site.did(&session, events).await;
    let page = site.page(&format!("/sessions/{session}")).await;
    assert!(page.contains("reading the <strong>handler</strong>"), "its words: {page}");
    assert!(!page.contains("maestro update") && page.contains("npm test"), "not the command that sent them: {page}");
    assert_eq!(read(&page).matches("– ended").count(), 1, "that the process ended after its turn says nothing: {page}");
}

#[tokio::test]
async fn a_start_is_measured_by_earlier_ones_and_a_lost_worker_is_told() {
    let site = Site::new();
    let first = site.agent("First").await;
    site.wait(2);
    let page = site.page(&format!("/sessions/{first}")).await;
    assert!(page.contains("claude is starting (2 s)."), "nothing to compare with: {page}");
    site.wait(1);
    site.did(&first, vec![said("Hello")]).await;
    let second = site.agent("Second").await;
    site.wait(1);
    let page = site.page(&format!("/sessions/{second}")).await;
    assert!(page.contains("claude is starting (1 s; usually 3 s)."), "{page}");
    site.wait(54);
    let page = site.page(&format!("/sessions/{second}")).await;
    let lost =
        "No sign of life from the worker of claude for 0:10; its lease ends in 0:05, then another worker continues.";
    assert!(page.contains(lost), "{page}");
    site.wait(10);
    let page = site.page(&format!("/sessions/{second}")).await;
    assert!(page.contains("for 0:20; another worker continues."), "{page}");
}

#[tokio::test]
async fn foreign_and_broken_text_stays_text() {
    let site = Site::new();
    let session = site.agent("<script>alert(0)</script>").await;
    let evil =
        "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7919*7907 }}\u{0}\u{1b}[31m\u{202e}\u{fffd}\r\n";
    site.did(&session, everything(evil)).await;
    site.asks(&session, &evil.replace('\0', ""), &evil.replace('\0', ""), &PermissionChoiceKind::ALL).await;
    let texts = vec![(evil.replace('\0', ""), evil.replace('\0', ""), DeliveryStage::Handed)];
    site.store.write(RecordDeliveries { session: session.clone(), texts }).await.unwrap();
    let waiting = site.page("/").await;
    let working = site.page(&format!("/sessions/{session}")).await;
    site.settle(&session, json!({ "kind": "failed", "reasons": [evil] })).await.unwrap();
    let ended = site.page(&format!("/sessions/{session}")).await;
    for page in [waiting, working, ended] {
        assert!(page.matches("&lt;script&gt;").count() >= 2, "{page}");
        for raw in ["<script>alert", "<img", "\"'>", "62615533", "\0", "\u{1b}", "\u{202e}"] {
            let foreign = page.split("<body").nth(1).unwrap();
            let told = foreign.split_once("<main").unwrap().1;
            assert!(!told.contains(raw), "{raw:?} in {told}");
        }
        assert_eq!(
            page.matches("<script").count(),
            page.matches("<script type=\"module\" src=\"/assets/").count(),
            "only our own"
        );
    }
}

#[tokio::test]
async fn of_ten_thousand_things_the_newest_are_shown_and_the_rest_can_be_reached() {
    let site = Site::new();
    let session = site.agent("Long").await;
    for part in 0..100 {
        let one = |number: usize| match number % 4 {
            0 => {
                call(&format!("{part}-{number}"), &format!("call {part}-{number}"), json!({ "long": "x".repeat(500) }))
            }
            1 => answer(&format!("{part}-{}", number - 1), ToolStatus::Ok, &"y".repeat(5000)),
            2 => usage(Scope::Turn, 10, 1),
            _ => said("words "),
        };
        site.did(&session, (0..100).map(one).collect()).await;
    }
    let mut address = format!("/sessions/{session}");
    let mut seen = Vec::new();
    for number in 0.. {
        let page = site.page(&address).await;
        assert!(page.len() < 2_000_000, "{} bytes", page.len());
        let things = page.matches("class=\"entry ").count();
        assert!(things <= 200 && things > 0, "{things}");
        assert!(page.contains("25,000 tokens in ·</span> <span>2,500 tokens out"), "all of it counts on every part");
        assert_eq!(page.contains("To the newest"), number > 0);
        assert_eq!(page.contains("data-screen="), number == 0, "only the newest part changes");
        let calls: Vec<&str> =
            page.split("<span class=\"cut call\">").skip(1).map(|part| part.split('<').next().unwrap()).collect();
        seen.splice(0..0, calls.into_iter().map(str::to_owned));
        let mut links = page.split("<a href=\"").filter_map(|part| part.split('"').next());
        match links.find(|link| link.contains("?before=")) {
            Some(older) => address = older.to_owned(),
            None => break,
        }
    }
    let all = (0..100).flat_map(|part| (0..100).step_by(4).map(move |number| format!("call {part}-{number}")));
    assert_eq!(seen, all.collect::<Vec<_>>(), "nothing is left out and nothing comes twice");
    let newest = site.page(&format!("/sessions/{session}")).await;
    assert!(newest.contains("… 1000 more characters are not shown"), "what is cut is said");
    assert!(site.page(&format!("/sessions/{session}?before=0.0.{session}")).await.contains("Nothing older."));
}

#[tokio::test]
async fn a_question_is_answered_once_and_in_time() {
    let site = Site::new();
    let session = site.agent("Upload").await;
    site.asks(
        &session,
        "r/1?",
        "npm i rate-limiter-flexible\n--save",
        &[PermissionChoiceKind::AllowOnce, PermissionChoiceKind::RejectOnce],
    )
    .await;
    let place = format!("/page/sessions/{session}/answer");
    let own = format!("/sessions/{session}");
    for (address, back) in [("/".to_owned(), "/"), (format!("/sessions/{session}"), own.as_str())] {
        let page = site.page(&address).await;
        assert!(page.contains("<title>(1) ") && page.contains("waiting for you"), "{page}");
        assert!(page.contains("npm i rate-limiter-flexible\n--save</pre>"), "exactly what it wants: {page}");
        assert!(page.contains("data-until=") && page.contains(">5:00</time>"), "{page}");
        let names: Vec<&str> = ["Once", "Always in this run", "Deny"]
            .into_iter()
            .filter(|name| page.contains(&format!(">{name} <kbd")))
            .collect();
        assert_eq!(names, ["Once", "Deny"], "only what the agent takes");
        assert!(page.contains(&format!("name=\"back\" value=\"{back}\"")), "{page}");
    }
    let page = site.page("/").await;
    let request = page.split("name=\"request\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let fields = |answer: &str| format!("request={request}&answer={answer}&back=/sessions/{session}");

    let foreign = site.form(&place, &fields("allow_once"), "http://elsewhere.example").await;
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
    for wrong in ["allow_always", "yes"] {
        assert_eq!(site.form(&place, &fields(wrong), HERE).await.status(), StatusCode::BAD_REQUEST, "{wrong}");
    }
    let unknown = site.form(&place, "request=00&answer=allow_once", HERE).await;
    assert!(unknown.status().is_client_error());
    assert_eq!(site.form(&place, "request=zz&answer=allow_once", HERE).await.status(), StatusCode::BAD_REQUEST);
    assert_eq!(site.form(&place, "", HERE).await.status(), StatusCode::BAD_REQUEST);

    let first = site.form(&place, &fields("allow_once"), HERE).await;
    assert_eq!(first.status(), StatusCode::SEE_OTHER);
    assert_eq!(first.headers()[header::LOCATION], format!("/sessions/{session}"));
    assert!(site.page("/").await.contains("Nothing waits for you."));
    let second = site.form(&place, &fields("reject_once"), HERE).await;
    assert_eq!(second.status(), StatusCode::CONFLICT);
    let why = text(second).await;
    assert!(why.contains("Not answered: it was answered already."), "{why}");

    site.asks(&session, "late", "rm -rf build", &PermissionChoiceKind::ALL).await;
    let page = site.page(&format!("/sessions/{session}")).await;
    assert!(page.contains("Always in this run") && page.matches("name=\"answer\"").count() == 3, "{page}");
    let request = page.split("name=\"request\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    site.wait(5 * 60);
    assert!(!site.page(&format!("/sessions/{session}")).await.contains("name=\"answer\""), "it is over");
    assert!(!site.page("/").await.contains("name=\"answer\""));
    let late = site.form(&place, &format!("request={request}&answer=allow_once"), HERE).await;
    assert_eq!(late.status(), StatusCode::CONFLICT);
    assert!(text(late).await.contains("it was not answered in time and counts as rejected"));
}

#[tokio::test]
async fn what_is_not_seen_whole_cannot_be_allowed_at_a_glance() {
    let site = Site::new();
    let session = site.agent("Upload").await;
    site.asks(&session, "r", &format!("echo {}; rm -rf ~", "x".repeat(3000)), &PermissionChoiceKind::ALL).await;
    let glance = site.page("/").await;
    assert!(glance.contains("Read all of it before you allow it") && !glance.contains("rm -rf"), "{glance}");
    assert!(glance.contains(">Deny <kbd") && !glance.contains(">Once <kbd"), "{glance}");
    let whole = site.page(&format!("/sessions/{session}")).await;
    assert!(whole.contains("; rm -rf ~</pre>") && whole.contains(">Once <kbd"), "{whole}");
}

#[tokio::test]
async fn a_live_page_of_a_session_is_sent_what_its_agent_does() {
    let site = Site::new();
    let session = site.agent("Upload").await;
    site.did(&session, vec![said("one ")]).await;
    let page = site.page(&format!("/sessions/{session}")).await;
    let value = |name: &str| page.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().to_owned();
    let (build, seen) = (value("data-build"), value("data-seq"));
    let mut live = frames(site.get(&format!("/page/live?screen=/sessions/{session}&build={build}&seen={seen}")).await);
    let first = live.next().await.unwrap();
    assert_eq!((&first["html"], &first["lists"]["transcript"]), (&json!({}), &json!(["t-1-1"])), "it is current");
    for word in ["two ", "three"] {
        site.did(&session, vec![said(word)]).await;
    }
    let mut words = String::new();
    while !words.contains("one two three") {
        let next = live.next().await.unwrap();
        let changed: Vec<&String> = next["html"].as_object().unwrap().keys().collect();
        assert_eq!(changed, ["t-1-1"], "nothing else has changed");
        words = next["html"]["t-1-1"].as_str().unwrap().to_owned();
    }
    site.asks(&session, "r", "rm", &PermissionChoiceKind::ALL).await;
    let next = live.next().await.unwrap();
    assert_eq!((&next["waiting"], next["lists"]["asks"].as_array().map(Vec::len)), (&json!(1), Some(1)));
}

#[tokio::test]
async fn a_session_that_nobody_spawned_has_a_screen_too() {
    let site = Site::new();
    let project = site.project("my-repo").await;
    site.session(&project, "own", "Upload", Some(("needs-input", "A or B?"))).await;
    let page = site.page("/sessions/own").await;
    assert!(page.contains("only its reports are shown") && page.contains("A or B?"), "{page}");
    let said = site.form("/page/sessions/own/messages", "text=B&back=/sessions/own", HERE).await;
    assert_eq!(said.headers()[header::LOCATION], "/sessions/own");
    for path in ["/sessions/nobody", "/sessions/%20", "/sessions/own?before=x"] {
        let answer = site.get(path).await;
        assert!(answer.status().is_client_error(), "{path}");
        assert!(text(answer).await.contains("<p id=\"why\">"), "{path}");
    }
}
