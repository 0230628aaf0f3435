//! Which skills and workflows does a client see? Those of the handler's directory, or of a project that is named.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use maestro_core::workflow::Workflow;
use maestro_core::workflow::pinned::Pinned;
use maestro_engine::workflows::{Loaded, Workflows};
use maestro_engine::{Freshness, Host, ProjectSkills, WorkflowConsent, host};
use maestro_skills::{Catalogue, Lookup, Skill, Source};
use rmcp::model::Tool;
use serde_json::{Map, Value as Json};

use super::client::{ReconnectingClient, Who};
use super::tools;
use maestro_api::{ClientError, projects};

/// How often the disk is looked at for what is not known.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The skills at hand.
pub(super) struct Library {
    host: Arc<dyn Host>,
    pub(super) directory: PathBuf,
    /// When the disk was last looked at for something that was not known.
    looked: Mutex<Option<Instant>>,
    /// What was last made of a catalogue, as long as it is that one.
    offered: Mutex<Option<(Arc<Catalogue>, Arc<Offer>)>>,
}

/// What is listed of a catalogue. It is the same from call to call.
pub(super) struct Offer {
    /// The tools.
    pub(super) tools: Vec<Tool>,
    /// Everything that can be begun, in the order in which tools are listed.
    flows: Vec<Flow>,
    /// Of which of them it is allowed that they are begun by a tool.
    allowed: Vec<bool>,
    /// What the names of tools begin with.
    prefix: String,
}

impl Offer {
    /// What a tool begins: of several of one name the one that is listed, or would be if there was room.
    pub(super) fn flow(&self, tool: &str) -> Option<&Flow> {
        self.offered().find(|flow| self.calls(tool, flow)).or_else(|| self.workflow(tool))
    }

    /// The workflow of a name.
    pub(super) fn workflow(&self, name: &str) -> Option<&Flow> {
        self.workflows().find(|flow| flow.name == name)
    }

    /// The workflows that somebody wrote as such.
    pub(super) fn workflows(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().filter(|flow| flow.command.is_none())
    }

    /// The command that a tool would begin if somebody had allowed it.
    pub(super) fn forbidden(&self, tool: &str) -> Option<&Flow> {
        self.flows.iter().find(|flow| flow.command.is_some() && self.calls(tool, flow))
    }

    fn offered(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().zip(&self.allowed).filter(|(_, allowed)| **allowed).map(|(flow, _)| flow)
    }

    fn calls(&self, tool: &str, flow: &Flow) -> bool {
        tool.strip_prefix(&*self.prefix) == Some(flow.tool())
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
    /// What it was made of, if of a command.
    pub(super) command: Option<Made>,
}

/// A workflow that was made of a command.
pub(super) struct Made {
    /// What somebody must allow.
    pinned: Pinned,
    /// What it takes, as its author declared it.
    pub(super) schema: Map<String, Json>,
}

/// What a workflow was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FlowKind {
    /// A definition of one.
    Workflow,
    /// A command that a skill declares. What it prints is all there is to say of it.
    Command,
}

impl Flow {
    /// What it was made of.
    pub(super) fn kind(&self) -> FlowKind {
        if self.command.is_some() { FlowKind::Command } else { FlowKind::Workflow }
    }

    /// What its tool is called, but for what all begin with.
    pub(super) fn tool(&self) -> &str {
        match self.kind() {
            FlowKind::Workflow => &self.name,
            FlowKind::Command => self.name.split_once('/').map_or(&self.name, |(_, command)| command),
        }
    }
}

impl Library {
    pub(super) fn new(host: Arc<dyn Host>, directory: PathBuf) -> Self {
        Self { host, directory, looked: Mutex::new(None), offered: Mutex::new(None) }
    }

    /// The shelf of the handler's own directory.
    pub(super) async fn own(&self) -> Result<ProjectSkills, String> {
        self.shelf(None, Freshness::Kept).await
    }

    /// The same, in which a skill is looked for: one that was just written may not have been noticed yet.
    pub(super) async fn own_with(&self, skill: &str) -> Result<ProjectSkills, String> {
        self.with(None, skill).await
    }

    /// The shelf of a project, or of the handler's own directory.
    pub(super) async fn of(
        &self,
        api: &ReconnectingClient,
        who: &Who,
        project: Option<&str>,
    ) -> Result<ProjectSkills, ClientError> {
        let directory = directory(api, who, project).await?;
        self.shelf(directory, Freshness::Kept).await.map_err(ClientError::NotConnected)
    }

    /// The same, in which a skill is looked for.
    pub(super) async fn of_with(
        &self,
        api: &ReconnectingClient,
        who: &Who,
        project: Option<&str>,
        skill: &str,
    ) -> Result<ProjectSkills, ClientError> {
        let directory = directory(api, who, project).await?;
        self.with(directory, skill).await.map_err(ClientError::NotConnected)
    }

    async fn with(&self, directory: Option<PathBuf>, skill: &str) -> Result<ProjectSkills, String> {
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

    async fn shelf(&self, directory: Option<PathBuf>, freshness: Freshness) -> Result<ProjectSkills, String> {
        let found = host::ask(&self.host, move |host| host.skills(directory.as_deref(), freshness)).await;
        found.map_err(|error| error.to_string())
    }

    /// What is listed of the handler's own directory.
    pub(super) async fn offer(&self) -> Result<Arc<Offer>, String> {
        let ProjectSkills { catalogue, settings } = self.own().await?;
        let kept = self.offered.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let kept = kept.filter(|(known, _)| Arc::ptr_eq(known, &catalogue)).map(|(_, offer)| offer);
        let (directory, of) = (self.directory.clone(), Arc::clone(&catalogue));
        let make = move |host: &dyn Host| Ok(offer(kept, &of, &directory, &settings.tool_prefix.value, host));
        let offer = host::ask(&self.host, make).await.map_err(|error| error.to_string())?;
        *self.offered.lock().unwrap_or_else(PoisonError::into_inner) = Some((catalogue, Arc::clone(&offer)));
        Ok(offer)
    }
}

/// Where a project works.
async fn directory(api: &ReconnectingClient, who: &Who, project: Option<&str>) -> Result<Option<PathBuf>, ClientError> {
    let Some(id) = project else { return Ok(None) };
    Ok(Some(PathBuf::from(api.call(who, projects::get(id)).await?.working_dir)))
}

/// What is listed of a catalogue: what was, unless a setting or what somebody allows has changed since.
fn offer(
    kept: Option<Arc<Offer>>,
    catalogue: &Catalogue,
    directory: &Path,
    prefix: &str,
    host: &dyn Host,
) -> Arc<Offer> {
    let which = |flows: &[Flow]| {
        let commands = flows.iter().filter_map(|flow| Some(&flow.command.as_ref()?.pinned.definitions));
        let commands: Vec<_> = commands.collect();
        let mut answers = if commands.is_empty() { Vec::new() } else { host.consents(&commands) }.into_iter();
        let granted = Some(WorkflowConsent::Granted);
        flows.iter().map(|flow| flow.command.is_none() || answers.next() == granted).collect::<Vec<bool>>()
    };
    if let Some(kept) = kept.filter(|kept| kept.prefix == prefix && kept.allowed == which(&kept.flows)) {
        return kept;
    }
    let flows = found(catalogue, directory);
    let mut offer = Offer { tools: Vec::new(), allowed: which(&flows), flows, prefix: prefix.to_owned() };
    offer.tools = tools::listed(&offer.offered().collect::<Vec<_>>(), prefix);
    Arc::new(offer)
}

/// The workflows and commands of a catalogue.
fn found(catalogue: &Catalogue, directory: &Path) -> Vec<Flow> {
    let found = Workflows::of(catalogue, directory);
    let mut flows = Vec::new();
    for loaded in found.all().iter().filter_map(|source| found.load(source).ok()) {
        if loaded.is_made_of_command() {
            let made = made(catalogue, &found, &loaded.source.name);
            flows.extend(made.and_then(|made| flow(catalogue, loaded, Some(made))));
        } else if loaded.is_listed() {
            flows.extend(flow(catalogue, loaded, None));
        }
    }
    flows.sort_by_cached_key(|flow| (tools::rank(flow.source), flow.kind(), flow.name.clone()));
    flows
}

fn made(catalogue: &Catalogue, found: &Workflows<'_>, name: &str) -> Option<Made> {
    let (skill, command) = name.split_once('/')?;
    let command = catalogue.get(skill)?.commands.iter().find(|known| known.name == command)?;
    let Json::Object(schema) = command.input_schema() else { return None };
    Some(Made { pinned: found.pinned(name).ok()?, schema })
}

fn flow(catalogue: &Catalogue, loaded: Loaded, command: Option<Made>) -> Option<Flow> {
    let (name, workflow) = (loaded.source.name, loaded.workflow?);
    let skill = catalogue.get(name.split('/').next().unwrap_or(&name))?;
    let own = workflow.description.trim();
    let description = if own.is_empty() { skill.description.clone() } else { own.to_owned() };
    Some(Flow { source: skill.source, name, description, workflow, command })
}

/// The skill of a name, or a sentence that helps on.
pub(super) fn skill<'c>(catalogue: &'c Catalogue, name: &str) -> Result<&'c Skill, String> {
    match catalogue.find(name) {
        Lookup::Found(skill) => Ok(skill),
        Lookup::Ambiguous(many) => {
            let ids: Vec<&str> = many.iter().map(|skill| skill.id.as_str()).collect();
            Err(format!("several skills are named `{name}`; use one of {}", ids.join(", ")))
        }
        Lookup::Broken(broken) => {
            let why: Vec<&str> = catalogue.problems_of(&broken.path).map(|problem| problem.message.as_str()).collect();
            Err(format!("the skill `{name}` cannot be loaded: {}", why.join("; ")))
        }
        Lookup::Missing { closest: Some(close) } => Err(format!(
            "unknown skill `{name}`; did you mean `{close}`? Call `find_skills` for the skills that fit a task"
        )),
        Lookup::Missing { closest: None } => {
            Err(format!("unknown skill `{name}`; call `find_skills` for the skills that fit a task"))
        }
    }
}
