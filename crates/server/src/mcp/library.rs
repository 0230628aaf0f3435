//! Which skills and workflows does a client see? Those of the handler's directory, or of a project that is named.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use maestro_core::workflow::Workflow;
use maestro_engine::workflows::{Loaded, Workflows};
use maestro_skills::{Catalogue, Lookup, Skill, Source};
use rmcp::model::Tool;
use serde_json::Value as Json;

use super::desk::{Desk, Unheard, Who, escaped};
use super::tools;
use crate::shelves::{Freshness, Shelf, Shelves};

/// The skills at hand.
pub(super) struct Library {
    pub(super) shelves: Shelves,
    pub(super) directory: PathBuf,
    /// What was last made of a catalogue, as long as it is that one.
    offered: Mutex<Option<(Arc<Catalogue>, Arc<Offer>)>>,
}

/// What is listed of a catalogue. It is the same from call to call.
pub(super) struct Offer {
    /// The tools.
    pub(super) tools: Vec<Tool>,
    /// The workflows that can be started, in the order of their names.
    pub(super) workflows: Vec<Flow>,
}

impl Offer {
    /// The workflow of a name.
    pub(super) fn workflow(&self, name: &str) -> Option<&Flow> {
        self.workflows.iter().find(|flow| flow.name == name)
    }
}

/// A workflow that can be started.
pub(super) struct Flow {
    /// What it is started by.
    pub(super) name: String,
    /// What it does: its own words, or its skill's.
    pub(super) description: String,
    /// What kind of place it came from.
    pub(super) source: Source,
    /// What it consists of.
    pub(super) workflow: Workflow,
}

impl Library {
    pub(super) fn new(shelves: Shelves, directory: PathBuf) -> Self {
        Self { shelves, directory, offered: Mutex::new(None) }
    }

    /// The shelf of the handler's own directory.
    pub(super) async fn own(&self) -> Result<Shelf, String> {
        self.shelf(None).await
    }

    /// The shelf of a project, or of the handler's own directory.
    pub(super) async fn of(&self, desk: &Desk, who: &Who, project: Option<&str>) -> Result<Shelf, Unheard> {
        let directory = match project {
            Some(id) => {
                let project: Json = desk.get(who, &format!("/api/projects/{}", escaped(id))).await?;
                project["workingDir"].as_str().map(PathBuf::from)
            }
            None => None,
        };
        self.shelf(directory).await.map_err(Unheard::Unreachable)
    }

    async fn shelf(&self, directory: Option<PathBuf>) -> Result<Shelf, String> {
        let shelves = Arc::clone(&self.shelves);
        let looked = tokio::task::spawn_blocking(move || shelves(directory.as_deref(), Freshness::Kept));
        looked.await.map_err(|error| error.to_string())?
    }

    /// What is listed of the handler's own directory.
    pub(super) async fn offer(&self) -> Result<Arc<Offer>, String> {
        let catalogue = self.own().await?.catalogue;
        if let Some((known, offer)) = &*self.offered.lock().unwrap_or_else(PoisonError::into_inner)
            && Arc::ptr_eq(known, &catalogue)
        {
            return Ok(Arc::clone(offer));
        }
        let (read, directory) = (Arc::clone(&catalogue), self.directory.clone());
        let made = tokio::task::spawn_blocking(move || offer_of(&read, &directory));
        let offer = Arc::new(made.await.map_err(|error| error.to_string())?);
        *self.offered.lock().unwrap_or_else(PoisonError::into_inner) = Some((catalogue, Arc::clone(&offer)));
        Ok(offer)
    }
}

fn offer_of(catalogue: &Catalogue, directory: &Path) -> Offer {
    let found = Workflows::of(catalogue, directory);
    let loaded = found.all().iter().filter_map(|source| found.load(source).ok()).filter(Loaded::is_listed);
    let mut workflows: Vec<Flow> = loaded.filter_map(|loaded| flow(catalogue, loaded)).collect();
    workflows.sort_by(|one, other| one.name.cmp(&other.name));
    Offer { tools: tools::listed(&workflows), workflows }
}

fn flow(catalogue: &Catalogue, loaded: Loaded) -> Option<Flow> {
    let (name, workflow) = (loaded.source.name, loaded.workflow?);
    let skill = catalogue.get(name.split('/').next().unwrap_or(&name))?;
    let own = workflow.description.trim();
    let description = if own.is_empty() { skill.description.clone() } else { own.to_owned() };
    Some(Flow { source: skill.source, name, description, workflow })
}

/// The skill of a name, or a sentence that helps on.
pub(super) fn skill<'c>(catalogue: &'c Catalogue, name: &str) -> Result<&'c Skill, String> {
    match catalogue.find(name) {
        Lookup::Found(skill) => Ok(skill),
        Lookup::Ambiguous(many) => {
            let ids: Vec<&str> = many.iter().map(|skill| skill.id.as_str()).collect();
            Err(format!("several skills are called `{name}`; name one of {}", ids.join(", ")))
        }
        Lookup::Broken(broken) => {
            let why: Vec<&str> = catalogue.problems_of(&broken.path).map(|problem| problem.message.as_str()).collect();
            Err(format!("the skill `{name}` is there and cannot be loaded: {}", why.join("; ")))
        }
        Lookup::Missing { closest: Some(close) } => {
            Err(format!("there is no skill `{name}`; did you mean `{close}`? `find_skills` finds those for a task"))
        }
        Lookup::Missing { closest: None } => {
            Err(format!("there is no skill `{name}`; `find_skills` finds those for a task"))
        }
    }
}
