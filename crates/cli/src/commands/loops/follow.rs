//! Events of a loop, shown as they happen.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use maestro_api::events::{self, EventBody, EventQuery};
use maestro_api::runs::{self, RunBody};
use maestro_api::sessions::SteerAction;
use maestro_api::{ReceivedReply, sessions, spawns};
use maestro_core::Event;
use maestro_core::workflow::run::{ExecutionProgress, RunEvent, RunState, StepWait};
use serde_json::Value as Json;

use super::feed_lines::{NoteMeaning, NotedLine, ProgressNote, asks, line, phase_line, run_line};
use super::interruption::{FollowerSignal, FollowerSignals, unwaitable};
use super::lane_tasks::LaneTasks;
use super::phase_log::PhaseLog;
use super::progress_bar::{LoopProgress, ProgressLine};
use super::run_question::RunQuestion;
use super::usage::{ActiveTime, EventCause, LoopUsage};
use crate::client::CliClient;
use crate::client::own_server::{self, ServedClient};
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::{CommandError, ExitKind};

/// How often the clock of the progress line is drawn.
const TICK: Duration = Duration::from_millis(500);

/// How it came that nothing more is shown.
pub(super) enum FollowResult {
    /// All runs are over; this is how they stand, and what they used.
    Over(Vec<ReceivedReply<RunBody>>, LoopUsage),
    /// A person stopped following.
    Left(FollowerSignal),
}

/// What is followed.
pub(super) struct FollowedLoop {
    /// The ids of its runs, the first one first.
    pub(super) runs: Vec<String>,
    /// Its project.
    pub(super) project: String,
    /// The plan that it works through, where it has one.
    pub(super) plan: Option<String>,
    /// The command that it was started with, without its options.
    pub(super) name: String,
    /// The run whose branch has its work.
    pub(super) branch_run: String,
}

/// From where on events are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FeedStart {
    /// From the beginning of the runs.
    Beginning,
    /// After this event; what happened before only counts for the progress.
    After(i64),
}

/// Shows what happens until all of the runs are over. A command that loses the server, which may have been another command's, starts
/// one and goes on where it was; so the server may be another one afterwards.
pub(super) fn follow_to_end(
    mut served: ServedClient,
    followed: &FollowedLoop,
    start: FeedStart,
    meanings: &[NoteMeaning],
    world: &World,
) -> CommandResult<(FollowResult, ServedClient)> {
    let mut story = LoopFeed::of(&followed.runs, &followed.project, world);
    story.meanings = meanings.to_vec();
    if let FeedStart::After(last) = start {
        story.skip_past(&served.client, last)?;
        story.ask_again(&served.client)?;
    }
    let mut further = 0..own_server::MOST;
    loop {
        match story.follow(&served.client) {
            Err(error) if is_lost(&error) && further.next().is_some() => {
                // Its own server is stopped before another starts.
                drop(served);
                served = ServedClient::open(world)?;
                take_over(&served.client, &followed.runs)?;
            }
            followed => return followed.map(|followed| (followed, served)),
        }
    }
}

/// Has the server carry on the runs that the lost one had. What was paused meanwhile stays paused.
fn take_over(client: &CliClient, runs: &[String]) -> CommandResult<()> {
    for run in runs {
        if client.call(runs::get(run))?.summary.status == RunState::Running {
            client.call(runs::steer(run, SteerAction::Resume))?;
        }
    }
    Ok(())
}

/// Whether the server is gone. Another server may answer at its address by now, which does not know the run.
fn is_lost(error: &CommandError) -> bool {
    error.exit() == ExitKind::Network || error.is_not_found()
}

/// The last event that is stored now.
pub(super) fn last_event(client: &CliClient) -> CommandResult<i64> {
    let last = client.call(events::list(&EventQuery { last: Some(1), ..EventQuery::default() }))?;
    Ok(last.first().map_or(0, |event| event.seq))
}

/// What happened in runs so far, a line each.
pub(super) fn past_lines(
    client: &CliClient,
    runs: &[String],
    project: &str,
    world: &World,
) -> CommandResult<Vec<String>> {
    let mut story = LoopFeed::of(runs, project, world);
    client.wait(async {
        let mut lines = Vec::new();
        while let Some(events) = story.next_events(client).await? {
            for event in &events {
                lines.extend(story.line(client, event).await?.map(|(what, line)| with_gap(what, &line)));
                story.since = Some(event.seq);
            }
        }
        Ok(lines)
    })
}

/// What happens in runs of one plan and in their sessions.
struct LoopFeed<'a> {
    runs: &'a [String],
    project: &'a str,
    world: &'a World,
    /// The last event that was shown, or nothing before the first.
    since: Option<i64>,
    /// The run that each known session works for; nothing where it is none of these.
    sessions: HashMap<String, Option<String>>,
    /// Which task each run works on.
    tasks: LaneTasks,
    /// When the command that each run executes was started.
    started: HashMap<String, i64>,
    /// The runs that take in the report of a session, which names its findings before they are returned.
    reported: HashSet<String>,
    /// How long the runs were at work.
    active: ActiveTime,
    /// In which phase each run is.
    phases: PhaseLog,
    /// What was not explained yet.
    meanings: Vec<NoteMeaning>,
    progress: LoopProgress,
    bar: ProgressLine<'a>,
}

impl<'a> LoopFeed<'a> {
    fn of(runs: &'a [String], project: &'a str, world: &'a World) -> Self {
        Self {
            runs,
            project,
            world,
            since: None,
            sessions: HashMap::new(),
            tasks: LaneTasks::new(runs.len()),
            started: HashMap::new(),
            reported: HashSet::new(),
            active: ActiveTime::default(),
            phases: PhaseLog::default(),
            meanings: Vec::new(),
            progress: LoopProgress::default(),
            bar: ProgressLine::new(world),
        }
    }

    /// Shows what happens until the end, or until the output is closed.
    fn follow(&mut self, client: &CliClient) -> CommandResult<FollowResult> {
        client.wait(async {
            let mut signals = FollowerSignals::new().map_err(|error| unwaitable(&error))?;
            tokio::select! {
                signal = signals.next() => Ok(FollowResult::Left(signal)),
                over = self.show_until_end(client) => {
                    let states = over?;
                    let usage = self.usage(client).await?;
                    Ok(FollowResult::Over(states, usage))
                }
            }
        })
    }

    /// Shows everything until all runs are over, and returns how they stand then.
    async fn show_until_end(&mut self, client: &CliClient) -> CommandResult<Vec<ReceivedReply<RunBody>>> {
        let after = self.after(client).await?;
        let mut stream = client.open_stream(events::list(&self.query(after))).await?;
        // What is over already sends nothing more.
        if let Some(states) = self.all_over(client).await? {
            self.catch_up(client).await?;
            return Ok(states);
        }
        loop {
            self.bar.draw(&self.progress)?;
            let event = tokio::select! {
                event = stream.next_event() => event.map_err(CommandError::from)?,
                () = tokio::time::sleep(TICK) => continue,
            };
            let Some(event) = event else { return Err(CommandError::network("the server ended the stream")) };
            self.show(client, &event).await?;
            if is_end(&event)
                && is_one_of(self.runs, event.run.as_deref())
                && let Some(states) = self.all_over(client).await?
            {
                return Ok(states);
            }
        }
    }

    /// How the runs stand, if all of them are over.
    async fn all_over(&self, client: &CliClient) -> CommandResult<Option<Vec<ReceivedReply<RunBody>>>> {
        let mut states = Vec::new();
        for run in self.runs {
            let state = client.send_raw(runs::get(run)).await?;
            if !state.value.summary.status.is_over() {
                return Ok(None);
            }
            states.push(state);
        }
        Ok(Some(states))
    }

    /// Takes in what happened up to an event without showing it, so that the end counts all of it.
    fn skip_past(&mut self, client: &CliClient, last: i64) -> CommandResult<()> {
        client.wait(async {
            while let Some(events) = self.next_events(client).await? {
                for event in events {
                    if event.seq > last {
                        return Ok(());
                    }
                    self.line(client, &event).await?;
                    self.since = Some(event.seq);
                    if is_one_of(self.runs, event.run.as_deref())
                        && let Some(Event::Run(event)) = event.event()
                    {
                        self.progress.apply(&event);
                    }
                }
            }
            Ok(())
        })
    }

    /// Shows what happened up to now.
    async fn catch_up(&mut self, client: &CliClient) -> CommandResult<()> {
        while let Some(events) = self.next_events(client).await? {
            for event in events {
                self.show(client, &event).await?;
            }
        }
        Ok(())
    }

    /// The events of the project after this one.
    fn query(&self, after: i64) -> EventQuery {
        EventQuery { since: Some(after), project_id: Some(self.project.to_owned()), ..EventQuery::default() }
    }

    /// The event after which the next one is shown.
    async fn after(&self, client: &CliClient) -> CommandResult<i64> {
        match self.since {
            Some(since) => Ok(since),
            None => Ok(self.first_event(client).await? - 1),
        }
    }

    /// What happened since the last event that was shown, or nothing.
    async fn next_events(&self, client: &CliClient) -> CommandResult<Option<Vec<EventBody>>> {
        let after = self.after(client).await?;
        let events = client.send(events::list(&self.query(after))).await?;
        Ok(Some(events).filter(|events| !events.is_empty()))
    }

    /// The number of the event with which the first of the runs began.
    async fn first_event(&self, client: &CliClient) -> CommandResult<i64> {
        let query = EventQuery { run_id: self.runs.first().cloned(), limit: Some(1), ..EventQuery::default() };
        let first = client.send(events::list(&query)).await?;
        Ok(first.first().map_or(1, |event| event.seq))
    }

    async fn show(&mut self, client: &CliClient, event: &EventBody) -> CommandResult<()> {
        let line = self.line(client, event).await?;
        // From here on nothing is asked for, so nothing is shown twice or left out.
        self.since = Some(event.seq);
        let ours = is_one_of(self.runs, event.run.as_deref());
        match event.event() {
            Some(Event::Run(happened)) if ours => {
                self.progress.apply(&happened);
                if let (RunEvent::Waiting { wait: StepWait::Answer(_) }, Some(run)) = (&happened, &event.run) {
                    self.ask(client, run).await?;
                }
            }
            Some(happened) if line.is_some() => self.progress.apply_session(&happened),
            _ => {}
        }
        if self.world.json {
            if ours {
                let unwritable = |error| CommandError::internal(format!("cannot write JSON: {error}"));
                self.bar.print(&format!("{}\n", serde_json::to_string(event).map_err(unwritable)?))?;
            }
        } else if let Some((what, line)) = line {
            let meaning = self.meaning(what);
            self.bar.print(&format!("{}\n{meaning}", with_gap(what, &line)))?;
        }
        Ok(())
    }

    /// Shows what the runs asked before they were followed.
    fn ask_again(&mut self, client: &CliClient) -> CommandResult<()> {
        let runs = self.runs;
        client.wait(async {
            for run in runs {
                self.ask(client, run).await?;
            }
            Ok(())
        })
    }

    /// Shows what a run asks, and asks the person at the terminal.
    async fn ask(&mut self, client: &CliClient, run: &str) -> CommandResult<()> {
        let Some(question) = RunQuestion::of(client, run).await? else { return Ok(()) };
        if !self.world.json {
            let text = question.text(&client.load_short_ids().await);
            self.bar.print(&format!("{}\n", self.world.paint.strong(&text)))?;
        }
        question.ask(client, self.world).await
    }

    /// What something means that is seen for the first time.
    fn meaning(&mut self, what: ProgressNote) -> String {
        match self.meanings.iter().position(|(told, _)| *told == what) {
            Some(at) => {
                let (_, means) = self.meanings.remove(at);
                format!("{}\n", self.world.paint.help(&format!("      # {means}")))
            }
            None => String::new(),
        }
    }

    /// The run that the session of an event works for, if it is one of these.
    async fn run_of_session(&mut self, client: &CliClient, event: &EventBody) -> CommandResult<Option<String>> {
        let Some(session) = &event.session else { return Ok(None) };
        if let Some(known) = self.sessions.get(session) {
            return Ok(known.clone());
        }
        let run = match client.send(sessions::get(session)).await {
            Ok(found) => found.metadata.get("run").and_then(Json::as_str).map(str::to_owned),
            Err(error) if error.exit() == ExitKind::Network => return Err(error),
            Err(_) => None,
        };
        let run = run.filter(|run| is_one_of(self.runs, Some(run)));
        self.sessions.insert(session.clone(), run.clone());
        Ok(run)
    }

    /// The run that an event is about, if it is one of these.
    async fn run_of(
        &mut self,
        client: &CliClient,
        event: &EventBody,
        happened: &Event,
    ) -> CommandResult<Option<String>> {
        let run = match happened {
            Event::TimelineAdded(_) | Event::PermissionAsked(_) => return self.run_of_session(client, event).await,
            Event::SkillsSelected(selection) => Some(selection.run_id.to_string()),
            Event::SkillsLoadFailed(failed) => Some(failed.run_id.to_string()),
            Event::SkillsTruncated(cut) => Some(cut.run_id.to_string()),
            _ => event.run.clone(),
        };
        Ok(run.filter(|run| is_one_of(self.runs, Some(run))))
    }

    async fn line(&mut self, client: &CliClient, event: &EventBody) -> CommandResult<Option<NotedLine>> {
        let Some(happened) = event.event() else { return Ok(None) };
        let Some(run) = self.run_of(client, event, &happened).await? else { return Ok(None) };
        let continued = matches!(&happened, Event::Run(RunEvent::Resumed {}));
        self.active.record(event.at, if continued { EventCause::Continued } else { EventCause::Work });
        let noted = match &happened {
            Event::Run(happened) => {
                self.tasks.record(&run, happened);
                let took = self.command_time(&run, happened, event.at);
                let phase = self.phases.record(&run, happened);
                if self.is_part_of_report(&run, happened) {
                    return Ok(None);
                }
                phase.and_then(|phase| phase_line(&phase, self.world)).or_else(|| run_line(happened, took, self.world))
            }
            asking if asks(asking) => {
                let short = client.load_short_ids().await;
                let session = event.session.as_deref().map(|session| short.shorten(session));
                line(asking, session, self.world)
            }
            _ => line(&happened, event.session.as_deref(), self.world),
        };
        Ok(noted.map(|(what, line)| (what, self.tasks.label(&run, &line))))
    }

    /// Whether an event writes what a report says, which the next steps say again.
    fn is_part_of_report(&mut self, run: &str, event: &RunEvent) -> bool {
        match event {
            RunEvent::Reported { .. } => {
                self.reported.insert(run.to_owned());
            }
            RunEvent::Executed { .. } | RunEvent::Left { .. } => {
                self.reported.remove(run);
            }
            _ => {}
        }
        matches!(event, RunEvent::Set { name, .. } if name.as_str() == "findings") && self.reported.contains(run)
    }

    /// How long the command took that ends with this event.
    fn command_time(&mut self, run: &str, event: &RunEvent, at: i64) -> Option<Duration> {
        match event {
            RunEvent::Progressed { progress: ExecutionProgress::Started } => {
                self.started.insert(run.to_owned(), at);
                None
            }
            RunEvent::Executed { .. } => {
                let started = self.started.remove(run)?;
                u64::try_from(at.saturating_sub(started)).ok().map(Duration::from_millis)
            }
            _ => None,
        }
    }

    /// What the sessions of the runs used, and how long all of it took.
    async fn usage(&self, client: &CliClient) -> CommandResult<LoopUsage> {
        let mut usage = LoopUsage::new(self.active.total());
        for session in self.sessions.iter().filter(|(_, run)| run.is_some()).map(|(session, _)| session) {
            match client.send(spawns::get(session)).await {
                Ok(spawn) => usage.add(spawn.outcome.as_ref()),
                Err(error) if error.exit() == ExitKind::Network => return Err(error),
                Err(_) => tracing::debug!(%session, "what it used is not known"),
            }
        }
        Ok(usage)
    }
}

/// A line as it is printed: each task begins after an empty one.
fn with_gap(what: ProgressNote, line: &str) -> String {
    if what == ProgressNote::Task { format!("\n{line}") } else { line.to_owned() }
}

/// Whether a run is over with this event. Its kind alone says so: the payload of a newer server may be unknown here.
fn is_end(event: &EventBody) -> bool {
    matches!(event.kind.as_str(), "run:ended" | "run:cancelled")
}

fn is_one_of(runs: &[String], run: Option<&str>) -> bool {
    run.is_some_and(|run| runs.iter().any(|known| known == run))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_run_is_over_whatever_the_payload_of_its_end_is() {
        let event = |kind: &str| -> EventBody {
            let payload = json!({ "ending": { "of": "a newer server" } });
            let body = json!({ "seq": 1, "at": 0, "type": kind, "version": 9, "run": "r", "payload": payload });
            serde_json::from_str(&body.to_string()).unwrap()
        };
        assert!(event("run:ended").event().is_none(), "this program cannot read it");
        assert!(is_end(&event("run:ended")) && is_end(&event("run:cancelled")));
        assert!(!is_end(&event("run:returned")) && !is_end(&event("task:ended")));
    }
}
