//! Thirty-two sub-agents that report at the same moment, over real connections. `MAESTRO_ROUNDS` says how often.

use std::collections::BTreeMap;

use maestro_core::workflow::run::{ReviewItemStatus, RunEvent};
use serde_json::{Value as Json, json};

use crate::listener::Listening;
use crate::runs::{assert_folds, begin, log, ticket};
use crate::world::Api;

const CHILDREN: usize = 32;
const REVIEW: &str = "
name: review
reviews: {code: {max_items: 60}}
limits: {max_transitions: 10000}
steps:
- {id: list, type: agent, review: {name: code, part: decompose}, next: {ok: verify, fail: end}}
- {id: verify, type: dispatch, for_each: reviews.code.open, prompt: 'Check {item}', review: {name: code, part: verify}, max_visits: 1000, next: {ok: gate, fail: gate, partial: gate, exhausted: end}}
- {id: gate, type: gate, review: code, max_rounds: 1000, next: {pass: end, fail: fix, exhausted: end}}
- {id: fix, type: agent, max_visits: 1000, review: {name: code, part: fix}, next: {ok: verify, fail: end, exhausted: end}}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_lost_on_sqlite() {
    check(&Api::sqlite(), "SQLite").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_lost_on_postgres() {
    if let Some(api) = Api::postgres().await {
        check(&api, "PostgreSQL").await;
    }
}

/// Sends one request over a connection of its own.
async fn post(server: &Listening, path: &str, body: &Json) -> (u16, Json) {
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        server.address,
        body.len()
    );
    let answer = server.raw(&format!("{head}{body}")).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
}

async fn check(api: &Api, database: &str) {
    let rounds: usize = std::env::var("MAESTRO_ROUNDS").map_or(5, |text| text.parse().unwrap());
    let server = std::sync::Arc::new(Listening::start(api).await);
    let begun = begin(api, &[("review", REVIEW)], json!({})).await;
    let path = format!("/api/runs/{}", begun.id());
    let items: Vec<Json> =
        (0..CHILDREN).map(|n| json!({ "id": format!("i{n}"), "check": "c", "severity": "MUST" })).collect();
    let listed = json!({ "ticket": ticket(&begun.body), "result": { "items": items } });
    let mut now = api.post(&format!("{path}/report"), listed).await.body;
    let (mut sent, mut repeated) = (0, 0);
    for round in 1..=rounds {
        let dispatches = now["next"]["directive"]["dispatches"].as_array().unwrap().clone();
        assert_eq!(dispatches.len(), CHILDREN);
        let mut work = tokio::task::JoinSet::new();
        for (index, dispatch) in dispatches.iter().enumerate() {
            let id = dispatch["items"][0]["id"].as_str().unwrap();
            let last = round == rounds;
            let status = if last || (index + round) % 3 > 0 { "pass" } else { "fail" };
            let said = format!("{id} in round {round}");
            let items = json!([{ "id": id, "status": status, "evidence": said, "finding": said }]);
            let report = json!({ "ticket": dispatch["ticket"], "outcome": "ok", "result": { "items": items } });
            // Every fourth hears no answer, it thinks, and says it again at once.
            for _ in 0..=usize::from(index % 4 == 0) {
                let (server, path, report) = (std::sync::Arc::clone(&server), format!("{path}/report"), report.clone());
                work.spawn(async move { post(&server, &path, &report).await });
            }
        }
        let answers = work.join_all().await;
        sent += CHILDREN;
        repeated += answers.len() - CHILDREN;
        for (status, answer) in answers {
            assert_eq!((status, &answer["next"]["kind"]), (200, &json!("handed")), "{answer:#}");
        }
        let state = assert_folds(api, &path).await;
        let items = &state.frames[0].reviews[&maestro_core::workflow::Name::parse("code").unwrap()];
        for item in items {
            let said = item.evidence.as_ref().or(item.finding.as_ref());
            assert_eq!(said, Some(&format!("{} in round {round}", item.id)), "{item:?}");
            assert_ne!(item.status, ReviewItemStatus::Todo);
        }
        now = api.get(&path).await.body;
        if round < rounds {
            assert_eq!(now["step"], json!("fix"), "{now:#}");
            now = api.post(&format!("{path}/report"), json!({ "ticket": ticket(&now) })).await.body;
        }
    }
    assert_eq!(now["status"], json!("completed"), "{now:#}");

    let log = log(api, &path).await;
    let mut judged: BTreeMap<(usize, String), usize> = BTreeMap::new();
    let (mut round, mut ended, mut routes, mut verdicts) = (0, 0, 0, 0);
    for event in &log {
        match event {
            RunEvent::Entered { step, .. } if step.as_str() == "verify" => round += 1,
            RunEvent::ItemsJudged { judgements, .. } => {
                for judgement in judgements {
                    *judged.entry((round, judgement.id.clone())).or_default() += 1;
                }
            }
            RunEvent::ChildEnded { .. } => ended += 1,
            RunEvent::Left { step, .. } if step.as_str() == "verify" => routes += 1,
            RunEvent::Judged { .. } => verdicts += 1,
            _ => {}
        }
    }
    assert!(judged.values().all(|times| *times == 1), "an item was recorded twice");
    assert_eq!((judged.len(), ended, routes, verdicts), (rounds * CHILDREN, rounds * CHILDREN, rounds, rounds));
    println!(
        "{database}: {rounds} rounds, {sent} reports at once in each {CHILDREN}, {repeated} of them sent twice, \
         {} items recorded once each, {routes} routes taken, {} events fold to the state",
        judged.len(),
        log.len()
    );
}
