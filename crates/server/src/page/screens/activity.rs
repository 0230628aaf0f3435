//! Screen of what happened: a table of events, a search over everything, and numbers about finished work.

mod charts;
pub(in crate::page) mod export;
mod lines;
mod numbers;
mod search;
mod segments;

use axum::http::Uri;
use maestro_core::id::{ProjectId, SessionId};
use maestro_store::EventSearch;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::lines::{EventExtent, EventLines, EventTable};
use crate::app::AppState;
use crate::error::ApiError;
use crate::extract::parse_word;
use crate::page::fragments::{ScreenPage, ScreenRenderer};
use crate::page::shell::RailEntry;

/// How many events are shown at once.
const SHOWN: i64 = 100;
/// How many characters a filter may have.
const LONGEST: usize = 200;

/// Events, results of a search, or numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(in crate::page) struct ActivityAddress {
    pub(super) project: Option<ProjectId>,
    filter: ActivityFilter,
}

/// What of all that happened is shown; as it stands in the address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
struct ActivityFilter {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    session: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    run: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    actor: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    text: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    group: String,
    /// The words of a search.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    q: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<i64>,
    /// One event, with its facts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event: Option<i64>,
    /// For how many days numbers are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    numbers: Option<i64>,
}

#[derive(Deserialize)]
struct ProjectQuery {
    project: Option<String>,
}

/// The kinds of events that can be chosen.
const KINDS: [(&str, &str); 11] = [
    ("", "what happened"),
    ("%", "every event"),
    ("task:", "tasks"),
    ("session:", "sessions"),
    ("timeline:", "reports"),
    ("run:", "runs"),
    ("permission:", "permissions"),
    ("message:", "messages"),
    ("SKILLS_", "skills"),
    ("handoff:", "handoffs"),
    ("transcript:", "transcripts"),
];

impl ActivityAddress {
    pub(super) fn parse(uri: &Uri) -> Result<Self, ApiError> {
        let ProjectQuery { project } = super::query(uri)?;
        let filter: ActivityFilter = super::query(uri)?;
        let too_long = [&filter.session, &filter.run, &filter.kind, &filter.actor, &filter.text, &filter.q];
        if too_long.into_iter().any(|text| text.chars().count() > LONGEST) {
            return Err(ApiError::invalid(format!("a filter has at most {LONGEST} characters")));
        }
        let project = project.filter(|project| !project.is_empty());
        Ok(Self { project: parse_word("project", project.as_deref())?, filter })
    }

    pub(super) fn address(&self) -> String {
        let mut pairs: Vec<(String, String)> = Vec::new();
        pairs.extend(self.project.as_ref().map(|project| ("project".to_owned(), project.to_string())));
        if let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(&self.filter) {
            let text = |value: serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            pairs.extend(fields.into_iter().map(|(name, value)| (name, text(value))));
        }
        let query: Vec<String> =
            pairs.iter().map(|(name, value)| format!("{name}={}", crate::page::address::encode(value))).collect();
        if query.is_empty() { "/activity".to_owned() } else { format!("/activity?{}", query.join("&")) }
    }

    fn with(&self, change: impl FnOnce(&mut ActivityFilter)) -> String {
        let mut other = self.clone();
        change(&mut other.filter);
        other.address()
    }

    /// The search in the log that it stands for.
    fn event_search(&self, limit: i64) -> Result<EventSearch, ApiError> {
        let filter = &self.filter;
        let named = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Ok(EventSearch {
            before: filter.event.map(|event| event.saturating_add(1)).or(filter.before),
            project: self.project.clone(),
            session: parse_word::<SessionId>("session", named(&filter.session).as_deref())?,
            run: named(&filter.run),
            kind: if filter.event.is_some() { Some(String::new()) } else { named(&filter.kind) },
            agent: match filter.actor.as_str() {
                "" => None,
                "you" => Some(String::new()),
                agent => Some(agent.to_owned()),
            },
            text: filter.text.clone(),
            limit,
        })
    }

    pub(super) async fn render(&self, app: &AppState, screen: &mut ScreenRenderer<'_>) -> Result<ScreenPage, ApiError> {
        let filter = &self.filter;
        let tabs = json!({
            "events": Self { filter: ActivityFilter::default(), ..self.clone() }.address(),
            "numbers": Self { filter: ActivityFilter { numbers: Some(7), ..ActivityFilter::default() }, ..self.clone() }.address(),
            "month": Self { filter: ActivityFilter { numbers: Some(30), ..ActivityFilter::default() }, ..self.clone() }.address(),
        });
        let view = if filter.numbers.is_some() {
            "numbers"
        } else if filter.q.is_empty() {
            "events"
        } else {
            "search"
        };
        let data = json!({
            "view": view, "tabs": tabs, "filter": filter, "project": self.project,
            "kinds": KINDS, "export": self.export_address(), "grouped": self.with(|filter| "run".clone_into(&mut filter.group)),
            "plain": self.with(|filter| filter.group.clear()),
        });
        match view {
            "numbers" => numbers::render(app, self.project.clone(), filter.numbers.unwrap_or(7), screen).await?,
            "search" => search::render(app, self.project.clone(), &filter.q, screen).await?,
            _ => self.render_events(app, screen).await?,
        }
        Ok(ScreenPage {
            template: "activity/activity.html",
            title: Some("Activity".to_owned()),
            rail: Some(RailEntry::Activity),
            styles: &["activity.css"],
            scripts: &["activity.js"],
            keys: &[("/", "search")],
            live: view == "events" && filter.before.is_none() && filter.event.is_none(),
            data,
        })
    }

    async fn render_events(&self, app: &AppState, screen: &mut ScreenRenderer<'_>) -> Result<(), ApiError> {
        let limit = if self.filter.event.is_some() { 1 } else { SHOWN };
        let found = app.store.read(EventLines { search: self.event_search(limit)? }).await?;
        let table = EventTable::new(&found, &self.filter.group, self.extent());
        screen.list("events", "activity/event.html", table.rows.iter().map(|row| (row.id.as_str(), row)))?;
        let older = found.page.older.filter(|_| self.filter.event.is_none());
        let older = older.map(|older| self.with(|filter| filter.before = Some(older)));
        screen.part("events-older", "activity/older.html", json!({ "href": older }))?;
        let note = table.rows.is_empty().then_some("Nothing happened that fits.");
        screen.part("events-note", "shell/note.html", json!({ "note": note }))?;
        Ok(())
    }

    /// A question for a kind, a run or a session gets all of it.
    fn extent(&self) -> EventExtent {
        let filter = &self.filter;
        let is_narrow =
            [&filter.kind, &filter.run, &filter.session, &filter.text].into_iter().any(|text| !text.is_empty());
        match filter.event {
            Some(_) => EventExtent::One,
            None if is_narrow => EventExtent::Every,
            None => EventExtent::Told,
        }
    }

    fn export_address(&self) -> String {
        self.address().replacen("/activity", "/page/activity.jsonl", 1)
    }
}
