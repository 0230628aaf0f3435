//! Launch of an agent: its program, prompt, permissions and environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use maestro_core::Event;
use maestro_core::agent::spawn::{SessionLimits, SkillContent, SpawnSpec, environment};
use maestro_core::agent::{BudgetLimit, BudgetUsage, CodingAgent, DEMO_AGENT, DemoAgentUse, LaunchChoice, WorkTime};
use maestro_core::event::SandboxFact;
use maestro_core::id::SessionId;
use maestro_core::message::SessionMessage;
use maestro_core::session::Session;
use maestro_core::task::Task;
use maestro_store::{
    Actor, CostSince, DeliveryStage, EventScope, IssueToken, MarkDelivered, ProjectById, RecordDeliveries,
    RecordEvents, SessionById, SpawnRecord, StoreError, TaskById, UnreadMessages, UpdateSession,
};
use uuid::Uuid;

use super::AgentWorker;
use super::history::SessionHistory;
use super::session_prompt;
use crate::agents::process::ProcessLimits;
use crate::agents::{self, AgentLaunch, chosen_env, writable_paths};
use crate::briefing::{ensure_manifest, session_manifest};
use crate::caller_sockets::{self, OpenSocket, SocketOwner};
use crate::git::agent_dir;
use crate::git_changes;
use crate::host;
use crate::sandbox::{SandboxReport, WritePolicy};
use crate::scratch::ScratchDir;
use crate::worktrees;

/// A day, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// How often an agent may ask a model's server again by itself.
const RETRIES: u32 = 3;

/// Why an agent could not be started.
#[derive(Debug, thiserror::Error)]
pub(super) enum SpawnError {
    #[error("the specification of the session is not valid: {0}")]
    Spec(#[from] serde_json::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Unknown(#[from] maestro_core::agent::UnknownAgent),
    #[error("no coding agent found; run `maestro agents` for the ones Maestro looked for")]
    NoneInstalled,
    #[error("the demo agent is off here; name it with `--agent demo`, or set `demo_agent = true`")]
    DemoOff,
    #[error("`{0}` not found on PATH; run `maestro agents` for the ones Maestro looked for")]
    NotInstalled(String),
    #[error("`{agent}` does not support the driver `{driver}`; supported: {ways}")]
    NoSuchWay { agent: String, driver: maestro_core::agent::Driver, ways: String },
    #[error("`{0}` is not a model: the agent would read it as an option")]
    ModelIsOption(String),
    #[error("the entry of `{0}` names no program; add `programs` to it in your agents.toml")]
    NoProgram(String),
    #[error("{}", worktrees::restore_hint(.0).unwrap_or_else(|| format!("there is no directory {} to work in", .0.display())))]
    NoWorkspace(PathBuf),
    #[error("cannot write the file about the session: {0}")]
    Manifest(std::io::Error),
    #[error("cannot open its worktree: {0}")]
    Worktree(String),
    #[error("cannot create its temporary directory: {0}")]
    Temporary(std::io::Error),
    #[error("the preparation did not end: {0}")]
    Interrupted(String),
    #[error("{agent} could not be started: {error}")]
    Launch { agent: String, error: agents::AgentStartError },
}

/// An agent that was started, and what is known of its work so far.
pub(super) struct LaunchedAgent {
    pub(super) agent: agents::RunningAgent,
    pub(super) spec: SpawnSpec,
    /// Since when what its session reports counts for this start: before its process could report anything.
    pub(super) since: i64,
    pub(super) workspace: PathBuf,
    pub(super) checks: Vec<String>,
    pub(super) history: SessionHistory,
    /// Whether it goes on with a session of its own.
    pub(super) resumed: bool,
    /// The state of all files before it started.
    pub(super) tree: Option<String>,
    /// Its entry in the table.
    pub(super) kind: CodingAgent,
    /// The secret by which its programs speak for the session.
    pub(super) token: String,
    /// Its temporary files, which end with it.
    pub(super) temporary: ScratchDir,
    /// The socket by which its programs call, for as long as it runs.
    pub(super) socket: Option<OpenSocket>,
}

/// What a launch needs of the file system.
struct PreparedLaunch {
    agent: CodingAgent,
    found: LaunchChoice,
    temporary: ScratchDir,
    policy: WritePolicy,
}

impl AgentWorker {
    /// A session with at most what is left of the user's day.
    async fn within_day(&self, mut spec: SpawnSpec, session: &SessionId) -> Result<SpawnSpec, SpawnError> {
        let host = Arc::clone(&self.machine.host);
        let Some(most) = blocking(move || Ok(host.daily_cost_limit())).await? else { return Ok(spec) };
        let since = self.machine.host.now() - DAY;
        let cost_usd = self.store.read(CostSince { since, except: session.clone() }).await?;
        let day = BudgetLimit { cost_usd: Some(most), ..BudgetLimit::default() };
        spec.budget = day.cap_limits(spec.budget, &BudgetUsage { cost_usd, ..BudgetUsage::default() });
        Ok(spec)
    }

    /// Starts the agent of a session.
    pub(super) async fn launch(&self, spawn: &SpawnRecord) -> Result<LaunchedAgent, SpawnError> {
        let since = self.machine.host.now();
        let spec: SpawnSpec = serde_json::from_value(spawn.spec.clone())?;
        let spec = self.within_day(spec, &spawn.session).await?;
        // A definition or another session may have named it, and some agents read even the value of an option as one.
        if let Some(model) = spec.model.as_ref().filter(|model| model.starts_with('-')) {
            return Err(SpawnError::ModelIsOption(model.clone()));
        }
        let session = self.store.read(SessionById(spawn.session.clone())).await?;
        let workspace = PathBuf::from(&spec.workspace);
        self.open_worktree(&spec, spawn).await?;
        let (worker, wanted) = (self.clone(), spec.clone());
        let PreparedLaunch { agent, found, temporary, policy } =
            blocking(move || worker.prepare_launch(&wanted)).await?;
        let own = PathBuf::from(self.endpoints.manifest_path(&session.id));
        let policy = policy.show(own.parent().map(Path::to_owned));
        let (place, known) = (workspace.clone(), spawn.tree.is_some());
        // Beside the queries that follow.
        let tree = tokio::task::spawn_blocking(move || if known { None } else { git_changes::tree_hash(&place) });
        let tasks = self.write_manifest(&session).await?;
        let way = agent.launch(found.driver).ok_or(SpawnError::NoneInstalled)?;
        let own = spawn.agent_session.as_ref().filter(|_| way.can_resume());
        // An agent that has forgotten the conversation is not asked for it again.
        let continued = spec.continues.as_ref().filter(|_| spawn.attempt <= 1 && way.can_resume());
        let mut history = SessionHistory::load(self, &session, agent.reporting, &spec).await?;
        let unheard = self.store.read(UnreadMessages(session.id.clone())).await?;
        let text = match (own, &spec.whole) {
            (Some(_), _) => session_prompt::resume(&unheard),
            (None, Some(whole)) => {
                self.note_handed(&session, &spec).await?;
                session_prompt::with_progress(whole, &unheard, &history)
            }
            (None, None) => self.build_prompt(&session, &spec, &tasks, &agent, &unheard, &history).await?,
        };
        let mut env = self.environment(&session, &tasks, &agent, temporary.path()).await?;
        let socket = self.open_socket(&session).await;
        if let Some(socket) = &socket {
            env.insert(caller_sockets::VARIABLE.to_owned(), socket.path.display().to_string());
        }
        let token = env.get("MAESTRO_SESSION_TOKEN").cloned().unwrap_or_default();
        let launch = AgentLaunch {
            maestro: self.machine.maestro.clone(),
            driver: found.driver,
            program: found.program,
            arguments: Vec::new(),
            model: spec.model.clone(),
            cwd: workspace.clone(),
            env,
            retries: RETRIES,
            prompt: text,
            session: Uuid::now_v7().to_string(),
            resume: own.or(continued).cloned(),
            permission: spec.permission,
            limits: ProcessLimits { time: time_left(&spec.budget, history.worked), idle: spec.budget.idle() },
            // What earlier sessions left may be nothing; then it does nothing before a person allows more.
            waits: spec.budget.used_up(&history.ledger.spent(), history.progress.turns()).is_some(),
            policy,
            mcp: Vec::new(),
            agent,
        };
        let resumed = launch.resume.is_some();
        // Whatever it changes, it changes from here on.
        let tree = tree.await.map_err(|error| SpawnError::Interrupted(error.to_string()))?;
        let title = launch.agent.title.clone();
        let kind = launch.agent.clone();
        // Before its own time begins: who used all of that worked for at least as long.
        history.worked.begin(self.machine.host.now());
        let agent = agents::start(launch).await.map_err(|error| SpawnError::Launch { agent: title, error })?;
        self.note_sandbox(&session, &agent.sandbox).await?;
        self.note_delivered(&session, unheard).await?;
        self.note_agent(&session, &kind).await?;
        let checks = self.checks(workspace.clone()).await;
        Ok(LaunchedAgent {
            agent,
            spec,
            since,
            workspace,
            checks,
            history,
            resumed,
            tree,
            kind,
            token,
            temporary,
            socket,
        })
    }

    /// Looks for the workspace and the agent's program, and makes the places that it may write to.
    fn prepare_launch(&self, spec: &SpawnSpec) -> Result<PreparedLaunch, SpawnError> {
        let workspace = PathBuf::from(&spec.workspace);
        if !workspace.is_dir() {
            return Err(SpawnError::NoWorkspace(workspace));
        }
        if let Err(error) = agent_dir::ensure(&workspace) {
            tracing::warn!(workspace = %workspace.display(), "the agent has no git directory of its own: {error}");
        }
        let (agent, found) = self.agent(spec)?;
        let base = self.machine.variables.get("TMPDIR").map(Path::new);
        let temporary = ScratchDir::create("session", base).map_err(SpawnError::Temporary)?;
        let policy = self.policy(&agent, &workspace, temporary.path());
        Ok(PreparedLaunch { agent, found, temporary, policy })
    }

    /// The agent that is meant, and its program. It reads files.
    pub(super) fn agent(&self, spec: &SpawnSpec) -> Result<(CodingAgent, LaunchChoice), SpawnError> {
        let known = self.machine.host.agents(Path::new(&spec.workspace));
        let find = |agent: &CodingAgent| match spec.driver {
            Some(driver) => agent.choose_driver(driver, |name| self.machine.host.find_program(name)),
            None => agent.choose_launch(|name| self.machine.host.find_program(name)),
        };
        if let Some(name) = &spec.agent {
            let agent = known.find(name)?.clone();
            if agent.name == DEMO_AGENT && !self.may_use_demo(spec) {
                return Err(SpawnError::DemoOff);
            }
            if let Some(driver) = spec.driver.filter(|driver| agent.launch(*driver).is_none()) {
                let ways: Vec<&str> = agent.drivers().map(|(driver, _)| driver.as_str()).collect();
                return Err(SpawnError::NoSuchWay { agent: name.clone(), driver, ways: ways.join(" or ") });
            }
            if agent.programs().is_empty() {
                return Err(SpawnError::NoProgram(name.clone()));
            }
            let found = find(&agent).ok_or_else(|| SpawnError::NotInstalled(name.clone()))?;
            return Ok((agent, found));
        }
        // The demo agent is used only when it is named.
        let mut others = known.all().iter().filter(|agent| agent.name != DEMO_AGENT);
        others.find_map(|agent| Some((agent.clone(), find(agent)?))).ok_or(SpawnError::NoneInstalled)
    }

    /// Whether the demo agent is allowed: a person named it, or the settings of its workspace enable it.
    fn may_use_demo(&self, spec: &SpawnSpec) -> bool {
        spec.demo == DemoAgentUse::Named || self.machine.host.allows_demo(Path::new(&spec.workspace))
    }

    /// Writes the file about a session, and returns its tasks.
    async fn write_manifest(&self, session: &Session) -> Result<Vec<Task>, SpawnError> {
        let project = self.store.read(ProjectById(session.project.clone())).await?;
        let mut tasks = Vec::new();
        for task in &session.tasks {
            tasks.push(self.store.read(TaskById(task.clone())).await?);
        }
        let path = PathBuf::from(self.endpoints.manifest_path(&session.id));
        let manifest = session_manifest(session, &project, &tasks);
        blocking(move || ensure_manifest(&path, &manifest).map_err(SpawnError::Manifest)).await?;
        Ok(tasks)
    }

    /// The commands of the project's checks. Where they are not allowed, they are asked about like everything else.
    async fn checks(&self, workspace: PathBuf) -> Vec<String> {
        let checks = host::ask(&self.machine.host, move |host| Ok(host.checks(&workspace)?.commands)).await;
        checks.unwrap_or_else(|reason| {
            tracing::warn!("the project's checks are not known: {reason}");
            Vec::new()
        })
    }

    /// Records which agent works in the session.
    async fn note_agent(&self, session: &Session, agent: &CodingAgent) -> Result<(), StoreError> {
        if session.agent.as_deref() == Some(&agent.name) {
            return Ok(());
        }
        let named =
            UpdateSession { agent: Some(agent.name.clone()), ..UpdateSession::of(session.id.clone(), Actor::Worker) };
        self.store.write(named).await.map(drop)
    }

    /// Records which skills the prompt contains.
    async fn note_handed(&self, session: &Session, spec: &SpawnSpec) -> Result<(), StoreError> {
        let handed = |skill: &SkillContent| (skill.id.clone(), skill.hash.clone(), DeliveryStage::Handed);
        let texts = spec.skills.iter().map(handed).collect();
        self.store.write(RecordDeliveries { session: session.id.clone(), texts }).await.map(drop)
    }

    /// Records what confines the agent, and what it can do nevertheless.
    async fn note_sandbox(&self, session: &Session, sandbox: &SandboxReport) -> Result<(), StoreError> {
        let gaps: Vec<String> = sandbox.gaps.iter().map(|gap| gap.as_str().to_owned()).collect();
        for gap in &sandbox.gaps {
            tracing::debug!(layer = %sandbox.layer, "{gap}");
        }
        let fact = SandboxFact { layer: sandbox.layer.to_string(), gaps };
        let scope = EventScope::project(&session.project).session(&session.id);
        self.store.write(RecordEvents { scope, events: vec![Event::SandboxApplied(fact)] }).await.map(drop)
    }

    /// Notes that what was said was said with the prompt.
    async fn note_delivered(&self, session: &Session, unheard: Vec<SessionMessage>) -> Result<(), StoreError> {
        if unheard.is_empty() {
            return Ok(());
        }
        let messages = unheard.into_iter().map(|message| message.id).collect();
        let (session, worker) = (session.id.clone(), self.machine.identity.as_str().to_owned());
        self.store.write(MarkDelivered { session, worker, messages, how: "with its prompt".to_owned() }).await
    }

    /// What the agent's programs know: a choice of the user's variables, and who they work for.
    async fn environment(
        &self,
        session: &Session,
        tasks: &[Task],
        agent: &CodingAgent,
        temporary: &Path,
    ) -> Result<BTreeMap<String, String>, StoreError> {
        let token = self.store.write(IssueToken { session: session.id.clone() }).await?;
        let mut env = chosen_env::of_agent(agent, &self.machine.variables, &self.machine.sandbox.agent_env);
        env.extend(environment(session.into(), &self.endpoints));
        env.insert("MAESTRO_SESSION_TOKEN".to_owned(), token);
        if let Some(first) = tasks.first() {
            env.insert("MAESTRO_TASK_TITLE".to_owned(), first.title.clone());
            env.insert("MAESTRO_TASK_PRIORITY".to_owned(), first.priority.as_str().to_owned());
        }
        // Whatever is on the path, `maestro` is the one that runs this.
        let bin = Path::new(&self.endpoints.home).join("bin").display().to_string();
        let path = match self.machine.variables.get("PATH") {
            Some(path) if !path.is_empty() => format!("{bin}:{path}"),
            _ => format!("{bin}:/usr/local/bin:/usr/bin:/bin"),
        };
        env.insert("PATH".to_owned(), path);
        env.insert("TMPDIR".to_owned(), temporary.display().to_string());
        Ok(env)
    }

    /// The socket by which the agent's programs call. Without one, they show their token over the network.
    async fn open_socket(&self, session: &Session) -> Option<OpenSocket> {
        let sockets = self.machine.sockets.as_ref()?;
        let opened = sockets.open(SocketOwner::Session(session.id.clone())).await;
        opened.inspect_err(|error| tracing::warn!("the session has no socket: {error}")).ok()
    }

    /// Where the agent may write: where it works, its own places and the caches of its tools; never our data.
    fn policy(&self, agent: &CodingAgent, workspace: &Path, temporary: &Path) -> WritePolicy {
        let usual = WritePolicy::default_policy(workspace, Some(temporary));
        usual
            .allow(writable_paths::of(agent, &self.machine.variables))
            .allow(self.machine.shared_dirs.iter().cloned())
            .hide_data(Path::new(&self.endpoints.home), &self.machine.sandbox)
            .hide(PathBuf::from(&self.endpoints.sessions))
            .for_agent(&self.machine.sandbox)
    }
}

/// Does what reads or writes files, beside the runtime's threads.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SpawnError> + Send + 'static,
) -> Result<T, SpawnError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| SpawnError::Interrupted(error.to_string()))?
}

/// The time left for a process: what earlier ones left of the session's time. A session that used it all is started
/// again only on request, and gets all of it again.
fn time_left(budget: &SessionLimits, worked: WorkTime) -> Duration {
    let left = budget.time().saturating_sub(Duration::from_millis(worked.ms()));
    if left.is_zero() { budget.time() } else { left }
}
