//! Where may an agent write on its own account, and is that there?

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use maestro_core::agent::Agent;

/// The places of an agent. Folders that are not there yet are made, as the agent would do when it is started for the
/// first time: what is not there cannot be allowed, and above it the agent can make nothing.
pub(crate) fn of(agent: &Agent, env: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let places = agent.places(&|name| env.get(name).cloned()).into_iter().map(PathBuf::from);
    places
        .inspect(|place| {
            if is_folder(place) {
                // Who may not make it is told so by the agent.
                let _ = fs::create_dir_all(place);
            }
        })
        .collect()
}

/// Whether something that need not be there would be a folder, by its name: `.claude` is one, `.claude.json` is not.
fn is_folder(place: &Path) -> bool {
    place.extension().is_none()
}

#[cfg(test)]
mod tests {
    use maestro_core::agent::Agents;

    use super::*;

    #[test]
    fn folders_are_made_and_files_are_not() {
        let home = tempfile::tempdir().unwrap();
        let env = BTreeMap::from([("HOME".to_owned(), home.path().display().to_string())]);
        let agents = Agents::builtin();
        let claude = [home.path().join(".claude"), home.path().join(".claude.json")];
        assert_eq!(of(agents.find("claude").unwrap(), &env), claude);
        assert_eq!(claude.map(|place| place.exists()), [true, false]);
        let goose = of(agents.find("goose").unwrap(), &env);
        assert!(goose.len() == 3 && goose.iter().all(|place| place.is_dir()), "{goose:?}");
    }
}
