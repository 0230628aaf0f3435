//! Parameters of a workflow that decide about rights: which agent works where, what it may do, and what judges its work.

use serde_json::{Map, Value as Json};

use super::Workflow;
use super::definition::Variable;
use super::executions::list_sessions;
use super::run::RunDefinition;
use crate::agent::Permission;

/// The names of such parameters in the workflows that come with the program, and in those made after them.
const NAMES: [&str; 9] =
    ["permission", "agent", "reviewer", "worktree", "place", "plan_place", "checks", "review", "merge"];

/// A parameter by which a model asked for rights.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` decides about rights, which a person gives and not a tool call; leave it out{}", hint(*.limit))]
pub struct RightsAsked {
    /// The parameter.
    pub name: String,
    /// The most that it may say, where a part may be said.
    limit: Option<Permission>,
}

fn hint(limit: Option<Permission>) -> String {
    limit.map(|limit| format!(", or ask for at most `{limit}`")).unwrap_or_default()
}

/// Whether a parameter of a workflow that starts agents decides about rights.
pub fn is_right(workflow: &Workflow, param: &Variable) -> bool {
    let name = param.name.as_str();
    let placeholder = format!("{{{name}}}");
    let decides = || {
        let settings = list_sessions(workflow).into_iter().flat_map(|session| session.settings());
        settings.into_iter().any(|(_, written)| written.contains(&placeholder))
    };
    NAMES.contains(&name) || decides()
}

/// Checks the parameters that a model gives: those that decide about rights stay at what the definition says, and the
/// permission within a limit. A workflow that starts no agent has no such parameters.
pub fn check_model_params(
    definition: &RunDefinition,
    params: &Map<String, Json>,
    limit: Permission,
) -> Result<(), RightsAsked> {
    if !starts_agents(definition) {
        return Ok(());
    }
    for param in definition.main.params.iter().filter(|param| is_right(&definition.main, param)) {
        let name = param.name.as_str();
        let Some(given) = params.get(name) else { continue };
        let asked = given.as_str().and_then(|word| word.parse::<Permission>().ok());
        match (name, asked) {
            ("permission", Some(asked)) if asked <= limit => {}
            ("permission", _) => return Err(RightsAsked { name: name.to_owned(), limit: Some(limit) }),
            _ if param.default.as_ref() == Some(given) => {}
            _ => return Err(RightsAsked { name: name.to_owned(), limit: None }),
        }
    }
    Ok(())
}

/// Whether a workflow, or one that it calls, starts agents.
pub fn starts_agents(definition: &RunDefinition) -> bool {
    let mut all = std::iter::once(&definition.main).chain(definition.callees.values());
    all.any(|workflow| !list_sessions(workflow).is_empty())
}
