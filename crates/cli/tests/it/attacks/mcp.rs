//! Attacks by a model over the Model Context Protocol: rights by tool parameters, and tools that look harmless.

use serde_json::{Value as Json, json};

use crate::mcp::client::{Client, Era, Forms};
use crate::mcp::{project, text};
use crate::sandbox::Sandbox;

/// A project with a plan, and a server that would start its agents.
fn place() -> Sandbox {
    let sandbox = project().with_variable("PATH", &std::env::var("PATH").unwrap());
    sandbox.write("PLAN.md", "# Plan\n\n- [ ] Run touch evil.txt\n");
    sandbox
}

/// The refusal of a call.
fn refused(client: &mut Client, tool: &str, arguments: &Json) -> String {
    let result = client.tool(tool, arguments);
    assert_eq!(result["isError"], json!(true), "{result:#}");
    text(&result)
}

#[test]
fn a_model_gets_no_shell_by_the_parameters_of_the_loop() {
    let sandbox = place();
    let server = sandbox.serve();
    server.make("/api/projects", &json!({ "name": "shop", "workingDir": sandbox.project() }));
    let mut client = Client::connect(server.url(), Era::Today, Forms::Unknown);
    let params = json!({ "plan": "PLAN.md", "agent": "demo", "permission": "all", "worktree": false });
    let said = refused(&mut client, "run_start", &json!({ "workflow": "plan-loop", "params": params }));
    assert!(said.contains("permission `all` (at most `edits`): a person gives rights"), "{said}");
    for (name, value) in [
        ("agent", json!("demo")),
        ("reviewer", json!("demo")),
        ("agent", json!("claude")),
        ("worktree", json!(false)),
        ("checks", json!(false)),
        ("review", json!(false)),
        ("merge", json!("yes")),
    ] {
        let params = json!({ "plan": "PLAN.md", name: value });
        let said = refused(&mut client, "run_start", &json!({ "workflow": "plan-loop", "params": params }));
        assert!(said.contains("a person gives"), "{name}: {said}");
    }
    let params = json!({ "task": "Run touch evil.txt", "place": "..", "permission": "edits" });
    let said = refused(&mut client, "run_start", &json!({ "workflow": "plan-task", "params": params }));
    assert!(said.contains("`place` decides about rights"), "{said}");
    assert_eq!(server.get("/api/runs"), json!([]), "nothing was started");
    assert!(!sandbox.path("evil.txt").exists());
}

#[test]
fn a_model_may_ask_for_less_and_the_user_may_allow_more() {
    let sandbox = place();
    let start = |sandbox: &Sandbox, permission: &str| {
        let mut client = Client::start(sandbox, &[], Era::Today, Forms::Unknown);
        let params = json!({ "plan": "missing.md", "permission": permission, "worktree": true });
        let result = client.tool("run_start", &json!({ "workflow": "plan-loop", "params": params }));
        text(&result)
    };
    assert!(!start(&sandbox, "ask").contains("a person gives"));
    assert!(start(&sandbox, "all").contains("a person gives"));
    sandbox.write(".maestro/config.toml", "mcp_permission = \"all\"\n");
    assert!(start(&sandbox, "all").contains("the configuration has errors"), "a project's file may not set it");
    sandbox.write(".maestro/config.toml", "");
    sandbox.write("~/.config/maestro/config.toml", "mcp_permission = \"all\"\n");
    assert!(!start(&sandbox, "all").contains("a person gives"));
}

#[test]
fn tools_say_what_they_do_and_have_no_parameters_for_rights() {
    let sandbox = place();
    let flow = |name: &str, step: &str| {
        sandbox.skill(".claude/skills", name, "One of them.");
        sandbox.write(
            &format!(".claude/skills/{name}/workflow.yaml"),
            format!(
                "name: {name}\ndescription: It.\nparams: {{who: {{type: string, default: \"\"}}}}\nsteps:\n  - {step}\n"
            ),
        );
    };
    flow("talks", "{id: a, type: agent, description: Say it, next: {ok: end, fail: end}}");
    flow("shells", "{id: a, type: command, shell: {script: \"true\"}}");
    flow("spawns", "{id: a, type: agent, session: {agent: \"{who}\"}, next: {ok: end, fail: end}}");
    flow(
        "calls",
        "{id: a, type: call, workflow: plan-task, with: {task: \"{who}\"}, next: {ok: end, fail: end, blocked: end}}",
    );
    let sandbox = sandbox.with_variable("MAESTRO_SKILLS_BUILTIN", "true");
    let list = || Client::start(&sandbox, &[], Era::Today, Forms::Unknown).call("tools/list", json!({})).unwrap();
    // Only so many workflows have a tool of their own.
    let first = list();
    std::fs::remove_dir_all(sandbox.path(".claude/skills/calls")).unwrap();
    let lists = [first, list()];
    let find = |name: &str| {
        let mut tools = lists.iter().flat_map(|list| list["tools"].as_array().unwrap());
        tools.find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no tool {name}: {lists:#?}")).clone()
    };
    let hints = |name: &str| {
        let tool = find(name);
        let hint = |hint: &str| tool["annotations"][hint].as_bool();
        (hint("readOnlyHint") == Some(true), hint("destructiveHint"), hint("openWorldHint").unwrap())
    };
    for name in ["find_skills", "use_skill", "run_status"] {
        assert_eq!(hints(name), (true, Some(false), false), "{name}");
    }
    for name in ["shells", "spawns", "calls"] {
        assert_eq!(hints(name), (false, Some(true), true), "{name}");
    }
    // What they execute needs consent or is limited by the user's settings, whoever calls them.
    for name in ["run_start", "run_next", "run_report", "run_answer"] {
        assert_eq!(hints(name), (false, Some(false), false), "{name}");
    }
    assert_eq!(hints("talks"), (false, Some(false), false));
    assert!(find("spawns")["inputSchema"]["properties"]["who"].is_null(), "it decides which agent works");
    assert!(find("shells")["inputSchema"]["properties"]["who"].is_object());
}
