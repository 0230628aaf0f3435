//! Tabs in the centre of a run's screen, each with an address of its own.

use maestro_core::WorkState;
use maestro_core::workflow::run::Run;
use serde::Serialize;
use serde_json::json;

use super::RunAddress;
use super::diff::RunDiff;
use super::log::LogQuery;
use super::mapper::{RunMapper, session_of};
use super::prompt::PromptFacts;
use super::timeline::{TimelineContext, TimelineExtent, TimelinePlace, WindowQuery};
use crate::app::AppState;
use crate::error::ApiError;
use crate::page::fragments::ScreenRenderer;
use crate::work_changes::WorkChanges;

maestro_core::word_enum! {
    /// What is in the centre.
    #[derive(Hash)]
    pub(super) enum RunTab {
        /// What happened.
        Timeline = "timeline",
        /// What was changed.
        Diff = "diff",
        /// The prompt of its agent.
        Prompt = "prompt",
        /// What its agent sent, as it came.
        Log = "log",
        /// The workflow it goes through.
        Graph = "graph",
        /// How its workflow changed since it was started.
        Definition = "definition",
    }
}

/// A tab.
#[derive(Debug, Serialize)]
pub(super) struct TabLink {
    name: &'static str,
    href: String,
    count: Option<usize>,
    is_here: bool,
}

impl RunMapper<'_> {
    /// The tabs.
    /// Why no file is shown as changed.
    fn nothing_changed(&self) -> &'static str {
        match self.overview.as_ref().map(|run| run.summary.state) {
            _ if !self.is_over() => "Nothing changed yet.",
            Some(WorkState::Merged) => "Merged: nothing is left that is not in the branch it was merged into.",
            Some(WorkState::Discarded) => "Discarded: its branch was deleted.",
            Some(_) => "It changed no file.",
            None => "It changed no file, or its changes are not kept any more.",
        }
    }

    pub(super) fn tab_links(&self, here: RunTab, changes: Option<&WorkChanges>) -> Vec<TabLink> {
        let step = self.visit.map(|visit| format!("&step={}", visit + 1)).unwrap_or_default();
        let link = |tab: RunTab| TabLink {
            name: tab.name(),
            href: format!("{}?tab={}{step}", self.subject.path(), tab.as_str()),
            count: changes.filter(|_| tab == RunTab::Diff).map(|changes| changes.size.files).filter(|files| *files > 0),
            is_here: tab == here,
        };
        let is_shown = |tab: &RunTab| match tab {
            RunTab::Graph => self.has_graph(),
            RunTab::Definition => self.definition.is_some() || here == RunTab::Definition,
            RunTab::Timeline | RunTab::Diff | RunTab::Prompt | RunTab::Log => true,
        };
        RunTab::ALL.into_iter().filter(is_shown).map(link).collect()
    }
}

impl RunTab {
    fn name(self) -> &'static str {
        match self {
            Self::Timeline => "Timeline",
            Self::Diff => "Diff",
            Self::Prompt => "Prompt",
            Self::Log => "Log",
            Self::Graph => "Graph",
            Self::Definition => "Compare",
        }
    }
}

impl RunAddress {
    /// Renders the centre.
    pub(super) async fn centre(
        &self,
        app: &AppState,
        mapper: &RunMapper<'_>,
        changes: Option<&WorkChanges>,
        (tab, extent): (RunTab, TimelineExtent),
        screen: &mut ScreenRenderer<'_>,
    ) -> Result<(), ApiError> {
        match tab {
            RunTab::Timeline => self.timeline(app, mapper, extent, screen).await,
            RunTab::Prompt => {
                let facts = match mapper.focus() {
                    Some(focus) => app.store.read(PromptFacts { session: focus.session.clone() }).await?,
                    None => (Vec::new(), Vec::new()),
                };
                let prompt = mapper.prompt(facts.0, &facts.1);
                Ok(screen.part("prompt", "run/prompt.html", json!({ "it": prompt }))?)
            }
            RunTab::Log => self.log(app, mapper, screen).await,
            RunTab::Graph => Ok(screen.part("run-graph", "run/graph.html", json!({ "svg": mapper.graph() }))?),
            RunTab::Definition => {
                Ok(screen.part("definition", "run/definition.html", json!({ "it": mapper.definition.as_deref() }))?)
            }
            RunTab::Diff => {
                let run = mapper.overview.as_ref().map(|run| &run.record.run);
                let items = run.into_iter().flat_map(Run::comments);
                let diff = changes.map(RunDiff::of).unwrap_or_default().with_comments(items, self.comment.as_ref());
                let comment = run.map(|_| format!("{}/comment", self.subject.form_path()));
                let shown = json!({
                    "it": diff, "live": !mapper.is_over(), "nothing": mapper.nothing_changed(), "comment": comment, "here": self.subject.path(),
                });
                Ok(screen.part("diff", "run/diff.html", shown)?)
            }
        }
    }

    async fn timeline(
        &self,
        app: &AppState,
        mapper: &RunMapper<'_>,
        extent: TimelineExtent,
        screen: &mut ScreenRenderer<'_>,
    ) -> Result<(), ApiError> {
        let sessions = &mapper.head.sessions;
        let only = mapper.visit.map(|visit| session_of(sessions, mapper.history, visit).map(|it| &it.session.id));
        let numbered = (1..).zip(sessions).map(|(number, session)| (number, session.session.clone()));
        let wanted = numbered.filter(|(_, session)| only.is_none_or(|only| only == Some(&session.id)));
        let query = WindowQuery { sessions: wanted.collect(), before: self.before.clone(), extent };
        let window = app.store.read(query).await?;
        let context = TimelineContext { history: mapper.history, sessions, visit: mapper.visit, since: mapper.since() };
        let lines = window.lines(&context, extent);
        let older = window.older.as_ref().map(|place| Self { before: Some(place.clone()), ..self.clone() }.address());
        let newest = Self { before: None, ..self.clone() }.address();
        screen.part("older", "run/older.html", json!({ "older": older }))?;
        screen.part("newest", "run/newest.html", json!({ "newest": newest, "past": self.before.is_some() }))?;
        let is_noted = lines.is_empty() || mapper.is_only_reported();
        let note = is_noted.then(|| mapper.empty_note(self.before.is_some()));
        screen.note("transcript-note", note)?;
        screen.list("transcript", "run/entry.html", lines.iter().map(|line| (line.id.as_str(), line)))?;
        Ok(())
    }
}

impl RunAddress {
    async fn log(
        &self,
        app: &AppState,
        mapper: &RunMapper<'_>,
        screen: &mut ScreenRenderer<'_>,
    ) -> Result<(), ApiError> {
        let Some(focus) = mapper.focus() else {
            screen.order("log", Vec::new());
            screen.part("log-head", "run/log_head.html", json!({}))?;
            return Ok(());
        };
        let session = focus.session.id.clone();
        let before = self.before.as_ref().and_then(|place| place.within(&session));
        let window = app.store.read(LogQuery { session: session.clone(), before, find: self.find.clone() }).await?;
        let older = window.older.map(|(at, ord)| {
            Self { before: Some(TimelinePlace::new(at, ord, session.clone())), ..self.clone() }.address()
        });
        let newest = self.before.as_ref().map(|_| Self { before: None, ..self.clone() }.address());
        let step = self.step;
        let shown = json!({
            "find": self.find, "older": older, "newest": newest, "step": step, "found": window.lines.len(),
            "here": self.subject.path(),
        });
        screen.part("log-head", "run/log_head.html", shown)?;
        screen.list("log", "run/log.html", window.lines.iter().map(|line| (line.id.as_str(), line)))?;
        Ok(())
    }
}

impl RunMapper<'_> {
    /// Whether it is a session that Maestro did not start.
    fn is_only_reported(&self) -> bool {
        self.overview.is_none() && self.focus().is_some_and(|focus| focus.spawn.is_none())
    }

    /// The text in place of an empty timeline.
    fn empty_note(&self, is_past: bool) -> &'static str {
        use maestro_store::SpawnState;
        let Some(focus) = self.focus() else { return "Nothing yet." };
        match &focus.spawn {
            _ if is_past => "Nothing older.",
            None if self.overview.is_none() => "Maestro did not start this agent; only its reports are shown.",
            Some(_) if focus.session.status.is_over() => "The agent did nothing.",
            Some(spawn) if spawn.state == SpawnState::Waiting => "Starts when a worker is free.",
            _ => "Nothing yet.",
        }
    }
}
