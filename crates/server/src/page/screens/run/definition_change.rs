//! Definition that a run goes through, beside what its files say now.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use maestro_core::workflow::pinned_definition::PinnedText;
use maestro_engine::workflows::WorkflowIndex;
use maestro_engine::{Freshness, host, runs};
use maestro_skills::Catalogue;
use maestro_store::RunRecord;
use serde::Serialize;

use crate::app::AppState;
use crate::page::consents::{ChangedText, changed_texts};

/// How many characters of a hash are shown.
const SHORT: usize = 12;

/// How the files of a workflow changed since a run was started.
#[derive(Debug, Clone, Serialize)]
pub(super) struct DefinitionChange {
    /// The hash of what the run goes through.
    pub(super) short: String,
    texts: Vec<ChangedText>,
}

/// What was found when the skills were last read.
#[derive(Clone, Default)]
pub(super) struct KnownDefinition {
    catalogue: Option<Arc<Catalogue>>,
    pub(super) change: Option<Arc<DefinitionChange>>,
}

impl KnownDefinition {
    /// The same as of now; the files are read again when the skills have changed.
    pub(super) async fn refresh(self, app: &AppState, record: &RunRecord, directory: Option<PathBuf>) -> Self {
        let place = directory.clone();
        let found = host::ask(&app.host, move |host| host.skills(place.as_deref(), Freshness::Kept)).await;
        let Ok(found) = found else { return self };
        let catalogue = Arc::clone(&found.catalogue);
        if self.catalogue.as_ref().is_some_and(|known| Arc::ptr_eq(known, &catalogue)) {
            return self;
        }
        let Ok(pinned) = app.runs.pinned(record).await else { return self };
        let (name, hash) = (record.about.workflow.clone(), record.hash.clone());
        let compare = move || {
            let directory = directory.unwrap_or_default();
            let now = definitions_now(&WorkflowIndex::of(&found.catalogue, &directory), &name, &pinned)?;
            (runs::hash(&now) != hash).then(|| DefinitionChange {
                short: hash.chars().take(SHORT).collect(),
                texts: changed_texts(&texts(&now), Some(&texts(&pinned))),
            })
        };
        let change = tokio::task::spawn_blocking(compare).await.ok().flatten().map(Arc::new);
        Self { catalogue: Some(catalogue), change }
    }
}

/// The definitions that a run of this workflow would be started with now, where it is still the same workflow.
fn definitions_now(
    index: &WorkflowIndex<'_>,
    name: &str,
    pinned: &BTreeMap<String, PinnedText>,
) -> Option<BTreeMap<String, PinnedText>> {
    let folder = &pinned.get(name)?.folder;
    let found = [index.pinned(name), index.pinned_builtin(name)].into_iter().flatten();
    found
        .map(|found| found.definitions)
        .find(|definitions| definitions.get(name).is_some_and(|now| now.folder == *folder))
}

/// All texts by a name.
fn texts(definitions: &BTreeMap<String, PinnedText>) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (name, kept) in definitions {
        all.insert(name.clone(), kept.text.clone());
        all.extend(kept.resources.iter().map(|(resource, text)| (format!("{name}/{resource}"), text.clone())));
    }
    all
}
