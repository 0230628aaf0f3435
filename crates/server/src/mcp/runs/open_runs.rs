//! The list of the runs that are not over.

use maestro_api::fields::PageQuery;
use maestro_api::runs::{self, RunQuery, RunSummary};
use maestro_core::work_state::WorkState;
use maestro_core::workflow::run::{AwaitedParty, RunState};
use rmcp::model::CallToolResult;
use serde::Serialize;
use serde_json::json;

use super::super::McpHandler;
use super::super::client::ToolCaller;
use super::super::tools::{ToolFailure, tool_result};

/// How many runs are listed, newest first, and among how many.
const MOST_LISTED: usize = 50;
const MOST_SEEN: i64 = 10_000;

/// A run that is not over, as a program reads it in a list.
#[derive(Serialize)]
struct OpenRun {
    run_id: String,
    workflow: String,
    status: RunState,
    state: WorkState,
    step: Option<String>,
    waiting: Option<AwaitedParty>,
}

/// The unfinished runs, of the current project or of all.
pub(super) async fn list(mcp: &McpHandler, who: &ToolCaller) -> Result<CallToolResult, ToolFailure> {
    let project = mcp.api().project(who).await?;
    let page = PageQuery { limit: Some(MOST_SEEN), cursor: None };
    let (mut lines, mut open) = (Vec::new(), Vec::new());
    for status in [RunState::Running, RunState::Paused] {
        let word = status.as_str();
        let query = RunQuery { project_id: project.clone(), status: Some(word.to_owned()), workflow: None };
        let found = mcp.api().call(who, runs::list(&query).with_query(&page)).await?;
        for run in found.into_iter().rev().take(MOST_LISTED) {
            lines.push(line(&run));
            let RunSummary { id: run_id, workflow, status, state, step, waiting, .. } = run;
            open.push(OpenRun { run_id, workflow, status, state, step, waiting });
        }
    }
    let text = if lines.is_empty() {
        "No run is open.".to_owned()
    } else {
        format!("{}\n\nGo on with one by `run_next` and its id.", lines.join("\n"))
    };
    Ok(tool_result(text, json!({ "runs": open })))
}

fn line(run: &RunSummary) -> String {
    let RunSummary { id, workflow, .. } = run;
    let step = run.step.as_deref().unwrap_or_default();
    if let (WorkState::Stopped, Some(reason)) = (run.state, &run.state_reason) {
        return format!("- {id} {workflow}: stopped at {step}, {reason}");
    }
    // A run that is not trusted yet waits for the user as well.
    let whom = run.waiting.or((run.state == WorkState::Waiting).then_some(AwaitedParty::User));
    let waits = whom.map(|whom| format!(", waits for the {}", whom.as_str())).unwrap_or_default();
    format!("- {id} {workflow}: {} at {step}{waits}", run.status.as_str())
}
