//! What happens in a loop, shown as it happens?

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value as Json;

use crate::client::{Client, escaped, with_query};
use crate::error::{CommandError, Exit};
use crate::reply::{self, Reply};
use crate::screen::clean;
use crate::world::World;

/// How often it is looked whether something happened.
const LOOK: Duration = Duration::from_millis(100);

/// Shows what happens until the run is over.
pub(super) fn to_the_end(client: &Client, run: &str, project: &str, world: &World) -> Result<Reply, CommandError> {
    let mut story = Story::of(client, run, project, world)?;
    loop {
        let state: Json = client.get(&format!("/api/runs/{}", escaped(run)))?;
        story.show()?;
        if matches!(state["status"].as_str(), Some("completed" | "failed" | "cancelled")) {
            story.show()?;
            return ended(&state, world);
        }
        std::thread::sleep(LOOK);
    }
}

/// What happened in a run so far, a line each.
pub(super) fn so_far(client: &Client, run: &str, project: &str, world: &World) -> Result<Vec<String>, CommandError> {
    let mut story = Story::of(client, run, project, world)?;
    let mut lines = Vec::new();
    while let Some(events) = story.more()? {
        lines.extend(events.iter().filter_map(|event| story.line(event)));
    }
    Ok(lines)
}

/// What happens in a run and in its sessions.
struct Story<'a> {
    client: &'a Client,
    run: &'a str,
    project: &'a str,
    world: &'a World,
    since: i64,
    /// Which sessions are known to be the run's, or not.
    sessions: RefCell<HashMap<String, bool>>,
}

impl<'a> Story<'a> {
    fn of(client: &'a Client, run: &'a str, project: &'a str, world: &'a World) -> Result<Self, CommandError> {
        let first: Vec<Json> = client.get(&with_query("/api/events", &[("runId", Some(run)), ("limit", Some("1"))]))?;
        let since = first.first().and_then(|event| event["seq"].as_i64()).map_or(0, |seq| seq - 1);
        Ok(Self { client, run, project, world, since, sessions: RefCell::default() })
    }

    /// What happened since it was last asked for, or nothing.
    fn more(&mut self) -> Result<Option<Vec<Json>>, CommandError> {
        let since = self.since.to_string();
        let path = with_query("/api/events", &[("since", Some(&since)), ("projectId", Some(self.project))]);
        let events: Vec<Json> = self.client.get(&path)?;
        self.since = events.last().and_then(|event| event["seq"].as_i64()).unwrap_or(self.since);
        Ok(Some(events).filter(|events| !events.is_empty()))
    }

    fn show(&mut self) -> Result<(), CommandError> {
        while let Some(events) = self.more()? {
            for event in events {
                if self.world.json {
                    if event["run"] == self.run {
                        reply::show(&format!("{event}\n"))?;
                    }
                } else if let Some(line) = self.line(&event) {
                    reply::show(&format!("{line}\n"))?;
                }
            }
        }
        Ok(())
    }

    /// Whether an event is of a session that works for the run.
    fn is_ours(&self, event: &Json) -> bool {
        let Some(session) = event["session"].as_str() else { return false };
        if let Some(known) = self.sessions.borrow().get(session) {
            return *known;
        }
        let found = self.client.get::<Json>(&format!("/api/sessions/{}", escaped(session)));
        let ours = found.is_ok_and(|found| found["metadata"]["run"] == self.run);
        self.sessions.borrow_mut().insert(session.to_owned(), ours);
        ours
    }

    fn line(&self, event: &Json) -> Option<String> {
        if event["type"] == "timeline:added" && !self.is_ours(event) {
            return None;
        }
        line(event, self.run, self.world)
    }
}

/// What is worth a line.
fn line(event: &Json, run: &str, world: &World) -> Option<String> {
    let payload = &event["payload"];
    let told = |key: &str| clean(payload[key].as_str().unwrap_or_default()).into_owned();
    let ours = event["run"] == run;
    Some(match event["type"].as_str()? {
        "run:called" if ours => {
            let task = clean(payload["params"]["task"].as_str().unwrap_or_default()).into_owned();
            format!("\n{}", world.paint.strong(&task))
        }
        "run:entered" if ours => match payload["step"].as_str()? {
            step @ ("implement" | "choose" | "look" | "verify" | "commit") => {
                world.paint.dim(&format!("  {}", named(step)))
            }
            _ => return None,
        },
        "run:executed" if ours && payload["outcome"] != "ok" => {
            let reason = payload["reason"].as_str().unwrap_or_default();
            let reason: Vec<String> = reason.lines().take(6).map(|line| clean(line).into_owned()).collect();
            world.paint.error(&format!("  {} failed: {}", told("step"), reason.join("\n    ")))
        }
        "run:judged" if ours => format!("  gate: {}", told("outcome")),
        "run:left" if ours && payload["step"] == "look" && payload["outcome"] != "skip" => {
            format!("  review: {}", told("outcome"))
        }
        "timeline:added"
            if matches!(
                payload["kind"].as_str(),
                Some("progress" | "task_completed" | "task_blocked" | "error" | "needs_input")
            ) =>
        {
            format!("    {}", told("message"))
        }
        "SKILLS_SELECTED" if payload["run_id"] == run => {
            let skills = payload["skills"].as_array()?;
            let mut text = String::new();
            for skill in skills {
                let of = |key: &str| clean(skill[key].as_str().unwrap_or_default()).into_owned();
                let _ = write!(text, "{}{} ({})", if text.is_empty() { "" } else { ", " }, of("name"), of("reason"));
            }
            if text.is_empty() {
                return None;
            }
            world.paint.dim(&format!("  skills: {text}"))
        }
        _ => return None,
    })
}

fn named(step: &str) -> &'static str {
    match step {
        "implement" => "an agent does it",
        "choose" => "an agent chooses a task and does it",
        "look" => "somebody else looks at it",
        "verify" => "the checks run",
        _ => "it is committed",
    }
}

fn ended(state: &Json, world: &World) -> Result<Reply, CommandError> {
    if world.json {
        return Reply::json(state);
    }
    let now = &state["now"];
    let outcome = now["finished"]["outcome"].as_str().or(state["status"].as_str()).unwrap_or_default();
    let message = now["message"].as_str().unwrap_or_default();
    let exit = if outcome == "success" { Exit::Ok } else { Exit::Failed };
    Ok(Reply::text(format!("\n{}: {}\n", clean(outcome), clean(message))).ending(exit))
}
