//! Files that start a workflow from within a tool: the tool loads them, and they say what to run.

use std::fmt::Write as _;

use super::{BaseDir, ConnectableTool, SettingsScope};
use crate::hidden_chars::escape_hidden;

/// What the names of such files begin with; a workflow's own name would hide the workflow itself.
const PREFIX: &str = "run-";
/// How long a description may be, in characters: what the Agent Skills rules allow.
const MAX_DESCRIPTION: usize = 1024;

/// A workflow that a tool is to be able to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowTrigger {
    /// Its name.
    pub workflow: String,
    /// What it is for.
    pub description: String,
    /// Its parameters, a line each, as a person reads them.
    pub parameters: Vec<String>,
}

impl WorkflowTrigger {
    /// What the tool's user calls it by.
    pub fn name(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let name: String = self.workflow.chars().map(plain).collect();
        format!("{PREFIX}{name}")
    }

    /// The command that starts it for a tool.
    pub fn command(&self, tool: &str) -> String {
        format!("maestro workflow start {} --tool {tool}", self.workflow)
    }

    /// A skill that says how to start it.
    pub fn skill(&self, client: ConnectableTool) -> String {
        let about = format!(
            "Starts the workflow `{}` with Maestro. Use when it is asked for by name. {}",
            self.workflow, self.description
        );
        let about: String = in_a_line(&about).chars().take(MAX_DESCRIPTION).collect();
        let mut text = format!(
            "---\nname: {}\ndescription: {}\n---\n\n# {}\n\nRun this, and do what it prints, one step at a time:\n\n    {}\n\n",
            self.name(),
            serde_json::Value::from(about),
            self.workflow,
            self.command(client.workflow_tool()),
        );
        if !self.parameters.is_empty() {
            text.push_str("It takes parameters; give each as `--param NAME=VALUE`, in quotes, and ask for one that is required and not known:\n\n");
            for parameter in &self.parameters {
                let _ = writeln!(text, "- {}", in_a_line(parameter));
            }
            text.push('\n');
        }
        text.push_str(
            "Report each step with the command that it names. Skip none, and add none: only the workflow decides what comes next. \
             `maestro workflow runs` lists the runs, and `maestro workflow next RUN` says where one stands.\n",
        );
        text
    }

    /// Commands that Aider loads.
    pub fn for_aider(&self) -> String {
        format!(
            "# Starts the workflow {} with Maestro; load it with /load.\n/run {}\n",
            self.workflow,
            self.command("aider")
        )
    }

    /// Where a tool's skill is, below the directory for its skills.
    pub fn skill_file(&self) -> String {
        format!("{}/SKILL.md", self.name())
    }

    /// Where Aider's file is, below the directory for them.
    pub fn aider_file(&self) -> String {
        format!("{}.txt", self.name())
    }
}

/// A text on one line, in which nothing hides: it comes from elsewhere, and a tool's user reads it.
fn in_a_line(text: &str) -> String {
    escape_hidden(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Where Aider's files are.
pub fn aider_dir(scope: SettingsScope) -> (BaseDir, &'static str) {
    match scope {
        SettingsScope::User => (BaseDir::Home, ".aider/maestro"),
        SettingsScope::Project => (BaseDir::Project, ".aider/maestro"),
    }
}

impl ConnectableTool {
    /// What the table of workflows' tools calls it.
    pub fn workflow_tool(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            other => other.as_str(),
        }
    }

    /// Where it looks for skills. Some tools start workflows as tools of the MCP server only.
    pub fn skills_dir(self, scope: SettingsScope) -> Option<(BaseDir, &'static str)> {
        let [user, project] = self.facts().skills?;
        Some(match scope {
            SettingsScope::User => user,
            SettingsScope::Project => project,
        })
    }

    /// What its user types to start a workflow by its skill.
    pub fn calls(self, trigger: &WorkflowTrigger) -> String {
        let name = trigger.name();
        match self {
            Self::ClaudeCode | Self::Cursor => format!("/{name}"),
            Self::Codex => format!("${name}"),
            Self::OpenCode => format!("skill(name=\"{name}\")"),
            _ => format!("Use the skill {name}"),
        }
    }
}
