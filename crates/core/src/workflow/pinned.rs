//! Texts of a definition, pinned to a run so that changed files do not affect it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::definition::{ResourceSource, Workflow};
use super::load::{Callee, Surroundings, load};
use super::name::Name;
use super::run::Definition;

/// How many bytes may be kept with one run.
pub const MAX_PINNED: usize = 1024 * 1024;

/// The texts of a workflow and of everything it reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinned {
    /// What is walked through.
    pub main: String,
    /// Its definition and those it may call, by the names they are called by.
    pub definitions: BTreeMap<String, PinnedText>,
}

/// One definition with the texts it hands out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedText {
    /// The definition.
    pub text: String,
    /// The folder of the skill it belongs to.
    pub folder: String,
    /// What its resources say.
    pub resources: BTreeMap<Name, String>,
}

/// Why something pinned is no definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsound(pub String);

impl std::fmt::Display for Unsound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the pinned definition of `{}` is invalid", self.0)
    }
}

impl std::error::Error for Unsound {}

impl Pinned {
    /// How many bytes it has.
    pub fn size(&self) -> usize {
        let texts = self
            .definitions
            .values()
            .map(|definition| definition.text.len() + definition.resources.values().map(String::len).sum::<usize>());
        texts.sum()
    }

    /// The same texts, of which another one is walked through: what a sub-agent does by itself.
    pub fn from_within(&self, name: &str) -> Option<Self> {
        let definitions = self.definitions.clone();
        definitions.contains_key(name).then(|| Self { main: name.to_owned(), definitions })
    }

    /// What can be walked through.
    pub fn definition(&self) -> Result<Definition, Unsound> {
        let main = self.workflow(&self.main)?;
        let others = self.definitions.keys().filter(|name| **name != self.main);
        let callees = others.map(|name| Ok((name.clone(), self.workflow(name)?))).collect::<Result<_, Unsound>>()?;
        Ok(Definition { main, callees })
    }

    fn workflow(&self, name: &str) -> Result<Workflow, Unsound> {
        let unsound = || Unsound(name.to_owned());
        let kept = self.definitions.get(name).ok_or_else(unsound)?;
        // It was checked against its surroundings when it was pinned.
        let anything = Surroundings {
            file_exists: &|_| true,
            convention_exists: &|_| true,
            callee: &|_| Some(Callee::anything()),
            tool: None,
        };
        let mut workflow = load(&kept.text, &anything).0.ok_or_else(unsound)?;
        name.clone_into(&mut workflow.name);
        workflow.folder.clone_from(&kept.folder);
        for (name, resource) in &mut workflow.resources {
            resource.text = kept.resources.get(name).cloned().unwrap_or_default();
        }
        Ok(workflow)
    }
}

/// The resources of a workflow and where each comes from.
pub fn sources(workflow: &Workflow) -> impl Iterator<Item = (&Name, &ResourceSource)> {
    workflow.resources.iter().map(|(name, resource)| (name, &resource.source))
}
