//! Which skills and workflows does a client see? Those of the handler's directory, or of a project that is named.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use maestro_core::workflow::Workflow;
use maestro_core::workflow::pinned::Pinned;
use maestro_engine::workflows::{Loaded, Workflows};
use maestro_skills::{Catalogue, Lookup, Skill, Source};
use rmcp::model::Tool;
use serde_json::Value as Json;

use super::desk::{Desk, Unheard, Who, escaped};
use super::tools;
use crate::shelves::{Freshness, Shelf, Shelves};

/// How often the disk is looked at for what is not known.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The skills at hand.
pub(super) struct Library {
    pub(super) shelves: Shelves,
    pub(super) directory: PathBuf,
    allowed: Allowed,
    /// When the disk was last looked at for something that was not known.
    looked: Mutex<Option<Instant>>,
    /// What was last made of a catalogue, as long as it is that one.
    offered: Mutex<Option<(Arc<Catalogue>, Arc<Offer>)>>,
}

/// Says of each workflow whether it may be executed, by its text and all it reaches: nobody needs to allow it, or somebody
/// did. It may read files.
pub type Allowed = Arc<dyn Fn(&[&Pinned]) -> Vec<bool> + Send + Sync>;

/// What is listed of a catalogue. It is the same from call to call.
pub(super) struct Offer {
    /// The tools.
    pub(super) tools: Vec<Tool>,
    /// The workflows that can be started, in the order of their names.
    pub(super) workflows: Vec<Flow>,
    /// The commands that skills declare and something carries out, in the order of their names.
    commands: Vec<(Flow, Pinned)>,
    /// What the names of tools begin with.
    prefix: String,
    /// Which commands may be executed.
    allowed: Vec<bool>,
}

impl Offer {
    /// What a tool begins.
    pub(super) fn flow(&self, tool: &str) -> Option<&Flow> {
        let commands = self.commands.iter().zip(&self.allowed).filter(|(_, allowed)| **allowed);
        let flows = || self.workflows.iter().chain(commands.map(|((flow, _), _)| flow));
        let called = |flow: &&Flow| tool.strip_prefix(&*self.prefix) == Some(flow.tool());
        flows().find(called).or_else(|| self.workflow(tool))
    }

    /// The workflow of a name.
    pub(super) fn workflow(&self, name: &str) -> Option<&Flow> {
        self.workflows.iter().find(|flow| flow.name == name)
    }

    /// The command that a tool would begin if somebody had allowed it.
    pub(super) fn forbidden(&self, tool: &str) -> Option<&Flow> {
        let mut commands = self.commands.iter().map(|(flow, _)| flow);
        commands.find(|flow| tool.strip_prefix(&*self.prefix) == Some(flow.tool()))
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
    /// Whether somebody wrote it as a workflow.
    pub(super) kind: FlowKind,
    /// What it consists of.
    pub(super) workflow: Workflow,
}

/// What a workflow was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlowKind {
    /// A definition of one.
    Workflow,
    /// A command that a skill declares. What it prints is all there is to say of it.
    Command,
}

impl Flow {
    /// What its tool is called, but for what all begin with.
    pub(super) fn tool(&self) -> &str {
        match self.kind {
            FlowKind::Workflow => &self.name,
            FlowKind::Command => self.name.split_once('/').map_or(&self.name, |(_, command)| command),
        }
    }
}

impl Library {
    pub(super) fn new(shelves: Shelves, directory: PathBuf, allowed: Allowed) -> Self {
        Self { shelves, directory, allowed, looked: Mutex::new(None), offered: Mutex::new(None) }
    }

    /// The shelf of the handler's own directory.
    pub(super) async fn own(&self) -> Result<Shelf, String> {
        self.shelf(None, Freshness::Kept).await
    }

    /// The same, in which a skill is looked for: one that was just written may not have been noticed yet.
    pub(super) async fn own_with(&self, skill: &str) -> Result<Shelf, String> {
        self.with(None, skill).await
    }

    /// The shelf of a project, or of the handler's own directory.
    pub(super) async fn of(&self, desk: &Desk, who: &Who, project: Option<&str>) -> Result<Shelf, Unheard> {
        let directory = directory(desk, who, project).await?;
        self.shelf(directory, Freshness::Kept).await.map_err(Unheard::Unreachable)
    }

    /// The same, in which a skill is looked for.
    pub(super) async fn of_with(
        &self,
        desk: &Desk,
        who: &Who,
        project: Option<&str>,
        skill: &str,
    ) -> Result<Shelf, Unheard> {
        let directory = directory(desk, who, project).await?;
        self.with(directory, skill).await.map_err(Unheard::Unreachable)
    }

    async fn with(&self, directory: Option<PathBuf>, skill: &str) -> Result<Shelf, String> {
        let kept = self.shelf(directory.clone(), Freshness::Kept).await?;
        if matches!(kept.catalogue.find(skill), Lookup::Missing { .. }) && self.may_look_again() {
            return self.shelf(directory, Freshness::Reread).await;
        }
        Ok(kept)
    }

    /// Looks at the handler's own directory again, for something that is not known.
    pub(super) async fn look_again(&self) -> Result<(), String> {
        if self.may_look_again() {
            self.shelf(None, Freshness::Reread).await?;
        }
        Ok(())
    }

    /// Whether the disk was not looked at again just now: whoever asks for what is nowhere does not keep it busy.
    fn may_look_again(&self) -> bool {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let may = looked.is_none_or(|last| last.elapsed() >= LOOK_AGAIN);
        if may {
            *looked = Some(Instant::now());
        }
        may
    }

    async fn shelf(&self, directory: Option<PathBuf>, freshness: Freshness) -> Result<Shelf, String> {
        let shelves = Arc::clone(&self.shelves);
        let looked = tokio::task::spawn_blocking(move || shelves(directory.as_deref(), freshness));
        looked.await.map_err(|error| error.to_string())?
    }

    /// What is listed of the handler's own directory.
    pub(super) async fn offer(&self) -> Result<Arc<Offer>, String> {
        let Shelf { catalogue, settings } = self.own().await?;
        let kept = self.offered.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let kept = kept.filter(|(known, _)| Arc::ptr_eq(known, &catalogue)).map(|(_, offer)| offer);
        let (allowed, directory, of) = (Arc::clone(&self.allowed), self.directory.clone(), Arc::clone(&catalogue));
        let make = move || offer(kept, &of, &directory, &settings.tool_prefix.value, &allowed);
        let offer = tokio::task::spawn_blocking(make).await.map_err(|error| error.to_string())?;
        *self.offered.lock().unwrap_or_else(PoisonError::into_inner) = Some((catalogue, Arc::clone(&offer)));
        Ok(offer)
    }
}

/// Where a project works.
async fn directory(desk: &Desk, who: &Who, project: Option<&str>) -> Result<Option<PathBuf>, Unheard> {
    let Some(id) = project else { return Ok(None) };
    let project: Json = desk.get(who, &format!("/api/projects/{}", escaped(id))).await?;
    Ok(project["workingDir"].as_str().map(PathBuf::from))
}

/// What is listed of a catalogue: what was, unless a setting or what somebody allows has changed since.
fn offer(
    kept: Option<Arc<Offer>>,
    catalogue: &Catalogue,
    directory: &Path,
    prefix: &str,
    allowed: &Allowed,
) -> Arc<Offer> {
    let which = |offer: &Offer| match offer.commands.as_slice() {
        [] => Vec::new(),
        commands => allowed(&commands.iter().map(|(_, pinned)| pinned).collect::<Vec<_>>()),
    };
    if let Some(kept) = kept.filter(|kept| kept.prefix == prefix && kept.allowed == which(kept)) {
        return kept;
    }
    let mut offer = found(catalogue, directory);
    offer.allowed = which(&offer);
    prefix.clone_into(&mut offer.prefix);
    let commands = offer.commands.iter().zip(&offer.allowed).filter(|(_, allowed)| **allowed);
    let flows: Vec<&Flow> = offer.workflows.iter().chain(commands.map(|((flow, _), _)| flow)).collect();
    offer.tools = tools::listed(&flows, prefix);
    Arc::new(offer)
}

/// The workflows and commands of a catalogue.
fn found(catalogue: &Catalogue, directory: &Path) -> Offer {
    let found = Workflows::of(catalogue, directory);
    let (mut workflows, mut commands) = (Vec::new(), Vec::new());
    for loaded in found.all().iter().filter_map(|source| found.load(source).ok()) {
        if loaded.is_made_of_command() {
            let pinned = found.pinned(&loaded.source.name).ok();
            commands.extend(flow(catalogue, loaded, FlowKind::Command).zip(pinned));
        } else if loaded.is_listed() {
            workflows.extend(flow(catalogue, loaded, FlowKind::Workflow));
        }
    }
    workflows.sort_by(|one, other| one.name.cmp(&other.name));
    commands.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
    Offer { tools: Vec::new(), workflows, commands, prefix: String::new(), allowed: Vec::new() }
}

fn flow(catalogue: &Catalogue, loaded: Loaded, kind: FlowKind) -> Option<Flow> {
    let (name, workflow) = (loaded.source.name, loaded.workflow?);
    let skill = catalogue.get(name.split('/').next().unwrap_or(&name))?;
    let own = workflow.description.trim();
    let description = if own.is_empty() { skill.description.clone() } else { own.to_owned() };
    Some(Flow { source: skill.source, name, description, kind, workflow })
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
