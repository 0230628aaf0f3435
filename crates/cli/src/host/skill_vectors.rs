//! Stored vectors of skills, beside the index.
//!
//! Commands that answer at once use what is stored and compute a few more at most; `maestro skills index` and processes
//! that last compute all.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use maestro_core::{Problem, ProblemCode, ProblemSeverity, Settings};
use maestro_skills::{Catalogue, Skill, SkillVectors};

use crate::host::catalogue::{self, with_progress};
use crate::host::files;
use crate::host::skill_habits;
use crate::host::world::World;

/// How many vectors a command computes at most before it answers.
const FEW: usize = 8;

/// How many vectors a background thread computes between two looks at whether it is still needed.
const BATCH: usize = 16;

/// How much a command does for missing vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VectorEffort {
    /// Nothing: what is stored is used.
    Stored,
    /// Compute them if they are few.
    Few,
    /// Compute all of them.
    All,
}

/// Gives a catalogue its vectors, and what is known of its use. Returns how many were computed and how many are missing still.
pub(crate) fn attach(
    catalogue: &mut Catalogue,
    effort: VectorEffort,
    settings: &Settings,
    world: &World,
) -> VectorCounts {
    catalogue.habits = skill_habits::of_project(settings, world);
    let Some(mut vectors) = stored(settings, world) else { return VectorCounts::default() };
    let missing = vectors.missing(catalogue.each_skill());
    let mut counts = VectorCounts { computed: 0, missing: missing.len() };
    let most = match effort {
        VectorEffort::Stored => 0,
        VectorEffort::Few => FEW,
        VectorEffort::All => usize::MAX,
    };
    if !missing.is_empty() && missing.len() <= most {
        counts = compute(&mut vectors, &missing, world);
        store(&vectors, catalogue, settings, world);
    }
    catalogue.vectors = Some(Arc::new(vectors));
    counts
}

/// Computes all vectors of a project's skills before work begins, with progress. Without them words decide.
pub(crate) fn prepare(settings: &Settings, world: &World) {
    match catalogue::load(world, &[], settings) {
        Ok(mut catalogue) => drop(attach(&mut catalogue, VectorEffort::All, settings, world)),
        Err(error) => tracing::warn!("the vectors of skills are not computed: {}", error.message()),
    }
}

/// How many vectors were computed, and how many are missing still.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct VectorCounts {
    pub(crate) computed: usize,
    pub(crate) missing: usize,
}

fn compute(vectors: &mut SkillVectors, missing: &[&Skill], world: &World) -> VectorCounts {
    let done = AtomicUsize::new(0);
    let text = |done: usize| format!("comparing skills: {done} of {}", missing.len());
    let added = with_progress(world, &done, text, || vectors.add(missing, &done));
    if let Err(error) = added {
        tracing::warn!("the vectors of skills cannot be computed: {error}");
    }
    let computed = done.load(Ordering::Relaxed);
    VectorCounts { computed, missing: missing.len().saturating_sub(computed) }
}

/// The vectors that are stored, and those that come with the program.
pub(crate) fn stored(settings: &Settings, world: &World) -> Option<SkillVectors> {
    let read = if settings.skills_index.value { SkillVectors::read(&file(world)) } else { SkillVectors::built_in() };
    read.inspect_err(|error| tracing::warn!("the encoder cannot be used: {error}")).ok()
}

/// Stores vectors for the next command. A failure costs only time.
fn store(vectors: &SkillVectors, catalogue: &Catalogue, settings: &Settings, world: &World) {
    if !settings.skills_index.value {
        return;
    }
    let mut all = vectors.clone();
    // Another process may have stored more in the meantime.
    if let Ok(others) = SkillVectors::read(&file(world)) {
        all.merge(others);
    }
    if let Err(error) = files::write_private(&file(world), &all.to_bytes(catalogue.each_skill())) {
        tracing::warn!("the vectors of skills cannot be stored: {error}");
    }
}

/// Computes what is missing, a batch at a time, and passes on what there is after each; ends when `is_needed` says so.
pub(crate) fn complete(
    catalogue: &Catalogue,
    settings: &Settings,
    world: &World,
    is_needed: impl Fn() -> bool,
    pass_on: impl Fn(Arc<SkillVectors>),
) {
    let Some(mut vectors) = stored(settings, world) else { return };
    pass_on(Arc::new(vectors.clone()));
    let missing = vectors.missing(catalogue.each_skill());
    // Half of the processors are left to those who wait for an answer.
    let threads = thread::available_parallelism().map_or(1, |count| count.get().div_ceil(2));
    let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() else { return };
    let done = AtomicUsize::new(0);
    for batch in missing.chunks(BATCH) {
        if !is_needed() || pool.install(|| vectors.add(batch, &done)).is_err() {
            break;
        }
    }
    if done.load(Ordering::Relaxed) > 0 {
        store(&vectors, catalogue, settings, world);
        pass_on(Arc::new(vectors));
    }
}

/// What `maestro doctor` reports: too many vectors are missing for a command to compute them by itself.
pub(crate) fn problem(catalogue: &Catalogue, settings: &Settings, world: &World) -> Option<Problem> {
    let missing = stored(settings, world)?.missing(catalogue.each_skill()).len();
    (missing > FEW).then(|| {
        Problem::new(
            ProblemCode::VectorsMissing,
            ProblemSeverity::Info,
            file(world),
            format!("{missing} skills are compared by their words only"),
            "run `maestro skills index` to compare them by meaning, too",
        )
    })
}

fn file(world: &World) -> PathBuf {
    world.cache.join("vectors").join("skills.vectors")
}
