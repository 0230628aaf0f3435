//! `maestro connect` and `disconnect`: real settings files of real shapes, before, with and after Maestro.

mod meanwhile;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use insta::assert_snapshot;
use serde_json::json;

use crate::sandbox::Sandbox;

const MAESTRO: &str = env!("CARGO_BIN_EXE_maestro");

/// A settings file of each tool, as somebody might have it.
const FILES: [(&str, &str, &str); 18] = [
    ("claude-code", "~/.claude.json", "{\n  \"numStartups\": 7,\n  \"mcpServers\": {},\n  \"projects\": {}\n}\n"),
    ("cursor", "~/.cursor/mcp.json", "{\"mcpServers\": {\"github\": {\"url\": \"https://x\"}}}"),
    (
        "vscode",
        "~/.config/Code/User/mcp.json",
        "{\r\n\t// my servers\r\n\t\"servers\": {\r\n\t\t\"x\": { \"url\": \"y\" }, // keep\r\n\t},\r\n\t\"inputs\": []\r\n}\r\n",
    ),
    ("opencode", "~/.config/opencode/opencode.jsonc", "// mine\n{\n    \"model\": \"m\", /* why */\n}\n"),
    (
        "codex",
        "~/.codex/config.toml",
        "# mine\nmodel = \"o\" # the best\n\n[mcp_servers.x]\ncommand = \"y\"\n\n[features]\nhooks = true",
    ),
    ("gemini", "~/.gemini/settings.json", "{\n  \"security\": {\"auth\": {}},\n  \"unknown\": [1,2 ,3]\n}"),
    (
        "goose",
        "~/.config/goose/config.yaml",
        "GOOSE_MODEL: gpt-4o # mine\nextensions:\n  # built in\n  developer:\n    enabled: true\n\nother: [a,  b]\n",
    ),
    ("copilot", "~/.copilot/mcp-config.json", "{\n  \"mcpServers\": {}\n}\n"),
    ("qwen", "~/.qwen/settings.json", "{ \"$version\": 4,\n  \"model\": { \"name\": \"m\" } }"),
    ("antigravity", "~/.gemini/antigravity/mcp_config.json", ""),
    (
        "zed",
        "~/.config/zed/settings.json",
        "// Zed settings\n//\n// see the docs\n{\n  \"vim_mode\": true,\n  \"context_servers\": {\n    \"x\": { \"command\": \"y\", },\n  },\n}\n",
    ),
    ("windsurf", "~/.codeium/windsurf/mcp_config.json", "{\r\n  \"mcpServers\": {\r\n  }\r\n}\r\n"),
    ("kiro", "~/.kiro/settings/mcp.json", "{\n    \"mcpServers\": {\"x\": {\"disabled\": true}}\n}"),
    ("junie", "~/.junie/mcp/mcp.json", "{}"),
    ("claude-desktop", "~/.config/Claude/claude_desktop_config.json", "{\n\t\"globalShortcut\": \"\"\n}\n"),
    ("amp", "~/.config/amp/settings.json", "{\n  \"amp.url\": \"https://x\", // ours\n}\n"),
    ("cline", "~/.cline/data/settings/cline_mcp_settings.json", "\u{feff}{\"mcpServers\":{}}"),
    ("crush", "~/.config/crush/crush.json", "{\n  \"$schema\": \"s\",\n  \"mcp\": {\"x\": {\"type\": \"http\"}}\n}\n"),
];

fn with_files() -> Sandbox {
    let sandbox = Sandbox::new();
    for (_, path, text) in FILES {
        sandbox.write(path, text);
    }
    sandbox
}

#[test]
fn every_tool_is_connected_in_its_own_file_and_its_own_way() {
    let sandbox = with_files();
    assert_snapshot!(sandbox.maestro("connect all"), @"
    $ maestro connect all
    Added Maestro to Claude Code (changed ~/.claude.json, backup in ~/.claude.json.before-maestro).
    Added Maestro to Cursor (changed ~/.cursor/mcp.json, backup in ~/.cursor/mcp.json.before-maestro).
    Added Maestro to VS Code (changed ~/.config/Code/User/mcp.json, backup in ~/.config/Code/User/mcp.json.before-maestro).
    Added Maestro to OpenCode (changed ~/.config/opencode/opencode.jsonc, backup in ~/.config/opencode/opencode.jsonc.before-maestro).
    Added Maestro to Codex (changed ~/.codex/config.toml, backup in ~/.codex/config.toml.before-maestro).
    Added Maestro to Gemini CLI (changed ~/.gemini/settings.json, backup in ~/.gemini/settings.json.before-maestro).
    Added Maestro to Goose (changed ~/.config/goose/config.yaml, backup in ~/.config/goose/config.yaml.before-maestro).
    Added Maestro to GitHub Copilot CLI (changed ~/.copilot/mcp-config.json, backup in ~/.copilot/mcp-config.json.before-maestro).
    Added Maestro to Qwen Code (changed ~/.qwen/settings.json, backup in ~/.qwen/settings.json.before-maestro).
    Added Maestro to Antigravity (changed ~/.gemini/antigravity/mcp_config.json, backup in ~/.gemini/antigravity/mcp_config.json.before-maestro).
    Added Maestro to Zed (changed ~/.config/zed/settings.json, backup in ~/.config/zed/settings.json.before-maestro).
    Added Maestro to Windsurf (changed ~/.codeium/windsurf/mcp_config.json, backup in ~/.codeium/windsurf/mcp_config.json.before-maestro).
    Added Maestro to Kiro (changed ~/.kiro/settings/mcp.json, backup in ~/.kiro/settings/mcp.json.before-maestro).
    Added Maestro to Junie (changed ~/.junie/mcp/mcp.json, backup in ~/.junie/mcp/mcp.json.before-maestro).
    Added Maestro to Claude Desktop (changed ~/.config/Claude/claude_desktop_config.json, backup in ~/.config/Claude/claude_desktop_config.json.before-maestro).
    Added Maestro to Amp (changed ~/.config/amp/settings.json, backup in ~/.config/amp/settings.json.before-maestro).
    Added Maestro to Cline (changed ~/.cline/data/settings/cline_mcp_settings.json, backup in ~/.cline/data/settings/cline_mcp_settings.json.before-maestro).
    Added Maestro to Crush (changed ~/.config/crush/crush.json, backup in ~/.config/crush/crush.json.before-maestro).
    Restart these tools to load it; `maestro doctor` checks the connection.
    ");
    for (client, path, _) in FILES {
        let text = fs::read_to_string(sandbox.path(path)).unwrap();
        assert_snapshot!(format!("connect_{client}"), sandbox.normal(&text));
    }
}

#[test]
fn what_an_installer_of_skills_left_makes_no_tool_installed() {
    let sandbox = Sandbox::new();
    for skills in ["~/.cursor/skills", "~/.copilot/skills", "~/.gemini/skills", "~/.gemini/antigravity/skills"] {
        sandbox.skill(skills, "pdf", "Reads PDF files.");
    }
    sandbox.write("~/.qwen/settings.json", "{}");
    let connected = sandbox.maestro("connect all");
    assert_snapshot!(connected, @"
    $ maestro connect all
    Added Maestro to Qwen Code (changed ~/.qwen/settings.json, backup in ~/.qwen/settings.json.before-maestro).
    Restart these tools to load it; `maestro doctor` checks the connection.
    ");
    assert_eq!(sandbox.maestro("connect cursor --create").code, 0, "named, it is connected");
}

#[test]
fn a_second_connect_changes_nothing() {
    let sandbox = with_files();
    sandbox.maestro("connect all");
    let once = sandbox.tree();
    assert_snapshot!(sandbox.maestro("connect all"), @"
    $ maestro connect all
    Claude Code already has Maestro (~/.claude.json).
    Cursor already has Maestro (~/.cursor/mcp.json).
    VS Code already has Maestro (~/.config/Code/User/mcp.json).
    OpenCode already has Maestro (~/.config/opencode/opencode.jsonc).
    Codex already has Maestro (~/.codex/config.toml).
    Gemini CLI already has Maestro (~/.gemini/settings.json).
    Goose already has Maestro (~/.config/goose/config.yaml).
    GitHub Copilot CLI already has Maestro (~/.copilot/mcp-config.json).
    Qwen Code already has Maestro (~/.qwen/settings.json).
    Antigravity already has Maestro (~/.gemini/antigravity/mcp_config.json).
    Zed already has Maestro (~/.config/zed/settings.json).
    Windsurf already has Maestro (~/.codeium/windsurf/mcp_config.json).
    Kiro already has Maestro (~/.kiro/settings/mcp.json).
    Junie already has Maestro (~/.junie/mcp/mcp.json).
    Claude Desktop already has Maestro (~/.config/Claude/claude_desktop_config.json).
    Amp already has Maestro (~/.config/amp/settings.json).
    Cline already has Maestro (~/.cline/data/settings/cline_mcp_settings.json).
    Crush already has Maestro (~/.config/crush/crush.json).
    ");
    assert_eq!(sandbox.tree(), once);
}

#[test]
fn disconnect_leaves_every_file_byte_for_byte_as_it_was() {
    let sandbox = with_files();
    sandbox.maestro("connect all");
    assert_snapshot!(sandbox.maestro("disconnect all"), @"
    $ maestro disconnect all
    Removed Maestro from Claude Code (~/.claude.json).
    Removed Maestro from Cursor (~/.cursor/mcp.json).
    Removed Maestro from VS Code (~/.config/Code/User/mcp.json).
    Removed Maestro from OpenCode (~/.config/opencode/opencode.jsonc).
    Removed Maestro from Codex (~/.codex/config.toml).
    Removed Maestro from Gemini CLI (~/.gemini/settings.json).
    Removed Maestro from Goose (~/.config/goose/config.yaml).
    Removed Maestro from GitHub Copilot CLI (~/.copilot/mcp-config.json).
    Removed Maestro from Qwen Code (~/.qwen/settings.json).
    Removed Maestro from Antigravity (~/.gemini/antigravity/mcp_config.json).
    Removed Maestro from Zed (~/.config/zed/settings.json).
    Removed Maestro from Windsurf (~/.codeium/windsurf/mcp_config.json).
    Removed Maestro from Kiro (~/.kiro/settings/mcp.json).
    Removed Maestro from Junie (~/.junie/mcp/mcp.json).
    Removed Maestro from Claude Desktop (~/.config/Claude/claude_desktop_config.json).
    Removed Maestro from Amp (~/.config/amp/settings.json).
    Removed Maestro from Cline (~/.cline/data/settings/cline_mcp_settings.json).
    Removed Maestro from Crush (~/.config/crush/crush.json).
    ");
    for (client, path, text) in FILES {
        assert_eq!(fs::read_to_string(sandbox.path(path)).unwrap(), text, "{client}");
        assert!(!sandbox.path(&format!("{path}.before-maestro")).exists(), "what was kept of {client} is of no use");
    }
    assert_snapshot!(sandbox.maestro("disconnect cursor"), @"
    $ maestro disconnect cursor
    Cursor is not connected (~/.cursor/mcp.json).
    ");
    assert_snapshot!(sandbox.maestro("disconnect all"), @"
    $ maestro disconnect all
    No tools are connected.
    ");
}

#[test]
fn a_file_that_is_not_there_is_made_and_goes_again() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.maestro("connect claude-code goose codex --create"), @"
    $ maestro connect claude-code goose codex --create
    Added Maestro to Claude Code (created ~/.claude.json).
    Added Maestro to Goose (created ~/.config/goose/config.yaml).
    Added Maestro to Codex (created ~/.codex/config.toml).
    Restart these tools to load it; `maestro doctor` checks the connection.
    ");
    for path in ["~/.claude.json", "~/.config/goose/config.yaml", "~/.codex/config.toml"] {
        assert_snapshot!(sandbox.normal(&fs::read_to_string(sandbox.path(path)).unwrap()));
    }
    assert_eq!(sandbox.maestro("disconnect claude-code goose codex").code, 0);
    for path in ["~/.claude.json", "~/.config/goose/config.yaml", "~/.codex/config.toml"] {
        assert!(!sandbox.path(path).exists(), "{path}");
    }
}

#[test]
fn what_somebody_changed_meanwhile_stays() {
    let sandbox = with_files();
    sandbox.maestro("connect all");
    for (_, path, _) in FILES {
        let text = fs::read_to_string(sandbox.path(path)).unwrap();
        // Somebody has another idea of how Maestro is started, and added a line elsewhere.
        let changed = text.replace(MAESTRO, "/elsewhere/maestro").replacen("mine", "ours", 1);
        assert_ne!(text, changed);
        sandbox.write(path, changed);
    }
    assert_eq!(sandbox.maestro("disconnect all").code, 0);
    for (client, path, text) in FILES {
        let left = fs::read_to_string(sandbox.path(path)).unwrap();
        assert!(!left.contains("maestro"), "{client}:\n{left}");
        if text.contains("mine") {
            assert!(left.contains("ours"), "{client}:\n{left}");
        }
    }
    let text = fs::read_to_string(sandbox.path("~/.config/opencode/opencode.jsonc")).unwrap();
    assert_snapshot!(text, @r#"
    // ours
    {
        "model": "m", /* why */
    }
    "#);
}

#[test]
fn an_entry_of_an_earlier_program_is_updated_and_called_that() {
    let sandbox = Sandbox::new();
    let entry = r#"{"mcpServers":{"maestro":{"command":"/old/maestro","args":["mcp"],"env":{"A":"b"}}}}"#;
    sandbox.write("~/.claude.json", entry);
    let done = sandbox.maestro("connect claude-code").stdout();
    assert!(done.starts_with("Updated Maestro in Claude Code (changed ~/.claude.json, backup in"), "{done}");
    let text = fs::read_to_string(sandbox.path("~/.claude.json")).unwrap();
    assert_eq!(text, entry.replace("/old/maestro", MAESTRO));
}

#[test]
fn without_memory_of_a_connection_only_the_entry_goes() {
    let sandbox = with_files();
    sandbox.maestro("connect cursor codex goose --create");
    fs::remove_file(sandbox.path("~/.maestro/connections.json")).unwrap();
    assert_eq!(sandbox.maestro("disconnect cursor codex goose").code, 0);
    for (client, path, text) in FILES.iter().filter(|(client, ..)| ["cursor", "codex", "goose"].contains(client)) {
        let left = fs::read_to_string(sandbox.path(path)).unwrap();
        assert_eq!(left.trim_end(), text.trim_end(), "{client}");
    }
}

#[test]
fn a_dry_run_shows_the_difference_and_writes_nothing() {
    let sandbox = with_files();
    let before = sandbox.tree();
    assert_snapshot!(sandbox.maestro("connect vscode codex --dry-run"), @r#"
    $ maestro connect vscode codex --dry-run
    --- ~/.config/Code/User/mcp.json
    +++ ~/.config/Code/User/mcp.json
    @@ -2,6 +2,13 @@
         // my servers
         "servers": {
             "x": { "url": "y" }, // keep
    +        "maestro": {
    +            "type": "stdio",
    +            "command": "[MAESTRO]",
    +            "args": [
    +                "mcp"
    +            ]
    +        },
         },
         "inputs": []
     }
    --- ~/.codex/config.toml
    +++ ~/.codex/config.toml
    @@ -6,3 +6,7 @@
     
     [features]
     hooks = true
    +
    +[mcp_servers.maestro]
    +command = "[MAESTRO]"
    +args = ["mcp"]
    "#);
    assert_snapshot!(sandbox.maestro("connect gemini --dry-run --json"), @r#"
    $ maestro connect gemini --dry-run --json
    {
      "clients": [
        {
          "client": "gemini",
          "parts": [
            "server"
          ],
          "file": "[HOME]/.gemini/settings.json",
          "state": "would_connect",
          "backup": null,
          "diff": "--- ~/.gemini/settings.json\n+++ ~/.gemini/settings.json\n@@ -1,4 +1,12 @@\n {\n   \"security\": {\"auth\": {}},\n-  \"unknown\": [1,2 ,3]\n+  \"unknown\": [1,2 ,3],\n+  \"mcpServers\": {\n+    \"maestro\": {\n+      \"command\": \"[MAESTRO]\",\n+      \"args\": [\n+        \"mcp\"\n+      ]\n+    }\n+  }\n }\n"
        }
      ]
    }
    "#);
    assert_eq!(sandbox.tree(), before);
    sandbox.maestro("connect gemini --create");
    let connected = sandbox.tree();
    assert_snapshot!(sandbox.maestro("disconnect gemini --dry-run"), @r#"
    $ maestro disconnect gemini --dry-run
    --- ~/.gemini/settings.json
    +++ ~/.gemini/settings.json
    @@ -1,12 +1,4 @@
     {
       "security": {"auth": {}},
    -  "unknown": [1,2 ,3],
    -  "mcpServers": {
    -    "maestro": {
    -      "command": "[MAESTRO]",
    -      "args": [
    -        "mcp"
    -      ]
    -    }
    -  }
    +  "unknown": [1,2 ,3]
     }
    "#);
    assert_eq!(sandbox.tree(), connected);
}

#[test]
fn a_projects_files_name_the_program_and_no_place_of_mine() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.maestro("connect claude-code cursor vscode --scope project"), @"
    $ maestro connect claude-code cursor vscode --scope project
    Added Maestro to Claude Code (created .mcp.json).
    Added Maestro to Cursor (created .cursor/mcp.json).
    Added Maestro to VS Code (created .vscode/mcp.json).
    Restart these tools to load it; `maestro doctor` checks the connection.
    ");
    let text = fs::read_to_string(sandbox.path(".mcp.json")).unwrap();
    let entry = json!({ "type": "stdio", "command": "maestro", "args": ["mcp"] });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap()["mcpServers"]["maestro"], entry);
    assert!(sandbox.path(".cursor/mcp.json").is_file() && sandbox.path(".vscode/mcp.json").is_file());
    assert_snapshot!(sandbox.maestro("connect goose --scope project"), @"
    $ maestro connect goose --scope project
    --- stderr
    error: Goose has no project settings
    hint: run `maestro connect goose` to change your own settings
    --- exit 1
    ");
}

#[test]
fn a_broken_file_is_left_alone_and_so_is_every_other() {
    let sandbox = with_files();
    sandbox.write("~/.gemini/settings.json", "{\n  \"a\": [1,\n}\n");
    sandbox.write("~/.codex/config.toml", "model = \n");
    let before = sandbox.tree();
    assert_snapshot!(sandbox.maestro("connect cursor gemini --create"), @"
    $ maestro connect cursor gemini --create
    --- stderr
    error: cannot read ~/.gemini/settings.json:3:1: Unexpected close brace
    hint: fix the file first; no file was changed
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("connect codex --create"), @"
    $ maestro connect codex --create
    --- stderr
    error: cannot read ~/.codex/config.toml:1:9: string values must be quoted, expected literal string
    hint: fix the file first; no file was changed
    --- exit 1
    ");
    assert_eq!(sandbox.tree(), before);
}

#[test]
fn what_is_called_maestro_and_is_none_is_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.cursor/mcp.json", "{\"mcpServers\": {\"maestro\": {\"command\": \"midi\"}}}");
    let before = sandbox.tree();
    assert_snapshot!(sandbox.maestro("connect cursor --create"), @"
    $ maestro connect cursor --create
    --- stderr
    error: ~/.cursor/mcp.json: `mcpServers.maestro` exists and is not from Maestro
    hint: rename or remove `mcpServers.maestro`; it does not start Maestro
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("disconnect cursor"), @"
    $ maestro disconnect cursor
    Kept the entry `maestro` in ~/.cursor/mcp.json: it does not start Maestro.
    ");
    assert_eq!(sandbox.tree(), before);
}

#[test]
fn a_link_stays_a_link_unless_it_leads_out_of_the_project() {
    let sandbox = Sandbox::new();
    sandbox.write("~/dotfiles/mcp.json", "{}\n");
    fs::create_dir(sandbox.path("~/.cursor")).unwrap();
    std::os::unix::fs::symlink(sandbox.path("~/dotfiles/mcp.json"), sandbox.path("~/.cursor/mcp.json")).unwrap();
    assert_eq!(sandbox.maestro("connect cursor --create").code, 0);
    assert!(sandbox.path("~/.cursor/mcp.json").is_symlink());
    assert!(fs::read_to_string(sandbox.path("~/dotfiles/mcp.json")).unwrap().contains("maestro"));
    assert_eq!(sandbox.maestro("disconnect cursor").code, 0);
    assert_eq!(fs::read_to_string(sandbox.path("~/dotfiles/mcp.json")).unwrap(), "{}\n");

    std::os::unix::fs::symlink(sandbox.path("~/dotfiles/mcp.json"), sandbox.path(".mcp.json")).unwrap();
    assert_snapshot!(sandbox.maestro("connect claude-code --scope project"), @"
    $ maestro connect claude-code --scope project
    --- stderr
    error: .mcp.json leads out of the project
    hint: replace the link with a file; Maestro does not write through it
    --- exit 1
    ");
    std::os::unix::fs::symlink("nowhere", sandbox.path("~/.claude.json")).unwrap();
    assert_snapshot!(sandbox.maestro("connect claude-code --create"), @"
    $ maestro connect claude-code --create
    --- stderr
    error: ~/.claude.json is a broken link
      because No such file or directory (os error 2)
    hint: fix or remove the link
    --- exit 1
    ");
}

#[test]
fn a_write_protected_file_stays_as_it_is() {
    let sandbox = with_files();
    let path = sandbox.path("~/.cursor/mcp.json");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let before = fs::read(&path).unwrap();
    assert_snapshot!(sandbox.maestro("connect cursor --create"), @"
    $ maestro connect cursor --create
    --- stderr
    error: cannot write ~/.cursor/mcp.json
      because write-protected
    hint: check the permissions of the file and its directory; it was not changed
    --- exit 1
    ");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert!(!sandbox.path("~/.cursor/mcp.json.before-maestro").exists());
    // Once it can be written, all is as if it had been from the beginning.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(sandbox.maestro("connect cursor --create").code, 0);
    assert_eq!(sandbox.maestro("disconnect cursor").code, 0);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_tool_that_nobody_knows_is_told_apart_from_one_that_is_not_here() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.maestro("connect cursr"), @"
    $ maestro connect cursr
    --- stderr
    error: unknown tool `cursr`
    hint: did you mean `cursor`?
    --- exit 2
    ");
    assert_snapshot!(sandbox.maestro("connect emacs"), @"
    $ maestro connect emacs
    --- stderr
    error: unknown tool `emacs`
    hint: available: claude-code, cursor, vscode, opencode, codex, gemini, goose, copilot, qwen, antigravity, zed, windsurf, kiro, junie, claude-desktop, amp, cline, crush, aider, all
    --- exit 2
    ");
    assert_snapshot!(sandbox.maestro("connect all"), @"
    $ maestro connect all
    --- stderr
    error: no supported tool found
    hint: name one with `--create` to connect it anyway: claude-code, cursor, vscode, opencode, codex, gemini, goose, copilot, qwen, antigravity, zed, windsurf, kiro, junie, claude-desktop, amp, cline, crush
    --- exit 2
    ");
}

#[test]
fn tools_that_keep_their_settings_elsewhere_are_found_there() {
    let sandbox = Sandbox::new();
    let (claude, codex) = (sandbox.path("~/claude"), sandbox.path("~/codex"));
    let variables = [("CLAUDE_CONFIG_DIR", claude.to_str().unwrap()), ("CODEX_HOME", codex.to_str().unwrap())];
    assert_eq!(sandbox.maestro_as(&variables, &["connect", "claude", "codex", "--create"]).code, 0);
    assert!(claude.join(".claude.json").is_file() && codex.join("config.toml").is_file());
}

#[test]
fn hooks_come_with_a_word_and_go_by_themselves() {
    let sandbox = with_files();
    let settings = "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\n    ]\n  }\n}\n";
    sandbox.write("~/.claude/settings.json", settings);
    assert_snapshot!(sandbox.maestro("connect claude-code codex gemini cursor --hooks --create"), @"
    $ maestro connect claude-code codex gemini cursor --hooks --create
    Added Maestro to Claude Code (changed ~/.claude.json, backup in ~/.claude.json.before-maestro).
    Added Maestro's hooks to Claude Code (changed ~/.claude/settings.json, backup in ~/.claude/settings.json.before-maestro).
    Added Maestro to Codex (changed ~/.codex/config.toml, backup in ~/.codex/config.toml.before-maestro).
    Added Maestro's hooks to Codex (created ~/.codex/hooks.json).
    Added Maestro and its hooks to Gemini CLI (changed ~/.gemini/settings.json, backup in ~/.gemini/settings.json.before-maestro).
    Added Maestro to Cursor (changed ~/.cursor/mcp.json, backup in ~/.cursor/mcp.json.before-maestro).
    Added Maestro's hooks to Cursor (created ~/.cursor/hooks.json).
    Restart these tools to load it; `maestro doctor` checks the connection.
    ");
    for path in ["~/.claude/settings.json", "~/.codex/hooks.json", "~/.gemini/settings.json"] {
        let text = fs::read_to_string(sandbox.path(path)).unwrap();
        assert_snapshot!(sandbox.normal(&text));
    }
    let once = sandbox.tree();
    assert_eq!(sandbox.maestro("connect claude-code codex gemini cursor --hooks --create").code, 0);
    assert_eq!(sandbox.tree(), once);
    assert_snapshot!(sandbox.maestro("disconnect claude-code codex gemini"), @"
    $ maestro disconnect claude-code codex gemini
    Removed Maestro from Claude Code (~/.claude.json).
    Removed Maestro's hooks from Claude Code (~/.claude/settings.json).
    Removed Maestro from Codex (~/.codex/config.toml).
    Removed Maestro's hooks from Codex (~/.codex/hooks.json).
    Removed Maestro from Gemini CLI (~/.gemini/settings.json).
    ");
    assert_eq!(fs::read_to_string(sandbox.path("~/.claude/settings.json")).unwrap(), settings);
    assert!(!sandbox.path("~/.codex/hooks.json").exists());
    for (client, path, text) in FILES.iter().filter(|(client, ..)| *client != "cursor") {
        assert_eq!(&fs::read_to_string(sandbox.path(path)).unwrap(), text, "{client}");
    }
}

#[test]
fn hooks_that_cannot_be_added_are_told_by_what_is_to_be_called() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.claude/settings.json", "{\"hooks\": {\"UserPromptSubmit\": \"weird\"}}");
    assert_snapshot!(sandbox.maestro("connect claude-code --hooks --create"), @"
    $ maestro connect claude-code --hooks --create
    --- stderr
    error: ~/.claude/settings.json: `hooks.UserPromptSubmit` is written in a way that cannot be added to or taken from
    hint: edit `hooks.UserPromptSubmit` by hand; Claude Code should call `maestro hook claude-code`
    --- exit 1
    ");
}

#[test]
fn what_is_there_for_maestro_alone_does_not_make_a_tool_installed() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.maestro("connect cursor vscode codex gemini --workflow session-start --create").code, 0);
    for path in
        ["~/.cursor/mcp.json", "~/.config/Code/User/mcp.json", "~/.codex/config.toml", "~/.gemini/settings.json"]
    {
        fs::remove_file(sandbox.path(path)).unwrap();
    }
    fs::create_dir_all(sandbox.path("~/.config/goose")).unwrap();
    assert_eq!(sandbox.maestro("connect all").code, 2);
    // Cursor keeps more than settings there, and the program of Codex is on the PATH.
    fs::create_dir(sandbox.path("~/.cursor/extensions")).unwrap();
    sandbox.install("codex");
    assert_snapshot!(sandbox.maestro("connect all"), @"
    $ maestro connect all
    Added Maestro to Cursor (created ~/.cursor/mcp.json).
    Added Maestro to Codex (created ~/.codex/config.toml).
    Restart these tools to load it; `maestro doctor` checks the connection.
    ");
}

#[test]
fn a_tool_with_two_files_is_connected_once_and_disconnected_in_both() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.config/opencode/opencode.jsonc", "{}\n");
    assert_eq!(sandbox.maestro("connect opencode --create").code, 0);
    sandbox.write("~/.config/opencode/opencode.json", "{}\n");
    assert_snapshot!(sandbox.maestro("connect opencode --create"), @"
    $ maestro connect opencode --create
    OpenCode already has Maestro (~/.config/opencode/opencode.jsonc).
    ");
    // Somebody wrote the same into the other one.
    let text = fs::read_to_string(sandbox.path("~/.config/opencode/opencode.jsonc")).unwrap();
    sandbox.write("~/.config/opencode/opencode.json", text);
    assert_snapshot!(sandbox.maestro("disconnect opencode"), @"
    $ maestro disconnect opencode
    Removed Maestro from OpenCode (~/.config/opencode/opencode.json).
    Removed Maestro from OpenCode (~/.config/opencode/opencode.jsonc).
    ");
    assert_eq!(fs::read_to_string(sandbox.path("~/.config/opencode/opencode.jsonc")).unwrap(), "{}\n");
    assert_snapshot!(sandbox.maestro("disconnect opencode"), @"
    $ maestro disconnect opencode
    OpenCode is not connected (~/.config/opencode/opencode.json).
    ");
}

#[test]
fn hooks_that_come_later_go_with_the_rest() {
    let sandbox = with_files();
    sandbox.maestro("connect gemini --create");
    sandbox.maestro("connect gemini --hooks --create");
    assert_eq!(sandbox.maestro("disconnect gemini").code, 0);
    let (_, path, text) = FILES.iter().find(|(client, ..)| *client == "gemini").unwrap();
    assert_eq!(&fs::read_to_string(sandbox.path(path)).unwrap(), text);
}

#[test]
fn no_settings_are_created_for_a_tool_that_is_not_installed() {
    let sandbox = Sandbox::new();
    let before = sandbox.tree();
    assert_snapshot!(sandbox.maestro("connect cursor"), @"
    $ maestro connect cursor
    --- stderr
    error: Cursor is not installed here; nothing was changed
    hint: `maestro connect cursor --create` creates its settings anyway, `--scope project` adds it to this project
    --- exit 2
    ");
    assert_eq!(sandbox.tree(), before);
    sandbox.write("~/.claude/settings.json", "{}\n");
    assert_eq!(sandbox.maestro("connect claude-code").code, 0, "its hooks are set there");
}
