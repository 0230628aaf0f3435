//! Signal that skills have changed.

use std::sync::Arc;

use tokio::sync::watch;

/// Rings when skills have changed; cheap to copy.
#[derive(Clone, Default)]
pub struct SkillChanges(Arc<watch::Sender<u64>>);

impl SkillChanges {
    /// Tells everybody who listens.
    pub fn ring(&self) {
        self.0.send_modify(|count| *count += 1);
    }

    /// Receives every change from now on; several at once arrive as one.
    pub(crate) fn listen(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}
