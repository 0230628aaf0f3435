//! What is needed to execute what a run orders, on this machine and for this user?

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use maestro_core::workflow::pinned::PinnedText;
use maestro_engine::Abilities;
use maestro_engine::drive::Workshop;
use maestro_engine::execute::Site;
use maestro_engine::identity::Identity;
use maestro_engine::trust::{self, Trust};
use maestro_skills::Pack;

use crate::error::CommandError;
use crate::world::World;

/// The workshop of this process.
pub(crate) fn of(world: &World) -> Result<Workshop, CommandError> {
    let maestro = std::env::current_exe().map_err(|error| {
        CommandError::io("this program cannot be found, and everything it starts goes through it", &error)
    })?;
    let site = Site {
        maestro,
        home: world.maestro_home.clone(),
        own: vec![world.cache.clone()],
        workspace: PathBuf::new(),
        folders: Vec::new(),
        extra: Vec::new(),
        run: String::new(),
        variables: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        abilities: Abilities::default(),
    };
    let home = world.maestro_home.clone();
    let allowed = move |_: &str, definitions: &BTreeMap<String, PinnedText>| is_allowed(&home, definitions);
    Ok(Workshop { site, allowed: Arc::new(allowed), identity: Identity::of_this_process() })
}

/// Whether it came with the program, or somebody consented to it as it is now.
pub(crate) fn is_allowed(home: &Path, definitions: &BTreeMap<String, PinnedText>) -> bool {
    came_with_the_program(definitions) || Trust::load(home).is_ok_and(|trust| trust.allows(&trust::hash(definitions)))
}

/// Whether every definition is one of the built-in pack, word for word.
pub(crate) fn came_with_the_program(definitions: &BTreeMap<String, PinnedText>) -> bool {
    let pack = Pack::builtin();
    definitions.iter().all(|(name, kept)| {
        let files = match name.split_once('/') {
            Some((skill, other)) => vec![format!("{skill}/workflows/{other}.yaml")],
            None => vec![format!("{name}/workflow.yaml"), format!("{name}/skill.yaml")],
        };
        files.iter().any(|file| pack.file(file).is_some_and(|bytes| bytes == kept.text.as_bytes()))
    })
}
