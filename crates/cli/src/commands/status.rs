//! `maestro status`: numbers of the project.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maestro_api::ReceivedReply;
use maestro_api::sessions::{self, SessionQuery};
use maestro_api::task_counts::{self, TaskCountQuery};
use maestro_core::WorkState;
use maestro_core::task::{TaskPriority, TaskStatus};
use serde_json::{Map, Value as Json, json};

use crate::client::CliClient;
use crate::client::context;
use crate::commands::session::rows;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{clean, count};

pub(crate) fn run(world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    let project = context::project(&client, world)?;
    let of_project = Some(project.id.clone());
    let tasks = client.call(task_counts::count(&TaskCountQuery { project_id: of_project.clone() }))?;
    let alive = SessionQuery { project_id: of_project, ..SessionQuery::alive() };
    let ReceivedReply { raw, value: sessions } = client.list_raw(sessions::summaries(&alive))?;
    let by_state = WorkState::ALL.map(|state| (state.label(), number(&tasks.by_state, state.as_str())));
    let by_status = TaskStatus::ALL.map(|status| (status.as_str(), number(&tasks.by_status, status.as_str())));
    let by_priority =
        TaskPriority::ALL.map(|priority| (priority.as_str(), number(&tasks.by_priority, priority.as_str())));
    if world.json {
        return CommandOutput::json(&json!({
            "project": { "id": project.id, "name": project.name, "workingDir": project.working_dir },
            "tasks": { "total": tasks.total, "byStatus": object(&by_status), "byState": object(&WorkState::ALL.map(|state| (state.as_str(), number(&tasks.by_state, state.as_str())))), "byPriority": object(&by_priority) },
            "activeSessions": raw,
        }));
    }
    let mut text = format!("{} {}\n", world.paint.dim(&clean(&project.id)), world.paint.strong(&clean(&project.name)));
    let _ = writeln!(
        text,
        "{}{}",
        count(usize::try_from(tasks.total).unwrap_or_default(), "task", "tasks"),
        listed(&by_state)
    );
    if tasks.total > 0 {
        let _ = writeln!(text, "by priority{}", listed(&by_priority));
    }
    let _ = writeln!(text, "{}", count(sessions.len(), "active session", "active sessions"));
    text.push_str(&rows(&sessions, &client.short_ids(), world));
    Ok(CommandOutput::text(text))
}

fn number(numbers: &BTreeMap<String, i64>, word: &str) -> i64 {
    numbers.get(word).copied().unwrap_or_default()
}

fn object(numbers: &[(&str, i64)]) -> Map<String, Json> {
    numbers.iter().map(|(word, number)| ((*word).to_owned(), json!(number))).collect()
}

fn listed(numbers: &[(&str, i64)]) -> String {
    let parts: Vec<String> =
        numbers.iter().filter(|(_, number)| *number > 0).map(|(word, number)| format!("{number} {word}")).collect();
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}
