//! Runs of a workflow, and their visits of one step.

use maestro_core::excerpt::ellipsize;
use maestro_core::workflow::RunEvent;
use maestro_store::{EventRow, RunLog};
use serde::Serialize;

use crate::api::RunWithState;
use crate::app::AppState;
use crate::error::ApiError;
use crate::page::badge::StateBadge;
use crate::page::cards::TITLE;
use crate::page::screens::work::{run_address, run_title};

/// Of how many runs the visits of a step are shown, how many events of each are read, and how many visits are shown.
const RUNS: usize = 10;
const EVENTS: i64 = 2000;
const VISITS: usize = 30;

/// A run of the workflow.
#[derive(Debug, Serialize)]
pub(super) struct RunLine {
    id: String,
    href: String,
    title: String,
    state: StateBadge,
    reason: Option<String>,
    at: i64,
}

impl RunLine {
    pub(super) fn of(run: &RunWithState) -> Self {
        let id = run.record.id.to_string();
        Self {
            href: run_address(&id),
            title: ellipsize(&run_title(run).0, TITLE),
            state: StateBadge::from(run.stands.state),
            reason: run.stands.reason.as_deref().map(|reason| ellipsize(reason, TITLE)),
            at: run.record.created_at,
            id,
        }
    }
}

/// A visit of the step.
#[derive(Debug, Serialize)]
pub(super) struct VisitLine {
    href: String,
    title: String,
    visit: u32,
    /// How it ended; nothing while the run is there.
    outcome: Option<String>,
    at: i64,
    took: Option<i64>,
}

/// The visits of a step by the newest runs, the latest first.
pub(super) async fn visit_lines(app: &AppState, step: &str, runs: &[RunWithState]) -> Result<Vec<VisitLine>, ApiError> {
    let mut visits = Vec::new();
    for run in runs.iter().take(RUNS) {
        let log = app.store.read(RunLog { id: run.record.id, after: 0, limit: EVENTS }).await?;
        let (title, href) = (ellipsize(&run_title(run).0, TITLE), run_address(&run.record.id.to_string()));
        for row in log {
            match run_event(&row) {
                Some(RunEvent::Entered { step: entered, visit, .. }) if entered.as_str() == step => {
                    let (href, title) = (href.clone(), title.clone());
                    // A run that was canceled leaves no step, and is at none.
                    let outcome = (!run.stands.state.is_live()).then(|| "not finished".to_owned());
                    visits.push(VisitLine { href, title, visit, outcome, at: row.at, took: None });
                }
                Some(RunEvent::Left { step: left, outcome, .. }) if left.as_str() == step => {
                    if let Some(open) = visits.iter_mut().rev().find(|visit| visit.href == href) {
                        open.outcome = Some(outcome.to_string());
                        open.took = Some(row.at);
                    }
                }
                _ => {}
            }
        }
    }
    visits.sort_by_key(|visit| std::cmp::Reverse(visit.at));
    visits.truncate(VISITS);
    Ok(visits)
}

fn run_event(row: &EventRow) -> Option<RunEvent> {
    RunEvent::from_log(&row.kind, row.payload.get()).ok()?
}
