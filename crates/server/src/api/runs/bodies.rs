//! Runs as they are sent.

use std::collections::BTreeMap;

use maestro_api::runs::{RunBody, RunStateBody, RunSummary};
use maestro_core::workflow::pinned_definition::PinnedText;
use maestro_core::workflow::run::{PendingEffect, RunDriver, RunState, RunStatus, awaited_party, pending_effects};
use maestro_core::workflow::run_reply::NextAction;
use maestro_engine::runs::RunView;
use maestro_store::RunRecord;

use crate::app::AppState;

/// A run in a list.
pub(super) fn run_summary(record: RunRecord) -> RunSummary {
    let workspace = record.run.context.get("workspace").and_then(serde_json::Value::as_str);
    RunSummary {
        id: record.id.to_string(),
        workflow: record.about.workflow,
        project_id: record.about.project.map(Into::into),
        task_id: record.about.task.map(Into::into),
        session_id: record.about.session.map(Into::into),
        parent_run: record.about.parent.map(|(run, _)| run.to_string()),
        status: RunState::of(&record.run.status),
        waiting: awaited_party(&record.run),
        step: record.run.position().map(|position| position.step.to_string()),
        workspace: workspace.unwrap_or_default().to_owned(),
        message: match record.run.status {
            RunStatus::Ended(ending) => ending.message,
            _ => None,
        },
        driver: record.about.driver,
        hash: record.hash,
        revision: record.revision,
        created_at: record.created_at,
        updated_at: record.updated_at,
        ended_at: record.ended_at,
    }
}

/// A run with what is to be done now.
pub(super) fn run_body(view: RunView) -> RunBody {
    let due = pending_effects(&view.definition, &view.record.run).into_iter().next();
    let seated = matches!(due, Some(PendingEffect::Instruct { session: Some(_), .. }));
    RunBody {
        by_session: seated && view.record.about.driver == RunDriver::Server,
        reviewed: view.record.run.reviewed(&view.definition).map(str::to_owned),
        summary: run_summary(view.record),
        not_allowed: None,
        updates: view.reply.updates,
        next: view.reply.next,
    }
}

/// The same from this server, which knows what is not allowed to be executed.
pub(super) fn served_run(view: RunView, app: &AppState) -> RunBody {
    let busy = matches!(view.reply.next, NextAction::Busy { .. });
    let not_allowed = app.drivers.not_allowed(view.record.id);
    let body = run_body(view);
    RunBody { not_allowed: not_allowed.filter(|_| busy || body.by_session), ..body }
}

/// A run's whole state.
pub(super) fn run_state(record: RunRecord, definitions: Option<BTreeMap<String, PinnedText>>) -> RunStateBody {
    RunStateBody {
        workflow: record.about.workflow,
        hash: record.hash,
        revision: record.revision,
        executor: record.executor,
        run: record.run,
        definitions,
    }
}
