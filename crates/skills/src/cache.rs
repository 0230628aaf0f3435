//! How does a long-lived process keep the catalogue at hand?

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, PoisonError, RwLock};

use maestro_core::settings::{Places, Validation};

use crate::catalogue::Catalogue;
use crate::roots::Root;

/// A catalogue that is loaded once and again on request. Readers keep the one they have.
#[derive(Debug)]
pub struct CatalogueCache {
    roots: Vec<Root>,
    places: Places,
    validation: Validation,
    loaded: RwLock<Arc<Catalogue>>,
}

impl CatalogueCache {
    /// Loads the catalogue for the first time.
    pub fn load(roots: Vec<Root>, places: Places, validation: Validation) -> Self {
        let first = Catalogue::load(&roots, &places, validation, &AtomicUsize::new(0));
        Self { roots, places, validation, loaded: RwLock::new(Arc::new(first)) }
    }

    /// The catalogue as it was last loaded.
    pub fn current(&self) -> Arc<Catalogue> {
        Arc::clone(&self.loaded.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks at the disk again and returns what is there now.
    pub fn reload(&self) -> Arc<Catalogue> {
        let fresh = Arc::new(Catalogue::load(&self.roots, &self.places, self.validation, &AtomicUsize::new(0)));
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&fresh);
        fresh
    }
}
