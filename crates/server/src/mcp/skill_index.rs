//! Skills and workflows of a client: those of the handler's directory, or of a named project.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use maestro_core::agent::Permission;
use maestro_core::workflow::executions::{list_executions, list_sessions};
use maestro_core::workflow::pinned_definition::PinnedDefinition;
use maestro_core::workflow::{CalleeSignature, Workflow};
use maestro_engine::workflows::{LoadedWorkflow, WorkflowIndex, WorkflowSource};
use maestro_engine::{Freshness, Host, ProjectSkills, WorkflowConsent, host};
use maestro_skills::{Catalogue, NameLookup, Skill, SkillSource};
use rmcp::model::Tool;
use serde_json::{Map, Value as Json};

use super::client::{ReconnectingClient, ToolCaller};
use super::directory::WorkDirectory;
use super::tools::{self, ToolFrame};
use maestro_api::{ClientError, projects};

/// How often the disk is searched for an unknown name.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The available skills.
pub(super) struct SkillIndex {
    host: Arc<dyn Host>,
    pub(super) directory: Arc<WorkDirectory>,
    /// When the disk was last searched for an unknown name.
    refreshed: Mutex<Option<Instant>>,
    /// The list of the last catalogue, valid while it is current.
    tool_set: Mutex<Option<(Arc<Catalogue>, Arc<ToolSet>)>>,
}

/// The list made from a catalogue. It is the same from call to call.
pub(super) struct ToolSet {
    /// The tools.
    tools: Vec<Tool>,
    /// The tools for clients that add much to each.
    few_tools: Vec<Tool>,
    /// Everything that can be started, in the order of the tools.
    workflows: Vec<StartableWorkflow>,
    /// Which of them have consent to be started by a tool.
    allowed: Vec<bool>,
    /// The prefix of the tools' names.
    prefix: String,
}

impl ToolSet {
    /// The tools for a client.
    pub(super) fn tools(&self, frame: ToolFrame) -> &[Tool] {
        match frame {
            ToolFrame::Narrow => &self.tools,
            ToolFrame::Wide => &self.few_tools,
        }
    }

    /// The workflow a tool starts: of several with one name the listed one, or the one that would be if there was room.
    pub(super) fn flow(&self, tool: &str) -> Option<&StartableWorkflow> {
        self.listed_workflows().find(|flow| self.calls(tool, flow)).or_else(|| self.workflow(tool))
    }

    /// The workflow with this name.
    pub(super) fn workflow(&self, name: &str) -> Option<&StartableWorkflow> {
        self.workflows().find(|flow| flow.name == name)
    }

    /// The workflows that have definitions of their own.
    pub(super) fn workflows(&self) -> impl Iterator<Item = &StartableWorkflow> {
        self.workflows.iter().filter(|flow| flow.command.is_none())
    }

    /// The command that a tool would start if it had consent.
    pub(super) fn untrusted_command(&self, tool: &str) -> Option<&StartableWorkflow> {
        self.workflows.iter().find(|flow| flow.command.is_some() && self.calls(tool, flow))
    }

    fn listed_workflows(&self) -> impl Iterator<Item = &StartableWorkflow> {
        self.workflows.iter().zip(&self.allowed).filter(|(_, allowed)| **allowed).map(|(flow, _)| flow)
    }

    fn calls(&self, tool: &str, flow: &StartableWorkflow) -> bool {
        tool.strip_prefix(&*self.prefix) == Some(flow.tool_name())
    }
}

/// A workflow that can be started.
pub(super) struct StartableWorkflow {
    /// Its name.
    pub(super) name: String,
    /// Its description: its own, or its skill's.
    pub(super) description: String,
    /// The kind of its source.
    pub(super) source: SkillSource,
    /// Its texts.
    pub(super) workflow: Workflow,
    /// What it does by itself, with everything it calls.
    pub(super) acts: WorkflowActs,
    /// The command it was made from, if any.
    pub(super) command: Option<CommandTool>,
}

/// What a workflow does beside telling a model what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WorkflowActs {
    /// Nothing, or it only reads.
    Reads,
    /// It executes commands.
    Commands,
    /// It starts agents.
    Agents,
}

impl WorkflowActs {
    /// What a definition does with everything it calls; one that cannot be pinned may do anything.
    fn of(found: &WorkflowIndex<'_>, name: &str, workflow: &Workflow) -> Self {
        if CalleeSignature::of(workflow).calls.is_empty() {
            return Self::of_one(workflow);
        }
        let Ok(definition) = found.definition(name) else { return Self::Agents };
        let all = std::iter::once(&definition.main).chain(definition.callees.values());
        all.map(Self::of_one).max().unwrap_or(Self::Agents)
    }

    fn of_one(workflow: &Workflow) -> Self {
        if !list_sessions(workflow).is_empty() {
            Self::Agents
        } else if !list_executions(workflow).is_empty() {
            Self::Commands
        } else {
            Self::Reads
        }
    }
}

/// A workflow made from a command.
pub(super) struct CommandTool {
    /// The subject of the consent.
    pinned: PinnedDefinition,
    /// Its parameters, as declared by its author.
    pub(super) schema: Map<String, Json>,
}

/// The origin of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WorkflowKind {
    /// A definition.
    Workflow,
    /// A command that a skill declares. Its output is the whole result.
    Command,
}

impl StartableWorkflow {
    /// Its origin.
    pub(super) fn kind(&self) -> WorkflowKind {
        if self.command.is_some() { WorkflowKind::Command } else { WorkflowKind::Workflow }
    }

    /// The name of its tool, without the common prefix.
    pub(super) fn tool_name(&self) -> &str {
        match self.kind() {
            WorkflowKind::Workflow => &self.name,
            WorkflowKind::Command => self.name.split_once('/').map_or(&self.name, |(_, command)| command),
        }
    }
}

impl SkillIndex {
    pub(super) fn new(host: Arc<dyn Host>, directory: Arc<WorkDirectory>) -> Self {
        Self { host, directory, refreshed: Mutex::new(None), tool_set: Mutex::new(None) }
    }

    /// The skills of the handler's own directory.
    pub(super) async fn own_skills(&self) -> Result<ProjectSkills, String> {
        self.load_skills(None, Freshness::Kept).await
    }

    /// The most that agents may do in runs that a model starts, by the user's settings.
    pub(super) async fn permission(&self) -> Permission {
        let skills = self.own_skills().await;
        skills.map_or(Permission::Ask, |skills| skills.settings.mcp_permission.value)
    }

    /// The same, to look up a skill: a new one may not have been noticed yet.
    pub(super) async fn own_skills_with(&self, skill: &str) -> Result<ProjectSkills, String> {
        self.skills_at(None, skill).await
    }

    /// The skills of a project, or of the handler's own directory.
    pub(super) async fn of(
        &self,
        api: &ReconnectingClient,
        who: &ToolCaller,
        project: Option<&str>,
    ) -> Result<ProjectSkills, ClientError> {
        let directory = directory(api, who, project).await?;
        self.load_skills(directory, Freshness::Kept).await.map_err(ClientError::NotConnected)
    }

    /// The same, to look up a skill.
    pub(super) async fn skills_with(
        &self,
        api: &ReconnectingClient,
        who: &ToolCaller,
        project: Option<&str>,
        skill: &str,
    ) -> Result<ProjectSkills, ClientError> {
        let directory = directory(api, who, project).await?;
        self.skills_at(directory, skill).await.map_err(ClientError::NotConnected)
    }

    async fn skills_at(&self, directory: Option<PathBuf>, skill: &str) -> Result<ProjectSkills, String> {
        let kept = self.load_skills(directory.clone(), Freshness::Kept).await?;
        if matches!(kept.catalogue.find(skill), NameLookup::Missing { .. }) && self.may_refresh() {
            return self.load_skills(directory, Freshness::Reread).await;
        }
        Ok(kept)
    }

    /// Reloads the handler's own directory, for an unknown name.
    pub(super) async fn refresh(&self) -> Result<(), String> {
        if self.may_refresh() {
            self.load_skills(None, Freshness::Reread).await?;
        }
        Ok(())
    }

    /// Whether the disk may be searched again: requests for missing names must not keep it busy.
    fn may_refresh(&self) -> bool {
        let mut looked = self.refreshed.lock().unwrap_or_else(PoisonError::into_inner);
        let may = looked.is_none_or(|last| last.elapsed() >= LOOK_AGAIN);
        if may {
            *looked = Some(Instant::now());
        }
        may
    }

    async fn load_skills(&self, directory: Option<PathBuf>, freshness: Freshness) -> Result<ProjectSkills, String> {
        let directory = directory.unwrap_or_else(|| self.directory.current());
        let found = host::ask(&self.host, move |host| host.skills(Some(&directory), freshness)).await;
        found.map_err(|error| error.to_string())
    }

    /// The list of the handler's own directory.
    pub(super) async fn tool_set(&self) -> Result<Arc<ToolSet>, String> {
        let ProjectSkills { catalogue, settings } = self.own_skills().await?;
        let kept = self.tool_set.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let kept = kept.filter(|(known, _)| Arc::ptr_eq(known, &catalogue)).map(|(_, offer)| offer);
        let (directory, of) = (self.directory.current(), Arc::clone(&catalogue));
        let make = move |host: &dyn Host| Ok(tool_set(kept, &of, &directory, &settings.tool_prefix.value, host));
        let offer = host::ask(&self.host, make).await.map_err(|error| error.to_string())?;
        *self.tool_set.lock().unwrap_or_else(PoisonError::into_inner) = Some((catalogue, Arc::clone(&offer)));
        Ok(offer)
    }
}

/// The directory of a project.
async fn directory(
    api: &ReconnectingClient,
    who: &ToolCaller,
    project: Option<&str>,
) -> Result<Option<PathBuf>, ClientError> {
    let Some(id) = project else { return Ok(None) };
    Ok(Some(PathBuf::from(api.call(who, projects::get(id)).await?.working_dir)))
}

/// The list of a catalogue, reused unless a setting or a consent changed.
fn tool_set(
    kept: Option<Arc<ToolSet>>,
    catalogue: &Catalogue,
    directory: &Path,
    prefix: &str,
    host: &dyn Host,
) -> Arc<ToolSet> {
    let which = |flows: &[StartableWorkflow]| {
        let commands = flows.iter().filter_map(|flow| Some(&flow.command.as_ref()?.pinned.definitions));
        let commands: Vec<_> = commands.collect();
        let mut answers =
            if commands.is_empty() { Vec::new() } else { host.consents(directory, &commands) }.into_iter();
        let granted = Some(WorkflowConsent::Granted);
        flows.iter().map(|flow| flow.command.is_none() || answers.next() == granted).collect::<Vec<bool>>()
    };
    if let Some(kept) = kept.filter(|kept| kept.prefix == prefix && kept.allowed == which(&kept.workflows)) {
        return kept;
    }
    let flows = find_workflows(catalogue, directory);
    let mut offer = ToolSet {
        tools: Vec::new(),
        few_tools: Vec::new(),
        allowed: which(&flows),
        workflows: flows,
        prefix: prefix.to_owned(),
    };
    let startable: Vec<&StartableWorkflow> = offer.listed_workflows().collect();
    let (tools, few_tools) =
        (tools::listed(&startable, prefix, ToolFrame::Narrow), tools::listed(&startable, prefix, ToolFrame::Wide));
    (offer.tools, offer.few_tools) = (tools, few_tools);
    Arc::new(offer)
}

/// The workflows and commands of a catalogue.
fn find_workflows(catalogue: &Catalogue, directory: &Path) -> Vec<StartableWorkflow> {
    let found = WorkflowIndex::of(catalogue, directory);
    let mut flows = Vec::new();
    let load = |source: &WorkflowSource| {
        let warn = |error: &_| tracing::warn!(workflow = source.name, "it has no tool: {error}");
        found.load(source).inspect_err(warn).ok()
    };
    for loaded in found.all().iter().filter_map(load) {
        if loaded.is_made_of_command() {
            let made = command_tool(catalogue, &found, &loaded.source.name);
            flows.extend(made.and_then(|made| build_workflow(catalogue, &found, loaded, Some(made))));
        } else if loaded.is_listed() {
            flows.extend(build_workflow(catalogue, &found, loaded, None));
        }
    }
    flows.sort_by_cached_key(|flow| (tools::rank(flow.source), flow.kind(), flow.name.clone()));
    flows
}

fn command_tool(catalogue: &Catalogue, found: &WorkflowIndex<'_>, name: &str) -> Option<CommandTool> {
    let (skill, command) = name.split_once('/')?;
    let command = catalogue.get(skill)?.commands.iter().find(|known| known.name == command)?;
    let Json::Object(schema) = command.input_schema() else { return None };
    let warn = |error: &_| tracing::warn!(command = name, "it has no tool: {error}");
    Some(CommandTool { pinned: found.pinned(name).inspect_err(warn).ok()?, schema })
}

fn build_workflow(
    catalogue: &Catalogue,
    found: &WorkflowIndex<'_>,
    loaded: LoadedWorkflow,
    command: Option<CommandTool>,
) -> Option<StartableWorkflow> {
    let (name, workflow) = (loaded.source.name, loaded.workflow?);
    let skill = catalogue.get(name.split('/').next().unwrap_or(&name))?;
    let own = workflow.description.trim();
    let description = if own.is_empty() { skill.description.clone() } else { own.to_owned() };
    let acts = WorkflowActs::of(found, &name, &workflow);
    Some(StartableWorkflow { source: skill.source, name, description, workflow, acts, command })
}

/// The skill with this name, or a helpful error.
pub(super) fn skill<'c>(catalogue: &'c Catalogue, name: &str) -> Result<&'c Skill, String> {
    match catalogue.find(name) {
        NameLookup::Found(skill) => Ok(skill),
        NameLookup::Ambiguous(many) => {
            let ids: Vec<&str> = many.iter().map(|skill| skill.id.as_str()).collect();
            Err(format!("several skills are named `{name}`; use one of {}", ids.join(", ")))
        }
        NameLookup::Broken(broken) => {
            let why: Vec<&str> = catalogue.problems_of(&broken.path).map(|problem| problem.message.as_str()).collect();
            Err(format!("the skill `{name}` cannot be loaded: {}", why.join("; ")))
        }
        NameLookup::Missing { closest: Some(close) } => Err(format!(
            "unknown skill `{name}`; did you mean `{close}`? Call `find_skills` for the skills that fit a task"
        )),
        NameLookup::Missing { closest: None } => {
            Err(format!("unknown skill `{name}`; call `find_skills` for the skills that fit a task"))
        }
    }
}
