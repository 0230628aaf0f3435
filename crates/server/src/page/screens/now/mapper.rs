//! What several parts of the first screen need: names, titles, last words, and who waits.

use std::collections::{BTreeMap, HashMap};

use maestro_core::excerpt::ellipsize;
use maestro_core::id::{ProjectId, SessionId};
use maestro_core::session::SessionStatus;
use maestro_core::{RunId, Session, WorkState};

use super::query::OverviewSnapshot;
use crate::page::badge::{PAUSED, StateBadge, WAITING, WORKING};
use crate::page::cards::{LastPrompt, TITLE, WORDS, prompt_view};
use crate::page::run_overview::RunOverview;
use crate::page::text::DisplayText;
use crate::work_changes::BranchSize;

/// What the session of a hook says about its origin.
const HOOK: &str = "hook";

/// The contents, with what is looked up in them.
pub(super) struct OverviewMapper<'a> {
    pub(super) seen: &'a OverviewSnapshot,
    /// The runs, newest first.
    pub(super) runs: &'a [RunOverview],
    /// What ready runs left on their branches.
    pub(super) branches: &'a HashMap<RunId, BranchSize>,
    names: BTreeMap<&'a ProjectId, &'a str>,
}

impl<'a> OverviewMapper<'a> {
    pub(super) fn new(
        seen: &'a OverviewSnapshot,
        runs: &'a [RunOverview],
        branches: &'a HashMap<RunId, BranchSize>,
    ) -> Self {
        let names = seen.projects.iter().map(|project| (&project.id, project.name.as_str())).collect();
        Self { seen, runs, branches, names }
    }

    /// The name of a project, where it adds information.
    pub(super) fn project(&self, id: Option<&ProjectId>) -> Option<String> {
        let tells = self.seen.project.is_none() && self.names.len() > 1;
        id.and_then(|id| self.names.get(id)).filter(|_| tells).map(|name| shown(name, TITLE))
    }

    /// The title of a session's work, that of its run, otherwise its name.
    pub(super) fn title(&self, session: &Session) -> String {
        let title = session.tasks.first().and_then(|task| self.seen.titles.get(task));
        let of_run = |run: &&RunOverview| run_of(session) == Some(run.record.id.to_string().as_str());
        match (title, self.runs.iter().find(of_run)) {
            (Some(title), _) => shown(title, TITLE),
            (None, Some(run)) => self.run_title(run),
            (None, None) => shown(&session.name, TITLE),
        }
    }

    /// The title of a run's work.
    pub(super) fn run_title(&self, run: &RunOverview) -> String {
        let task = run.record.about.task.as_ref().and_then(|task| self.seen.titles.get(task));
        match task {
            Some(title) => shown(title, TITLE),
            None => shown(&run.title(), TITLE),
        }
    }

    /// Its last words, from the session or its run.
    pub(super) fn words(&self, session: &SessionId) -> Option<String> {
        let reported = self.seen.words.get(session);
        let said = self.seen.activity.get(session).and_then(|activity| activity.words.as_ref());
        match (reported, said) {
            (Some(line), Some((at, _))) if line.at >= *at => Some(shown(&line.message, WORDS)),
            (_, Some((_, words))) => Some(ellipsize(&DisplayText::printed(words, WORDS + 1).text, WORDS)),
            (reported, None) => reported.map(|line| shown(&line.message, WORDS)),
        }
    }

    /// When a session was last active.
    pub(super) fn active_at(&self, session: &Session) -> i64 {
        let reported = self.seen.words.get(&session.id).map_or(session.started_at, |line| line.at);
        self.seen.activity.get(&session.id).map_or(reported, |activity| activity.at.max(reported))
    }

    /// The last message sent to a session since this moment.
    pub(super) fn last_prompt(&self, session: &SessionId, since: i64) -> Option<LastPrompt> {
        let told = self.seen.told.get(session).filter(|told| told.created_at >= since)?;
        Some(prompt_view(told))
    }

    /// Since when a session asks: since it reported so.
    pub(super) fn asks_since(&self, session: &Session) -> i64 {
        let line = self.seen.words.get(&session.id).filter(|line| line.kind.as_str() == "needs_input");
        line.map_or(session.last_activity, |line| line.at)
    }

    /// Whether a session has an unanswered question.
    pub(super) fn asks(&self, session: &Session) -> bool {
        let wants = self.seen.questions.items.iter().any(|(asked, _)| asked.session == session.id);
        wants || session.needs_input.is_some() && self.last_prompt(&session.id, self.asks_since(session)).is_none()
    }

    /// How a session stands.
    pub(super) fn session_state(&self, session: &Session) -> StateBadge {
        let is_stuck = self.seen.blocked.iter().any(|blocked| {
            Some(&blocked.task.id) == session.tasks.first()
                && blocked.session.as_ref().is_some_and(|by| by.id == session.id)
        });
        match session.status {
            SessionStatus::Paused => PAUSED,
            _ if self.asks(session) || is_stuck => WAITING,
            SessionStatus::Spawning | SessionStatus::Idle => WorkState::Queued.into(),
            _ => WORKING,
        }
    }

    /// The living sessions of a run, the latest last.
    pub(super) fn sessions_of(&self, run: &RunOverview) -> Vec<&'a Session> {
        let id = run.record.id.to_string();
        let children: Vec<String> = vec![id];
        let of_run = |session: &&Session| run_of(session).is_some_and(|run| children.iter().any(|id| id == run));
        let mut found: Vec<&Session> = self.seen.alive.items.iter().filter(of_run).collect();
        found.sort_by_key(|session| session.started_at);
        found
    }
}

/// The run that a session works for.
pub(super) fn run_of(session: &Session) -> Option<&str> {
    session.metadata.get("run").and_then(serde_json::Value::as_str).filter(|run| !run.is_empty())
}

/// Whether only hooks report a session: a person started it in a terminal.
pub(super) fn is_own(session: &Session) -> bool {
    session.metadata.get("spawnSource").and_then(serde_json::Value::as_str) == Some(HOOK)
}

/// A text by others on a line, with hidden characters written out.
pub(super) fn shown(text: &str, most: usize) -> String {
    ellipsize(&DisplayText::exactly(text, most + 1).text, most)
}
