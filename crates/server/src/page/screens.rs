//! Screens of the page, one file each: its address, what it reads, and the fragments it shows.
//!
//! A new screen is a variant of [`ScreenId`], an entry in [`ScreenId::ROUTES`], a file here, and templates and a style
//! sheet in a folder of its own, listed in `files.rs`.

pub(super) mod activity;
mod now;
pub(super) mod plan;
pub(crate) mod run;
mod settings;
pub(super) mod skills;
mod trust;
pub(super) mod work;
pub(super) mod workflows;

use axum::extract::Query;
use axum::http::Uri;
use maestro_core::id::ProjectId;
use serde::de::DeserializeOwned;

use self::activity::ActivityAddress;
use self::now::NowAddress;
use self::plan::PlanAddress;
use self::run::RunAddress;
use self::settings::SettingsAddress;
use self::skills::SkillsAddress;
use self::trust::TrustAddress;
use self::work::WorkAddress;
use self::workflows::WorkflowsAddress;
use super::fragments::{RenderedScreen, ScreenPage, ScreenRenderer};
use super::shell::{ShellQuery, waiting_sessions};
use super::{address, health};
use crate::app::AppState;
use crate::error::ApiError;
use crate::waiting::waiting_items;

/// The identity of a screen: its address. Two viewers of the same address see the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ScreenId {
    /// What goes on now.
    Now(NowAddress),
    /// What happened.
    Activity(ActivityAddress),
    /// A plan.
    Plan(PlanAddress),
    /// One run, or one session.
    Run(RunAddress),
    /// All work, in columns.
    Work(WorkAddress),
    /// All skills, and one of them.
    Skills(SkillsAddress),
    /// All workflows, and one of them.
    Workflows(WorkflowsAddress),
    /// What waits for consent.
    Trust(TrustAddress),
    /// Settings.
    Settings(SettingsAddress),
}

impl ScreenId {
    /// The routes of all screens.
    pub(super) const ROUTES: [&str; 12] = [
        "/",
        "/runs/{id}",
        "/sessions/{id}",
        "/work",
        "/work/{project}/plan/{*path}",
        "/skills",
        "/skills/{name}",
        "/workflows",
        "/workflows/{*name}",
        "/activity",
        TrustAddress::PATH,
        SettingsAddress::PATH,
    ];

    /// The screen at an address of this server; nothing where there is none.
    pub(super) fn parse(uri: &Uri) -> Result<Option<Self>, ApiError> {
        let segments = address::segments(uri.path())?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        Ok(Some(match segments[..] {
            [] => Self::Now(NowAddress::parse(uri)?),
            ["runs", id] => Self::Run(RunAddress::run(id, uri)?),
            ["sessions", id] => Self::Run(RunAddress::session(id, uri)?),
            ["work", project, "plan", ref path @ ..] => Self::Plan(PlanAddress::parse(project, path, uri)?),
            ["activity"] => Self::Activity(ActivityAddress::parse(uri)?),
            ["work"] => Self::Work(WorkAddress::parse(uri)?),
            ["skills"] => Self::Skills(SkillsAddress::parse(None, uri)?),
            ["skills", name] => Self::Skills(SkillsAddress::parse(Some(name), uri)?),
            ["workflows", ref name @ ..] => Self::Workflows(WorkflowsAddress::parse(name, uri)?),
            ["trust"] => Self::Trust(TrustAddress::parse(uri)?),
            ["settings"] => Self::Settings(SettingsAddress::parse(uri)?),
            _ => return Ok(None),
        }))
    }

    /// Its address, which [`ScreenId::parse`] reads.
    pub(super) fn address(&self) -> String {
        match self {
            Self::Now(now) => now.address(),
            Self::Run(run) => run.address(),
            Self::Activity(activity) => activity.address(),
            Self::Plan(plan) => plan.address(),
            Self::Work(work) => work.address(),
            Self::Skills(skills) => skills.address(),
            Self::Trust(trust) => trust.address(),
            Self::Workflows(workflows) => workflows.address(),
            Self::Settings(_) => SettingsAddress::PATH.to_owned(),
        }
    }

    /// The same for a person who was last here at this time, where that matters.
    pub(super) fn since(self, before: Option<i64>) -> Self {
        match self {
            Self::Now(now) => Self::Now(NowAddress { since: now.since.or(before), ..now }),
            other => other,
        }
    }

    /// Its address without what of it is looked at.
    pub(super) fn path(&self) -> String {
        self.address().split('?').next().unwrap_or_default().to_owned()
    }

    /// The same as it is first shown to a person who opens its address.
    pub(super) async fn first_shown(self, app: &AppState) -> Result<Self, ApiError> {
        match self {
            Self::Run(run) => run.first_shown(app).await.map(Self::Run),
            other => Ok(other),
        }
    }

    /// The project it is limited to.
    fn project(&self) -> Option<&ProjectId> {
        match self {
            Self::Now(now) => now.project.as_ref(),
            Self::Activity(activity) => activity.project.as_ref(),
            Self::Plan(plan) => Some(&plan.project),
            Self::Work(work) => work.project.as_ref(),
            Self::Skills(skills) => skills.project.as_ref(),
            Self::Trust(trust) => trust.project.as_ref(),
            Self::Workflows(workflows) => workflows.project.as_ref(),
            Self::Run(_) | Self::Settings(_) => None,
        }
    }

    /// The screen that the choice of a project leads to.
    fn filter(&self) -> &'static str {
        match self {
            Self::Now(_) | Self::Run(_) | Self::Settings(_) => "/",
            Self::Activity(_) => "/activity",
            Self::Skills(_) => "/skills",
            Self::Trust(_) => TrustAddress::PATH,
            Self::Workflows(_) => "/workflows",
            Self::Work(_) | Self::Plan(_) => "/work",
        }
    }

    /// Reads and renders it; what did not change since the last rendering is reused.
    pub(super) async fn render(
        &self,
        app: &AppState,
        before: Option<&RenderedScreen>,
    ) -> Result<RenderedScreen, ApiError> {
        let project = self.project().cloned();
        let waits = waiting_items(app, project.clone()).await?;
        let at = (app.clock)();
        let shell = app.store.read(ShellQuery { project, waiting: waiting_sessions(&waits), at }).await?;
        let mut screen = ScreenRenderer::new(self.address(), shell.seq, at, before);
        shell.render(self.filter(), &waits, &mut screen)?;
        let page: ScreenPage = match self {
            Self::Now(now) => now.render(app, &waits, &mut screen).await?,
            Self::Run(run) => run.render(app, &waits, &mut screen).await?,
            Self::Activity(activity) => activity.render(app, &mut screen).await?,
            Self::Plan(plan) => plan.render(app, &mut screen).await?,
            Self::Work(work) => work.render(app, &mut screen).await?,
            Self::Skills(skills) => skills.render(app, &mut screen).await?,
            Self::Trust(trust) => trust.render(app, &mut screen).await?,
            Self::Workflows(workflows) => workflows.render(app, &mut screen).await?,
            Self::Settings(settings) => settings.render(app, &mut screen).await?,
        };
        screen.settle(&app.page.answers);
        screen.explain(&app.page.changes_made);
        screen.broken_skills(app.page.broken_skills());
        // Read last, because a successful read may be the end of a failure.
        screen.banner(health::banner(app).as_deref())?;
        Ok(screen.finish(page))
    }
}

/// The query of an address.
fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, ApiError> {
    let read = Query::<T>::try_from_uri(uri);
    read.map(|Query(query)| query).map_err(|rejection| ApiError::invalid(rejection.body_text()))
}
