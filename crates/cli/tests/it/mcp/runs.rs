//! Does a model walk through a workflow by tools, whatever its client can do, and is nothing done twice?

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::client::{Client, Era, Forms};
use super::{project, text};
use crate::sandbox::Sandbox;
use crate::waiting::{is_alive, number_in, wait_until};

/// A command, a question, work for an agent, and a command again.
const PAINT: &str = r#"
name: paint
params: {who: {type: string, required: true}}
variables: {colour: {type: string}, coats: {type: string}}
steps:
  - {id: mix, type: command, shell: {script: "echo mixed >> log"}}
  - {id: which, type: question, prompt: "Which colour, {who}?", options: [red, blue], store: colour}
  - {id: coats, type: question, prompt: "How many coats of {colour}?", store: coats}
  - {id: paint, type: agent, description: "Paint it {colour}.", next: {ok: clean, fail: end}}
  - {id: clean, type: command, shell: {script: "echo cleaned >> log"}}
outputs: {colour: "{colour}"}
"#;

fn painting(workflow: &str) -> Sandbox {
    let sandbox = project();
    sandbox.skill(".claude/skills", "paint", "Paint a thing.");
    sandbox.write(".claude/skills/paint/workflow.yaml", workflow);
    sandbox
}

fn trust(sandbox: &Sandbox) {
    let allowed = sandbox.maestro("trust paint --yes");
    assert_eq!(allowed.code, 0, "{allowed}");
}

fn log(sandbox: &Sandbox) -> Vec<String> {
    let text = fs::read_to_string(sandbox.path("log")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Walks through the workflow to its end; every status on the way.
fn walk(client: &mut Client) -> Vec<String> {
    let mut statuses = Vec::new();
    let mut result = client.tool("paint", &json!({ "who": "Ada" }));
    loop {
        let told = result["structuredContent"].clone();
        let (status, run) = (told["status"].as_str().unwrap().to_owned(), told["run_id"].clone());
        statuses.push(status.clone());
        let ticket = &told["ticket"];
        result = match status.as_str() {
            "needs_input" => {
                let value = if told["question"]["options"].is_null() { "2" } else { "blue" };
                client.tool("run_answer", &json!({ "run_id": run, "ticket": ticket, "value": value }))
            }
            "todo" => {
                assert!(text(&result).contains("Paint it blue."), "{result:#}");
                client.tool("run_report", &json!({ "run_id": run, "ticket": ticket, "outcome": "ok" }))
            }
            _ => {
                assert_eq!(told["outputs"], json!({ "colour": "blue" }), "{told:#}");
                return statuses;
            }
        };
    }
}

/// What happened to the only run, without when and by whom.
fn transcript(sandbox: &Sandbox) -> Vec<Json> {
    let runs = sandbox.maestro("workflow runs --json").json();
    let id = runs[0]["id"].as_str().unwrap().to_owned();
    let mut client = Client::start(sandbox, &[], Era::Today, Forms::Unknown);
    let read = client.call("resources/read", json!({ "uri": format!("maestro://runs/{id}/log") })).unwrap();
    let events: Vec<Json> = serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap();
    events.iter().map(|event| event["type"].clone()).collect()
}

#[test]
fn the_three_ways_of_asking_end_alike_over_both_transports() {
    let mut transcripts = Vec::new();
    for (era, forms) in [
        (Era::Earlier, Forms::Shown),
        (Era::Earlier, Forms::Unknown),
        (Era::Today, Forms::Shown),
        (Era::Today, Forms::Unknown),
    ] {
        for served in [false, true] {
            let sandbox = painting(PAINT);
            trust(&sandbox);
            let server = served.then(|| sandbox.serve());
            let client = match &server {
                Some(server) => Client::connect(server.url(), era, forms),
                None => Client::start(&sandbox, &[], era, forms),
            };
            let mut client = client.answering(&[json!("blue"), json!("2")]);
            let statuses = walk(&mut client);
            let questions = if forms == Forms::Shown { 2 } else { 0 };
            assert_eq!(client.asked.len(), questions, "{era:?} {forms:?} {served}");
            assert_eq!(statuses.last().unwrap(), "completed", "{statuses:?}");
            assert_eq!(log(&sandbox), ["mixed", "cleaned"], "{era:?} {forms:?} {served}");
            drop(client);
            drop(server);
            transcripts.push(transcript(&sandbox));
        }
    }
    assert!(transcripts.windows(2).all(|two| two[0] == two[1]), "{transcripts:#?}");
}

#[test]
fn questions_that_follow_one_another_are_asked_in_one_form() {
    let workflow = PAINT.replace("How many coats of {colour}?", "How many coats?");
    for era in [Era::Earlier, Era::Today] {
        let sandbox = painting(&workflow);
        trust(&sandbox);
        let mut client = Client::start(&sandbox, &[], era, Forms::Shown).answering(&[json!("blue"), json!("2")]);
        let begun = client.tool("paint", &json!({ "who": "Ada" }));
        assert!(text(&begun).contains("Paint it blue."), "{begun:#}");
        assert_eq!(client.asked, ["Which colour, Ada?\nHow many coats?"], "{era:?}");
        assert_eq!(log(&sandbox), ["mixed"]);
    }
}

#[test]
fn a_field_is_called_and_typed_as_what_the_answer_is_stored_in() {
    let workflow = "
name: paint
variables: {dry: {type: bool}, coats: {type: int}, finish: {type: enum, values: [matt, gloss]}}
steps:
  - {id: dried, type: question, prompt: Is it dry?, default: 'true', store: dry}
  - {id: how-often, type: question, prompt: How many coats?, default: '2', store: coats}
  - {id: last, type: question, prompt: Matt or gloss?, store: finish}
outputs: {said: '{dry} {coats} {finish}'}
";
    let sandbox = painting(workflow);
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Shown);
    let asked = client.call("tools/call", json!({ "name": "paint", "arguments": {} })).unwrap();
    let expected = json!({
        "dry": { "type": "boolean", "title": "Is it dry?", "default": true },
        "coats": { "type": "integer", "title": "How many coats?", "default": 2 },
        "finish": { "type": "string", "title": "Matt or gloss?", "enum": ["matt", "gloss"] },
    });
    assert_eq!(asked["inputRequests"]["dried"]["params"]["requestedSchema"]["properties"], expected, "{asked:#}");
    let answers =
        json!({ "dried": { "action": "accept", "content": { "dry": false, "coats": 3, "finish": "gloss" } } });
    let again =
        json!({ "name": "paint", "arguments": {}, "requestState": asked["requestState"], "inputResponses": answers });
    let ended = client.call("tools/call", again).unwrap();
    assert_eq!(ended["structuredContent"]["outputs"]["said"], json!("false 3 gloss"), "{ended:#}");
}

/// Two steps that tell something, each before a question; the second question comes again and again.
const TOLD: &str = r#"
name: paint
variables: {colour: {type: string}, more: {type: bool}}
templates: {hello: Hello from the shed.}
steps:
  - {id: greet, type: output, template: hello}
  - {id: which, type: question, prompt: Which colour?, store: colour}
  - {id: again, type: question, prompt: "Another coat of {colour}?", store: more, max_visits: 9, next: {ok: round, declined: end, exhausted: end}}
  - {id: round, type: conditional, cases: [{when: more, next: again}], else: end}
"#;

#[test]
fn what_was_told_before_a_question_reaches_the_model_and_a_known_answer_counts_once() {
    for (era, forms) in [(Era::Earlier, Forms::Shown), (Era::Today, Forms::Shown), (Era::Today, Forms::Unknown)] {
        let sandbox = painting(TOLD);
        let mut client = Client::start(&sandbox, &[], era, forms).answering(&[json!("blue"), json!(false)]);
        let known = json!({ "answers": { "again": true } });
        let mut told = client.tool("paint", &known);
        let hello = json!([{ "type": "skill-output", "content": "Hello from the shed.", "format": "markdown" }]);
        assert_eq!(told["structuredContent"]["shown"], hello, "{era:?} {forms:?}: {told:#}");
        let data = told["structuredContent"].to_string();
        assert_eq!(
            data.matches("Hello from the shed.").count(),
            1,
            "a client may show its model the data alone: {data}"
        );
        let mut texts = text(&told);
        for value in [json!("blue"), json!("false")] {
            if told["structuredContent"]["status"] == json!("needs_input") {
                let answer = json!({ "run_id": told["structuredContent"]["run_id"], "value": value });
                told = client.tool("run_answer", &answer);
                texts += &text(&told);
            }
        }
        // Where the model asks, it answers what it was asked; where forms do, the known answer is given first.
        assert_eq!(told["structuredContent"]["status"], json!("completed"), "{era:?} {forms:?}: {told:#}");
        assert_eq!(texts.matches("Hello from the shed.").count(), 1, "{era:?} {forms:?}: {texts}");
    }
}

#[test]
fn a_question_says_which_values_it_takes() {
    let flow = "name: paint\nvariables: {dry: {type: bool}}\nsteps:\n  - {id: dried, type: question, prompt: Dry?, store: dry}\n";
    let sandbox = painting(flow);
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let asked = client.tool("paint", &json!({}));
    assert_eq!(asked["structuredContent"]["question"]["options"], json!(["true", "false"]), "{asked:#}");
    let run = &asked["structuredContent"]["run_id"];
    let refused = client.tool("run_answer", &json!({ "run_id": run, "value": "perhaps" }));
    assert!(text(&refused).contains("`perhaps` is none of true, false"), "{refused:#}");
    // An answer beside the call counts also when another one was refused before.
    let ended = client.tool("run_next", &json!({ "run_id": run, "answers": { "dried": true } }));
    assert_eq!(ended["structuredContent"]["status"], json!("completed"), "{ended:#}");
}

#[test]
fn a_form_that_comes_back_empty_leaves_the_question_to_the_model() {
    let sandbox = painting(PAINT);
    trust(&sandbox);
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Shown);
    let call = json!({ "name": "paint", "arguments": { "who": "Ada" } });
    let asked = client.call("tools/call", call.clone()).unwrap();
    let mut again = call;
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({ "which": { "action": "accept" } });
    let told = client.call("tools/call", again).unwrap();
    assert_eq!(told["structuredContent"]["status"], json!("needs_input"), "{told:#}");
}

#[test]
fn who_begins_a_workflow_that_fails_is_told_of_an_error() {
    let sandbox =
        painting("name: paint\nsteps:\n  - {id: no, type: end, status: failure, message: The paint is gone.}\n");
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let failed = client.tool("paint", &json!({}));
    assert_eq!(failed["isError"], json!(true), "{failed:#}");
    assert!(text(&failed).contains("The paint is gone."), "{failed:#}");
    assert_eq!(failed["structuredContent"]["text"], json!(text(&failed)), "whichever a client shows its model");
    let seen = client.tool("run_status", &json!({ "run_id": failed["structuredContent"]["run_id"] }));
    assert_ne!(seen["isError"], json!(true), "who looks has made no mistake: {seen:#}");
}

#[test]
fn answers_that_are_known_beforehand_are_not_asked_for() {
    let sandbox = painting(PAINT);
    trust(&sandbox);
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Shown);
    let arguments = json!({ "who": "Ada", "answers": { "which": "red", "coats": "1" } });
    let begun = client.tool("paint", &arguments);
    assert!(text(&begun).contains("Paint it red."), "{begun:#}");
    assert!(client.asked.is_empty());
}

#[test]
fn a_state_is_good_for_its_call_only_and_ends_with_its_process() {
    let sandbox = painting(PAINT);
    trust(&sandbox);
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Shown);
    let arguments = json!({ "who": "Ada" });
    let asked = client.call("tools/call", json!({ "name": "paint", "arguments": arguments })).unwrap();
    let state = asked["requestState"].as_str().unwrap().to_owned();
    let answer = json!({ "which": { "action": "accept", "content": { "colour": "blue" } } });
    let again = |name: &str, state: &str| json!({ "name": name, "arguments": arguments, "requestState": state, "inputResponses": answer });
    let mut forged = state.clone().into_bytes();
    let middle = forged.len() / 2;
    forged[middle] = if forged[middle] == b'A' { b'B' } else { b'A' };
    let forged = String::from_utf8(forged).unwrap();
    for (name, state) in [("paint", forged.as_str()), ("run_start", state.as_str()), ("paint", "nonsense")] {
        let error = client.call("tools/call", again(name, state)).unwrap_err();
        assert_eq!(error["code"], json!(-32602), "{name}: {error}");
    }
    let mut other = again("paint", &state);
    other["arguments"] = json!({ "who": "Bob" });
    assert_eq!(client.call("tools/call", other).unwrap_err()["code"], json!(-32602), "made for another call");
    let next = client.call("tools/call", again("paint", &state)).unwrap();
    let message = |result: &Json| result["inputRequests"]["coats"]["params"]["message"].clone();
    assert_eq!(message(&next), json!("How many coats of blue?"), "{next:#}");
    let replayed = client.call("tools/call", again("paint", &state)).unwrap();
    assert_eq!(message(&replayed), message(&next), "the same again changes nothing");
    client.kill();
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Shown);
    let error = client.call("tools/call", again("paint", &state)).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("`run_status` lists the runs that wait"), "{error}");
    assert_eq!(log(&sandbox), ["mixed"], "what came before the question was done once");
}

#[test]
fn a_question_may_be_declined() {
    let asks = "options: [red, blue], store: colour";
    let sandbox = painting(&PAINT.replace(asks, &format!("{asks}, next: {{ok: coats, declined: end}}")));
    trust(&sandbox);
    sandbox.write(".maestro/config.toml", "mcp_forms = \"always\"\n");
    for era in [Era::Today, Era::Earlier] {
        let mut client = Client::start(&sandbox, &[], era, Forms::Shown).answering(&[Json::Null]);
        let ended = client.tool("paint", &json!({ "who": "Ada" }));
        assert_eq!(ended["structuredContent"]["status"], json!("completed"), "{ended:#}");
    }
    assert_eq!(log(&sandbox), ["mixed", "mixed"]);
}

/// What a client gets that refuses a form faster than anybody reads. On a busy machine it may be too slow for that, and
/// tries again.
fn refuse_at_once(era: Era) -> Json {
    let reading = Duration::from_millis(500);
    loop {
        let sandbox = painting(PAINT);
        trust(&sandbox);
        let mut client = Client::start(&sandbox, &[], era, Forms::Shown).answering(&[Json::Null]);
        let start = Instant::now();
        let asked = client.tool("paint", &json!({ "who": "Ada" }));
        let is_late = start.elapsed() >= reading && asked["structuredContent"]["status"] != json!("needs_input");
        if !is_late {
            return asked;
        }
    }
}

#[test]
fn a_refusal_that_nobody_can_have_given_leaves_the_question_to_the_model() {
    for era in [Era::Today, Era::Earlier] {
        let asked = refuse_at_once(era);
        assert_eq!(asked["structuredContent"]["status"], json!("needs_input"), "{era:?}: {asked:#}");
        assert!(text(&asked).contains("Which colour, Ada?"), "{asked:#}");
    }
    let sandbox = painting(PAINT);
    trust(&sandbox);
    sandbox.write(".maestro/config.toml", "mcp_forms = \"never\"\n");
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Shown);
    let asked = client.tool("paint", &json!({ "who": "Ada" }));
    assert_eq!(asked["structuredContent"]["status"], json!("needs_input"), "{asked:#}");
}

#[test]
fn the_same_report_again_is_heard_once_and_a_wrong_one_says_what_is_wanted() {
    let sandbox = painting(PAINT);
    trust(&sandbox);
    let mut client = Client::start(&sandbox, &[], Era::Earlier, Forms::Shown).answering(&[json!("blue"), json!("2")]);
    let told = client.tool("paint", &json!({ "who": "Ada" }))["structuredContent"].clone();
    let wrong = client.tool("run_report", &json!({ "run_id": told["run_id"], "ticket": "paint#9", "outcome": "ok" }));
    assert_eq!(wrong["isError"], json!(true), "{wrong:#}");
    assert!(text(&wrong).contains("Paint it blue."), "what is to be done is told again: {wrong:#}");
    let report = json!({ "run_id": told["run_id"], "ticket": told["ticket"], "outcome": "ok" });
    for _ in 0..2 {
        let ended = client.tool("run_report", &report);
        assert_eq!(ended["structuredContent"]["status"], json!("completed"), "{ended:#}");
    }
    assert_eq!(log(&sandbox), ["mixed", "cleaned"]);
    let none = client.tool("run_status", &json!({}));
    assert_eq!(none["structuredContent"]["runs"], json!([]), "{none:#}");
}

#[test]
fn an_object_and_a_list_may_be_given_as_their_texts() {
    let listed = "name: paint\nparams: {who: {type: string, required: true}}\nsteps:\n- {id: look, type: agent, result: {found: {type: list, fields: {id: string}}}, next: {ok: end, fail: end}}\noutputs: {found: '{steps.look.result.found}'}\n";
    let sandbox = painting(listed);
    let mut client = Client::start(&sandbox, &[], Era::Earlier, Forms::Shown);
    let start = json!({"workflow": "paint", "params": r#"{"who": "Ada"}"#});
    let told = client.tool("run_start", &start)["structuredContent"].clone();
    let result = r#"{"found": "[{\"id\": \"a\"}]"}"#;
    let report = json!({"run_id": told["run_id"], "ticket": told["ticket"], "outcome": "ok", "result": result});
    let ended = client.tool("run_report", &report);
    assert_eq!(ended["structuredContent"]["status"], json!("completed"), "{ended:#}");
    let refused = client.tool("run_start", &json!({"workflow": "paint", "params": "who=Ada"}));
    assert_eq!(refused["isError"], json!(true), "{refused:#}");
    assert!(text(&refused).contains("`params`"), "{refused:#}");
}

#[test]
fn what_nobody_allowed_is_not_executed_and_the_model_is_told_how_it_can_be() {
    let sandbox = painting(PAINT);
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let stopped = client.tool("paint", &json!({ "who": "Ada" }));
    assert_eq!(stopped["structuredContent"]["status"], json!("not_allowed"), "{stopped:#}");
    assert!(text(&stopped).contains("maestro trust paint"), "{stopped:#}");
    assert!(log(&sandbox).is_empty());
    trust(&sandbox);
    let run = json!({ "run_id": stopped["structuredContent"]["run_id"] });
    let asks = client.tool("run_next", &run);
    assert_eq!(asks["structuredContent"]["status"], json!("needs_input"), "it goes on once it is allowed: {asks:#}");
    assert_eq!(log(&sandbox), ["mixed"]);
}

/// A command that says its number and waits for a file.
const SLOW: &str = r#"
name: paint
steps:
  - {id: wait, title: Dry the paint, type: command, shell: {script: "echo $$ > pid; while [ ! -e go ]; do sleep 0.05; done"}}
"#;

#[test]
fn a_client_hears_what_is_being_done_and_ends_it_by_cancelling_its_call() {
    let sandbox = painting(SLOW);
    trust(&sandbox);
    for era in [Era::Earlier, Era::Today] {
        let mut client = Client::start(&sandbox, &[], era, Forms::Unknown);
        let call = json!({ "name": "paint", "arguments": {}, "_meta": { "progressToken": "p" } });
        let id = client.send("tools/call", call);
        let progress = client.wait_for("notifications/progress");
        assert_eq!(progress["params"]["message"], json!("Dry the paint"), "{progress:#}");
        let pid = number_in(&sandbox.path("pid"));
        let open = client.tool("run_status", &json!({}))["structuredContent"]["runs"].clone();
        let run = open[0]["run_id"].clone();
        let busy = client.tool("run_status", &json!({ "run_id": run }));
        assert_eq!(busy["structuredContent"]["status"], json!("running"), "who looks is not kept waiting: {busy:#}");
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
        wait_until("the command is gone", || !is_alive(pid));
        wait_until("the run is over", || {
            client.tool("run_status", &json!({ "run_id": run }))["structuredContent"]["status"] == json!("cancelled")
        });
        fs::remove_file(sandbox.path("pid")).unwrap();
    }
}

#[test]
fn what_takes_long_is_a_handle_that_is_waited_for() {
    let sandbox = painting(SLOW);
    trust(&sandbox);
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let begun = client.tool("paint", &json!({}));
    let told = &begun["structuredContent"];
    assert_eq!(told["status"], json!("running"), "before clients give up: {begun:#}");
    assert!(text(&begun).contains("Call `run_status`"), "{begun:#}");
    assert!(is_alive(number_in(&sandbox.path("pid"))), "it goes on meanwhile");
    fs::write(sandbox.path("go"), "").unwrap();
    let ended = client.tool("run_status", &json!({ "run_id": told["run_id"], "wait_s": 45 }));
    assert_eq!(ended["structuredContent"]["status"], json!("completed"), "{ended:#}");
}

#[test]
fn what_a_session_does_is_waited_for_and_not_told_to_the_model() {
    let flow = "name: paint\nsteps:\n  - {id: work, type: agent, title: Paint, session: {agent: demo}, next: {ok: end, fail: no}}\n  \
                - {id: no, type: end, status: failure}\n";
    let sandbox = painting(flow);
    let script = sandbox.path("~/script").display().to_string();
    let sandbox = sandbox.with_variable("MAESTRO_DEMO_SCRIPT", &script).with_variable("MAESTRO_DEMO_AGENT", "true");
    trust(&sandbox);
    sandbox.write("~/script", "{\"do\":\"report\",\"words\":[\"complete\",\"painted\"]}\n");
    let server = sandbox.serve();
    server.make("/api/projects", &json!({ "name": "shop", "workingDir": sandbox.project() }));
    let mut client = Client::connect(server.url(), Era::Today, Forms::Unknown);
    let mut told = client.tool("paint", &json!({}));
    while told["structuredContent"]["status"] == json!("running") {
        assert!(text(&told).contains("An agent of its own does this"), "{told:#}");
        told = client.tool("run_status", &json!({ "run_id": told["structuredContent"]["run_id"], "wait_s": 45 }));
    }
    assert_eq!(told["structuredContent"]["status"], json!("completed"), "{told:#}");
}

#[test]
fn nothing_is_left_when_the_client_goes_away() {
    let sandbox = painting(SLOW);
    trust(&sandbox);
    let mut client = Client::start(&sandbox, &[], Era::Earlier, Forms::Unknown);
    client.send("tools/call", json!({ "name": "paint", "arguments": {} }));
    let pid = number_in(&sandbox.path("pid"));
    assert_eq!(client.leave(), 0);
    wait_until("the command is gone", || !is_alive(pid));
}

#[test]
fn a_run_whose_checks_nobody_allowed_is_not_started() {
    let checked = "name: paint\nparams: {who: {type: string, required: true}}\nsteps:\n- {id: work, type: agent, description: Paint., next: {ok: checks, fail: end}}\n- {id: checks, type: command, command: {builtin: verify}, next: {ok: end, fail: end}}\n";
    let sandbox = painting(checked);
    trust(&sandbox);
    sandbox.write(".maestro/config.toml", "verify = [\"touch checked\"]\n");
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let refused = client.tool("paint", &json!({ "who": "Ada" }));
    assert_eq!(refused["isError"], true, "{refused:#}");
    assert!(text(&refused).contains("maestro trust --config"), "{refused:#}");
    let refused = client.tool("run_start", &json!({ "workflow": "paint", "params": { "who": "Ada" } }));
    assert!(text(&refused).contains("maestro trust --config"), "{refused:#}");
    assert_eq!(sandbox.maestro("workflow runs --all --json").json(), json!([]), "nothing was begun");

    assert_eq!(sandbox.maestro("trust --config --yes").code, 0);
    let begun = client.tool("paint", &json!({ "who": "Ada" }));
    assert_eq!(begun["structuredContent"]["status"], "todo", "{begun:#}");
}
