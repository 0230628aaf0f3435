//! Reports on a session that a person started: it is registered and reports as any other.

use std::sync::mpsc::Receiver;

use maestro_api::reports::{self, NewReport};
use maestro_api::sessions::{self, NewSession};
use maestro_core::hook::{HookEventKind, shorten_to_line};
use maestro_core::id::{EntityId as _, SessionId};
use maestro_core::report::ReportKind;
use maestro_core::session::SessionStatus;
use serde_json::{Map, Value as Json, json};

use super::failures;
use crate::client::CliClient;
use crate::client::context;
use crate::client::reporter::new_report;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::server_process::database;

/// Reports an event. Without a project there is nothing to do.
pub(super) fn report_event(
    agent: &str,
    session: &SessionId,
    happening: &HookEventKind,
    chosen: &Receiver<Vec<String>>,
    world: &World,
) -> CommandResult<()> {
    if *happening == HookEventKind::Other || !is_anything_stored(world) {
        return Ok(());
    }
    let client = CliClient::open(world)?.without_retries().for_hook()?;
    let report = report_of(happening, chosen);
    let reported = match client.call(reports::of_session(session.as_str(), &report)) {
        Err(error) if error.is_not_found() => {
            let Ok(project) = context::project_of_unknown(&client, world) else { return Ok(()) };
            let new = NewSession {
                id: Some(session.as_str().to_owned()),
                project_id: Some(project.id),
                task_ids: Some(Vec::new()),
                status: Some(SessionStatus::Working.to_string()),
                agent_id: Some(agent.to_owned()),
                name: Some(format!("{agent}, started by hand")),
                metadata: Some(Map::from_iter([("spawnSource".to_owned(), Json::from("hook"))])),
                ..NewSession::default()
            };
            client.call(sessions::create(&new))?;
            client.call(reports::of_session(session.as_str(), &report))
        }
        reported => reported,
    };
    reported?;
    failures::report(&client, session.as_str(), world)
}

/// Whether there is a server or a database to report to; a hook creates none.
fn is_anything_stored(world: &World) -> bool {
    let named = ["MAESTRO_API_URL", "MAESTRO_SERVER_URL", "MAESTRO_DATABASE"];
    named.into_iter().any(|name| world.variable(name).is_some()) || database::exists(world)
}

/// The report about it.
fn report_of(happening: &HookEventKind, chosen: &Receiver<Vec<String>>) -> NewReport {
    match happening {
        HookEventKind::Prompted(prompt) => {
            let skills = chosen.recv().unwrap_or_default();
            let metadata = Map::from_iter([("skills".to_owned(), json!(skills))]);
            let report = new_report(ReportKind::Progress, Some(&shorten_to_line(prompt)));
            // Who prompts has seen what the session asked.
            NewReport { metadata: Some(metadata), withdraw: Some(true), ..report }
        }
        HookEventKind::Waiting(why) => new_report(ReportKind::NeedsInput, Some(why)),
        HookEventKind::Stopped => new_report(ReportKind::NeedsInput, Some("Turn ended")),
        HookEventKind::Ended => new_report(ReportKind::Complete, None),
        HookEventKind::Started { .. } | HookEventKind::Other => new_report(ReportKind::Progress, None),
    }
}
