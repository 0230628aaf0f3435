//! `maestro task update`, `start`, `complete` and `block`: changes of a task, with a message.

use maestro_api::ReceivedReply;
use maestro_api::reports::NewReport;
use maestro_api::sessions::{self, SessionQuery};
use maestro_api::tasks::{self, NewTaskLine, TaskChange};
use maestro_core::report::ReportKind;
use maestro_core::task::TaskStatus;

use crate::args::TaskUpdateArgs;
use crate::client::CliClient;
use crate::client::reporter::{self, WorkReporter};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::clean;

/// What is to become of a task.
struct TaskEdit<'a> {
    id: &'a str,
    /// As it was typed.
    status: Option<&'a str>,
    /// What else changes.
    fields: TaskChange,
    message: Option<&'a str>,
}

pub(super) fn update(args: &TaskUpdateArgs, client: CliClient, world: &World) -> CommandResult {
    let fields = TaskChange {
        priority: args.priority.map(|priority| priority.to_string()),
        title: args.title.clone(),
        description: args.desc.clone(),
        ..TaskChange::default()
    };
    let changes_fields = fields.priority.is_some() || fields.title.is_some() || fields.description.is_some();
    let change = TaskEdit { id: &args.id, status: args.status.as_deref(), fields, message: args.message.as_deref() };
    if change.status.is_none() && !changes_fields && change.message.is_none() {
        return Err(
            CommandError::invalid("no change given").hint("pass --status, --priority, --title, --desc or --message")
        );
    }
    apply(&change, client, world)
}

pub(super) fn start(id: &str, client: CliClient, world: &World) -> CommandResult {
    apply(&TaskEdit { id, status: Some("in_progress"), fields: TaskChange::default(), message: None }, client, world)
}

pub(super) fn complete(id: &str, client: CliClient, world: &World) -> CommandResult {
    apply(&TaskEdit { id, status: Some("completed"), fields: TaskChange::default(), message: None }, client, world)
}

pub(super) fn block(id: &str, reason: &str, client: CliClient, world: &World) -> CommandResult {
    // A person who blocks a task without a session gives the reason with the task.
    let recorded = WorkReporter::find(world).is_some() || timeline(&client, id)?.is_some();
    let mut fields = TaskChange::default();
    if !recorded {
        let task = client.call(tasks::get(id))?;
        let words = format!("{}\n\nBlocked: {reason}", task.description.trim_end());
        fields.description = Some(words.trim_start().to_owned());
    }
    let message = recorded.then_some(reason);
    apply(&TaskEdit { id, status: Some("blocked"), fields, message }, client, world)
}

fn apply(change: &TaskEdit<'_>, client: CliClient, world: &World) -> CommandResult {
    let speaker = WorkReporter::find(world);
    let line = match (change.message, &speaker) {
        (Some(message), None) => Some((message, session_for(&client, change.id)?)),
        _ => None,
    };
    let by_report = change.is_reported(speaker.as_ref(), &client)?;
    let mut fields = change.fields.clone();
    fields.status = change.status.filter(|_| !by_report).map(str::to_owned);
    if fields != TaskChange::default() {
        client.call(tasks::update(change.id, &fields))?;
    }
    if let Some(speaker) = speaker.filter(|_| by_report || change.message.is_some()) {
        change.add_message(&client, &speaker)?;
    }
    if let Some((message, session)) = line {
        change.add_line(&client, Some(message), session)?;
    }
    let ReceivedReply { raw, value: task } = client.call_raw(tasks::get(change.id))?;
    if world.json {
        return CommandOutput::json(&raw);
    }
    let text = format!("{}  {}  {}\n", clean(&task.id), task.status, clean(&task.title));
    Ok(reporter::with_updates(client, text, world))
}

impl TaskEdit<'_> {
    /// Whether a report brings the change about: a caller that is known only by a task reports its own status on it, as a session
    /// with a name would. What cannot be is left for the server to refuse.
    fn is_reported(&self, speaker: Option<&WorkReporter>, client: &CliClient) -> CommandResult<bool> {
        let status = self.status.and_then(|word| word.parse::<TaskStatus>().ok());
        let (Some(WorkReporter::Task(_)), Some(_), Some(status)) = (speaker, self.kind(), status) else {
            return Ok(false);
        };
        Ok(client.call(tasks::get(self.id))?.status.may_become(status))
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
    fn add_message(&self, client: &CliClient, speaker: &WorkReporter) -> CommandResult<()> {
        if let Some(kind) = self.kind() {
            let message = self.message.or((kind == ReportKind::Progress).then_some("Started"));
            let report = reporter::new_report(kind, message);
            speaker.report(client, &NewReport { task_ids: Some(vec![self.id.to_owned()]), ..report })?;
            return Ok(());
        }
        let session = match speaker {
            WorkReporter::Session(id) => id.clone(),
            WorkReporter::Task(_) => speaker.heartbeat(client)?.session_id,
        };
        self.add_line(client, self.message, session)
    }

    /// Adds a line about the task to a session's timeline.
    fn add_line(&self, client: &CliClient, message: Option<&str>, session: String) -> CommandResult<()> {
        let message = message.map(str::to_owned);
        let line = NewTaskLine { kind: Some(self.entry()), message, session_id: Some(session) };
        client.call(tasks::add_line(self.id, &line))?;
        Ok(())
    }
}

/// The session on whose timeline a person's word about a task goes: the youngest that works or worked on it.
fn timeline(client: &CliClient, task: &str) -> CommandResult<Option<String>> {
    let query = SessionQuery { task_id: Some(task.to_owned()), ..SessionQuery::default() };
    Ok(client.list(sessions::summaries(&query))?.pop().map(|session| session.id))
}

fn session_for(client: &CliClient, task: &str) -> CommandResult<String> {
    client.call(tasks::get(task))?;
    timeline(client, task)?.ok_or_else(|| {
        CommandError::invalid(format!("task `{task}` has no session, so there is no timeline for a message"))
            .hint("omit --message, or use --desc; nothing was changed")
    })
}
