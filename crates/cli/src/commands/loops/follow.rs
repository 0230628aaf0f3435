//! Events of a loop, shown as they happen.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value as Json;

use super::bar::{Bar, Progress};
use crate::client::runs;
use crate::client::{Client, escaped, with_query};
use crate::commands::up::told_to_end;
use crate::host::world::World;
use crate::output::error::{CommandError, Exit};
use crate::output::screen::clean;
use crate::server_process::own_server::{self, Served};

/// How often it is looked whether something happened.
const LOOK: Duration = Duration::from_millis(100);

/// How it came that nothing more is shown.
pub(super) enum Followed {
    /// All runs are over, and this is how they stand.
    Over(Vec<Json>),
    /// The user interrupted.
    Interrupted,
}

/// What is told of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
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
pub(crate) type Meaning = (Telling, &'static str);

/// Shows what happens until all of the runs are over. Whoever loses the server, which may have been another command's, starts
/// one and goes on where it was; so the server may be another one afterwards.
pub(super) fn to_the_end(
    mut served: Served,
    runs: &[String],
    project: &str,
    meanings: &[Meaning],
    world: &World,
) -> Result<(Followed, Served), CommandError> {
    let mut story = Story::of(runs, project, world);
    story.meanings = meanings.to_vec();
    let mut further = 0..own_server::MOST;
    loop {
        match story.followed(&served.client) {
            Err(error) if is_lost(&error) && further.next().is_some() => {
                // Its own server is stopped before another starts.
                drop(served);
                served = Served::open(world)?;
            }
            followed => return followed.map(|followed| (followed, served)),
        }
    }
}

/// Whether the server is gone. Where it was, a server of somebody else may answer by now, who knows nothing of the run.
fn is_lost(error: &CommandError) -> bool {
    error.exit() == Exit::Network || error.is_not_found()
}

/// What happened in runs so far, a line each.
pub(super) fn so_far(
    client: &Client,
    runs: &[String],
    project: &str,
    world: &World,
) -> Result<Vec<String>, CommandError> {
    let mut story = Story::of(runs, project, world);
    client.wait(async {
        let mut lines = Vec::new();
        while let Some(events) = story.more(client).await? {
            for event in &events {
                lines.extend(story.line(client, event).await?.map(|(_, line)| line));
                story.seen(event);
            }
        }
        Ok(lines)
    })
}

/// What happens in runs of one plan and in their sessions.
struct Story<'a> {
    runs: &'a [String],
    project: &'a str,
    world: &'a World,
    /// The last event that was told, or nothing before the first.
    since: Option<i64>,
    /// Which sessions are known to be the runs', or not.
    sessions: HashMap<String, bool>,
    /// What was not explained yet.
    meanings: Vec<Meaning>,
    progress: Progress,
    bar: Bar<'a>,
}

impl<'a> Story<'a> {
    fn of(runs: &'a [String], project: &'a str, world: &'a World) -> Self {
        Self {
            runs,
            project,
            world,
            since: None,
            sessions: HashMap::new(),
            meanings: Vec::new(),
            progress: Progress::default(),
            bar: Bar::new(world),
        }
    }

    /// Tells what happens until the end, or until somebody has enough.
    fn followed(&mut self, client: &Client) -> Result<Followed, CommandError> {
        client.wait(async {
            let end = told_to_end().map_err(|error| CommandError::io("cannot wait for signals", &error))?;
            tokio::select! {
                () = end => Ok(Followed::Interrupted),
                over = self.told(client) => over.map(Followed::Over),
            }
        })
    }

    /// Tells everything until all runs are over, and returns how they stand then.
    async fn told(&mut self, client: &Client) -> Result<Vec<Json>, CommandError> {
        loop {
            let mut states = Vec::new();
            for run in self.runs {
                states.push(client.ask_for::<Json>(&format!("/api/runs/{}", escaped(run))).await?);
            }
            self.show(client).await?;
            if states.iter().all(runs::is_over) {
                return Ok(states);
            }
            self.bar.draw(&self.progress)?;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What happened since the last event that was told, or nothing.
    async fn more(&self, client: &Client) -> Result<Option<Vec<Json>>, CommandError> {
        let since = match self.since {
            Some(since) => since,
            None => self.first(client).await? - 1,
        };
        let since = since.to_string();
        let path = with_query("/api/events", &[("since", Some(&since)), ("projectId", Some(self.project))]);
        let events: Vec<Json> = client.ask_for(&path).await?;
        Ok(Some(events).filter(|events| !events.is_empty()))
    }

    /// The number of the event with which the first of the runs began.
    async fn first(&self, client: &Client) -> Result<i64, CommandError> {
        let run = self.runs.first().map(String::as_str);
        let path = with_query("/api/events", &[("runId", run), ("limit", Some("1"))]);
        let first: Vec<Json> = client.ask_for(&path).await?;
        Ok(first.first().and_then(|event| event["seq"].as_i64()).unwrap_or(1))
    }

    /// Notes that an event was told.
    fn seen(&mut self, event: &Json) {
        self.since = event["seq"].as_i64().or(self.since);
    }

    async fn show(&mut self, client: &Client) -> Result<(), CommandError> {
        while let Some(events) = self.more(client).await? {
            for event in events {
                let line = self.line(client, &event).await?;
                // From here on nothing is asked for, so nothing is told twice or left out.
                self.seen(&event);
                let ours = is_one_of(self.runs, &event["run"]);
                if ours {
                    self.progress.heard(&event);
                }
                if self.world.json {
                    if ours {
                        self.bar.tell(&format!("{event}\n"))?;
                    }
                } else if let Some((what, line)) = line {
                    let meaning = self.meaning(what);
                    self.bar.tell(&format!("{line}\n{meaning}"))?;
                }
            }
        }
        Ok(())
    }

    /// What something means that is seen for the first time.
    fn meaning(&mut self, what: Telling) -> String {
        match self.meanings.iter().position(|(told, _)| *told == what) {
            Some(at) => {
                let (_, means) = self.meanings.remove(at);
                format!("{}\n", self.world.paint.help(&format!("      # {means}")))
            }
            None => String::new(),
        }
    }

    /// Whether an event is of a session that works for the run.
    async fn is_ours(&mut self, client: &Client, event: &Json) -> Result<bool, CommandError> {
        let Some(session) = event["session"].as_str() else { return Ok(false) };
        if let Some(known) = self.sessions.get(session) {
            return Ok(*known);
        }
        let ours = match client.ask_for::<Json>(&format!("/api/sessions/{}", escaped(session))).await {
            Ok(found) => is_one_of(self.runs, &found["metadata"]["run"]),
            Err(error) if error.exit() == Exit::Network => return Err(error),
            Err(_) => false,
        };
        self.sessions.insert(session.to_owned(), ours);
        Ok(ours)
    }

    async fn line(&mut self, client: &Client, event: &Json) -> Result<Option<(Telling, String)>, CommandError> {
        let of_session = matches!(event["type"].as_str(), Some("timeline:added" | "permission:asked"));
        if of_session && !self.is_ours(client, event).await? {
            return Ok(None);
        }
        Ok(line(event, self.runs, self.world))
    }
}

fn is_one_of(runs: &[String], run: &Json) -> bool {
    runs.iter().any(|known| run == known)
}

/// What is worth a line.
fn line(event: &Json, runs: &[String], world: &World) -> Option<(Telling, String)> {
    let payload = &event["payload"];
    let told = |key: &str| clean(payload[key].as_str().unwrap_or_default()).into_owned();
    let ours = is_one_of(runs, &event["run"]);
    Some(match event["type"].as_str()? {
        "run:called" if ours => {
            let task = clean(payload["params"]["task"].as_str().unwrap_or_default()).into_owned();
            (Telling::Task, format!("\n{}", world.paint.strong(&task)))
        }
        "run:entered" if ours => {
            let (what, words) = begun(payload["step"].as_str()?)?;
            (what, world.paint.dim(&format!("  {words}")))
        }
        "run:executed" if ours && payload["outcome"] != "ok" => {
            let reason = payload["reason"].as_str().unwrap_or_default();
            let reason: Vec<String> = reason.lines().take(6).map(|line| clean(line).into_owned()).collect();
            let text = format!("  {} failed: {}", told("step"), reason.join("\n    "));
            (Telling::Failed, world.paint.error(&text))
        }
        "run:judged" if ours => (Telling::Judged, format!("  gate: {}", told("outcome"))),
        "run:left" if ours && payload["step"] == "look" && payload["outcome"] != "skip" => {
            let what = if payload["outcome"] == "pass" { Telling::ReviewPassed } else { Telling::ReviewFailed };
            (what, format!("  review: {}", told("outcome")))
        }
        "timeline:added"
            if matches!(
                payload["kind"].as_str(),
                Some("progress" | "task_completed" | "task_blocked" | "error" | "needs_input")
            ) =>
        {
            (Telling::Word, format!("    {}", told("message")))
        }
        "permission:asked" => {
            let how = format!("maestro session answer {}", clean(event["session"].as_str().unwrap_or_default()));
            let asked = format!("    asks: {}; answer with `{how}`", told("title"));
            (Telling::Asked, world.paint.strong(&asked))
        }
        "SKILLS_SELECTED" if is_one_of(runs, &payload["run_id"]) => {
            (Telling::Skills, world.paint.dim(&format!("  skills: {}", skills(payload)?)))
        }
        _ => return None,
    })
}

/// The chosen skills with the reasons, where there are any.
fn skills(payload: &Json) -> Option<String> {
    let mut text = String::new();
    for skill in payload["skills"].as_array()? {
        let of = |key: &str| clean(skill[key].as_str().unwrap_or_default()).into_owned();
        let _ = write!(text, "{}{} ({})", if text.is_empty() { "" } else { ", " }, of("name"), of("reason"));
    }
    (!text.is_empty()).then_some(text)
}

/// What begins with a step.
fn begun(step: &str) -> Option<(Telling, &'static str)> {
    Some(match step {
        "implement" => (Telling::Working, "implement"),
        "choose" => (Telling::Working, "choose a task and implement it"),
        "look" => (Telling::Reviewing, "review"),
        "verify" => (Telling::Checking, "check"),
        "commit" | "land" => (Telling::Committing, "commit"),
        "verify-together" => (Telling::Checking, "check the merged work"),
        _ => return None,
    })
}
