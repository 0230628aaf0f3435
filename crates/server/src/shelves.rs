//! Which skills are there for a directory? The server asks; whoever starts it knows where to look.

use std::path::Path;
use std::sync::Arc;

use maestro_core::Settings;
use maestro_skills::Catalogue;
use tokio::sync::watch;

/// The skills of a directory, and what the settings there say about choosing among them.
#[derive(Clone)]
pub struct Shelf {
    /// The skills.
    pub catalogue: Arc<Catalogue>,
    /// The settings in force there.
    pub settings: Arc<Settings>,
}

/// How fresh a shelf must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// As it was last seen will do.
    Kept,
    /// The disk is to be looked at again.
    Reread,
}

/// Finds the shelf for a directory; without one, for the directory the server was started in.
///
/// It may read files, so it is called where that holds nobody up. A failure is told in a sentence.
pub type Shelves = Arc<dyn Fn(Option<&Path>, Freshness) -> Result<Shelf, String> + Send + Sync>;

/// Rings when skills have changed; cheap to copy.
#[derive(Clone, Default)]
pub struct Changes(Arc<watch::Sender<u64>>);

impl Changes {
    /// Tells everybody who listens.
    pub fn ring(&self) {
        self.0.send_modify(|count| *count += 1);
    }

    /// Hears of every change from now on; of several at once, once.
    pub(crate) fn listen(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}
