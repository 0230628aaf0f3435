//! Coding tools: what each can do, and the form of its replies. One type for loading, rendering and detection.

#[cfg(test)]
mod tests;
mod tool_table;
mod tool_toml;

use std::collections::{BTreeMap, BTreeSet};

pub use crate::toml_table::TableMistake;
pub use tool_table::{ToolMarker, ToolTable, UnknownTool};

use super::name::Name;
use super::render::RenderForm;

/// The name of a tool of which nothing is known.
const UNKNOWN: &str = "unknown";

crate::word_enum! {
    /// Something a tool may be able to do.
    #[derive(PartialOrd, Ord)]
    pub enum ToolCapability {
        /// Start sub-agents.
        Subagents = "subagents",
        /// Start several of them at once.
        Parallel = "parallel",
        /// Ask the user in the middle of a turn.
        AskUser = "ask_user",
        /// Run commands.
        Shell = "shell",
        /// Call the tools of an MCP server.
        Mcp = "mcp",
        /// Let an MCP server ask the user.
        Elicitation = "elicitation",
    }
}

impl ToolCapability {
    /// Whether a tool without it gets other instructions that lead to the same.
    pub fn has_fallback(self) -> bool {
        matches!(self, Self::Subagents | Self::Parallel | Self::AskUser | Self::Shell)
    }
}

/// A coding tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodingTool {
    /// What it is called.
    pub name: String,
    /// Its directory in a project, what `{tool}` stands for.
    pub directory: Option<String>,
    /// The folders of a project in which it looks for skills.
    pub skills: Vec<String>,
    /// The form of its replies.
    pub form: RenderForm,
    /// What it can do.
    pub capabilities: BTreeSet<ToolCapability>,
    /// Who plays a role.
    pub roles: BTreeMap<Name, RoleAgent>,
    /// Which of its models is meant by a word such as `strong`.
    pub models: BTreeMap<String, String>,
    /// The variables by which it is known.
    pub signs: Vec<ToolMarker>,
}

/// Who plays a role in a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoleAgent {
    /// The sub-agent, as the tool calls it.
    pub agent: Option<String>,
    /// The model, as the tool calls it.
    pub model: Option<String>,
}

impl CodingTool {
    /// A tool of which nothing is known: it gets plain text and only basic instructions.
    pub fn unknown() -> Self {
        use ToolCapability::{AskUser, Parallel, Shell, Subagents};
        Self {
            name: UNKNOWN.to_owned(),
            directory: None,
            skills: Vec::new(),
            form: RenderForm::Text,
            capabilities: BTreeSet::from([Subagents, Parallel, AskUser, Shell]),
            roles: BTreeMap::new(),
            models: BTreeMap::new(),
            signs: Vec::new(),
        }
    }

    /// The same tool with this form.
    #[must_use]
    pub fn with_form(self, form: RenderForm) -> Self {
        Self { form, ..self }
    }

    /// Whether it can do this.
    pub fn can(&self, capability: ToolCapability) -> bool {
        self.capabilities.contains(&capability)
    }

    /// Whether anything is known of it.
    pub fn is_known(&self) -> bool {
        self.name != UNKNOWN
    }

    /// The sub-agent that plays a role, as the tool calls it.
    pub fn agent_for(&self, role: &Name) -> Option<&str> {
        self.roles.get(role)?.agent.as_deref()
    }

    /// The model for a role that wants this kind of model: the role's own, else what the tool calls that kind.
    pub fn model_for<'t>(&'t self, role: Option<&Name>, wanted: Option<&'t str>) -> Option<&'t str> {
        let own = role.and_then(|role| self.roles.get(role)).and_then(|player| player.model.as_deref());
        own.or_else(|| wanted.map(|wanted| self.models.get(wanted).map_or(wanted, String::as_str)))
    }
}
