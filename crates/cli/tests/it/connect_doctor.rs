//! `maestro doctor` plays the tools that are connected: what their settings name is started and greeted.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use insta::assert_snapshot;
use serde_json::{Value as Json, json};

use crate::sandbox::Sandbox;

/// A server that is a shell script: it notes what it hears, and answers two questions.
const SERVER: &str = r#"#!/bin/sh
while IFS= read -r line; do
  echo "$line" >> "$NOTES"
  case "$line" in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"maestro","version":"1"}}}' ;;
    *'"tools/list"'*) echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"use_skill"},{"name":"find_skills"}]}}' ;;
  esac
done
"#;

fn program(sandbox: &Sandbox, path: &str, text: &str) -> String {
    sandbox.write(path, text);
    let path = sandbox.path(path);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

fn cursor(sandbox: &Sandbox, entry: &Json) {
    sandbox.write("~/.cursor/mcp.json", json!({ "mcpServers": { "maestro": entry } }).to_string());
}

#[test]
fn a_tool_that_is_connected_is_played() {
    let sandbox = Sandbox::new();
    let server = program(&sandbox, "~/bin/maestro", SERVER);
    let notes = sandbox.path("heard");
    cursor(&sandbox, &json!({ "command": server, "args": ["mcp"], "env": { "NOTES": notes } }));
    let output = sandbox.maestro("doctor");
    assert_eq!(output.code, 0, "{output}");
    let line = output.stdout().lines().find(|line| line.starts_with("  Cursor")).unwrap().to_owned();
    assert_snapshot!(line, @"  Cursor       answers: 2 tools, by 2025-06-18 (~/.cursor/mcp.json)");
    let heard = fs::read_to_string(&notes).unwrap();
    let said: Vec<Json> = heard.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said[0]["params"]["clientInfo"]["name"], "cursor-vscode");
    let methods: Vec<&str> = said.iter().map(|one| one["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["initialize", "notifications/initialized", "tools/list"]);
    let json = sandbox.maestro("doctor --json").json();
    assert_eq!((&json["connections"][0]["client"], &json["connections"][0]["ok"]), (&json!("cursor"), &json!(true)));
}

#[test]
fn a_server_that_does_not_answer_is_a_problem() {
    let sandbox = Sandbox::new();
    let server = program(&sandbox, "~/bin/maestro", "#!/bin/sh\necho 'error: no database' >&2\nexit 3\n");
    cursor(&sandbox, &json!({ "command": server, "args": ["mcp"] }));
    sandbox.write("~/.codex/config.toml", "[mcp_servers.maestro]\ncommand = \"/gone/maestro\"\nargs = [\"mcp\"]\n");
    let output = sandbox.maestro("doctor");
    assert_eq!(output.code, 1);
    let shown = output.to_string();
    let (_, tools) = shown.split_once("Connected tools\n").unwrap();
    assert_snapshot!(tools, @"
      Cursor       exits with code 3: error: no database (~/.cursor/mcp.json)
      Codex        does not start: `/gone/maestro` not found (~/.codex/config.toml)

    Sandbox
      [SANDBOX]

    Skill directories
      ~/.local/share/maestro/skills/builtin    maestro     21 skill folders
      and 44 more that do not exist

    Problems
    error[connection-broken]: Cursor cannot reach Maestro: it exits with code 3: error: no database
      --> [HOME]/.cursor/mcp.json:1:1
      hint: run `maestro connect cursor` to rewrite the entry
    error[connection-broken]: Codex cannot reach Maestro: it does not start: `/gone/maestro` not found
      --> [HOME]/.codex/config.toml:1:1
      hint: run `maestro connect codex` to rewrite the entry
    info[agent-missing]: no coding agent found
      --> $PATH
      hint: install one that `maestro agents` lists; until then, `maestro demo` and `--agent demo` work without one

    2 errors, 0 warnings
    --- exit 1
    ");
}

#[test]
fn what_a_project_names_is_started_only_if_it_is_maestro() {
    let sandbox = Sandbox::new();
    let notes = sandbox.path("heard");
    program(&sandbox, "bin/maestro", &SERVER.replace("$NOTES", notes.to_str().unwrap()));
    let entry = json!({ "command": sandbox.path("bin/maestro"), "args": ["mcp"] });
    sandbox.write(".mcp.json", json!({ "mcpServers": { "maestro": entry } }).to_string());
    let connection = sandbox.maestro("doctor --json").json()["connections"][0].clone();
    assert_snapshot!(sandbox.normal(connection["answer"].as_str().unwrap()), @"is not checked: the project's file names `[PROJECT]/bin/maestro`, not `maestro`");
    assert!(!notes.exists(), "it was started");
}

#[test]
fn in_a_home_directory_a_file_is_the_users_own_and_tried_once() {
    let sandbox = Sandbox::new();
    let server = program(&sandbox, "~/bin/maestro", &SERVER.replace("$NOTES", "/dev/null"));
    cursor(&sandbox, &json!({ "command": server, "args": ["mcp"] }));
    let output = sandbox.maestro_in("../home", &["doctor", "--json"]);
    let connections = output.json()["connections"].clone();
    assert_eq!((connections.as_array().unwrap().len(), &connections[0]["ok"]), (1, &json!(true)), "{output}");
}
