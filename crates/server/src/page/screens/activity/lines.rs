//! Events as lines: when, who, what, and what it is about.

use std::collections::{BTreeSet, HashMap};

use maestro_core::event::Event;
use maestro_core::excerpt::ellipsize;
use maestro_core::id::{SessionId, TaskId};
use maestro_core::workflow::RunEvent;
use maestro_store::{DbTx, EventRow, EventSearch, EventSearchPage, Query, SessionById, StoreError, TaskTitles};
use serde::Serialize;
use serde_json::Value as Json;

use super::super::work::run_address;
use crate::page::badge::status_words;
use crate::page::cards::{TITLE, WORDS, worker_name};
use crate::page::text::DisplayText;

/// How many characters of facts are shown.
const FACTS: usize = 50_000;

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
    workers: HashMap<String, String>,
}

impl Query for EventLines {
    type Output = NamedEvents;

    fn load(&self, db: &mut DbTx<'_>) -> Result<NamedEvents, StoreError> {
        let page = self.search.load(db)?;
        let tasks: BTreeSet<TaskId> = page.rows.iter().filter_map(|row| row.task.as_deref()?.parse().ok()).collect();
        let sessions: BTreeSet<SessionId> =
            page.rows.iter().filter_map(|row| row.session.as_deref()?.parse().ok()).collect();
        let mut workers = HashMap::new();
        for id in sessions {
            // One that was deleted is known by its id only.
            if let Ok(session) = SessionById(id.clone()).load(db) {
                workers.insert(id.to_string(), worker_name(&session));
            }
        }
        let titles = TaskTitles { tasks: tasks.into_iter().collect() }.load(db)?;
        Ok(NamedEvents { page, titles, workers })
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

impl EventTable {
    pub(super) fn new(found: &NamedEvents, group: &str, alone: bool) -> Self {
        let rows = &found.page.rows;
        if group != "run" {
            return Self { rows: rows.iter().map(|row| line(row, found, alone)).collect() };
        }
        let mut runs: Vec<Option<&str>> = Vec::new();
        for row in rows {
            if !runs.contains(&row.run.as_deref()) {
                runs.push(row.run.as_deref());
            }
        }
        let mut lines = Vec::new();
        for run in runs {
            let of_run = rows.iter().filter(|row| row.run.as_deref() == run);
            let mut of_run = of_run.map(|row| line(row, found, alone)).peekable();
            if let Some(first) = of_run.peek() {
                lines.push(head(run, first));
            }
            lines.extend(of_run);
        }
        Self { rows: lines }
    }
}

fn head(run: Option<&str>, first: &EventLine) -> EventLine {
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
        head: Some(run.map_or_else(|| "without a run".to_owned(), |run| format!("run {run}"))),
    }
}

fn line(row: &EventRow, found: &NamedEvents, alone: bool) -> EventLine {
    let event = Event::from_log(&row.kind, row.payload.get()).ok();
    let words = |event: &Event| if names_task(row, found) { task_words(event) } else { None };
    let what = event.as_ref().and_then(|event| words(event).or_else(|| event_words(event)));
    let what = what.unwrap_or_else(|| row.kind.replace([':', '_'], " ").to_lowercase());
    let task = row.task.as_deref().and_then(|id| Some((id, found.titles.get(&id.parse::<TaskId>().ok()?)?)));
    let (about, href) = match (&row.run, task, &row.session) {
        (_, Some((id, title)), _) => (Some(ellipsize(title, TITLE)), Some(format!("/work?task={id}"))),
        (Some(run), None, _) => (Some(format!("run …{}", tail(run))), Some(run_address(run))),
        (None, None, Some(session)) => (Some("session".to_owned()), Some(format!("/sessions/{session}"))),
        (None, None, None) => (None, None),
    };
    EventLine {
        id: format!("event-{}", row.seq),
        seq: row.seq,
        at: row.at,
        kind: row.kind.clone(),
        who: who(row, event.as_ref(), found),
        what: DisplayText::printed(&what, WORDS),
        about,
        href,
        facts: alone.then(|| DisplayText::exactly(&indented(row.payload.get()), FACTS)),
        head: None,
    }
}

/// JSON as a person reads it.
fn indented(payload: &str) -> String {
    let payload: Json = serde_json::from_str(payload).unwrap_or_default();
    serde_json::to_string_pretty(&payload).unwrap_or_default()
}

fn tail(id: &str) -> String {
    let skip = id.chars().count().saturating_sub(8);
    id.chars().skip(skip).collect()
}

fn who(row: &EventRow, event: Option<&Event>, found: &NamedEvents) -> String {
    let worker = |id: &str| found.workers.get(id).cloned();
    let by = match event {
        Some(Event::TaskCreated(fact) | Event::TaskUpdated(fact) | Event::TaskDeleted(fact)) => {
            return fact.by.as_ref().map_or_else(
                || "you".to_owned(),
                |by| worker(&by.to_string()).unwrap_or_else(|| "a session".to_owned()),
            );
        }
        Some(Event::MessageQueued(_) | Event::PermissionAnswered(_)) => return "you".to_owned(),
        _ => row.session.as_deref(),
    };
    match by {
        Some(session) => worker(session).unwrap_or_else(|| "a session".to_owned()),
        None if row.run.is_some() => "the run".to_owned(),
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
        Event::TaskUpdated(fact) => format!("changed {}", fact.fields.join(", ")),
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
        Event::TaskUpdated(fact) => format!("changed {} of “{}”", fact.fields.join(", "), fact.title),
        Event::SessionCreated(fact) => format!("session “{}” began", fact.name),
        Event::SessionSpawn(fact) => format!("an agent is to start for “{}”", fact.name),
        Event::SessionUpdated(fact) => match &fact.reason {
            Some(reason) => format!("session “{}” is {}: {reason}", fact.name, fact.status.as_str()),
            None => format!("session “{}” is {}", fact.name, fact.status.as_str()),
        },
        Event::SessionDeleted(fact) => format!("session “{}” was deleted", fact.name),
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

fn run_words(event: &RunEvent) -> Option<String> {
    Some(match event {
        RunEvent::Began { workflow, .. } => format!("{workflow} began"),
        RunEvent::Entered { step, visit: 1, .. } => format!("step {step}"),
        RunEvent::Entered { step, visit, .. } => format!("step {step}, visit {visit}"),
        RunEvent::Left { step, outcome, .. } => format!("step {step}: {}", outcome.as_str()),
        RunEvent::Executed { step, outcome, reason, .. } => match reason {
            Some(reason) => format!("command of {step}: {}: {reason}", outcome.as_str()),
            None => format!("command of {step}: {}", outcome.as_str()),
        },
        RunEvent::Judged { gate, round, outcome, reasons } => {
            let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
            format!("gate {gate}, round {round}: {}{reasons}", outcome.as_str())
        }
        RunEvent::Called { workflow, params, .. } => match params.get("task").and_then(Json::as_str) {
            Some(task) => format!("task “{task}”"),
            None => format!("called {workflow}"),
        },
        RunEvent::Returned { status, message, .. } => match message {
            Some(message) => format!("returned {}: {message}", status.as_str()),
            None => format!("returned {}", status.as_str()),
        },
        RunEvent::Shown { text, .. } => text.clone(),
        RunEvent::Ended { ending } => match &ending.message {
            Some(message) => format!("ended {}: {message}", ending.status.as_str()),
            None => format!("ended {}", ending.status.as_str()),
        },
        RunEvent::Paused {} => "paused".to_owned(),
        RunEvent::Resumed {} => "resumed".to_owned(),
        RunEvent::Branched { step, .. } => format!("goes on from step {step}"),
        RunEvent::Cancelled {} => "stopped for good".to_owned(),
        RunEvent::Landed { how, .. } => how.as_str().to_owned(),
        _ => return None,
    })
}
