//! Arguments of calls about a run.

use maestro_core::workflow::run::Ticket;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use maestro_api::runs::NoAnswer as Instead;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct RunStartArgs {
    pub(super) workflow: String,
    /// The run whose sub-agent starts it, and the sub-agent's ticket.
    pub(super) parent: Option<String>,
    pub(super) ticket: Option<String>,
    #[serde(default)]
    pub(super) params: Map<String, Json>,
    #[serde(default)]
    pub(super) answers: Map<String, Json>,
    pub(super) project_id: Option<String>,
    pub(super) key: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct RunNextArgs {
    pub(super) run_id: String,
    #[serde(default)]
    pub(super) answers: Map<String, Json>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct RunReportArgs {
    pub(super) run_id: String,
    pub(super) ticket: String,
    pub(super) outcome: Option<String>,
    #[serde(default)]
    pub(super) set: Map<String, Json>,
    #[serde(default)]
    pub(super) result: Map<String, Json>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct RunAnswerArgs {
    pub(super) run_id: String,
    pub(super) ticket: Option<Ticket>,
    pub(super) value: Option<Json>,
    pub(super) instead: Option<Instead>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct RunStatusArgs {
    pub(super) run_id: Option<String>,
    #[serde(default)]
    pub(super) wait_s: u64,
    #[serde(default)]
    pub(super) from: usize,
}
