//! Who starts the agents that somebody asked for, and says what came of them?
//!
//! A worker claims what waits in the store, briefs the agent, follows it to its end and settles the claim. It keeps
//! nothing of its own: when it dies, the next one finds in the store all it needs to go on.

mod briefing;
mod follow;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use maestro_core::agent::spawn::{PermissionMode, SpawnSpec};
use maestro_core::agent::{Agent, Agents, Briefing, Permission, Protocol, SkillText, Work, prompt};
use maestro_core::event::RunId;
use maestro_core::session::{EndReason, Session, SessionStatus};
use maestro_core::task::Task;
use maestro_skills::Catalogue;
use maestro_skills::render::References;
use maestro_store::{
    After, ClaimSpawn, Clock, IssueToken, KeepReceipts, ProjectById, Record, Scope, SessionById, SettleSpawn, Spawn,
    Store, StoreError, TaskById,
};
use serde_json::json;
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::agents::process::Limits;
use crate::agents::{self, Launch};
use crate::identity::Identity;
use crate::sandbox::Policy;
use briefing::{Measure, Surroundings};
use follow::Follower;

/// How long a claim holds without a word, in milliseconds.
const LEASE: i64 = 15_000;
/// How often it is looked whether something waits.
const LOOK: Duration = Duration::from_millis(100);
/// How often an agent may ask a model's server again by itself.
const RETRIES: u32 = 3;

/// The skills of a directory, and how much of a skill's text is handed over.
pub type Shelf = Arc<dyn Fn(&Path) -> Result<(Arc<Catalogue>, usize), String> + Send + Sync>;

/// What a worker works with.
#[derive(Clone)]
pub struct Worker {
    /// Where everything is kept.
    pub store: Store,
    /// Tells the time.
    pub clock: Clock,
    /// Our own program.
    pub maestro: PathBuf,
    /// Where we keep our data.
    pub home: PathBuf,
    /// Where agents' commands find the server.
    pub server: Option<String>,
    /// The variables that agents inherit.
    pub variables: std::collections::BTreeMap<String, String>,
    /// The directories programs are looked for in.
    pub program_dirs: Vec<PathBuf>,
    /// The agents that are known.
    pub agents: Arc<Agents>,
    /// The skills of a directory.
    pub shelf: Shelf,
    /// How many agents may be at work at once.
    pub most: usize,
}

/// Why an agent could not be started.
#[derive(Debug, thiserror::Error)]
enum Unstarted {
    #[error("{0}")]
    Spec(#[from] serde_json::Error),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("there is no agent `{0}`")]
    Unknown(String),
    #[error("none of the agents that Maestro knows is installed")]
    NoneInstalled,
    #[error("the program of `{0}` is not installed")]
    NotInstalled(String),
    #[error("{0}")]
    Launch(#[from] agents::LaunchError),
    #[error("the file about the session cannot be written: {0}")]
    Manifest(std::io::Error),
}

impl Worker {
    /// Works until the future is dropped; every agent it started ends with it.
    pub async fn run(self) {
        let room = Arc::new(Semaphore::new(self.most));
        let name = Identity::of_this_process().as_str().to_owned();
        let mut working = tokio::task::JoinSet::new();
        loop {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
            let claimed = self.store.write(ClaimSpawn { worker: name.clone(), lease: LEASE }).await;
            if let Ok(Some(spawn)) = claimed {
                let (worker, name) = (self.clone(), name.clone());
                working.spawn(async move {
                    worker.see_to(spawn, &name).await;
                    drop(permit);
                });
            } else {
                // What fails now is tried again with the next look.
                drop(permit);
                tokio::time::sleep(LOOK).await;
            }
            while working.try_join_next().is_some() {}
        }
    }

    async fn see_to(&self, spawn: Spawn, name: &str) {
        let session = spawn.session.clone();
        let (outcome, after) = match self.start(&spawn, name).await {
            Ok((agent, follower)) => follower.follow(agent, &spawn).await,
            Err(error) => {
                let outcome = json!({ "kind": "failed", "reasons": [error.to_string()] });
                (outcome, After::Over { status: SessionStatus::Failed, end: Some(EndReason::Exited) })
            }
        };
        // Whoever lost the claim has nothing to say about it any more.
        let settle = SettleSpawn { session, worker: name.to_owned(), outcome, after };
        let _ = self.store.write(settle).await;
    }

    async fn start(&self, spawn: &Spawn, name: &str) -> Result<(agents::Session, Follower), Unstarted> {
        let spec: SpawnSpec = serde_json::from_value(spawn.spec.clone())?;
        let session = self.store.read(SessionById(spawn.session.clone())).await?;
        let project = self.store.read(ProjectById(session.project.clone())).await?;
        let mut tasks = Vec::new();
        for task in &session.tasks {
            tasks.push(self.store.read(TaskById(task.clone())).await?);
        }
        let (agent, program) = self.agent(&spec)?;
        let token = self.store.write(IssueToken { session: session.id.clone() }).await?;
        let text = self.prompt(&session, &spec, &tasks, spawn.attempt).await?;
        let manifest = briefing::session_manifest(&session, &spec, &project, &tasks);
        write_private(&briefing::manifest_path(&self.home, &session), &format!("{manifest:#}\n"))
            .map_err(Unstarted::Manifest)?;
        let around =
            Surroundings { server: self.server.as_deref(), home: &self.home, maestro: &self.maestro, token: &token };
        let mut env = self.variables.clone();
        env.extend(briefing::environment(&session, around));
        env.insert("PATH".to_owned(), self.path());
        let workspace = PathBuf::from(&spec.workspace);
        let places = agent.places(&|name| self.variables.get(name).cloned());
        let policy =
            Policy::usual(&workspace, None).allow(places.into_iter().map(PathBuf::from)).seal(self.home.clone());
        let way = agent.ways().next().map(|(driver, _)| driver).ok_or(Unstarted::NoneInstalled)?;
        let can_resume = agent.launch(way).is_some_and(maestro_core::agent::Launch::can_resume);
        let minutes = |minutes: u32| Duration::from_secs(u64::from(minutes) * 60);
        let launch = Launch {
            maestro: self.maestro.clone(),
            driver: way,
            program,
            arguments: Vec::new(),
            model: spec.model.clone(),
            cwd: workspace.clone(),
            env,
            retries: RETRIES,
            prompt: text,
            session: Uuid::now_v7().to_string(),
            resume: spawn.agent_session.clone().filter(|_| can_resume),
            permission: match spec.permission {
                PermissionMode::Ask => Permission::Ask,
                PermissionMode::Edits => Permission::Edits,
                PermissionMode::All => Permission::All,
            },
            limits: Limits { time: minutes(spec.budget.minutes), idle: minutes(spec.budget.idle_minutes) },
            policy,
            mcp: Vec::new(),
            agent,
        };
        let reporting = launch.agent.reporting;
        let started = agents::start(launch).await?;
        let follower = Follower {
            store: self.store.clone(),
            clock: Arc::clone(&self.clock),
            session: session.id.clone(),
            worker: name.to_owned(),
            workspace,
            budget: spec.budget,
            reporting,
        };
        Ok((started, follower))
    }

    /// What the agent is told, with its skills; what did not arrive is an event.
    async fn prompt(
        &self,
        session: &Session,
        spec: &SpawnSpec,
        tasks: &[Task],
        attempt: i64,
    ) -> Result<String, StoreError> {
        let handed = match (self.shelf)(Path::new(&spec.workspace)) {
            Ok((catalogue, most_chars)) => {
                let measure = Measure { references: References::Leave, most_chars };
                briefing::skills(&catalogue, session.role, &spec.skills, measure)
            }
            Err(reason) => {
                briefing::Handed { missing: vec![("skills".to_owned(), reason)], ..briefing::Handed::default() }
            }
        };
        let receipts = KeepReceipts { session: session.id.clone(), texts: handed.receipts };
        self.store.write(receipts).await?;
        let run_id = RunId::new(Uuid::now_v7());
        let events = handed.missing.into_iter().map(|missing| briefing::not_loaded(run_id, missing)).collect();
        let scope = Scope::project(&session.project).session(&session.id);
        self.store.write(Record { scope, events }).await?;
        let so_far =
            (attempt > 1).then_some("This session was begun before and broke off; look at what is there first.");
        let briefing = Briefing {
            session: &session.id,
            role: session.role,
            tasks: tasks
                .iter()
                .map(|task| Work {
                    id: &task.id,
                    title: &task.title,
                    description: &task.description,
                    acceptance: vec![],
                })
                .collect(),
            words: spec.prompt.as_deref().unwrap_or_default(),
            skills: vec![SkillText { name: "skills", text: &handed.text }],
            protocol: Protocol::Commands,
            so_far,
        };
        Ok(prompt(&briefing, maestro_core::agent::PROMPT_MAX_CHARS).text)
    }

    /// The agent that is meant, and its program.
    fn agent(&self, spec: &SpawnSpec) -> Result<(Agent, PathBuf), Unstarted> {
        if !spec.agent.is_empty() {
            let agent = self.agents.find(&spec.agent).map_err(|_| Unstarted::Unknown(spec.agent.clone()))?.clone();
            let program = self.program(&agent).ok_or_else(|| Unstarted::NotInstalled(spec.agent.clone()))?;
            return Ok((agent, program));
        }
        let mut installed = self.agents.all().iter().filter(|agent| agent.name != "demo");
        installed.find_map(|agent| Some((agent.clone(), self.program(agent)?))).ok_or(Unstarted::NoneInstalled)
    }

    /// The first program of an agent that is installed; our own for the one that is built in.
    fn program(&self, agent: &Agent) -> Option<PathBuf> {
        let (_, way) = agent.ways().next()?;
        way.programs.iter().find_map(|name| match name.as_str() {
            "maestro" => Some(self.maestro.clone()),
            name => self.program_dirs.iter().map(|dir| dir.join(name)).find(|path| path.is_file()),
        })
    }

    /// Programs that the agent starts find our own one first.
    fn path(&self) -> String {
        let own = self.home.join("bin").to_string_lossy().into_owned();
        match self.variables.get("PATH") {
            Some(path) => format!("{own}:{path}"),
            None => own,
        }
    }
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    if let Some(directory) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    std::io::Write::write_all(&mut file, text.as_bytes())
}
