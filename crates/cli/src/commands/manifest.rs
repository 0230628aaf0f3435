//! `maestro manifest generate`: the file with which a session's agent starts.

use maestro_core::Role;
use maestro_core::manifest::{About, ManifestTask, manifest};
use serde::Deserialize;
use serde_json::json;

use crate::args::{GenerateArgs, ManifestArgs, ManifestCommand};
use crate::client::wire::Project;
use crate::client::{Client, escaped};
use crate::host::files;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::{clean_path, count};

/// A task in a manifest.
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
    let about = About {
        role: args.role,
        strategy: args.strategy.as_str(),
        workspace: &project.working_dir,
        skills: args.skills.as_deref(),
    };
    let tasks: Vec<ManifestTask> = tasks.into_iter().map(ManifestTask::from).collect();
    let manifest = manifest(about, &tasks);
    let path = world.places.working_dir.join(&args.output);
    let text = format!("{manifest:#}\n");
    files::keep_private(&path, text.as_bytes()).map_err(|error| {
        CommandError::io(format!("cannot write {}", path.display()), &error)
            .hint("pass a file in a writable directory with --output")
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
            return Err(CommandError::invalid(format!("task '{id}' belongs to project '{}'", task.project_id))
                .hint("pass tasks of one project, and that project with --project-id"));
        }
        tasks.push(task);
    }
    if tasks.is_empty() {
        return Err(CommandError::invalid("missing task").hint("pass one with --task-ids"));
    }
    Ok(tasks)
}

impl From<Task> for ManifestTask {
    fn from(task: Task) -> Self {
        Self {
            id: task.id,
            project_id: task.project_id,
            parent_id: task.parent_id,
            title: task.title,
            description: task.description,
            status: task.status,
            priority: task.priority,
            created_at: task.created_at,
            session_ids: task.session_ids,
            dependencies: task.dependencies,
            model: task.model,
        }
    }
}
