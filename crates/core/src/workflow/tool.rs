//! Coding tools: what each can do, and the form of its replies. One type for loading, rendering and detection.

mod read;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use crate::entries::Mistake;
pub use table::{NoSuchTool, Sign, Tools};

use super::name::Name;
use super::render::Form;

/// The name of a tool of which nothing is known.
const UNKNOWN: &str = "unknown";

/// Something a tool may be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Start sub-agents.
    Subagents,
    /// Start several of them at once.
    Parallel,
    /// Ask the user in the middle of a turn.
    AskUser,
    /// Run commands.
    Shell,
    /// Call the tools of an MCP server.
    Mcp,
    /// Let an MCP server ask the user.
    Elicitation,
}

impl Capability {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Subagents, Self::Parallel, Self::AskUser, Self::Shell, Self::Mcp, Self::Elicitation];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Subagents => "subagents",
            Self::Parallel => "parallel",
            Self::AskUser => "ask_user",
            Self::Shell => "shell",
            Self::Mcp => "mcp",
            Self::Elicitation => "elicitation",
        }
    }

    /// Whether a tool without it gets other instructions that lead to the same.
    pub fn has_fallback(self) -> bool {
        matches!(self, Self::Subagents | Self::Parallel | Self::AskUser | Self::Shell)
    }

    /// The one with this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|capability| capability.word() == word)
    }
}

/// A coding tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// What it is called.
    pub name: String,
    /// Its directory in a project, what `{tool}` stands for.
    pub directory: Option<String>,
    /// The folders of a project in which it looks for skills.
    pub skills: Vec<String>,
    /// The form of its replies.
    pub form: Form,
    /// What it can do.
    pub capabilities: BTreeSet<Capability>,
    /// Who plays a role.
    pub roles: BTreeMap<Name, Player>,
    /// Which of its models is meant by a word such as `strong`.
    pub models: BTreeMap<String, String>,
    /// The variables by which it is known.
    pub signs: Vec<Sign>,
}

/// Who plays a role in a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Player {
    /// The sub-agent, as the tool calls it.
    pub agent: Option<String>,
    /// The model, as the tool calls it.
    pub model: Option<String>,
}

impl Tool {
    /// A tool of which nothing is known: it gets plain text and only basic instructions.
    pub fn unknown() -> Self {
        use Capability::{AskUser, Parallel, Shell, Subagents};
        Self {
            name: UNKNOWN.to_owned(),
            directory: None,
            skills: Vec::new(),
            form: Form::Text,
            capabilities: BTreeSet::from([Subagents, Parallel, AskUser, Shell]),
            roles: BTreeMap::new(),
            models: BTreeMap::new(),
            signs: Vec::new(),
        }
    }

    /// The same tool with this form.
    #[must_use]
    pub fn in_form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// Whether it can do this.
    pub fn can(&self, capability: Capability) -> bool {
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
