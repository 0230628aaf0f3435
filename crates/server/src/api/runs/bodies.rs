//! Runs as they are sent.

use std::collections::{BTreeMap, HashMap};

use maestro_api::runs::{RunBody, RunStateBody, RunSummary};
use maestro_core::work_state::{RunCarrier, RunFacts, StateWithReason, run_state as work_state};
use maestro_core::workflow::pinned_definition::PinnedText;
use maestro_core::workflow::run::{
    AwaitedParty, PendingEffect, Run, RunDriver, RunState, RunStatus, awaited_party, pending_effects,
};
use maestro_core::workflow::run_reply::NextAction;
use maestro_engine::runs::{RunEngine, RunView};
use maestro_store::{QuestionsOfRuns, RunRecord, StoreError};

use crate::app::AppState;
use crate::waiting::question_line;

/// What says how runs stand, beside the runs themselves.
#[derive(Default)]
pub(crate) struct RunSurroundings {
    runs: Option<RunEngine>,
    /// What runs and their sessions ask, by run.
    questions: HashMap<String, String>,
}

impl RunSurroundings {
    /// As they are now.
    pub(crate) async fn load(app: &AppState) -> Result<Self, StoreError> {
        let asked = app.store.read(QuestionsOfRuns { at: (app.clock)() }).await?;
        Ok(Self { runs: Some(app.runs.clone()), questions: asked.into_iter().collect() })
    }

    /// Adds what these runs ask themselves.
    pub(crate) async fn add_questions(&mut self, app: &AppState, records: &[RunRecord]) {
        let asks = |run: &Run| matches!(awaited_party(run), Some(AwaitedParty::User | AwaitedParty::Consent));
        for record in records.iter().filter(|record| asks(&record.run)) {
            // One that cannot be read is reported elsewhere, and does not hide the others.
            if let Ok(view) = app.runs.get(record.id, (app.clock)()).await {
                self.add_question(&view);
            }
        }
    }

    fn add_question(&mut self, view: &RunView) {
        if let Some(question) = question_line(view) {
            self.questions.entry(view.record.id.to_string()).or_insert(question);
        }
    }

    /// How a run stands.
    fn state(&self, record: &RunRecord, not_allowed: Option<&str>) -> StateWithReason {
        work_state(&RunFacts {
            run: &record.run,
            carrier: match record.run.status {
                RunStatus::Active => RunEngine::carrier_for(self.runs.as_ref().and_then(RunEngine::host), record),
                _ => RunCarrier::Present,
            },
            question: self.questions.get(&record.id.to_string()).map(String::as_str),
            not_allowed,
            landing: record.landing.as_ref(),
        })
    }

    /// A run in a list.
    pub(crate) fn summary(&self, record: RunRecord, not_allowed: Option<&str>) -> RunSummary {
        let id = record.id.to_string();
        let stands = self.state(&record, not_allowed);
        let workspace = record.run.context.get("workspace").and_then(serde_json::Value::as_str);
        RunSummary {
            id,
            workflow: record.about.workflow,
            project_id: record.about.project.map(Into::into),
            task_id: record.about.task.map(Into::into),
            session_id: record.about.session.map(Into::into),
            parent_run: record.about.parent.map(|(run, _)| run.to_string()),
            status: RunState::of(&record.run.status),
            state: stands.state,
            state_reason: stands.reason,
            waiting: awaited_party(&record.run),
            step: record.run.position().map(|position| position.step.to_string()),
            current_task: current_task(&record.run).map(str::to_owned),
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
            landed_at: record.landing.as_ref().map(|landing| landing.at),
            landed_into: record.landing.and_then(|landing| landing.into),
        }
    }

    /// A run with what is to be done now.
    fn body(mut self, view: RunView, not_allowed: Option<String>) -> RunBody {
        self.add_question(&view);
        let due = pending_effects(&view.definition, &view.record.run).into_iter().next();
        let seated = matches!(due, Some(PendingEffect::Instruct { session: Some(_), .. }));
        let by_session = seated && view.record.about.driver == RunDriver::Server;
        let busy = matches!(view.reply.next, NextAction::Busy { .. });
        let not_allowed = not_allowed.filter(|_| busy || by_session);
        RunBody {
            by_session,
            reviewed: view.record.run.reviewed(&view.definition).map(str::to_owned),
            summary: self.summary(view.record, not_allowed.as_deref()),
            not_allowed,
            updates: view.reply.updates,
            next: view.reply.next,
        }
    }
}

/// The task in words that the innermost workflow of a run was called for, as long as there is one.
fn current_task(run: &Run) -> Option<&str> {
    let tasks = run.frames.iter().rev().filter_map(|frame| frame.params.get("task")?.as_str());
    tasks.into_iter().find(|task| !task.trim().is_empty())
}

/// A run and how it stands.
#[derive(Debug, Clone)]
pub(crate) struct RunWithState {
    pub(crate) record: RunRecord,
    pub(crate) stands: StateWithReason,
}

/// These runs and how they stand.
pub(crate) async fn with_states(app: &AppState, runs: Vec<RunRecord>) -> Result<Vec<RunWithState>, StoreError> {
    let mut around = RunSurroundings::load(app).await?;
    around.add_questions(app, &runs).await;
    let with_state = |record: RunRecord| {
        let stands = around.state(&record, app.drivers.not_allowed(record.id).as_deref());
        RunWithState { record, stands }
    };
    Ok(runs.into_iter().map(with_state).collect())
}

/// A run with what is to be done now, for a reply that says nothing of what surrounds it.
pub(super) fn run_body(view: RunView) -> RunBody {
    RunSurroundings::default().body(view, None)
}

/// The same from this server, which knows what its sessions ask and what is not allowed to be executed.
pub(super) async fn served_run(view: RunView, app: &AppState) -> Result<RunBody, StoreError> {
    let not_allowed = app.drivers.not_allowed(view.record.id);
    Ok(RunSurroundings::load(app).await?.body(view, not_allowed))
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
