//! Rights that a person gives to a run or a session.

use serde::{Deserialize, Serialize};

use super::agent_table::Permission;

/// The most that a run, and every session and run that comes of it, may do. Only a person gives rights; everything else
/// passes on at most what it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRights {
    /// What its agents may do without asking.
    pub permission: Permission,
    /// Whether the demo agent, which executes what its prompt says, may be one of them.
    pub demo: DemoAgentUse,
}

/// Whether the demo agent may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DemoAgentUse {
    /// Only where the setting `demo_agent` allows it.
    BySetting,
    /// A person named it.
    Named,
}

impl Default for RunRights {
    /// What a person gives without saying anything.
    fn default() -> Self {
        Self { permission: Permission::Edits, demo: DemoAgentUse::BySetting }
    }
}

impl RunRights {
    /// The rights of runs and sessions that started before there was a limit.
    pub const UNLIMITED: Self = Self { permission: Permission::All, demo: DemoAgentUse::Named };

    /// What both allow.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        Self { permission: self.permission.min(other.permission), demo: self.demo.min(other.demo) }
    }

    /// The first right that exceeds a limit, in words for its owner.
    pub fn excess(self, limit: Self) -> Option<String> {
        if self.permission > limit.permission {
            return Some(format!("permission `{}` (at most `{}`)", self.permission, limit.permission));
        }
        (self.demo > limit.demo).then(|| format!("the agent `{DEMO_AGENT}`"))
    }
}

/// The name of the demo agent.
pub const DEMO_AGENT: &str = "demo";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_only_shrink() {
        let rights = |permission, demo| RunRights { permission, demo };
        let (few, usual) = (rights(Permission::Ask, DemoAgentUse::Named), RunRights::default());
        assert_eq!(usual.within(few), rights(Permission::Ask, DemoAgentUse::BySetting));
        assert_eq!(RunRights::UNLIMITED.within(usual), usual);
        assert_eq!(usual.excess(RunRights::UNLIMITED), None);
        assert_eq!(RunRights::UNLIMITED.excess(usual).unwrap(), "permission `all` (at most `edits`)");
        assert_eq!(few.excess(usual).unwrap(), "the agent `demo`");
    }
}
