//! The table of coding tools, and the detection of the current one.

use super::{CodingTool, TableMistake, tool_toml};
use crate::closest_word;

/// The built-in table.
const BUILTIN: &str = include_str!("tools.toml");

/// The variable that names the tool.
const VARIABLE: &str = "MAESTRO_TOOL";

/// The tools that are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolTable {
    tools: Vec<CodingTool>,
}

impl ToolTable {
    /// The built-in tools.
    pub fn builtin() -> Self {
        Self { tools: Vec::new() }.extend_from_toml(BUILTIN).0
    }

    /// These, with what a text adds or changes, and what is wrong with the text. An entry with a mistake counts as far
    /// as it can be understood.
    #[must_use]
    pub fn extend_from_toml(mut self, text: &str) -> (Self, Vec<TableMistake>) {
        let mistakes = tool_toml::add(text, &mut self.tools);
        (self, mistakes)
    }

    /// All of them, in the order in which they are looked for.
    pub fn all(&self) -> &[CodingTool] {
        &self.tools
    }

    /// The tool of this name.
    pub fn find(&self, name: &str) -> Option<&CodingTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// The tool that is named, or else the one that `MAESTRO_TOOL` names, or else the first one whose variable is there,
    /// or else one of which nothing is known.
    pub fn detect(&self, name: Option<&str>, env: &dyn Fn(&str) -> Option<String>) -> Result<CodingTool, UnknownTool> {
        let told = env(VARIABLE).filter(|told| !told.is_empty());
        if let Some(name) = name.or(told.as_deref()) {
            return self.named(name);
        }
        let here = |tool: &&CodingTool| tool.signs.iter().any(|sign| sign.is_there(env));
        Ok(self.tools.iter().find(here).cloned().unwrap_or_else(CodingTool::unknown))
    }

    fn named(&self, name: &str) -> Result<CodingTool, UnknownTool> {
        let unknown = CodingTool::unknown();
        match self.find(name) {
            Some(tool) => Ok(tool.clone()),
            None if name == unknown.name => Ok(unknown),
            None => {
                let known: Vec<String> = self.tools.iter().map(|tool| tool.name.clone()).collect();
                let close = closest_word::closest(name, known.iter().map(String::as_str)).map(str::to_owned);
                Err(UnknownTool { name: name.to_owned(), close, known })
            }
        }
    }
}

/// The name of a tool that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown tool `{name}`")]
pub struct UnknownTool {
    /// What was named.
    pub name: String,
    /// What was probably meant.
    pub close: Option<String>,
    /// What could be meant.
    pub known: Vec<String>,
}

/// A variable by which a tool is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolMarker {
    /// Its name.
    pub variable: String,
    /// What it holds; anything but nothing, if that is not said.
    pub value: Option<String>,
}

impl ToolMarker {
    /// The sign that `NAME` or `NAME=VALUE` stands for.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (variable, value) =
            text.split_once('=').map_or((text, None), |(variable, value)| (variable, Some(value.to_owned())));
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let named = !variable.is_empty() && variable.chars().all(fine);
        named.then(|| Self { variable: variable.to_owned(), value })
    }

    fn is_there(&self, env: &dyn Fn(&str) -> Option<String>) -> bool {
        env(&self.variable).is_some_and(|held| match &self.value {
            Some(value) => held == *value,
            None => !held.is_empty(),
        })
    }
}
