//! Screen of a plan: its text as it reads, each task with how it stands, and the selected task.

pub(in crate::page) mod forms;
mod header;
mod panel;
mod progress;
mod query;
mod rows;

use std::collections::HashMap;
use std::path::PathBuf;

use axum::http::Uri;
use maestro_core::id::ProjectId;
use maestro_core::plan::parse_plan;
use maestro_engine::plan_files::{CommitSize, PlanFileError, PlanText, commit_sizes, read_plan};
use serde::Deserialize;
use serde_json::json;

use self::header::PlanHeader;
use self::panel::TaskPanel;
use self::progress::PlanHistory;
use self::query::{PlanScreenQuery, PlanScreenSnapshot};
use self::rows::plan_rows;
use super::work::{installed_agents, plan_address};
use crate::api::{RunWithState, with_states};
use crate::app::AppState;
use crate::error::ApiError;
use crate::page::fragments::{ScreenPage, ScreenRenderer};
use crate::page::shell::RailEntry;

/// A plan of a project, and the task that is selected in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::page) struct PlanAddress {
    pub(super) project: ProjectId,
    path: String,
    /// The line of the selected task.
    line: Option<usize>,
    form: PlanForm,
}

/// The form that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum PlanForm {
    #[default]
    None,
    /// The label of the selected task.
    Edit,
    /// A task behind the selected one, or at the end.
    Add,
    /// A loop through the plan.
    Start,
}

#[derive(Deserialize)]
struct PlanAddressQuery {
    task: Option<usize>,
    form: Option<String>,
}

/// What the next rendering continues from.
#[derive(Debug, Clone, Default)]
struct KeptPlan {
    history: PlanHistory,
    sizes: HashMap<String, CommitSize>,
}

impl PlanAddress {
    pub(super) fn parse(project: &str, path: &[&str], uri: &Uri) -> Result<Self, ApiError> {
        let query: PlanAddressQuery = super::query(uri)?;
        Ok(Self {
            project: project.parse().map_err(|error| ApiError::field("project", error))?,
            path: path.join("/"),
            line: query.task,
            form: match query.form.as_deref() {
                Some("edit") => PlanForm::Edit,
                Some("add") => PlanForm::Add,
                Some("start") => PlanForm::Start,
                _ => PlanForm::None,
            },
        })
    }

    pub(super) fn address(&self) -> String {
        let form = match self.form {
            PlanForm::None => None,
            PlanForm::Edit => Some("form=edit".to_owned()),
            PlanForm::Add => Some("form=add".to_owned()),
            PlanForm::Start => Some("form=start".to_owned()),
        };
        let query: Vec<String> = self.line.map(|line| format!("task={line}")).into_iter().chain(form).collect();
        let place = plan_address(&self.project.to_string(), &self.path);
        if query.is_empty() { place } else { format!("{place}?{}", query.join("&")) }
    }

    pub(super) async fn render(&self, app: &AppState, screen: &mut ScreenRenderer<'_>) -> Result<ScreenPage, ApiError> {
        let kept = screen.kept::<KeptPlan>().cloned().unwrap_or_default();
        let query = PlanScreenQuery {
            project: self.project.clone(),
            path: self.path.clone(),
            at: screen.now(),
            history: kept.history,
        };
        let seen = app.store.read(query).await?;
        let runs = with_states(app, seen.runs.clone()).await?;
        let place = place_of(&seen, &runs);
        let read = read_all(place, self.path.clone(), &seen, kept.sizes).await?;
        let plan = parse_plan(&read.plan.text);
        let rows = plan_rows(&read.plan.text, &plan, &seen.history, &runs, &read.sizes);
        let header = PlanHeader::new(&self.path, &seen, &runs, &rows);
        let here = self.address();
        let base = Self { line: None, form: PlanForm::None, ..self.clone() }.address();
        screen.part("plan-head", "plan/header.html", json!({ "it": header, "base": base }))?;
        let chosen = self.line.and_then(|line| plan.tasks.iter().find(|task| task.line_number == line));
        let panel = chosen.map(|task| TaskPanel::new(task, &seen, &runs, &read));
        let retries = panel.as_ref().is_some_and(|panel| panel.can_retry);
        let agents = match self.form {
            PlanForm::Start => Some(start_choices(app, &seen).await?),
            _ if retries => Some(start_choices(app, &seen).await?),
            _ => None,
        };
        let shown = json!({
            "it": panel, "form": self.form.word(), "version": read.plan.version, "base": base, "here": here,
            "agents": agents, "project": self.project, "path": self.path, "end": header.end,
        });
        screen.part("plan-panel", "plan/panel.html", shown)?;
        // One fragment: a file changes without an event, so that a page may know other rows than the last rendering.
        screen.part("plan", "plan/rows.html", json!({ "rows": rows }))?;
        let note = plan.tasks.is_empty().then_some("No task in this file: a task is a line that begins with `- [ ]`.");
        screen.part("plan-note", "shell/note.html", json!({ "note": note }))?;
        screen.keep(KeptPlan { history: seen.history, sizes: read.sizes });
        Ok(ScreenPage {
            template: "plan/plan.html",
            title: Some(self.path.clone()),
            rail: Some(RailEntry::Work),
            styles: &["text.css", "plan.css"],
            scripts: &["plan.js"],
            keys: &[("e", "edit the task"), ("n", "add a task"), ("o", "open its run"), ("Esc", "close the task")],
            live: true,
            data: json!({ "base": base, "selected": self.line }),
        })
    }
}

impl PlanForm {
    fn word(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Edit => "edit",
            Self::Add => "add",
            Self::Start => "start",
        }
    }
}

/// Where the plan is read: where a run that goes on has it, otherwise in the project.
fn place_of(seen: &PlanScreenSnapshot, runs: &[RunWithState]) -> PathBuf {
    let live = runs.iter().find(|run| run.stands.state.is_live());
    let copy = live.and_then(|run| {
        let place = run.record.run.frames.first()?.variables.get("plan_place")?.as_str()?;
        Some(PathBuf::from(place)).filter(|place| place.is_absolute())
    });
    copy.unwrap_or_else(|| PathBuf::from(&seen.project.working_dir))
}

/// What was read from files and git.
struct PlanFiles {
    plan: PlanText,
    sizes: HashMap<String, CommitSize>,
}

async fn read_all(
    place: PathBuf,
    path: String,
    seen: &PlanScreenSnapshot,
    mut sizes: HashMap<String, CommitSize>,
) -> Result<PlanFiles, ApiError> {
    let project = PathBuf::from(&seen.project.working_dir);
    let commits: Vec<String> = seen
        .history
        .all()
        .filter_map(|(_, attempt)| attempt.commit.clone())
        .filter(|commit| !sizes.contains_key(commit))
        .collect();
    let read = move || -> Result<PlanFiles, ApiError> {
        // The copy of a run may be gone already.
        let plan =
            read_plan(&place, &path).or_else(|_| read_plan(&project, &path)).map_err(|error| plan_error(&error))?;
        sizes.extend(commit_sizes(&project, &commits));
        Ok(PlanFiles { plan, sizes })
    };
    tokio::task::spawn_blocking(read).await.map_err(|error| ApiError::internal(error.to_string()))?
}

/// Why a plan cannot be shown or changed, as it is sent.
fn plan_error(error: &PlanFileError) -> ApiError {
    let text = error.to_string();
    match error {
        PlanFileError::NotAPlan(_) | PlanFileError::NotFound(_) => ApiError::not_found(text),
        PlanFileError::Unusable { .. } => ApiError::internal(text),
        PlanFileError::Changed => {
            let why = "Not saved: the plan changed meanwhile. Reload to see the change, then do it again.";
            ApiError::new(axum::http::StatusCode::CONFLICT, "REFUSED", why)
        }
        PlanFileError::TooLarge(_) | PlanFileError::Edit(_) => ApiError::invalid(text),
    }
}

async fn start_choices(app: &AppState, seen: &PlanScreenSnapshot) -> Result<Vec<super::work::AgentChoice>, ApiError> {
    let (host, directory) = (app.host.clone(), PathBuf::from(&seen.project.working_dir));
    let read = move || {
        let skills = host.skills(Some(&directory), maestro_engine::Freshness::Kept);
        installed_agents(&*host, &directory, skills.as_ref().ok())
    };
    tokio::task::spawn_blocking(read).await.map_err(|error| ApiError::internal(error.to_string()))
}
