//! First screen: what waits, what runs, and what ended.

mod mapping;
mod query;
mod view;

use axum::http::Uri;
use maestro_api::waiting::WaitingBody;
use maestro_core::id::ProjectId;
use minijinja::Error;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use self::query::OverviewQuery;
use self::view::OverviewView;
use crate::app::AppState;
use crate::error::ApiError;
use crate::extract::parse_word;
use crate::page::fragments::{ScreenPage, ScreenRenderer};
use crate::page::shell::RailEntry;

/// Everything, or everything of one project.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::page) struct NowAddress {
    pub(in crate::page) project: Option<ProjectId>,
}

#[derive(Deserialize)]
struct NowQuery {
    project: Option<String>,
}

impl NowAddress {
    pub(super) fn parse(uri: &Uri) -> Result<Self, ApiError> {
        let NowQuery { project } = super::query(uri)?;
        // An empty choice is none.
        Ok(Self { project: parse_word("project", project.as_deref().filter(|id| !id.is_empty()))? })
    }

    pub(super) fn address(&self) -> String {
        match &self.project {
            Some(project) => format!("/?project={project}"),
            None => "/".to_owned(),
        }
    }

    pub(super) async fn render(
        &self,
        app: &AppState,
        waits: &[WaitingBody],
        screen: &mut ScreenRenderer<'_>,
    ) -> Result<ScreenPage, ApiError> {
        let seen = app.store.read(OverviewQuery { project: self.project.clone(), at: screen.now() }).await?;
        let view = OverviewView::new(&seen, waits);
        screen.part("steps", "now/steps.html", json!({ "steps": view.steps }))?;
        screen.part("side", "now/side.html", json!({ "side": view.side }))?;
        waiting(&view, screen)?;
        running(&view, screen)?;
        ended(&view, screen)?;
        Ok(ScreenPage {
            template: "now/now.html",
            title: None,
            rail: Some(RailEntry::Now),
            styles: &["now.css"],
            scripts: &[],
            keys: &[
                ("a A d", "allow once, always in this run, deny"),
                ("s", "write a message"),
                ("p", "pause, resume"),
            ],
            live: true,
            data: Json::Null,
        })
    }
}

fn waiting(view: &OverviewView, screen: &mut ScreenRenderer<'_>) -> Result<(), Error> {
    let shown = view.waits.len() + view.asks.len();
    let open = i64::try_from(shown).unwrap_or(i64::MAX);
    let note = if shown == 0 { Some("Nothing waits for you.".to_owned()) } else { more(view.waiting - open) };
    screen.zone("waits", "Waits for you", view.waiting, note.as_deref())?;
    let waits = view.waits.iter().map(|wait| (wait.since, &wait.id, "cards/wait.html", json!({ "it": wait })));
    let asks = view.asks.iter().map(|ask| (ask.since, &ask.id, "cards/permission.html", json!({ "it": ask })));
    let mut cards: Vec<_> = waits.chain(asks).collect();
    cards.sort_by_key(|(since, ..)| *since);
    let ids = cards.iter().map(|(_, id, ..)| (*id).clone()).collect();
    for (_, id, template, shows) in cards {
        screen.part(id, template, shows)?;
    }
    screen.order("waits", ids);
    Ok(())
}

fn running(view: &OverviewView, screen: &mut ScreenRenderer<'_>) -> Result<(), Error> {
    let shown = i64::try_from(view.running.len()).unwrap_or(i64::MAX);
    let note = match view.alive {
        0 => Some("Nothing runs.".to_owned()),
        _ if view.groups.is_empty() => more(view.alive - shown),
        _ => None,
    };
    screen.zone("running", "Running", view.alive, note.as_deref())?;
    screen.list("running", "now/row.html", view.running.iter().map(|run| (run.id.as_str(), run)))?;
    screen.list("groups", "now/group.html", view.groups.iter().map(|group| (group.id.as_str(), group)))
}

fn ended(view: &OverviewView, screen: &mut ScreenRenderer<'_>) -> Result<(), Error> {
    let shown = i64::try_from(view.ended_badly.len() + view.ended_well.len()).unwrap_or(i64::MAX);
    let note = if view.ended == 0 { Some("Nothing ended.".to_owned()) } else { more(view.ended - shown) };
    screen.zone("ended", "Ended in the last 24 hours", view.ended, note.as_deref())?;
    screen.list("ended-badly", "now/ended.html", view.ended_badly.iter().map(|ended| (ended.id.as_str(), ended)))?;
    screen.list("ended-well", "now/ended.html", view.ended_well.iter().map(|ended| (ended.id.as_str(), ended)))
}

fn more(count: i64) -> Option<String> {
    (count > 0).then(|| format!("and {count} more"))
}
