//! Screen of all work as columns of cards, and the drawer of one task.

mod card;
mod drawer;
pub(in crate::page) mod forms;
mod plan_cards;
mod query;
mod run_card;
mod start_form;

pub(super) use run_card::{plan_address, run_address, run_title};
pub(super) use start_form::{AgentChoice, installed_agents};

use axum::http::Uri;
use maestro_core::id::{ProjectId, TaskId};
use maestro_store::{RecentRuns, TaskColumn};
use serde::Deserialize;
use serde_json::json;

use self::card::{ColumnView, columns};
use self::drawer::DrawerView;
use self::plan_cards::{plan_cards, plans_in};
use self::query::WorkScreenQuery;
use self::start_form::StartForm;
use crate::api::with_states;
use crate::app::AppState;
use crate::error::ApiError;
use crate::page::fragments::{ScreenPage, ScreenRenderer};
use crate::page::shell::RailEntry;

/// How many cards a column shows.
const SHOWN: i64 = 50;
/// How many a single column shows.
const SHOWN_ALONE: i64 = 1000;
/// How many runs are looked at, and how long ended ones are shown.
const RUNS: i64 = 200;
const RECENT: i64 = 7 * 24 * 60 * 60 * 1000;

/// What a drawer is open for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum DrawerForm {
    /// To read.
    #[default]
    None,
    /// To start an agent.
    Start,
    /// To edit the task.
    Edit,
}

/// All work, that of a project, or a single column; with the drawer of a task.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(in crate::page) struct WorkAddress {
    pub(super) project: Option<ProjectId>,
    task: Option<TaskId>,
    /// What the drawer is open for.
    form: DrawerForm,
    /// The only column that is shown.
    column: Option<TaskColumn>,
}

#[derive(Deserialize)]
struct WorkAddressQuery {
    project: Option<String>,
    task: Option<String>,
    start: Option<String>,
    edit: Option<String>,
    column: Option<String>,
}

impl WorkAddress {
    pub(super) fn parse(uri: &Uri) -> Result<Self, ApiError> {
        let query: WorkAddressQuery = super::query(uri)?;
        let project = query.project.filter(|id| !id.is_empty());
        Ok(Self {
            project: crate::extract::parse_word("project", project.as_deref())?,
            task: crate::extract::parse_word("task", query.task.as_deref())?,
            form: match (query.start, query.edit) {
                (Some(_), _) => DrawerForm::Start,
                (None, Some(_)) => DrawerForm::Edit,
                (None, None) => DrawerForm::None,
            },
            column: query.column.map(|word| card::group_of(&word)).transpose()?,
        })
    }

    pub(super) fn address(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.project.as_ref().map(|project| format!("project={project}")));
        parts.extend(self.column.map(|column| format!("column={}", card::word(column))));
        parts.extend(self.task.as_ref().map(|task| format!("task={task}")));
        parts.extend(match self.form {
            DrawerForm::None => None,
            DrawerForm::Start => Some("start=yes".to_owned()),
            DrawerForm::Edit => Some("edit=yes".to_owned()),
        });
        if parts.is_empty() { "/work".to_owned() } else { format!("/work?{}", parts.join("&")) }
    }

    /// The same without a drawer.
    fn closed(&self) -> Self {
        Self { task: None, form: DrawerForm::None, ..self.clone() }
    }

    pub(super) async fn render(&self, app: &AppState, screen: &mut ScreenRenderer<'_>) -> Result<ScreenPage, ApiError> {
        let now = screen.now();
        let limit = if self.column.is_some() { SHOWN_ALONE } else { SHOWN };
        let query = WorkScreenQuery {
            project: self.project.clone(),
            groups: self.column.map_or(TaskColumn::ALL.to_vec(), |column| vec![column]),
            limit,
            task: self.task.clone(),
            at: now,
        };
        let seen = app.store.read(query).await?;
        let runs = RecentRuns { project: self.project.clone(), workflow: None, since: now - RECENT, limit: RUNS };
        let runs = app.store.read(runs).await?;
        let runs = with_states(app, runs).await?;
        let boxes = plan_cards(&runs, &seen.projects, &seen.names).await;
        let columns = columns(&seen, &runs, boxes, limit);
        let closed = self.closed().address();
        for column in &columns {
            self.render_column(column, screen)?;
        }
        let drawer = seen.drawer.as_ref().map(|open| DrawerView::new(open, &seen.names));
        let start = match (&seen.drawer, self.form) {
            (Some(open), DrawerForm::Start) => Some(StartForm::load(app, open).await?),
            _ => None,
        };
        let shown = json!({ "it": drawer, "start": start, "closed": closed, "edits": self.form == DrawerForm::Edit,
            "here": Self { form: DrawerForm::None, ..self.clone() }.address() });
        screen.part("drawer", "work/drawer.html", shown)?;
        let projects: Vec<_> = seen.projects.iter().map(|it| json!({ "id": it.id, "name": it.name })).collect();
        let add = json!({ "projects": projects, "project": self.project });
        screen.part("add-card", "work/add.html", add)?;
        let found = plans_in(&seen.projects, self.project.as_ref()).await;
        let plans = query::plans(&runs, &found, &seen.names);
        screen.part("plan-links", "work/plans.html", json!({ "plans": plans, "board": self.closed().address() }))?;
        Ok(ScreenPage {
            template: "work/work.html",
            title: Some(drawer.map_or_else(|| "Work".to_owned(), |drawer| drawer.title)),
            rail: Some(RailEntry::Work),
            styles: &["text.css", "work.css"],
            scripts: &["work.js"],
            keys: &[
                ("h l", "the column before, after"),
                ("n", "new task"),
                ("m q", "move the card to queued; w working, y waiting for you, r ready, d done"),
                ("Esc", "close the drawer"),
            ],
            live: true,
            data: json!({ "columns": columns.iter().map(ColumnView::head).collect::<Vec<_>>(), "alone": self.column.is_some(),
                "opened": self.task.is_some(), "empty": columns.iter().all(|column| column.total == 0), "closed": closed }),
        })
    }

    fn render_column(&self, column: &ColumnView, screen: &mut ScreenRenderer<'_>) -> Result<(), ApiError> {
        let word = column.word;
        let scope = Self { column: Some(column.group), ..self.closed() }.address();
        let base = self.closed().address();
        let cards = column.cards.iter().map(|card| (card.id.as_str(), card));
        screen.list(column.list, "work/card.html", cards)?;
        screen.part(&format!("{word}-count"), "work/count.html", json!({ "total": column.total }))?;
        let more = (column.total - i64::try_from(column.cards.len()).unwrap_or(0)).max(0);
        let note = json!({ "more": more, "href": scope, "base": base, "word": word });
        screen.part(&format!("{word}-more"), "work/more.html", note)?;
        Ok(())
    }
}
