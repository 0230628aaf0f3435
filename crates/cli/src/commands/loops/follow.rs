//! Events of a loop, shown as they happen.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use maestro_api::events::{self, EventBody, EventQuery};
use maestro_api::runs::{self, RunBody};
use maestro_api::sessions::SteerAction;
use maestro_api::{ReceivedReply, sessions};
use maestro_core::event::SkillSelection;
use maestro_core::workflow::StepPhase;
use maestro_core::workflow::run::{RunEvent, RunState};
use maestro_core::{Event, RunId};
use serde_json::Value as Json;

use super::interruption::{FollowerSignal, FollowerSignals, unwaitable};
use super::phase_log::PhaseLog;
use super::progress_bar::{LoopParams, LoopProgress, ProgressLine};
use crate::client::CliClient;
use crate::client::own_server::{self, ServedClient};
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::clean;

/// How often the clock of the progress line is drawn.
const TICK: Duration = Duration::from_millis(500);

/// How it came that nothing more is shown.
pub(super) enum FollowResult {
    /// All runs are over, and this is how they stand.
    Over(Vec<ReceivedReply<RunBody>>),
    /// A person stopped following.
    Left(FollowerSignal),
}

/// What is followed.
pub(super) struct FollowedLoop {
    /// The ids of its runs, the first one first.
    pub(super) runs: Vec<String>,
    /// Its project.
    pub(super) project: String,
    /// The command that it was started with, without its options.
    pub(super) name: String,
}

/// From where on events are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FeedStart {
    /// From the beginning of the runs.
    Beginning,
    /// From now on; what happened before only counts for the progress.
    Now,
}

/// What is shown of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgressNote {
    Task,
    Working,
    Checking,
    Reviewing,
    Committing,
    Skills,
    Failed,
    Judged,
    ReviewPassed,
    ReviewFailed,
    Asked,
    Word,
}

/// What something means, for those who see it for the first time.
pub(crate) type NoteMeaning = (ProgressNote, &'static str);

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
    if start == FeedStart::Now {
        story.skip_past(&served.client)?;
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
                lines.extend(story.line(client, event).await?.map(|(_, line)| line));
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
    /// Which sessions are known to be the runs', or not.
    sessions: HashMap<String, bool>,
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
                over = self.show_until_end(client) => over.map(FollowResult::Over),
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

    /// Applies what happened up to now to the progress, without showing it.
    fn skip_past(&mut self, client: &CliClient) -> CommandResult<()> {
        client.wait(async {
            while let Some(events) = self.next_events(client).await? {
                for event in events {
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
        if ours && let Some(Event::Run(event)) = event.event() {
            self.progress.apply(&event);
        }
        if self.world.json {
            if ours {
                let unwritable = |error| CommandError::internal(format!("cannot write JSON: {error}"));
                self.bar.print(&format!("{}\n", serde_json::to_string(event).map_err(unwritable)?))?;
            }
        } else if let Some((what, line)) = line {
            let meaning = self.meaning(what);
            self.bar.print(&format!("{line}\n{meaning}"))?;
        }
        Ok(())
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

    /// Whether an event is of a session that works for the run.
    async fn is_ours(&mut self, client: &CliClient, event: &EventBody) -> CommandResult<bool> {
        let Some(session) = &event.session else { return Ok(false) };
        if let Some(known) = self.sessions.get(session) {
            return Ok(*known);
        }
        let ours = match client.send(sessions::get(session)).await {
            Ok(found) => is_one_of(self.runs, found.metadata.get("run").and_then(Json::as_str)),
            Err(error) if error.exit() == ExitKind::Network => return Err(error),
            Err(_) => false,
        };
        self.sessions.insert(session.clone(), ours);
        Ok(ours)
    }

    async fn line(&mut self, client: &CliClient, event: &EventBody) -> CommandResult<Option<(ProgressNote, String)>> {
        let Some(happened) = event.event() else { return Ok(None) };
        let ours = match &happened {
            Event::TimelineAdded(_) | Event::PermissionAsked(_) => self.is_ours(client, event).await?,
            Event::SkillsSelected(selection) => is_run(self.runs, selection.run_id),
            _ => is_one_of(self.runs, event.run.as_deref()),
        };
        if !ours {
            return Ok(None);
        }
        Ok(match (&happened, event.run.as_deref()) {
            (Event::Run(happened), Some(run)) => {
                let phase = self.phases.record(run, happened);
                phase.and_then(|phase| phase_line(&phase, self.world)).or_else(|| run_line(happened, self.world))
            }
            (Event::PermissionAsked(_), _) => {
                let short = client.load_short_ids().await;
                let session = event.session.as_deref().map(|session| short.shorten(session));
                line(&happened, session, self.world)
            }
            _ => line(&happened, event.session.as_deref(), self.world),
        })
    }
}

/// Whether a run is over with this event. Its kind alone says so: the payload of a newer server may be unknown here.
fn is_end(event: &EventBody) -> bool {
    matches!(event.kind.as_str(), "run:ended" | "run:cancelled")
}

fn is_one_of(runs: &[String], run: Option<&str>) -> bool {
    run.is_some_and(|run| runs.iter().any(|known| known == run))
}

fn is_run(runs: &[String], run: RunId) -> bool {
    is_one_of(runs, Some(&run.to_string()))
}

/// What is worth a line outside the runs.
fn line(event: &Event, session: Option<&str>, world: &World) -> Option<(ProgressNote, String)> {
    Some(match event {
        Event::TimelineAdded(said)
            if matches!(
                said.kind.as_str(),
                "progress" | "task_completed" | "task_blocked" | "error" | "needs_input"
            ) =>
        {
            (ProgressNote::Word, format!("    {}", clean(&said.message)))
        }
        Event::PermissionAsked(asked) => {
            let how = format!("maestro session answer {}", clean(session.unwrap_or_default()));
            let asked = format!("    asks: {}; answer with `{how}`", clean(&asked.title));
            (ProgressNote::Asked, world.paint.strong(&asked))
        }
        Event::SkillsSelected(selection) => {
            (ProgressNote::Skills, world.paint.dim(&format!("  skills: {}", skills(selection)?)))
        }
        _ => return None,
    })
}

/// What of a run's events is worth a line.
fn run_line(event: &RunEvent, world: &World) -> Option<(ProgressNote, String)> {
    Some(match event {
        RunEvent::Called { params, .. } => {
            let task = LoopParams::of(params).task;
            (ProgressNote::Task, format!("\n{}", world.paint.strong(&clean(&task))))
        }
        RunEvent::Executed { step, outcome, reason, .. } if outcome.as_str() != "ok" => {
            let reason = reason.as_deref().unwrap_or_default();
            let reason: Vec<String> = reason.lines().take(6).map(|line| clean(line).into_owned()).collect();
            let text = format!("  {} failed: {}", clean(step.as_str()), reason.join("\n    "));
            (ProgressNote::Failed, world.paint.error(&text))
        }
        RunEvent::Judged { outcome, .. } => (ProgressNote::Judged, format!("  gate: {}", clean(outcome.as_str()))),
        RunEvent::Left { outcome, phase: Some(StepPhase::Review), .. } if outcome.as_str() != "skip" => {
            let what = if outcome.as_str() == "pass" { ProgressNote::ReviewPassed } else { ProgressNote::ReviewFailed };
            (what, format!("  review: {}", clean(outcome.as_str())))
        }
        _ => return None,
    })
}

/// The chosen skills with the reasons, where there are any.
fn skills(selection: &SkillSelection) -> Option<String> {
    let mut text = String::new();
    for skill in &selection.skills {
        let between = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{between}{} ({})", clean(&skill.name), clean(&skill.reason));
    }
    (!text.is_empty()).then_some(text)
}

/// A phase that a run comes to, where it is one of those that every plan passes through.
fn phase_line(phase: &StepPhase, world: &World) -> Option<(ProgressNote, String)> {
    let what = match phase {
        StepPhase::Implement => ProgressNote::Working,
        StepPhase::Check => ProgressNote::Checking,
        StepPhase::Review => ProgressNote::Reviewing,
        StepPhase::Commit => ProgressNote::Committing,
        StepPhase::Label(_) => return None,
    };
    Some((what, world.paint.dim(&format!("  {phase}"))))
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
