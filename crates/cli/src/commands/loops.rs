//! `maestro loop`: a plan that is worked through, task by task, until it is done.

mod follow;
mod steer;

use std::path::Path;
use std::process::{Command, Stdio};

use maestro_engine::trust::Trust;
use serde_json::{Value as Json, json};

use crate::args::{DirArgs, LoopArgs, LoopCommand, Step, TaskPromptArgs};
use crate::commands::{init, prompt};
use crate::error::CommandError;
use crate::reply::{self, Reply};
use crate::screen::{clean, clean_path};
use crate::world::World;
use crate::{config, own_server};

/// The workflow that a loop is.
const WORKFLOW: &str = "plan-loop";

pub(crate) fn run(args: &LoopArgs, world: &World) -> Result<Reply, CommandError> {
    match &args.command {
        None => begin(args, world),
        Some(LoopCommand::Status) => steer::status(world),
        Some(LoopCommand::Pause { run }) => steer::order(run.as_deref(), "pause", world),
        Some(LoopCommand::Resume { run }) => steer::order(run.as_deref(), "resume", world),
        Some(LoopCommand::Cancel { run }) => steer::order(run.as_deref(), "cancel", world),
        Some(LoopCommand::Log { run }) => steer::log(run.as_deref(), world),
    }
}

fn begin(args: &LoopArgs, world: &World) -> Result<Reply, CommandError> {
    let Some(plan) = &args.plan else {
        return Err(CommandError::invalid("which plan?").hint("`maestro loop PLAN.md`"));
    };
    let plan = inside(plan, world)?;
    let settings = config::settings(world)?;
    let checks = !settings.verify.value.is_empty();
    if checks && !Trust::load(&world.maestro_home).is_ok_and(|trust| trust.allows_checks(&settings.verify)) {
        return Err(CommandError::invalid("the checks of this project were allowed by nobody")
            .hint("`maestro trust --config` shows them, and asks"));
    }
    if args.dry_run {
        let plan = world.places.project.join(&plan).display().to_string();
        return prompt::run(
            &TaskPromptArgs { task: plan, step: Step::Implementation, dirs: DirArgs { dirs: Vec::new() } },
            world,
        );
    }
    let workspace = &world.places.project;
    let repository = git(workspace, &["rev-parse", "--git-dir"]);
    if !repository && !args.work.in_place {
        return Err(CommandError::invalid("this is no git repository, and a loop commits what it does")
            .hint("`git init` makes one"));
    }
    let tracked = git(workspace, &["ls-files", "--error-unmatch", "--", &plan]);
    let (client, server) = own_server::client(world)?;
    let project = init::known(&client, world)?;
    let agent = args.work.agent.clone().unwrap_or_else(|| settings.agent.value.clone());
    let body = json!({
        "workflow": args.workflow.as_deref().unwrap_or(WORKFLOW),
        "params": {
            "plan": plan,
            "agent": agent,
            "reviewer": args.work.reviewer.as_ref().unwrap_or(&agent),
            "permission": args.work.permission.as_deref().unwrap_or("edits"),
            "worktree": !args.work.in_place,
            "tracked": tracked,
            "checks": checks,
            "review": !args.work.no_review,
            "once": args.once,
        },
        "workspace": workspace,
        "projectId": project.id,
        "driver": "server",
    });
    let begun: Json = client.post("/api/runs", &body)?;
    let run = begun["id"].as_str().unwrap_or_default().to_owned();
    if args.detach {
        if server.is_some() {
            return Err(
                CommandError::invalid("no server runs that could go on with it").hint("start it with `maestro up`")
            );
        }
        return if world.json { Reply::json(&begun) } else { Ok(Reply::text(format!("{}\n", clean(&run)))) };
    }
    if !world.json {
        reply::show(&format!("Run {} works through {}\n", clean(&run), clean_path(&plan)))?;
        if !checks {
            reply::show(
                "No checks are configured: nothing but the review decides. `verify` in .maestro/config.toml names some.\n",
            )?;
        }
    }
    let ended = follow::to_the_end(&client, &run, &project.id, world);
    drop(client);
    drop(server);
    ended
}

/// The plan's path below the project.
fn inside(plan: &Path, world: &World) -> Result<String, CommandError> {
    let whole = world.places.working_dir.join(plan);
    let whole = whole.canonicalize().map_err(|error| {
        CommandError::io(format!("{} cannot be found", plan.display()), &error).hint("name a Markdown checklist")
    })?;
    let root = world.places.project.canonicalize().unwrap_or_else(|_| world.places.project.clone());
    let below = whole.strip_prefix(&root).map_err(|_| {
        CommandError::invalid(format!("{} lies outside the project", plan.display()))
            .hint("put it into the project, or go to its project")
    })?;
    Ok(below.to_string_lossy().into_owned())
}

/// Whether git says yes.
fn git(workspace: &Path, arguments: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]).args(arguments);
    command.current_dir(workspace).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
