//! Questions about consent on the page: what would be executed, and what changed since a person last agreed.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use maestro_api::waiting::WaitingBody;
use maestro_core::RunId;
use maestro_core::id::ProjectId;
use maestro_core::line_diff::{LineChange, diff_lines};
use maestro_core::waiting::WaitingKind;
use maestro_engine::host;
use maestro_engine::trust::{ConsentKind, ConsentQuestion, ConsentStanding, ConsentTexts};
use maestro_store::{ListPage, ProjectById, ProjectList, RunById};
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::api::run_error;
use crate::app::AppState;
use crate::error::ApiError;

/// How many texts of a question are shown, and how many lines of each.
const TEXTS: usize = 40;
const LINES: usize = 600;
/// Of how many projects all questions are collected.
const PROJECTS: i64 = 20;

/// What questions are about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ConsentAbout {
    /// The workflow of a run.
    Run(RunId),
    /// Everything in a project.
    Project(ProjectId),
    /// Everything in all projects.
    All,
}

/// Reads what needs consent, as it is now.
pub(super) async fn questions(app: &AppState, about: &ConsentAbout) -> Result<Vec<ConsentQuestion>, ApiError> {
    let directories = match about {
        ConsentAbout::Run(id) => return run_question(app, *id).await.map(|question| question.into_iter().collect()),
        ConsentAbout::Project(id) => vec![app.store.read(ProjectById(id.clone())).await?.working_dir],
        ConsentAbout::All => {
            let page = ListPage { limit: PROJECTS, after: 0 };
            app.store.read(ProjectList { page }).await?.items.into_iter().map(|project| project.working_dir).collect()
        }
    };
    let many = *about == ConsentAbout::All;
    let asked = host::ask(&app.host, move |host| {
        let mut found = Vec::new();
        for directory in directories.into_iter().map(PathBuf::from) {
            match host.consent_questions(&directory) {
                Ok(questions) => found.extend(questions),
                // A project that cannot be read hides no other one.
                Err(error) if many => tracing::debug!("consents of {} cannot be read: {error}", directory.display()),
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    });
    let mut found: Vec<ConsentQuestion> = asked.await.map_err(|error| ApiError::internal(error.to_string()))?;
    let mut seen = std::collections::HashSet::new();
    found.retain(|question| seen.insert(question.consent.hash.clone()));
    Ok(found)
}

/// The same as it was a moment ago.
pub(super) async fn recent_questions(
    app: &AppState,
    about: &ConsentAbout,
    now: i64,
) -> Result<Arc<Vec<ConsentQuestion>>, ApiError> {
    let key = format!("{about:?}");
    if let Some(known) = app.page.kept_consents(&key, now) {
        return Ok(known);
    }
    let found = Arc::new(questions(app, about).await?);
    app.page.keep_consents(key, &found, now);
    Ok(found)
}

/// How many things changed since they were allowed. It is counted beside what is shown, which does not wait for it.
pub(super) fn changed_since_trusted(app: &AppState, now: i64) -> usize {
    if app.page.begin_count(now) {
        let app = app.clone();
        tokio::spawn(async move {
            let found = questions(&app, &ConsentAbout::All).await.ok();
            let is_changed = |it: &&ConsentQuestion| matches!(it.standing, ConsentStanding::Changed { .. });
            app.page.end_count(found.map(|found| found.iter().filter(is_changed).count()), now);
        });
    }
    app.page.changed_count()
}

/// What screens show of consents beside events; a screen that showed something else is rendered again.
pub(super) fn consent_mark(app: &AppState) -> (u64, usize) {
    (app.drivers.refusals_revision(), changed_since_trusted(app, (app.clock)()))
}

/// What runs would execute that is not allowed, by run. Where that cannot be read, their cards say how it is done
/// otherwise.
pub(super) async fn run_consents(app: &AppState, waits: &[WaitingBody], now: i64) -> HashMap<String, ConsentView> {
    let mut views = HashMap::new();
    let asks = |item: &&WaitingBody| item.kind == WaitingKind::Consent && item.ticket.is_none();
    for run in waits.iter().filter(asks).filter_map(|item| item.run_id.as_ref()) {
        let Ok(id) = run.parse() else { continue };
        let about = ConsentAbout::Run(id);
        let Ok(questions) = recent_questions(app, &about, now).await else { continue };
        let view = questions.first().and_then(|question| ConsentView::of(question, &about));
        views.extend(view.map(|view| (run.clone(), view)));
    }
    views
}

async fn run_question(app: &AppState, id: RunId) -> Result<Option<ConsentQuestion>, ApiError> {
    let record = app.store.read(RunById(id)).await?;
    let definitions = app.runs.pinned(&record).await.map_err(run_error)?;
    let workspace = record.run.context.get("workspace").and_then(Json::as_str);
    let (workspace, name) = (PathBuf::from(workspace.unwrap_or_default()), record.about.workflow);
    let asked = host::ask(&app.host, move |host| host.run_consent(&workspace, &name, &definitions)).await;
    asked.map_err(|error| ApiError::internal(error.to_string()))
}

/// A question as it is shown.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ConsentView {
    pub(super) id: String,
    hash: String,
    short: String,
    name: String,
    /// What it is, in words.
    what: &'static str,
    path: String,
    /// The project's directory, by its name and whole.
    place: String,
    directory: String,
    /// When other contents of it were allowed.
    changed_at: Option<i64>,
    /// Whether what was allowed then is known.
    compares: bool,
    texts: Vec<ChangedText>,
    /// How many texts did not change.
    same: usize,
    /// How many texts are not shown.
    more: usize,
    /// What the answer is for.
    run: Option<String>,
    project: Option<String>,
}

/// A text that is new or changed.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ChangedText {
    name: String,
    word: &'static str,
    lines: Vec<ShownLine>,
    cut: usize,
}

/// A line of a text.
#[derive(Debug, Clone, Serialize)]
struct ShownLine {
    tone: &'static str,
    text: String,
}

impl ConsentView {
    /// The card of a run that waits for this.
    pub(super) fn card(&self, title: &str, since: i64) -> Json {
        let mut shows = json!(self);
        shows["title"] = json!(title);
        shows["since"] = json!(since);
        json!({ "it": shows })
    }

    /// A question; nothing where it is answered.
    pub(super) fn of(question: &ConsentQuestion, about: &ConsentAbout) -> Option<Self> {
        let consent = &question.consent;
        let (changed_at, before) = match &question.standing {
            ConsentStanding::Allowed => return None,
            ConsentStanding::New => (None, None),
            ConsentStanding::Changed { at, before } => (Some(*at), before.as_ref()),
        };
        let mut texts = changed_texts(question.texts.all(), before.map(ConsentTexts::all));
        let same =
            question.texts.all().len().saturating_sub(texts.iter().filter(|text| text.word != "removed").count());
        let more = texts.len().saturating_sub(TEXTS);
        texts.truncate(TEXTS);
        Some(Self {
            id: format!("consent-{}", consent.hash.get(..16).unwrap_or(&consent.hash)),
            short: consent.hash.chars().take(12).collect(),
            hash: consent.hash.clone(),
            name: consent.name.clone(),
            what: match consent.kind {
                ConsentKind::Workflow => "The workflow",
                ConsentKind::Config => "Commands of the project's config",
                ConsentKind::Agents => "Agents that the project defines",
                ConsentKind::Prompt => "The project's own words for its agents",
            },
            path: consent.path.strip_prefix(&consent.project).unwrap_or(&consent.path).display().to_string(),
            place: consent.project.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            directory: consent.project.display().to_string(),
            changed_at,
            compares: before.is_some(),
            texts,
            same,
            more,
            run: if let ConsentAbout::Run(run) = about { Some(run.to_string()) } else { None },
            project: if let ConsentAbout::Project(project) = about { Some(project.to_string()) } else { None },
        })
    }
}

/// The texts that are new or changed, and those that are gone.
pub(super) fn changed_texts(
    now: &BTreeMap<String, String>,
    before: Option<&BTreeMap<String, String>>,
) -> Vec<ChangedText> {
    let old = |name: &str| before.and_then(|before| before.get(name)).map(String::as_str);
    let present = now.iter().filter(|(name, text)| old(name) != Some(text.as_str()));
    // A definition is a file of its skill, too: one text is shown once.
    let is_copy = |name: &str, text: &str| {
        before.is_none() && now.iter().any(|(other, same)| other.as_str() < name && other.contains('/') && same == text)
    };
    let changed = present.filter(|(name, text)| !is_copy(name, text)).map(|(name, text)| {
        if let Some(old) = old(name) {
            return cut_lines(name, "changed", diff_lines(old, text).into_iter().map(shown_line).collect());
        }
        let line = |text: &str| ShownLine { tone: "", text: text.to_owned() };
        cut_lines(name, if before.is_some() { "new" } else { "" }, text.lines().map(line).collect())
    });
    let is_gone = |(name, _): &(&String, &String)| !now.contains_key(*name);
    let gone = before.into_iter().flat_map(|before| before.iter().filter(is_gone));
    let gone = gone.map(|(name, text)| {
        let line = |text: &str| ShownLine { tone: "removed", text: format!("-{text}") };
        cut_lines(name, "removed", text.lines().map(line).collect())
    });
    changed.chain(gone).collect()
}

fn cut_lines(name: &str, word: &'static str, mut lines: Vec<ShownLine>) -> ChangedText {
    let cut = lines.len().saturating_sub(LINES);
    lines.truncate(LINES);
    ChangedText { name: name.to_owned(), word, lines, cut }
}

fn shown_line(line: LineChange) -> ShownLine {
    match line {
        LineChange::Same(text) => ShownLine { tone: "", text: format!(" {text}") },
        LineChange::Removed(text) => ShownLine { tone: "removed", text: format!("-{text}") },
        LineChange::Added(text) => ShownLine { tone: "added", text: format!("+{text}") },
        LineChange::LeftOut(1) => ShownLine { tone: "place", text: "… 1 line is the same".to_owned() },
        LineChange::LeftOut(count) => ShownLine { tone: "place", text: format!("… {count} lines are the same") },
    }
}
