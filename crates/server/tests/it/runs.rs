//! A run over HTTP: every turn of it, and everything that is wrong with what callers say.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use maestro_core::workflow::run::{Run, RunEvent, evolve};
use maestro_store::{Driver, RunOrigin, StartRun};
use serde_json::{Value as Json, json};

use crate::listener::Listening;
use crate::world::{Answer, Api, both};

both! {
    a_directive_says_all_there_is_to_do,
    a_run_that_starts_sessions_needs_a_project,
    a_run_goes_from_its_first_directive_to_its_end,
    a_ticket_that_is_not_the_current_one_is_answered_with_the_one_that_is,
    the_same_words_again_are_heard_once_and_answered_the_same,
    what_does_not_fit_is_refused_and_the_run_stays,
    a_run_that_was_stopped_hears_nothing,
    of_two_who_report_at_once_one_is_heard,
    nonsense_is_asked_again_twice_and_then_declined,
    whoever_names_a_revision_meets_that_one_or_nothing,
    only_one_of_many_who_name_the_same_revision_is_heard,
    a_request_that_comes_twice_begins_one_run,
    only_one_may_execute_an_order,
    what_nobody_knows_the_end_of_is_repeated_only_if_it_can_be,
    time_that_is_up_is_up_whoever_asks,
    many_who_ask_when_time_is_up_are_all_answered,
    a_server_notices_by_itself_that_time_is_up,
    what_cannot_be_understood_is_in_nobodys_way,
    what_happened_can_be_read_and_comes_out_as_the_state,
    runs_are_listed_in_parts,
    a_run_cannot_begin_with_what_makes_no_sense,
    a_worker_stops_only_its_own_runs,
}

pub(crate) const JOURNEY: &str = "
name: journey
params: {problem: {type: string, required: true}}
variables: {mood: {type: enum, values: [good, bad], default: good}}
steps:
- id: look
  type: agent
  title: Look at it
  description: 'Find out why {problem}.'
  actions: [Read the code]
  forbidden: [Changing anything]
  result: {cause: string}
  next: {ok: ask, fail: stop}
- {id: ask, type: question, prompt: 'Is it {steps.look.result.cause}?', options: [surely, hardly], store: word, next: {ok: test, declined: stop}}
- {id: test, type: command, command: 'check {word}', effect: read, max_visits: 3, next: {ok: gate, fail: gate, exhausted: stop}}
- {id: gate, type: gate, checks: [test], max_rounds: 2, next: {pass: say, fail: test, exhausted: stop}}
- {id: say, type: output, template: done}
- {id: done, type: end, message: 'It was {steps.look.result.cause}.'}
- {id: stop, type: end, status: blocked, message: given up}
templates: {done: 'All is well.'}
outputs: {cause: '{steps.look.result.cause}'}
";

/// What a caller hands over that found the definitions itself.
pub(crate) fn pinned(texts: &[(&str, &str)]) -> Json {
    let definitions: serde_json::Map<String, Json> = texts
        .iter()
        .map(|(name, text)| ((*name).to_owned(), json!({ "text": text, "folder": "/skills", "resources": {} })))
        .collect();
    json!({ "main": texts[0].0, "definitions": definitions })
}

/// Begins a run that its caller drives.
pub(crate) async fn begin(api: &Api, texts: &[(&str, &str)], params: Json) -> Answer {
    let body = json!({ "pinned": pinned(texts), "params": params, "workspace": "/work/shop", "driver": "caller" });
    let begun = api.post("/api/runs", body).await;
    assert_eq!(begun.status, 201, "{begun}");
    begun
}

async fn journey(api: &Api) -> (String, Answer) {
    let begun = begin(api, &[("journey", JOURNEY)], json!({ "problem": "it is slow" })).await;
    (format!("/api/runs/{}", begun.id()), begun)
}

/// The ticket of what is to be done now.
pub(crate) fn ticket(run: &Json) -> String {
    run["next"]["directive"]["ticket"].as_str().unwrap_or_else(|| panic!("{run:#}")).to_owned()
}

/// The ticket of what is to be executed now, which only those are told who drive the run.
pub(crate) async fn order(api: &Api, path: &str) -> String {
    let state: Run = serde_json::from_value(api.get(&format!("{path}/state")).await.body["run"].clone()).unwrap();
    state.ticket().unwrap().to_string()
}

/// Brings a journey to the question.
async fn asked(api: &Api) -> (String, String) {
    let (path, begun) = journey(api).await;
    let report = json!({ "ticket": ticket(&begun.body), "result": { "cause": "a loop" } });
    let answer = api.post(&format!("{path}/report"), report).await;
    assert_eq!(answer.status, 200, "{answer}");
    let ticket = ticket(&answer.body);
    (path, ticket)
}

/// Brings a journey to its command.
async fn ordered(api: &Api) -> (String, String) {
    let (path, ticket) = asked(api).await;
    let answer = api.post(&format!("{path}/answer"), json!({ "ticket": ticket, "value": "surely" })).await;
    assert_eq!((answer.status, &answer.body["next"]["kind"]), (200, &json!("busy")), "{answer}");
    let order = order(api, &path).await;
    (path, order)
}

/// The text without what differs from run to run.
fn steady(answer: &Answer) -> String {
    let mut body = answer.body.clone();
    let old = ["news", "now"].map(|name| body.as_object_mut().unwrap().shift_remove(name).unwrap());
    assert_eq!(old[0].as_array().unwrap().len(), body["updates"].as_array().unwrap().len());
    assert_eq!(old[1], body["next"], "the old names stay readable");
    let mut text = serde_json::to_string_pretty(&body).unwrap();
    for (key, name) in [("id", "RUN"), ("hash", "HASH")] {
        if let Some(value) = answer.body[key].as_str() {
            text = text.replace(value, name);
        }
    }
    if let Some(ticket) = answer.body["next"]["directive"]["ticket"].as_str() {
        text = text.replace(ticket, "TICKET");
    }
    text
}

/// The log of a run as the engine knows it.
pub(crate) async fn log(api: &Api, path: &str) -> Vec<RunEvent> {
    let mut events = Vec::new();
    let mut after = 0;
    loop {
        let part = api.get(&format!("{path}/log?after={after}&limit=1000")).await;
        assert_eq!(part.status, 200, "{part}");
        let entries = part.body.as_array().unwrap();
        let Some(last) = entries.last() else { return events };
        after = last["seq"].as_i64().unwrap();
        let event = |entry: &Json| json!({ "type": entry["type"], "payload": entry["payload"] });
        events.extend(entries.iter().map(|entry| serde_json::from_value::<RunEvent>(event(entry)).unwrap()));
    }
}

/// What happened, folded, is the state.
pub(crate) async fn assert_folds(api: &Api, path: &str) -> Run {
    let state: Run = serde_json::from_value(api.get(&format!("{path}/state")).await.body["run"].clone()).unwrap();
    assert_eq!(log(api, path).await.iter().fold(Run::default(), evolve), state);
    state
}

async fn a_run_that_starts_sessions_needs_a_project(api: &Api) {
    let text = "
name: w
steps:
- {id: work, type: agent, title: Work, description: Do it., actions: [Do it], session: {permission: edits}, next: {ok: done, fail: done}}
- {id: done, type: end}
";
    let body = |driver: &str| json!({ "pinned": pinned(&[("w", text)]), "workspace": "/work/shop", "driver": driver });
    assert_snapshot!(api.post("/api/runs", body("server")).await.line(), @"400 VALIDATION_ERROR step `work` starts a session, and a session belongs to a project: start the run in one");
    assert_eq!(api.post("/api/runs", body("caller")).await.status, 201, "its caller does the work itself");
    let mut in_project = body("server");
    in_project["projectId"] = json!(api.project().await);
    assert_eq!(api.post("/api/runs", in_project).await.status, 201);
}

async fn a_directive_says_all_there_is_to_do(api: &Api) {
    let (_, begun) = journey(api).await;
    assert_snapshot!("a_directive_says_all_there_is_to_do", steady(&begun));
}

#[expect(clippy::too_many_lines, reason = "one journey from the first directive to the end")]
async fn a_run_goes_from_its_first_directive_to_its_end(api: &Api) {
    let (path, begun) = journey(api).await;
    let report = json!({ "ticket": ticket(&begun.body), "outcome": "ok", "result": { "cause": "a loop" } });
    let asked = api.post(&format!("{path}/report"), report).await;
    assert_eq!((asked.status, asked.header("etag")), (200, "\"2\""), "{asked}");
    let summary = |answer: &Answer| {
        ["status", "waiting", "step", "revision"].map(|key| answer.body[key].clone()).map(|value| value.to_string())
    };
    assert_eq!(summary(&asked), ["\"running\"", "\"user\"", "\"ask\"", "2"]);
    let question = &asked.body["next"]["directive"]["question"];
    assert_eq!(
        question,
        &json!({ "prompt": "Is it a loop?", "options": ["surely", "hardly"], "default": null, "multiple": false, "refused": null })
    );
    assert_eq!(api.get(&path).await.body["next"], asked.body["next"], "asked again it is the same");

    let answer = json!({ "ticket": ticket(&asked.body), "value": "surely" });
    let busy = api.post(&format!("{path}/answer"), answer).await;
    assert_eq!(summary(&busy), ["\"running\"", "null", "\"test\"", "3"]);
    assert_eq!(busy.body["next"], json!({ "kind": "busy", "step": "test", "title": "test" }));

    // It fails once, the gate sends it back, and then it is well.
    for (code, kind) in [(1, "busy"), (0, "finished")] {
        let order = order(api, &path).await;
        let started = json!({ "ticket": order, "by": "me", "seconds": 5 });
        let started = api.post(&format!("{path}/started"), started).await;
        assert_eq!((started.status, &started.body["next"]["kind"]), (200, &json!("busy")), "{started}");
        let executor = api.get(&format!("{path}/state")).await.body["executor"].clone();
        assert_eq!(executor, json!({ "by": "me", "until": 1_738_713_600_000_i64 + 5_000 + 30_000 }));
        let finish = json!({ "exited": { "code": code, "output": "3 tests\n" } });
        let finished = api.post(&format!("{path}/finished"), json!({ "ticket": order, "finish": finish })).await;
        assert_eq!((finished.status, &finished.body["next"]["kind"]), (200, &json!(kind)), "{finished}");
        if code == 1 {
            assert_eq!(finished.body["updates"][0]["kind"], json!("failed"), "{finished}");
            assert_eq!(finished.body["updates"][1]["outcome"], json!("fail"), "{finished}");
        } else {
            assert_snapshot!(steady(&finished), @r#"
            {
              "id": "RUN",
              "workflow": "journey",
              "projectId": null,
              "taskId": null,
              "sessionId": null,
              "parentRun": null,
              "status": "completed",
              "state": "ready",
              "stateReason": null,
              "waiting": null,
              "step": null,
              "message": "It was a loop.",
              "workspace": "/work/shop",
              "driver": "caller",
              "hash": "HASH",
              "revision": 7,
              "createdAt": 1738713600000,
              "updatedAt": 1738713600000,
              "endedAt": 1738713600000,
              "landedAt": null,
              "landedInto": null,
              "reviewed": null,
              "bySession": false,
              "updates": [
                {
                  "kind": "judged",
                  "gate": "gate",
                  "title": "gate",
                  "round": 2,
                  "limit": 2,
                  "outcome": "pass",
                  "reasons": [],
                  "review": null,
                  "fix_target": null,
                  "self_fix": false
                },
                {
                  "kind": "shown",
                  "step": "say",
                  "text": "All is well.",
                  "authored": [
                    [
                      0,
                      12
                    ]
                  ]
                }
              ],
              "next": {
                "kind": "finished",
                "finished": {
                  "run": "RUN",
                  "status": "completed",
                  "outcome": "success",
                  "outputs": {
                    "cause": "a loop"
                  },
                  "accepted_risks": []
                },
                "message": "It was a loop."
              }
            }
            "#);
        }
    }
    let ended = api.get(&path).await;
    assert_eq!(
        (&ended.body["status"], &ended.body["waiting"], &ended.body["step"]),
        (&json!("completed"), &Json::Null, &Json::Null)
    );
    assert_eq!(api.get(&format!("{path}/state")).await.body["executor"], Json::Null);
    assert_folds(api, &path).await;
}

async fn a_ticket_that_is_not_the_current_one_is_answered_with_the_one_that_is(api: &Api) {
    let (path, begun) = journey(api).await;
    let first = ticket(&begun.body);
    let report = |ticket: &str, cause: &str| json!({ "ticket": ticket, "result": { "cause": cause } });
    api.post(&format!("{path}/report"), report(&first, "a loop")).await;
    let now = api.get(&path).await.body;
    let current = ticket(&now);
    let forged = format!("{}000000", &current[..current.len() - 6]);
    let events = log(api, &path).await.len();
    for wrong in [first.as_str(), &forged, "ask#1", "look#9.abcdef", "\u{1f600}", "' OR 1=1"] {
        for (verb, body) in [
            ("report", report(wrong, "another")),
            ("answer", json!({ "ticket": wrong, "value": "surely" })),
            ("started", json!({ "ticket": wrong, "by": "me" })),
            ("finished", json!({ "ticket": wrong, "finish": "timed_out" })),
        ] {
            let refused = api.post(&format!("{path}/{verb}"), body).await;
            assert_eq!((refused.status, &refused.body["code"]), (409, &json!("WRONG_TICKET")), "{verb} {refused}");
            assert_eq!(refused.body["details"]["run"], now, "{verb} {wrong}");
        }
    }
    // The right ticket, and the wrong thing said to it.
    for (verb, body) in [
        ("report", report(&current, "another")),
        ("started", json!({ "ticket": current, "by": "me" })),
        ("finished", json!({ "ticket": current, "finish": "timed_out" })),
    ] {
        let refused = api.post(&format!("{path}/{verb}"), body).await;
        assert_eq!((refused.status, &refused.body["code"]), (409, &json!("WRONG_TICKET")), "{verb} {refused}");
        assert_eq!(refused.body["details"]["run"], now);
    }
    assert_eq!(log(api, &path).await.len(), events, "nothing happened");
    let nobody = "/api/runs/00000000-0000-7000-8000-000000000000/report";
    assert_eq!(api.post(nobody, report(&current, "x")).await.status, 404);
    assert_snapshot!(api.post("/api/runs/nobody/report", report(&current, "x")).await.line(), @"400 VALIDATION_ERROR id: must be the id of a run (a UUID)");
    assert_snapshot!(api.post(&format!("{path}/report"), json!({ "ticket": " " })).await.line(), @"400 VALIDATION_ERROR ticket: the ticket of the directive is required");
}

async fn the_same_words_again_are_heard_once_and_answered_the_same(api: &Api) {
    let (path, begun) = journey(api).await;
    let report = json!({ "ticket": ticket(&begun.body), "result": { "cause": "a loop" } });
    let first = api.post(&format!("{path}/report"), report.clone()).await;
    let again = api.post(&format!("{path}/report"), report.clone()).await;
    assert_eq!((again.status, &again.body), (200, &first.body));

    let answer = json!({ "ticket": ticket(&first.body), "value": "surely" });
    let first = api.post(&format!("{path}/answer"), answer.clone()).await;
    assert_eq!(api.post(&format!("{path}/answer"), answer).await.body, first.body);
    let order = order(api, &path).await;
    let started = json!({ "ticket": order, "by": "me" });
    api.post(&format!("{path}/started"), started).await;
    let finished = json!({ "ticket": order, "finish": { "exited": { "code": 0, "output": "" } } });
    let first = api.post(&format!("{path}/finished"), finished.clone()).await;
    let again = api.post(&format!("{path}/finished"), finished).await;
    assert_eq!((again.status, &again.body["next"]), (200, &first.body["next"]), "{again}");
    assert_eq!(again.body["updates"], json!([]), "what was told is not told twice");

    // Even long after, when the run is over.
    let late = api.post(&format!("{path}/report"), report).await;
    assert_eq!((late.status, &late.body["next"]["kind"]), (200, &json!("finished")), "{late}");
    let heard = log(api, &path).await.iter().filter(|event| matches!(event, RunEvent::Reported { .. })).count();
    assert_eq!(heard, 3);
}

async fn what_does_not_fit_is_refused_and_the_run_stays(api: &Api) {
    let (path, begun) = journey(api).await;
    let ticket = ticket(&begun.body);
    let huge = "x".repeat(256 * 1024);
    let unfit = [
        json!({ "outcome": "iterate", "result": { "cause": "c" } }),
        json!({ "result": {} }),
        json!({ "result": { "cause": null } }),
        json!({ "result": { "cause": ["a"] } }),
        json!({ "result": { "cause": "c", "more": 1 } }),
        json!({ "result": { "cause": huge } }),
        json!({ "result": { "cause": "c" }, "set": { "mood": "so so" } }),
        json!({ "result": { "cause": "c" }, "set": { "nothing": 1 } }),
    ];
    let mut lines = Vec::new();
    for mut body in unfit {
        body["ticket"] = json!(ticket);
        let refused = api.post(&format!("{path}/report"), body).await;
        assert_eq!((refused.status, &refused.body["code"]), (422, &json!("UNFIT_REPORT")), "{refused}");
        assert_eq!(refused.body["details"]["run"]["next"], begun.body["next"]);
        lines.push(refused.body["message"].as_str().unwrap().to_owned());
    }
    assert_snapshot!(lines.join("\n"), @r#"
    the step can end with ok, fail
    the result is not what was asked for: `cause` is missing
    the result is not what was asked for: `cause`: null is not a string
    the result is not what was asked for: `cause`: ["a"] is not a string
    the result is not what was asked for: `more` is not declared
    the result is not what was asked for: it has 262156 bytes, and 262144 are allowed; write to a file and name it
    `mood`: "so so" is none of good, bad
    `nothing`: there is no such variable
    "#);
    let wrong = [
        json!({ "ticket": 5 }),
        json!({ "ticket": ticket, "outcome": ["ok"] }),
        json!({ "ticket": ticket, "result": "a loop" }),
        json!({ "ticket": ticket, "set": [] }),
        json!({ "ticket": ticket, "seen": { "changed": "all" } }),
        json!([ticket]),
    ];
    for body in wrong {
        let refused = api.post(&format!("{path}/report"), body).await;
        assert_eq!((refused.status, &refused.body["code"]), (400, &json!("VALIDATION_ERROR")), "{refused}");
    }
    let flood = json!({ "ticket": ticket, "result": { "cause": "x".repeat(2 * 1024 * 1024) } });
    assert_eq!(api.post(&format!("{path}/report"), flood).await.status, 413);
    assert_eq!(api.get(&path).await.body, begun.body, "nothing happened");
    let good = json!({ "ticket": ticket, "result": { "cause": "c" }, "set": { "mood": "bad" } });
    assert_eq!(api.post(&format!("{path}/report"), good).await.status, 200);
}

async fn a_run_that_was_stopped_hears_nothing(api: &Api) {
    let (path, begun) = journey(api).await;
    let report = json!({ "ticket": ticket(&begun.body), "result": { "cause": "a loop" } });
    let paused = api.post(&format!("{path}/pause"), json!({})).await;
    assert_eq!((&paused.body["status"], &paused.body["next"]), (&json!("paused"), &json!({ "kind": "paused" })));
    let refused = api.post(&format!("{path}/report"), report.clone()).await;
    assert_eq!((refused.status, &refused.body["code"]), (409, &json!("RUN_STATE")), "{refused}");
    assert_eq!(refused.body["details"]["run"]["next"], json!({ "kind": "paused" }));
    let again = api.post(&format!("{path}/pause"), json!({})).await;
    assert_eq!((again.status, &again.body["revision"]), (200, &paused.body["revision"]), "it is so already");
    let resumed = api.post(&format!("{path}/resume"), json!({})).await;
    assert_eq!(resumed.body["next"], begun.body["next"], "the ticket is still good");
    assert_eq!(api.post(&format!("{path}/resume"), json!({})).await.status, 200);
    assert_eq!(api.post(&format!("{path}/report"), report.clone()).await.status, 200);

    let cancelled = api.post(&format!("{path}/cancel"), json!({})).await;
    assert_eq!((cancelled.status, &cancelled.body["next"]["finished"]["status"]), (200, &json!("cancelled")));
    assert_eq!(api.post(&format!("{path}/cancel"), json!({})).await.status, 200);
    let other = json!({ "ticket": ticket(&begun.body), "result": { "cause": "another" } });
    for (verb, body) in [("report", other), ("pause", json!({})), ("resume", json!({}))] {
        let refused = api.post(&format!("{path}/{verb}"), body).await;
        assert_eq!((refused.status, &refused.body["code"]), (409, &json!("RUN_OVER")), "{refused}");
        assert_eq!(refused.body["details"]["run"]["next"], cancelled.body["next"]);
    }
    assert_folds(api, &path).await;
}

async fn of_two_who_report_at_once_one_is_heard(api: &Api) {
    for _ in 0..10 {
        let (path, begun) = journey(api).await;
        let report = |outcome: &str, cause: &str| json!({ "ticket": ticket(&begun.body), "outcome": outcome, "result": { "cause": cause } });
        let path_ = format!("{path}/report");
        let (one, two) =
            tokio::join!(api.post(&path_, report("ok", "a loop")), api.post(&path_, report("fail", "no idea")));
        let mut statuses = [one.status, two.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{one}\n{two}");
        let (heard, refused) = if one.status == 200 { (&one, &two) } else { (&two, &one) };
        assert_eq!(refused.body["details"]["run"]["next"], heard.body["next"]);
        let left = log(api, &path)
            .await
            .iter()
            .filter(|event| matches!(event, RunEvent::Left { step, .. } if step.as_str() == "look"))
            .count();
        assert_eq!(left, 1, "one route was taken");
        assert_folds(api, &path).await;
    }
}

async fn nonsense_is_asked_again_twice_and_then_declined(api: &Api) {
    let (path, mut ticket_) = asked(api).await;
    for nonsense in [json!("perhaps"), json!(["surely"])] {
        let answer = json!({ "ticket": ticket_, "value": nonsense });
        let again = api.post(&format!("{path}/answer"), answer.clone()).await;
        assert_eq!((again.status, &again.body["waiting"]), (200, &json!("user")), "{again}");
        assert!(again.body["next"]["directive"]["question"]["refused"].is_string(), "{again}");
        let repeated = api.post(&format!("{path}/answer"), answer).await;
        assert_eq!(repeated.body, again.body, "said twice, it counts once");
        ticket_ = ticket(&again.body);
    }
    for wrong in [
        json!({}),
        json!({ "value": null }),
        json!({ "value": "surely", "instead": "declined" }),
        json!({ "instead": "never" }),
    ] {
        let mut body = wrong;
        body["ticket"] = json!(ticket_);
        assert_eq!(api.post(&format!("{path}/answer"), body.clone()).await.status, 400, "{body}");
    }
    let third = api.post(&format!("{path}/answer"), json!({ "ticket": ticket_, "value": { "so": "so" } })).await;
    assert_eq!(third.body["next"]["finished"]["outcome"], json!("blocked"), "{third}");

    let (path, ticket) = asked(api).await;
    let declined = api.post(&format!("{path}/answer"), json!({ "ticket": ticket, "instead": "declined" })).await;
    assert_eq!(declined.body["next"]["message"], json!("given up"), "{declined}");
}

async fn whoever_names_a_revision_meets_that_one_or_nothing(api: &Api) {
    let (path, begun) = journey(api).await;
    let read = api.get(&path).await;
    assert_eq!(read.header("etag"), "\"1\"");
    let report = json!({ "ticket": ticket(&begun.body), "result": { "cause": "a loop" } });
    for wrong in ["\"7\"", "2"] {
        for verb in ["report", "pause", "resume", "cancel"] {
            let refused = api.with("if-match", wrong).post(&format!("{path}/{verb}"), report.clone()).await;
            assert_eq!(refused.status, 412, "{verb} {refused}");
        }
    }
    let seen = api.with("if-match", "\"1\"").post(&format!("{path}/report"), report).await;
    assert_eq!((seen.status, seen.header("etag")), (200, "\"2\""), "{seen}");
    let answer = json!({ "ticket": ticket(&seen.body), "value": "surely" });
    assert_eq!(api.with("if-match", "\"1\"").post(&format!("{path}/answer"), answer).await.status, 412);
    assert_eq!(api.with("if-match", "*").post(&format!("{path}/cancel"), json!({})).await.status, 200);
    assert_eq!(api.with("if-match", "now").post(&format!("{path}/cancel"), json!({})).await.status, 400);
}

async fn only_one_of_many_who_name_the_same_revision_is_heard(api: &Api) {
    let text = "name: w\nparams: {items: {type: list, default: [a, b, c, d, e, f, g, h]}}\nsteps:\n- {id: s, type: dispatch, for_each: items, prompt: p, next: {ok: end, fail: end, partial: end}}\n";
    let begun = begin(api, &[("w", text)], json!({})).await;
    let path = format!("/api/runs/{}", begun.id());
    let tickets = begun.body["next"]["directive"]["dispatches"].as_array().unwrap().iter();
    let mut work = tokio::task::JoinSet::new();
    for dispatch in tickets {
        let (api, path) = (api.with("if-match", "\"1\""), format!("{path}/report"));
        let body = json!({ "ticket": dispatch["ticket"] });
        work.spawn(async move { api.post(&path, body).await.status });
    }
    let mut statuses = work.join_all().await;
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412, 412, 412, 412, 412, 412, 412]);
}

async fn a_request_that_comes_twice_begins_one_run(api: &Api) {
    let keyed = api.with("idempotency-key", "k1");
    let body = |problem: &str| json!({ "pinned": pinned(&[("journey", JOURNEY)]), "params": { "problem": problem }, "driver": "caller" });
    let first = keyed.post("/api/runs", body("it is slow")).await;
    let again = keyed.post("/api/runs", body("it is slow")).await;
    assert_eq!((again.status, &again.body), (201, &first.body));
    let other = keyed.post("/api/runs", body("it is fast")).await;
    assert_eq!(other.status, 422, "{other}");
    assert_eq!(api.get("/api/runs").await.ids(), [first.id()]);
    api.post("/api/runs", body("it is slow")).await;
    assert_eq!(api.get("/api/runs").await.ids().len(), 2, "without a key it is another one");
}

async fn only_one_may_execute_an_order(api: &Api) {
    let (path, order_) = ordered(api).await;
    let started = |by: &str| json!({ "ticket": order_, "by": by, "seconds": 60 });
    let path_ = format!("{path}/started");
    let (one, two) = tokio::join!(api.post(&path_, started("one")), api.post(&path_, started("two")));
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{one}\n{two}");
    let (winner, loser) = if one.status == 200 { ("one", "two") } else { ("two", "one") };
    assert_eq!(api.post(&path_, started(winner)).await.status, 200, "whoever heard no answer asks again");
    let denied = api.post(&path_, started(loser)).await;
    assert_eq!((denied.status, &denied.body["code"]), (409, &json!("WRONG_TICKET")));
    assert_eq!(api.get(&format!("{path}/state")).await.body["executor"]["by"], json!(winner));
    for wrong in [
        json!({ "ticket": order_ }),
        json!({ "ticket": order_, "by": " " }),
        json!({ "ticket": order_, "by": "x", "seconds": -1 }),
    ] {
        assert_eq!(api.post(&path_, wrong).await.status, 400);
    }
    for wrong in [json!({}), json!({ "exited": {} }), json!("vanished"), json!(null)] {
        let body = json!({ "ticket": order_, "finish": wrong });
        assert_eq!(api.post(&format!("{path}/finished"), body).await.status, 400, "{wrong}");
    }
    // A pause does not end what runs, and its end is heard.
    api.post(&format!("{path}/pause"), json!({})).await;
    assert_eq!(api.get(&format!("{path}/state")).await.body["executor"]["by"], json!(winner));
    let finished = json!({ "ticket": order_, "finish": { "exited": { "code": 0, "output": "" } } });
    let finished = api.post(&format!("{path}/finished"), finished).await;
    assert_eq!(finished.status, 200, "{finished}");
    let progressed = log(api, &path).await.iter().filter(|event| matches!(event, RunEvent::Progressed { .. })).count();
    assert_eq!(progressed, 1);
    assert_folds(api, &path).await;
}

async fn what_nobody_knows_the_end_of_is_repeated_only_if_it_can_be(api: &Api) {
    let text = |effect: &str| {
        format!("name: w\nsteps:\n- {{id: a, type: command, command: run, effect: {effect}, next: {{fail: end}}}}\n")
    };
    for (effect, waiting) in [("read", Json::Null), ("write", json!("consent"))] {
        let begun = begin(api, &[("w", &text(effect))], json!({})).await;
        let path = format!("/api/runs/{}", begun.id());
        let first = order(api, &path).await;
        let lost = |ticket: &str, by: &str| json!({ "ticket": ticket, "by": by });
        let early = api.post(&format!("{path}/lost"), lost(&first, "me")).await;
        assert_eq!(early.status, 409, "nobody has begun: {early}");
        api.post(&format!("{path}/started"), json!({ "ticket": first, "by": "me" })).await;
        let wrong = api.post(&format!("{path}/lost"), lost(&first, "somebody")).await;
        assert_eq!((wrong.status, &wrong.body["code"]), (409, &json!("WRONG_TICKET")), "{wrong}");
        let gone = api.post(&format!("{path}/lost"), lost(&first, "me")).await;
        assert_eq!((gone.status, &gone.body["waiting"]), (200, &waiting), "{gone}");
        assert_eq!(api.post(&format!("{path}/lost"), lost(&first, "me")).await.status, 409, "it was told already");
        let finished = json!({ "ticket": first, "finish": { "exited": { "code": 0, "output": "" } } });
        assert_eq!(api.post(&format!("{path}/finished"), finished).await.status, 409, "too late");
        if effect == "write" {
            let question = &gone.body["next"]["directive"]["question"];
            assert_eq!(question["options"], json!(["again", "done", "abort"]));
            let nonsense = json!({ "ticket": ticket(&gone.body), "value": "perhaps" });
            assert_eq!(api.post(&format!("{path}/answer"), nonsense).await.status, 422);
            let again = json!({ "ticket": ticket(&gone.body), "value": "again" });
            let again = api.post(&format!("{path}/answer"), again).await;
            assert_eq!((again.status, &again.body["next"]["kind"]), (200, &json!("busy")), "{again}");
        }
        let second = order(api, &path).await;
        assert_ne!(second, first);
        assert_eq!(api.post(&format!("{path}/started"), json!({ "ticket": second, "by": "you" })).await.status, 200);
    }
}

const TIMED: &str = "name: timed\nsteps:\n- {id: a, type: agent, timeout: 60, next: {ok: end, fail: end, timeout: b}}\n- {id: b, type: agent, next: {ok: end, fail: end}}\n";

async fn time_that_is_up_is_up_whoever_asks(api: &Api) {
    let begun = begin(api, &[("timed", TIMED)], json!({})).await;
    let path = format!("/api/runs/{}", begun.id());
    api.wait(59_999);
    assert_eq!(api.get(&path).await.body["step"], json!("a"));
    api.wait(1);
    let after = api.get(&path).await;
    assert_eq!((&after.body["step"], after.header("etag")), (&json!("b"), "\"2\""), "{after}");
    let late = api.post(&format!("{path}/report"), json!({ "ticket": ticket(&begun.body) })).await;
    assert_eq!((late.status, &late.body["details"]["run"]["step"]), (409, &json!("b")), "{late}");
    // A run that rests is not hurried.
    let begun = begin(api, &[("timed", TIMED)], json!({})).await;
    let path = format!("/api/runs/{}", begun.id());
    api.post(&format!("{path}/pause"), json!({})).await;
    api.wait(100_000);
    assert_eq!(api.get(&path).await.body["step"], json!("a"));
    assert_folds(api, &path).await;
}

async fn many_who_ask_when_time_is_up_are_all_answered(api: &Api) {
    let text = "name: timed\nsteps:\n- {id: a, type: agent, timeout: 60, next: {ok: end, fail: end, timeout: end}}\n";
    for _ in 0..5 {
        let begun = begin(api, &[("timed", text)], json!({})).await;
        let path = format!("/api/runs/{}", begun.id());
        api.wait(60_000);
        let mut work = tokio::task::JoinSet::new();
        for _ in 0..16 {
            let (api, path) = (api.clone(), path.clone());
            work.spawn(async move { api.get(&path).await });
        }
        for answer in work.join_all().await {
            assert_eq!((answer.status, &answer.body["next"]["kind"]), (200, &json!("finished")), "{answer}");
        }
        assert_folds(api, &path).await;
    }
}

async fn a_server_notices_by_itself_that_time_is_up(api: &Api) {
    let server = Listening::start(api).await;
    let begun = begin(api, &[("timed", TIMED)], json!({})).await;
    let mut watcher = server.watch("", "").await;
    api.wait(60_000);
    let event = watcher.soon().await;
    assert_eq!((&event["type"], &event["run"]), (&json!("run:left"), &begun.body["id"]), "{event}");
    assert_eq!(event["payload"]["outcome"], json!("timeout"));
}

async fn what_cannot_be_understood_is_in_nobodys_way(api: &Api) {
    let begun = begin(api, &[("timed", TIMED)], json!({})).await;
    // As another version of the program may have kept it: its time is up, and nobody here knows what it says.
    let id: maestro_core::RunId = "00000000-0000-7000-8000-000000000001".parse().unwrap();
    let about = RunOrigin {
        workflow: "odd".into(),
        project: None,
        task: None,
        session: None,
        parent: None,
        driver: Driver::Server,
        rights: maestro_core::agent::RunRights::default(),
    };
    let odd = maestro_core::workflow::pinned_definition::PinnedText {
        text: "workflow: 99".into(),
        folder: String::new(),
        resources: BTreeMap::default(),
    };
    let definitions = [("odd".to_owned(), odd)].into();
    let hash = maestro_engine::runs::hash(&definitions);
    let run = Run { status: maestro_core::workflow::run::RunStatus::Active, ..Run::default() };
    api.store
        .write(StartRun {
            id,
            about,
            hash,
            definitions,
            events: Vec::new(),
            run,
            deadline: Some(0),
            host: None,
            work_key: None,
        })
        .await
        .unwrap();
    let refused = api.get(&format!("/api/runs/{id}")).await;
    assert_eq!((refused.status, &refused.body["code"]), (422, &json!("BUSINESS_RULE_ERROR")), "{refused}");
    let server = Listening::start(api).await;
    let mut watcher = server.watch("", "").await;
    api.wait(60_000);
    let event = watcher.soon().await;
    assert_eq!((&event["type"], &event["run"]), (&json!("run:left"), &begun.body["id"]), "{event}");
    assert_eq!(api.get("/api/runs").await.ids().len(), 2);
}

async fn what_happened_can_be_read_and_comes_out_as_the_state(api: &Api) {
    let (path, _) = ordered(api).await;
    let entries = api.get(&format!("{path}/log")).await.body;
    let kinds: Vec<&str> = entries.as_array().unwrap().iter().map(|entry| entry["type"].as_str().unwrap()).collect();
    assert_snapshot!(kinds.join(" "), @"run:began run:entered run:waiting run:reported run:resulted run:left run:entered run:waiting run:reported run:answered run:set run:left run:entered run:waiting");
    assert_eq!(entries[0].as_object().unwrap().keys().collect::<Vec<_>>(), ["seq", "at", "type", "payload"]);
    let first = api.get(&format!("{path}/log?limit=2")).await.body;
    assert_eq!(first.as_array().unwrap()[..], entries.as_array().unwrap()[..2]);
    for wrong in ["limit=0", "limit=10001", "after=-1", "after=x"] {
        assert_eq!(api.get(&format!("{path}/log?{wrong}")).await.status, 400, "{wrong}");
    }
    assert_eq!(api.get("/api/runs/00000000-0000-7000-8000-000000000000/log").await.status, 404);
    assert_folds(api, &path).await;

    let plain = api.get(&format!("{path}/state")).await;
    assert_eq!(plain.body["definitions"], Json::Null);
    let whole = api.get(&format!("{path}/state?pinned=true")).await;
    assert_eq!(whole.header("etag"), format!("\"{}\"", whole.body["revision"]));
    assert_eq!(whole.body["definitions"], pinned(&[("journey", JOURNEY)])["definitions"]);
    assert_eq!((&whole.body["run"], &whole.body["hash"]), (&plain.body["run"], &plain.body["hash"]));
    assert_eq!(api.get(&format!("{path}/state?pinned=perhaps")).await.status, 400);
}

async fn runs_are_listed_in_parts(api: &Api) {
    let project = api.project().await;
    let mut ids = Vec::new();
    for number in 0..4 {
        let body = json!({ "pinned": pinned(&[("journey", JOURNEY)]), "params": { "problem": number.to_string() },
            "projectId": (number % 2 == 0).then_some(&project), "driver": "caller" });
        ids.push(api.post("/api/runs", body).await.id());
    }
    api.post(&format!("/api/runs/{}/cancel", ids[0]), json!({})).await;
    let all = api.get("/api/runs").await;
    assert_eq!(all.ids(), ids);
    assert_eq!(all.body[0]["workspace"], json!("/work/shop"), "a project's run works in its directory");
    assert_eq!(all.body[1]["workspace"], json!(""));
    assert_eq!(api.get(&format!("/api/runs?projectId={project}")).await.ids(), [&*ids[0], &*ids[2]]);
    assert_eq!(api.get("/api/runs?status=cancelled").await.ids(), [&*ids[0]]);
    assert_eq!(api.get("/api/runs?workflow=journey&status=running").await.ids(), ids[1..]);
    assert_eq!(api.get("/api/runs?workflow=other").await.body, json!([]));
    let part = api.get("/api/runs?limit=3").await;
    let rest = api.get(&format!("/api/runs?cursor={}", part.header("maestro-next-cursor"))).await;
    assert_eq!((part.ids(), rest.ids()), (ids[..3].iter().map(String::as_str).collect(), vec![&*ids[3]]));
    assert_snapshot!(api.get("/api/runs?status=over").await.line(), @"400 VALIDATION_ERROR status: must be one of running, paused, completed, failed, cancelled");
    assert_eq!(api.get("/api/runs?projectId=a%20b").await.status, 400);
}

async fn a_run_cannot_begin_with_what_makes_no_sense(api: &Api) {
    let good =
        || json!({ "pinned": pinned(&[("journey", JOURNEY)]), "params": { "problem": "p" }, "driver": "caller" });
    let with = |key: &str, value: Json| {
        let mut body = good();
        body[key] = value;
        body
    };
    let mut lines = Vec::new();
    for body in [
        json!({}),
        with("params", json!({})),
        with("params", json!({ "problem": ["p"] })),
        with("params", json!({ "problem": "p", "other": 1 })),
        with("params", json!([])),
        with("workspace", json!("../here")),
        with("driver", json!("nobody")),
        with("projectId", json!("ghost")),
        with("taskId", json!("ghost")),
        with("pinned", json!({ "main": "other", "definitions": {} })),
        with("pinned", pinned(&[("journey", "steps: []")])),
        with("pinned", pinned(&[("journey", &"x".repeat(1024 * 1024 + 1))])),
        with("parent", json!({ "run": "x", "ticket": "t" })),
        with("parent", json!({ "run": "00000000-0000-7000-8000-000000000000", "ticket": "t" })),
    ] {
        lines.push(api.post("/api/runs", body).await.line());
    }
    assert_snapshot!(lines.join("\n"), @r#"
    400 VALIDATION_ERROR workflow: the name of a workflow is required
    400 VALIDATION_ERROR `problem`: required, but not given
    400 VALIDATION_ERROR `problem`: ["p"] is not a string
    400 VALIDATION_ERROR `other`: there is no such parameter
    400 VALIDATION_ERROR params: invalid type: sequence, expected a map at line 1 column 1104
    400 VALIDATION_ERROR workspace: must be an absolute path
    400 VALIDATION_ERROR driver: must be server or caller
    404 NOT_FOUND Project with id 'ghost' not found
    404 NOT_FOUND Task with id 'ghost' not found
    422 BUSINESS_RULE_ERROR the pinned definition of `other` is invalid
    422 BUSINESS_RULE_ERROR the pinned definition of `journey` is invalid
    400 VALIDATION_ERROR pinned: has more than 1048576 bytes
    400 VALIDATION_ERROR parent.run: must be the id of a run (a UUID)
    404 NOT_FOUND Run with id '00000000-0000-7000-8000-000000000000' not found
    "#);
    assert_eq!(api.get("/api/runs").await.body, json!([]));
}

async fn a_worker_stops_only_its_own_runs(api: &Api) {
    let project = api.project().await;
    let (mine, other) = (api.session(&project, &[]).await, api.session(&project, &[]).await);
    let (me, stranger) = (api.as_session(&mine).await, api.as_session(&other).await);
    let begun = begin(&me, &[("journey", JOURNEY)], json!({ "problem": "p" })).await;
    assert_eq!(begun.body["sessionId"], json!(mine));
    let path = format!("/api/runs/{}", begun.id());
    for verb in ["pause", "resume", "cancel"] {
        let refused = stranger.post(&format!("{path}/{verb}"), json!({})).await;
        assert_eq!((refused.status, &refused.body["code"]), (403, &json!("FORBIDDEN")), "{refused}");
    }
    assert_eq!(me.post(&format!("{path}/pause"), json!({})).await.status, 200);
    assert_eq!(me.post(&format!("{path}/cancel"), json!({})).await.status, 200);
    let (people, _) = journey(api).await;
    assert_eq!(me.post(&format!("{people}/cancel"), json!({})).await.status, 403, "nobody's is a person's");
    assert_eq!(api.post(&format!("{people}/cancel"), json!({})).await.status, 200);
}
