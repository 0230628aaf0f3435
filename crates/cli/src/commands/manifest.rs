//! `maestro manifest generate`: what a session starts with, in the file that its agent reads.

use maestro_core::Role;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::args::{GenerateArgs, ManifestArgs, ManifestCommand};
use crate::client::{Client, escaped};
use crate::error::CommandError;
use crate::reply::Reply;
use crate::screen::{clean_path, count};
use crate::wire::Project;
use crate::world::World;
use crate::{files, time};

/// What a task is checked by when nobody says: the format wants at least one.
const CRITERION: &str = "Task completion as described";
/// The models that a manifest may name.
const MODELS: [&str; 3] = ["haiku", "sonnet", "opus"];

/// A task, as far as a manifest needs it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    id: String,
    project_id: String,
    parent_id: Option<String>,
    title: String,
    description: String,
    status: String,
    priority: String,
    created_at: i64,
    session_ids: Vec<String>,
    dependencies: Vec<String>,
    model: Option<String>,
}

pub(crate) fn run(args: &ManifestArgs, world: &World) -> Result<Reply, CommandError> {
    let ManifestCommand::Generate(args) = &args.command;
    let client = Client::open(world)?;
    let project: Project = client.get(&format!("/api/projects/{}", escaped(&args.project_id)))?;
    let tasks = tasks(&client, args)?;
    let manifest = manifest(args, &project, &tasks);
    let path = world.places.working_dir.join(&args.output);
    let text = format!("{manifest:#}\n");
    files::keep_private(&path, text.as_bytes()).map_err(|error| {
        CommandError::io(format!("{} cannot be written", path.display()), &error)
            .hint("name a file in a directory you may write to with --output")
    })?;
    if world.json {
        return Reply::json(&json!({
            "success": true,
            "manifestPath": path.to_string_lossy(),
            "manifest": manifest,
        }));
    }
    let what = count(tasks.len(), "task", "tasks");
    let role = match args.role {
        Role::Worker => "a worker",
        Role::Orchestrator => "an orchestrator",
    };
    Ok(Reply::text(format!("Wrote {}: {what} for {role}.\n", clean_path(&world.short(&path)))))
}

fn tasks(client: &Client, args: &GenerateArgs) -> Result<Vec<Task>, CommandError> {
    let ids = args.task_ids.iter().map(|id| id.trim()).filter(|id| !id.is_empty());
    let mut tasks = Vec::new();
    for id in ids {
        let task: Task = client.get(&format!("/api/tasks/{}", escaped(id)))?;
        if task.project_id != args.project_id {
            return Err(CommandError::invalid(format!("task '{id}' belongs to the project '{}'", task.project_id))
                .hint("name tasks of one project, and that project with --project-id"));
        }
        tasks.push(task);
    }
    if tasks.is_empty() {
        return Err(CommandError::invalid("a manifest needs a task").hint("name one with --task-ids"));
    }
    Ok(tasks)
}

fn manifest(args: &GenerateArgs, project: &Project, tasks: &[Task]) -> Json {
    let model = tasks.iter().find_map(|task| task.model.as_deref().filter(|model| MODELS.contains(model)));
    let mut session = Map::new();
    session.insert("model".to_owned(), json!(model.unwrap_or("sonnet")));
    session.insert("permissionMode".to_owned(), json!("acceptEdits"));
    session.insert("thinkingMode".to_owned(), json!("auto"));
    if !project.working_dir.is_empty() {
        session.insert("workingDirectory".to_owned(), json!(project.working_dir));
    }
    let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    json!({
        "manifestVersion": "1.0",
        "role": args.role,
        "strategy": args.strategy.as_str(),
        "tasks": tasks.iter().map(entry).collect::<Vec<_>>(),
        "session": session,
        "context": { "custom": { "taskIds": ids } },
        "skills": skills(args),
    })
}

fn entry(task: &Task) -> Json {
    json!({
        "id": task.id,
        "title": task.title,
        "description": task.description,
        "acceptanceCriteria": [CRITERION],
        "projectId": task.project_id,
        "createdAt": time::iso(task.created_at),
        "parentId": task.parent_id,
        "dependencies": task.dependencies,
        "priority": task.priority,
        "status": status(&task.status),
        "sessionIds": task.session_ids,
    })
}

/// The format knows fewer words than we do.
fn status(ours: &str) -> &str {
    match ours {
        "in_review" => "in_progress",
        "archived" => "completed",
        known => known,
    }
}

fn skills(args: &GenerateArgs) -> Vec<&str> {
    let own = match args.role {
        Role::Worker => "maestro-worker",
        Role::Orchestrator => "maestro-orchestrator",
    };
    match &args.skills {
        None => vec![own],
        Some(names) => names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect(),
    }
}
