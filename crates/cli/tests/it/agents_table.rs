//! `maestro agents`: which agents are known, where they are, how each is started, and whether it answers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::json;

use crate::sandbox::Sandbox;

const OWN: &str = r#"
[rover]
title = "Rover"
prefer = ["json"]
env = { AMP_TOKEN = "hidden" }
mcp = "{server}:{tool}"
writes = ["~/.rover"]

[rover.json]
programs = ["~/tools/rover", "rover"]
args = ["-x", "two words"]
permissions = { all = ["--yolo"] }
format = "claude"

[claude]
prefer = ["acp"]
reason = "I like to be asked"
"#;

/// Puts a script on the `PATH`.
fn script(sandbox: &Sandbox, program: &str, text: &str) {
    executable(&sandbox.path(&format!("~/bin/{program}")), text);
}

fn executable(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_list_says_where_each_is_and_how_it_is_spoken_with_and_starts_nothing() {
    let sandbox = Sandbox::new();
    for program in ["claude", "codex-acp", "goose", "cursor-agent"] {
        sandbox.install(program);
    }
    let before = sandbox.tree();
    assert_snapshot!(sandbox.maestro("agents"), @"
    $ maestro agents
    * claude    Claude Code         json  ~/bin/claude        the installed program and its login; the protocol needs an adapter
      codex     Codex               acp   ~/bin/codex-acp     `codex` is not installed, so `codex-acp`
      opencode  OpenCode            –     not installed       not found: opencode
      gemini    Gemini CLI          –     not installed       not found: gemini
      goose     Goose               acp   ~/bin/goose         the installed program speaks the protocol itself, and can ask
      aider     Aider               –     not installed       not found: aider
      copilot   GitHub Copilot CLI  –     not installed       not found: copilot
      qwen      Qwen Code           –     not installed       not found: qwen
      cline     Cline               –     not installed       not found: cline
      kiro      Kiro                –     not installed       not found: kiro-cli
      cursor    Cursor              acp   ~/bin/cursor-agent  the installed program speaks the protocol itself, and can ask
      amp       Amp                 –     not installed       not found: amp
      demo      Demonstration       json  this program        it is part of this program
      command   A command           text  your own program    nothing is known of it

    * default agent: the first one installed
    ");
    sandbox.maestro("agents --json");
    assert_eq!(sandbox.tree(), before);
}

#[test]
fn without_any_the_list_says_so() {
    assert_snapshot!(Sandbox::new().maestro("agents"), @"
    $ maestro agents
      claude    Claude Code         –     not installed     not found: claude, claude-agent-acp
      codex     Codex               –     not installed     not found: codex, codex-acp
      opencode  OpenCode            –     not installed     not found: opencode
      gemini    Gemini CLI          –     not installed     not found: gemini
      goose     Goose               –     not installed     not found: goose
      aider     Aider               –     not installed     not found: aider
      copilot   GitHub Copilot CLI  –     not installed     not found: copilot
      qwen      Qwen Code           –     not installed     not found: qwen
      cline     Cline               –     not installed     not found: cline
      kiro      Kiro                –     not installed     not found: kiro-cli
      cursor    Cursor              –     not installed     not found: cursor-agent
      amp       Amp                 –     not installed     not found: amp
      demo      Demonstration       json  this program      it is part of this program
      command   A command           text  your own program  nothing is known of it

    No coding agent found. `demo` is part of Maestro and needs no model.
    ");
}

#[test]
fn everything_about_one_is_shown() {
    let sandbox = Sandbox::new();
    sandbox.install("claude");
    assert_snapshot!(sandbox.maestro("agents claude"), @"
    $ maestro agents claude
    claude  Claude Code

      program       ~/bin/claude
      driver        json: the installed program and its login; the protocol needs an adapter
      runs          claude -p --input-format stream-json --output-format stream-json --verbose --permission-prompt-tool stdio --disallowedTools AskUserQuestion,EnterPlanMode,ExitPlanMode --session-id {session}
      prompt        as a message on its standard input
      mode ask      --permission-mode default --allowedTools 'Bash(maestro:*)'
      mode edits    --permission-mode acceptEdits --allowedTools 'Bash(maestro:*)'
      mode all      --dangerously-skip-permissions, $IS_SANDBOX
      model         --model {model}
      resumes       --resume {session}
      or            acp: claude-agent-acp (not installed)
      variables     CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC, CLAUDE_CODE_MAX_RETRIES, DISABLE_AUTOUPDATER, DISABLE_ERROR_REPORTING, DISABLE_TELEMETRY
      reports       with `maestro` commands while it works
      MCP tools     mcp__{server}__{tool}
      instructions  CLAUDE.md
      skills        .claude/skills
      writes        ~/.claude, ~/.claude.json
      described     built in
      default       yes: the first one installed
    ");
    assert_snapshot!(sandbox.maestro("agents goose"), @"
    $ maestro agents goose
    goose  Goose

      program       not installed
                    not found: goose
      driver        acp: the installed program speaks the protocol itself, and can ask
      runs          goose acp --with-builtin developer
      prompt        as a message of the protocol
      mode ask      $GOOSE_MODE
      mode edits    $GOOSE_MODE
      mode all      $GOOSE_MODE
      model         $GOOSE_MODEL
      resumes       by the protocol, if supported
      or            json: goose (not installed)
      variables     GOOSE_TELEMETRY_ENABLED
      reports       with `maestro` commands while it works
      MCP tools     {server}__{tool}
      instructions  AGENTS.md
      skills        .agents/skills, .claude/skills, .goose/skills
      writes        ~/.config/goose, ~/.local/share/goose, ~/.local/state/goose
      described     built in
    ");
}

#[test]
fn programs_get_everything_but_the_values_of_variables() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.config/maestro/agents.toml", OWN);
    executable(&sandbox.path("~/tools/rover"), "");
    let told = sandbox.maestro("agents rover --json");
    assert!(!told.stdout().contains("hidden"), "{told}");
    assert_snapshot!(told, @r#"
    $ maestro agents rover --json
    {
      "name": "rover",
      "title": "Rover",
      "default": true,
      "installed": true,
      "program": "[HOME]/tools/rover",
      "driver": "json",
      "why": "its only driver",
      "looked_for": [
        "~/tools/rover",
        "rover"
      ],
      "ways": [
        {
          "driver": "json",
          "programs": [
            "~/tools/rover",
            "rover"
          ],
          "arguments": [
            "-x",
            "two words"
          ],
          "prompt": "stdin",
          "model": [],
          "model_variable": null,
          "resume": [],
          "can_resume": false,
          "permissions": {
            "all": {
              "arguments": [
                "--yolo"
              ],
              "mode": null,
              "variables": []
            },
            "ask": {
              "arguments": [],
              "mode": null,
              "variables": []
            },
            "edits": {
              "arguments": [],
              "mode": null,
              "variables": []
            }
          }
        }
      ],
      "variables": [
        "AMP_TOKEN"
      ],
      "reporting": "able",
      "mcp": "{server}:{tool}",
      "instructions": null,
      "skills": [],
      "writes": [
        "[HOME]/.rover"
      ],
      "leaves": [],
      "origins": [
        {
          "kind": "user",
          "path": "[HOME]/.config/maestro/agents.toml"
        }
      ],
      "problems": []
    }
    "#);
    let all = sandbox.maestro("agents --json").json();
    let names: Vec<_> = all["agents"].as_array().unwrap().iter().map(|agent| agent["name"].clone()).collect();
    assert_eq!(
        json!(names),
        json!([
            "claude", "codex", "opencode", "gemini", "goose", "aider", "copilot", "qwen", "cline", "kiro", "cursor",
            "amp", "demo", "command", "rover",
        ])
    );
    assert_eq!(all["problems"], json!([]));
}

#[test]
fn a_file_of_ones_own_adds_and_changes() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.config/maestro/agents.toml", OWN);
    for program in ["claude", "claude-agent-acp", "rover"] {
        sandbox.install(program);
    }
    assert_snapshot!(sandbox.maestro("agents"), @"
    $ maestro agents
    * claude    Claude Code         acp   ~/bin/claude-agent-acp  I like to be asked
      codex     Codex               –     not installed           not found: codex, codex-acp
      opencode  OpenCode            –     not installed           not found: opencode
      gemini    Gemini CLI          –     not installed           not found: gemini
      goose     Goose               –     not installed           not found: goose
      aider     Aider               –     not installed           not found: aider
      copilot   GitHub Copilot CLI  –     not installed           not found: copilot
      qwen      Qwen Code           –     not installed           not found: qwen
      cline     Cline               –     not installed           not found: cline
      kiro      Kiro                –     not installed           not found: kiro-cli
      cursor    Cursor              –     not installed           not found: cursor-agent
      amp       Amp                 –     not installed           not found: amp
      demo      Demonstration       json  this program            it is part of this program
      command   A command           text  your own program        nothing is known of it
      rover     Rover               json  ~/bin/rover             its only driver

    * default agent: the first one installed
    ");
    let claude = sandbox.maestro("agents claude").stdout();
    assert!(claude.contains("built in, changed by your ~/.config/maestro/agents.toml\n"), "{claude}");
    let rover = sandbox.maestro("agents rover").stdout();
    assert!(rover.contains("runs          rover -x 'two words'\n"), "{rover}");
    assert!(rover.contains("described     your ~/.config/maestro/agents.toml\n"), "{rover}");
}

#[test]
fn mistakes_are_told_with_their_place_wherever_agents_matter() {
    let sandbox = Sandbox::new();
    let text = "[claude]\ntitel = \"C\"\n[rover]\nprefer = [\"jsn\"]\n[rover.text]\nprograms = [\"./rover\"]\n";
    sandbox.write("~/.config/maestro/agents.toml", text);
    let listed = sandbox.maestro("agents");
    assert_eq!(listed.code, 1);
    assert_snapshot!(listed.stderr().replace(sandbox.home().to_str().unwrap(), "[HOME]"), @"
    error[config-invalid]: an agent has no `titel`
      --> [HOME]/.config/maestro/agents.toml:2:1
      hint: did you mean `title`?
    error[config-invalid]: `jsn` is not a valid driver
      --> [HOME]/.config/maestro/agents.toml:4:11
      hint: did you mean `json`?
    error[config-invalid]: `./rover` names no program
      --> [HOME]/.config/maestro/agents.toml:6:13
      hint: write a name that is on the PATH, or a path that begins with `/` or `~/`
    ");
    assert!(listed.stdout().contains("  rover     rover "), "the rest counts: {listed}");
    let doctor = sandbox.maestro("doctor");
    assert!(doctor.code == 1 && doctor.stdout().contains("agents.toml:2:1"), "{doctor}");
    assert_eq!(sandbox.maestro("--json").json()["config_errors"], 3);
    sandbox.write("~/.config/maestro/agents.toml", b"[a]\n\xff");
    assert!(sandbox.maestro("agents").stderr().contains("not UTF-8"));
}

#[test]
fn what_a_project_describes_counts_once_it_is_allowed() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".maestro/agents.toml",
        "[claude.json]\nprograms = [\"evil\"]\n[team]\ntext = { programs = [\"team\"] }\n",
    );
    sandbox.install("claude");
    sandbox.install("evil");
    let program = || sandbox.maestro("agents claude --json").json()["looked_for"][0].clone();
    assert_eq!(program(), "claude");
    let listed = sandbox.maestro("agents");
    assert_eq!(listed.code, 0, "{listed}");
    assert_snapshot!(listed.stderr().replace(sandbox.project().to_str().unwrap(), "[PROJECT]"), @"
    warning[config-not-allowed]: this project's agents are not trusted yet; ignoring them
      --> [PROJECT]/.maestro/agents.toml:1:1
      hint: run `maestro trust --config` to review and allow them
    ");
    sandbox.write("~/.maestro/trust.json", "{");
    let unknown = sandbox.maestro("agents");
    assert!(unknown.stderr().contains("cannot check whether this project's agents are trusted: `"), "{unknown}");
    assert!(unknown.stderr().contains("/trust.json` is damaged: "), "{unknown}");
    fs::remove_file(sandbox.path("~/.maestro/trust.json")).unwrap();
    assert_eq!(sandbox.maestro("agents team").code, 2);
    assert!(sandbox.maestro("doctor").stdout().contains("warning[config-not-allowed]"));

    assert_snapshot!(sandbox.maestro("trust --config"), @r#"
    $ maestro trust --config
    agents  .maestro/agents.toml
        [claude.json]
        programs = ["evil"]
        [team]
        text = { programs = ["team"] }
    --- stderr
    error: confirmation required; nothing was allowed
    hint: run `maestro trust --config --yes`
    --- exit 1
    "#);
    let here = sandbox.maestro("trust").stdout();
    assert!(here.contains("  .maestro/agents.toml  run `maestro trust --config` to review and allow it"), "{here}");
    assert_eq!(sandbox.maestro("trust --config --yes").code, 0);
    assert_eq!(program(), "evil");
    let claude = sandbox.maestro("agents claude");
    assert!(claude.stdout().contains("built in, changed by the project's .maestro/agents.toml\n"), "{claude}");
    assert_eq!(sandbox.maestro("agents").stderr(), "");

    sandbox.write(".maestro/agents.toml", "[claude.json]\nprograms = [\"worse\"]\n");
    assert_eq!(program(), "claude");
    sandbox.write("~/.maestro/trust.json", "{");
    assert!(sandbox.maestro("agents").stderr().contains("cannot check whether this project's agents are trusted"));
}

#[test]
fn a_name_that_nobody_knows_is_not_found() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.maestro("agents cluade"), @"
    $ maestro agents cluade
    --- stderr
    error: unknown agent `cluade`
    hint: did you mean `claude`?
    hint: define your own agents in ~/.config/maestro/agents.toml
    --- exit 2
    ");
    let far = sandbox.maestro("agents zzzzzz");
    assert!(far.code == 2 && far.stderr().contains("available: claude, codex,"), "{far}");
}

#[test]
fn the_setting_says_which_is_started() {
    let sandbox = Sandbox::new();
    sandbox.install("claude");
    sandbox.write(".maestro/config.toml", "agent = \"codex\"\n");
    let listed = sandbox.maestro("agents").stdout();
    assert!(listed.contains("* codex ") && listed.contains("  claude "), "{listed}");
    assert!(listed.ends_with("* default agent: set by `agent` in .maestro/config.toml\n"), "{listed}");
    let one = sandbox.maestro("agents demo --set agent=demo").stdout();
    assert!(one.contains("default       yes: set by --set\n"), "{one}");
    let unknown = sandbox.maestro("agents --set agent=claud");
    assert!(
        unknown.code == 1 && unknown.stderr().contains("unknown agent `claud` in the setting `agent`"),
        "{unknown}"
    );
}

#[test]
fn those_that_are_installed_are_asked_and_say_what_they_are() {
    let sandbox = Sandbox::new();
    let greets = |answer: &str| format!("read line\necho '{answer}'\nread line");
    script(&sandbox, "claude", "[ \"$*\" = --version ] && echo '2.1.197 (Claude Code)'");
    script(&sandbox, "codex", "echo 'Error: no home' >&2\necho more >&2\nexit 1");
    script(&sandbox, "opencode", &greets(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2}}"#));
    script(&sandbox, "gemini", "echo hello");
    let agent = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"version":"1.52.0"}}}"#;
    script(&sandbox, "goose", &format!("echo noise\n{}", greets(agent)));
    let asked = sandbox.maestro("agents --check");
    assert_eq!(asked.code, 1);
    let shown = asked.to_string().replace(env!("CARGO_PKG_VERSION"), "[VERSION]");
    assert_snapshot!(shown, @"
    $ maestro agents --check
    * claude    Claude Code         json  ~/bin/claude      answers (2.1.197)
      codex     Codex               json  ~/bin/codex       exits with code 1: Error: no home
      opencode  OpenCode            acp   ~/bin/opencode    refuses: the agent speaks version 2 of the protocol
      gemini    Gemini CLI          acp   ~/bin/gemini      exits without a response
      goose     Goose               acp   ~/bin/goose       answers (1.52.0)
      aider     Aider               –     not installed     not found: aider
      copilot   GitHub Copilot CLI  –     not installed     not found: copilot
      qwen      Qwen Code           –     not installed     not found: qwen
      cline     Cline               –     not installed     not found: cline
      kiro      Kiro                –     not installed     not found: kiro-cli
      cursor    Cursor              –     not installed     not found: cursor-agent
      amp       Amp                 –     not installed     not found: amp
      demo      Demonstration       json  this program      answers ([VERSION])
      command   A command           text  your own program  nothing is known of it

    * default agent: the first one installed
    --- exit 1
    ");
    let claude = sandbox.maestro("agents claude --check --json");
    assert_eq!(claude.code, 0, "{claude}");
    let check = claude.json()["check"].clone();
    assert_eq!(check, json!({ "answers": true, "version": "2.1.197", "says": "answers (2.1.197)" }));
    assert_eq!(sandbox.maestro("agents aider --check").code, 1, "it is not installed");
    assert_eq!(sandbox.maestro("agents demo --check").code, 0);
}

#[test]
fn who_is_asked_speaks_for_nobody_and_touches_nothing_here() {
    let sandbox = Sandbox::new().with_variable("MAESTRO_SESSION_TOKEN", "secret").with_variable("OTHER", "o");
    script(&sandbox, "claude", "echo \"v1.${MAESTRO_SESSION_TOKEN}0$OTHER\"; : > here");
    let before = sandbox.tree();
    let asked = sandbox.maestro("agents claude --check --json").json();
    assert_eq!(asked["check"]["version"], "1.0o", "{asked}");
    let mut after = sandbox.tree();
    // As an agent that is started for the first time would do itself.
    after.remove(&sandbox.path("~/.claude"));
    assert_eq!(after, before);
}
