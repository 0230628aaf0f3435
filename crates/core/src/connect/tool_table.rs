//! Table of the tools that can be connected: their files, how they name a server, and how they speak.

use serde_json::json;

use super::{BaseDir, ClientIdentity, ConnectableTool, SettingsFormat, SettingsLocation, SettingsScope};

/// What is known of a tool.
pub(super) struct ToolFacts {
    title: &'static str,
    /// The program that shows that it is installed.
    program: &'static str,
    /// What it calls itself, and the protocol's revision that it speaks.
    client: (&'static str, &'static str),
    abilities: ClientAbilities,
    user: SettingsLocation,
    project: Option<SettingsLocation>,
    /// Where it alone looks for skills, of the user and in a project; a directory that others read as well has no file of
    /// one tool.
    pub(super) skills: Option<[(BaseDir, &'static str); 2]>,
    pub(super) entry: EntryShape,
    pub(super) workspace: WorkspaceVariable,
}

/// What a client says that it can do.
#[derive(Clone, Copy)]
enum ClientAbilities {
    Nothing,
    Roots,
    RootsAndForms,
    /// Forms and pages to open.
    Forms,
}

/// How a tool's file names a server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryShape {
    /// Below `mcpServers`.
    Plain,
    /// Below `mcpServers`, with `type: stdio`.
    Stdio,
    /// Below `mcpServers`, with `type: local` and the tools that are allowed.
    Local,
    /// Below `servers`, with `type: stdio`.
    Servers,
    /// Below `mcp`, as OpenCode's versions have it.
    OpenCode,
    /// Below `mcp_servers`.
    Codex,
    /// Below `extensions`.
    Goose,
    /// Below `context_servers`.
    Context,
    /// Below `amp.mcpServers`, which is one key.
    Amp,
    /// Below `mcp`, with `type: stdio`.
    Crush,
}

/// Where a tool replaces a variable in a server's arguments by the folder that is open.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkspaceVariable {
    /// Nowhere; it starts servers in that folder, or tells them of it.
    Absent,
    /// In a project's file. In the user's it fails where no folder is open.
    InProject,
    /// In every file.
    Everywhere,
}

const fn json_file(base: BaseDir, names: &'static [&'static str]) -> SettingsLocation {
    SettingsLocation { base, names, format: SettingsFormat::Json }
}

const fn home(names: &'static [&'static str]) -> SettingsLocation {
    json_file(BaseDir::Home, names)
}

const fn project(names: &'static [&'static str]) -> SettingsLocation {
    json_file(BaseDir::Project, names)
}

/// The directories of skills that have the same name at home and in a project.
const fn skills(name: &'static str) -> [(BaseDir, &'static str); 2] {
    [(BaseDir::Home, name), (BaseDir::Project, name)]
}

/// A tool of which only the least is known: it speaks the revision that most do, and can do nothing besides.
const fn plain(title: &'static str, program: &'static str, client: &'static str, user: SettingsLocation) -> ToolFacts {
    ToolFacts {
        title,
        program,
        client: (client, "2025-06-18"),
        abilities: ClientAbilities::Nothing,
        user,
        project: None,
        skills: None,
        entry: EntryShape::Plain,
        workspace: WorkspaceVariable::Absent,
    }
}

const CLAUDE_CODE: ToolFacts = ToolFacts {
    client: ("claude-code", "2025-11-25"),
    abilities: ClientAbilities::RootsAndForms,
    project: Some(project(&[".mcp.json"])),
    skills: Some([(BaseDir::ClaudeSettings, "skills"), (BaseDir::Project, ".claude/skills")]),
    entry: EntryShape::Stdio,
    ..plain("Claude Code", "claude", "claude-code", json_file(BaseDir::ClaudeConfig, &[".claude.json"]))
};

const CURSOR: ToolFacts = ToolFacts {
    abilities: ClientAbilities::RootsAndForms,
    project: Some(project(&[".cursor/mcp.json"])),
    skills: Some(skills(".cursor/skills")),
    workspace: WorkspaceVariable::Everywhere,
    ..plain("Cursor", "cursor", "cursor-vscode", home(&[".cursor/mcp.json"]))
};

const VS_CODE: ToolFacts = ToolFacts {
    client: ("Visual Studio Code", "2025-11-25"),
    abilities: ClientAbilities::RootsAndForms,
    project: Some(project(&[".vscode/mcp.json"])),
    entry: EntryShape::Servers,
    workspace: WorkspaceVariable::InProject,
    ..plain("VS Code", "code", "Visual Studio Code", json_file(BaseDir::VsCodeUser, &["mcp.json"]))
};

const OPEN_CODE: ToolFacts = ToolFacts {
    client: ("opencode", "2025-11-25"),
    abilities: ClientAbilities::Roots,
    project: Some(project(&["opencode.json", "opencode.jsonc"])),
    skills: Some([(BaseDir::Config, "opencode/skills"), (BaseDir::Project, ".opencode/skills")]),
    entry: EntryShape::OpenCode,
    ..plain(
        "OpenCode",
        "opencode",
        "opencode",
        json_file(BaseDir::Config, &["opencode/opencode.json", "opencode/opencode.jsonc"]),
    )
};

const CODEX: ToolFacts = ToolFacts {
    abilities: ClientAbilities::Forms,
    project: Some(SettingsLocation {
        base: BaseDir::Project,
        names: &[".codex/config.toml"],
        format: SettingsFormat::Toml,
    }),
    skills: Some([(BaseDir::CodexHome, "skills"), (BaseDir::Project, ".codex/skills")]),
    entry: EntryShape::Codex,
    ..plain(
        "Codex",
        "codex",
        "codex-mcp-client",
        SettingsLocation { base: BaseDir::CodexHome, names: &["config.toml"], format: SettingsFormat::Toml },
    )
};

const GEMINI: ToolFacts = ToolFacts {
    abilities: ClientAbilities::Roots,
    project: Some(project(&[".gemini/settings.json"])),
    skills: Some(skills(".gemini/skills")),
    ..plain("Gemini CLI", "gemini", "gemini-cli-mcp-client", home(&[".gemini/settings.json"]))
};

const GOOSE: ToolFacts = ToolFacts {
    client: ("goose-cli", "2026-07-28"),
    abilities: ClientAbilities::RootsAndForms,
    skills: Some([(BaseDir::Config, "goose/skills"), (BaseDir::Project, ".goose/skills")]),
    entry: EntryShape::Goose,
    ..plain(
        "Goose",
        "goose",
        "goose-cli",
        SettingsLocation { base: BaseDir::Config, names: &["goose/config.yaml"], format: SettingsFormat::Yaml },
    )
};

const COPILOT: ToolFacts = ToolFacts {
    project: Some(project(&[".github/mcp.json"])),
    skills: Some([(BaseDir::CopilotHome, "skills"), (BaseDir::Project, ".github/skills")]),
    entry: EntryShape::Local,
    ..plain(
        "GitHub Copilot CLI",
        "copilot",
        "github-copilot-developer",
        json_file(BaseDir::CopilotHome, &["mcp-config.json"]),
    )
};

const QWEN: ToolFacts = ToolFacts {
    abilities: ClientAbilities::Roots,
    project: Some(project(&[".qwen/settings.json"])),
    skills: Some(skills(".qwen/skills")),
    ..plain("Qwen Code", "qwen", "qwen-code-mcp-client", home(&[".qwen/settings.json"]))
};

const ANTIGRAVITY: ToolFacts = ToolFacts {
    project: Some(project(&[".agents/mcp_config.json"])),
    ..plain(
        "Antigravity",
        "agy",
        "antigravity-client",
        home(&[".gemini/config/mcp_config.json", ".gemini/antigravity/mcp_config.json"]),
    )
};

const ZED: ToolFacts = ToolFacts {
    project: Some(project(&[".zed/settings.json"])),
    entry: EntryShape::Context,
    ..plain("Zed", "zed", "Zed", json_file(BaseDir::Config, &["zed/settings.json"]))
};

const WINDSURF: ToolFacts = ToolFacts {
    skills: Some([(BaseDir::Home, ".codeium/windsurf/skills"), (BaseDir::Project, ".windsurf/skills")]),
    ..plain("Windsurf", "windsurf", "windsurf-client", home(&[".codeium/windsurf/mcp_config.json"]))
};

const KIRO: ToolFacts = ToolFacts {
    project: Some(project(&[".kiro/settings/mcp.json"])),
    skills: Some(skills(".kiro/skills")),
    ..plain("Kiro", "kiro-cli", "kiro", home(&[".kiro/settings/mcp.json"]))
};

const JUNIE: ToolFacts = ToolFacts {
    project: Some(project(&[".junie/mcp/mcp.json"])),
    skills: Some(skills(".junie/skills")),
    ..plain("Junie", "junie", "junie", home(&[".junie/mcp/mcp.json"]))
};

const CLAUDE_DESKTOP: ToolFacts = plain(
    "Claude Desktop",
    "claude-desktop",
    "claude-ai",
    json_file(BaseDir::ClaudeDesktop, &["claude_desktop_config.json"]),
);

const AMP: ToolFacts = ToolFacts {
    project: Some(project(&[".amp/settings.json"])),
    entry: EntryShape::Amp,
    ..plain("Amp", "amp", "amp-mcp-client", json_file(BaseDir::Config, &["amp/settings.json"]))
};

const CLINE: ToolFacts = ToolFacts {
    skills: Some(skills(".cline/skills")),
    ..plain("Cline", "cline", "Cline", home(&[".cline/data/settings/cline_mcp_settings.json"]))
};

const CRUSH: ToolFacts = ToolFacts {
    project: Some(project(&["crush.json", ".crush.json"])),
    skills: Some([(BaseDir::Config, "crush/skills"), (BaseDir::Project, ".crush/skills")]),
    entry: EntryShape::Crush,
    ..plain("Crush", "crush", "crush", json_file(BaseDir::Config, &["crush/crush.json"]))
};

impl ConnectableTool {
    pub(super) fn facts(self) -> &'static ToolFacts {
        match self {
            Self::ClaudeCode => &CLAUDE_CODE,
            Self::Cursor => &CURSOR,
            Self::VsCode => &VS_CODE,
            Self::OpenCode => &OPEN_CODE,
            Self::Codex => &CODEX,
            Self::Gemini => &GEMINI,
            Self::Goose => &GOOSE,
            Self::Copilot => &COPILOT,
            Self::Qwen => &QWEN,
            Self::Antigravity => &ANTIGRAVITY,
            Self::Zed => &ZED,
            Self::Windsurf => &WINDSURF,
            Self::Kiro => &KIRO,
            Self::Junie => &JUNIE,
            Self::ClaudeDesktop => &CLAUDE_DESKTOP,
            Self::Amp => &AMP,
            Self::Cline => &CLINE,
            Self::Crush => &CRUSH,
        }
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        self.facts().title
    }

    /// The program that shows that it is installed.
    pub fn program(self) -> &'static str {
        self.facts().program
    }

    /// The tool of that name; what its program is called is another name of it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.as_str() == name || client.program() == name)
    }

    /// What it says first to an MCP server, as far as servers go by it.
    pub fn identity(self) -> ClientIdentity {
        let (name, revision) = self.facts().client;
        let abilities = match self.facts().abilities {
            ClientAbilities::Nothing => json!({}),
            ClientAbilities::Roots => json!({ "roots": {} }),
            ClientAbilities::RootsAndForms => json!({ "roots": {}, "elicitation": {} }),
            ClientAbilities::Forms => json!({ "elicitation": { "form": {}, "url": {} } }),
        };
        let us = json!({ "name": name, "version": env!("CARGO_PKG_VERSION") });
        match self {
            Self::Goose => ClientIdentity::WithEachRequest(json!({ "_meta": {
                "io.modelcontextprotocol/protocolVersion": revision,
                "io.modelcontextprotocol/clientCapabilities": abilities,
                "io.modelcontextprotocol/clientInfo": us,
            } })),
            _ => ClientIdentity::Handshake(
                json!({ "protocolVersion": revision, "capabilities": abilities, "clientInfo": us }),
            ),
        }
    }

    /// The file that names its MCP servers; some tools have none in a project.
    pub fn servers_file(self, scope: SettingsScope) -> Option<SettingsLocation> {
        match scope {
            SettingsScope::User => Some(self.facts().user),
            SettingsScope::Project => self.facts().project,
        }
    }

    /// The file that names what it calls when something happens; only some tools call anybody.
    pub fn hooks_file(self, scope: SettingsScope) -> Option<SettingsLocation> {
        match (self, scope) {
            (Self::ClaudeCode, SettingsScope::User) => Some(json_file(BaseDir::ClaudeSettings, &["settings.json"])),
            (Self::ClaudeCode, SettingsScope::Project) => Some(project(&[".claude/settings.json"])),
            (Self::Codex, SettingsScope::User) => Some(json_file(BaseDir::CodexHome, &["hooks.json"])),
            (Self::Codex, SettingsScope::Project) => Some(project(&[".codex/hooks.json"])),
            (Self::Cursor, SettingsScope::User) => Some(home(&[".cursor/hooks.json"])),
            (Self::Cursor, SettingsScope::Project) => Some(project(&[".cursor/hooks.json"])),
            (Self::Gemini, _) => self.servers_file(scope),
            _ => None,
        }
    }
}
