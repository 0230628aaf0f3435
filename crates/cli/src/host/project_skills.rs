//! Skills of a directory: read once by a command, kept and watched by a server.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use maestro_core::Settings;
use maestro_core::settings::SkillValidation;
use maestro_engine::{Freshness, HostError, ProjectSkills};
use maestro_server::SkillChanges;
use maestro_skills::{CatalogueCache, CatalogueWatcher, SkillRoot, root_lists, search_order};

use super::cli_host::unreadable;
use super::skill_habits;
use super::skill_vectors::{self, VectorEffort};
use super::world::World;
use super::{catalogue, config, packs};
use crate::output::error::CommandError;

/// For how many directories a server keeps the skills.
const MOST: usize = 16;

/// Where the skills of directories come from.
pub(super) enum SkillsReading {
    /// Read each time.
    Once,
    /// Read when first asked for, and watched from then on.
    Watched(Box<WatchedSkills>),
}

impl SkillsReading {
    /// A source for a command that asks once.
    pub(super) fn read_once() -> Self {
        Self::Once
    }

    /// A source for a process that lasts; each change rings.
    pub(super) fn watch(world: &World, changes: &SkillChanges) -> Self {
        Self::Watched(Box::new(WatchedSkills {
            world: world.clone(),
            changes: changes.clone(),
            kept: Mutex::default(),
        }))
    }

    pub(super) fn find(
        &self,
        world: &World,
        directory: Option<&Path>,
        freshness: Freshness,
    ) -> Result<ProjectSkills, HostError> {
        match self {
            Self::Once => {
                let world = directory.map_or_else(|| world.clone(), |directory| world.at(directory));
                let settings = settings(&world)?;
                let mut catalogue = catalogue::load(&world, &[], &settings).map_err(|error| unreadable(&error))?;
                skill_vectors::attach(&mut catalogue, VectorEffort::Few, &settings, &world);
                Ok(ProjectSkills { catalogue: Arc::new(catalogue), settings: Arc::new(settings) })
            }
            Self::Watched(watched) => watched.find(directory, freshness),
        }
    }
}

/// The skills of directories that were asked for.
pub(super) struct WatchedSkills {
    world: World,
    changes: SkillChanges,
    /// The skills of each directory, and the time of the last request.
    kept: Mutex<HashMap<PathBuf, (Arc<DirectorySkills>, Instant)>>,
}

impl WatchedSkills {
    fn find(&self, directory: Option<&Path>, freshness: Freshness) -> Result<ProjectSkills, HostError> {
        let world = self.world.at(directory.unwrap_or(&self.world.places.working_dir));
        let known = self.lock().get_mut(&world.places.working_dir).map(|(kept, asked)| {
            *asked = Instant::now();
            Arc::clone(kept)
        });
        // A setting may have changed. One that cannot be read changes nothing.
        let settings = match (settings(&world), &known) {
            (Ok(settings), _) => Arc::new(settings),
            (Err(_), Some(known)) => Arc::clone(&known.settings),
            (Err(error), None) => return Err(error),
        };
        let known = known.filter(|kept| kept.source == SkillsOrigin::of(&settings, &world));
        let kept = known.unwrap_or_else(|| self.keep(&world, &settings));
        Ok(kept.current(freshness, settings, &world))
    }

    /// Reads a directory's skills without blocking requests for others.
    fn keep(&self, world: &World, settings: &Arc<Settings>) -> Arc<DirectorySkills> {
        let fresh = Arc::new(DirectorySkills::new(world, settings, self.changes.clone()));
        let own = &self.world.places.working_dir;
        let mut kept = self.lock();
        // The directory that clients watch stays; of the others, the one unused for longest goes.
        let others = kept.iter().filter(|(directory, _)| *directory != own);
        let oldest = others.min_by_key(|(_, (_, asked))| *asked).map(|(directory, _)| directory.clone());
        let gone = oldest.filter(|_| kept.len() >= MOST).and_then(|oldest| kept.remove(&oldest));
        let replaced = kept.insert(world.places.working_dir.clone(), (Arc::clone(&fresh), Instant::now()));
        // Stopping a watch takes a moment; others need not wait for it.
        drop(kept);
        drop((gone, replaced));
        fresh
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, (Arc<DirectorySkills>, Instant)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Everything that decides where skills are looked for and how they are read.
#[derive(PartialEq)]
struct SkillsOrigin {
    roots: Vec<SkillRoot>,
    builtin: bool,
    validation: SkillValidation,
}

impl SkillsOrigin {
    /// The directories are looked up each time: a plugin that was installed meanwhile has its own.
    fn of(settings: &Settings, world: &World) -> Self {
        Self {
            roots: search_order(settings, &world.places),
            builtin: settings.skills_builtin.value,
            validation: settings.skills_validation.value,
        }
    }
}

/// The skills of a directory, kept fresh.
struct DirectorySkills {
    source: SkillsOrigin,
    cache: Arc<CatalogueCache>,
    settings: Arc<Settings>,
    _watcher: CatalogueWatcher,
    _vectors: VectorThread,
}

impl DirectorySkills {
    fn new(world: &World, settings: &Arc<Settings>, changes: SkillChanges) -> Self {
        let source = SkillsOrigin::of(settings, world);
        let mut roots = source.roots.clone();
        if source.builtin {
            // `maestro doctor` shows what cannot be copied; the other skills are available.
            roots.extend(packs::sync_builtin(settings, &world.spare_dir, &mut Vec::new()).map(SkillRoot::builtin));
        }
        let cache = CatalogueCache::load(roots, world.places.clone(), source.validation);
        // A few vectors are worth the wait; the rest comes in the background.
        let mut catalogue = (*cache.current()).clone();
        skill_vectors::attach(&mut catalogue, VectorEffort::Few, settings, world);
        if let Some(vectors) = catalogue.vectors {
            cache.set_vectors(vectors);
        }
        let cache = Arc::new(cache);
        let vectors = VectorThread::start(Arc::clone(&cache), (**settings).clone(), world.clone());
        let wake = vectors.wake.clone();
        let lists = root_lists(&world.places).to_vec();
        let watcher = CatalogueWatcher::start(Arc::clone(&cache), lists, move |_| {
            changes.ring();
            let _ = wake.send(VectorMessage::Look);
        });
        Self { source, cache, settings: Arc::clone(settings), _watcher: watcher, _vectors: vectors }
    }

    fn current(&self, freshness: Freshness, settings: Arc<Settings>, world: &World) -> ProjectSkills {
        if freshness == Freshness::Reread {
            self.cache.reload();
        }
        self.cache.set_habits(skill_habits::of_project(&settings, world));
        ProjectSkills { catalogue: self.cache.current(), settings }
    }
}

/// Computes the vectors of a directory's skills in the background.
struct VectorThread {
    wake: mpsc::Sender<VectorMessage>,
    is_needed: Arc<AtomicBool>,
}

/// Messages to the thread that computes vectors.
enum VectorMessage {
    /// The skills may have changed.
    Look,
    /// They are not needed anymore.
    Stop,
}

impl VectorThread {
    fn start(cache: Arc<CatalogueCache>, settings: Settings, world: World) -> Self {
        let (wake, messages) = mpsc::channel();
        let is_needed = Arc::new(AtomicBool::new(true));
        let needed = Arc::clone(&is_needed);
        let work = move || {
            while let Ok(VectorMessage::Look) = messages.recv() {
                let is_needed = || needed.load(Ordering::Relaxed);
                let pass_on = |vectors| cache.set_vectors(vectors);
                skill_vectors::complete(&cache.current(), &settings, &world, is_needed, pass_on);
            }
        };
        // Without the thread, skills are compared by their words.
        if let Err(error) = thread::Builder::new().name("vectors".to_owned()).spawn(work) {
            tracing::warn!("the vectors of skills are not computed: {error}");
        }
        let _ = wake.send(VectorMessage::Look);
        Self { wake, is_needed }
    }
}

impl Drop for VectorThread {
    fn drop(&mut self) {
        self.is_needed.store(false, Ordering::Relaxed);
        let _ = self.wake.send(VectorMessage::Stop);
    }
}

fn settings(world: &World) -> Result<Settings, HostError> {
    let hinted =
        |error: CommandError| HostError::Unreadable(format!("{}; run `maestro doctor` for details", error.message()));
    config::settings(world).map_err(hinted)
}
