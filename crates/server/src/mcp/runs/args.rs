//! Arguments of calls about a run.

use maestro_core::workflow::run::Ticket;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};

use maestro_api::runs::NoAnswer as Instead;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct RunStartArgs {
    pub(super) workflow: String,
    /// The run whose sub-agent starts it, and the sub-agent's ticket.
    pub(super) parent: Option<String>,
    pub(super) ticket: Option<String>,
    #[serde(default, deserialize_with = "object_or_its_text")]
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
    #[serde(default, deserialize_with = "object_or_its_text")]
    pub(super) set: Map<String, Json>,
    #[serde(default, deserialize_with = "object_or_its_text")]
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

/// An object, or the text of one: models often write an object within an argument as a text.
fn object_or_its_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Json>, D::Error> {
    let given = match Json::deserialize(deserializer)? {
        Json::String(text) => serde_json::from_str(&text).unwrap_or(Json::String(text)),
        given => given,
    };
    Map::deserialize(given).map_err(D::Error::custom)
}
