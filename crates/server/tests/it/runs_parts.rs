//! Runs that are parts of other runs: what a sub-agent walks through becomes its report.

use serde_json::{Value as Json, json};

use crate::runs::{assert_folds, begin, log, order, pinned, ticket};
use crate::world::{Answer, Api, both};

both! {
    a_part_reports_to_its_whole_when_it_ends,
    what_does_not_fit_the_whole_is_a_failure,
    a_judge_corrects_what_the_whole_would_not_take,
    a_part_that_is_stopped_failed_and_the_whole_goes_on_from_now,
    a_whole_that_rested_hears_of_its_parts_afterwards,
    a_part_begins_only_with_a_ticket_of_its_own,
    a_sub_agent_that_says_it_twice_is_told_the_same,
    a_verdict_of_a_program_is_about_the_files_as_they_are,
}

const WHOLE: &str = "
name: whole
params: {items: {type: list, default: [one, two]}}
steps:
- {id: spread, type: dispatch, for_each: items, call: part, with: {what: '{item}'}, next: {ok: after, partial: after, fail: stop}}
- {id: after, type: agent, timeout: 60, next: {ok: end, fail: stop, timeout: late}}
- {id: late, type: end, status: failure, message: too late}
- {id: stop, type: end, status: blocked}
";
const PART: &str = "
name: part
params: {what: {type: string, required: true}}
steps:
- {id: work, type: agent, description: 'Do {what}.', result: {answer: string}, next: {ok: end, fail: stop}}
- {id: stop, type: end, status: failure}
outputs: {answer: '{steps.work.result.answer}'}
";
const TEXTS: [(&str, &str); 2] = [("whole", WHOLE), ("part", PART)];

struct Whole {
    path: String,
    id: String,
    tickets: Vec<String>,
}

async fn whole(api: &Api) -> Whole {
    let begun = begin(api, &TEXTS, json!({})).await;
    let dispatches = begun.body["next"]["directive"]["dispatches"].as_array().unwrap().clone();
    assert!(dispatches.iter().all(|dispatch| dispatch["workflow"] == json!("part")), "{begun}");
    let tickets = dispatches.iter().map(|dispatch| dispatch["ticket"].as_str().unwrap().to_owned()).collect();
    Whole { path: format!("/api/runs/{}", begun.id()), id: begun.id(), tickets }
}

impl Whole {
    async fn part(&self, api: &Api, index: usize) -> (String, Answer) {
        let body = json!({ "parent": { "run": self.id, "ticket": self.tickets[index] } });
        let begun = api.post("/api/runs", body).await;
        (format!("/api/runs/{}", begun.id()), begun)
    }

    /// Walks through a part, to a good end.
    async fn walk(&self, api: &Api, index: usize, answer: &str) -> Answer {
        let (path, begun) = self.part(api, index).await;
        let report = json!({ "ticket": ticket(&begun.body), "result": { "answer": answer } });
        api.post(&format!("{path}/report"), report).await
    }
}

async fn a_part_reports_to_its_whole_when_it_ends(api: &Api) {
    let whole = whole(api).await;
    let (path, begun) = whole.part(api, 0).await;
    assert_eq!(begun.body["parentRun"], json!(whole.id));
    assert_eq!(begun.body["next"]["directive"]["step"]["brief"], json!("Do one."));
    let (again, _) = whole.part(api, 0).await;
    assert_eq!(again, path, "begun again, it is the same run");
    let report = json!({ "ticket": ticket(&begun.body), "result": { "answer": "forty-two" } });
    let ended = api.post(&format!("{path}/report"), report).await;
    let expected = json!({ "kind": "handed", "child": whole.tickets[0], "outcome": "ok", "open": [],
        "parent": ["maestro", "workflow", "next", whole.id] });
    assert_eq!(ended.body["next"], expected, "{ended}");
    let now = api.get(&whole.path).await;
    let open = now.body["next"]["directive"]["dispatches"].as_array().unwrap();
    assert_eq!((open.len(), &open[0]["ticket"]), (1, &json!(whole.tickets[1])));
    whole.walk(api, 1, "seven").await;
    assert_eq!(api.get(&whole.path).await.body["step"], json!("after"));
    let state = assert_folds(api, &whole.path).await;
    let results = &state.frames[0].results[&maestro_core::workflow::StepId::parse("spread").unwrap()];
    let both = json!([
        { "answer": "forty-two", "id": "one", "outcome": "ok" },
        { "answer": "seven", "id": "two", "outcome": "ok" },
    ]);
    assert_eq!(results["results"], both);
    let ended = api.get("/api/runs?workflow=part").await;
    assert!(ended.body.as_array().unwrap().iter().all(|run| run["status"] == json!("completed")));
}

async fn what_does_not_fit_the_whole_is_a_failure(api: &Api) {
    let judge = "
name: judged
reviews: {code: {}}
steps:
- {id: list, type: agent, review: {name: code, part: decompose}, next: {ok: verify, fail: end}}
- {id: verify, type: dispatch, for_each: reviews.code.open, call: part, with: {what: x}, review: {name: code, part: verify}, next: {ok: gate, fail: gate, partial: gate}}
- {id: gate, type: gate, review: code, max_rounds: 1, next: {pass: end, fail: list, exhausted: end}}
";
    let begun = begin(api, &[("judged", judge), ("part", PART)], json!({})).await;
    let path = format!("/api/runs/{}", begun.id());
    let items = json!({ "items": [{ "check": "c", "severity": "MUST" }] });
    let listed = api.post(&format!("{path}/report"), json!({ "ticket": ticket(&begun.body), "result": items })).await;
    let dispatch = &listed.body["next"]["directive"]["dispatches"][0];
    let part = api.post("/api/runs", json!({ "parent": { "run": begun.id(), "ticket": dispatch["ticket"] } })).await;
    let report = json!({ "ticket": ticket(&part.body), "result": { "answer": "no judgement at all" } });
    let ended = api.post(&format!("/api/runs/{}/report", part.id()), report).await;
    assert_eq!(ended.body["status"], json!("completed"), "the part did what it was told: {ended}");
    let outcomes: Vec<Json> = log(api, &path).await.iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    let child = outcomes.iter().find(|event| event["type"] == json!("run:child_ended")).unwrap();
    assert_eq!(child["payload"]["outcome"], json!("fail"));
    assert_eq!(api.get(&path).await.body["waiting"], json!("user"), "the gate found an item that nobody judged");
    assert_folds(api, &path).await;
}

async fn a_judge_corrects_what_the_whole_would_not_take(api: &Api) {
    let whole = "
name: judged
reviews: {code: {}}
steps:
- {id: list, type: dispatch, mode: single, call: lister, review: {name: code, part: decompose}, next: {ok: look, fail: stop, partial: stop}}
- {id: look, type: agent, review: {name: code, part: verify}, next: {ok: gate, fail: gate}}
- {id: gate, type: gate, review: code, max_rounds: 1, next: {pass: end, fail: look, exhausted: end}}
- {id: stop, type: end, status: blocked}
";
    let lister = "
name: lister
steps:
- {id: items, type: agent, result: {items: list}, next: {ok: end, fail: stop}}
- {id: stop, type: end, status: failure, message: nothing to list}
outputs: {items: '{steps.items.result.items}'}
";
    let texts = [("judged", whole), ("lister", lister)];
    let begun = begin(api, &texts, json!({})).await;
    let parent = json!({ "run": begun.id(), "ticket": begun.body["next"]["directive"]["dispatches"][0]["ticket"] });
    let part = api.post("/api/runs", json!({ "parent": parent })).await;
    let report = |severities: [&str; 2]| {
        let items = severities.map(|severity| json!({ "check": "c", "severity": severity }));
        json!({ "ticket": ticket(&part.body), "result": { "items": items } })
    };
    let path = format!("/api/runs/{}/report", part.id());
    let refused = api.post(&path, report(["HIGH", "LOW"])).await;
    assert_eq!(refused.status, 422, "{refused}");
    let told = refused.body["message"].as_str().unwrap();
    assert!(told.contains("item 1: `severity`") && told.contains("item 2: `severity`"), "{told}");
    assert_eq!(refused.body["details"]["run"]["status"], json!("running"), "{refused}");
    api.post(&path, report(["MUST", "could"])).await;
    assert_eq!(api.get(&format!("/api/runs/{}", begun.id())).await.body["step"], json!("look"));

    let begun = begin(api, &texts, json!({})).await;
    let parent = json!({ "run": begun.id(), "ticket": begun.body["next"]["directive"]["dispatches"][0]["ticket"] });
    let part = api.post("/api/runs", json!({ "parent": parent })).await;
    let failed = json!({ "ticket": ticket(&part.body), "outcome": "fail" });
    api.post(&format!("/api/runs/{}/report", part.id()), failed).await;
    let log = log(api, &format!("/api/runs/{}", begun.id())).await;
    let told: Vec<Json> = log.iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    let why = told.iter().find(|event| event["type"] == json!("run:executed")).unwrap();
    assert_eq!(why["payload"]["reason"], json!("sub-agent 1: nothing to list"));
}

async fn a_part_that_is_stopped_failed_and_the_whole_goes_on_from_now(api: &Api) {
    let whole = whole(api).await;
    whole.walk(api, 0, "forty-two").await;
    let (path, _) = whole.part(api, 1).await;
    api.post(&format!("{path}/cancel"), json!({})).await;
    let now = api.get(&whole.path).await;
    assert_eq!((&now.body["status"], &now.body["step"]), (&json!("running"), &json!("after")), "{now}");
    api.wait(59_000);
    assert_eq!(api.get(&whole.path).await.body["step"], json!("after"), "its time began with the stop");
    assert_folds(api, &whole.path).await;
}

async fn a_whole_that_rested_hears_of_its_parts_afterwards(api: &Api) {
    let whole = whole(api).await;
    whole.walk(api, 0, "forty-two").await;
    let (path, begun) = whole.part(api, 1).await;
    api.post(&format!("{}/pause", whole.path), json!({})).await;
    let report = json!({ "ticket": ticket(&begun.body), "result": { "answer": "seven" } });
    let ended = api.post(&format!("{path}/report"), report).await;
    assert_eq!((ended.status, &ended.body["status"]), (200, &json!("completed")), "{ended}");
    assert_eq!(api.get(&whole.path).await.body["next"], json!({ "kind": "paused" }));
    let resumed = api.post(&format!("{}/resume", whole.path), json!({})).await;
    assert_eq!(resumed.body["step"], json!("after"), "{resumed}");
    assert_folds(api, &whole.path).await;
}

async fn a_part_begins_only_with_a_ticket_of_its_own(api: &Api) {
    let whole = whole(api).await;
    let forged = format!("{}000000", &whole.tickets[0][..whole.tickets[0].len() - 6]);
    for wrong in [forged.as_str(), "spread#1", ""] {
        let body = json!({ "parent": { "run": whole.id, "ticket": wrong } });
        let refused = api.post("/api/runs", body).await;
        assert_eq!((refused.status, &refused.body["code"]), (409, &json!("WRONG_TICKET")), "{refused}");
    }
    whole.walk(api, 0, "x").await;
    let body = json!({ "parent": { "run": whole.id, "ticket": whole.tickets[0] } });
    assert_eq!(api.post("/api/runs", body).await.status, 409, "it has reported");
    assert_eq!(api.get("/api/runs").await.ids().len(), 2);
    // Many who begin the same part at once get the same run.
    let mut work = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (api, body) = (api.clone(), json!({ "parent": { "run": whole.id, "ticket": whole.tickets[1] } }));
        work.spawn(async move { api.post("/api/runs", body).await.id() });
    }
    let ids = work.join_all().await;
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

async fn a_sub_agent_that_says_it_twice_is_told_the_same(api: &Api) {
    let text = "name: w\nparams: {items: {type: list, default: [a, b]}}\nsteps:\n- {id: s, type: dispatch, for_each: items, prompt: 'Do {item}', next: {ok: t, fail: t, partial: t}}\n- {id: t, type: agent, next: {ok: end, fail: end}}\n";
    let begun = begin(api, &[("w", text)], json!({})).await;
    let path = format!("/api/runs/{}", begun.id());
    let dispatches = begun.body["next"]["directive"]["dispatches"].as_array().unwrap().clone();
    let report =
        |index: usize| json!({ "ticket": dispatches[index]["ticket"], "outcome": "ok", "result": { "n": index } });
    let first = api.post(&format!("{path}/report"), report(0)).await;
    assert_eq!(first.body["next"]["open"], json!([dispatches[1]["child"]]), "{first}");
    let second = api.post(&format!("{path}/report"), report(1)).await;
    assert_eq!(
        (&second.body["next"]["kind"], &second.body["next"]["open"]),
        (&json!("handed"), &json!([])),
        "{second}"
    );
    // Its parent has gone on by now, and what the parent is told is still none of its business.
    let again = api.post(&format!("{path}/report"), report(1)).await;
    assert_eq!((again.status, &again.body["next"]), (200, &second.body["next"]), "{again}");
    let late = api.post(&format!("{path}/report"), report(0)).await;
    assert_eq!(
        (&late.body["next"]["child"], &late.body["next"]["open"]),
        (&dispatches[0]["child"], &json!([])),
        "{late}"
    );
    let set = json!({ "ticket": dispatches[0]["ticket"], "set": { "x": 1 } });
    assert_eq!(api.post(&format!("{path}/report"), set).await.status, 409, "other words are not the same");
}

async fn a_verdict_of_a_program_is_about_the_files_as_they_are(api: &Api) {
    let judged = "
name: judged
reviews: {r: {}}
steps:
- {id: list, type: agent, review: {name: r, part: decompose}, next: {ok: look, fail: end}}
- {id: look, type: agent, review: {name: r, part: verify}, next: {ok: test, fail: test}}
- {id: test, type: command, command: [make, test], next: {ok: gate, fail: gate}}
- {id: gate, type: gate, review: r, checks: [test], next: {pass: end, fail: fix, exhausted: stop}}
- {id: fix, type: agent, review: {name: r, part: fix}, max_visits: 2, next: {ok: look, fail: stop, exhausted: stop}}
- {id: stop, type: end, status: failure}
";
    for (rewritten, step) in [(false, Json::Null), (true, json!("fix"))] {
        let folder = tempfile::tempdir().unwrap();
        assert!(std::process::Command::new("git").arg("init").arg("-q").arg(folder.path()).status().unwrap().success());
        let file = folder.path().join("a.txt");
        std::fs::write(&file, "seen").unwrap();
        let run = json!({"pinned": pinned(&[("judged", judged)]), "workspace": folder.path(), "driver": "caller"});
        let begun = api.post("/api/runs", run).await;
        let path = format!("/api/runs/{}", begun.id());
        let report =
            |ticket: String, item: Json| json!({ "ticket": ticket, "outcome": "ok", "result": { "items": [item] } });
        let item = json!({ "id": "a", "check": "c", "severity": "MUST", "scope": "a.txt" });
        let listed = api.post(&format!("{path}/report"), report(ticket(&begun.body), item)).await;
        let verdict = json!({ "id": "a", "status": "pass", "evidence": "e" });
        api.post(&format!("{path}/report"), report(ticket(&listed.body), verdict)).await;
        if rewritten {
            std::fs::write(&file, "never seen").unwrap();
        }
        let check = order(api, &path).await;
        api.post(&format!("{path}/started"), json!({ "ticket": check, "by": "me" })).await;
        let finish = json!({ "ticket": check, "finish": { "exited": { "code": 0, "output": "" } } });
        let ended = api.post(&format!("{path}/finished"), finish).await;
        assert_eq!(ended.body["step"], step, "{ended}");
    }
}
