//! The data folder of the first Maestro: its projects with their tasks and sessions, and its prompt templates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use maestro_api::projects::{self, NewProject};
use maestro_api::tasks::{self, NewTask, TaskChange, TaskQuery};
use maestro_core::task::TaskStatus;
use maestro_skills::valid_name;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::earlier_sessions::EarlierSession;
use super::{ImportAct, ImportItem, ImportPlan, entries, files_with, read_text};
use crate::args::ImportSource;
use crate::client::CliClient;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::screen::{clean, count};
use crate::output::time;

/// What a task's description ends with, so that it is imported once.
const MARK: &str = "Imported from the earlier Maestro: ";

/// A project with its tasks.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EarlierProject {
    id: String,
    name: String,
    #[serde(default)]
    working_dir: String,
    #[serde(default)]
    description: String,
    #[serde(skip)]
    tasks: Vec<EarlierTask>,
    #[serde(skip)]
    sessions: Vec<EarlierSession>,
}

/// A task; what other versions add is ignored.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EarlierTask {
    id: String,
    #[serde(default)]
    project_id: String,
    #[serde(default)]
    parent_id: Option<String>,
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    priority: Option<String>,
    #[serde(default)]
    created_at: i64,
    #[serde(default)]
    initial_prompt: String,
    #[serde(default)]
    skill_ids: Vec<String>,
    #[serde(default)]
    dependencies: Vec<String>,
    #[serde(default)]
    model: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    others: Map<String, Json>,
}

/// What of a task is known from elsewhere, or holds for the first Maestro alone.
const DERIVED: [&str; 10] = [
    "updatedAt",
    "startedAt",
    "completedAt",
    "sessionStatus",
    "taskSessionStatuses",
    "sessionIds",
    "agentIds",
    "clientRequestId",
    "memberOverrides",
    "acceptanceCriteria",
];

/// A text that prompts were made from.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EarlierTemplate {
    name: String,
    #[serde(default)]
    role: String,
    content: String,
    #[serde(default)]
    is_default: bool,
}

pub(super) fn look(named: Option<&Path>, world: &World) -> CommandResult<ImportPlan> {
    let mut plan = ImportPlan::new(ImportSource::Maestro);
    let folder = named.map_or_else(|| world.maestro_home.join("data"), |named| world.places.working_dir.join(named));
    if named.is_some() && !folder.join("projects").is_dir() {
        return Err(CommandError::not_found(format!("no projects in {}", world.display_path(&folder)))
            .hint("name the folder that has `projects`, `tasks` and `sessions`, usually ~/.maestro/data"));
    }
    let mut projects: Vec<EarlierProject> = read_all(&files_with(&folder.join("projects"), "json"), &mut plan, world);
    let task_folders: Vec<PathBuf> = entries(&folder.join("tasks")).into_iter().filter(|path| path.is_dir()).collect();
    let task_files: Vec<PathBuf> = task_folders.iter().flat_map(|path| files_with(path, "json")).collect();
    let tasks: Vec<EarlierTask> = read_all(&task_files, &mut plan, world);
    for task in tasks {
        match projects.iter_mut().find(|project| project.id == task.project_id) {
            Some(project) => project.tasks.push(task),
            None => plan.left.push(format!("the task {}: its project is not there", task.id)),
        }
    }
    let sessions: Vec<EarlierSession> = read_all(&files_with(&folder.join("sessions"), "json"), &mut plan, world);
    for session in sessions {
        match projects.iter_mut().find(|project| project.id == session.project_id) {
            Some(project) if session.has_usable_id() => project.sessions.push(session),
            Some(_) => plan.left.push(format!("the session {}: its id is not valid", session.id)),
            None => plan.left.push(format!("the session {}: its project is not there", session.id)),
        }
    }
    for project in projects {
        if !Path::new(&project.working_dir).is_absolute() {
            plan.left.push(format!("the project {}: it has no directory", project.name));
            continue;
        }
        plan.left.extend(project.fields_left());
        let what = format!(
            "the project {} ({}) with {} and {}",
            project.name,
            project.working_dir,
            count(project.tasks.len(), "task", "tasks"),
            count(project.sessions.len(), "ended session", "ended sessions"),
        );
        plan.items.push(ImportItem { what, act: ImportAct::Project(Box::new(project)) });
    }
    look_at_templates(&folder.join("templates"), &mut plan, world);
    let read = ["projects", "tasks", "sessions", "templates"];
    for other in entries(&folder).into_iter().filter(|path| path.is_dir()) {
        let name = other.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let number = files_with(&other, "json").len();
        if number > 0 && !read.contains(&name.as_str()) {
            let why = match name.as_str() {
                "queues" => "their sessions are over; `maestro queue push` fills a new one",
                _ => "nothing here is like it",
            };
            let place = world.display_path(&other);
            plan.left.push(format!("{} of {name}: {why}; they stay in {place}", count(number, "file", "files")));
        }
    }
    Ok(plan)
}

/// The user's own templates become skills of the project; those that came with the first Maestro are not needed.
fn look_at_templates(folder: &Path, plan: &mut ImportPlan, world: &World) {
    let templates: Vec<EarlierTemplate> = read_all(&files_with(folder, "json"), plan, world);
    let (own, usual): (Vec<_>, Vec<_>) = templates.into_iter().partition(|template| !template.is_default);
    if !usual.is_empty() {
        let number = count(usual.len(), "prompt template", "prompt templates");
        plan.left.push(format!("{number} of the first Maestro itself: Maestro composes its own"));
    }
    for template in own {
        let name = valid_name(&template.name);
        if name.is_empty() {
            plan.left.push(format!("the prompt template {}: no skill can have that name", template.name));
            continue;
        }
        let path = world.places.project.join(".agents/skills").join(&name).join("SKILL.md");
        let shown = world.display_path(&path);
        if path.exists() {
            plan.left.push(format!("the prompt template {}: {shown} is there already", template.name));
            continue;
        }
        let what = format!("the prompt template {} as a skill, {shown}; edit when to use it", template.name);
        plan.items.push(ImportItem { what, act: ImportAct::Write { text: template.to_skill(&name), path } });
    }
}

impl EarlierTemplate {
    fn to_skill(&self, name: &str) -> String {
        let role = if self.role.is_empty() { "an agent" } else { &self.role };
        let description = format!("{}: a prompt for {role}. Use when {name} is asked for.", self.name);
        // A JSON text is a YAML text, whatever it contains.
        format!("---\nname: {name}\ndescription: {}\n---\n\n{}\n", Json::from(description), self.content.trim())
    }
}

/// The records in files; what cannot be read is left, and listed.
fn read_all<T: for<'a> Deserialize<'a>>(paths: &[PathBuf], plan: &mut ImportPlan, world: &World) -> Vec<T> {
    let mut found = Vec::new();
    for path in paths {
        let read = read_text(path).ok_or("not a text, or too long".to_owned());
        match read.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string())) {
            Ok(record) => found.push(record),
            Err(why) => plan.left.push(format!("{}: {why}", world.display_path(path))),
        }
    }
    found
}

impl EarlierProject {
    /// Creates what is not there yet; says how much that was.
    pub(super) fn store(&self, client: &CliClient) -> CommandResult<String> {
        let known = client.list(projects::list())?.into_iter().find(|known| known.working_dir == self.working_dir);
        let project = if let Some(known) = known {
            known.id
        } else {
            let new = NewProject {
                name: Some(self.name.clone()),
                working_dir: Some(self.working_dir.clone()),
                description: Some(self.description.clone()).filter(|text| !text.is_empty()),
            };
            client.call(projects::create(&new))?.id
        };
        let mut ids = imported(client, &project)?;
        let mut created = Vec::new();
        for task in in_order(&self.tasks) {
            if ids.contains_key(&task.id) {
                continue;
            }
            let new = client.call(tasks::create(&task.to_new(&project, &ids)))?;
            ids.insert(task.id.clone(), new.id);
            created.push(task);
        }
        let mut sessions = 0;
        for session in &self.sessions {
            sessions += usize::from(session.store(client, &project, &ids)?);
        }
        // At last, because a session that ends changes the status of its tasks.
        for task in &created {
            self.settle(task, &ids, client)?;
        }
        let already = self.tasks.len() + self.sessions.len() - created.len() - sessions;
        let already = if already > 0 { format!(", {already} were here already") } else { String::new() };
        let (tasks, sessions) = (count(created.len(), "task", "tasks"), count(sessions, "session", "sessions"));
        Ok(format!("Imported {tasks} and {sessions} of the project {}{already}", clean(&self.name)))
    }

    /// Gives a new task the status it had.
    fn settle(&self, task: &EarlierTask, ids: &BTreeMap<String, String>, client: &CliClient) -> CommandResult<()> {
        let Ok(status) = task.status.parse::<TaskStatus>() else { return Ok(()) };
        let has_session = self.sessions.iter().any(|session| session.tasks().any(|id| *id == task.id));
        if let Some(id) = ids.get(&task.id).filter(|_| has_session || status != TaskStatus::Todo) {
            let change = TaskChange { status: Some(status.to_string()), ..TaskChange::default() };
            client.call(tasks::update(id, &change))?;
        }
        Ok(())
    }

    /// What its tasks have that nothing here is like.
    fn fields_left(&self) -> Option<String> {
        let is_said = |value: &Json| match value {
            Json::Null | Json::Bool(false) => false,
            Json::String(text) => !text.is_empty(),
            Json::Array(items) => !items.is_empty(),
            Json::Object(fields) => !fields.is_empty(),
            Json::Bool(true) | Json::Number(_) => true,
        };
        let said = self.tasks.iter().flat_map(|task| &task.others).filter(|(_, value)| is_said(value));
        let names: BTreeSet<&str> =
            said.map(|(name, _)| name.as_str()).filter(|name| !DERIVED.contains(name)).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| format!("of the tasks of {}: {names}; nothing here is like it", self.name))
    }
}

impl EarlierTask {
    fn to_new(&self, project: &str, ids: &BTreeMap<String, String>) -> NewTask {
        let mark = format!("{MARK}{} of {}", self.id, time::day(self.created_at));
        let description = format!("{}\n\n{mark}", self.description).trim_start().to_owned();
        let dependencies: Vec<String> = self.dependencies.iter().filter_map(|id| ids.get(id).cloned()).collect();
        NewTask {
            project_id: Some(project.to_owned()),
            title: Some(if self.title.trim().is_empty() { self.id.clone() } else { self.title.clone() }),
            parent_id: self.parent_id.as_ref().and_then(|id| ids.get(id).cloned()),
            description: Some(description),
            priority: self.priority.clone(),
            initial_prompt: Some(self.initial_prompt.clone()).filter(|text| !text.is_empty()),
            skill_ids: Some(self.skill_ids.clone()).filter(|skills| !skills.is_empty()),
            dependencies: Some(dependencies).filter(|ids| !ids.is_empty()),
            model: self.model.clone(),
        }
    }
}

/// The tasks of a project that were imported before: their old ids, and the new ones.
fn imported(client: &CliClient, project: &str) -> CommandResult<BTreeMap<String, String>> {
    let query = TaskQuery { project_id: Some(project.to_owned()), ..TaskQuery::default() };
    let old_id = |text: &str| Some(text.rsplit_once(MARK)?.1.split_whitespace().next()?.to_owned());
    let all = client.list(tasks::list(&query))?.into_iter();
    Ok(all.filter_map(|task| Some((old_id(&task.description)?, task.id))).collect())
}

/// Parents before their children, else by time; a circle ends where it began.
fn in_order(tasks: &[EarlierTask]) -> Vec<&EarlierTask> {
    let mut open: Vec<&EarlierTask> = tasks.iter().collect();
    open.sort_by_key(|task| (task.created_at, task.id.clone()));
    let mut ordered: Vec<&EarlierTask> = Vec::new();
    while !open.is_empty() {
        let waits = |task: &&EarlierTask| {
            let parent = task.parent_id.as_ref();
            parent.is_some_and(|parent| open.iter().any(|other| other.id == *parent && other.id != task.id))
        };
        let (later, now): (Vec<_>, Vec<_>) = open.iter().copied().partition(waits);
        if now.is_empty() {
            ordered.extend(later);
            break;
        }
        ordered.extend(now);
        open = later;
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, parent: Option<&str>) -> EarlierTask {
        let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
        serde_json::from_str(&format!(r#"{{"id":"{id}","title":"T","parentId":{parent}}}"#)).unwrap()
    }

    #[test]
    fn parents_come_before_their_children_and_a_circle_ends() {
        let ids = |tasks: &[EarlierTask]| in_order(tasks).iter().map(|task| task.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&[task("a", Some("b")), task("b", Some("c")), task("c", None)]), ["c", "b", "a"]);
        assert_eq!(ids(&[task("a", Some("b")), task("b", Some("a")), task("c", Some("gone"))]), ["c", "a", "b"]);
    }
}
