//! Is a command that a `skill.json` declares a tool, once something carries it out and somebody allowed that?

use serde_json::{Value as Json, json};

use super::client::{Client, Era, Forms};
use super::{project, text};
use crate::sandbox::Sandbox;

/// Three commands: one that greets, one that fails, and one that only the skill's text explains.
fn greeter() -> Sandbox {
    let sandbox = project().with_variable("MAESTRO_SKILLS_BUILTIN", "false");
    let declared = json!({
        "name": "greeter",
        "description": "Greets people.",
        "commands": [
            {
                "name": "greet", "description": "Greet somebody.",
                "parameters": { "who": "String: whom to greet", "times": { "type": "integer", "default": 1 } },
                "run": ["sh", "{skill_dir}/greet.sh", "--", "{who}", "{times}"],
            },
            { "name": "grumble", "description": "Fail.", "run": ["sh", "-c", "echo no good >&2; exit 3"] },
            { "name": "wave", "description": "Wave.", "parameters": { "hand": "String: left or right" } },
        ],
    });
    sandbox.write(".skills/greeter/skill.json", declared.to_string());
    sandbox.write(".skills/greeter/greet.sh", "echo once >> greeted; echo \"Hello $2, $3 times\"");
    sandbox
}

fn tools(client: &mut Client) -> Vec<Json> {
    let listed = client.call("tools/list", json!({})).unwrap();
    let tools = listed["tools"].as_array().unwrap().clone();
    tools.into_iter().skip_while(|tool| tool["name"] != json!("run_status")).skip(1).collect()
}

#[test]
fn a_command_is_a_tool_once_somebody_allowed_it() {
    let sandbox = greeter();
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    assert_eq!(tools(&mut client), [] as [Json; 0], "nobody has allowed anything");
    let refused = client.try_tool("greet", &json!({ "who": "Ada" })).unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("maestro trust greeter/greet"), "{refused}");

    let allowed = sandbox.maestro("trust greeter/greet --yes");
    assert_eq!(allowed.code, 0, "{allowed}");
    assert!(allowed.stdout().contains("greet.sh"), "what would be executed is shown: {allowed}");
    let expected = json!([{
        "name": "greet",
        "description": "Greet somebody.",
        "inputSchema": {
            "type": "object",
            "additionalProperties": false,
            "required": ["who"],
            "properties": {
                "who": { "type": "string", "description": "whom to greet" },
                "times": { "type": "integer", "default": 1 },
            },
        },
        "annotations": { "destructiveHint": true, "openWorldHint": true },
    }]);
    assert_eq!(json!(tools(&mut client)), expected, "by the same connection");

    let greeted = client.tool("greet", &json!({ "who": "Ada; touch evil", "times": 2 }));
    assert_eq!(text(&greeted), "Hello Ada; touch evil, 2 times", "{greeted:#}");
    assert_eq!(greeted["structuredContent"]["status"], json!("completed"), "{greeted:#}");
    assert!(!sandbox.path("evil").exists(), "an argument is an argument");
    let without = client.tool("greet", &json!({}));
    assert_eq!(without["isError"], json!(true), "{without:#}");

    sandbox.write(".skills/greeter/greet.sh", "touch evil");
    assert_eq!(tools(&mut client), [] as [Json; 0], "what was allowed is not what is there now");
    assert_eq!(client.try_tool("greet", &json!({ "who": "Ada" })).unwrap_err()["code"], json!(-32602));
}

#[test]
fn a_command_that_fails_says_so() {
    let sandbox = greeter();
    sandbox.maestro("trust greeter/grumble --yes");
    let mut client = Client::start(&sandbox, &[], Era::Earlier, Forms::Unknown);
    let failed = client.tool("grumble", &json!({}));
    assert_eq!(failed["isError"], json!(true), "{failed:#}");
    assert!(text(&failed).contains("no good"), "{failed:#}");
}

#[test]
fn what_is_no_argument_vector_is_told_and_runs_nothing() {
    let sandbox = greeter();
    let declared = json!({
        "name": "greeter", "description": "Greets people.",
        "commands": [{ "name": "greet", "description": "Greet.", "run": "echo $(touch evil)" }],
    });
    sandbox.write(".skills/greeter/skill.json", declared.to_string());
    let listed = sandbox.maestro("skills show greeter");
    assert!(listed.to_string().contains("`run` of the command `greet` is not a list of strings"), "{listed}");
    assert_eq!(sandbox.maestro("trust greeter/greet --yes").code, 2);
}

/// A skill with these commands, each of which was allowed.
fn with_commands(skill: &str, commands: &Json) -> Sandbox {
    let sandbox = project().with_variable("MAESTRO_SKILLS_BUILTIN", "false");
    let declared = json!({ "name": skill, "description": "Does things.", "commands": commands });
    sandbox.write(&format!(".skills/{skill}/skill.json"), declared.to_string());
    for command in commands.as_array().unwrap() {
        let name = format!("{skill}/{}", command["name"].as_str().unwrap());
        sandbox.maestro_with(&["trust", &name, "--yes"]);
    }
    sandbox
}

#[test]
fn a_parameter_may_be_called_output_and_a_skill_may_begin_with_a_digit() {
    let parameters = json!({ "output": "String: where to", "output_": "String: what" });
    let sandbox = with_commands(
        "3d-print",
        &json!([{ "name": "slice", "description": "Slice.", "parameters": parameters, "run": ["echo", "{output_} to {output}"] }]),
    );
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let sliced = client.tool("slice", &json!({ "output": "there", "output_": "this" }));
    assert_eq!(text(&sliced), "this to there", "{sliced:#}");
}

#[test]
fn a_command_that_cannot_be_carried_out_says_why() {
    let taking = |name: &str| json!({ "name": "c", "parameters": { name: "String" }, "run": ["echo", "x"] });
    let running = |word: &str| json!({ "name": "c", "parameters": { "who": "String" }, "run": ["echo", word] });
    for (command, reason) in [
        (taking("project"), "`project` always means something else and cannot be a parameter"),
        (taking("skill_dir"), "`skill_dir` always means something else"),
        (taking("first name"), "`first name` cannot be a parameter: a name is 1 to 64 letters"),
        (running("{whom}"), "`{whom}` is none of its parameters"),
        (running("{who"), "in `{who`, a `{` that begins no `{name}`"),
        (json!({ "name": "c", "parameters": { "p": "String" }, "run": ["{p}"] }), "the program `{p}` has a parameter"),
        (json!({ "name": "say it", "run": ["echo", "it"] }), "the command `say it` cannot be a tool"),
    ] {
        let sandbox = with_commands("odd", &json!([command]));
        let shown = sandbox.maestro("skills show odd");
        assert!(shown.to_string().contains(reason), "{reason}: {shown}");
        let doctor = sandbox.maestro("doctor");
        assert!(doctor.to_string().contains(reason), "{reason}: {doctor}");
        let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
        assert_eq!(tools(&mut client), [] as [Json; 0], "{reason}");
    }
}

#[test]
fn a_value_that_begins_an_argument_is_no_option() {
    let command = json!({
        "name": "log", "description": "What came between.", "parameters": { "from": "String", "to": "String" },
        "run": ["git", "log", "{from}..{to}"],
    });
    let sandbox = with_commands("history", &json!([command]));
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let refused = client.tool("log", &json!({ "from": "--output=x", "to": "y" }));
    assert_eq!(refused["isError"], json!(true), "{refused:#}");
    assert!(text(&refused).contains("the value of `from` begins with `-`"), "{refused:#}");
    assert!(!sandbox.path("x..y").exists());
}

#[test]
fn a_prefix_is_put_before_what_is_not_always_there() {
    let sandbox = greeter();
    sandbox.maestro("trust greeter/greet --yes");
    sandbox.write(".maestro/config.toml", "tool_prefix = \"s9-\"\n");
    let sandbox = sandbox.with_variable("MAESTRO_SKILLS_BUILTIN", "true");
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let names: Vec<Json> = tools(&mut client).into_iter().map(|tool| tool["name"].clone()).collect();
    assert!(names.contains(&json!("s9-greet")), "{names:?}");
    assert!(names.iter().all(|name| name.as_str().unwrap().starts_with("s9-")), "{names:?}");
    let greeted = client.tool("s9-greet", &json!({ "who": "Ada" }));
    assert_eq!(text(&greeted), "Hello Ada, 1 times", "{greeted:#}");
    let begun = client.tool("s9-session-start", &json!({}));
    assert_eq!(begun["structuredContent"]["workflow"], json!("session-start"), "{begun:#}");
}
