"""How each agent is started so that it asks the scripted model, works without asking anybody, and leaves the user alone."""

import json
import os
from dataclasses import dataclass, field

AGENTS = ["goose", "codex", "claude", "opencode", "gemini", "aider", "copilot", "qwen", "cline"]
# Those that are also tried apart from Maestro, each in its own words.
BY_HAND = ["goose", "codex", "claude", "opencode", "gemini", "aider"]


@dataclass
class Run:
    """One call: what comes behind the program's name, what is said in its environment, and what is on its stdin."""

    args: list
    env: dict
    stdin: str | None = None
    files: dict = field(default_factory=dict)


def shell(name, command):
    """The call with which this agent's model runs a command."""
    # Qwen Code refuses a command that only sleeps.
    if name == "qwen" and command.startswith("sleep "):
        command = f"env {command}"
    return {
        "claude": {"tool": "Bash", "args": {"command": command, "description": "Runs it"}},
        "codex": {"tool": "exec_command", "args": {"cmd": command}},
        "opencode": {"tool": "bash", "args": {"command": command, "description": "Runs it"}},
        "gemini": {"tool": "run_shell_command", "args": {"command": command, "description": "Runs it"}},
        "goose": {"tool": "shell", "args": {"command": command}},
        "copilot": {"tool": "bash", "args": {"command": command, "description": "Runs it", "initial_wait": 600}},
        "qwen": {"tool": "run_shell_command", "args": {"command": command, "is_background": False}},
        "cline": {"tool": "run_commands", "args": {"commands": [command]}},
    }[name]


def write(name, directory, file, text):
    """The call with which this agent's model writes a file."""
    path = os.path.join(directory, file)
    patch = f"*** Begin Patch\n*** Add File: {file}\n+{text}\n*** End Patch"
    return {
        "claude": {"tool": "Write", "args": {"file_path": path, "content": text + "\n"}},
        # The model it does not know has no tool for it, so the shell's word is used, which Codex takes as its own.
        "codex": {"tool": "exec_command", "args": {"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF"}},
        "opencode": {"tool": "write", "args": {"filePath": path, "content": text + "\n"}},
        "gemini": {"tool": "write_file", "args": {"file_path": path, "content": text + "\n"}},
        "goose": {"tool": "write", "args": {"path": path, "content": text + "\n"}},
        "copilot": {"tool": "create", "args": {"path": path, "file_text": text + "\n"}},
        "qwen": {"tool": "write_file", "args": {"file_path": path, "content": text + "\n"}},
        "cline": {"tool": "editor", "args": {"path": path, "new_text": text + "\n"}},
        # The text is the call.
        "aider": {"text": f"I add it.\n\n{file}\n```\n{text}\n```\n"},
    }[name]


def rewrite(name, directory, file, text):
    """The calls with which this agent's model writes over a file that it did not write itself."""
    # Claude Code writes over nothing that it has not read.
    read = {"tool": "Read", "args": {"file_path": os.path.join(directory, file)}}
    return [*([read] if name == "claude" else []), write(name, directory, file, text)]


def tool(agent, tool, **args):
    """The call with which this agent's model uses a tool of the MCP server `maestro`."""
    # Codex keeps the server apart, and allows no hyphen.
    if agent == "codex":
        return {"tool": tool.replace("-", "_"), "namespace": "mcp__maestro", "args": args}
    before = {
        "claude": "mcp__maestro__", "gemini": "mcp_maestro_", "goose": "maestro__", "opencode": "maestro_",
        "copilot": "maestro-", "qwen": "mcp__maestro__", "cline": "maestro__",
    }[agent]
    return {"tool": before + tool, "args": args}


def load(name, skill):
    """The calls with which this agent's model loads a skill of the agent's own; none where the prompt has it loaded."""
    loaders = {
        "gemini": ("activate_skill", "name"), "goose": ("load_skill", "name"), "opencode": ("skill", "name"),
        "qwen": ("skill", "skill"), "cline": ("skills", "skill"),
    }
    # What its own tool loads is no result of a call, so a scripted model would call it again and again.
    if name == "copilot":
        return [shell(name, f"cat ~/.copilot/skills/{skill}/SKILL.md")]
    loader, parameter = loaders.get(name, (None, None))
    return [{"tool": loader, "args": {parameter: skill}}] if loader else []


# A model that is not the usual one, as Maestro is asked for it, and as the agent asks its server for it.
OTHER_MODELS = {
    "claude": ("claude-haiku-4-5", "claude-haiku-4-5"), "codex": ("gpt-5.2-codex", "gpt-5.2-codex"),
    "opencode": ("test/m2", "m2"), "gemini": ("gemini-2.5-flash", "gemini-2.5-flash"), "goose": ("gpt-4o-mini", "gpt-4o-mini"),
    "aider": ("openai/gpt-4o-mini", "gpt-4o-mini"), "copilot": ("claude-sonnet-4.5", "claude-sonnet-4.5"),
    "qwen": ("gpt-4o-mini", "gpt-4o-mini"), "cline": ("anthropic/claude-sonnet-4.6", "anthropic/claude-sonnet-4.6"),
}

# Where an agent looks for its model when nobody who starts it says one.
MODEL_VARIABLES = {"goose": "GOOSE_MODEL", "gemini": "GEMINI_MODEL"}


def ways(name):
    """How the prompt can be given."""
    return {"aider": ["argument", "file"], "goose": ["argument", "stdin", "file"]}.get(name, ["argument", "stdin"])


def run(name, url, home, prompt, way="stdin"):
    """The call that gives `prompt` to an agent."""
    by_argument, stdin, files = way == "argument", prompt if way == "stdin" else None, {}
    if way == "file":
        files = {f"{home}/prompt.md": prompt}
    if name == "claude":
        env = claude_env(url, home)
        args = ["-p"] + ([prompt] if by_argument else [])
        args += ["--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]
    elif name == "codex":
        env = {"CODEX_HOME": f"{home}/.codex", "TEST_KEY": "sk-test"}
        args = ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        args += [*codex_config(url), prompt if by_argument else "-"]
        files[f"{home}/.codex/config.toml"] = ""
    elif name == "opencode":
        env = opencode_env(url, home, "allow")
        args = ["run", "--format", "json", "--pure"] + ([prompt] if by_argument else [])
    elif name == "gemini":
        env = gemini_env(url)
        args = ["-m", "gemini-2.5-pro", "--approval-mode", "yolo", "--skip-trust", "-o", "stream-json"]
        args += ["-p", prompt] if by_argument else []
        files[f"{home}/.gemini/settings.json"] = GEMINI_SETTINGS
    elif name == "goose":
        env = goose_env(url, "auto")
        args = ["run", "--no-session", "--no-profile", "--with-builtin", "developer", "-q", "--output-format", "stream-json"]
        args += {"argument": ["-t", prompt], "stdin": ["-i", "-"], "file": ["-i", f"{home}/prompt.md"]}[way]
    else:
        env = {"OPENAI_API_BASE": f"{url}/v1", "OPENAI_API_KEY": "sk-test", "AIDER_ANALYTICS": "false"}
        args = [
            "--model", "openai/gpt-4o", "--edit-format", "whole", "--no-analytics", "--analytics-disable",
            "--no-check-update", "--no-show-release-notes", "--no-show-model-warnings", "--no-browser", "--no-pretty",
            "--no-fancy-input", "--no-gitignore", "--no-auto-commits", "--no-suggest-shell-commands",
            "--no-detect-urls", "--map-tokens", "0", "--yes-always",
        ]
        args += ["--message", prompt] if by_argument else ["--message-file", f"{home}/prompt.md"]
    return Run(args, env, stdin, files)


def named(name, run):
    """The call whose session can be taken up again; goose knows it only by a name that it was given."""
    if name == "goose":
        run.args = [arg for arg in run.args if arg != "--no-session"] + ["--name", "mine"]
    return run


def resumed(name, run, session):
    """The call that takes a session up, with another prompt; Aider has none."""
    if name == "codex":
        run.args = ["exec", "resume", *run.args[1:-1], session, run.args[-1]]
    elif name == "goose":
        run = named(name, run)
        run.args.append("--resume")
    else:
        run.args += {"claude": ["--resume", session], "gemini": ["--resume", session], "opencode": ["--session", session]}[name]
    return run


def acp(name, url, home):
    """The call that starts an agent as one end of the Agent Client Protocol, asking before it does anything."""
    if name == "gemini":
        files = {f"{home}/.gemini/settings.json": GEMINI_SETTINGS}
        return Run(["--acp", "-m", "gemini-2.5-pro", "--skip-trust"], gemini_env(url), files=files)
    if name == "opencode":
        return Run(["acp", "--pure"], opencode_env(url, home, {"bash": "ask", "edit": "ask"}))
    return Run(["acp", "--with-builtin", "developer"], goose_env(url, "approve"))


def claude_session(url, home, session=None):
    """Claude Code with messages in both directions, asking before it does anything."""
    args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    args += ["--permission-prompt-tool", "stdio", "--permission-mode", "default"]
    return Run(args + (["--resume", session] if session else []), claude_env(url, home))


def codex_session(url, home):
    """Codex' app server, which asks before it does anything when a thread is opened so."""
    env = {"CODEX_HOME": f"{home}/.codex", "TEST_KEY": "sk-test"}
    return Run(["app-server", *codex_config(url)], env, files={f"{home}/.codex/config.toml": ""})


def at_home(name, url, home):
    """What a user has set up who works with the scripted model: variables, files in the home directory, and the model.

    How an agent is called is not said here: it is what Maestro knows."""
    if name == "claude":
        seen = json.dumps({"hasCompletedOnboarding": True})
        return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-test"}, {f"{home}/.claude.json": seen}, None
    if name == "codex":
        provider = {
            "name": "test", "base_url": f"{url}/v1", "wire_api": "responses", "env_key": "TEST_KEY",
            "request_max_retries": 1, "stream_max_retries": 1, "supports_websockets": False,
        }
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in provider.items())
        config = f'model_provider = "test"\nmodel = "gpt-5.1-codex"\n[model_providers.test]\n{lines}'
        return {"TEST_KEY": "sk-test"}, {f"{home}/.codex/config.toml": config}, None
    if name == "opencode":
        config = json.dumps(opencode_config(url) | {"permission": "ask"})
        return {"OPENCODE_DISABLE_MODELS_FETCH": "1"}, {f"{home}/.config/opencode/opencode.json": config}, None
    if name == "gemini":
        env = {"GEMINI_API_KEY": "test", "GOOGLE_GEMINI_BASE_URL": url}
        return env, {f"{home}/.gemini/settings.json": GEMINI_SETTINGS}, "gemini-2.5-pro"
    if name == "goose":
        env = {"GOOSE_PROVIDER": "openai", "OPENAI_API_KEY": "sk-test", "OPENAI_HOST": url, "GOOSE_DISABLE_KEYRING": "1"}
        return env, {}, "gpt-4o"
    if name == "copilot":
        # What tools it has depends on the model; this one writes files with `create`.
        env = {"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": "sk-test", "COPILOT_OFFLINE": "true"}
        return env | {"COPILOT_MODEL": "claude-sonnet-4"}, {}, "claude-sonnet-4"
    if name == "qwen":
        return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "sk-test", "OPENAI_MODEL": "gpt-4o"}, {}, "gpt-4o"
    if name == "cline":
        return {"CLINE_API_KEY": "sk-test", "CLINE_API_BASE_URL": url}, {}, "anthropic/claude-opus-5.5"
    env = {"OPENAI_API_BASE": f"{url}/v1", "OPENAI_API_KEY": "sk-test", "AIDER_EDIT_FORMAT": "whole", "AIDER_MAP_TOKENS": "0"}
    return env, {}, "openai/gpt-4o"


# What stands for the prompt in a call that takes it as an argument.
PROMPT = "{prompt}"


def by_hand(name, session=None):
    """The call with which a user who is set up as `at_home` says gives a prompt, on stdin or in the place of `PROMPT`, to a
    session that was if need be.

    The second part is what else is said in its environment."""
    if name == "claude":
        args = ["-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]
        env = {"IS_SANDBOX": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        return args + (["--resume", session] if session else []), env
    if name == "codex":
        # Nobody is there to approve a call or to review a hook; a login shell would set another PATH.
        settings = {
            "mcp_servers.maestro.default_tools_approval_mode": "approve", "sandbox_mode": "danger-full-access",
            "allow_login_shell": "false",
        }
        args = ["--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
        args += [part for key, value in settings.items() for part in ["-c", f"{key}={value}"]]
        return ["exec", *(["resume"] if session else []), *args, *([session] if session else []), "-"], {}
    if name == "gemini":
        args = ["--approval-mode", "yolo", "--skip-trust", "-o", "stream-json"]
        return args + (["--resume", session] if session else []), {"GEMINI_CLI_NO_RELAUNCH": "true"}
    if name == "opencode":
        return ["run", "--format", "json"], {"OPENCODE_PERMISSION": json.dumps({"*": "allow"})}
    if name == "copilot":
        return ["-p", PROMPT, "--allow-all-tools", "--allow-all-paths", "--no-auto-update", "--disable-builtin-mcps"], {}
    if name == "qwen":
        return ["--approval-mode", "yolo", "-o", "stream-json", PROMPT], {}
    if name == "cline":
        return ["--json", "-m", "anthropic/claude-opus-5.5", PROMPT], {}
    return ["run", "--no-session", "-q", "--output-format", "stream-json", "-i", "-"], {"GOOSE_MODE": "auto"}


def claude_env(url, home):
    return {
        "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-test", "CLAUDE_CONFIG_DIR": f"{home}/.claude",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1", "CLAUDE_CODE_MAX_RETRIES": "1",
    }


def codex_config(url):
    provider = (
        f'{{name="test",base_url="{url}/v1",wire_api="responses",env_key="TEST_KEY",request_max_retries=1,'
        "stream_max_retries=1,supports_websockets=false}"
    )
    settings = [
        "model_provider=test", f"model_providers.test={provider}", "model=gpt-5.1-codex", "analytics.enabled=false",
        "otel.exporter=none", "check_for_update_on_startup=false",
    ]
    return [part for setting in settings for part in ["-c", setting]]


GEMINI_SETTINGS = json.dumps({
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"disableAutoUpdate": True, "maxAttempts": 2},
    "telemetry": {"enabled": False},
})


def gemini_env(url):
    return {
        "GEMINI_API_KEY": "test", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_NO_RELAUNCH": "true",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def goose_env(url, mode):
    return {
        "GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "gpt-4o", "OPENAI_API_KEY": "sk-test", "OPENAI_HOST": url,
        "GOOSE_DISABLE_KEYRING": "1", "GOOSE_TELEMETRY_ENABLED": "false", "GOOSE_MODE": mode,
    }


def opencode_config(url):
    return {
        "autoupdate": False, "share": "disabled", "snapshot": False, "model": "test/m1", "small_model": "test/m1",
        "enabled_providers": ["test"],
        "provider": {"test": {
            "npm": "@ai-sdk/openai-compatible", "name": "Test", "options": {"baseURL": f"{url}/v1", "apiKey": "sk-test"},
            "models": {
                name: {"name": name, "limit": {"context": 128000, "output": 8192}, "cost": {"input": 1, "output": 2}}
                for name in ["m1", "m2"]
            },
        }},
    }


def opencode_env(url, home, permission):
    config = opencode_config(url) | {"permission": permission}
    env = {f"XDG_{kind}_HOME": f"{home}/.{kind.lower()}" for kind in ["DATA", "CONFIG", "STATE", "CACHE"]}
    return env | {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    }
