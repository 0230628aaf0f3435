//! What is an agent started for, and within which bounds?

use serde::{Deserialize, Serialize};

/// What is needed to start an agent for a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpawnSpec {
    /// Which agent, by its name in the table.
    pub agent: String,
    /// Which model, if not the agent's own choice.
    #[serde(default)]
    pub model: Option<String>,
    /// Where it works.
    pub workspace: String,
    /// The skills that were asked for, beside those of its role.
    #[serde(default)]
    pub skills: Vec<String>,
    /// What it is told beside its tasks.
    #[serde(default)]
    pub prompt: Option<String>,
    /// What it may do without asking.
    #[serde(default)]
    pub permission: PermissionMode,
    /// How much it may use up.
    #[serde(default)]
    pub budget: Budget,
}

/// What an agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionMode {
    /// Nothing: it asks before everything.
    Ask,
    /// Change files where it works, and run the configured checks.
    #[default]
    Edits,
    /// Everything the sandbox lets it.
    All,
}

impl PermissionMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ask, Self::Edits, Self::All];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Edits => "edits",
            Self::All => "all",
        }
    }

    /// What the word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }
}

/// How much an agent may use up before it is ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// How many minutes it may take.
    pub minutes: u32,
    /// How many minutes it may be silent.
    pub idle_minutes: u32,
    /// How many tokens it may use, in and out.
    pub tokens: Option<u64>,
    /// How much money it may cost, in dollars.
    pub cost_usd: Option<f64>,
    /// How many times it may be started, the first included.
    pub starts: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { minutes: 60, idle_minutes: 10, tokens: None, cost_usd: None, starts: 3 }
    }
}
