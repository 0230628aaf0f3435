//! Do lists stay short and the same, and does who listens hear when they change?

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::client::{Client, Era, Forms};
use super::{project, text};

fn names(list: &Json, of: &str) -> Vec<String> {
    list[of].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
}

const STEADY: [&str; 7] =
    ["find_skills", "use_skill", "run_start", "run_report", "run_answer", "run_next", "run_status"];
const WORKER: [&str; 5] =
    ["get_task_info", "report_progress", "mark_subtask_complete", "signal_completion", "signal_blocker"];

#[test]
fn five_hundred_skills_take_no_more_room_than_one_and_the_list_is_the_same_from_call_to_call() {
    let sandbox = project();
    for number in 0..500 {
        let name = format!("skill-{number:03}");
        sandbox.skill(".claude/skills", &name, "One of many, with a description that is as long as most are.");
        if number % 5 == 0 {
            let flow = format!(
                "name: {name}\ndescription: Walks through {name}.\nsteps:\n  - {{id: work, type: agent, description: Work., next: {{ok: end, fail: end}}}}\n"
            );
            sandbox.write(&format!(".claude/skills/{name}/workflow.yaml"), flow);
        }
    }
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let first = client.call("tools/list", json!({})).unwrap().to_string();
    assert!(first.len() < 8 * 1024, "{} bytes", first.len());
    assert_eq!(client.call("tools/list", json!({})).unwrap().to_string(), first);
    let again = Client::start(&sandbox, &[], Era::Today, Forms::Unknown).call("tools/list", json!({})).unwrap();
    assert_eq!(again.to_string(), first, "another process says the same");
    assert!(first.contains("\"skill-000\"") && !first.contains("\"skill-495\""), "as many as have room: {first}");
    // What has no tool of its own is reached all the same.
    let begun = client.tool("run_start", &json!({ "workflow": "skill-495" }));
    assert_eq!(begun["structuredContent"]["status"], json!("todo"), "{begun:#}");
    let own = client.tool("skill-495", &json!({}));
    assert_eq!(own["structuredContent"]["status"], json!("todo"), "{own:#}");
}

#[test]
fn a_small_catalogues_workflows_have_tools_with_their_parameters() {
    let sandbox = project().with_variable("MAESTRO_SKILLS_BUILTIN", "false");
    sandbox.skill(".claude/skills", "paint", "Paint it.");
    sandbox.write(
        ".claude/skills/paint/workflow.yaml",
        "name: paint\ndescription: Paints a thing.\nparams:\n  colour: {type: enum, values: [red, blue], required: true, \
         description: Which colour}\n  coats: {type: int, default: 2}\nsteps:\n  - {id: work, type: agent, description: \
         \"Paint it {colour}.\", next: {ok: end, fail: end}}\n",
    );
    let mut client = Client::start(&sandbox, &[], Era::Earlier, Forms::Unknown);
    let tools = client.call("tools/list", json!({})).unwrap();
    let mut expected: Vec<&str> = STEADY.to_vec();
    expected.push("paint");
    assert_eq!(names(&tools, "tools"), expected);
    let schema = &tools["tools"][STEADY.len()]["inputSchema"];
    assert_eq!(
        schema["properties"]["colour"],
        json!({ "type": "string", "enum": ["red", "blue"], "description": "Which colour" })
    );
    assert_eq!((&schema["properties"]["coats"]["default"], &schema["required"]), (&json!(2), &json!(["colour"])));
    let begun = client.tool("paint", &json!({ "colour": "blue" }));
    assert!(text(&begun).contains("Paint it blue."), "{begun:#}");
    let wrong = client.tool("paint", &json!({ "colour": "green" }));
    assert_eq!(wrong["isError"], json!(true), "{wrong:#}");
    assert!(text(&wrong).contains("red, blue"), "{wrong:#}");
    assert_eq!(client.try_tool("paints", &json!({})).unwrap_err()["code"], json!(-32602));

    let prompts = client.call("prompts/list", json!({})).unwrap();
    assert_eq!(names(&prompts, "prompts"), ["paint", "pdf"]);
    let command = client.call("prompts/get", json!({ "name": "paint", "arguments": { "colour": "red" } })).unwrap();
    let said = command["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(said.contains("run_start") && said.contains(r#""colour":"red""#), "{said}");
    let skill = client.call("prompts/get", json!({ "name": "pdf", "arguments": { "arguments": "my taxes" } })).unwrap();
    let said = skill["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(said.contains("Step by step.") && said.ends_with("for this: my taxes"), "{said}");
    let typed =
        json!({ "ref": { "type": "ref/prompt", "name": "paint" }, "argument": { "name": "colour", "value": "b" } });
    assert_eq!(client.call("completion/complete", typed).unwrap()["completion"]["values"], json!(["blue"]));
}

#[test]
fn the_workflows_that_come_with_maestro_have_tools_beside_a_projects_own() {
    let sandbox = project();
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let tools = client.call("tools/list", json!({})).unwrap();
    let names = names(&tools, "tools");
    assert_eq!(names[..STEADY.len()], STEADY, "a worker's tools are for those who have a task");
    let others = tools["tools"][2]["inputSchema"]["properties"]["workflow"]["description"].as_str().unwrap();
    for workflow in ["session-start", "planner"] {
        assert!(names.iter().any(|name| name == workflow) || others.contains(workflow), "{names:?} {others}");
    }
    for tool in tools["tools"].as_array().unwrap() {
        assert_eq!(tool["inputSchema"]["type"], json!("object"), "{tool:#}");
        let description = tool["description"].as_str().unwrap();
        assert!(description.starts_with("Use "), "when to use it comes first: {tool:#}");
        assert!(!description.contains('…'), "and whole: {tool:#}");
        for (name, param) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(param["description"].is_string(), "{name} of {tool:#}");
        }
    }
}

#[test]
fn a_worker_is_shown_its_tools_first_of_all_in_its_instructions() {
    let sandbox = project();
    let mut client = Client::start(&sandbox, &[("MAESTRO_TASK_ID", "task_x")], Era::Earlier, Forms::Unknown);
    let instructions = client.greeting["instructions"].as_str().unwrap().to_owned();
    assert!(instructions.starts_with("You work on a task of Maestro's: call `get_task_info` first"), "{instructions}");
    let names = names(&client.call("tools/list", json!({})).unwrap(), "tools");
    assert!(names.ends_with(&WORKER.map(str::to_owned)), "{names:?}");
}

#[test]
fn a_skill_is_found_for_a_task_with_the_reason_and_read() {
    let sandbox = project();
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let found = client.tool("find_skills", &json!({ "task": "Fill the PDF form for the tax office" }));
    let first = &found["structuredContent"]["skills"][0];
    assert_eq!(first["name"], json!("pdf"), "{found:#}");
    assert!(first["reason"].as_str().unwrap().contains("pdf"), "{found:#}");
    let read = client.tool("use_skill", &json!({ "name": "pdf" }));
    assert!(text(&read).starts_with("Reading: pdf\nBase directory: "), "{read:#}");
    let missing = client.tool("use_skill", &json!({ "name": "pfd" }));
    assert_eq!(missing["isError"], json!(true));
    assert!(text(&missing).contains("did you mean `pdf`?"), "{missing:#}");
    let unfit = client.tool("use_skill", &json!({ "nmae": "pdf" }));
    assert!(text(&unfit).contains("unknown field `nmae`"), "{unfit:#}");
}

#[test]
fn a_new_skill_is_there_at_once_for_who_names_it() {
    let sandbox = project();
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    client.tool("use_skill", &json!({ "name": "pdf" }));
    sandbox.skill(".claude/skills", "newcomer", "It is new.");
    let flow = "name: newcomer\nsteps:\n  - {id: work, type: agent, description: Work., next: {ok: end, fail: end}}\n";
    sandbox.write(".claude/skills/newcomer/workflow.yaml", flow);
    let begun = client.tool("run_start", &json!({ "workflow": "newcomer" }));
    assert_eq!(begun["structuredContent"]["status"], json!("todo"), "{begun:#}");
    sandbox.skill(".claude/skills", "later", "It is newer.");
    let read = client.tool("use_skill", &json!({ "name": "later" }));
    assert!(text(&read).contains("Step by step."), "{read:#}");
}

#[test]
fn a_slash_command_without_what_it_needs_asks_for_it() {
    let sandbox = project();
    sandbox.skill(".claude/skills", "paint", "Paint it.");
    let flow = "name: paint\nparams:\n  colour: {type: enum, values: [red, blue], required: true, description: Which \
                colour}\n  coats: {type: int, default: 2}\nsteps:\n  - {id: work, type: agent, description: \"Paint it \
                {colour}, {coats} times.\", next: {ok: end, fail: end}}\n";
    sandbox.write(".claude/skills/paint/workflow.yaml", flow);
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Shown);
    let asked = client.call("prompts/get", json!({ "name": "paint" })).unwrap();
    let form = &asked["inputRequests"]["arguments"]["params"]["requestedSchema"];
    let expected = json!({ "colour": { "type": "string", "title": "Which colour", "enum": ["red", "blue"] } });
    assert_eq!(form["properties"], expected, "{asked:#}");
    let answers = json!({ "arguments": { "action": "accept", "content": { "colour": "red" } } });
    let got = client.call("prompts/get", json!({ "name": "paint", "inputResponses": answers })).unwrap();
    let said = got["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(said.contains(r#""colour":"red""#), "{got:#}");
    let declined = json!({ "arguments": { "action": "decline" } });
    let got = client.call("prompts/get", json!({ "name": "paint", "inputResponses": declined })).unwrap();
    assert!(got["messages"][0]["content"]["text"].is_string(), "who does not want to is not asked again: {got:#}");
}

#[test]
fn nothing_that_a_terminal_obeys_is_told_of_a_skill() {
    let sandbox = project();
    sandbox.skill(".claude/skills", "hostile", "\"Red \\e[31m and \\u202e around\"");
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    for (method, params) in [("prompts/list", json!({})), ("resources/list", json!({}))] {
        let listed = client.call(method, params).unwrap().to_string();
        assert!(listed.contains("Red"), "{listed}");
        assert!(!listed.contains("\\u001b") && !listed.contains('\u{202e}'), "{method}: {listed}");
    }
    assert_eq!(client.call("tools/call", json!({ "arguments": [1] })).unwrap_err()["code"], json!(-32602));
}

#[test]
fn who_has_something_watched_hears_when_it_reads_differently() {
    let sandbox = project();
    let uri = json!("skill://pdf/SKILL.md");
    let mut earlier = Client::start(&sandbox, &[], Era::Earlier, Forms::Unknown);
    earlier.call("resources/subscribe", json!({ "uri": uri })).unwrap();
    let mut today = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    today.send("subscriptions/listen", json!({ "notifications": { "resourceSubscriptions": [uri] } }));
    today.wait_for("notifications/subscriptions/acknowledged");
    // It is acknowledged before it is first looked; so it reads differently again and again until both have heard.
    let heard = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for count in 0.. {
                sandbox.skill(".claude/skills", "pdf", &format!("Read and fill PDF forms, version {count}."));
                std::thread::sleep(Duration::from_millis(300));
                if heard.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let told = [&mut earlier, &mut today].map(|client| client.wait_for("notifications/resources/updated"));
        heard.store(true, Ordering::Relaxed);
        assert!(told.iter().all(|told| told["params"]["uri"] == uri), "{told:#?}");
    });
    earlier.call("resources/unsubscribe", json!({ "uri": uri })).unwrap();
}

#[test]
fn who_listens_hears_of_a_new_skill_and_who_does_not_can_use_it_all_the_same() {
    let sandbox = project();
    let mut earlier = Client::start(&sandbox, &[], Era::Earlier, Forms::Unknown);
    let mut today = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let filter = json!({ "notifications": { "toolsListChanged": true, "promptsListChanged": true } });
    today.send("subscriptions/listen", filter);
    today.wait_for("notifications/subscriptions/acknowledged");
    for client in [&mut earlier, &mut today] {
        client.call("tools/list", json!({})).unwrap();
    }
    sandbox.skill(".claude/skills", "latecomer", "It came later.");
    earlier.wait_for("notifications/tools/list_changed");
    earlier.wait_for("notifications/resources/list_changed");
    today.wait_for("notifications/prompts/list_changed");
    for client in [&mut earlier, &mut today] {
        let read = client.tool("use_skill", &json!({ "name": "latecomer" }));
        assert!(text(&read).contains("Step by step."), "{read:#}");
    }
}
