//! What became of a tool's files while it was connected, and what is left of that afterwards.

use std::fs;
use std::process::Stdio;

use serde_json::{Value as Json, json};

use super::{FILES, MAESTRO, with_files};
use crate::sandbox::Sandbox;

fn read(sandbox: &Sandbox, path: &str) -> Json {
    serde_json::from_str(&fs::read_to_string(sandbox.path(path)).unwrap()).unwrap()
}

/// Writes a file as programs do: all of it anew, in an order of their own, with something more in it.
fn rewrite(sandbox: &Sandbox, path: &str) {
    let mut whole = read(sandbox, path);
    whole["numStartups"] = json!(8);
    whole.sort_all_objects();
    sandbox.write(path, format!("{whole:#}"));
}

#[test]
fn a_hook_that_somebody_put_beside_maestros_stays() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.maestro("connect claude-code --hooks --create").code, 0);
    let path = "~/.claude/settings.json";
    let mut settings = read(&sandbox, path);
    let mine = json!({ "type": "command", "command": "my-lint" });
    settings["hooks"]["Stop"][0]["hooks"].as_array_mut().unwrap().push(mine.clone());
    settings["hooks"]["SessionEnd"][0]["hooks"].as_array_mut().unwrap().insert(0, mine.clone());
    sandbox.write(path, format!("{settings:#}"));
    assert_eq!(sandbox.maestro("connect claude-code --hooks --create").code, 0);
    assert_eq!(read(&sandbox, path), settings, "it is connected already");
    assert_eq!(sandbox.maestro("disconnect claude-code").code, 0);
    let left = json!({ "hooks": { "Stop": [{ "hooks": [mine] }], "SessionEnd": [{ "hooks": [mine] }] } });
    assert_eq!(read(&sandbox, path), left);
}

#[test]
fn what_was_made_around_an_entry_goes_with_it_and_what_was_there_stays() {
    let sandbox = Sandbox::new();
    let before = json!({ "hooks": { "Stop": [], "PreCompact": [] }, "numStartups": 7 });
    for (path, whole) in [("~/.gemini/settings.json", &before), ("~/.claude/settings.json", &before)] {
        sandbox.write(path, format!("{whole:#}"));
    }
    sandbox.write("~/.claude.json", "{\"mcpServers\": {}}");
    sandbox.write("~/.config/opencode/opencode.json", "{\"mcp\": {}, \"model\": \"m\"}");
    sandbox.write("~/.cursor/mcp.json", "{\"other\": 1}");
    sandbox.write("~/.config/goose/config.yaml", "GOOSE_MODEL: gpt-4o\n");
    assert_eq!(sandbox.maestro("connect claude-code gemini opencode cursor goose --hooks --create").code, 0);
    for path in [
        "~/.gemini/settings.json",
        "~/.claude/settings.json",
        "~/.claude.json",
        "~/.config/opencode/opencode.json",
        "~/.cursor/mcp.json",
    ] {
        rewrite(&sandbox, path);
    }
    let goose = fs::read_to_string(sandbox.path("~/.config/goose/config.yaml")).unwrap();
    sandbox.write("~/.config/goose/config.yaml", goose.replace("    enabled: true\n", "    enabled: false\n"));
    assert_eq!(sandbox.maestro("disconnect all").code, 0);
    let after = json!({ "hooks": { "Stop": [], "PreCompact": [] }, "numStartups": 8 });
    assert_eq!(read(&sandbox, "~/.gemini/settings.json"), after);
    assert_eq!(read(&sandbox, "~/.claude/settings.json"), after);
    assert_eq!(read(&sandbox, "~/.claude.json"), json!({ "mcpServers": {}, "numStartups": 8 }));
    let opencode = json!({ "mcp": {}, "model": "m", "numStartups": 8 });
    assert_eq!(read(&sandbox, "~/.config/opencode/opencode.json"), opencode);
    assert_eq!(read(&sandbox, "~/.cursor/mcp.json"), json!({ "other": 1, "numStartups": 8 }));
    let goose = fs::read_to_string(sandbox.path("~/.config/goose/config.yaml")).unwrap();
    assert_eq!(goose.trim_end(), "GOOSE_MODEL: gpt-4o");
}

#[test]
fn what_somebody_added_to_what_was_made_around_an_entry_stays() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.cursor/mcp.json", "{\"other\": 1}");
    assert_eq!(sandbox.maestro("connect cursor --create").code, 0);
    let mut settings = read(&sandbox, "~/.cursor/mcp.json");
    settings["mcpServers"]["mine"] = json!({ "url": "https://x" });
    sandbox.write("~/.cursor/mcp.json", settings.to_string());
    assert_eq!(sandbox.maestro("disconnect cursor").code, 0);
    let left = json!({ "other": 1, "mcpServers": { "mine": { "url": "https://x" } } });
    assert_eq!(read(&sandbox, "~/.cursor/mcp.json"), left);
}

#[test]
fn tools_that_are_connected_at_once_can_all_be_disconnected() {
    let sandbox = with_files();
    let connect = |(client, ..): &(&str, &str, &str)| {
        sandbox.command().args(["connect", client]).stdout(Stdio::null()).spawn().unwrap()
    };
    let connecting: Vec<_> = FILES.iter().map(connect).collect();
    for mut one in connecting {
        assert!(one.wait().unwrap().success());
    }
    let remembered = read(&sandbox, "~/.maestro/connections.json");
    assert_eq!(remembered["files"].as_array().unwrap().len(), FILES.len(), "{remembered}");
    assert_eq!(sandbox.maestro("disconnect all").code, 0);
    for (client, path, text) in FILES {
        assert_eq!(fs::read_to_string(sandbox.path(path)).unwrap(), text, "{client}");
    }
}

/// Makes everything as if the program had been elsewhere when it was connected.
fn move_program(sandbox: &Sandbox) {
    for (path, bytes) in sandbox.tree() {
        if let Ok(text) = String::from_utf8(bytes)
            && text.contains(MAESTRO)
        {
            fs::write(path, text.replace(MAESTRO, "/old/maestro")).unwrap();
        }
    }
}

#[test]
fn after_a_program_moved_its_hooks_follow_and_nothing_of_it_is_left() {
    let sandbox = with_files();
    // Some files are made, of which nothing may be left either.
    fs::remove_file(sandbox.path("~/.claude.json")).unwrap();
    let outside = |sandbox: &Sandbox| {
        let mut tree = sandbox.tree();
        tree.retain(|path, _| !path.starts_with(sandbox.path("~/.maestro")));
        tree
    };
    let before = outside(&sandbox);
    let tools = "claude-code cursor vscode opencode codex gemini goose";
    assert_eq!(sandbox.maestro(&format!("connect {tools} --hooks --create")).code, 0);
    let connected = outside(&sandbox);
    move_program(&sandbox);
    assert_ne!(outside(&sandbox), connected);
    let output = sandbox.maestro(&format!("connect {tools} --create"));
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(outside(&sandbox), connected, "{output}");
    assert_eq!(sandbox.maestro("disconnect all").code, 0);
    assert_eq!(outside(&sandbox), before);
}

#[test]
fn what_somebody_added_to_an_entry_stays_when_the_program_moved() {
    let sandbox = Sandbox::new();
    let goose = "extensions:\n  maestro: # mine\n    cmd: /old/maestro\n    args: [mcp]\n    envs: {A: b}\n    enabled: false\n";
    let codex = "[mcp_servers.maestro] # mine\ncommand = \"/old/maestro\"\nargs = [\"mcp\"]\nenv = { A = \"b\" }\n";
    sandbox.write("~/.config/goose/config.yaml", goose);
    sandbox.write("~/.codex/config.toml", codex);
    assert_eq!(sandbox.maestro("connect goose codex --create").code, 0);
    let read = |path: &str| fs::read_to_string(sandbox.path(path)).unwrap();
    assert_eq!(read("~/.config/goose/config.yaml"), goose.replace("/old/maestro", &format!("\"{MAESTRO}\"")));
    assert_eq!(read("~/.codex/config.toml"), codex.replace("/old/maestro", MAESTRO));
    assert_eq!(sandbox.maestro("disconnect goose codex").code, 0);
    assert_eq!(read("~/.codex/config.toml"), "");
}
