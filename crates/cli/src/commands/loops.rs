//! `maestro loop` and `maestro do`: work through a plan, or a single task in the same way.

mod bar;
mod dry;
mod end;
mod follow;
pub(crate) mod known;
mod lanes;
mod ready;
mod status;
mod steer;

use std::path::Path;

use maestro_api::ReceivedReply;
use maestro_api::runs::{self, NewRun, RunBody};
use maestro_api::sessions::SteerAction;
use maestro_core::Settings;
use maestro_core::agent::Allowance;
use maestro_core::workflow::run::RunDriver;
use serde_json::{Map, Value as Json, json};

use crate::args::{DoArgs, LoopArgs, LoopCommand, WorkArgs};
use crate::client::Target;
use crate::commands::{demo, init};
use crate::host::plans::PlanFile;
use crate::host::world::World;
use crate::host::{checks, config};
use crate::output::error::CommandError;
use crate::output::reply::{self, Reply};
use crate::output::screen::{clean, clean_path};
use crate::server_process::own_server::{self, Served};

use self::follow::Followed;
pub(crate) use self::follow::{Meaning, Telling};

/// The workflow that a loop is.
const WORKFLOW: &str = "plan-loop";

pub(crate) fn run(args: &LoopArgs, world: &World) -> Result<Reply, CommandError> {
    match &args.command {
        None => begin(args, world),
        Some(LoopCommand::Status) => status::shown(world),
        Some(LoopCommand::Pause { run }) => steer::tell(run.as_deref(), SteerAction::Pause, world),
        Some(LoopCommand::Resume { run }) => steer::tell(run.as_deref(), SteerAction::Resume, world),
        Some(LoopCommand::Cancel { run }) => steer::tell(run.as_deref(), SteerAction::Cancel, world),
        Some(LoopCommand::Log { run }) => steer::log(run.as_deref(), world),
    }
}

fn begin(args: &LoopArgs, world: &World) -> Result<Reply, CommandError> {
    let Some(plan) = &args.plan else {
        return Err(CommandError::invalid("missing argument: PLAN.md").hint("run `maestro loop PLAN.md`"));
    };
    let plan = inside(plan, world)?;
    let order = Order {
        workflow: args.workflow.as_deref().unwrap_or(WORKFLOW),
        what: What::Plan {
            most: args.max_tasks.unwrap_or(u32::from(args.once)),
            path: plan,
            said: Allowance { minutes: args.plan_minutes, tokens: args.plan_tokens, cost_usd: args.plan_cost },
        },
        jobs: args.jobs.unwrap_or(1),
        audience: if args.explain { Audience::Spectator } else { Audience::Owner },
    };
    order.carried_out(&args.work, world)
}

/// `maestro do`: one task, through the same gates as a plan's.
pub(crate) fn one(args: &DoArgs, world: &World) -> Result<Reply, CommandError> {
    let task = args.task.split_whitespace().collect::<Vec<_>>().join(" ");
    if task.is_empty() {
        return Err(CommandError::invalid("the task is empty").hint("pass a task in quotes"));
    }
    Order { workflow: WORKFLOW, what: What::Task(task), jobs: 1, audience: Audience::Owner }
        .carried_out(&args.work, world)
}

/// Work to do.
struct Order<'a> {
    workflow: &'a str,
    what: What,
    /// How many tasks are worked on at once.
    jobs: u32,
    audience: Audience,
}

/// Audience of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// A user, who continues with the result.
    Owner,
    /// A viewer of the demo, who gets explanations.
    Spectator,
}

impl Audience {
    fn meanings(self) -> &'static [Meaning] {
        match self {
            Self::Owner => &[],
            Self::Spectator => &demo::MEANINGS,
        }
    }
}

enum What {
    /// A plan, below the project; 0 means all of its tasks. What it may use up is as the command says it.
    Plan {
        path: String,
        most: u32,
        said: Allowance,
    },
    Task(String),
}

impl Order<'_> {
    fn carried_out(&self, work: &WorkArgs, world: &World) -> Result<Reply, CommandError> {
        let settings = config::settings(world)?;
        ready::allowed(work, &settings, world)?;
        ready::known_agents(work, &settings, world)?;
        if work.dry_run {
            return dry::run(self.request(work, &settings, world), world);
        }
        self.can_begin(work, world)?;
        let notes = before(work, world)?;
        if work.in_place {
            ready::nothing_uncommitted(world)?;
        }
        // A config file may have been written meanwhile.
        let settings = config::settings(world)?;
        let mut request = self.request(work, &settings, world);
        let (served, ReceivedReply { raw, value }) = started(&mut request, world)?;
        let run = value.summary.id;
        let runs = lanes::joined(&served.client, &request, &run, self.jobs)?;
        if work.detach {
            return if world.json { Reply::json(&raw) } else { Ok(Reply::text(format!("{}\n", clean(&run)))) };
        }
        if !world.json {
            reply::show(&format!("Run {} {}\n", clean(&run), self.said()))?;
            if let Target::Server(url) = served.client.target() {
                reply::show(&format!("Page: {}\n", clean(url)))?;
            }
            reply::show(&notes.concat())?;
        }
        let project = request.project_id.as_deref().unwrap_or_default();
        let (followed, served) = follow::to_the_end(served, &runs, project, self.audience.meanings(), world)?;
        match followed {
            Followed::Over(state) => {
                // The result is read once no agent works there any more.
                drop(served);
                end::told(&state, self.audience, world)
            }
            Followed::Interrupted => end::left_alone(&run, &served, world),
        }
    }

    /// Makes sure of what can be known before anything is written.
    fn can_begin(&self, work: &WorkArgs, world: &World) -> Result<(), CommandError> {
        ready::is_repository(world)?;
        if work.detach {
            ready::served(world)?;
        }
        match &self.what {
            What::Plan { path, .. } if !work.in_place => ready::is_committed(path, world),
            _ => Ok(()),
        }
    }

    fn said(&self) -> String {
        match &self.what {
            What::Plan { path, .. } if self.jobs > 1 => {
                format!("works through {}, {} tasks at once", clean_path(path), self.jobs)
            }
            What::Plan { path, .. } => format!("works through {}", clean_path(path)),
            What::Task(task) => format!("does: {}", clean(task)),
        }
    }

    /// The run that does it.
    fn request(&self, work: &WorkArgs, settings: &Settings, world: &World) -> NewRun {
        let workspace = &world.places.project;
        let agent = work.agent.clone().unwrap_or_else(|| settings.agent.value.clone());
        let skills = match work.skills.as_slice() {
            _ if work.no_skills => "none".to_owned(),
            [] => "auto".to_owned(),
            names => names.join(","),
        };
        let mut params = Map::new();
        let mut set = |name: &str, value: Json| {
            params.insert(name.to_owned(), value);
        };
        set("agent", json!(agent));
        set("reviewer", json!(work.reviewer.as_ref().unwrap_or(&agent)));
        set("permission", json!(work.permission.as_deref().unwrap_or("edits")));
        set("worktree", json!(!work.in_place));
        set("checks", json!(!settings.verify.value.is_empty()));
        set("review", json!(!work.no_review));
        set("skills", json!(skills));
        // Not every workflow of a user's own knows of it.
        if (work.merge || settings.merge_when_done.value) && !work.in_place {
            set("merge", json!("yes"));
        }
        let task_budget = Allowance {
            minutes: work.task_minutes.or(settings.task_minutes.value),
            tokens: work.task_tokens.or(settings.task_tokens.value),
            cost_usd: work.task_cost.or(settings.task_cost.value),
        };
        if !task_budget.is_unlimited() {
            set("task_budget", json!(task_budget.to_string()));
        }
        match &self.what {
            What::Plan { path, most, said } => {
                set("plan", json!(path));
                set("most", json!(most));
                if self.jobs > 1 {
                    set("shared", json!(true));
                }
                let plan_budget = Allowance {
                    minutes: said.minutes.or(settings.plan_minutes.value),
                    tokens: said.tokens.or(settings.plan_tokens.value),
                    cost_usd: said.cost_usd.or(settings.plan_cost.value),
                };
                // Not every workflow of a user's own knows of it.
                if !plan_budget.is_unlimited() {
                    set("plan_budget", json!(plan_budget.part(self.jobs).to_string()));
                }
                set("tracked", json!(ready::is_tracked(path, workspace)));
            }
            What::Task(task) => set("only", json!(task)),
        }
        NewRun {
            workflow: Some(self.workflow.to_owned()),
            params: Some(params),
            workspace: Some(workspace.to_string_lossy().into_owned()),
            ..NewRun::default()
        }
    }
}

/// Starts a run in the project of this directory. A server that is gone before it received the request, because it was
/// another command's, is replaced.
fn started(request: &mut NewRun, world: &World) -> Result<(Served, ReceivedReply<RunBody>), CommandError> {
    let mut further = 0..own_server::MOST;
    loop {
        let served = Served::open(world)?;
        let started = init::known(&served.client, world).and_then(|project| {
            request.project_id = Some(project.id);
            request.driver = Some(RunDriver::Server.as_str().to_owned());
            served.client.call_raw(runs::create(request))
        });
        match started {
            Err(lost) if lost.was_not_sent() && further.next().is_some() => {}
            started => return started.map(|started| (served, started)),
        }
    }
}

/// What a person should know before it begins.
fn before(work: &WorkArgs, world: &World) -> Result<Vec<String>, CommandError> {
    let mut notes = Vec::new();
    if !work.in_place {
        // In place, what we write would get into the first task's commit.
        notes.extend(init::first(world)?);
    }
    let proposal = checks::proposed(&config::settings(world)?, world)?;
    let settings = config::settings(world)?;
    if settings.verify.value.is_empty() && proposal.is_some() {
        notes.push("note: no checks configured, so only the review decides. ".to_owned());
    } else if settings.verify.value.is_empty() {
        notes.push(
            "note: no checks configured, so only the review decides; set `verify` in .maestro/config.toml\n".to_owned(),
        );
    }
    notes.extend(proposal);
    if !settings.skills_enabled.value && work.skills.is_empty() && !work.no_skills {
        let way = if config::project_file(world).is_file() {
            "set `skills_enabled = true` in .maestro/config.toml"
        } else {
            "run `maestro init`"
        };
        notes.push(format!("note: skills are off here; {way} to turn them on\n"));
    }
    Ok(notes)
}

/// The path below the project of a plan that can be read.
fn inside(plan: &Path, world: &World) -> Result<String, CommandError> {
    let whole = world.places.working_dir.join(plan);
    let whole = whole.canonicalize().map_err(|error| {
        CommandError::io(format!("{} not found", plan.display()), &error).hint("pass a Markdown checklist")
    })?;
    let root = world.places.project.canonicalize().unwrap_or_else(|_| world.places.project.clone());
    let below = whole.strip_prefix(&root).map_err(|_| {
        CommandError::invalid(format!("{} is outside the project", plan.display()))
            .hint("move it into the project, or run the command in its project")
    })?;
    PlanFile::read(&whole)?;
    Ok(below.to_string_lossy().into_owned())
}
