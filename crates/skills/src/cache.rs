//! The catalogue of a long-lived process, loaded again only when asked to.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use maestro_core::settings::{SettingsDirs, SkillValidation};

use crate::catalogue::Catalogue;
use crate::habits::SkillHabits;
use crate::index::IndexStore;
use crate::roots::SkillRoot;
use crate::vectors::SkillVectors;

/// A catalogue that is loaded once and again on request. Readers keep the one they have.
#[derive(Debug)]
pub struct CatalogueCache {
    roots: Vec<SkillRoot>,
    places: SettingsDirs,
    validation: SkillValidation,
    loaded: RwLock<Arc<Catalogue>>,
    vectors: Mutex<Option<Arc<SkillVectors>>>,
    /// Locked while the disk is looked at, so that what was seen last is what stays.
    memory: Mutex<IndexStore>,
}

impl CatalogueCache {
    /// Loads the catalogue for the first time.
    pub fn load(roots: Vec<SkillRoot>, places: SettingsDirs, validation: SkillValidation) -> Self {
        let cache = Self {
            roots,
            places,
            validation,
            loaded: RwLock::default(),
            vectors: Mutex::default(),
            memory: Mutex::new(IndexStore::in_process()),
        };
        cache.reload();
        cache
    }

    /// The catalogue as it was last loaded.
    pub fn current(&self) -> Arc<Catalogue> {
        Arc::clone(&self.loaded.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Where it looks.
    pub(crate) fn roots(&self) -> &[SkillRoot] {
        &self.roots
    }

    /// Looks at the disk again and returns what is there now. Only what changed since the last time is read.
    pub fn reload(&self) -> Arc<Catalogue> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let progress = AtomicUsize::new(0);
        let (mut fresh, edits) = Catalogue::load_with(&memory, &self.roots, &self.places, self.validation, &progress);
        memory.save(edits);
        fresh.vectors.clone_from(&self.vectors.lock().unwrap_or_else(PoisonError::into_inner));
        let fresh = Arc::new(fresh);
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&fresh);
        fresh
    }

    /// Gives the catalogue the habits of its project; a reload forgets them.
    pub fn set_habits(&self, habits: Option<Arc<SkillHabits>>) {
        if self.current().habits != habits {
            let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
            Arc::make_mut(&mut loaded).habits = habits;
        }
    }

    /// Gives the catalogue its vectors, now and after each reload.
    pub fn set_vectors(&self, vectors: Arc<SkillVectors>) {
        let _unchanged = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        *self.vectors.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&vectors));
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut loaded).vectors = Some(vectors);
    }
}
