//! Screen of a run: where it stands, what happened, what it changed, and what a person can do about it.
//!
//! A session without a workflow is a run with one step, and is drawn by the same screen.

mod definition_change;
mod diff;
mod edits;
mod entry;
mod evidence;
mod graph;
mod groups;
mod header;
mod history;
mod inspector;
pub(in crate::page) mod landing;
mod log;
mod mapper;
mod prompt;
pub(super) mod query;
mod reports;
pub(in crate::page) mod revise;
mod run_line;
pub(in crate::page) mod say;
pub(crate) mod share;
mod spine;
mod tabs;
mod talk;
mod time_bar;
mod timeline;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use axum::http::Uri;
use maestro_api::waiting::WaitingBody;
use maestro_core::event::SkillSelection;
use maestro_core::id::SessionId;
use maestro_core::{RunId, Session};
use maestro_store::{StepOfSession, TranscriptMoment};
use serde::Deserialize;
use serde_json::json;

use self::definition_change::KnownDefinition;
use self::diff::CommentPlace;
use self::history::RunHistory;
use self::mapper::{RunMapper, session_of};
use self::query::{RunHead, RunHeadQuery, RunPermissions, RunSelections, SessionDetail, SessionDetailQuery};
use self::tabs::RunTab;
use self::timeline::{InvalidPlace, TimelineExtent, TimelinePlace};
use crate::app::AppState;
use crate::error::ApiError;
use crate::page::address::encode;
use crate::page::agent_totals::AgentTotals;
use crate::page::consents::run_consents;
use crate::page::fragments::{ScreenPage, ScreenRenderer};
use crate::page::run_overview::{RunOverview, read_runs};
use crate::work_changes::{ChangeOwner, WorkChanges};

/// How long changes are believed, in milliseconds: where they are shown, and where only their size is.
const FRESH: i64 = 2000;
const STALE: i64 = 15_000;
/// How many entries after a moment are shown with it.
const AFTER_MOMENT: i64 = 60;
/// For how long a restart of the server is worth a word.
const RESTORED: i64 = 5 * 60 * 1000;

/// A run, or a session that works for none.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::page) enum RunSubject {
    /// A run.
    Run(RunId),
    /// A session.
    Session(SessionId),
}

/// A run, and what of it is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::page) struct RunAddress {
    subject: RunSubject,
    tab: Option<RunTab>,
    /// The number of the selected step.
    step: Option<usize>,
    before: Option<TimelinePlace>,
    /// The moment that is looked at.
    at: Option<i64>,
    /// What is searched for in the log.
    find: Option<String>,
    /// The line that a comment is written on.
    comment: Option<CommentPlace>,
}

#[derive(Deserialize)]
struct RunAddressQuery {
    tab: Option<String>,
    step: Option<usize>,
    before: Option<String>,
    at: Option<i64>,
    find: Option<String>,
    file: Option<String>,
    line: Option<usize>,
}

/// What the next rendering continues from.
#[derive(Clone, Default)]
struct KeptRun {
    history: Arc<RunHistory>,
    ended: BTreeMap<SessionId, Session>,
    totals: BTreeMap<SessionId, AgentTotals>,
    account: Option<(SessionId, AgentTotals)>,
    definition: KnownDefinition,
    /// How skills were chosen, with how many sessions there were when that was read.
    selections: (usize, Arc<Vec<(i64, SkillSelection)>>),
}

impl RunSubject {
    fn id(&self) -> String {
        match self {
            Self::Run(id) => id.to_string(),
            Self::Session(id) => id.to_string(),
        }
    }

    /// Its screen.
    fn path(&self) -> String {
        match self {
            Self::Run(id) => format!("/runs/{id}"),
            Self::Session(id) => format!("/sessions/{id}"),
        }
    }

    /// Where its forms are sent.
    fn form_path(&self) -> String {
        format!("/page{}", self.path())
    }
}

impl RunAddress {
    pub(super) fn run(id: &str, uri: &Uri) -> Result<Self, ApiError> {
        let id = id.parse().map_err(|_| ApiError::not_found(format!("there is no run {id}")))?;
        Self::parse(RunSubject::Run(id), uri)
    }

    pub(super) fn session(id: &str, uri: &Uri) -> Result<Self, ApiError> {
        Self::parse(RunSubject::Session(id.parse().map_err(|error| ApiError::field("id", error))?), uri)
    }

    fn parse(subject: RunSubject, uri: &Uri) -> Result<Self, ApiError> {
        let RunAddressQuery { tab, step, before, at, find, file, line } = super::query(uri)?;
        Ok(Self {
            subject,
            tab: tab.as_deref().and_then(RunTab::from_word),
            step: step.filter(|step| *step > 0),
            at,
            comment: file.zip(line).map(|(file, line)| CommentPlace { file, line }),
            find: find.filter(|find| !find.trim().is_empty()),
            before: before
                .map(|before| before.parse())
                .transpose()
                .map_err(|error: InvalidPlace| ApiError::field("before", error))?,
        })
    }

    pub(super) fn address(&self) -> String {
        let tab = self.tab.map(|tab| format!("tab={}", tab.as_str()));
        let step = self.step.map(|step| format!("step={step}"));
        let before = self.before.as_ref().map(|before| format!("before={before}"));
        let at = self.at.map(|at| format!("at={at}"));
        let find = self.find.as_deref().map(|find| format!("find={}", encode(find)));
        let place = self.comment.as_ref();
        let place = place.map(|place| format!("file={}&line={}", encode(&place.file), place.line));
        let query: Vec<String> = [tab, step, before, at, find, place].into_iter().flatten().collect();
        let path = self.subject.path();
        if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
    }

    /// The same as it is first shown: a session that works for a run leads to the run, and a run that is over opens on
    /// what it changed. An open page then stays as it is.
    pub(super) async fn first_shown(self, app: &AppState) -> Result<Self, ApiError> {
        let shown = match &self.subject {
            RunSubject::Session(id) => match app.store.read(StepOfSession(id.clone())).await? {
                Some(step) => {
                    let head = app.store.read(RunHeadQuery::first(RunSubject::Run(step.run))).await?;
                    let visit = self.visit_of_session(app, &head, id).await;
                    Self { subject: RunSubject::Run(step.run), step: visit.map(|visit| visit + 1), ..self }
                }
                None => return self.around_moment(app).await,
            },
            RunSubject::Run(_) => self.around_moment(app).await?,
        };
        let RunSubject::Run(id) = &shown.subject else { return Ok(shown) };
        let record = app.store.read(maestro_store::RunById(*id)).await?;
        let is_plain = shown.tab.is_none() && shown.step.is_none() && shown.before.is_none() && shown.at.is_none();
        Ok(if record.run.is_over() && is_plain { Self { tab: Some(RunTab::Diff), ..shown } } else { shown })
    }

    /// The same with the part of the timeline that has the moment which is looked at; the newest part needs no place.
    async fn around_moment(self, app: &AppState) -> Result<Self, ApiError> {
        let Some(at) = self.at.filter(|_| self.before.is_none()) else { return Ok(self) };
        let head = app.store.read(RunHeadQuery::first(self.subject.clone())).await?;
        let sessions = head.sessions.iter().map(|session| &session.session);
        let Some(session) = sessions.take_while(|session| session.started_at <= at).last() else { return Ok(self) };
        let session = session.id.clone();
        let end = app.store.read(TranscriptMoment { session: session.clone(), at, later: AFTER_MOMENT }).await?;
        Ok(Self { before: end.map(|(at, ord)| TimelinePlace::new(at, ord, session)), ..self })
    }

    /// Which visit of its run a session works for.
    async fn visit_of_session(&self, app: &AppState, head: &RunHead, id: &SessionId) -> Option<usize> {
        let record = head.record.clone()?;
        let view = app.runs.get(record.id, (app.clock)()).await.ok();
        let mut history = RunHistory::default();
        history.apply_all(&head.events, view.as_ref().map(|view| &*view.definition));
        let session = head.sessions.iter().find(|session| session.session.id == *id)?;
        history.visit_of(session.step.as_deref()?, session.session.started_at)
    }

    pub(super) async fn render(
        &self,
        app: &AppState,
        waits: &[WaitingBody],
        screen: &mut ScreenRenderer<'_>,
    ) -> Result<ScreenPage, ApiError> {
        self.render_extent(app, waits, TimelineExtent::Window, screen).await
    }

    /// The same with more or less of the timeline.
    async fn render_extent(
        &self,
        app: &AppState,
        waits: &[WaitingBody],
        extent: TimelineExtent,
        screen: &mut ScreenRenderer<'_>,
    ) -> Result<ScreenPage, ApiError> {
        let mut kept = screen.kept::<KeptRun>().cloned().unwrap_or_default();
        let (subject, after) = (self.subject.clone(), kept.history.seen);
        let head = app.store.read(RunHeadQuery { subject, after, ended: kept.ended.clone() }).await?;
        let overview = match &head.record {
            Some(record) => read_runs(app, vec![record.clone()]).await?.pop(),
            None => None,
        };
        if !head.events.is_empty() {
            let definition = overview.as_ref().and_then(RunOverview::definition);
            Arc::make_mut(&mut kept.history).apply_all(&head.events, definition);
        }
        if let Some(record) = head.record.as_ref().filter(|record| !record.run.is_over()) {
            let directory = head.project.as_ref().map(|project| PathBuf::from(&project.working_dir));
            kept.definition = std::mem::take(&mut kept.definition).refresh(app, record, directory).await;
        }
        let history = Arc::clone(&kept.history);
        let visit = self.step.map(|step| step - 1).filter(|visit| *visit < history.visits.len());
        let detail = self.detail(app, &head, &history, visit, &mut kept).await?;
        kept.read_totals(app, &head).await?;
        let selection = kept.selection(app, &head, detail.as_ref()).await?;
        let tab = self.tab.unwrap_or(RunTab::Timeline);
        let is_over = overview.as_ref().is_some_and(|run| run.record.run.is_over());
        let believed = if tab == RunTab::Diff { FRESH } else { STALE };
        let owner = change_owner(&head, overview.as_ref(), &history, detail.as_ref(), &self.subject);
        let changes = match owner.filter(|_| is_over || tab == RunTab::Diff || kept.account.is_some()) {
            Some(owner) => app.page.changes(owner, screen.now(), believed).await,
            None => None,
        };
        let started = screen.now() - i64::try_from(app.facts.started.elapsed().as_millis()).unwrap_or(0);
        let mapper = RunMapper {
            subject: &self.subject,
            head: &head,
            overview,
            history: &history,
            visit,
            detail: detail.as_ref(),
            totals: &kept.totals,
            definition: kept.definition.change.clone(),
            is_restored: screen.now() - started < RESTORED && started > head_started(&head),
            now: screen.now(),
        };
        let title =
            self.parts(app, &mapper, (waits, selection.as_ref(), changes.as_deref()), (tab, extent), screen).await?;
        let is_past = self.before.is_some();
        kept.ended = ended(&head);
        screen.keep(kept);
        let here = self.subject.path();
        Ok(ScreenPage {
            template: "run/run.html",
            title: Some(title),
            rail: None,
            styles: if tab == RunTab::Graph {
                &["text.css", "workflows.css", "run.css"]
            } else {
                &["text.css", "run.css"]
            },
            scripts: if tab == RunTab::Graph { &["run.js", "workflows.js"] } else { &["run.js"] },
            keys: &[
                ("a A d", "allow once, always in this run, deny"),
                ("s", "write a message"),
                ("p", "pause, resume"),
                ("t f", "timeline, diff"),
                ("l", "log"),
            ],
            live: !is_past,
            data: json!({ "here": here, "tab": tab.as_str(), "past": is_past, "at": self.at }),
        })
    }

    /// The session that is looked at: that of the selected step, otherwise the last one.
    async fn detail(
        &self,
        app: &AppState,
        head: &RunHead,
        history: &RunHistory,
        visit: Option<usize>,
        kept: &mut KeptRun,
    ) -> Result<Option<SessionDetail>, ApiError> {
        let of_visit = visit.and_then(|visit| session_of(&head.sessions, history, visit));
        let Some(found) = of_visit.or(head.sessions.last()) else { return Ok(None) };
        let session = found.session.id.clone();
        let account = kept.account.take().filter(|(id, _)| *id == session).map(|(_, account)| account);
        let query = SessionDetailQuery { session: session.clone(), account: account.unwrap_or_default() };
        let detail = app.store.read(query).await?;
        kept.account = Some((session, detail.account.clone()));
        Ok(Some(detail))
    }

    /// Renders what is around the centre, and the centre. Returns the title.
    async fn parts(
        &self,
        app: &AppState,
        mapper: &RunMapper<'_>,
        (waits, selection, changes): (&[WaitingBody], Option<&SkillSelection>, Option<&WorkChanges>),
        (tab, extent): (RunTab, TimelineExtent),
        screen: &mut ScreenRenderer<'_>,
    ) -> Result<String, ApiError> {
        let asked = RunPermissions { sessions: mapper.living(), at: screen.now() };
        let asked = app.store.read(asked).await?;
        let asks: Vec<_> = asked.iter().map(|(asked, session)| talk::permission_card(asked, session)).collect();
        let question = mapper.session_question();
        let mut own = mapper.run_questions(waits);
        let own_waits: Vec<WaitingBody> = mapper.own_waits(waits).cloned().collect();
        let consents = run_consents(app, &own_waits, screen.now()).await;
        let is_open = question.as_ref().is_some_and(|question| question.told.is_none());
        let waits = !asks.is_empty() || !own.is_empty() || is_open;
        let directory = mapper.head.project.as_ref().map(|project| PathBuf::from(&project.working_dir));
        let around = app.page.surroundings(&app.host, directory, screen.now()).await;
        let header = mapper.header(waits, changes, &around.agents);
        let title = header.title.clone();
        screen.part("about", "run/header.html", json!({ "it": header }))?;
        screen.part(
            "bar",
            "run/bar.html",
            json!({ "it": mapper.time_bar(), "here": self.subject.path(), "at": self.at }),
        )?;
        screen.part("spine", "run/spine.html", json!({ "it": mapper.spine(tab.as_str()) }))?;
        let inspector = mapper.inspector(selection, changes);
        screen.part("inspector", "run/inspector.html", json!({ "it": inspector }))?;
        let can_revise = changes.is_some_and(|changes| changes.branch.is_some());
        screen.part("talk", "run/talk.html", json!({ "it": mapper.talk(can_revise) }))?;
        let mut cards = Vec::new();
        for item in &own_waits {
            if let Some(view) = item.run_id.as_ref().and_then(|run| consents.get(run)) {
                let id = format!("wait-{}", item.id);
                own.retain(|card| card.id != id);
                screen.part(&id, "cards/consent.html", view.card(&title, item.since))?;
                cards.push(id);
            }
        }
        for card in question.iter().chain(&own) {
            screen.part(&card.id, "cards/wait.html", json!({ "it": card }))?;
            cards.push(card.id.clone());
        }
        screen.order("question", cards);
        screen.list("asks", "cards/permission.html", asks.iter().map(|ask| (ask.id.as_str(), ask)))?;
        let tabs = mapper.tab_links(tab, changes);
        screen.part("tabs", "run/tabs.html", json!({ "tabs": tabs }))?;
        self.centre(app, mapper, changes, (tab, extent), screen).await?;
        Ok(title)
    }
}

impl KeptRun {
    /// Reads what the sessions spent that have not ended.
    async fn read_totals(&mut self, app: &AppState, head: &RunHead) -> Result<(), ApiError> {
        let open = head.sessions.iter().filter(|session| session.cost_usd.is_none());
        let mut totals = BTreeMap::new();
        for session in open.map(|session| session.session.id.clone()) {
            let before = self.totals.remove(&session).unwrap_or_default();
            let query = SessionDetailQuery { session: session.clone(), account: before };
            totals.insert(session, app.store.read(query).await?.account);
        }
        self.totals = totals;
        Ok(())
    }

    /// How the skills of the session that is looked at were chosen.
    async fn selection(
        &mut self,
        app: &AppState,
        head: &RunHead,
        detail: Option<&SessionDetail>,
    ) -> Result<Option<SkillSelection>, ApiError> {
        let Some(record) = &head.record else { return Ok(None) };
        let Some((detail, project)) = detail.zip(record.about.project.clone()) else { return Ok(None) };
        if self.selections.0 != head.sessions.len() {
            let found = app.store.read(RunSelections { project, run: record.id }).await?;
            self.selections = (head.sessions.len(), Arc::new(found));
        }
        // It is recorded right before the session is.
        let before = |found: &&(i64, SkillSelection)| found.0 <= detail.session.started_at;
        Ok(self.selections.1.iter().find(before).map(|(_, selection)| selection.clone()))
    }
}

fn ended(head: &RunHead) -> BTreeMap<SessionId, Session> {
    let over = head.sessions.iter().filter(|session| session.cost_usd.is_some() && session.session.status.is_over());
    over.map(|session| (session.session.id.clone(), session.session.clone())).collect()
}

fn head_started(head: &RunHead) -> i64 {
    let session = || head.sessions.first().map_or(i64::MAX, |session| session.session.started_at);
    head.record.as_ref().map_or_else(session, |record| record.created_at)
}

/// Whose changes are shown, and where they are.
fn change_owner(
    head: &RunHead,
    overview: Option<&RunOverview>,
    history: &RunHistory,
    detail: Option<&SessionDetail>,
    subject: &RunSubject,
) -> Option<ChangeOwner> {
    let workspace = match overview {
        Some(run) => run.summary.workspace.clone(),
        None => head.project.as_ref()?.working_dir.clone(),
    };
    if workspace.is_empty() || !std::path::Path::new(&workspace).is_absolute() {
        return None;
    }
    let spec = detail.and_then(|detail| detail.spec.as_ref());
    let tree = detail.and_then(|detail| detail.spawn.as_ref()?.tree.clone());
    let start = spec.filter(|_| overview.is_none()).map(|spec| PathBuf::from(&spec.workspace)).zip(tree);
    Some(ChangeOwner {
        id: overview.map_or_else(|| subject.id(), RunOverview::branch_owner),
        workspace: PathBuf::from(workspace),
        commits: history.commits.clone(),
        start,
    })
}
