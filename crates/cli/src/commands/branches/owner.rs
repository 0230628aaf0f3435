//! Owner of a branch: a run with those that worked for it, or a session.

use std::path::{Path, PathBuf};

use maestro_api::sessions::{self, SessionBody, SessionQuery};
use maestro_api::{projects, spawns};

use crate::client::CliClient;
use crate::commands::loops::listing::PlanLoop;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::screen::clean;

/// Whose work is on a branch.
pub(super) enum WorkOwner {
    /// A run's.
    Run(Box<PlanLoop>),
    /// A session's.
    Session(Box<SessionWorktree>),
}

/// A session with a worktree of its own.
pub(super) struct SessionWorktree {
    session: SessionBody,
    project: PathBuf,
    /// Whether its agent has ended.
    is_settled: bool,
}

impl WorkOwner {
    /// The run or session of this id, or the last session of the task.
    pub(super) fn find(client: &CliClient, id: &str) -> CommandResult<Self> {
        match client.find_record(id)? {
            Some(found) if found.kind == "session" => Self::of_session(client, &found.id),
            Some(found) if found.kind == "task" => Self::of_session(client, &last_session(client, &found.id)?),
            _ => Ok(Self::Run(Box::new(PlanLoop::find(client, id)?))),
        }
    }

    fn of_session(client: &CliClient, id: &str) -> CommandResult<Self> {
        let session = client.call(sessions::get(id))?;
        let project = PathBuf::from(client.call(projects::get(&session.project_id))?.working_dir);
        let is_settled = match client.call(spawns::get(id)) {
            Ok(spawn) => spawn.state == "done",
            // It was not spawned, so no agent of ours works there.
            Err(error) if error.is_not_found() => true,
            Err(error) => return Err(error),
        };
        Ok(Self::Session(Box::new(SessionWorktree { session, project, is_settled })))
    }

    pub(super) fn id(&self) -> &str {
        match self {
            Self::Run(run) => run.id(),
            Self::Session(work) => &work.session.id,
        }
    }

    /// What it is, in a word.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Session(_) => "session",
        }
    }

    pub(super) fn workspace(&self) -> &Path {
        match self {
            Self::Run(run) => Path::new(&run.lead.workspace),
            Self::Session(work) => &work.project,
        }
    }

    /// The runs that worked for it.
    pub(super) fn run_ids(&self) -> Vec<String> {
        match self {
            Self::Run(run) => run.ids(),
            Self::Session(_) => Vec::new(),
        }
    }

    /// The run, where it is one.
    pub(super) fn as_run(&self) -> Option<&PlanLoop> {
        match self {
            Self::Run(run) => Some(run),
            Self::Session(_) => None,
        }
    }

    /// Checks that no agent works there any more.
    pub(super) fn require_over(&self) -> CommandResult<()> {
        let id = clean(self.id());
        match self {
            Self::Run(run) => {
                let Some(open) = run.runs().find(|run| !run.status.is_over()) else { return Ok(()) };
                Err(CommandError::refused(format!("run {} is still active", clean(&open.id)))
                    .hint(format!("wait until it ends, or run `maestro loop cancel {id}`")))
            }
            Self::Session(work) if work.session.status.is_over() && work.is_settled => Ok(()),
            Self::Session(_) => Err(CommandError::refused(format!("session {id} is still active"))
                .hint(format!("wait until it ends, or run `maestro session cancel {id}`"))),
        }
    }
}

/// The session that worked on a task last.
fn last_session(client: &CliClient, task: &str) -> CommandResult<String> {
    let query = SessionQuery { task_id: Some(task.to_owned()), ..SessionQuery::default() };
    let last = client.list(sessions::summaries(&query))?.pop();
    last.map(|session| session.id).ok_or_else(|| {
        CommandError::not_found(format!("no session worked on task {}", clean(task)))
            .hint(format!("run `maestro session spawn --task {}` to start one", clean(task)))
    })
}
