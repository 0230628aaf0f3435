//! Events as lines: when, who, what, and what it is about.

use std::collections::{BTreeSet, HashMap};

use maestro_core::event::Event;
use maestro_core::excerpt::ellipsize;
use maestro_core::id::{SessionId, TaskId};
use maestro_core::session::{EndReason, SessionStatus};
use maestro_core::work_state::session_state;
use maestro_core::workflow::{RunEvent, StepOutcome, StepPhase};
use maestro_store::{
    DbTx, EventRow, EventSearch, EventSearchPage, Query, RunById, RunRecord, SessionById, StoreError, TaskTitles,
};
use serde::Serialize;
use serde_json::Value as Json;

use super::super::work::run_address;
use crate::page::badge::status_words;
use crate::page::cards::{TITLE, WORDS, worker_name};
use crate::page::text::DisplayText;

/// How many characters of facts are shown.
const FACTS: usize = 50_000;
/// How many events apart the parts of one change are.
const NEAR: i64 = 16;
/// The workflows of the built-in loop.
const LOOPS: &[&str] = &["plan-loop", "plan-task"];

/// How much of the log is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventExtent {
    /// What people want to know.
    Told,
    /// Every event of a kind, a run or a session.
    Every,
    /// A single event with its facts.
    One,
}

/// Events with the names of what they are about.
#[derive(Debug, Clone)]
pub(super) struct EventLines {
    pub(super) search: EventSearch,
}

/// What was found.
#[derive(Debug)]
pub(super) struct NamedEvents {
    pub(super) page: EventSearchPage,
    titles: HashMap<TaskId, String>,
    /// The sessions: who works, and on what.
    sessions: HashMap<String, NamedSession>,
    /// What the runs are about.
    runs: HashMap<String, String>,
    /// The runs of the built-in loop, whose steps are shown by their phases.
    loops: BTreeSet<String>,
}

/// A session: who works, and on what.
#[derive(Debug)]
struct NamedSession {
    worker: String,
    task: Option<TaskId>,
    name: String,
}

impl Query for EventLines {
    type Output = NamedEvents;

    fn load(&self, db: &mut DbTx<'_>) -> Result<NamedEvents, StoreError> {
        let page = self.search.load(db)?;
        let mut tasks: BTreeSet<TaskId> =
            page.rows.iter().filter_map(|row| row.task.as_deref()?.parse().ok()).collect();
        let ids: BTreeSet<SessionId> =
            page.rows.iter().filter_map(|row| row.session.as_deref()?.parse().ok()).collect();
        let mut sessions = HashMap::new();
        for id in ids {
            // One that was deleted is known by its id only.
            if let Ok(session) = SessionById(id.clone()).load(db) {
                let task = session.tasks.first().cloned();
                tasks.extend(task.clone());
                let named = NamedSession { worker: worker_name(&session), task, name: session.name };
                sessions.insert(id.to_string(), named);
            }
        }
        let mut titles_of_runs = HashMap::new();
        let (mut runs, mut loops) = (HashMap::new(), BTreeSet::new());
        for id in page.rows.iter().filter_map(|row| row.run.as_deref()).collect::<BTreeSet<_>>() {
            let Some(record) = id.parse().ok().and_then(|id| RunById(id).load(db).ok()) else { continue };
            tasks.extend(record.about.task.clone());
            titles_of_runs.extend(record.about.task.clone().map(|task| (id.to_owned(), task)));
            runs.insert(id.to_owned(), run_name(&record));
            loops.extend(LOOPS.contains(&record.about.workflow.as_str()).then(|| id.to_owned()));
        }
        let titles = TaskTitles { tasks: tasks.into_iter().collect() }.load(db)?;
        runs.extend(titles_of_runs.into_iter().filter_map(|(id, task)| Some((id, titles.get(&task)?.clone()))));
        Ok(NamedEvents { page, titles, sessions, runs, loops })
    }
}

/// The lines of a table.
pub(super) struct EventTable {
    pub(super) rows: Vec<EventLine>,
}

/// An event, or the head of a group.
#[derive(Debug, Serialize)]
pub(super) struct EventLine {
    pub(super) id: String,
    seq: i64,
    at: i64,
    kind: String,
    who: String,
    what: DisplayText,
    about: Option<String>,
    href: Option<String>,
    /// The facts, where a single event is shown.
    facts: Option<DisplayText>,
    /// The run whose events follow.
    head: Option<String>,
}

impl NamedEvents {
    fn worker(&self, session: &str) -> String {
        self.sessions.get(session).map_or_else(|| "a session".to_owned(), |session| session.worker.clone())
    }

    /// What an event is about, and where that is shown.
    fn subject(&self, row: &EventRow) -> Option<(String, String)> {
        let task = row.task.as_deref().and_then(|id| Some((id, self.titles.get(&id.parse::<TaskId>().ok()?)?)));
        match (&row.run, task, &row.session) {
            (_, Some((id, title)), _) => Some((title.clone(), format!("/work?task={id}"))),
            (Some(run), None, _) => {
                let name = self.runs.get(run).cloned().unwrap_or_else(|| "a run that was deleted".to_owned());
                Some((name, run_address(run)))
            }
            (None, None, Some(session)) => {
                let known = self.sessions.get(session);
                let title = known
                    .map(|known| known.task.as_ref().and_then(|task| self.titles.get(task)).unwrap_or(&known.name));
                let title = title.cloned().unwrap_or_else(|| "a session that was deleted".to_owned());
                Some((title, format!("/sessions/{session}")))
            }
            (None, None, None) => None,
        }
    }

    /// The session whose report moved a task: both are stored at once.
    fn cause(&self, row: &EventRow) -> Option<&str> {
        let near = |other: &&EventRow| other.at == row.at && (other.seq - row.seq).abs() <= NEAR;
        self.page.rows.iter().filter(near).find_map(|other| other.session.as_deref())
    }
}

/// The name of a run that belongs to no stored task.
fn run_name(record: &RunRecord) -> String {
    let params = record.run.frames.first().map(|frame| &frame.params);
    let text = |name: &str| params?.get(name)?.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
    text("only").or_else(|| text("plan")).unwrap_or_else(|| record.about.workflow.clone())
}

impl EventTable {
    /// The lines. What Maestro notes for itself is left out, unless a person looks at one event or one kind.
    pub(super) fn new(found: &NamedEvents, group: &str, extent: EventExtent) -> Self {
        let is_loop = |row: &EventRow| row.run.as_ref().is_some_and(|run| found.loops.contains(run));
        let is_shown = |(row, event): &(&EventRow, Option<Event>)| match event {
            Some(event) if extent == EventExtent::Told => {
                !(is_bookkeeping(event) || is_loop(row) && is_mechanical(event))
            }
            _ => true,
        };
        let parsed = |row| (row, parse(row));
        let rows: Vec<(&EventRow, Option<Event>)> = found.page.rows.iter().map(parsed).filter(is_shown).collect();
        let to_line = |(row, event): &(&EventRow, Option<Event>)| line(row, event.as_ref(), found, extent);
        if group != "run" {
            return Self { rows: rows.iter().map(to_line).collect() };
        }
        let mut runs: Vec<Option<&str>> = Vec::new();
        for (row, _) in &rows {
            if !runs.contains(&row.run.as_deref()) {
                runs.push(row.run.as_deref());
            }
        }
        let mut lines = Vec::new();
        for run in runs {
            let of_run = rows.iter().filter(|(row, _)| row.run.as_deref() == run);
            let mut of_run = of_run.map(to_line).peekable();
            if let Some(first) = of_run.peek() {
                lines.push(head(run, first, found));
            }
            lines.extend(of_run);
        }
        Self { rows: lines }
    }
}

fn parse(row: &EventRow) -> Option<Event> {
    Event::from_log(&row.kind, row.payload.get()).ok()
}

fn head(run: Option<&str>, first: &EventLine, found: &NamedEvents) -> EventLine {
    let name = |run: &str| {
        found.runs.get(run).map_or_else(|| "a run that was deleted".to_owned(), |name| ellipsize(name, TITLE))
    };
    EventLine {
        id: format!("group-{}", run.unwrap_or("none")),
        seq: first.seq,
        at: first.at,
        kind: String::new(),
        who: String::new(),
        what: DisplayText::default(),
        about: None,
        href: run.map(run_address),
        facts: None,
        head: Some(run.map_or_else(|| "without a run".to_owned(), name)),
    }
}

fn line(row: &EventRow, event: Option<&Event>, found: &NamedEvents, extent: EventExtent) -> EventLine {
    let words = |event: &Event| if names_task(row, found) { task_words(event) } else { None };
    let what = event.and_then(|event| words(event).or_else(|| event_words(event)));
    let what = what.unwrap_or_else(|| row.kind.replace([':', '_'], " ").to_lowercase());
    let (about, href) = found.subject(row).map(|(about, href)| (ellipsize(&about, TITLE), href)).unzip();
    EventLine {
        id: format!("event-{}", row.seq),
        seq: row.seq,
        at: row.at,
        kind: row.kind.clone(),
        who: who(row, event, found),
        what: DisplayText::printed(&what, WORDS),
        about,
        href,
        facts: (extent == EventExtent::One).then(|| DisplayText::exactly(&indented(row.payload.get()), FACTS)),
        head: None,
    }
}

/// What is noted so that a run or a list can go on, and what another event says in the same moment.
fn is_bookkeeping(event: &Event) -> bool {
    match event {
        Event::TaskUpdated(fact) => fact.fields.iter().all(|field| field == "sessionStatus") && !fact.fields.is_empty(),
        // That it works is said by its task and by its reports.
        Event::SessionUpdated(fact) => {
            fact.reason.is_none() && !fact.status.is_over() && fact.status != SessionStatus::Paused
        }
        Event::TimelineAdded(fact) => {
            matches!(fact.kind.as_str(), "session_started" | "task_started")
        }
        Event::SessionTaskAdded(_)
        | Event::SessionTaskRemoved(_)
        | Event::TaskSessionAdded(_)
        | Event::SessionSpawn(_)
        | Event::SandboxApplied(_)
        | Event::SkillsDiscovered(_)
        | Event::Run(
            RunEvent::Reported { .. }
            | RunEvent::Set { .. }
            | RunEvent::Resulted { .. }
            | RunEvent::Progressed { .. }
            | RunEvent::BranchMoved { .. }
            | RunEvent::Switched { .. }
            | RunEvent::Waiting { .. }
            | RunEvent::Dropped { .. }
            | RunEvent::ItemsMoved { .. },
        ) => true,
        _ => false,
    }
}

/// What the built-in loop does between the work of agents, as long as it goes well.
fn is_mechanical(event: &Event) -> bool {
    let Event::Run(event) = event else { return false };
    let is_well = |outcome: &StepOutcome| [StepOutcome::OK, StepOutcome::PASS].contains(outcome);
    match event {
        RunEvent::Entered { phase, .. } => !matches!(phase, Some(StepPhase::Implement | StepPhase::Review)),
        RunEvent::Left { phase: None, .. } | RunEvent::Skipped { .. } => true,
        RunEvent::Left { outcome, .. } | RunEvent::Executed { outcome, .. } => is_well(outcome),
        _ => false,
    }
}

/// JSON as a person reads it.
fn indented(payload: &str) -> String {
    let payload: Json = serde_json::from_str(payload).unwrap_or_default();
    serde_json::to_string_pretty(&payload).unwrap_or_default()
}

fn who(row: &EventRow, event: Option<&Event>, found: &NamedEvents) -> String {
    let by = match event {
        Some(Event::TaskCreated(fact) | Event::TaskUpdated(fact) | Event::TaskDeleted(fact)) => {
            let is_status = fact.fields.iter().all(|field| field == "status") && !fact.fields.is_empty();
            let cause = || found.cause(row).filter(|_| is_status).map(str::to_owned);
            return match fact.by.as_ref().map(ToString::to_string).or_else(cause) {
                Some(session) => found.worker(&session),
                None => "you".to_owned(),
            };
        }
        Some(Event::MessageQueued(_) | Event::PermissionAnswered(_)) => return "you".to_owned(),
        Some(Event::SkillsSelected(_)) if row.session.is_none() => return "Maestro".to_owned(),
        _ => row.session.as_deref(),
    };
    match by {
        Some(session) => found.worker(session),
        None if row.run.is_some() => "Maestro".to_owned(),
        None => "you".to_owned(),
    }
}

/// Whether the line names its task, so that its words need not.
fn names_task(row: &EventRow, found: &NamedEvents) -> bool {
    let task = row.task.as_deref().and_then(|id| id.parse::<TaskId>().ok());
    task.is_some_and(|task| found.titles.contains_key(&task))
}

/// What happened to a task that the line names already.
fn task_words(event: &Event) -> Option<String> {
    Some(match event {
        Event::TaskCreated(_) => "created".to_owned(),
        Event::TaskUpdated(fact) if fact.fields.iter().any(|field| field == "status") => {
            format!("is {}", status_words(fact.status))
        }
        Event::TaskUpdated(fact) if fact.fields.is_empty() => "changed".to_owned(),
        Event::TaskUpdated(fact) => format!("changed: {}", field_names(&fact.fields)),
        _ => return None,
    })
}

/// An event in words; nothing where its kind says it all.
fn event_words(event: &Event) -> Option<String> {
    Some(match event {
        Event::ProjectCreated(fact) => format!("created the project {}", fact.name),
        Event::ProjectUpdated(fact) => format!("changed the project {}", fact.name),
        Event::ProjectDeleted(fact) => format!("deleted the project {}", fact.name),
        Event::TaskCreated(fact) => format!("created “{}”", fact.title),
        Event::TaskDeleted(fact) => format!("deleted “{}”", fact.title),
        Event::TaskUpdated(fact) if fact.fields.iter().any(|field| field == "status") => {
            format!("“{}” is {}", fact.title, status_words(fact.status))
        }
        Event::TaskUpdated(fact) if fact.fields.is_empty() => format!("changed “{}”", fact.title),
        Event::TaskUpdated(fact) => format!("changed “{}”: {}", fact.title, field_names(&fact.fields)),
        Event::TaskSessionAdded(_) | Event::SessionTaskAdded(_) => "got the task".to_owned(),
        Event::TaskSessionRemoved(_) | Event::SessionTaskRemoved(_) => "gave the task back".to_owned(),
        Event::SessionCreated(_) => "session created".to_owned(),
        Event::SessionSpawn(_) => "an agent is about to start".to_owned(),
        Event::SessionUpdated(fact) => match &fact.reason {
            Some(reason) if reason == EndReason::Cancelled.as_str() => "canceled".to_owned(),
            Some(reason) => format!("{}: {reason}", session_words(fact.status)),
            None => session_words(fact.status).to_owned(),
        },
        Event::SessionDeleted(_) => "session deleted".to_owned(),
        Event::QueueCreated(_) => "works through a queue of tasks".to_owned(),
        Event::QueueItemStarted(_) => "began the next task of its queue".to_owned(),
        Event::QueueItemCompleted(_) => "finished a task of its queue".to_owned(),
        Event::QueueItemFailed(_) => "gave up a task of its queue".to_owned(),
        Event::QueueItemSkipped(_) => "skipped a task of its queue".to_owned(),
        Event::QueueItemPushed(_) => "got one more task in its queue".to_owned(),
        Event::MessageQueued(_) => "sent a message".to_owned(),
        Event::MessageDelivered(_) => "received a message".to_owned(),
        Event::MessageRefused(_) => "did not receive a message".to_owned(),
        Event::HandoffCreated(_) => "handed work over".to_owned(),
        Event::HandoffAccepted(_) => "took a handoff".to_owned(),
        Event::HandoffCompleted(_) => "completed a handoff".to_owned(),
        Event::SandboxApplied(_) => "runs in a sandbox".to_owned(),
        Event::PermissionAsked(_) => "asks for a permission".to_owned(),
        Event::PermissionAnswered(_) => "answered a permission request".to_owned(),
        Event::TimelineAdded(fact) => fact.message.clone(),
        Event::TranscriptAdded(fact) => format!("{} transcript entries", fact.count),
        Event::SkillsSelected(selection) => {
            let names: Vec<&str> = selection.skills.iter().map(|skill| skill.name.as_str()).collect();
            if names.is_empty() { "no skill fits the task".to_owned() } else { format!("skills: {}", names.join(", ")) }
        }
        Event::Run(event) => return run_words(event),
        _ => return None,
    })
}

/// What a session does. Its own word that it is done is no more than a report.
fn session_words(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Spawning => "starting",
        SessionStatus::Idle => "idle",
        SessionStatus::Completed => "reported done",
        status => session_state(status, false).label(),
    }
}

/// Names of fields as people read them: `parentId` is the parent.
fn field_names(fields: &[String]) -> String {
    let spaced = |field: &String| {
        let mut words = String::new();
        for c in field.strip_suffix("Id").unwrap_or(field).chars() {
            if c.is_uppercase() {
                words.push(' ');
            }
            words.extend(c.to_lowercase());
        }
        words
    };
    fields.iter().map(spaced).collect::<Vec<_>>().join(", ")
}

/// What a step with a phase does in the words of its phase; everything else in those of the log.
fn run_words(event: &RunEvent) -> Option<String> {
    match event {
        RunEvent::Entered { phase: Some(phase), visit: 1, .. } => Some(phase.as_str().to_owned()),
        RunEvent::Entered { phase: Some(phase), visit, .. } => Some(format!("{}, round {visit}", phase.as_str())),
        RunEvent::Left { phase: Some(phase), outcome, .. } => Some(format!("{}: {}", phase.as_str(), outcome.as_str())),
        _ => event.in_words(),
    }
}

#[cfg(test)]
mod tests {
    use maestro_core::workflow::StepId;

    use super::*;

    #[test]
    fn of_the_loop_only_the_work_of_agents_and_what_went_wrong_is_told() {
        let step = StepId::parse("look").unwrap();
        let entered = |phase| Event::Run(RunEvent::Entered { step: step.clone(), visit: 1, now: 0, phase });
        let left = |outcome, phase| Event::Run(RunEvent::Left { step: step.clone(), outcome, phase });
        let told = [
            entered(Some(StepPhase::Review)),
            entered(Some(StepPhase::Implement)),
            left(StepOutcome::FAIL, Some(StepPhase::Review)),
        ];
        assert!(told.iter().all(|event| !is_mechanical(event)));
        let mechanical = [
            entered(None),
            entered(Some(StepPhase::Commit)),
            left(StepOutcome::FAIL, None),
            left(StepOutcome::OK, Some(StepPhase::Commit)),
        ];
        assert!(mechanical.iter().all(is_mechanical));
    }
}
