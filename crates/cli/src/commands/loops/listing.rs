//! Loops of a project, what each of them works on, and their runs.

use std::path::Path;

use maestro_api::events::{self, EventBody, EventQuery};
use maestro_api::runs::{self as runs_api, RunQuery, RunSummary};
use maestro_core::short_id::ShortIds;
use maestro_core::workflow::run::{RunDriver, RunEvent, RunState};
use maestro_core::{Event, WorkState};

use super::current::WorkPlace;
use super::progress_bar::{LoopParams, LoopProgress};
use crate::client::CliClient;
use crate::client::runs;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::screen::{clean, clean_path, fit};
use crate::output::time::day;

/// How many results are listed, how many runs are looked at for them, and how many columns each gets.
const MOST_RESULTS: usize = 3;
const MOST_RUNS: usize = 32;
const WORDS: usize = 60;

/// A plan that is worked through, or a single task: by one run, or by several at once.
pub(crate) struct PlanLoop {
    /// The run that began first.
    pub(crate) lead: RunSummary,
    /// Those that joined it.
    pub(crate) lanes: Vec<RunSummary>,
    /// What it was started with.
    params: LoopParams,
    /// Whether the latest run that continued its branch ran the checks; nothing where none did.
    checks_after: Option<bool>,
}

impl PlanLoop {
    /// The loops of this project, the oldest first.
    pub(crate) fn all(client: &CliClient, world: &World) -> CommandResult<Vec<Self>> {
        Self::all_in(client, &world.places.project)
    }

    /// The loop of a run whose id begins so. A run that joined another is meant alone; one that continues the branch of
    /// another belongs to that.
    pub(crate) fn find(client: &CliClient, id: &str) -> CommandResult<Self> {
        let run = runs::find_run(client, id)?;
        let project = Path::new(&run.workspace).to_owned();
        let alone = Self::single(client, run)?;
        let continued = alone.continued().unwrap_or(alone.id());
        let known = Self::all_in(client, &project)?.into_iter().find(|one| one.lead.id == continued);
        Ok(known.unwrap_or(alone))
    }

    fn all_in(client: &CliClient, project: &Path) -> CommandResult<Vec<Self>> {
        let mut all: Vec<Self> = Vec::new();
        let runs = client.list(runs_api::list(&RunQuery::default()))?;
        for run in runs.into_iter().filter(|run| is_loop_of(run, project)) {
            let one = Self::single(client, run)?;
            // The list is in the order of time, and a run that joins starts later.
            match all.iter_mut().find(|known| Some(known.id()) == one.belongs_to()) {
                Some(known) => known.add(one),
                None => all.push(one),
            }
        }
        Ok(all)
    }

    fn single(client: &CliClient, run: RunSummary) -> CommandResult<Self> {
        let query = EventQuery { run_id: Some(run.id.clone()), limit: Some(1), ..EventQuery::default() };
        let first = client.call(events::list(&query))?;
        let params = match first.first().and_then(EventBody::event) {
            Some(Event::Run(RunEvent::Began { params, .. })) => LoopParams::of(&params),
            _ => LoopParams::default(),
        };
        Ok(Self { lead: run, lanes: Vec::new(), params, checks_after: None })
    }

    /// What it is called by.
    pub(crate) fn id(&self) -> &str {
        &self.lead.id
    }

    /// The run whose branch it continues.
    fn continued(&self) -> Option<&str> {
        self.params.continues.as_deref().filter(|run| !run.is_empty())
    }

    /// The run that this one joined, or whose branch it continues.
    fn belongs_to(&self) -> Option<&str> {
        self.params.lead.as_deref().filter(|lead| !lead.is_empty()).or(self.continued())
    }

    /// Takes in a run that joined this one, or continues its branch.
    fn add(&mut self, other: Self) {
        if other.continued().is_some() {
            self.checks_after = Some(other.params.checks);
        }
        self.lanes.push(other.lead);
    }

    /// Whether its last commit, made for this ticket, passed the project's checks.
    pub(crate) fn has_checked(&self, ticket: Option<&str>) -> bool {
        let by_us = ticket
            .and_then(|ticket| ticket.split_once('/'))
            .is_some_and(|(run, _)| self.ids().contains(&run.to_owned()));
        by_us && self.params.checks && self.checks_after != Some(false)
    }

    /// Whether it ended well: the latest of the runs that continued it, else each of its runs.
    pub(crate) fn is_ready(&self) -> bool {
        let is_done = |run: &RunSummary| run.status == RunState::Completed;
        match self.checks_after {
            Some(_) => !self.is_active() && self.lanes.last().is_some_and(is_done),
            None => self.runs().all(is_done),
        }
    }

    /// How many runs work through it in parallel; one where runs continued it one after another.
    pub(super) fn parallel_runs(&self) -> usize {
        if self.checks_after.is_some() { 1 } else { self.lanes.len() + 1 }
    }

    /// What it was started with.
    pub(super) fn params(&self) -> &LoopParams {
        &self.params
    }

    /// All of its runs, the first one first.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &RunSummary> {
        std::iter::once(&self.lead).chain(&self.lanes)
    }

    /// The ids of all its runs.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.runs().map(|run| run.id.clone()).collect()
    }

    /// Whether something still happens in it.
    pub(crate) fn is_active(&self) -> bool {
        !self.runs().all(|run| run.status.is_over())
    }

    /// How it stands: as the run that needs attention first does.
    pub(crate) fn state(&self) -> WorkState {
        self.deciding_run().state
    }

    /// The same in words, with the reason where there is one.
    pub(super) fn state_words(&self) -> String {
        state_words(self.deciding_run())
    }

    /// The run by whose state a loop of several is known: one that works or waits, else one that is paused or stopped.
    fn deciding_run(&self) -> &RunSummary {
        let urgency = |run: &&RunSummary| match run.state {
            WorkState::Merged | WorkState::Discarded => 0,
            WorkState::Waiting => 1,
            WorkState::Working | WorkState::Queued => 2,
            WorkState::Paused => 3,
            WorkState::Stopped => 4,
            WorkState::Ready | WorkState::Skipped => 5,
        };
        // The latest run that continued the branch says how the work on it stands.
        if let Some(latest) = self.lanes.last().filter(|_| self.checks_after.is_some()) {
            return latest;
        }
        self.runs().min_by_key(urgency).unwrap_or(&self.lead)
    }

    /// The command that it was started with, without its options.
    pub(super) fn command_name(&self) -> String {
        match (self.plan(), self.task()) {
            (Some(plan), _) => format!("maestro loop {}", clean_path(plan)),
            (None, Some(task)) => format!("maestro do \"{}\"", clean(task)),
            (None, None) => "maestro loop".to_owned(),
        }
    }

    /// Where its work is done.
    pub(super) fn place(&self) -> WorkPlace {
        if self.params.worktree == Some(false) { WorkPlace::InPlace } else { WorkPlace::Worktree }
    }

    /// The plan that it works through, where it has one.
    pub(crate) fn plan(&self) -> Option<&str> {
        Some(self.params.plan.as_str()).filter(|plan| !plan.is_empty())
    }

    /// The task that it does, where that is all.
    pub(crate) fn task(&self) -> Option<&str> {
        Some(self.params.only.as_str()).filter(|task| !task.is_empty())
    }

    /// What happened in all of its runs, oldest first.
    pub(super) fn events(&self, client: &CliClient) -> CommandResult<Vec<EventBody>> {
        let mut all = Vec::new();
        for run in self.ids() {
            all.append(&mut runs::events(client, &run)?);
        }
        all.sort_by_key(|event| event.seq);
        Ok(all)
    }

    /// How far it is.
    pub(super) fn progress(&self, client: &CliClient) -> CommandResult<LoopProgress> {
        let mut progress = LoopProgress::default();
        for event in self.events(client)?.iter().filter_map(EventBody::event) {
            if let Event::Run(event) = event {
                progress.apply(&event);
            }
        }
        Ok(progress)
    }
}

/// Loops of this project at a glance, the latest first, each in a line with its command.
#[derive(Debug, Default)]
pub(crate) struct RunsGlance {
    /// Those at work, also where they ask something.
    pub(crate) working: Vec<String>,
    /// Those that wait for the user: ready to be merged, paused or stopped.
    pub(crate) waiting: Vec<String>,
    /// What to do about the latest of those.
    pub(crate) next: Option<(String, &'static str)>,
    /// The plans of all of them.
    pub(crate) plans: Vec<String>,
}

impl RunsGlance {
    pub(crate) fn read(client: &CliClient, world: &World) -> CommandResult<Self> {
        let (loops, unseen) = latest_loops(client, &world.places.project)?;
        let short = client.short_ids();
        let is_waiting =
            |one: &&PlanLoop| matches!(one.state(), WorkState::Ready | WorkState::Paused | WorkState::Stopped);
        let next = loops.iter().find(is_waiting).map(|one| next_command(one, &short));
        let mut glance = Self { next, ..Self::default() };
        for one in &loops {
            let lines = match one.state() {
                WorkState::Working | WorkState::Queued | WorkState::Waiting => &mut glance.working,
                WorkState::Ready | WorkState::Paused | WorkState::Stopped => &mut glance.waiting,
                WorkState::Merged | WorkState::Discarded | WorkState::Skipped => continue,
            };
            lines.push(glance_line(one, &short));
            glance.plans.extend(one.plan().map(str::to_owned));
        }
        let unseen_waiting = if glance.waiting.is_empty() { 0 } else { unseen };
        shorten_list(&mut glance.working, 0);
        shorten_list(&mut glance.waiting, unseen_waiting);
        Ok(glance)
    }
}

/// The latest loops that were neither merged nor discarded, each with all of its runs; and how many more runs there are.
fn latest_loops(client: &CliClient, project: &Path) -> CommandResult<(Vec<PlanLoop>, usize)> {
    let mut runs = client.list(runs_api::list(&RunQuery::default()))?;
    runs.retain(|run| is_loop_of(run, project));
    let is_over = |run: &RunSummary| matches!(run.state, WorkState::Merged | WorkState::Discarded);
    // What was merged or discarded is most of them, and is not looked at.
    let (over, open): (Vec<RunSummary>, Vec<RunSummary>) = runs.into_iter().partition(is_over);
    let unseen = open.len().saturating_sub(MOST_RUNS);
    let mut loops: Vec<PlanLoop> = Vec::new();
    for run in open.into_iter().skip(unseen) {
        let one = PlanLoop::single(client, run)?;
        match loops.iter_mut().find(|known| Some(known.id()) == one.belongs_to()) {
            Some(known) => known.add(one),
            // Without a plan or a task it leaves no branch that waits to be merged.
            None if one.plan().or(one.task()).is_none()
                && matches!(one.lead.status, RunState::Completed | RunState::Cancelled) => {}
            // A run goes with the one that it joined.
            None if one.belongs_to().is_some_and(|lead| over.iter().any(|run| run.id == lead)) => {}
            None => loops.push(one),
        }
    }
    loops.reverse();
    Ok((loops, unseen))
}

/// A list with its first lines, and the number of the others.
fn shorten_list(lines: &mut Vec<String>, unseen: usize) {
    let more = lines.len().saturating_sub(MOST_RESULTS) + unseen;
    lines.truncate(MOST_RESULTS);
    if more > 0 {
        lines.push(format!("and {more} more (`maestro loop status`)"));
    }
}

fn next_command(one: &PlanLoop, short: &ShortIds) -> (String, &'static str) {
    let id = clean(short.shorten(one.id())).into_owned();
    match one.state() {
        WorkState::Ready => (format!("maestro diff {id}"), "look at the finished work; `maestro merge` takes it"),
        WorkState::Paused => (format!("maestro loop resume {id}"), "continue the paused work"),
        _ => (format!("maestro show {id}"), "see why it stopped; `maestro loop resume` continues it"),
    }
}

/// What a loop is for and how it stands, with the commands for it.
fn glance_line(one: &PlanLoop, short: &ShortIds) -> String {
    let id = clean(short.shorten(one.id())).into_owned();
    let goal = one.plan().or(one.task());
    let what = goal.unwrap_or(&one.lead.workflow);
    let how = match one.state() {
        WorkState::Ready => format!("`maestro diff {id}`, `maestro merge {id}`"),
        WorkState::Paused | WorkState::Stopped if goal.is_none() => format!("`maestro loop resume {id}`"),
        WorkState::Paused | WorkState::Stopped => format!("`maestro loop resume {id}`, `maestro discard {id}`"),
        _ => format!("`maestro show {id}`"),
    };
    format!("{}: {} ({how})", one.state().label(), fit(&clean(what), WORDS))
}

/// How a run stands, with the first line of the reason, or the date where it was merged or thrown away.
pub(super) fn state_words(run: &RunSummary) -> String {
    let reason = run.state_reason.as_deref().and_then(|reason| reason.lines().next());
    match (run.state, reason, run.landed_at) {
        (WorkState::Stopped, Some(reason), _) => match reason.strip_prefix("Stopped at: ") {
            Some(task) => format!("stopped at: {}", clean(task)),
            None => format!("stopped: {}", clean(reason)),
        },
        (WorkState::Merged, _, Some(at)) => match &run.landed_into {
            Some(into) => format!("merged into {} on {}", clean(into), day(at)),
            None => format!("merged on {}", day(at)),
        },
        (WorkState::Discarded, _, Some(at)) => format!("discarded on {}", day(at)),
        (state, _, _) => state.label().to_owned(),
    }
}

/// Whether a run is a loop of this project, whatever its workflow is called.
fn is_loop_of(run: &RunSummary, project: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_lead = run.driver == RunDriver::Server && run.parent_run.is_none();
    is_lead && real(Path::new(&run.workspace)) == real(project)
}
