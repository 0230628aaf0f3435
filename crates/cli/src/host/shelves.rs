//! Skills of a directory for the server: read once by a command, kept and watched by a server.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use maestro_core::Settings;
use maestro_server::{Changes, Freshness, Shelf, Shelves};
use maestro_skills::{CatalogueCache, CatalogueWatcher, Root, search_order};

use crate::host::world::World;
use crate::host::{catalogue, config, packs};

/// For how many directories a server keeps the skills.
const MOST: usize = 16;

/// For a single command.
pub(crate) fn once(world: &World) -> Shelves {
    let world = world.clone();
    Arc::new(move |directory, _| {
        let world = directory.map_or_else(|| world.clone(), |directory| world.at(directory));
        let settings = settings(&world)?;
        let catalogue = catalogue::load(&world, &[], &settings).map_err(|error| error.message().to_owned())?;
        Ok(Shelf { catalogue: Arc::new(catalogue), settings: Arc::new(settings) })
    })
}

/// For a server: each directory is read on the first request, and watched from then on. Changes trigger a notification.
pub(crate) fn kept(world: &World, changes: &Changes) -> Shelves {
    let keeper = Keeper { world: world.clone(), changes: changes.clone(), kept: Mutex::default() };
    Arc::new(move |directory, freshness| keeper.shelf(directory, freshness))
}

struct Keeper {
    world: World,
    changes: Changes,
    /// The skills of each directory, and the time of the last request.
    kept: Mutex<HashMap<PathBuf, (Arc<Kept>, Instant)>>,
}

impl Keeper {
    fn shelf(&self, directory: Option<&Path>, freshness: Freshness) -> Result<Shelf, String> {
        let world = self.world.at(directory.unwrap_or(&self.world.places.working_dir));
        let known = self.lock().get_mut(&world.places.working_dir).map(|(kept, asked)| {
            *asked = Instant::now();
            Arc::clone(kept)
        });
        let kept = known.map_or_else(|| self.keep(&world), Ok)?;
        Ok(kept.shelf(freshness, &world))
    }

    /// Reads a directory's skills without blocking requests for others.
    fn keep(&self, world: &World) -> Result<Arc<Kept>, String> {
        let fresh = Arc::new(Kept::new(world, self.changes.clone())?);
        let own = &self.world.places.working_dir;
        let mut kept = self.lock();
        // The directory that clients watch stays; of the others, the one unused for longest goes.
        let others = kept.iter().filter(|(directory, _)| *directory != own);
        let oldest = others.min_by_key(|(_, (_, asked))| *asked).map(|(directory, _)| directory.clone());
        let gone = oldest.filter(|_| kept.len() >= MOST).and_then(|oldest| kept.remove(&oldest));
        kept.insert(world.places.working_dir.clone(), (Arc::clone(&fresh), Instant::now()));
        // Stopping a watch takes a moment; others need not wait for it.
        drop(kept);
        drop(gone);
        Ok(fresh)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, (Arc<Kept>, Instant)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The skills of a directory, kept fresh.
struct Kept {
    cache: Arc<CatalogueCache>,
    settings: Arc<Settings>,
    _watcher: CatalogueWatcher,
}

impl Kept {
    fn new(world: &World, changes: Changes) -> Result<Self, String> {
        let settings = settings(world)?;
        let mut roots = search_order(&settings, &world.places);
        if settings.skills_builtin.value {
            // `maestro doctor` shows what cannot be copied; the other skills are available.
            roots.extend(packs::sync_builtin(&settings, &world.spare_dir, &mut Vec::new()).map(Root::builtin));
        }
        let cache = CatalogueCache::load(roots, world.places.clone(), settings.skills_validation.value);
        let cache = Arc::new(cache);
        let watcher = CatalogueWatcher::start(Arc::clone(&cache), move |_| changes.ring());
        Ok(Self { cache, settings: Arc::new(settings), _watcher: watcher })
    }

    fn shelf(&self, freshness: Freshness, world: &World) -> Shelf {
        let catalogue = match freshness {
            Freshness::Kept => self.cache.current(),
            Freshness::Reread => self.cache.reload(),
        };
        // A setting may have changed; the catalogue keeps its settings until the server restarts.
        let settings = settings(world).map_or_else(|_| Arc::clone(&self.settings), Arc::new);
        Shelf { catalogue, settings }
    }
}

fn settings(world: &World) -> Result<Settings, String> {
    config::settings(world).map_err(|error| format!("{}; run `maestro doctor` for details", error.message()))
}
