//! Maestro's entries in the settings of coding tools: which files, and what they say.
//!
//! Nothing is read or written here: a text goes in, and the text with Maestro's part in it, or without it, comes out.
//! Whatever else a file says stays as it is, byte for byte.

mod created_parents;
mod edit;
mod json;
mod settings_item;
mod toml;
mod trigger;
mod undo;
mod yaml;

#[cfg(test)]
mod tests;

pub use created_parents::{CreatedParents, missing_parents, take_out_empty};
pub use edit::{EditError, PutResult, RemoveResult, put, take_out};
pub use settings_item::{ItemSlot, ServerCommand, SettingsItem, calls_maestro, find_server_command, hooks, server};
pub use trigger::{WorkflowTrigger, aider_dir};
pub use undo::{FileUndo, PriorContent};

use serde_json::{Value as Json, json};

/// What Maestro is called in every tool's settings.
pub const SERVER: &str = "maestro";

crate::word_enum! {
    /// A tool whose settings can name Maestro, by its name on the command line.
    #[derive(PartialOrd, Ord)]
    pub enum ConnectableTool {
        /// Claude Code.
        ClaudeCode = "claude-code",
        /// Cursor.
        Cursor = "cursor",
        /// Visual Studio Code with Copilot.
        VsCode = "vscode",
        /// OpenCode.
        OpenCode = "opencode",
        /// Codex.
        Codex = "codex",
        /// Gemini CLI.
        Gemini = "gemini",
        /// Goose.
        Goose = "goose",
    }
}

/// Whose settings are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingsScope {
    /// The user's own, for all of their projects.
    User,
    /// Those that a project brings for everybody who works on it.
    Project,
}

/// What kind of text a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsFormat {
    /// JSON, with comments and trailing commas allowed.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// The directory that a file's name starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseDir {
    /// The user's home directory.
    Home,
    /// Where programs keep their settings.
    Config,
    /// Where Visual Studio Code keeps the user's settings.
    VsCodeUser,
    /// `CLAUDE_CONFIG_DIR`, or the home directory.
    ClaudeConfig,
    /// `CLAUDE_CONFIG_DIR`, or `.claude` in the home directory.
    ClaudeSettings,
    /// `CODEX_HOME`, or `.codex` in the home directory.
    CodexHome,
    /// The project's root.
    Project,
}

/// Where a tool's settings are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingsLocation {
    /// What the names start from.
    pub base: BaseDir,
    /// The file, by the names it may have: the first one is made where none is there.
    pub names: &'static [&'static str],
    /// What it holds.
    pub format: SettingsFormat,
}

/// How a tool makes itself known to an MCP server.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientIdentity {
    /// Once, at first: the parameters of `initialize`.
    Handshake(Json),
    /// In every request, from the revision of 2026-07-28 on: what its parameters hold besides.
    WithEachRequest(Json),
}

impl ConnectableTool {
    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::OpenCode => "OpenCode",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Goose => "Goose",
        }
    }

    /// The program that shows that it is installed.
    pub fn program(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::VsCode => "code",
            _ => self.as_str(),
        }
    }

    /// The tool of that name; what its program is called is another name of it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.as_str() == name || client.program() == name)
    }

    /// What it says first to an MCP server, as far as servers go by it.
    pub fn identity(self) -> ClientIdentity {
        let (name, revision) = match self {
            Self::ClaudeCode => ("claude-code", "2025-11-25"),
            Self::Cursor => ("cursor-vscode", "2025-06-18"),
            Self::VsCode => ("Visual Studio Code", "2025-11-25"),
            Self::OpenCode => ("opencode", "2025-11-25"),
            Self::Codex => ("codex-mcp-client", "2025-06-18"),
            Self::Gemini => ("gemini-cli-mcp-client", "2025-06-18"),
            Self::Goose => ("goose-cli", "2026-07-28"),
        };
        let abilities = match self {
            Self::ClaudeCode | Self::Cursor | Self::VsCode | Self::Goose => json!({ "roots": {}, "elicitation": {} }),
            Self::Codex => json!({ "elicitation": { "form": {}, "url": {} } }),
            Self::OpenCode | Self::Gemini => json!({ "roots": {} }),
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

    /// The file that names its MCP servers; Goose has none in a project.
    pub fn servers_file(self, scope: SettingsScope) -> Option<SettingsLocation> {
        let file = |base, names, format| Some(SettingsLocation { base, names, format });
        let json = |base, names| file(base, names, SettingsFormat::Json);
        match (self, scope) {
            (Self::ClaudeCode, SettingsScope::User) => json(BaseDir::ClaudeConfig, &[".claude.json"]),
            (Self::ClaudeCode, SettingsScope::Project) => json(BaseDir::Project, &[".mcp.json"]),
            (Self::Cursor, SettingsScope::User) => json(BaseDir::Home, &[".cursor/mcp.json"]),
            (Self::Cursor, SettingsScope::Project) => json(BaseDir::Project, &[".cursor/mcp.json"]),
            (Self::VsCode, SettingsScope::User) => json(BaseDir::VsCodeUser, &["mcp.json"]),
            (Self::VsCode, SettingsScope::Project) => json(BaseDir::Project, &[".vscode/mcp.json"]),
            (Self::OpenCode, SettingsScope::User) => {
                json(BaseDir::Config, &["opencode/opencode.json", "opencode/opencode.jsonc"])
            }
            (Self::OpenCode, SettingsScope::Project) => json(BaseDir::Project, &["opencode.json", "opencode.jsonc"]),
            (Self::Codex, SettingsScope::User) => file(BaseDir::CodexHome, &["config.toml"], SettingsFormat::Toml),
            (Self::Codex, SettingsScope::Project) => {
                file(BaseDir::Project, &[".codex/config.toml"], SettingsFormat::Toml)
            }
            (Self::Gemini, SettingsScope::User) => json(BaseDir::Home, &[".gemini/settings.json"]),
            (Self::Gemini, SettingsScope::Project) => json(BaseDir::Project, &[".gemini/settings.json"]),
            (Self::Goose, SettingsScope::User) => file(BaseDir::Config, &["goose/config.yaml"], SettingsFormat::Yaml),
            (Self::Goose, SettingsScope::Project) => None,
        }
    }

    /// The file that names what it calls when something happens; only some tools call anybody.
    pub fn hooks_file(self, scope: SettingsScope) -> Option<SettingsLocation> {
        let json = |base, names| Some(SettingsLocation { base, names, format: SettingsFormat::Json });
        match (self, scope) {
            (Self::ClaudeCode, SettingsScope::User) => json(BaseDir::ClaudeSettings, &["settings.json"]),
            (Self::ClaudeCode, SettingsScope::Project) => json(BaseDir::Project, &[".claude/settings.json"]),
            (Self::Codex, SettingsScope::User) => json(BaseDir::CodexHome, &["hooks.json"]),
            (Self::Codex, SettingsScope::Project) => json(BaseDir::Project, &[".codex/hooks.json"]),
            (Self::Gemini, _) => self.servers_file(scope),
            (Self::Cursor | Self::VsCode | Self::OpenCode | Self::Goose, _) => None,
        }
    }
}
