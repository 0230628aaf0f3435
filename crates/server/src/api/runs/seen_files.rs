//! What is known of a run's files, where the caller does not say it.

use std::path::PathBuf;

use maestro_core::RunId;
use maestro_core::workflow::run::FileState;
use maestro_core::workflow::run_reply::NextAction;
use maestro_engine::git_changes;

use super::run_error;
use crate::app::AppState;
use crate::error::ApiError;

/// What a caller says of the files; where it says nothing and a review may need it, what the run's workspace shows here.
/// Otherwise a verdict would be about files that cannot be compared with later ones.
pub(super) async fn of_input(app: &AppState, id: RunId, said: Option<FileState>) -> Result<FileState, ApiError> {
    if let Some(said) = said {
        return Ok(said);
    }
    let view = app.runs.get(id, (app.clock)()).await.map_err(run_error)?;
    let reviewed = view.record.run.reviewed(&view.definition).map(str::to_owned);
    let is_part = matches!(&view.reply.next, NextAction::Directive { directive } if directive.round.review.is_some());
    let is_wanted = reviewed.is_some() || is_part || view.record.about.parent.is_some();
    let workspace = view.record.run.context.get("workspace").and_then(|workspace| workspace.as_str());
    let Some(workspace) = workspace.filter(|workspace| is_wanted && !workspace.is_empty()).map(PathBuf::from) else {
        return Ok(FileState::default());
    };
    let look = move || git_changes::review_state(&workspace, reviewed.as_deref());
    Ok(tokio::task::spawn_blocking(look).await.unwrap_or_default())
}
