//! What does a client's model read, and what does it cost?

use serde_json::{Value as Json, json};

use super::client::{Client, Era, Forms};
use super::{project, text};
use crate::sandbox::Sandbox;

/// The most that a connected catalogue may cost in a conversation, in bytes: with what clients add for any server, 1,500 tokens,
/// as `tests/agents/costs` records them.
const MOST_BYTES: usize = 4_800;

/// How a client hands tools and instructions to its model.
type ModelRequest = fn(&str, &[Json]) -> Json;

/// The forms in which five clients send tools to their models: what they add to names, and what they leave out.
const CLIENTS: [(&str, ModelRequest); 5] = [
    ("Claude Code", |instructions, tools| {
        let tool = |tool: &Json| {
            json!({ "name": format!("mcp__maestro__{}", name(tool)), "description": tool["description"],
                    "input_schema": tool["inputSchema"] })
        };
        let system = format!("# MCP Server Instructions\n\n## maestro\n{instructions}");
        json!({ "system": system, "tools": tools.iter().map(tool).collect::<Vec<_>>() })
    }),
    ("Codex", |instructions, tools| {
        let tool = |tool: &Json| {
            json!({ "type": "function", "name": name(tool), "description": tool["description"], "strict": false,
                    "parameters": tool["inputSchema"] })
        };
        let tools = tools.iter().map(tool).collect::<Vec<_>>();
        json!([{ "type": "namespace", "name": "mcp__maestro", "description": instructions, "tools": tools }])
    }),
    ("Goose", |instructions, tools| {
        let tool = |tool: &Json| {
            json!({ "type": "function", "function": { "name": format!("maestro__{}", name(tool)),
                    "description": tool["description"], "parameters": tool["inputSchema"] } })
        };
        let system = format!("## maestro\n\n### Instructions\n{instructions}");
        json!({ "system": system, "tools": tools.iter().map(tool).collect::<Vec<_>>() })
    }),
    ("OpenCode", |_, tools| {
        let tool = |tool: &Json| {
            let mut parameters = tool["inputSchema"].clone();
            parameters["additionalProperties"] = json!(false);
            json!({ "type": "function", "function": { "name": format!("maestro_{}", name(tool)),
                    "description": tool["description"], "parameters": parameters } })
        };
        json!({ "tools": tools.iter().map(tool).collect::<Vec<_>>() })
    }),
    ("Gemini CLI", |instructions, tools| {
        let tool = |tool: &Json| {
            json!({ "name": format!("mcp_maestro_{}", name(tool)), "description": tool["description"],
                    "parametersJsonSchema": tool["inputSchema"] })
        };
        let tools = tools.iter().map(tool).collect::<Vec<_>>();
        json!({ "systemInstruction": instructions, "tools": [{ "functionDeclarations": tools }] })
    }),
];

fn name(tool: &Json) -> &str {
    tool["name"].as_str().unwrap()
}

/// A project with a hundred skills, a few with workflows of their own.
fn hundred_skills() -> Sandbox {
    let sandbox = project();
    for number in 0..100 {
        let name = format!("skill-{number:03}");
        sandbox.skill(".claude/skills", &name, "Does one of many things. Use when that one thing is wanted.");
        if number % 20 == 0 {
            let flow = format!(
                "name: {name}\ndescription: Walks through {name}. Use when that is wanted.\nparams: {{what: {{type: string, \
                 description: What it is about}}}}\nsteps:\n  - {{id: work, type: agent, description: Work., next: {{ok: end, \
                 fail: end}}}}\n"
            );
            sandbox.write(&format!(".claude/skills/{name}/workflow.yaml"), flow);
        }
    }
    sandbox
}

#[test]
fn a_hundred_skills_cost_little_in_every_conversation() {
    let sandbox = hundred_skills();
    let mut client = Client::start(&sandbox, &[], Era::Earlier, Forms::Unknown);
    let instructions = client.greeting["instructions"].as_str().unwrap().to_owned();
    assert!(instructions.chars().count() <= 512, "some clients show no more: {}", instructions.chars().count());
    let tools = client.call("tools/list", json!({})).unwrap();
    let tools = tools["tools"].as_array().unwrap();
    if let Ok(folder) = std::env::var("MAESTRO_KEEP_REQUESTS") {
        for (client, request) in CLIENTS {
            std::fs::write(format!("{folder}/{client}.json"), request(&instructions, tools).to_string()).unwrap();
        }
    }
    for (client, request) in CLIENTS {
        let bytes = request(&instructions, tools).to_string().len();
        assert!(bytes <= MOST_BYTES, "{client}: {bytes} bytes for {} tools", tools.len());
    }
    assert!(tools.iter().any(|tool| name(tool) == "skill-000"), "a project's own workflows come first");
}

#[test]
fn a_client_that_adds_much_to_every_tool_gets_fewer() {
    let sandbox = hundred_skills();
    let mut client = Client::start(&sandbox, &[], Era::Earlier, Forms::Unknown);
    let gemini = json!({ "name": "gemini-cli-mcp-client-maestro", "version": "0.61.0" });
    let listed =
        client.call("tools/list", json!({ "_meta": { "io.modelcontextprotocol/clientInfo": gemini } })).unwrap();
    let names: Vec<&str> = listed["tools"].as_array().unwrap().iter().map(name).collect();
    let fixed = ["find_skills", "use_skill", "run_start", "run_report", "run_answer", "run_next", "run_status"];
    assert_eq!(names, fixed, "workflows are started with `run_start`");
}

#[test]
fn the_names_of_all_skills_are_listed_for_who_names_no_task() {
    let sandbox = hundred_skills();
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let listed = text(&client.tool("find_skills", &json!({})));
    assert!(listed.contains("skill-099") && listed.contains("pdf"), "{listed}");
    assert!(listed.ends_with("Name a `task` to see which fit; read one with `use_skill`.\n"), "{listed}");
    assert!(!listed.contains("maestro-worker"), "a role's skills are not for choosing: {listed}");
    for number in 100..900 {
        sandbox.skill(".claude/skills", &format!("another-skill-{number}"), "One of very many. Use it.");
    }
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let listed = client.tool("find_skills", &json!({ "task": " " }));
    assert!(text(&listed).chars().count() < 14_000);
    assert!(listed["structuredContent"]["omitted"].as_u64().unwrap() > 100, "{}", text(&listed));
}

#[test]
fn a_skill_names_its_files_and_hands_them_out() {
    let sandbox = project();
    let picture = [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0xff];
    sandbox.write(".claude/skills/pdf/assets/seal.png", picture);
    sandbox.write(".claude/skills/pdf/assets/blob.bin", [0xff, 0xfe, 0]);
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let read = client.tool("use_skill", &json!({ "name": "pdf" }));
    let said = text(&read);
    assert!(said.contains("read one with `use_skill`, name \"pdf\" and `file`"), "{said}");
    for file in ["- assets/seal.png", "- references/forms.md"] {
        assert!(said.contains(file), "{said}");
    }
    let links = read["content"].as_array().unwrap().iter().filter(|block| block["type"] == json!("resource_link"));
    assert_eq!(links.count(), 3, "{read:#}");
    let mut file = |file: &str| client.tool("use_skill", &json!({ "name": "pdf", "file": file }));
    assert_eq!(text(&file("references/forms.md")), "Fields have names.");
    let image = file("assets/seal.png");
    let kind = |result: &Json| (result["content"][0]["type"].clone(), result["content"][0]["mimeType"].clone());
    assert_eq!(kind(&image), (json!("image"), json!("image/png")), "{image:#}");
    assert_eq!(kind(&file("assets/blob.bin")).0, json!("resource"));
    for outside in ["../other/SKILL.md", "/etc/passwd", "nothing.md"] {
        let refused = file(outside);
        assert_eq!(refused["isError"], json!(true), "{refused:#}");
        assert!(text(&refused).contains("call `use_skill` with its name alone"), "{refused:#}");
    }
}

#[test]
fn a_long_skill_is_read_page_by_page() {
    let sandbox = project();
    let lines: Vec<String> = (0..6_000).map(|line| format!("Step {line} of many.")).collect();
    let body = lines.join("\n");
    sandbox.write(".claude/skills/long/SKILL.md", format!("---\nname: long\ndescription: Long.\n---\n{body}\n"));
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let (mut from, mut found, mut pages) = (Some(0), Vec::new(), 0);
    while let Some(start) = from {
        let page = text(&client.tool("use_skill", &json!({ "name": "long", "from": start })));
        assert!(page.chars().count() < 45_000);
        found.extend(page.lines().filter(|line| line.starts_with("Step ")).map(str::to_owned));
        from = page.split_once("and from ").map(|(_, rest)| rest.split(' ').next().unwrap().parse::<usize>().unwrap());
        pages += 1;
    }
    assert_eq!(found, lines);
    assert!(pages > 2, "{pages}");
}

#[test]
fn hints_say_exactly_which_tools_change_something_by_themselves() {
    let sandbox = project().with_variable("MAESTRO_SKILLS_BUILTIN", "false");
    let flows = [
        ("asks", "{id: ask, type: question, prompt: \"Which?\", next: {ok: end}}"),
        ("writes", "{id: act, type: command, command: [touch, x], next: {ok: end, fail: end}}"),
        ("starts", "{id: work, type: agent, session: {}, description: Work., next: {ok: end, fail: end}}"),
    ];
    for (name, step) in flows {
        sandbox.skill(".claude/skills", name, "One of three.");
        let flow = format!("name: {name}\ndescription: One of three.\nsteps:\n  - {step}\n");
        sandbox.write(&format!(".claude/skills/{name}/workflow.yaml"), flow);
    }
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let tools = client.call("tools/list", json!({})).unwrap();
    for tool in tools["tools"].as_array().unwrap() {
        let acts = ["writes", "starts"].contains(&name(tool));
        let hints = &tool["annotations"];
        assert_eq!(hints["destructiveHint"].as_bool().unwrap_or(false), acts, "{tool:#}");
        assert_eq!(hints["openWorldHint"].as_bool(), Some(acts), "{tool:#}");
    }
    let listed: Vec<&str> = tools["tools"].as_array().unwrap().iter().map(name).collect();
    assert!(flows.iter().all(|(name, _)| listed.contains(name)), "{listed:?}");
}

#[test]
fn an_error_names_the_argument_and_what_a_model_leaves_out_may_be_null() {
    let sandbox = project();
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let read = client.tool("use_skill", &json!({ "name": "pdf", "file": null, "from": null, "project_id": null }));
    assert!(text(&read).starts_with("Reading: pdf"), "{read:#}");
    let started =
        client.tool("run_start", &json!({ "workflow": "deepthink", "params": { "question": null }, "key": null }));
    assert!(text(&started).contains("`question`: required, but not given"), "{started:#}");
    for (tool, arguments, said) in [
        ("use_skill", json!({ "name": 3 }), "`name`: invalid type: integer `3`"),
        ("use_skill", json!({ "name": null }), "missing field `name`"),
        ("run_status", json!({ "run_id": "latest" }), "`latest` is not the id of a run; call `run_status` without one"),
        ("run_answer", json!({ "run_id": "1", "ticket": "a#1", "value": "x" }), "`1` is not the id of a run"),
        (
            "use_skill",
            json!({ "name": "pdf", "file": "no.md" }),
            "the skill `pdf` has no file `no.md`; call `use_skill`",
        ),
    ] {
        let refused = client.tool(tool, &arguments);
        assert_eq!(refused["isError"], json!(true), "{refused:#}");
        assert!(text(&refused).contains(said), "{said}: {refused:#}");
    }
}

#[test]
fn a_skill_with_a_workflow_says_one_way_to_start_it() {
    let sandbox = project();
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let said = text(&client.tool("use_skill", &json!({ "name": "deepthink" })));
    assert!(said.contains("maestro workflow start deepthink"), "{said}");
    assert!(
        said.contains("start it with `run_start`, `workflow` being \"deepthink\". That takes the place of"),
        "{said}"
    );
    assert!(!said.contains("workflow.yaml"), "the definition is the engine's to read: {said}");
    assert!(
        text(&client.tool("use_skill", &json!({ "name": "deepthink", "file": "workflow.yaml" }))).contains("steps:")
    );
}

#[test]
fn what_comes_close_is_named_where_nothing_clearly_fits() {
    let sandbox = project();
    let review = "Reviews a change before it is merged. Use when a pull request is to be looked at.";
    for place in ["web", "billing", "search", "mobile", "build"] {
        sandbox.skill(
            ".claude/skills",
            &format!("review-{place}"),
            &review.replace("change", &format!("change of {place}")),
        );
    }
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let found = client.tool("find_skills", &json!({ "task": "Have a look at the pull request" }));
    assert!(text(&found).contains("- review-web: Reviews a change of web"), "{found:#}");
    let found = client.tool("find_skills", &json!({ "task": "Bump the version to 0.4.2" }));
    assert_eq!(text(&found), "No skill fits this task. Work without one.\n");
}
