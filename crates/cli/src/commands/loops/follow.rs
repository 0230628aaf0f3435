//! What happens in a loop, shown as it happens?

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value as Json;

use super::bar::{Bar, Progress};
use crate::client::{Client, escaped, with_query};
use crate::commands::up::told_to_end;
use crate::error::CommandError;
use crate::screen::clean;
use crate::world::World;

/// How often it is looked whether something happened.
const LOOK: Duration = Duration::from_millis(100);

/// How it came that nothing more is shown.
pub(super) enum Followed {
    /// The run is over, and this is how it stands.
    Over(Json),
    /// Somebody does not want to wait any longer.
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
    Word,
}

/// What something means, for those who see it for the first time.
pub(crate) type Meaning = (Telling, &'static str);

/// Shows what happens until the run is over.
pub(super) fn to_the_end(
    client: &Client,
    run: &str,
    project: &str,
    meanings: &[Meaning],
    world: &World,
) -> Result<Followed, CommandError> {
    client.wait(async {
        let end = told_to_end().map_err(|error| CommandError::io("signals cannot be waited for", &error))?;
        let mut story = Story::of(client, run, project, world).await?;
        story.meanings = meanings.to_vec();
        tokio::select! {
            () = end => Ok(Followed::Interrupted),
            over = story.told() => over.map(Followed::Over),
        }
    })
}

/// What happened in a run so far, a line each.
pub(super) fn so_far(client: &Client, run: &str, project: &str, world: &World) -> Result<Vec<String>, CommandError> {
    client.wait(async {
        let mut story = Story::of(client, run, project, world).await?;
        let mut lines = Vec::new();
        while let Some(events) = story.more().await? {
            for event in &events {
                lines.extend(story.line(event).await.map(|(_, line)| line));
            }
        }
        Ok(lines)
    })
}

/// What happens in a run and in its sessions.
struct Story<'a> {
    client: &'a Client,
    run: &'a str,
    project: &'a str,
    world: &'a World,
    since: i64,
    /// Which sessions are known to be the run's, or not.
    sessions: HashMap<String, bool>,
    /// What was not explained yet.
    meanings: Vec<Meaning>,
    progress: Progress,
    bar: Bar<'a>,
}

impl<'a> Story<'a> {
    async fn of(client: &'a Client, run: &'a str, project: &'a str, world: &'a World) -> Result<Self, CommandError> {
        let path = with_query("/api/events", &[("runId", Some(run)), ("limit", Some("1"))]);
        let first: Vec<Json> = client.ask_for(&path).await?;
        let since = first.first().and_then(|event| event["seq"].as_i64()).map_or(0, |seq| seq - 1);
        Ok(Self {
            client,
            run,
            project,
            world,
            since,
            sessions: HashMap::new(),
            meanings: Vec::new(),
            progress: Progress::default(),
            bar: Bar::new(world),
        })
    }

    /// Tells everything until the run is over, and returns how it stands then.
    async fn told(&mut self) -> Result<Json, CommandError> {
        loop {
            let state: Json = self.client.ask_for(&format!("/api/runs/{}", escaped(self.run))).await?;
            self.show().await?;
            if matches!(state["status"].as_str(), Some("completed" | "failed" | "cancelled")) {
                return Ok(state);
            }
            self.bar.draw(&self.progress)?;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What happened since it was last asked for, or nothing.
    async fn more(&mut self) -> Result<Option<Vec<Json>>, CommandError> {
        let since = self.since.to_string();
        let path = with_query("/api/events", &[("since", Some(&since)), ("projectId", Some(self.project))]);
        let events: Vec<Json> = self.client.ask_for(&path).await?;
        self.since = events.last().and_then(|event| event["seq"].as_i64()).unwrap_or(self.since);
        Ok(Some(events).filter(|events| !events.is_empty()))
    }

    async fn show(&mut self) -> Result<(), CommandError> {
        while let Some(events) = self.more().await? {
            for event in events {
                let ours = event["run"] == self.run;
                if ours {
                    self.progress.heard(&event);
                }
                if self.world.json {
                    if ours {
                        self.bar.tell(&format!("{event}\n"))?;
                    }
                } else if let Some((what, line)) = self.line(&event).await {
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
    async fn is_ours(&mut self, event: &Json) -> bool {
        let Some(session) = event["session"].as_str() else { return false };
        if let Some(known) = self.sessions.get(session) {
            return *known;
        }
        let found = self.client.ask_for::<Json>(&format!("/api/sessions/{}", escaped(session))).await;
        let ours = found.is_ok_and(|found| found["metadata"]["run"] == self.run);
        self.sessions.insert(session.to_owned(), ours);
        ours
    }

    async fn line(&mut self, event: &Json) -> Option<(Telling, String)> {
        if event["type"] == "timeline:added" && !self.is_ours(event).await {
            return None;
        }
        line(event, self.run, self.world)
    }
}

/// What is worth a line.
fn line(event: &Json, run: &str, world: &World) -> Option<(Telling, String)> {
    let payload = &event["payload"];
    let told = |key: &str| clean(payload[key].as_str().unwrap_or_default()).into_owned();
    let ours = event["run"] == run;
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
        "SKILLS_SELECTED" if payload["run_id"] == run => {
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
        "implement" => (Telling::Working, "an agent does it"),
        "look" => (Telling::Reviewing, "somebody else looks at it"),
        "verify" => (Telling::Checking, "the checks run"),
        "commit" => (Telling::Committing, "it is committed"),
        _ => return None,
    })
}
