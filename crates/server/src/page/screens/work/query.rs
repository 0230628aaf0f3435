//! Contents of the work screen, as of one moment.

use std::collections::{BTreeMap, HashMap};

use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::session::TimelineEntry;
use maestro_core::{Project, Session, Task};
use maestro_store::{
    DbTx, LastTimelineEntries, ListExcerpt, ListPage, OverviewGroup, OverviewSessions, PendingPermissions, ProjectList,
    Query, SessionById, StoreError, SubtaskCount, SubtaskCounts, TaskById, TaskColumn, TaskColumnList, TaskFilter,
    TaskList, TimelineQuery, TimelineRange,
};
use serde::Serialize;

use super::run_card::{plan_address, plan_of};
use crate::api::RunWithState;

/// How many projects are named.
const PROJECTS: i64 = 200;
/// How many sessions that have not ended are looked at.
const SESSIONS: i64 = 500;
/// How many subtasks, dependencies and sessions a drawer shows.
const PARTS: i64 = 200;
const MOST_SESSIONS: usize = 20;
/// How many lines of a session's timeline.
const LINES: i64 = 30;
/// How many permission requests are looked at.
const REQUESTS: i64 = 200;

/// The query of the screen.
#[derive(Debug, Clone)]
pub(super) struct WorkScreenQuery {
    pub(super) project: Option<ProjectId>,
    pub(super) groups: Vec<TaskColumn>,
    pub(super) limit: i64,
    pub(super) task: Option<TaskId>,
    pub(super) at: i64,
}

/// The contents.
#[derive(Debug)]
pub(super) struct WorkScreenSnapshot {
    pub(super) groups: Vec<(TaskColumn, ListExcerpt<Task>)>,
    pub(super) projects: Vec<Project>,
    pub(super) names: BTreeMap<ProjectId, String>,
    /// The sessions that have not ended, by task.
    pub(super) sessions: HashMap<TaskId, Vec<Session>>,
    /// The sessions that wait for a permission.
    pub(super) asking: Vec<SessionId>,
    pub(super) subtasks: HashMap<TaskId, SubtaskCount>,
    pub(super) drawer: Option<TaskDrawer>,
}

/// A task with all that belongs to it.
#[derive(Debug)]
pub(super) struct TaskDrawer {
    pub(super) task: Task,
    pub(super) parent: Option<Task>,
    pub(super) dependencies: Vec<Task>,
    pub(super) subtasks: Vec<Task>,
    /// Its sessions, the latest first, with their last words.
    pub(super) sessions: Vec<(Session, Option<TimelineEntry>)>,
    /// What they said about it, the oldest first.
    pub(super) lines: Vec<(Session, TimelineEntry)>,
    /// Other tasks of the project, which it can depend on.
    pub(super) others: Vec<Task>,
    pub(super) project: Option<Project>,
}

impl Query for WorkScreenQuery {
    type Output = WorkScreenSnapshot;

    fn load(&self, db: &mut DbTx<'_>) -> Result<WorkScreenSnapshot, StoreError> {
        let mut groups = Vec::new();
        for group in &self.groups {
            let list = TaskColumnList { project: self.project.clone(), group: *group, limit: self.limit };
            groups.push((*group, list.load(db)?));
        }
        let projects = ProjectList { page: ListPage { limit: PROJECTS, after: 0 } }.load(db)?.items;
        let alive = OverviewSessions { project: self.project.clone(), group: OverviewGroup::Alive, limit: SESSIONS }
            .load(db)?;
        let mut sessions: HashMap<TaskId, Vec<Session>> = HashMap::new();
        for session in alive.items {
            for task in session.tasks.clone() {
                sessions.entry(task).or_default().push(session.clone());
            }
        }
        let asking = PendingPermissions { project: self.project.clone(), session: None, at: self.at, limit: REQUESTS }
            .load(db)?;
        let parents: Vec<TaskId> =
            groups.iter().flat_map(|(_, list)| &list.items).map(|task| task.id.clone()).collect();
        Ok(WorkScreenSnapshot {
            names: projects.iter().map(|project| (project.id.clone(), project.name.clone())).collect(),
            asking: asking.items.into_iter().map(|asked| asked.session).collect(),
            subtasks: SubtaskCounts { parents }.load(db)?,
            drawer: self.task.as_ref().map(|task| drawer(task, &projects, db)).transpose()?,
            groups,
            projects,
            sessions,
        })
    }
}

fn drawer(id: &TaskId, projects: &[Project], db: &mut DbTx<'_>) -> Result<TaskDrawer, StoreError> {
    let task = TaskById(id.clone()).load(db)?;
    let page = ListPage { limit: PARTS, after: 0 };
    let subtasks = TaskFilter { parent: Some(Some(id.clone())), ..TaskFilter::default() };
    let others = TaskFilter { project: Some(task.project.clone()), parent: Some(None), ..TaskFilter::default() };
    let mut dependencies = Vec::new();
    for dependency in &task.dependencies {
        // One that was deleted meanwhile is no longer waited for.
        dependencies.extend(TaskById(dependency.clone()).load(db).ok());
    }
    let mut sessions = Vec::new();
    for pair in task.sessions.iter().rev().take(MOST_SESSIONS) {
        sessions.push(SessionById(pair.session.clone()).load(db)?);
    }
    let ids = sessions.iter().map(|session| session.id.clone()).collect();
    let mut words = LastTimelineEntries { sessions: ids, kind: None }.load(db)?;
    let mut lines = Vec::new();
    for session in &sessions {
        let range = TimelineRange::Last(LINES);
        let said = TimelineQuery { session: session.id.clone(), range }.load(db)?.items;
        let about = said.into_iter().filter(|line| line.task.as_ref().is_none_or(|about| about == id));
        // That a session was created says no more than that it started.
        let about = about.filter(|line| line.kind.as_str() != "session_started");
        lines.extend(about.map(|line| (session.clone(), line)));
    }
    lines.sort_by_key(|(_, line)| line.at);
    Ok(TaskDrawer {
        parent: task.parent.clone().map(|parent| TaskById(parent).load(db)).transpose()?,
        subtasks: TaskList { filter: subtasks, page }.load(db)?.items,
        others: TaskList { filter: others, page }.load(db)?.items,
        project: projects.iter().find(|project| project.id == task.project).cloned(),
        sessions: sessions.into_iter().map(|session| (session.clone(), words.remove(&session.id))).collect(),
        dependencies,
        lines,
        task,
    })
}

/// A plan that a run works through, as a link.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct PlanLink {
    name: String,
    href: String,
    project: String,
    /// Whether another project has a plan of this name, too.
    is_double: bool,
}

/// The plans of these runs, each once, the latest first; then those that were found, which no run has touched yet.
pub(super) fn plans(
    runs: &[RunWithState],
    found: &[(ProjectId, String)],
    names: &BTreeMap<ProjectId, String>,
) -> Vec<PlanLink> {
    let mut links: Vec<PlanLink> = Vec::new();
    let of_runs = runs.iter().filter_map(|run| Some((run.record.about.project.as_ref(), plan_of(run)?)));
    let of_files = found.iter().map(|(project, name)| {
        let href = plan_address(&project.to_string(), name);
        (Some(project), (name.clone(), href))
    });
    for (project, (name, href)) in of_runs.chain(of_files) {
        if links.iter().all(|link| link.href != href) {
            let project = project.and_then(|id| names.get(id)).cloned().unwrap_or_default();
            links.push(PlanLink { name, href, project, is_double: false });
        }
    }
    links.truncate(8);
    let plans: Vec<String> = links.iter().map(|link| link.name.clone()).collect();
    for link in &mut links {
        link.is_double = plans.iter().filter(|name| **name == link.name).count() > 1;
    }
    links
}
