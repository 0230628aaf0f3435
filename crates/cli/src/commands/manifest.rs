//! `maestro manifest generate`: the file with which a session's agent starts.

use maestro_api::projects;
use maestro_api::tasks::{self, TaskBody};
use maestro_core::SessionRole;
use maestro_core::manifest::{ManifestSubject, ManifestTask, build_manifest};
use serde_json::json;

use crate::args::{GenerateArgs, ManifestArgs, ManifestCommand};
use crate::client::CliClient;
use crate::host::files;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{clean_path, count};

pub(crate) fn run(args: &ManifestArgs, world: &World) -> CommandResult {
    let ManifestCommand::Generate(args) = &args.command;
    let client = CliClient::open(world)?;
    let project = client.call(projects::get(&args.project_id))?;
    let tasks = named_tasks(&client, args)?;
    let about = ManifestSubject {
        role: args.role,
        strategy: args.strategy.as_str(),
        workspace: &project.working_dir,
        skills: args.skills.as_deref(),
    };
    let tasks: Vec<ManifestTask> = tasks.into_iter().map(manifest_task).collect();
    let manifest = build_manifest(about, &tasks);
    let path = world.places.working_dir.join(&args.output);
    let text = format!("{manifest:#}\n");
    files::write_private(&path, text.as_bytes()).map_err(|error| {
        CommandError::io(format!("cannot write {}", path.display()), &error)
            .hint("pass a file in a writable directory with --output")
    })?;
    if world.json {
        return CommandOutput::json(&json!({
            "success": true,
            "manifestPath": path.to_string_lossy(),
            "manifest": manifest,
        }));
    }
    let what = count(tasks.len(), "task", "tasks");
    let role = match args.role {
        SessionRole::Worker => "a worker",
        SessionRole::Orchestrator => "an orchestrator",
    };
    Ok(CommandOutput::text(format!("Wrote {}: {what} for {role}.\n", clean_path(&world.display_path(&path)))))
}

fn named_tasks(client: &CliClient, args: &GenerateArgs) -> CommandResult<Vec<TaskBody>> {
    let ids = args.task_ids.iter().map(|id| id.trim()).filter(|id| !id.is_empty());
    let mut tasks = Vec::new();
    for id in ids {
        let task = client.call(tasks::get(id))?;
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

fn manifest_task(task: TaskBody) -> ManifestTask {
    ManifestTask {
        id: task.id,
        project_id: task.project_id,
        parent_id: task.parent_id,
        title: task.title,
        description: task.description,
        status: task.status.to_string(),
        priority: task.priority.to_string(),
        created_at: task.created_at,
        session_ids: task.session_ids,
        dependencies: task.dependencies,
        model: task.model,
    }
}
