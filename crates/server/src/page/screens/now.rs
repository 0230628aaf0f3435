//! First screen: what waits, what runs, what can be reviewed, and what ended since the last visit.

mod ended;
mod mapper;
mod query;
mod running;
mod side;
mod view;
mod waits;

use std::collections::HashMap;
use std::path::PathBuf;

use axum::http::Uri;
use maestro_api::waiting::WaitingBody;
use maestro_core::id::{ProjectId, SessionId};
use maestro_core::{RunId, WorkState};
use minijinja::Error;
use serde::Deserialize;
use serde_json::json;

use self::mapper::OverviewMapper;
use self::query::OverviewQuery;
use crate::app::AppState;
use crate::error::ApiError;
use crate::extract::parse_word;
use crate::page::agent_totals::AgentTotals;
use crate::page::consents::{ConsentView, changed_since_trusted, run_consents};
use crate::page::fragments::{ScreenPage, ScreenRenderer};
use crate::page::run_overview::{RunOverview, read_runs};
use crate::page::shell::RailEntry;
use crate::work_changes::BranchSize;

/// How far back a first visit looks.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// How many ready and stopped rows are shown; the rest is a number.
const SHOWN: usize = 10;
/// How many running rows are shown.
const RUNNING: usize = 100;

/// Everything, or everything of one project, since the person was last here.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::page) struct NowAddress {
    pub(in crate::page) project: Option<ProjectId>,
    pub(in crate::page) since: Option<i64>,
}

#[derive(Deserialize)]
struct NowQuery {
    project: Option<String>,
    since: Option<i64>,
}

impl NowAddress {
    pub(super) fn parse(uri: &Uri) -> Result<Self, ApiError> {
        let NowQuery { project, since } = super::query(uri)?;
        // An empty choice is none.
        Ok(Self { project: parse_word("project", project.as_deref().filter(|id| !id.is_empty()))?, since })
    }

    pub(super) fn address(&self) -> String {
        let project = self.project.as_ref().map(|project| format!("project={project}"));
        let since = self.since.map(|since| format!("since={since}"));
        let query: Vec<String> = [project, since].into_iter().flatten().collect();
        if query.is_empty() { "/".to_owned() } else { format!("/?{}", query.join("&")) }
    }

    pub(super) async fn render(
        &self,
        app: &AppState,
        waits: &[WaitingBody],
        screen: &mut ScreenRenderer<'_>,
    ) -> Result<ScreenPage, ApiError> {
        let now = screen.now();
        let since = self.since.filter(|since| *since <= now).unwrap_or(now - DAY);
        let totals = screen.kept::<HashMap<SessionId, AgentTotals>>().cloned().unwrap_or_default();
        let seen = app.store.read(OverviewQuery { project: self.project.clone(), at: now, since, totals }).await?;
        screen.keep(seen.totals.clone());
        let runs = read_runs(app, seen.runs.clone()).await?;
        let branches = branch_sizes(app, &runs, now).await;
        let directory = seen.project.as_ref().map(|project| PathBuf::from(&project.working_dir));
        let around = app.page.surroundings(&app.host, directory, now).await;
        let mapper = OverviewMapper::new(&seen, &runs, &branches);
        screen.part("steps", "now/steps.html", json!({ "steps": mapper.first_steps(&around) }))?;
        let changed = changed_since_trusted(app, now);
        screen.part("side", "now/side.html", json!({ "side": mapper.side(&around), "changed": changed }))?;
        let consents = run_consents(app, waits, now).await;
        waiting(&mapper, waits, &consents, screen)?;
        running(&mapper, screen)?;
        ended(&mapper, since, self.since, screen)?;
        Ok(ScreenPage {
            template: "now/now.html",
            title: None,
            rail: Some(RailEntry::Now),
            styles: &["text.css", "now.css"],
            scripts: &["now.js"],
            keys: &[("a A d", "allow once, always in this run, deny"), ("s", "say something"), ("p", "pause, resume")],
            live: true,
            data: json!({ "started": !runs.is_empty() || !waits.is_empty() || seen.alive.total > 0 }),
        })
    }
}

/// What the ready runs left on their branches.
async fn branch_sizes(app: &AppState, runs: &[RunOverview], now: i64) -> HashMap<RunId, BranchSize> {
    let mut sizes = HashMap::new();
    for run in runs.iter().filter(|run| run.summary.state == WorkState::Ready) {
        if let Some(size) = app.page.branch(run.record.id, &run.summary.workspace, now).await {
            sizes.insert(run.record.id, size);
        }
    }
    sizes
}

fn waiting(
    mapper: &OverviewMapper<'_>,
    waits: &[WaitingBody],
    consents: &HashMap<String, ConsentView>,
    screen: &mut ScreenRenderer<'_>,
) -> Result<(), Error> {
    let cards = mapper.cards(waits, consents);
    let note =
        if cards.is_empty() { Some("Nothing waits for you.".to_owned()) } else { more(waits.len(), cards.len()) };
    screen.zone("waits", "Waits for you", count(waits.len()), note.as_deref())?;
    let ids = cards.iter().map(|card| card.id.clone()).collect();
    for card in cards {
        screen.part(&card.id, card.template, card.shows)?;
    }
    screen.order("waits", ids);
    Ok(())
}

fn running(mapper: &OverviewMapper<'_>, screen: &mut ScreenRenderer<'_>) -> Result<(), Error> {
    let view = mapper.running();
    let note = match view.total {
        0 => Some("Nothing runs.".to_owned()),
        _ if view.groups.is_empty() => more(view.total, view.rows.len().min(RUNNING)),
        _ => None,
    };
    screen.zone("running", "Running", count(view.total), note.as_deref())?;
    screen.list("running", "now/row.html", view.rows.iter().take(RUNNING).map(|row| (row.id.as_str(), row)))?;
    screen.list("groups", "now/group.html", view.groups.iter().map(|group| (group.id.as_str(), group)))?;
    screen.zone("own", "Your own sessions", count(view.own.len()), None)?;
    screen.list("own", "now/row.html", view.own.iter().map(|row| (row.id.as_str(), row)))
}

fn ended(
    mapper: &OverviewMapper<'_>,
    since: i64,
    visited: Option<i64>,
    screen: &mut ScreenRenderer<'_>,
) -> Result<(), Error> {
    let ready = mapper.ready();
    screen.zone("ready", "Ready for review", count(ready.len()), more(ready.len(), SHOWN).as_deref())?;
    screen.list("ready", "now/ready.html", ready.iter().take(SHOWN).map(|row| (row.id.as_str(), row)))?;
    let stopped = mapper.stopped(since);
    let visit = mapper.visit(since, visited, stopped.len());
    screen.part("visit", "now/visit.html", json!({ "it": visit }))?;
    screen.part("done", "now/done.html", json!({ "it": visit }))?;
    screen.list("stopped", "now/stopped.html", stopped.iter().take(SHOWN).map(|row| (row.id.as_str(), row)))?;
    screen.note("stopped-note", more(stopped.len(), SHOWN).as_deref())
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// How many are left out.
fn more(all: usize, shown: usize) -> Option<String> {
    all.checked_sub(shown).filter(|rest| *rest > 0).map(|rest| format!("and {rest} more"))
}
