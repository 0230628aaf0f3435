//! Stored counts of how often a project's skills were of use.

use std::path::PathBuf;
use std::sync::Arc;

use maestro_core::Settings;
use maestro_skills::{SkillHabits, UsageVerdict, read_bounded};
use sha2::{Digest as _, Sha256};

use super::files;
use super::world::World;

/// The largest file that is read.
const MAX_BYTES: u64 = 64 * 1024;

/// The counts of a project, unless there are none or the settings say not to learn.
pub(crate) fn of_project(settings: &Settings, world: &World) -> Option<Arc<SkillHabits>> {
    if settings.skills_learn.value { stored(world).map(Arc::new) } else { None }
}

/// Counts uses of skills. A failure costs only these counts, and so does another process that counts at the same time.
pub(crate) fn note<'a>(uses: impl IntoIterator<Item = (&'a str, UsageVerdict)>, settings: &Settings, world: &World) {
    if !settings.skills_learn.value {
        return;
    }
    let mut uses = uses.into_iter().peekable();
    if uses.peek().is_none() {
        return;
    }
    let mut habits = stored(world).unwrap_or_default();
    for (skill, usage) in uses {
        habits.note(skill, usage);
    }
    if let Err(error) = files::write_private(&file(world), habits.to_text().as_bytes()) {
        tracing::warn!("the uses of skills cannot be stored: {error}");
    }
}

fn stored(world: &World) -> Option<SkillHabits> {
    let contents = read_bounded(&file(world), MAX_BYTES).ok().filter(|contents| !contents.cut)?;
    Some(SkillHabits::parse(&String::from_utf8_lossy(&contents.bytes)))
}

/// One for each project.
fn file(world: &World) -> PathBuf {
    let project = world.places.project.as_os_str().as_encoded_bytes();
    let hash = Sha256::digest(project).iter().take(16).fold(String::new(), |hash, byte| hash + &format!("{byte:02x}"));
    world.maestro_home.join("habits").join(format!("{hash}.tsv"))
}
