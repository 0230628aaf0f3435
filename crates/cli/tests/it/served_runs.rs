//! Does a server execute what runs order, nothing that nobody allowed, and never twice what must happen once?

use std::fs;
use std::thread;

use serde_json::{Value as Json, json};

use crate::mcp::client::{Client, Era, Forms};
use crate::mcp::text;
use crate::sandbox::Sandbox;
use crate::served::{Server, request};
use crate::waiting::{process_in, wait_until};

/// A project with a workflow of this text, and the programs of this machine.
fn project(workflow: &str) -> Sandbox {
    let sandbox = Sandbox::new().with_variable("PATH", &std::env::var("PATH").unwrap());
    sandbox.skill(".claude/skills", "release", "Release what is here. Use when a version is ready.");
    sandbox.write(".claude/skills/release/workflow.yaml", workflow);
    sandbox
}

fn trust(sandbox: &Sandbox) {
    let allowed = sandbox.maestro("trust release --yes");
    assert_eq!(allowed.code, 0, "{allowed}");
}

fn begin(sandbox: &Sandbox) -> Json {
    json!({ "workflow": "release", "workspace": sandbox.project() })
}

/// The lines that programs left in a file of the project; none where there is no file.
fn lines(sandbox: &Sandbox, file: &str) -> Vec<String> {
    let text = fs::read_to_string(sandbox.path(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

const QUICK: &str = r#"
name: release
steps:
  - {id: make, type: command, shell: {script: "echo made >> made; echo hello"}, store: said}
  - {id: tell, type: agent, description: "It said {said}.", next: {ok: again, fail: end}}
  - {id: again, type: command, shell: {script: "echo more >> made; exit 3"}, next: {ok: end, fail: end}}
"#;

#[test]
fn a_server_executes_what_was_allowed_and_answers_with_what_comes_next() {
    let sandbox = project(QUICK);
    trust(&sandbox);
    let server = sandbox.serve();
    let begun = server.make("/api/runs", &begin(&sandbox));
    let directive = &begun["next"]["directive"];
    assert_eq!(directive["step"]["brief"], json!("It said hello."), "{begun:#}");
    assert_eq!(begun["driver"], json!("server"));
    assert_eq!(lines(&sandbox, "made"), ["made"]);

    let report = json!({ "ticket": directive["ticket"] });
    let path = format!("/api/runs/{}/report", begun["id"].as_str().unwrap());
    let ended = server.make(&path, &report);
    assert_eq!((&ended["status"], &ended["next"]["kind"]), (&json!("completed"), &json!("finished")), "{ended:#}");
    assert_eq!(ended["updates"][0]["kind"], json!("failed"), "what happened on the way is told: {ended:#}");
    server.make(&path, &report);
    assert_eq!(lines(&sandbox, "made"), ["made", "more"], "the same report again executes nothing");
    assert_eq!(sandbox.maestro("db check").code, 0);
}

#[test]
fn what_nobody_allowed_waits_and_goes_on_once_somebody_does() {
    let sandbox = project(QUICK);
    let server = sandbox.serve();
    let begun = server.make("/api/runs", &begin(&sandbox));
    assert_eq!((&begun["status"], &begun["next"]["kind"]), (&json!("running"), &json!("busy")), "{begun:#}");
    let path = format!("/api/runs/{}", begun["id"].as_str().unwrap());
    // The same texts, handed over by somebody who says where they are, are no more allowed than they were.
    let state = server.get(&format!("{path}/state?pinned=true"));
    let handed =
        json!({ "pinned": { "main": "release", "definitions": state["definitions"] }, "workspace": sandbox.project() });
    let handed = server.make("/api/runs", &handed);
    assert_eq!(handed["next"]["kind"], json!("busy"), "{handed:#}");
    assert_eq!(state["executor"], Json::Null);
    assert!(lines(&sandbox, "made").is_empty(), "nothing was executed");
    server.make(&format!("/api/runs/{}/cancel", handed["id"].as_str().unwrap()), &json!({}));

    trust(&sandbox);
    wait_until("the run goes on", || server.get(&path)["waiting"] == json!("agent"));
    assert_eq!(lines(&sandbox, "made"), ["made"]);
}

/// A command that says its number, waits for a file, and says that it is done.
fn slow(effect: &str) -> String {
    format!(
        r#"
name: release
steps:
  - id: make
    type: command
    effect: {effect}
    shell: {{script: "echo $$ >> begun; while [ ! -e go ]; do sleep 0.05; done; echo done >> ended"}}
"#
    )
}

/// Begins a run whose command waits, and kills the server in the middle. Returns the run's path and the command's number.
fn killed_in_the_middle(sandbox: &Sandbox) -> (String, u32) {
    trust(sandbox);
    let mut server = sandbox.serve();
    let (url, body) = (server.url().to_owned(), begin(sandbox));
    let caller = thread::spawn(move || request(&url, "POST", "/api/runs", None, Some(&body)));
    wait_until("the command has begun", || lines(sandbox, "begun").len() == 1);
    let runs = server.get("/api/runs");
    let path = format!("/api/runs/{}", runs[0]["id"].as_str().unwrap());
    assert_ne!(server.get(&format!("{path}/state"))["executor"], Json::Null);
    server.kill();
    caller.join().unwrap();
    let command = lines(sandbox, "begun")[0].parse().unwrap();
    let file = sandbox.path("begun");
    wait_until("the command is gone with the server", || process_in(&file, command).is_none());
    (path, command)
}

fn all_gone(sandbox: &Sandbox) {
    for command in lines(sandbox, "begun") {
        let command = command.parse().unwrap();
        let file = sandbox.path("begun");
        wait_until("nothing is left behind", || process_in(&file, command).is_none());
    }
}

fn completed(server: &Server, path: &str) {
    wait_until("the run is over", || server.get(path)["status"] == json!("completed"));
}

#[test]
fn what_only_reads_is_done_again_after_a_crash() {
    let sandbox = project(&slow("read"));
    let (path, _) = killed_in_the_middle(&sandbox);
    let server = sandbox.serve();
    wait_until("the command has begun again", || lines(&sandbox, "begun").len() == 2);
    sandbox.write("go", "");
    completed(&server, &path);
    assert_eq!(lines(&sandbox, "ended"), ["done"]);
    all_gone(&sandbox);
    assert_eq!(sandbox.maestro("db check").code, 0);
}

#[test]
fn what_writes_waits_for_a_persons_word_after_a_crash() {
    let sandbox = project(&slow("write"));
    let (path, _) = killed_in_the_middle(&sandbox);
    sandbox.write("go", "");
    let server = sandbox.serve();
    wait_until("a person is asked", || server.get(&path)["waiting"] == json!("consent"));
    assert_eq!((lines(&sandbox, "begun").len(), lines(&sandbox, "ended").len()), (1, 0), "nothing ran twice unasked");
    let asked = server.get(&path);
    let answer = json!({ "ticket": asked["next"]["directive"]["ticket"], "value": "again" });
    server.make(&format!("{path}/answer"), &answer);
    completed(&server, &path);
    server.make(&format!("{path}/answer"), &answer);
    assert_eq!((lines(&sandbox, "begun").len(), lines(&sandbox, "ended").len()), (2, 1));
    all_gone(&sandbox);
}

#[test]
fn a_command_that_takes_long_is_told_of_as_busy_and_found_done_later() {
    let sandbox = project(&slow("write"));
    trust(&sandbox);
    let server = sandbox.serve();
    let begun = server.make("/api/runs", &begin(&sandbox));
    assert_eq!(begun["next"]["kind"], json!("busy"), "{begun:#}");
    sandbox.write("go", "");
    completed(&server, &format!("/api/runs/{}", begun["id"].as_str().unwrap()));
    assert_eq!((lines(&sandbox, "begun").len(), lines(&sandbox, "ended").len()), (1, 1));
    all_gone(&sandbox);
}

/// The sessions that worked at the steps of a run, by their steps.
fn session_at(server: &Server, run: &str, step: &str) -> String {
    let sessions = server.get("/api/sessions");
    let is_at = |session: &&Json| session["metadata"]["run"] == run && session["metadata"]["step"] == step;
    let found = sessions.as_array().unwrap().iter().find(is_at);
    found.unwrap_or_else(|| panic!("no session at `{step}`: {sessions:#}"))["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_that_continues_has_the_conversation_of_the_one_before() {
    let sandbox = project(
        r#"
name: release
steps:
  - {id: one, type: agent, description: "Say one", session: {agent: demo}, next: {ok: look, fail: no}}
  - {id: look, type: agent, description: "Say seen", session: {agent: demo, role: reviewer, continue: true}, next: {ok: two, fail: no}}
  - {id: two, type: agent, description: "Say two", session: {continue: true}, next: {ok: three, fail: no}}
  - {id: three, type: agent, description: "Say three", session: {agent: demo}, next: {ok: end, fail: no}}
  - {id: no, type: end, status: failure}
"#,
    );
    trust(&sandbox);
    let server = sandbox.serve();
    let project = server.make("/api/projects", &json!({ "name": "shop", "workingDir": sandbox.project() }));
    let body =
        json!({ "workflow": "release", "workspace": sandbox.project(), "projectId": project["id"], "demo": true });
    let run = server.make("/api/runs", &body)["id"].as_str().unwrap().to_owned();
    completed(&server, &format!("/api/runs/{run}"));
    let conversation = |step: &str| {
        let session = session_at(&server, &run, step);
        server.get(&format!("/api/sessions/{session}/spawn"))["agentSession"].as_str().unwrap().to_owned()
    };
    let [one, look, two, three] = ["one", "look", "two", "three"].map(conversation);
    assert_eq!(one, two, "the second continues the first");
    assert_ne!(one, look, "a review is no part of the conversation it judges");
    assert_ne!(one, three, "without `continue` a session starts afresh");
    let entries = server.get(&format!("/api/sessions/{}/transcript?limit=500", session_at(&server, &run, "two")));
    assert!(entries.to_string().contains("two"), "it does what its own step says: {entries:#}");
}

#[test]
fn an_unknown_permission_that_a_run_fills_in_fails_the_step() {
    let workflow = r#"
name: release
params: {word: {type: string, default: readonly}}
steps:
  - {id: one, type: agent, session: {agent: demo, permission: "{word}"}, result: {why: {type: string}}, next: {ok: end, fail: no}}
  - {id: no, type: end, status: failure, message: "{steps.one.result.why}"}
"#;
    let sandbox = project(workflow);
    let server = sandbox.serve();
    let project = server.make("/api/projects", &json!({ "name": "shop", "workingDir": sandbox.project() }));
    let body =
        json!({ "workflow": "release", "workspace": sandbox.project(), "projectId": project["id"], "demo": true });
    let run = server.make("/api/runs", &body);
    let path = format!("/api/runs/{}", run["id"].as_str().unwrap());
    wait_until("the run is over", || server.get(&path)["status"] == json!("failed"));
    let message = server.get(&path)["message"].clone();
    assert_eq!(message, json!("`readonly` is no permission; `session.permission` can be ask, edits or all"));
    assert_eq!(server.get("/api/sessions"), json!([]), "no session was started");

    // Written out, it is refused when the run is to start, by whatever way the text comes.
    sandbox.write(".claude/skills/release/workflow.yaml", workflow.replace("\"{word}\"", "readonly"));
    let refused = sandbox.maestro("workflow check .claude/skills/release/workflow.yaml");
    assert!(refused.to_string().contains("`readonly` is no permission"), "{refused}");
}

#[test]
fn a_run_whose_checks_nobody_allowed_is_not_started_over_rest() {
    let sandbox = project(CHECKED);
    trust(&sandbox);
    sandbox.write(".maestro/config.toml", "verify = [\"touch checked\"]\n");
    let server = sandbox.serve();
    let (status, refused) = server.ask("POST", "/api/runs", None, Some(&begin(&sandbox)));
    assert_eq!(status, 403, "{refused:#}");
    assert!(refused.to_string().contains("maestro trust --config"), "{refused:#}");
    assert_eq!(server.get("/api/runs"), json!([]), "nothing was begun");
    assert!(!sandbox.path("checked").exists());

    assert_eq!(sandbox.maestro("trust --config --yes").code, 0);
    let begun = server.make("/api/runs", &begin(&sandbox));
    assert_eq!(begun["next"]["directive"]["step"]["id"], json!("work"), "{begun:#}");
}

/// Work, and then the project's checks.
const CHECKED: &str = r#"
name: release
steps:
  - {id: work, type: agent, description: "Do it.", next: {ok: checks, fail: end}}
  - {id: checks, type: command, command: {builtin: verify}, next: {ok: end, fail: end}}
"#;

#[test]
fn a_canceled_run_does_its_last_part_and_ends_what_it_was_executing() {
    let text = r#"
name: release
finally: tidy
steps:
  - {id: slow, type: command, shell: {script: "echo begun > begun; sleep 600; echo late > late"}, timeout: 900, next: end}
  - {id: tidy, type: command, shell: {script: "echo $HOW > tidied", env: {HOW: "{ending.status}"}}}
"#;
    let sandbox = project(text);
    trust(&sandbox);
    let server = sandbox.serve();
    let id = thread::scope(|scope| {
        scope.spawn(|| server.make("/api/runs", &begin(&sandbox)));
        wait_until("the command runs", || sandbox.path("begun").exists());
        let runs = server.get("/api/runs");
        let id = runs[0]["id"].as_str().unwrap().to_owned();
        server.make(&format!("/api/runs/{id}/cancel"), &json!({}));
        id
    });
    let path = format!("/api/runs/{id}");
    wait_until("the run is canceled", || server.get(&path)["status"] == json!("cancelled"));
    assert_eq!(lines(&sandbox, "tidied"), ["canceled"]);
    assert!(!sandbox.path("late").exists());
}

#[test]
fn workflows_that_are_called_for_a_list_run_beside_each_other() {
    // Each waits for the other: one after the other they would wait for ever.
    let text = r#"
name: release
steps:
  - {id: each, type: call, workflow: release/one, with: {me: "{item.me}", other: "{item.other}"}, max_parallel: 2, for_each: [{me: a, other: b}, {me: b, other: a}]}
outputs: {said: "{steps.each.result.results}"}
"#;
    let one = r#"
name: one
params: {me: {type: string, required: true}, other: {type: string, required: true}}
variables: {said: {type: string}}
steps:
  - {id: meet, type: command, timeout: 120, store: said, shell: {script: "echo $ME >> ran; touch $ME; while ! test -e $OTHER; do sleep 0.1; done; echo met $OTHER", env: {ME: "{me}", OTHER: "{other}"}}}
outputs: {said: "{said}"}
"#;
    let sandbox = project(text);
    sandbox.write(".claude/skills/release/workflows/one.yaml", one);
    trust(&sandbox);
    let run = sandbox.maestro("workflow run release --json");
    assert_eq!(run.code, 0, "{run}");
    let said = run.stdout();
    assert!(said.contains("met b") && said.contains("met a"), "{run}");
    assert_eq!(lines(&sandbox, "ran").len(), 2, "each is executed once");
}

#[test]
fn work_that_checks_nobody_allowed_would_judge_starts_over_no_door() {
    let sandbox = project(CHECKED);
    trust(&sandbox);
    sandbox.write(".maestro/config.toml", "verify = [\"touch ran\"]\n");
    let server = sandbox.serve();
    let (status, refused) = server.ask("POST", "/api/runs", None, Some(&begin(&sandbox)));
    assert_eq!((status, &refused["code"]), (403, &json!("FORBIDDEN")), "{refused:#}");
    let mut doors = vec![("REST", refused["message"].as_str().unwrap().to_owned())];
    let known = server.make("/api/projects", &json!({ "name": "shop", "workingDir": sandbox.project() }));
    for (door, mut client, project) in [
        ("MCP over HTTP", Client::connect(server.url(), Era::Today, Forms::Unknown), Some(&known["id"])),
        ("MCP over stdio", Client::start(&sandbox, &[], Era::Earlier, Forms::Unknown), None),
    ] {
        let mut asked = json!({ "workflow": "release" });
        if let Some(project) = project {
            asked["project_id"] = project.clone();
        }
        let answer = client.tool("run_start", &asked);
        assert_eq!(answer["isError"], json!(true), "{door}: {answer:#}");
        doors.push((door, text(&answer)));
    }
    for command in ["workflow start release", "workflow run release"] {
        let refused = sandbox.maestro(command);
        assert_eq!(refused.code, 4, "{refused}");
        doors.push((command, refused.stderr()));
    }
    for (door, said) in doors {
        assert!(
            said.contains("`release` runs this project's checks") && said.contains("maestro trust --config"),
            "{door}: {said}"
        );
    }
    assert_eq!(sandbox.maestro("workflow runs --all --json").json(), json!([]), "no run began");
    assert!(!sandbox.path("ran").exists());
    assert_eq!(sandbox.maestro("trust --config --yes").code, 0);
    assert_eq!(server.make("/api/runs", &begin(&sandbox))["next"]["kind"], json!("directive"));
}
