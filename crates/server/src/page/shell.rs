//! Shell around every screen: top bar and rail.

use maestro_api::waiting::WaitingBody;
use maestro_core::Project;
use maestro_core::excerpt::ellipsize;
use maestro_core::id::{ProjectId, SessionId};
use maestro_core::session::SessionStatus;
use maestro_store::{
    CountProjects, DbTx, LastEventSeq, ListPage, ProjectById, ProjectCounts, ProjectList, Query, SessionById,
    SpendSince, SpendTotal, StoreError,
};
use minijinja::{Error, Value, context};
use serde::Serialize;
use serde_json::json;

use super::fragments::ScreenRenderer;
use super::templates::render;
use super::text::dollars;

/// How many projects can be chosen.
const PROJECTS: i64 = 200;
/// What counts as today, in milliseconds: the same day that the limit of spending counts.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// How many characters of a name are shown.
const NAME: usize = 200;

/// An entry of the rail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RailEntry {
    Now,
    Work,
    Skills,
    Workflows,
    Activity,
    Settings,
}

impl RailEntry {
    /// The entries in their order.
    const ALL: [Self; 6] = [Self::Now, Self::Work, Self::Skills, Self::Workflows, Self::Activity, Self::Settings];

    /// The address of its screen.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Now => "/",
            Self::Work => "/work",
            Self::Skills => "/skills",
            Self::Workflows => "/workflows",
            Self::Activity => "/activity",
            Self::Settings => "/settings",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Now => "Now",
            Self::Work => "Work",
            Self::Skills => "Skills",
            Self::Workflows => "Workflows",
            Self::Activity => "Activity",
            Self::Settings => "Settings",
        }
    }

    /// The key that goes there, after `g`.
    fn key(self) -> &'static str {
        match self {
            Self::Now => "n",
            Self::Work => "b",
            Self::Skills => "s",
            Self::Workflows => "w",
            Self::Activity => "a",
            Self::Settings => ",",
        }
    }
}

/// The entries for a template.
pub(super) fn rail() -> Value {
    let entry = |entry: RailEntry| context! { path => entry.path(), name => entry.name(), key => entry.key() };
    Value::from_iter(RailEntry::ALL.map(entry))
}

/// What every screen shows.
#[derive(Debug, Clone)]
pub(super) struct ShellQuery {
    pub(super) project: Option<ProjectId>,
    /// The sessions that wait for a person.
    pub(super) waiting: Vec<SessionId>,
    pub(super) at: i64,
}

/// The contents.
#[derive(Debug)]
pub(super) struct ShellSnapshot {
    pub(super) seq: i64,
    project: Option<Project>,
    projects: Vec<Project>,
    counts: ProjectCounts,
    /// How many sessions seem to work and wait for a person.
    held: i64,
    spend: SpendTotal,
}

impl Query for ShellQuery {
    type Output = ShellSnapshot;

    fn load(&self, db: &mut DbTx<'_>) -> Result<ShellSnapshot, StoreError> {
        let seq = LastEventSeq.load(db)?;
        let mut held = 0;
        for session in &self.waiting {
            held += i64::from(SessionById(session.clone()).load(db)?.status == SessionStatus::Working);
        }
        Ok(ShellSnapshot {
            seq,
            project: self.project.clone().map(|id| ProjectById(id).load(db)).transpose()?,
            projects: ProjectList { page: ListPage { limit: PROJECTS, after: 0 } }.load(db)?.items,
            counts: CountProjects.load(db)?,
            held,
            spend: SpendSince { project: self.project.clone(), since: self.at - DAY }.load(db)?,
        })
    }
}

/// The sessions among what waits, each once.
pub(super) fn waiting_sessions(waiting: &[WaitingBody]) -> Vec<SessionId> {
    let mut sessions: Vec<SessionId> =
        waiting.iter().filter_map(|item| item.session_id.as_deref()?.parse().ok()).collect();
    sessions.sort();
    sessions.dedup();
    sessions
}

/// A project that can be chosen.
#[derive(Debug, Serialize)]
struct ProjectChoice {
    id: String,
    name: String,
    chosen: bool,
}

impl ShellSnapshot {
    /// Renders the top bar. `filter` is the screen that the choice of a project leads to.
    pub(super) fn render(
        &self,
        filter: &str,
        waiting: &[WaitingBody],
        screen: &mut ScreenRenderer<'_>,
    ) -> Result<(), Error> {
        let count = i64::try_from(waiting.len()).unwrap_or(i64::MAX);
        screen.waiting(count);
        screen.part("choose", "shell/choose.html", json!({ "choices": self.choices(), "filter": filter }))?;
        screen.part("counts", "shell/counts.html", json!({ "waiting": count, "working": self.working() }))?;
        let money = (self.spend.cost_usd > 0.0).then(|| dollars(self.spend.cost_usd));
        screen.part("spend", "shell/spend.html", json!({ "money": money, "unreported": self.spend.unreported }))
    }

    fn choices(&self) -> Vec<ProjectChoice> {
        let chosen = self.project.as_ref().map(|project| &project.id);
        let choice = |project: &Project| ProjectChoice {
            id: project.id.to_string(),
            name: ellipsize(&project.name, NAME),
            chosen: chosen == Some(&project.id),
        };
        self.projects.iter().map(choice).collect()
    }

    /// How many sessions work. One that waits for a person does not.
    fn working(&self) -> i64 {
        let of = |id: &ProjectId| self.project.as_ref().is_none_or(|only| only.id == *id);
        let working = self.counts.sessions.iter().filter(|(id, status, _)| of(id) && *status == SessionStatus::Working);
        (working.map(|(_, _, count)| count).sum::<i64>() - self.held).max(0)
    }
}

/// A page with an error message.
pub(super) fn failure(missing: bool, message: &str) -> Result<String, Error> {
    render("shell/failure.html", context! { missing, message, rail => rail() })
}

/// A page that asks for the server's token.
pub(super) fn sign_in(message: Option<&str>) -> Result<String, Error> {
    render("shell/sign_in.html", context! { message })
}

/// A page with a code that signs a phone in.
pub(super) fn phone(code: &str, address: &str) -> Result<String, Error> {
    render("shell/phone.html", context! { code => Value::from_safe_string(code.to_owned()), address })
}
