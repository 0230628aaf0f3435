//! Parents of sub-agents' runs: what they take, and how they get it.

use maestro_core::event::RunId;
use maestro_core::workflow::StepOutcome;
use maestro_core::workflow::definition::EndStatus;
use maestro_core::workflow::run::{FAILURE, FileState, InputRefusal, Run, RunInput, RunStatus, decide};
use maestro_store::{RunById, RunRecord, StoreError};
use serde_json::{Map, Value as Json};

use crate::blocking;
use crate::git_changes::changed_files;

use super::{ExecutionClaim, RunEngine, RunError};

impl RunEngine {
    /// Why the parent of a sub-agent's run that ends would not take its result. The sub-agent corrects it while it can.
    pub(super) async fn parent_refusal(&self, record: &RunRecord, run: &Run) -> Result<Option<InputRefusal>, RunError> {
        let (Some((parent, ticket)), RunStatus::Ended(ending)) = (&record.about.parent, &run.status) else {
            return Ok(None);
        };
        if ending.status != EndStatus::Success {
            return Ok(None);
        }
        let parent = match self.store.read(RunById(*parent)).await {
            Ok(parent) => parent,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let definition = self.definition(&parent).await?;
        let result = ending.outputs.clone();
        let ended = RunInput::ChildRunEnded {
            ticket: ticket.clone(),
            outcome: StepOutcome::OK,
            result,
            seen: FileState::default(),
            now: parent.updated_at,
        };
        match decide(&definition, &parent.run, ended) {
            Err(refusal @ InputRefusal::Result(_)) => Ok(Some(refusal)),
            _ => Ok(None),
        }
    }

    /// Reports the end of a sub-agent's run to its parent run. A repeated report has no effect.
    pub(super) async fn report_to_parent(&self, record: &RunRecord, now: i64) -> Result<(), RunError> {
        let (Some((parent, ticket)), true) = (&record.about.parent, record.run.is_over()) else {
            return Ok(());
        };
        let (outcome, result) = match &record.run.status {
            RunStatus::Ended(ending) if ending.status == EndStatus::Success => {
                (StepOutcome::OK, ending.outputs.clone())
            }
            RunStatus::Ended(ending) => (StepOutcome::FAIL, failure(ending.message.as_deref())),
            _ => (StepOutcome::FAIL, failure(Some("its run was cancelled"))),
        };
        let seen = self.files_seen(record, *parent).await?;
        let report = |outcome: StepOutcome, result| RunInput::ChildRunEnded {
            ticket: ticket.clone(),
            outcome,
            result,
            seen: seen.clone(),
            now,
        };
        let told = Box::pin(self.submit(*parent, report(outcome.clone(), result), ExecutionClaim::None)).await;
        match told {
            // Its result does not fit: its parent must not wait for ever.
            Err(RunError::Refused { refusal: InputRefusal::Result(reason), .. }) if outcome == StepOutcome::OK => {
                let failed = report(StepOutcome::FAIL, failure(Some(&reason.0)));
                match Box::pin(self.submit(*parent, failed, ExecutionClaim::None)).await {
                    Ok(_) | Err(RunError::Refused { .. }) => Ok(()),
                    Err(error) => Err(error),
                }
            }
            // Already reported, or its parent has continued without it.
            Ok(_) | Err(RunError::Refused { .. } | RunError::Store(StoreError::NotFound { .. })) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl RunEngine {
    /// What a sub-agent's run knows of the files: what they were at its last report, and what its parent's review has
    /// not seen of them yet.
    async fn files_seen(&self, record: &RunRecord, parent: RunId) -> Result<FileState, RunError> {
        let Some(tree) = record.run.seen_tree.clone() else { return Ok(FileState::default()) };
        let parent = match self.store.read(RunById(parent)).await {
            Ok(parent) => parent,
            Err(StoreError::NotFound { .. }) => return Ok(FileState::default()),
            Err(error) => return Err(error.into()),
        };
        let definition = self.definition(&parent).await?;
        let workspace = record.run.context.get("workspace").and_then(Json::as_str).unwrap_or_default().to_owned();
        let ticket = record.about.parent.as_ref().map(|(_, ticket)| ticket);
        let parent = ticket.map_or_else(|| parent.run.clone(), |ticket| parent.run.in_front(ticket));
        let Some(before) = parent.reviewed(&definition).map(str::to_owned).filter(|_| !workspace.is_empty()) else {
            return Ok(FileState { tree: Some(tree), changed: None });
        };
        let after = tree.clone();
        // Without an answer everything counts as changed.
        let changed = blocking::run(move || changed_files(workspace.as_ref(), &before, &after)).await;
        Ok(FileState { tree: Some(tree), changed })
    }
}

/// Whether an input reports what a review of a parent's run takes over. Its reporter can correct it.
pub(super) fn reports_items(input: &RunInput) -> bool {
    matches!(input, RunInput::Report { result, .. } if result.contains_key("items"))
}

/// What a failed sub-agent's run leaves: why.
pub(super) fn failure(reason: Option<&str>) -> Map<String, Json> {
    reason.map(|reason| (FAILURE.to_owned(), Json::from(reason))).into_iter().collect()
}
