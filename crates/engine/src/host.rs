//! Host of the engine: what the program around it knows and can do.
//!
//! The engine finds no skills, reads no settings and asks for no consent. The program that embeds it does, and provides
//! one [`Host`]. Every method may read files, so async code calls it through [`ask`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use maestro_core::agent::AgentCatalogue;
use maestro_core::agent::spawn::SessionLimits;
use maestro_core::person_notice::PersonNotice;
use maestro_core::workflow::pinned_definition::PinnedText;
use maestro_core::{Event, Settings};
use maestro_skills::render::ReferenceMode;
use maestro_skills::{Catalogue, PromptLimits, Skill, SkillVisibility, UsageVerdict};
use serde_json::Value as Json;

use crate::caller_sockets::CallerSockets;
use crate::git::CommitSigning;
use crate::identity::ProcessIdentity;
use crate::sandbox::SandboxSettings;
use crate::sealed_copies::SealedCopies;
use crate::trust::{ConsentQuestion, CoveredFile, TrustError};

/// What the program around the engine provides. The default of each method is a host that has nothing.
pub trait Host: Send + Sync + 'static {
    /// The time, in milliseconds since 1970.
    fn now(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    /// The skills of a directory; without one, of the directory the program was started in.
    fn skills(&self, _directory: Option<&Path>, _freshness: Freshness) -> Result<ProjectSkills, HostError> {
        Err(HostError::Unavailable("skills"))
    }

    /// How the agents that look for skills by themselves see one of a directory.
    fn skill_sights(&self, _directory: Option<&Path>, _skill: &Skill) -> Vec<SkillSight> {
        Vec::new()
    }

    /// Saves a task with the skills it should get as a line of the project's own selection test, and returns the file.
    fn save_expectation(
        &self,
        _directory: Option<&Path>,
        _task: &str,
        _expected: &[String],
    ) -> Result<PathBuf, HostError> {
        Err(HostError::Unavailable("selection test"))
    }

    /// Brings the copies of skill packs up to date, and returns what it did.
    fn sync_packs(&self, _workspace: &Path) -> Result<Json, HostError> {
        Err(HostError::Unavailable("skill packs"))
    }

    /// The commands that check the work in a directory, if they are trusted.
    fn checks(&self, _workspace: &Path) -> Result<TrustedCommands, HostError> {
        Ok(TrustedCommands::default())
    }

    /// The commands that make a new worktree ready, if they are trusted.
    fn setup_commands(&self, _workspace: &Path) -> Result<TrustedCommands, HostError> {
        Ok(TrustedCommands::default())
    }

    /// The uncommitted files that a new worktree gets, and those that stay out of commits.
    fn worktree_files(&self, _workspace: &Path) -> Result<WorktreeFiles, HostError> {
        Ok(WorktreeFiles::default())
    }

    /// The programs that git may run for us by the user's own settings.
    fn git_programs(&self, _workspace: &Path) -> Result<GitPrograms, HostError> {
        Ok(GitPrograms::default())
    }

    /// Counts how skills were used in a project. What fails is logged.
    fn count_skill_uses(&self, _project: &Path, _uses: &[(String, UsageVerdict)]) {}

    /// The limits of a session in a directory for which nothing else is said.
    fn session_limits(&self, _directory: &Path) -> Result<SessionLimits, HostError> {
        Ok(SessionLimits::default())
    }

    /// How many dollars all agents of the user may cost within a day.
    fn daily_cost_limit(&self) -> Option<f64> {
        None
    }

    /// Whether the user wants notices.
    fn wants_notices(&self) -> bool {
        false
    }

    /// Sends the user a notice, as the settings say. What fails is logged.
    fn notify(&self, _notice: &PersonNotice) {}

    /// The agents that are known in a directory, as far as they are trusted.
    fn agents(&self, _directory: &Path) -> AgentCatalogue {
        AgentCatalogue::builtin()
    }

    /// The file of an agent's program.
    fn find_program(&self, _name: &str) -> Option<PathBuf> {
        None
    }

    /// Whether each of these workflows, with everything it reaches, may be executed in a directory as its files are now.
    fn consents(&self, _workspace: &Path, workflows: &[&BTreeMap<String, PinnedText>]) -> Vec<WorkflowConsent> {
        workflows.iter().map(|_| WorkflowConsent::Missing).collect()
    }

    /// Copies of the files that a workflow executes, if there is consent to exactly these copies.
    fn seal_workflow(
        &self,
        workspace: &Path,
        workflow: &BTreeMap<String, PinnedText>,
    ) -> Result<SealedCopies, WorkflowConsent> {
        match self.consents(workspace, &[workflow]).into_iter().next() {
            Some(WorkflowConsent::Granted) => Ok(SealedCopies::default()),
            other => Err(other.unwrap_or(WorkflowConsent::Missing)),
        }
    }

    /// What would be executed in a directory and needs consent, each as it is now.
    fn consent_questions(&self, _directory: &Path) -> Result<Vec<ConsentQuestion>, HostError> {
        Ok(Vec::new())
    }

    /// The same for the workflow of a run, as it was pinned; nothing where it needs no consent.
    fn run_consent(
        &self,
        _workspace: &Path,
        _name: &str,
        _workflow: &BTreeMap<String, PinnedText>,
    ) -> Result<Option<ConsentQuestion>, HostError> {
        Ok(None)
    }

    /// Allows what a question is about, for a person who has seen it.
    fn allow(&self, _question: &ConsentQuestion) -> Result<(), HostError> {
        Err(HostError::Unavailable("consents"))
    }

    /// Whether a project's own words for its agents may be used.
    fn allows_prompt(&self, _project: &Path, _words: &str) -> bool {
        false
    }

    /// Whether the demo agent may be started in a directory although no person named it.
    fn allows_demo(&self, _directory: &Path) -> bool {
        false
    }

    /// Whether a run is not over yet.
    fn is_active(&self, _run: String) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        Box::pin(std::future::ready(false))
    }

    /// Writes down an event about skills, for people.
    fn log_event(&self, _event: &Event) {}
}

/// A host that has the time and nothing else.
#[derive(Debug, Clone, Copy, Default)]
pub struct BareHost;

impl Host for BareHost {}

/// Asks a host on a thread that may wait for files.
pub async fn ask<T: Send + 'static>(
    host: &Arc<dyn Host>,
    question: impl FnOnce(&dyn Host) -> Result<T, HostError> + Send + 'static,
) -> Result<T, HostError> {
    let host = Arc::clone(host);
    let answer = tokio::task::spawn_blocking(move || question(&*host));
    answer.await.map_err(|error| HostError::Stopped(error.to_string()))?
}

/// Why a host has no answer.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// It has no such thing.
    #[error("no {0} here")]
    Unavailable(
        /// What is missing.
        &'static str,
    ),
    /// The project's commands may not be run.
    #[error("{what} of {} are not trusted yet; run `maestro trust --config` there", project.display())]
    NotTrusted {
        /// Which commands.
        what: &'static str,
        /// The project.
        project: PathBuf,
    },
    /// Files that the project's commands run are not those that were allowed.
    #[error("{} changed since {what} of {} were allowed; run `maestro trust --config` there to review and allow them again", files.join(", "), project.display())]
    Changed {
        /// Which commands.
        what: &'static str,
        /// The files.
        files: Vec<String>,
        /// The project.
        project: PathBuf,
    },
    /// The record of what is trusted cannot be read.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The settings, skills or files that the answer needs cannot be read.
    #[error("{0}")]
    Unreadable(
        /// Why.
        String,
    ),
    /// The thread that looked was stopped.
    #[error("the request was interrupted: {0}")]
    Stopped(
        /// Why.
        String,
    ),
}

/// How fresh an answer about skills must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// What was last read will do.
    Kept,
    /// The disk is read again.
    Reread,
}

/// The skills of a directory, and the settings in force there.
#[derive(Clone)]
pub struct ProjectSkills {
    /// The skills.
    pub catalogue: Arc<Catalogue>,
    /// The settings.
    pub settings: Arc<Settings>,
}

impl ProjectSkills {
    /// How much of a skill's texts a prompt holds.
    pub fn prompt_limits(&self) -> PromptLimits {
        PromptLimits {
            table_tokens: self.settings.skills_budget_tokens.value,
            body_chars: self.settings.skills_max_body_chars.value,
            references: self.references(),
        }
    }

    /// Whether references of skills are part of their texts.
    pub fn references(&self) -> ReferenceMode {
        if self.settings.skills_load_references.value { ReferenceMode::Include } else { ReferenceMode::Leave }
    }
}

/// How an agent that looks for skills by itself sees one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSight {
    /// The agent's program.
    pub agent: &'static str,
    /// Whether the program is there.
    pub installed: bool,
    /// What it sees.
    pub visibility: SkillVisibility,
}

/// Files of a worktree that are not part of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorktreeFiles {
    /// Patterns of ignored files that are copied into a new worktree.
    pub copy: Vec<String>,
    /// Patterns of files that agents leave behind, which are never committed.
    pub leftovers: Vec<String>,
}

/// Commands that may run, with the files that were allowed with them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustedCommands {
    /// The commands.
    pub commands: Vec<String>,
    /// The files; none for commands that the user's own settings name.
    pub files: Vec<CoveredFile>,
    /// Where they are configured, in words; empty where that is not known.
    pub origin: String,
}

impl From<Vec<String>> for TrustedCommands {
    fn from(commands: Vec<String>) -> Self {
        Self { commands, files: Vec::new(), origin: String::new() }
    }
}

/// Programs that git may run for us: none, unless the user's own settings say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GitPrograms {
    /// Whether commits are signed.
    pub signing: CommitSigning,
    /// Whether the repository's hooks are run.
    pub hooks: CommitHooks,
}

/// Whether the repository's hooks are run before a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommitHooks {
    /// They are not.
    #[default]
    Skipped,
    /// They are.
    Run,
}

impl From<bool> for CommitHooks {
    fn from(run: bool) -> Self {
        if run { Self::Run } else { Self::Skipped }
    }
}

/// Whether a workflow may be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkflowConsent {
    /// It needs no consent, or has it.
    Granted,
    /// It needs consent and has none.
    Missing,
    /// The record of consents cannot be read.
    Unknown(
        /// Why.
        String,
    ),
}

/// What all executions on this machine share.
#[derive(Clone)]
pub struct ExecutionHost {
    /// The program around the engine.
    pub host: Arc<dyn Host>,
    /// The file of our own program.
    pub maestro: PathBuf,
    /// The directory of our data.
    pub home: PathBuf,
    /// Other directories that our own program writes to: its cache, the copies of skill packs.
    pub own_dirs: Vec<PathBuf>,
    /// Directories that every program may write to: caches of build tools.
    pub shared_dirs: Vec<PathBuf>,
    /// How programs are confined, as the user set it.
    pub sandbox: SandboxSettings,
    /// The environment of this process, of which programs get a part.
    pub variables: BTreeMap<String, String>,
    /// The identity of this process.
    pub identity: ProcessIdentity,
    /// Where sockets for the programs of sessions and runs are ordered; without it, they call as they can.
    pub sockets: Option<CallerSockets>,
}
