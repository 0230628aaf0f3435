//! Work of an ended session that was neither merged nor discarded.

use std::path::Path;

use maestro_api::sessions::{self, SessionBody};
use maestro_api::{projects, tasks};
use maestro_core::short_id::ShortIds;
use maestro_engine::branches::RunBranch;

use crate::client::CliClient;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::screen::{clean, count, fit};

/// How many columns the title of a task gets.
const TITLE: usize = 60;

/// An ended session, and the branch with its work.
pub(crate) struct SessionBranch {
    session: SessionBody,
    branch: RunBranch,
}

impl SessionBranch {
    /// The work of all sessions of the project, the latest first.
    pub(crate) fn all(client: &CliClient, world: &World) -> CommandResult<Vec<Self>> {
        let project = &world.places.project;
        let mut works = Vec::new();
        // Without git there are no branches.
        for id in RunBranch::session_names(project).unwrap_or_default() {
            match client.call(sessions::get(&id)) {
                Ok(session) => works.extend(Self::in_project(session, project)),
                // It is known to another database.
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        works.sort_by_key(|work| std::cmp::Reverse(work.session.started_at));
        Ok(works)
    }

    /// The work of one session, if it is over and left some.
    pub(crate) fn of(client: &CliClient, session: &SessionBody) -> CommandResult<Option<Self>> {
        let project = client.call(projects::get(&session.project_id))?.working_dir;
        Ok(Self::in_project(session.clone(), Path::new(&project)))
    }

    fn in_project(session: SessionBody, project: &Path) -> Option<Self> {
        if !session.status.is_over() {
            return None;
        }
        let branch = RunBranch::of_run(project, &session.id).ok()?;
        let has_work = branch.head != branch.base || !branch.uncommitted.is_empty();
        has_work.then_some(Self { session, branch })
    }

    /// How it stands and what it is about, with the commands for it, in a line.
    pub(crate) fn line(&self, client: &CliClient, short: &ShortIds) -> CommandResult<String> {
        let title = match self.session.task_ids.first() {
            Some(task) => client.call(tasks::get(task))?.title,
            None => self.session.name.clone(),
        };
        let title = fit(&clean(&title), TITLE).into_owned();
        Ok(format!("{}: {title} ({})", self.session.state.label(), self.commands(short)[..2].join(", ")))
    }

    /// Where it is, and the commands for it.
    pub(crate) fn describe(&self, short: &ShortIds) -> String {
        let commits = self.branch.commits().unwrap_or_default();
        let files = match self.branch.uncommitted.len() {
            0 => String::new(),
            files => format!(", and {} not committed", count(files, "file", "files")),
        };
        format!(
            "  work: {}{files} on {}\n  next: {}\n",
            count(commits.len(), "commit", "commits"),
            clean(&self.branch.branch),
            self.commands(short).join(", ")
        )
    }

    fn commands(&self, short: &ShortIds) -> [String; 3] {
        let id = clean(short.shorten(&self.session.id)).into_owned();
        let all = if self.branch.uncommitted.is_empty() { "" } else { " --all" };
        [format!("`maestro diff {id}`"), format!("`maestro merge {id}{all}`"), format!("`maestro discard {id}`")]
    }
}
