//! Consent and rights of the sessions that a run starts.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use maestro_core::agent::Permission;
use maestro_core::workflow::directive::Directive;
use maestro_core::workflow::run::SessionRequest;

use super::{StepSessions, root};
use crate::host::{self, WorkflowConsent};
use crate::runs::{RunError, RunView};

/// A directory of a session that is not below its workspace.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not below the workspace; `session.worktree` names a directory in it")]
pub(super) struct OutsideWorkspace(String);

impl StepSessions {
    /// Whether the definitions of a run may start agents. If not, the run waits for consent.
    pub(super) async fn has_consent(&self, view: &RunView, directive: &Directive) -> Result<bool, RunError> {
        let definitions = Arc::new(self.runs.pinned(&view.record).await?);
        let (asked, workspace) = (Arc::clone(&definitions), root(view));
        let consents = host::ask(&self.host, move |host| Ok(host.consents(&workspace, &[&asked]))).await;
        let consent = match consents {
            Ok(consents) => consents.into_iter().next().unwrap_or(WorkflowConsent::Missing),
            Err(error) => WorkflowConsent::Unknown(error.to_string()),
        };
        let (workflow, step) = (&view.record.about.workflow, &directive.step.id);
        let reason = match consent {
            WorkflowConsent::Granted => {
                self.refused.remove(view.record.id);
                return Ok(true);
            }
            WorkflowConsent::Missing => {
                format!("`{workflow}` is not trusted yet; it would start an agent at step `{step}`")
            }
            WorkflowConsent::Unknown(reason) => {
                format!("`{workflow}` would start an agent at step `{step}`, and the consents cannot be read: {reason}")
            }
        };
        self.refused.add(view.record.id, reason);
        Ok(false)
    }
}

/// A session with at most the rights of its run, in the workspace of its run. It looks at files.
pub(super) fn within_rights(
    seat: SessionRequest,
    root: &Path,
    limit: Permission,
) -> Result<SessionRequest, OutsideWorkspace> {
    if seat.permission > limit {
        tracing::warn!(asked = %seat.permission, limit = %limit, "a session gets the permission of its run");
    }
    if let Some(written) = &seat.worktree {
        let place = root.join(written);
        let plain = place.starts_with(root) && !place.components().any(|part| part == Component::ParentDir);
        let stays = || Some(place.canonicalize().ok()?.starts_with(root.canonicalize().ok()?));
        // A directory that does not exist is an error of its own when the agent starts.
        if !plain || stays() == Some(false) {
            return Err(OutsideWorkspace(written.clone()));
        }
    }
    Ok(SessionRequest { permission: seat.permission.min(limit), ..seat })
}

/// Where a session works.
pub(super) fn workspace(root: &Path, seat: &SessionRequest) -> PathBuf {
    seat.worktree.as_deref().map_or_else(|| root.to_owned(), |below| root.join(below))
}
