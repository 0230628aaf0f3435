//! Screen of all skills: a list, everything about one, and the trial of a task.

mod detail;
pub(in crate::page) mod forms;
mod list;
mod query;
mod trial;

use std::path::PathBuf;
use std::sync::Arc;

use axum::http::Uri;
use maestro_core::id::ProjectId;
use maestro_engine::trust::{ConsentKind, ConsentQuestion, ConsentStanding};
use maestro_engine::{Freshness, ProjectSkills, host};
use maestro_skills::{Catalogue, SkillSource};
use maestro_store::ProjectById;
use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use self::detail::SkillDetail;
use self::list::{ShelfLine, lines};
use self::query::SkillScreenQuery;
use self::trial::TrialView;
use crate::app::AppState;
use crate::error::ApiError;
use crate::page::address::encode;
use crate::page::consents::{ConsentAbout, recent_questions};
use crate::page::fragments::{ScreenPage, ScreenRenderer};
use crate::page::shell::RailEntry;
use crate::page::templates::render;

/// How many skills are listed.
const SHOWN: usize = 200;
/// What counts as this week, in milliseconds.
const WEEK: i64 = 7 * 24 * 60 * 60 * 1000;

/// All skills of a project or of where the server was started, and what is open beside the list.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(in crate::page) struct SkillsAddress {
    pub(super) project: Option<ProjectId>,
    /// The skill that is shown.
    skill: Option<String>,
    /// Only those with these words.
    words: Option<String>,
    /// Only those that come from there.
    source: Option<String>,
    /// The task that is tried.
    task: Option<String>,
}

#[derive(Deserialize)]
struct SkillsAddressQuery {
    project: Option<String>,
    q: Option<String>,
    source: Option<String>,
    task: Option<String>,
}

/// What was found on disk; it is read again when the skills have changed.
struct ShelfReading {
    catalogue: Arc<Catalogue>,
    lines: Vec<ShelfLine>,
    detail: Option<SkillDetail>,
    trial: Option<TrialView>,
}

impl SkillsAddress {
    pub(super) fn parse(skill: Option<&str>, uri: &Uri) -> Result<Self, ApiError> {
        let query: SkillsAddressQuery = super::query(uri)?;
        let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let source = filled(query.source);
        if let Some(word) = &source {
            let words = SkillSource::ALL.map(SkillSource::as_str);
            let known = SkillSource::from_word(word);
            known.ok_or_else(|| ApiError::field("source", format!("must be one of {}", words.join(", "))))?;
        }
        Ok(Self {
            project: crate::extract::parse_word("project", filled(query.project).as_deref())?,
            skill: skill.map(str::to_owned),
            words: filled(query.q),
            source,
            task: filled(query.task),
        })
    }

    pub(super) fn address(&self) -> String {
        let path =
            self.skill.as_ref().map_or_else(|| "/skills".to_owned(), |skill| format!("/skills/{}", encode(skill)));
        let project = self.project.as_ref().map(|project| ("project", project.to_string()));
        let pairs = [("q", &self.words), ("source", &self.source), ("task", &self.task)];
        let pairs = pairs.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        let pairs: Vec<String> =
            project.into_iter().chain(pairs).map(|(name, value)| format!("{name}={}", encode(&value))).collect();
        if pairs.is_empty() { path } else { format!("{path}?{}", pairs.join("&")) }
    }

    /// The same with another skill open.
    fn with_skill(&self, skill: &str) -> Self {
        Self { skill: Some(skill.to_owned()), ..self.clone() }
    }

    pub(super) async fn render(&self, app: &AppState, screen: &mut ScreenRenderer<'_>) -> Result<ScreenPage, ApiError> {
        let directory = directory(app, self.project.clone()).await?;
        let place = directory.clone();
        let asked = host::ask(&app.host, move |host| host.skills(place.as_deref(), Freshness::Kept)).await;
        let (found, problem) = match asked {
            Ok(found) => (Some(found), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let reading = match (&found, screen.kept::<Arc<ShelfReading>>()) {
            (Some(found), Some(kept)) if Arc::ptr_eq(&kept.catalogue, &found.catalogue) => Some(Arc::clone(kept)),
            (Some(found), _) => Some(Arc::new(self.read(app, found.clone(), directory).await?)),
            (None, _) => None,
        };
        let opened = reading.as_ref().and_then(|reading| reading.detail.as_ref().map(|detail| detail.name.clone()));
        let since = screen.now() - WEEK;
        let query = SkillScreenQuery { project: self.project.clone(), since, skill: opened };
        let seen = app.store.read(query).await?;
        let lines = reading.as_ref().map(|reading| reading.lines.as_slice()).unwrap_or_default();
        self.render_list(lines, &seen, screen)?;
        let detail = reading.as_ref().and_then(|reading| reading.detail.as_ref());
        let missing = self.skill.as_ref().filter(|_| detail.is_none());
        let used = detail.and_then(|detail| seen.uses.get(&detail.name)).cloned().unwrap_or_default();
        let trust = match detail {
            Some(detail) if !detail.broken => Some(self.trust(app, &detail.name, screen.now()).await?),
            _ => None,
        };
        let shown = json!({ "it": detail, "missing": missing, "receivers": seen.receivers, "handed": used.handed,
            "opened": used.opened, "trust": trust });
        screen.part("skill", "skills/skill.html", shown)?;
        let trial = reading.as_ref().and_then(|reading| reading.trial.as_ref());
        let trial = trial.map(|trial| self.trial_html(trial)).transpose()?;
        let title = self.skill.clone().unwrap_or_else(|| "Skills".to_owned());
        if let Some(reading) = reading {
            screen.keep(reading);
        }
        Ok(ScreenPage {
            template: "skills/skills.html",
            title: Some(title),
            rail: Some(RailEntry::Skills),
            styles: &["text.css", "skills.css"],
            scripts: &["skills.js"],
            keys: &[("t", "try a task"), ("/", "search skills")],
            live: true,
            data: self.data(trial.as_deref(), problem.as_deref()),
        })
    }

    /// Whether what a skill would execute is allowed.
    async fn trust(&self, app: &AppState, name: &str, now: i64) -> Result<Json, ApiError> {
        let about = self.project.clone().map_or(ConsentAbout::All, ConsentAbout::Project);
        let questions = recent_questions(app, &about, now).await?;
        let is_own = |question: &&ConsentQuestion| {
            let consent = &question.consent;
            let own = consent.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            consent.kind == ConsentKind::Workflow && own
        };
        let own: Vec<&ConsentQuestion> = questions.iter().filter(is_own).collect();
        let changed = own.iter().find_map(|question| match question.standing {
            ConsentStanding::Changed { at, .. } => Some(at),
            ConsentStanding::Allowed | ConsentStanding::New => None,
        });
        let is_open = own.iter().any(|question| question.standing != ConsentStanding::Allowed);
        let href = self.project.as_ref().map_or_else(|| "/trust".to_owned(), |id| format!("/trust?project={id}"));
        Ok(json!({ "executes": !own.is_empty(), "open": is_open, "changed_at": changed, "href": href }))
    }

    async fn read(
        &self,
        app: &AppState,
        found: ProjectSkills,
        directory: Option<PathBuf>,
    ) -> Result<ShelfReading, ApiError> {
        let (address, host) = (self.clone(), Arc::clone(&app.host));
        let read = move || {
            let catalogue = Arc::clone(&found.catalogue);
            let detail = address.skill.as_ref();
            let detail = detail.and_then(|name| SkillDetail::load(&*host, directory.as_deref(), &catalogue, name));
            let trial = address.task.as_ref().map(|task| TrialView::of(&found, task));
            ShelfReading { lines: lines(&address, &catalogue), catalogue, detail, trial }
        };
        tokio::task::spawn_blocking(read).await.map_err(|error| ApiError::internal(error.to_string()))
    }

    fn render_list(
        &self,
        all: &[ShelfLine],
        seen: &query::SkillScreenSnapshot,
        screen: &mut ScreenRenderer<'_>,
    ) -> Result<(), ApiError> {
        let row = |line: &ShelfLine| {
            let used = seen.uses.get(&line.name).map_or(0, |used| used.handed.max(used.opened));
            json!({ "line": line, "used": used, "here": self.skill.as_ref() == Some(&line.name) })
        };
        let rows: Vec<Json> = all.iter().take(SHOWN).map(row).collect();
        let more = all.len().saturating_sub(rows.len());
        let filtered = self.words.is_some() || self.source.is_some();
        screen.part("skill-list", "skills/list.html", json!({ "rows": rows, "more": more, "filtered": filtered }))?;
        screen.part("skill-count", "work/count.html", json!({ "total": all.len() }))?;
        Ok(())
    }

    /// The result of a tried task. It is no fragment: the reader may be at its form.
    fn trial_html(&self, trial: &TrialView) -> Result<String, ApiError> {
        let context = context! { trial => Value::from(Serde(trial)), back => self.address(),
        project => self.project.as_ref().map(ToString::to_string) };
        Ok(render("skills/try.html", context)?)
    }

    fn data(&self, trial: Option<&str>, problem: Option<&str>) -> Json {
        let plain = Self { words: None, source: None, ..self.clone() };
        let sources: Vec<&str> = SkillSource::ALL.map(SkillSource::as_str).to_vec();
        json!({
            "opened": self.skill, "words": self.words, "source": self.source, "task": self.task, "trial": trial,
            "project": self.project, "sources": sources, "problem": problem, "plain": plain.address(),
            "filtered": self.words.is_some() || self.source.is_some(),
            "list": Self { skill: None, ..self.clone() }.address(),
            "form": self.skill.as_ref().map_or_else(|| "/skills".to_owned(), |skill| format!("/skills/{}", encode(skill))),
        })
    }
}

/// The directory of a project.
pub(super) async fn directory(app: &AppState, project: Option<ProjectId>) -> Result<Option<PathBuf>, ApiError> {
    let Some(id) = project else { return Ok(None) };
    Ok(Some(PathBuf::from(app.store.read(ProjectById(id)).await?.working_dir)))
}
