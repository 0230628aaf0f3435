//! `maestro task update`, `start`, `complete` and `block`: changes of a task, with a message.

use maestro_core::report::ReportKind;
use maestro_core::task::TaskStatus;
use serde_json::{Map, Value as Json, json};

use super::path;
use crate::args::TaskUpdateArgs;
use crate::client::wire::{self, Task};
use crate::client::worker::{self, Speaker};
use crate::client::{Client, with_query};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::clean;

/// What is to become of a task.
struct Change<'a> {
    id: &'a str,
    /// As it was typed.
    status: Option<&'a str>,
    /// The other fields, as the server knows them.
    fields: Map<String, Json>,
    message: Option<&'a str>,
}

pub(super) fn update(args: &TaskUpdateArgs, client: Client, world: &World) -> Result<Reply, CommandError> {
    let mut fields = Map::new();
    let given = [
        ("priority", args.priority.map(|priority| json!(priority))),
        ("title", args.title.as_ref().map(|title| json!(title))),
        ("description", args.desc.as_ref().map(|desc| json!(desc))),
    ];
    for (name, value) in given {
        if let Some(value) = value {
            fields.insert(name.to_owned(), value);
        }
    }
    let change = Change { id: &args.id, status: args.status.as_deref(), fields, message: args.message.as_deref() };
    if change.status.is_none() && change.fields.is_empty() && change.message.is_none() {
        return Err(
            CommandError::invalid("no change given").hint("pass --status, --priority, --title, --desc or --message")
        );
    }
    carry_out(&change, client, world)
}

pub(super) fn start(id: &str, client: Client, world: &World) -> Result<Reply, CommandError> {
    carry_out(&Change { id, status: Some("in_progress"), fields: Map::new(), message: None }, client, world)
}

pub(super) fn complete(id: &str, client: Client, world: &World) -> Result<Reply, CommandError> {
    carry_out(&Change { id, status: Some("completed"), fields: Map::new(), message: None }, client, world)
}

pub(super) fn block(id: &str, reason: &str, client: Client, world: &World) -> Result<Reply, CommandError> {
    // A person who blocks a task nobody works on has said why with the task, if nowhere else.
    let heard = Speaker::maybe(world).is_some() || timeline(&client, id)?.is_some();
    let mut fields = Map::new();
    if !heard {
        let task: Task = client.get(&path(id))?;
        let words = format!("{}\n\nBlocked: {reason}", task.description.trim_end());
        fields.insert("description".to_owned(), words.trim_start().into());
    }
    let message = heard.then_some(reason);
    carry_out(&Change { id, status: Some("blocked"), fields, message }, client, world)
}

fn carry_out(change: &Change<'_>, client: Client, world: &World) -> Result<Reply, CommandError> {
    let speaker = Speaker::maybe(world);
    let line = match (change.message, &speaker) {
        (Some(message), None) => Some((message, session_for(&client, change.id)?)),
        _ => None,
    };
    let by_report = change.is_reported(speaker.as_ref(), &client)?;
    let mut fields = change.fields.clone();
    if let Some(status) = change.status.filter(|_| !by_report) {
        fields.insert("status".to_owned(), status.into());
    }
    if !fields.is_empty() {
        client.patch::<Json>(&path(change.id), &Json::Object(fields))?;
    }
    if let Some(speaker) = speaker.filter(|_| by_report || change.message.is_some()) {
        change.tell(&client, &speaker)?;
    }
    if let Some((message, session)) = line {
        let body = json!({ "type": change.entry(), "message": message, "sessionId": session });
        client.post::<Json>(&format!("{}/timeline", path(change.id)), &body)?;
    }
    let whole: Json = client.get(&path(change.id))?;
    if world.json {
        return Reply::json(&whole);
    }
    let task: Task = wire::read(&whole)?;
    let text = format!("{}  {}  {}\n", clean(&task.id), clean(&task.status), clean(&task.title));
    Ok(worker::with_news(client, text, world))
}

impl Change<'_> {
    /// Whether a report brings the change about: whoever is known by a task only says how it stands to it, as a session
    /// with a name would. What cannot be is left for the server to refuse.
    fn is_reported(&self, speaker: Option<&Speaker>, client: &Client) -> Result<bool, CommandError> {
        let status = self.status.and_then(|word| word.parse::<TaskStatus>().ok());
        let (Some(Speaker::Task(_)), Some(_), Some(status)) = (speaker, self.kind(), status) else { return Ok(false) };
        Ok(client.get::<Task>(&path(self.id))?.may_become(status))
    }

    /// The report that says the same as the status. The other statuses are a person's verdict; no report says them.
    fn kind(&self) -> Option<ReportKind> {
        let word = self.status?;
        if word.eq_ignore_ascii_case("failed") {
            return Some(ReportKind::Error);
        }
        match word.parse().ok()? {
            TaskStatus::InProgress => Some(ReportKind::Progress),
            TaskStatus::Completed => Some(ReportKind::Complete),
            TaskStatus::Blocked => Some(ReportKind::Blocked),
            TaskStatus::Todo | TaskStatus::InReview | TaskStatus::Cancelled | TaskStatus::Archived => None,
        }
    }

    /// The kind of the line in a timeline.
    fn entry(&self) -> String {
        self.kind().unwrap_or(ReportKind::Progress).entry_kind().as_str().to_owned()
    }

    /// Puts the message on the speaker's timeline: as a report where one fits, else as a line that changes nothing.
    fn tell(&self, client: &Client, speaker: &Speaker) -> Result<(), CommandError> {
        if let Some(kind) = self.kind() {
            let message = self.message.or((kind == ReportKind::Progress).then_some("Started"));
            speaker.say(client, &json!({ "kind": kind, "message": message, "taskIds": [self.id] }))?;
            return Ok(());
        }
        let session = match speaker {
            Speaker::Session(id) => id.clone(),
            Speaker::Task(_) => speaker.beat(client)?.session_id,
        };
        let body = json!({ "type": self.entry(), "message": self.message, "sessionId": session });
        client.post::<Json>(&format!("{}/timeline", path(self.id)), &body)?;
        Ok(())
    }
}

/// The session on whose timeline a person's word about a task goes: the youngest that works or worked on it.
fn timeline(client: &Client, task: &str) -> Result<Option<String>, CommandError> {
    let sessions = client.list(&with_query("/api/sessions", &[("taskId", Some(task)), ("fields", Some("summary"))]))?;
    Ok(sessions.last().and_then(|session| session["id"].as_str()).map(str::to_owned))
}

fn session_for(client: &Client, task: &str) -> Result<String, CommandError> {
    client.get::<Json>(&path(task))?;
    timeline(client, task)?.ok_or_else(|| {
        CommandError::invalid(format!("task `{task}` has no session, so there is no timeline for a message"))
            .hint("omit --message, or use --desc; nothing was changed")
    })
}
