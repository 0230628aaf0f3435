//! Lookup of a workflow by name, from the directory that a run works in.

use std::path::PathBuf;
use std::sync::Arc;

use maestro_core::workflow::pinned_definition::PinnedDefinition;

use crate::host::{self, Freshness, Host, HostError};
use crate::workflows::{DefinitionError, WorkflowIndex};

/// Where a workflow is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkflowPlace {
    /// In the project and everywhere else, in the search order.
    Catalogue,
    /// Within the program.
    Builtin,
}

/// Why a named workflow cannot be pinned.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// There is none, or it is not sound.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// The skills of the directory cannot be read.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// Pins the workflow of a name. One that was written a moment ago is found, too.
pub async fn pin_named(
    host: &Arc<dyn Host>,
    directory: PathBuf,
    name: String,
    place: WorkflowPlace,
) -> Result<PinnedDefinition, LookupError> {
    match pin(host, directory.clone(), name.clone(), place, Freshness::Kept).await {
        Err(LookupError::Definition(DefinitionError::NotFound { .. })) => {
            pin(host, directory, name, place, Freshness::Reread).await
        }
        pinned => pinned,
    }
}

async fn pin(
    host: &Arc<dyn Host>,
    directory: PathBuf,
    name: String,
    place: WorkflowPlace,
    freshness: Freshness,
) -> Result<PinnedDefinition, LookupError> {
    let pinned = host::ask(host, move |host| {
        let skills = host.skills(Some(&directory), freshness)?;
        let workflows = WorkflowIndex::of(&skills.catalogue, &directory);
        Ok(match place {
            WorkflowPlace::Catalogue => workflows.pinned(&name),
            WorkflowPlace::Builtin => workflows.pinned_builtin(&name),
        })
    });
    Ok(pinned.await??)
}
