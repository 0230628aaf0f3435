//! Control of a loop: pause, resume, cancel, and its log.

use maestro_api::runs::{self as runs_api, ResumeBody, RunSummary};
use maestro_api::sessions::SteerAction;
use serde_json::{Map, Value as Json};

use super::current::ResumeConsent;
use super::listing::PlanLoop;
use super::run_question::RunQuestion;
use super::{LoopAudience, current, follow, interruption, opening, status};
use crate::client::CliClient;
use crate::client::own_server::ServedClient;
use crate::host::world::World;
use crate::output::command_output::{self, CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::clean;

/// The loop that is meant: the named one, else the only one of this project that fits.
fn select_loop(
    client: &CliClient,
    named: Option<&str>,
    fits: impl Fn(&PlanLoop) -> bool,
    adjective: &str,
    world: &World,
) -> CommandResult<PlanLoop> {
    if let Some(id) = named {
        return PlanLoop::find(client, id);
    }
    let mut open = PlanLoop::all(client, world)?;
    open.retain(fits);
    match (open.pop(), open.is_empty()) {
        (Some(one), true) => Ok(one),
        (None, _) => Err(CommandError::not_found(format!("no {adjective} loop here"))
            .hint("run `maestro loop status` for the loops of this project")),
        _ => Err(CommandError::invalid(format!("several {adjective} loops here"))
            .hint("pass a run ID; run `maestro loop status` for the list")),
    }
}

/// Pauses or cancels all runs of a loop.
pub(super) fn send_to_loop(named: Option<&str>, action: SteerAction, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    let one = select_loop(&client, named, PlanLoop::is_active, "active", world)?;
    let mut meant: Vec<&RunSummary> = one.runs().filter(|run| !run.status.is_over()).collect();
    // One that is over says itself that it cannot be steered any more.
    if meant.is_empty() {
        meant.push(&one.lead);
    }
    let mut states = Vec::new();
    for run in meant {
        states.push(client.call_raw(runs_api::steer(&run.id, action))?);
        match action {
            SteerAction::Cancel => interruption::end_sessions(&client, &run.id)?,
            SteerAction::Pause | SteerAction::Resume => {}
        }
    }
    if world.json {
        return CommandOutput::json(states.first().map_or(&Json::Null, |state| &state.raw));
    }
    let short = client.short_ids();
    let lines = states.iter().map(|state| {
        let run = &state.value.summary;
        format!("{}  {}\n", clean(short.shorten(&run.id)), listing_words(run))
    });
    Ok(CommandOutput::text(lines.collect::<String>()))
}

fn listing_words(run: &RunSummary) -> String {
    super::listing::state_words(run)
}

/// Continues a loop that is paused or stopped, from the task where it stopped.
pub(super) fn resume(named: Option<&str>, world: &World) -> CommandResult {
    let served = ServedClient::open(world)?;
    let can_resume = |one: &PlanLoop| one.state().can_resume() && (one.is_active() || current::has_branch(one));
    let one = select_loop(&served.client, named, can_resume, "paused or stopped", world)?;
    // A server that stays carries it on; any other ends with this command.
    let then = if served.is_lasting(world) { AfterResume::Return } else { AfterResume::Follow };
    continue_loop(
        served,
        &one,
        ResumeOptions { params: None, consent: ResumeConsent::Asked, then },
        LoopAudience::Owner,
        world,
    )
}

/// What a command does after it let a loop go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterResume {
    /// It shows what happens until the end.
    Follow,
    /// It returns.
    Return,
}

/// How a loop goes on.
pub(super) struct ResumeOptions {
    /// The parameters that change.
    pub(super) params: Option<Map<String, Json>>,
    /// Whether the user agreed to go on.
    pub(super) consent: ResumeConsent,
    /// What the command does afterwards.
    pub(super) then: AfterResume,
}

/// Lets all runs of a loop go on under the server.
pub(super) fn continue_loop(
    served: ServedClient,
    one: &PlanLoop,
    options: ResumeOptions,
    audience: LoopAudience,
    world: &World,
) -> CommandResult {
    let ResumeOptions { params, consent, then } = options;
    let body = ResumeBody { params };
    let last = follow::last_event(&served.client)?;
    let mut first = None;
    for run in one.runs().filter(|run| run.state.can_resume() || !run.status.is_over()) {
        let resumed = served.client.call_raw(runs_api::resume(&run.id, &body))?;
        first.get_or_insert(resumed);
    }
    let Some(first) = first else {
        // One that is over says itself why it does not go on.
        served.client.call(runs_api::resume(one.id(), &body))?;
        return Err(CommandError::internal("nothing was resumed"));
    };
    interruption::resume_sessions(&served.client, &one.ids())?;
    pass_consent(&served.client, one, consent)?;
    let short = served.client.short_ids();
    let id = clean(short.shorten(one.id())).into_owned();
    if then == AfterResume::Return {
        if world.json {
            return CommandOutput::json(&first.raw);
        }
        return Ok(CommandOutput::text(format!("{id}  {}\n", listing_words(&first.value.summary))));
    }
    if !world.json {
        let page = opening::page_line(&served.client, world);
        let position = status::position_line(one, &served.client)?;
        command_output::show(&format!("Run {id} continues: {position}\n{page}"))?;
    }
    follow_loop(served, one, last, audience, world)
}

/// Answers what the user agreed to on the command line.
pub(super) fn pass_consent(client: &CliClient, one: &PlanLoop, consent: ResumeConsent) -> CommandResult<()> {
    if consent == ResumeConsent::Given {
        one.ids().iter().try_for_each(|run| client.wait(RunQuestion::go_on(client, run)))?;
    }
    Ok(())
}

/// Follows a loop that goes on, after this event.
pub(super) fn follow_loop(
    served: ServedClient,
    one: &PlanLoop,
    last: i64,
    audience: LoopAudience,
    world: &World,
) -> CommandResult {
    let project = one.lead.project_id.clone().unwrap_or_default();
    let plan = one.plan().map(str::to_owned);
    let followed = follow::FollowedLoop {
        runs: one.ids(),
        project,
        plan,
        name: one.command_name(),
        branch_run: one.id().to_owned(),
    };
    super::follow_and_report(served, &followed, follow::FeedStart::After(last), audience, world)
}

/// What happened in the named loop, else in the one of this project that began last.
pub(super) fn log(named: Option<&str>, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    let one = match named {
        Some(id) => PlanLoop::find(&client, id)?,
        None => PlanLoop::all(&client, world)?
            .pop()
            .ok_or_else(|| CommandError::not_found("no loops here").hint("run `maestro loop PLAN.md` to start one"))?,
    };
    if world.json {
        let events = one.events(&client)?.iter().map(serde_json::to_value).collect::<Result<Vec<Json>, _>>();
        let unwritable = |error| CommandError::internal(format!("cannot write JSON: {error}"));
        return CommandOutput::json(&events.map_err(unwritable)?);
    }
    let project = one.lead.project_id.as_deref().unwrap_or_default();
    let lines = follow::past_lines(&client, &one.ids(), project, world)?;
    Ok(CommandOutput::text(format!("{}\n", lines.join("\n"))))
}
