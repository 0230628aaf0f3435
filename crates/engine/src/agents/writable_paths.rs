//! Paths outside the workspace that an agent may write to.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use maestro_core::agent::CodingAgent;

/// The paths of an agent. Missing directories are created, as the agent would do on its first start: a missing path
/// cannot be granted, and the agent may create nothing in its parent.
pub(crate) fn of(agent: &CodingAgent, env: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let places = agent.places(&|name| env.get(name).cloned()).into_iter().map(PathBuf::from);
    places
        .inspect(|place| {
            if is_folder(place) {
                // Where we may not create it, the agent reports the error.
                let _ = fs::create_dir_all(place);
            }
        })
        .collect()
}

/// Whether a missing path would be a directory, by its name: `.claude` is one, `.claude.json` is not.
fn is_folder(place: &Path) -> bool {
    place.extension().is_none()
}

#[cfg(test)]
mod tests {
    use maestro_core::agent::AgentCatalogue;

    use super::*;

    #[test]
    fn folders_are_made_and_files_are_not() {
        let home = tempfile::tempdir().unwrap();
        let env = BTreeMap::from([("HOME".to_owned(), home.path().display().to_string())]);
        let agents = AgentCatalogue::builtin();
        let claude = [home.path().join(".claude"), home.path().join(".claude.json")];
        assert_eq!(of(agents.find("claude").unwrap(), &env), claude);
        assert_eq!(claude.map(|place| place.exists()), [true, false]);
        let goose = of(agents.find("goose").unwrap(), &env);
        assert!(goose.len() == 3 && goose.iter().all(|place| place.is_dir()), "{goose:?}");
    }
}
