//! Spawning of a session: its tasks are found, its skills read, its agent's specification and the file about it written.

mod refusal;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use maestro_core::agent::spawn::{AgentEndpoints, SessionLimits, SpawnSpec};
use maestro_core::agent::{Driver, PROMPT_MAX_CHARS, RunRights};
use maestro_core::event::{Event, RunId};
use maestro_core::id::{EntityId as _, ProjectId, SessionId, TaskId};
use maestro_core::session::{Approach, Session, SessionStatus};
use maestro_core::task::Task;
use maestro_core::{Project, SessionRole};
use maestro_skills::{NameLookup, Skill, SkillSource};
use maestro_store::{
    Actor, ClaimPolicy, CreateSession, EventScope, IdempotencyKey, ProjectById, RecordEvents, RequestSpawn,
    SessionById, SessionHasToken, Store, TaskById, UpdateSession,
};
use serde_json::{Map, Value as Json, json};
use uuid::Uuid;

pub use refusal::SpawnRefusal;

use crate::branches;
use crate::briefing::{self, DeliveredSkills, MissingSkill, SkillNeeds};
use crate::host::{self, Freshness, Host, ProjectSkills};
use crate::worktrees;

/// What is needed to spawn sessions.
#[derive(Clone)]
pub struct SessionSpawner {
    /// Where everything is kept.
    pub store: Store,
    /// The skills and settings of a directory.
    pub host: Arc<dyn Host>,
    /// Where agents' programs find Maestro.
    pub endpoints: AgentEndpoints,
    /// The name of this machine.
    pub hostname: String,
    /// Receives what happens to skills.
    pub observer: Arc<dyn Fn(&Event) + Send + Sync>,
}

/// A session that is wanted.
#[derive(Debug, Clone)]
pub struct SpawnOrder {
    /// Who wants it.
    pub actor: Actor,
    /// Its project.
    pub project: ProjectId,
    /// Its tasks, the main one first.
    pub tasks: Vec<TaskId>,
    /// The part it plays, in a word; a worker otherwise. It is judged after the parent, as the original did.
    pub role: Option<String>,
    /// How it goes through its tasks, in a word. It is judged last.
    pub strategy: Option<String>,
    /// Who wants it, in a word.
    pub source: SpawnSource,
    /// The session that it is started by.
    pub parent: Option<SessionId>,
    /// What people call it.
    pub name: Option<String>,
    /// Skills beside those of its role.
    pub skills: Vec<String>,
    /// What the starter wants to be written down.
    pub context: Map<String, Json>,
    /// Which agent; the settings name one otherwise.
    pub agent: Option<String>,
    /// How it is spoken with, if not in the preferred way.
    pub driver: Option<Driver>,
    /// Which model, if not that of its tasks.
    pub model: Option<String>,
    /// Its prompt beside its tasks.
    pub prompt: Option<String>,
    /// What it may do.
    pub rights: RunRights,
    /// How much it may use up; what the settings say where nothing is said.
    pub budget: Option<SessionLimits>,
    /// Who starts its agent.
    pub claim_policy: ClaimPolicy,
    /// Where it works.
    pub place: SpawnPlace,
}

/// Where a session works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpawnPlace {
    /// In a worktree of its own, if the project is a git repository.
    Worktree,
    /// In the project's checkout.
    Checkout,
}

/// Who wants a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpawnSource {
    /// A person.
    Ui,
    /// A session.
    Session,
}

impl SpawnSource {
    /// Its word in the API.
    fn as_str(self) -> &'static str {
        match self {
            Self::Ui => "ui",
            Self::Session => "session",
        }
    }
}

/// A session that was spawned.
#[derive(Debug)]
pub struct SpawnedSession {
    /// The session.
    pub session: Session,
    /// Where the file about it is.
    pub manifest_path: String,
    /// The skills that it will not have.
    pub missing: Vec<MissingSkill>,
    /// Its own worktree, which is opened when its agent starts.
    pub worktree: Option<PathBuf>,
    /// Why it has none, though one was wanted.
    pub notice: Option<String>,
}

/// What an order names, as it is in the store.
struct SpawnSubject {
    project: Project,
    tasks: Vec<Task>,
    role: SessionRole,
    strategy: Approach,
}

impl SessionSpawner {
    /// Spawns a session, unless the same request did so before.
    pub async fn spawn(&self, order: SpawnOrder, once: Option<IdempotencyKey>) -> Result<SpawnedSession, SpawnRefusal> {
        let subject = self.find(&order).await?;
        let skills = self.project_skills(&subject.project).await;
        let run = RunId::new(Uuid::now_v7());
        let handed = deliver_skills(skills.clone(), &order, &subject, run).await?;
        let skills = skills.ok();
        let id: SessionId = self.store.make_id()?;
        let place = own_worktree(&order, &subject.project, &id).await?;
        let spec = spec(&order, &subject, skills.as_ref(), &handed, &place);
        let failed = |error: serde_json::Error| SpawnRefusal::Failed(error.to_string());
        let request = RequestSpawn {
            session: briefing::compose_environment(self.session(&order, &subject, &handed), id, &self.endpoints),
            spec: serde_json::to_value(&spec).map_err(failed)?,
            claim_policy: order.claim_policy,
            limits: limits(&order.actor, skills.as_ref()),
        };
        let session = self.store.write_once(request, once).await?;
        self.write_manifest(&session, &subject.project).await?;
        let max_chars = skills.as_ref().map_or(0, |skills| skills.settings.skills_max_body_chars.value);
        let events = handed.events(run, max_chars);
        for event in &events {
            (self.observer)(event);
        }
        self.store.write(RecordEvents { scope: EventScope::project(&session.project), events }).await?;
        let manifest_path = self.endpoints.manifest_path(&session.id);
        let worktree = place.path.as_deref().and_then(Path::parent).map(|trees| trees.join(session.id.as_str()));
        Ok(SpawnedSession { session, manifest_path, missing: handed.missing, worktree, notice: place.notice })
    }

    /// What the order names, in the order of the original.
    async fn find(&self, order: &SpawnOrder) -> Result<SpawnSubject, SpawnRefusal> {
        if let Some(parent) = &order.parent {
            let found = self.store.read(SessionById(parent.clone())).await;
            found.map_err(|error| {
                SpawnRefusal::missing(error, |error| SpawnRefusal::NoParent { id: parent.clone(), error })
            })?;
            let is_parent = matches!(&order.actor, Actor::Session { id, .. } if id == parent);
            if !is_parent && self.store.read(SessionHasToken(parent.clone())).await? {
                return Err(SpawnRefusal::NotParent(parent.clone()));
            }
        }
        let role = order.role.as_deref().map_or(Ok(SessionRole::Worker), str::parse);
        let role = role.map_err(|_| SpawnRefusal::InvalidRole)?;
        let mut tasks = Vec::new();
        for id in &order.tasks {
            let found = self.store.read(TaskById(id.clone())).await;
            tasks.push(found.map_err(|error| {
                SpawnRefusal::missing(error, |error| SpawnRefusal::NoTask { id: id.clone(), error })
            })?);
        }
        let id = order.project.clone();
        let found = self.store.read(ProjectById(id.clone())).await;
        let project =
            found.map_err(|error| SpawnRefusal::missing(error, |error| SpawnRefusal::NoProject { id, error }))?;
        let strategy = order.strategy.as_deref().map_or(Ok(Approach::Simple), str::parse);
        let strategy = strategy.map_err(|_| SpawnRefusal::InvalidStrategy)?;
        match tasks.iter().find(|task| task.project != project.id) {
            Some(task) => Err(SpawnRefusal::ForeignTask(task.id.clone())),
            None => Ok(SpawnSubject { project, tasks, role, strategy }),
        }
    }

    /// The skills and settings of a project as they are now, or why they cannot be had: what was written a moment ago
    /// counts.
    async fn project_skills(&self, project: &Project) -> Result<ProjectSkills, String> {
        let directory = PathBuf::from(&project.working_dir);
        let found = host::ask(&self.host, move |host| host.skills(Some(&directory), Freshness::Reread)).await;
        found.map_err(|error| error.to_string())
    }

    /// The session that the agent is started for.
    fn session(&self, order: &SpawnOrder, subject: &SpawnSubject, handed: &DeliveredSkills) -> CreateSession {
        let loaded: Vec<Json> = handed.skills.iter().map(|skill| skill.id.clone().into()).collect();
        let metadata = [
            ("skills", json!(order.skills)),
            ("loadedSkills", loaded.into()),
            ("spawnedBy", json!(order.parent.as_ref().map(SessionId::as_str))),
            ("spawnSource", order.source.as_str().into()),
            ("role", json!(subject.role)),
            ("strategy", subject.strategy.as_str().into()),
            ("context", order.context.clone().into()),
        ];
        CreateSession {
            id: None,
            project: order.project.clone(),
            tasks: order.tasks.clone(),
            name: order.name.clone().filter(|name| !name.trim().is_empty()),
            role: subject.role,
            agent: order.agent.clone(),
            strategy: subject.strategy,
            status: SessionStatus::Spawning,
            env: Map::new(),
            metadata: metadata.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            parent: order.parent.clone(),
            hostname: self.hostname.clone(),
            platform: std::env::consts::OS.to_owned(),
        }
    }

    /// Writes the file about a session. A session without it is ended at once: its agent would not know what to do.
    async fn write_manifest(&self, session: &Session, project: &Project) -> Result<(), SpawnRefusal> {
        let path = PathBuf::from(self.endpoints.manifest_path(&session.id));
        // The tasks name the session by now; what was read before it was stored does not.
        let mut tasks = Vec::new();
        for task in &session.tasks {
            tasks.push(self.store.read(TaskById(task.clone())).await?);
        }
        let manifest = briefing::session_manifest(session, project, &tasks);
        let written = tokio::task::spawn_blocking(move || briefing::write_manifest(&path, &manifest)).await;
        let Err(error) = written.map_err(std::io::Error::other).flatten() else { return Ok(()) };
        let failed = UpdateSession {
            status: Some(SessionStatus::Failed),
            ..UpdateSession::of(session.id.clone(), Actor::Daemon)
        };
        self.store.write(failed).await?;
        Err(SpawnRefusal::Manifest(error))
    }
}

/// The skills that it is handed: those of its role, those that were asked for, those that its tasks name or need.
async fn deliver_skills(
    skills: Result<ProjectSkills, String>,
    order: &SpawnOrder,
    subject: &SpawnSubject,
    run: RunId,
) -> Result<DeliveredSkills, SpawnRefusal> {
    let skills = match skills {
        Ok(skills) => skills,
        Err(reason) => {
            let missing = vec![MissingSkill { name: "skills".to_owned(), reason }];
            return Ok(DeliveredSkills { missing, ..DeliveredSkills::default() });
        }
    };
    let of_tasks = subject.tasks.iter().flat_map(|task| task.skills.clone());
    let needs = SkillNeeds {
        role: subject.role,
        asked: order.skills.iter().cloned().chain(of_tasks).collect(),
        tasks: subject.tasks.iter().map(|task| (task.title.clone(), task.description.clone())).collect(),
    };
    tokio::task::spawn_blocking(move || briefing::skills(&skills, &needs, run))
        .await
        .map_err(|error| SpawnRefusal::Failed(error.to_string()))
}

/// The worktree of a session, or why it has none.
#[derive(Debug, Default)]
struct OwnWorktree {
    path: Option<PathBuf>,
    notice: Option<String>,
}

/// Where a session of this id works.
async fn own_worktree(order: &SpawnOrder, project: &Project, id: &SessionId) -> Result<OwnWorktree, SpawnRefusal> {
    if order.place == SpawnPlace::Checkout {
        return Ok(OwnWorktree::default());
    }
    let (directory, name) = (PathBuf::from(&project.working_dir), id.to_string());
    let find = move || match branches::can_branch(&directory) {
        Ok(root) => OwnWorktree { path: Some(worktrees::path(&root, &name)), notice: None },
        Err(reason) => {
            OwnWorktree { path: None, notice: Some(format!("{reason}; the session works in the project's directory")) }
        }
    };
    tokio::task::spawn_blocking(find).await.map_err(|error| SpawnRefusal::Failed(error.to_string()))
}

/// What is needed to start its agent.
fn spec(
    order: &SpawnOrder,
    subject: &SpawnSubject,
    skills: Option<&ProjectSkills>,
    handed: &DeliveredSkills,
    place: &OwnWorktree,
) -> SpawnSpec {
    let usual = || skills.map(|skills| skills.settings.agent.value.clone()).filter(|agent| !agent.is_empty());
    let usual_limits = || skills.map(|skills| skills.settings.session_limits());
    let model = || subject.tasks.iter().find_map(|task| task.model.clone());
    SpawnSpec {
        agent: order.agent.clone().filter(|agent| !agent.is_empty()).or_else(usual),
        fallback: None,
        driver: order.driver,
        model: order.model.clone().or_else(model),
        workspace: match &place.path {
            Some(path) => path.display().to_string(),
            None => subject.project.working_dir.clone(),
        },
        worktree: place.path.as_deref().and_then(worktrees::name_of).map(str::to_owned),
        skills: handed.skills.clone(),
        table: handed.table.clone(),
        plan_task: None,
        prompt: order.prompt.clone(),
        whole: None,
        continues: None,
        reminder: None,
        prompt_max_chars: skills.map_or(PROMPT_MAX_CHARS, |skills| {
            usize::try_from(skills.settings.prompt_max_chars.value).unwrap_or(PROMPT_MAX_CHARS)
        }),
        permission: order.rights.permission,
        demo: order.rights.demo,
        budget: order.budget.or_else(usual_limits).unwrap_or_default(),
    }
}

/// How many agents an orchestrator may have at once, by what its skill says.
fn limits(actor: &Actor, skills: Option<&ProjectSkills>) -> Vec<(String, i64)> {
    let (Actor::Session { role: SessionRole::Orchestrator, .. }, Some(skills)) = (actor, skills) else {
        return Vec::new();
    };
    let NameLookup::Found(first) = skills.catalogue.find("maestro-orchestrator") else { return Vec::new() };
    let shadowed = skills.catalogue.shadowed.iter().map(|shadowed| shadowed.skill.skill());
    let mut limits = Vec::new();
    for skill in std::iter::once(first).chain(shadowed.filter(|skill| skill.id == first.id)) {
        limits.extend(limits_of(skill));
        // A project may lower what the user's own skill or the built-in one says, and not raise it.
        if !matches!(skill.source, SkillSource::Project | SkillSource::Workspace) {
            break;
        }
    }
    limits
}

fn limits_of(skill: &Skill) -> Vec<(String, i64)> {
    let number = |name: &str| Some((name.to_owned(), skill.config.get(name)?.as_i64()?));
    let alone = skill.config.get("parallelExecution").and_then(Json::as_bool) == Some(false);
    let alone = alone.then(|| ("parallelExecution".to_owned(), 1));
    alone.into_iter().chain(["maxWorkers", "maxConcurrentTasks"].into_iter().filter_map(number)).collect()
}
