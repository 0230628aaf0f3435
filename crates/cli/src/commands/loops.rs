//! `maestro loop` and `maestro do`: work through a plan, or a single task in the same way.

mod current;
pub(crate) mod details;
mod dry_run;
mod ending;
mod feed_lines;
mod follow;
mod interruption;
mod join;
mod lane_tasks;
pub(crate) mod listing;
mod opening;
mod phase_log;
mod preflight;
mod progress_bar;
mod readiness;
mod revision;
mod run_question;
mod status;
mod steer;
mod usage;

use std::io;
use std::path::Path;

use maestro_api::ReceivedReply;
use maestro_api::runs::{self, NewRun, RunBody};
use maestro_api::sessions::SteerAction;
use maestro_core::Settings;
use maestro_core::agent::{BudgetLimit, DEMO_AGENT};
use maestro_core::settings::SettingOrigin;
use maestro_core::workflow::run::RunDriver;
use serde_json::{Map, Value as Json, json};

use crate::args::{DoArgs, LoopArgs, LoopCommand, WorkArgs};
use crate::client::CliClient;
use crate::client::own_server::{self, ServedClient};
use crate::commands::{demo, init};
use crate::host::config;
use crate::host::plans::{self, PlanFile};
use crate::host::skill_vectors;
use crate::host::world::World;
use crate::output::command_output::{self, CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{clean, clean_path};
use crate::server_process::database;

use self::current::{EarlierWork, ResumeConsent, WorkPlace};
pub(crate) use self::feed_lines::{NoteMeaning, ProgressNote};
use self::follow::{FeedStart, FollowResult, FollowedLoop};
use self::interruption::FollowerSignal;
pub(crate) use self::listing::RunsGlance;
use self::revision::RunRevision;
pub(crate) use self::revision::{fix_merge, revise};
use self::steer::{AfterResume, ResumeOptions};

/// The workflow that a loop is.
const WORKFLOW: &str = "plan-loop";

pub(crate) fn run(args: &LoopArgs, world: &World) -> CommandResult {
    match &args.command {
        None => start_loop(args, world),
        Some(LoopCommand::Status) => status::status_reply(world),
        Some(LoopCommand::Pause { run }) => steer::send_to_loop(run.as_deref(), SteerAction::Pause, world),
        Some(LoopCommand::Resume { run }) => steer::resume(run.as_deref(), world),
        Some(LoopCommand::Cancel { run }) => steer::send_to_loop(run.as_deref(), SteerAction::Cancel, world),
        Some(LoopCommand::Log { run }) => steer::log(run.as_deref(), world),
    }
}

fn start_loop(args: &LoopArgs, world: &World) -> CommandResult {
    let plan = match &args.plan {
        Some(plan) => plan_path(plan, world)?,
        None => plan_path(&plans::only_open(world)?, world)?,
    };
    let order = LoopRequest {
        workflow: args.workflow.as_deref().map_or(LoopWorkflow::Builtin, LoopWorkflow::Named),
        what: LoopTarget::Plan {
            most: args.max_tasks.unwrap_or(u32::from(args.once)),
            path: plan,
            on_stuck: if args.keep_going { StuckTask::SetAside } else { StuckTask::Stop },
            said: BudgetLimit { minutes: args.plan_minutes, tokens: args.plan_tokens, cost_usd: args.plan_cost },
        },
        jobs: args.jobs.unwrap_or(1),
        audience: if args.explain { LoopAudience::Spectator } else { LoopAudience::Owner },
    };
    order.run(&args.work, world)
}

/// `maestro do`: one task, through the same gates as a plan's.
pub(crate) fn start_task(args: &DoArgs, world: &World) -> CommandResult {
    let task = args.task.split_whitespace().collect::<Vec<_>>().join(" ");
    if task.is_empty() {
        return Err(CommandError::invalid("the task is empty").hint("pass a task in quotes"));
    }
    if !task.contains(char::is_whitespace)
        && Path::new(&task).extension().is_some_and(|end| end.eq_ignore_ascii_case("md"))
    {
        return Err(CommandError::invalid(format!("`{task}` is a file, not a task"))
            .hint(format!("`maestro loop {task}` works through its checklist; a task says what to do")));
    }
    LoopRequest {
        workflow: LoopWorkflow::Builtin,
        what: LoopTarget::Task(task),
        jobs: 1,
        audience: LoopAudience::Owner,
    }
    .run(&args.work, world)
}

/// Work to do.
struct LoopRequest<'a> {
    workflow: LoopWorkflow<'a>,
    what: LoopTarget,
    /// How many tasks are worked on at once.
    jobs: u32,
    audience: LoopAudience,
}

/// The workflow that does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoopWorkflow<'a> {
    /// The one that came with the program, whatever the project has of its name.
    Builtin,
    /// The one that the user names.
    Named(&'a str),
}

/// Audience of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoopAudience {
    /// A user, who continues with the result.
    Owner,
    /// A viewer of the demo, who gets explanations.
    Spectator,
}

impl LoopAudience {
    fn meanings(self) -> &'static [NoteMeaning] {
        match self {
            Self::Owner => &[],
            Self::Spectator => &demo::MEANINGS,
        }
    }
}

enum LoopTarget {
    /// A plan, below the project; 0 means all of its tasks. What it may use up is as the command says it.
    Plan {
        path: String,
        most: u32,
        said: BudgetLimit,
        on_stuck: StuckTask,
    },
    Task(String),
    /// More work on the branch of a run that is over.
    Revision(RunRevision),
}

/// What a task that gets nowhere means for the rest of its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StuckTask {
    /// The plan stops there.
    Stop,
    /// Tasks that do not depend on it go on.
    SetAside,
}

impl LoopRequest<'_> {
    fn run(&self, work: &WorkArgs, world: &World) -> CommandResult {
        let settings = config::settings(world)?;
        preflight::require_consent(work, &settings, world)?;
        preflight::require_agents(work, &settings, world)?;
        preflight::require_skills(work, &settings, world)?;
        if let LoopWorkflow::Named(name) = self.workflow {
            preflight::require_trusted_workflow(name, &settings, world)?;
        }
        if work.dry_run {
            return dry_run::run(self.request(work, &settings, world), world);
        }
        preflight::require_repository(world)?;
        let ready = readiness::check_ready(work, self.plan_cost(), &settings, world)?;
        let earlier = self.earlier(work, world)?;
        if !matches!(earlier, EarlierWork::None) {
            return self.carry_on(earlier, work, world);
        }
        self.check_ready(work, world)?;
        let notes = [ready, opening::notes(work, world)?].concat();
        if work.in_place {
            preflight::require_clean(world)?;
        }
        // A config file may have been written meanwhile.
        let settings = config::settings(world)?;
        if settings.skills_enabled.value {
            skill_vectors::prepare(&settings, world);
        }
        let mut request = self.request(work, &settings, world);
        let (served, ReceivedReply { raw, value }) = started(&mut request, world)?;
        let run = value.summary.id;
        let runs = join::start_lanes(&served.client, &request, &run, self.jobs)?;
        if work.detach && world.json {
            return CommandOutput::json(&raw);
        }
        let short = served.client.short_ids();
        let id = clean(short.shorten(&run)).into_owned();
        if work.detach {
            return Ok(CommandOutput::text(format!("{id}\n")));
        }
        if !world.json {
            let page = opening::page_line(&served.client, world);
            command_output::show(&format!("Run {id} {}\n{page}{}", self.announcement(), notes.concat()))?;
        }
        let plan = match &self.what {
            LoopTarget::Plan { path, .. } => Some(path.clone()),
            LoopTarget::Task(_) | LoopTarget::Revision(_) => None,
        };
        let (project, name) = (request.project_id.unwrap_or_default(), self.name());
        let followed = FollowedLoop { runs, project, plan, name, branch_run: self.branch_run(&run).to_owned() };
        follow_and_report(served, &followed, FeedStart::Beginning, self.audience, world)
    }

    /// The same work, as far as it was started before.
    fn earlier(&self, work: &WorkArgs, world: &World) -> CommandResult<EarlierWork> {
        // Nothing is created to look.
        let is_first = world.aim.server.is_none() && !database::exists(world);
        if is_first || matches!(self.what, LoopTarget::Revision(_)) {
            return Ok(EarlierWork::None);
        }
        let consent = resume_consent(work);
        let place = if work.in_place { WorkPlace::InPlace } else { WorkPlace::Worktree };
        EarlierWork::find(&CliClient::open(world)?, &self.what, place, consent, world)
    }

    /// Follows or continues what was started before.
    fn carry_on(&self, earlier: EarlierWork, work: &WorkArgs, world: &World) -> CommandResult {
        if work.detach {
            preflight::require_server(world)?;
        }
        let served = ServedClient::open(world)?;
        let consent = resume_consent(work);
        match earlier {
            EarlierWork::None => Err(CommandError::internal("nothing was started before")),
            EarlierWork::Resumed(one) => {
                let params = self.changed_params(work, &config::settings(world)?, world);
                let then = if work.detach { AfterResume::Return } else { AfterResume::Follow };
                let options = ResumeOptions { params: Some(params), consent, then };
                steer::continue_loop(served, &one, options, self.audience, world)
            }
            EarlierWork::Live(one) => {
                let short = served.client.short_ids();
                let id = clean(short.shorten(one.id())).into_owned();
                if !world.json {
                    command_output::show(&format!("Run {id} is at it already; following it.\n"))?;
                }
                let last = follow::last_event(&served.client)?;
                steer::pass_consent(&served.client, &one, consent)?;
                if work.detach {
                    return Ok(CommandOutput::text(format!("{id}\n")));
                }
                steer::follow_loop(served, &one, last, self.audience, world)
            }
        }
    }

    /// What the options of this command change in a run that was started before.
    fn changed_params(&self, work: &WorkArgs, settings: &Settings, world: &World) -> Map<String, Json> {
        const FIXED: [&str; 6] = ["plan", "only", "worktree", "tracked", "shared", "lead"];
        let mut params = self.request(work, settings, world).params.unwrap_or_default();
        params.retain(|name, _| !FIXED.contains(&name.as_str()));
        // A limit that is not given any more is none.
        for budget in ["task_budget", "plan_budget"] {
            params.entry(budget).or_insert_with(|| json!(""));
        }
        params
    }

    /// The command without its options.
    fn name(&self) -> String {
        match &self.what {
            LoopTarget::Plan { path, .. } => format!("maestro loop {}", clean_path(path)),
            LoopTarget::Task(task) => format!("maestro do \"{}\"", clean(task)),
            LoopTarget::Revision(revision) => format!("maestro revise {} \"…\"", clean(&revision.continues)),
        }
    }

    /// What all tasks may cost, where the command says so.
    fn plan_cost(&self) -> Option<f64> {
        match &self.what {
            LoopTarget::Plan { said, .. } => said.cost_usd,
            LoopTarget::Task(_) | LoopTarget::Revision(_) => None,
        }
    }

    /// Makes sure of what can be known before anything is written.
    fn check_ready(&self, work: &WorkArgs, world: &World) -> CommandResult<()> {
        preflight::require_repository(world)?;
        if !work.in_place {
            preflight::require_commits(world)?;
        }
        if work.detach {
            preflight::require_server(world)?;
        }
        match &self.what {
            LoopTarget::Plan { path, .. } if !work.in_place => preflight::require_committed(path, world),
            _ => Ok(()),
        }
    }

    /// The run whose branch has the work of this one.
    fn branch_run<'r>(&'r self, run: &'r str) -> &'r str {
        match &self.what {
            LoopTarget::Revision(revision) => &revision.continues,
            LoopTarget::Plan { .. } | LoopTarget::Task(_) => run,
        }
    }

    fn announcement(&self) -> String {
        match &self.what {
            LoopTarget::Plan { path, .. } if self.jobs > 1 => {
                format!("works through {}, {} tasks at once", clean_path(path), self.jobs)
            }
            LoopTarget::Plan { path, .. } => format!("works through {}", clean_path(path)),
            LoopTarget::Task(task) => format!("does: {}", clean(task)),
            LoopTarget::Revision(revision) => revision.announcement(),
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
        let permission = work.permission.as_deref().unwrap_or("edits");
        set("permission", json!(permission));
        // Not every workflow of a user's own knows of these.
        for (name, value) in work.named_beside(&agent) {
            set(name, json!(value));
        }
        set("worktree", json!(!work.in_place));
        set("checks", json!(!settings.verify.value.is_empty()));
        // Not every workflow of a user's own knows of it.
        if self.workflow == LoopWorkflow::Builtin {
            set("base_checks", json!(!work.yes));
        }
        set("review", json!(!work.no_review));
        set("skills", json!(skills));
        // Not every workflow of a user's own knows of it.
        if (work.merge || settings.merge_when_done.value) && !work.in_place {
            set("merge", json!("yes"));
        }
        // Not every workflow of a user's own knows of it.
        if let Some(minutes) = work.wait {
            set("wait", json!(minutes.to_string()));
        }
        // Not every workflow of a user's own knows of budgets, so it gets only what was set.
        let is_usual = self.workflow != LoopWorkflow::Builtin && settings.task_cost.origin == SettingOrigin::Default;
        let task_budget = BudgetLimit {
            minutes: work.task_minutes.or(settings.task_minutes.value),
            tokens: work.task_tokens.or(settings.task_tokens.value),
            cost_usd: work.task_cost.or(settings.task_cost.value.filter(|_| !is_usual)),
        };
        if !task_budget.is_unlimited() {
            set("task_budget", json!(task_budget.to_string()));
        }
        for (name, value) in self.target_params(settings, workspace) {
            set(name, value);
        }
        NewRun {
            workflow: Some(match self.workflow {
                LoopWorkflow::Builtin => WORKFLOW.to_owned(),
                LoopWorkflow::Named(name) => name.to_owned(),
            }),
            builtin: (self.workflow == LoopWorkflow::Builtin).then_some(true),
            permission: Some(permission.to_owned()),
            demo: Some(
                [&work.agent, &work.reviewer, &work.fallback].into_iter().flatten().any(|agent| agent == DEMO_AGENT),
            ),
            params: Some(params),
            workspace: Some(workspace.to_string_lossy().into_owned()),
            ..NewRun::default()
        }
    }

    /// The parameters that say what is worked on. Not every workflow of a user's own knows of all of them, so it gets only
    /// what was asked for.
    fn target_params(&self, settings: &Settings, workspace: &Path) -> Vec<(&'static str, Json)> {
        match &self.what {
            LoopTarget::Plan { path, most, said, on_stuck } => {
                let budget = BudgetLimit {
                    minutes: said.minutes.or(settings.plan_minutes.value),
                    tokens: said.tokens.or(settings.plan_tokens.value),
                    cost_usd: said.cost_usd.or(settings.plan_cost.value),
                };
                let asked = [
                    (*on_stuck == StuckTask::SetAside).then(|| ("keep_going", json!(true))),
                    (self.jobs > 1).then(|| ("shared", json!(true))),
                    (!budget.is_unlimited()).then(|| ("plan_budget", json!(budget.share(self.jobs).to_string()))),
                ];
                let tracked = preflight::is_tracked(path, workspace);
                let always = [("plan", json!(path)), ("most", json!(most)), ("tracked", json!(tracked))];
                always.into_iter().chain(asked.into_iter().flatten()).collect()
            }
            LoopTarget::Task(task) => vec![("only", json!(task))],
            LoopTarget::Revision(revision) => revision.params(workspace),
        }
    }
}

/// Whether the user agreed on the command line to continue earlier work.
fn resume_consent(work: &WorkArgs) -> ResumeConsent {
    if work.yes { ResumeConsent::Given } else { ResumeConsent::Asked }
}

/// Shows what happens until the runs are over, and reports their end. Ctrl-C pauses them; a closed terminal leaves them to
/// the server.
fn follow_and_report(
    served: ServedClient,
    followed: &FollowedLoop,
    start: FeedStart,
    audience: LoopAudience,
    world: &World,
) -> CommandResult {
    let (result, served) = follow::follow_to_end(served, followed, start, audience.meanings(), world)?;
    match result {
        FollowResult::Over(state, usage) => {
            let short = served.client.short_ids();
            // The result is read once no agent works there any more.
            drop(served);
            ending::end_report(&state, followed, &usage, audience, &short, world)
        }
        FollowResult::Left(FollowerSignal::Interrupt) => ending::paused_reply(followed, served, world),
        FollowResult::Left(FollowerSignal::HangUp) => {
            served.detach();
            Ok(CommandOutput::text(""))
        }
    }
}

/// Starts a run in the project of this directory. A server that is gone before it received the request, because it was
/// another command's, is replaced.
fn started(request: &mut NewRun, world: &World) -> CommandResult<(ServedClient, ReceivedReply<RunBody>)> {
    let mut further = 0..own_server::MOST;
    loop {
        let served = ServedClient::open(world)?;
        let started = init::require_project(&served.client, world).and_then(|project| {
            request.project_id = Some(project.id);
            request.driver = Some(RunDriver::Server.as_str().to_owned());
            served.client.call_raw(runs::create(request))
        });
        match started {
            Err(lost) if lost.is_unsent() && further.next().is_some() => {}
            started => return started.map(|started| (served, started)),
        }
    }
}

/// Why there is no such plan, and what was probably meant.
fn missing_plan(plan: &str, error: &io::Error) -> CommandError {
    if error.kind() != io::ErrorKind::NotFound {
        return CommandError::io(format!("cannot read the plan `{plan}`"), error)
            .hint("a plan is a Markdown file with `- [ ]` lines");
    }
    let command = match plan {
        "stop" | "kill" | "abort" | "end" => Some("cancel"),
        "list" | "ls" | "show" | "ps" => Some("status"),
        "continue" | "restart" => Some("resume"),
        "logs" | "history" => Some("log"),
        _ => None,
    };
    let missing = CommandError::not_found(format!("plan `{plan}` not found"));
    match command {
        Some(command) => missing.hint(format!("did you mean `maestro loop {command}`?")),
        None if plan.contains(char::is_whitespace) => missing.hint(format!("`maestro do \"{plan}\"` does one task")),
        None => missing.hint(plans::missing_plan_hint(Path::new(plan))),
    }
}

/// The path below the project of a plan that can be read.
fn plan_path(plan: &Path, world: &World) -> CommandResult<String> {
    let whole = world.places.working_dir.join(plan);
    let whole = whole.canonicalize().map_err(|error| missing_plan(&plan.to_string_lossy(), &error))?;
    let root = world.places.project.canonicalize().unwrap_or_else(|_| world.places.project.clone());
    let below = whole.strip_prefix(&root).map_err(|_| {
        CommandError::invalid(format!("{} is outside the project", plan.display()))
            .hint("move it into the project, or run the command in its project")
    })?;
    PlanFile::read(&whole)?;
    Ok(below.to_string_lossy().into_owned())
}
