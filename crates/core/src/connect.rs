//! Maestro's entries in the settings of coding tools: which files, and what they say.
//!
//! Nothing is read or written here: a text goes in, and the text with Maestro's part in it, or without it, comes out.
//! Whatever else a file says stays as it is, byte for byte.

mod created_parents;
mod edit;
mod json;
mod settings_item;
mod toml;
mod tool_table;
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

use serde_json::Value as Json;

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
        /// GitHub Copilot CLI.
        Copilot = "copilot",
        /// Qwen Code.
        Qwen = "qwen",
        /// Antigravity, its editor and its command line.
        Antigravity = "antigravity",
        /// Zed.
        Zed = "zed",
        /// Windsurf.
        Windsurf = "windsurf",
        /// Kiro, its editor and its command line.
        Kiro = "kiro",
        /// Junie.
        Junie = "junie",
        /// Claude Desktop.
        ClaudeDesktop = "claude-desktop",
        /// Amp.
        Amp = "amp",
        /// Cline, its command line and what its editors share with it.
        Cline = "cline",
        /// Crush.
        Crush = "crush",
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
    /// `COPILOT_HOME`, or `.copilot` in the home directory.
    CopilotHome,
    /// Where Claude Desktop keeps its settings.
    ClaudeDesktop,
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

impl SettingsLocation {
    /// Whose settings it holds.
    pub fn scope(&self) -> SettingsScope {
        if self.base == BaseDir::Project { SettingsScope::Project } else { SettingsScope::User }
    }
}

/// How a tool makes itself known to an MCP server.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientIdentity {
    /// Once, at first: the parameters of `initialize`.
    Handshake(Json),
    /// In every request, from the revision of 2026-07-28 on: what its parameters hold besides.
    WithEachRequest(Json),
}
