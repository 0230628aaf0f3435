//! Host of the engine on this machine, for this user: settings, skills, agents, consents.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use maestro_core::agent::AgentCatalogue;
use maestro_core::agent::spawn::SessionLimits;
use maestro_core::person_notice::PersonNotice;
use maestro_core::settings::{Setting, SettingAuthor, SettingOrigin};
use maestro_core::workflow::pinned_definition::PinnedText;
use maestro_core::{Event, Settings};
use maestro_engine::caller_sockets::CallerSockets;
use maestro_engine::identity::ProcessIdentity;
use maestro_engine::runs::RunEngine;
use maestro_engine::sealed_copies::SealedCopies;
use maestro_engine::trust::{
    self, CommandsSetting, ConsentKind, ConsentPlace, ConsentQuestion, CoveredCommands, FolderCache, TrustStore,
};
use maestro_engine::{
    ExecutionHost, Freshness, GitPrograms, Host, HostError, ProjectSkills, SkillSight, TrustedCommands,
    WorkflowConsent, WorktreeFiles, worktrees,
};
use maestro_server::SkillChanges;
use maestro_skills::{CLIENTS, Skill, SkillClient, UsageVerdict};
use maestro_store::Store;
use serde_json::{Value as Json, json};

use super::project_skills::SkillsReading;
use super::world::World;
use super::{
    agents, config, consent_questions, event_journal, notices, packs, sandbox_settings, selection_lines, skill_habits,
};
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// What tools of the trade download once for all projects. Without them most checks cannot work; nothing in them is
/// executed by anybody but those tools.
const CACHES: [&str; 12] = [
    ".cargo/registry",
    ".cargo/git",
    ".npm",
    ".cache/pip",
    ".cache/uv",
    ".cache/yarn",
    ".cache/pnpm",
    ".cache/go-build",
    ".local/share/pnpm",
    ".gradle/caches",
    ".m2/repository",
    "go/pkg",
];

/// What this program provides to the engine; cheap to copy.
#[derive(Clone)]
pub(crate) struct CliHost {
    world: World,
    skills: Arc<SkillsReading>,
    /// Where runs are kept, if this process keeps them.
    store: Option<Store>,
    journal: SkillJournal,
    /// Where sockets for programs are ordered, if this process serves them.
    sockets: Option<CallerSockets>,
}

/// Whether events about skills are written for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SkillJournal {
    /// On standard error.
    Stderr,
    /// Nowhere.
    Off,
}

impl CliHost {
    /// A host for a command that asks for skills once.
    pub(crate) fn reading(world: &World) -> Self {
        Self::with_skills(world, SkillsReading::read_once())
    }

    /// A host for a process that lasts: skills are kept and watched, and each change rings.
    pub(crate) fn watching(world: &World, changes: &SkillChanges) -> Self {
        Self::with_skills(world, SkillsReading::watch(world, changes))
    }

    fn with_skills(world: &World, skills: SkillsReading) -> Self {
        Self { world: world.clone(), skills: Arc::new(skills), store: None, journal: SkillJournal::Off, sockets: None }
    }

    /// The same, with the store in which this process keeps runs.
    pub(crate) fn with_store(self, store: Store) -> Self {
        Self { store: Some(store), ..self }
    }

    /// The same, for a process that serves sockets for programs.
    pub(crate) fn with_sockets(self, sockets: CallerSockets) -> Self {
        Self { sockets: Some(sockets), ..self }
    }

    /// The same, with events about skills on standard error.
    pub(crate) fn with_journal(self) -> Self {
        Self { journal: SkillJournal::Stderr, ..self }
    }

    /// This host with all that executions on this machine share.
    pub(crate) fn execution(self) -> CommandResult<Arc<ExecutionHost>> {
        let maestro = std::env::current_exe()
            .map_err(|error| CommandError::io("cannot find the path of this program", &error))?;
        let places = &self.world.places;
        let sandbox = sandbox_settings::of(&self.world);
        Ok(Arc::new(ExecutionHost {
            sandbox,
            maestro,
            home: self.world.maestro_home.clone(),
            own_dirs: vec![self.world.cache.clone(), places.data.clone()],
            shared_dirs: CACHES.iter().map(|cache| places.home.join(cache)).filter(|path| path.is_dir()).collect(),
            variables: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                // Where programs have sockets, they need no token of the server.
                .filter(|(name, _)| self.sockets.is_none() || name != "MAESTRO_AUTH_TOKEN")
                .collect(),
            identity: ProcessIdentity::of_this_process(),
            sockets: self.sockets.clone(),
            host: Arc::new(self),
        }))
    }
}

impl Host for CliHost {
    fn skills(&self, directory: Option<&Path>, freshness: Freshness) -> Result<ProjectSkills, HostError> {
        self.skills.find(&self.world, directory, freshness)
    }

    fn skill_sights(&self, directory: Option<&Path>, skill: &Skill) -> Vec<SkillSight> {
        let there = directory.map_or_else(|| self.world.clone(), |directory| self.world.at(directory));
        let sight = |client: &SkillClient| SkillSight {
            agent: client.program,
            installed: agents::program(client.program, &self.world).is_some(),
            visibility: client.visibility_of(skill, &there.places),
        };
        CLIENTS.iter().map(sight).collect()
    }

    fn save_expectation(
        &self,
        directory: Option<&Path>,
        task: &str,
        expected: &[String],
    ) -> Result<PathBuf, HostError> {
        let there = directory.map_or_else(|| self.world.clone(), |directory| self.world.at(directory));
        selection_lines::save(task, expected, &there)
            .map_err(|(path, error)| HostError::Unreadable(format!("cannot write {}: {error}", path.display())))
    }

    /// Copies the skill packs, unless the copies are up to date. A pack that was not copied is read where it is.
    fn sync_packs(&self, workspace: &Path) -> Result<Json, HostError> {
        let world = self.world.at(workspace);
        let settings = settings(&world)?;
        let mut problems = Vec::new();
        let builtin = packs::sync_builtin(&settings, &world.spare_dir, &mut problems);
        let pack = packs::sync_workspace(&settings, &world.places.project, &mut problems);
        let copies = builtin.into_iter().chain(pack.map(|pack| pack.directory));
        let copies: Vec<String> = copies.map(|path| path.to_string_lossy().into_owned()).collect();
        let problems: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
        if copies.is_empty() {
            return Err(HostError::Unreadable(problems.join("; ")));
        }
        Ok(json!({ "packs": copies, "problems": problems }))
    }

    /// Those that `config get verify` shows in the project, also for its worktrees: an agent does not choose its checks.
    fn checks(&self, workspace: &Path) -> Result<TrustedCommands, HostError> {
        let verify = settings(&self.world.at(project_of(workspace)))?.verify;
        self.trusted(CommandsSetting::Checks, "the checks", verify, workspace)
    }

    fn setup_commands(&self, workspace: &Path) -> Result<TrustedCommands, HostError> {
        let setup = settings(&self.world.at(project_of(workspace)))?.worktree_setup;
        self.trusted(CommandsSetting::Setup, "the commands of `worktree_setup`", setup, workspace)
    }

    fn worktree_files(&self, workspace: &Path) -> Result<WorktreeFiles, HostError> {
        let there = self.world.at(workspace);
        let copy = settings(&there)?.worktree_copy.value;
        let agents = agents::table(&there).agents;
        let leftovers = agents.all().iter().flat_map(|agent| agent.leaves.clone()).collect();
        Ok(WorktreeFiles { copy, leftovers })
    }

    fn git_programs(&self, workspace: &Path) -> Result<GitPrograms, HostError> {
        let settings = settings(&self.world.at(project_of(workspace)))?;
        Ok(GitPrograms { signing: settings.git_sign.value.into(), hooks: settings.git_hooks.value.into() })
    }

    fn count_skill_uses(&self, project: &Path, uses: &[(String, UsageVerdict)]) {
        let world = self.world.at(project);
        if let Ok(settings) = settings(&world) {
            let uses = uses.iter().map(|(skill, usage)| (skill.as_str(), *usage));
            skill_habits::note(uses, &settings, &world);
        }
    }

    fn daily_cost_limit(&self) -> Option<f64> {
        settings(&self.world).ok().and_then(|settings| settings.max_cost_day.value)
    }

    fn wants_notices(&self) -> bool {
        settings(&self.world).is_ok_and(|settings| notices::are_wanted(&settings))
    }

    fn notify(&self, notice: &PersonNotice) {
        if let Ok(settings) = settings(&self.world) {
            notices::send(notice, &settings, &self.world);
        }
    }

    fn agents(&self, directory: &Path) -> AgentCatalogue {
        agents::table(&self.world.at(directory)).agents
    }

    fn find_program(&self, name: &str) -> Option<PathBuf> {
        agents::program(name, &self.world)
    }

    fn consents(&self, workspace: &Path, workflows: &[&BTreeMap<String, PinnedText>]) -> Vec<WorkflowConsent> {
        let project = self.world.at(project_of(workspace)).places.project;
        let place = ConsentPlace { project: &project, workspace };
        let trust = TrustStore::load(&self.world.maestro_home);
        let mut folders = FolderCache::default();
        let consent = |definitions: &&BTreeMap<String, PinnedText>| {
            if !trust::needs_consent(definitions) {
                return WorkflowConsent::Granted;
            }
            match &trust {
                Ok(trust) if folders.subject(place, definitions).is_ok_and(|subject| trust.allows(&subject.hash)) => {
                    WorkflowConsent::Granted
                }
                Ok(_) => WorkflowConsent::Missing,
                Err(error) => WorkflowConsent::Unknown(error.to_string()),
            }
        };
        workflows.iter().map(consent).collect()
    }

    fn seal_workflow(
        &self,
        workspace: &Path,
        workflow: &BTreeMap<String, PinnedText>,
    ) -> Result<SealedCopies, WorkflowConsent> {
        if !trust::needs_consent(workflow) {
            return Ok(SealedCopies::default());
        }
        let unknown = |reason: String| WorkflowConsent::Unknown(reason);
        let trust = self.trust().map_err(|error| unknown(error.to_string()))?;
        let mut copies = SealedCopies::new(&self.world.maestro_home).map_err(|error| unknown(error.to_string()))?;
        let project = self.world.at(project_of(workspace)).places.project;
        let (place, mut folders) = (ConsentPlace { project: &project, workspace }, FolderCache::default());
        let copy = &mut |folder: &Path| copies.add_folder(folder);
        let subject = folders.sealed_subject(place, workflow, copy).map_err(|_| WorkflowConsent::Missing)?;
        copies.add_files(workspace, &subject.files).map_err(|error| unknown(error.to_string()))?;
        if trust.allows(&subject.hash) { Ok(copies) } else { Err(WorkflowConsent::Missing) }
    }

    fn consent_questions(&self, directory: &Path) -> Result<Vec<ConsentQuestion>, HostError> {
        let world = self.world.at(project_of(directory));
        let found = self.skills(Some(&world.places.working_dir), Freshness::Kept)?;
        consent_questions::of_project(&found.catalogue, &settings(&world)?, &world)
    }

    fn run_consent(
        &self,
        workspace: &Path,
        name: &str,
        workflow: &BTreeMap<String, PinnedText>,
    ) -> Result<Option<ConsentQuestion>, HostError> {
        let project = self.world.at(project_of(workspace)).places.project;
        let place = ConsentPlace { project: &project, workspace };
        consent_questions::of_workflow(name, None, workflow, place, &self.world)
    }

    fn allow(&self, question: &ConsentQuestion) -> Result<(), HostError> {
        Ok(self.trust()?.allow(question)?)
    }

    fn allows_prompt(&self, project: &Path, words: &str) -> bool {
        self.trust().is_ok_and(|trust| trust.allows(&trust::prompt_hash(project_of(project), words)))
    }

    fn session_limits(&self, directory: &Path) -> Result<SessionLimits, HostError> {
        Ok(settings(&self.world.at(project_of(directory)))?.session_limits())
    }

    fn allows_demo(&self, directory: &Path) -> bool {
        let project = project_of(directory);
        let Ok(Settings { demo_agent, .. }) = settings(&self.world.at(project)) else { return false };
        let allowed = || self.trust().is_ok_and(|trust| trust.allows(&trust::demo_hash(project)));
        demo_agent.value && (!demo_agent.origin.comes_with_project() || allowed())
    }

    fn is_active(&self, run: String) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        Box::pin(async move {
            match &self.store {
                Some(store) => RunEngine::is_active(store, &run).await,
                None => false,
            }
        })
    }

    fn log_event(&self, event: &Event) {
        if self.journal == SkillJournal::Stderr {
            event_journal::write(event);
        }
    }
}

impl CliHost {
    /// Commands of a setting: the user's own as they are, a project's with consent to them and to what they execute.
    fn trusted(
        &self,
        setting: CommandsSetting,
        what: &'static str,
        commands: Setting<Vec<String>>,
        workspace: &Path,
    ) -> Result<TrustedCommands, HostError> {
        if !commands.origin.comes_with_project() || commands.value.is_empty() {
            return Ok(TrustedCommands { origin: origin_label(&commands.origin), ..commands.value.into() });
        }
        let project = self.world.at(project_of(workspace)).places.project;
        let place = ConsentPlace { project: &project, workspace };
        let covered = CoveredCommands::read(setting, place, &commands.value)
            .map_err(|error| HostError::Unreadable(error.to_string()))?;
        let trust = self.trust()?;
        if trust.allows(&covered.hash) {
            let origin = origin_label(&commands.origin);
            return Ok(TrustedCommands { commands: covered.commands, files: covered.files, origin });
        }
        match trust.changed_files(ConsentKind::Config, &project, &covered.files) {
            files if files.is_empty() => Err(HostError::NotTrusted { what, project }),
            files => Err(HostError::Changed { what, files, project }),
        }
    }

    fn trust(&self) -> Result<TrustStore, HostError> {
        Ok(TrustStore::load(&self.world.maestro_home)?)
    }
}

/// Whether a workflow may be executed as its files are now.
pub(crate) fn consent(world: &World, definitions: &BTreeMap<String, PinnedText>) -> WorkflowConsent {
    CliHost::reading(world)
        .consents(&world.places.project, &[definitions])
        .into_iter()
        .next()
        .unwrap_or(WorkflowConsent::Missing)
}

fn settings(world: &World) -> Result<Settings, HostError> {
    config::settings(world).map_err(|error| unreadable(&error))
}

pub(super) fn unreadable(error: &CommandError) -> HostError {
    HostError::Unreadable(error.message().to_owned())
}

/// The project that a worktree of ours belongs to; any other directory belongs to itself.
fn project_of(workspace: &Path) -> &Path {
    worktrees::enclosing(workspace).and_then(worktrees::project_of).unwrap_or(workspace)
}

/// Where commands are configured, in a word.
fn origin_label(origin: &SettingOrigin) -> String {
    match origin {
        SettingOrigin::File { author: SettingAuthor::Project, .. } => ".maestro/config.toml".to_owned(),
        SettingOrigin::File { author: SettingAuthor::User, .. } => "your config.toml".to_owned(),
        other => other.to_string(),
    }
}
