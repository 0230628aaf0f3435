//! Which project is meant? The one that was named, else the one that this directory belongs to.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::client::Client;
use crate::error::CommandError;
use crate::world::World;

/// A project, as far as commands need it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Project {
    pub(crate) id: String,
    pub(crate) working_dir: String,
}

impl Project {
    /// Its directory, if it is one on this machine.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        let path = Path::new(&self.working_dir);
        (path.is_absolute() && path.is_dir()).then(|| path.to_owned())
    }
}

/// The project that was named, or the one whose directory holds this one most closely.
pub(crate) fn meant(client: &Client, world: &World) -> Result<Project, CommandError> {
    let named = world.aim.project.as_deref().or_else(|| world.variable("MAESTRO_PROJECT_ID"));
    if let Some(id) = named {
        return client.get(&format!("/api/projects/{}", crate::client::escaped(id)));
    }
    let projects: Vec<Project> = client.get("/api/projects")?;
    closest(projects, &world.places.working_dir).ok_or_else(|| {
        CommandError::no_context("this directory belongs to no project")
            .hint("`maestro init` makes it one; `--project ID` names another")
    })
}

fn closest(projects: Vec<Project>, here: &Path) -> Option<Project> {
    let holds = |project: &Project| !project.working_dir.is_empty() && here.starts_with(&project.working_dir);
    projects.into_iter().filter(holds).max_by_key(|project| project.working_dir.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_directory_counts() {
        let project = |dir: &str| Project { id: dir.into(), working_dir: dir.into() };
        let all = || vec![project(""), project("/srv"), project("/srv/app"), project("/srv/ap")];
        let found = |here: &str| closest(all(), Path::new(here)).map(|project| project.id);
        assert_eq!(found("/srv/app/web").as_deref(), Some("/srv/app"));
        assert_eq!(found("/srv/other").as_deref(), Some("/srv"));
        assert_eq!(found("/home"), None);
    }
}
