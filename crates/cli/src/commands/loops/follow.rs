//! What happens in a loop, shown as it happens?

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
    let mut since = 0;
    loop {
        let state: Json = client.get(&format!("/api/runs/{}", escaped(run)))?;
        since = show(client, run, project, since, world)?;
        if matches!(state["status"].as_str(), Some("completed" | "failed" | "cancelled")) {
            show(client, run, project, since, world)?;
            return ended(&state, world);
        }
        std::thread::sleep(LOOK);
    }
}

fn show(client: &Client, run: &str, project: &str, since: i64, world: &World) -> Result<i64, CommandError> {
    let path = with_query("/api/events", &[("since", Some(&since.to_string())), ("projectId", Some(project))]);
    let events: Vec<Json> = client.get(&path)?;
    let mut last = since;
    for event in events {
        last = event["seq"].as_i64().unwrap_or(last);
        if world.json {
            if event["run"] == run {
                reply::show(&format!("{event}\n"))?;
            }
        } else if let Some(line) = line(&event, run, world) {
            reply::show(&format!("{line}\n"))?;
        }
    }
    Ok(last)
}

/// What is worth a line.
pub(super) fn line(event: &Json, run: &str, world: &World) -> Option<String> {
    let payload = &event["payload"];
    let told = |key: &str| clean(payload[key].as_str().unwrap_or_default()).into_owned();
    let ours = event["run"] == run;
    Some(match event["type"].as_str()? {
        "run:called" if ours => {
            let task = clean(payload["params"]["task"].as_str().unwrap_or_default()).into_owned();
            format!("\n{}", world.paint.strong(&task))
        }
        "run:entered" if ours => match payload["step"].as_str()? {
            step @ ("implement" | "look" | "verify" | "commit") => world.paint.dim(&format!("  {}", named(step))),
            _ => return None,
        },
        "run:executed" if ours && payload["outcome"] != "ok" => {
            let reason = payload["reason"].as_str().unwrap_or_default();
            let reason: Vec<String> = reason.lines().take(6).map(|line| clean(line).into_owned()).collect();
            world.paint.error(&format!("  {} failed: {}", told("step"), reason.join("\n    ")))
        }
        "run:judged" if ours => format!("  gate: {}", told("outcome")),
        "run:left" if ours && payload["step"] == "look" => format!("  review: {}", told("outcome")),
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
