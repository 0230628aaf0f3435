//! What several parts of a run's screen need: the run, its history, and the session that is looked at.

use std::collections::BTreeMap;
use std::sync::Arc;

use maestro_core::Session;
use maestro_core::id::SessionId;

use super::RunSubject;
use super::definition_change::DefinitionChange;
use super::history::RunHistory;
use super::query::{RunHead, RunSession, SessionDetail};
use crate::page::agent_totals::AgentTotals;
use crate::page::run_overview::RunOverview;

/// The contents of the screen.
pub(super) struct RunMapper<'a> {
    pub(super) subject: &'a RunSubject,
    pub(super) head: &'a RunHead,
    /// How the run stands; nothing for a session alone.
    pub(super) overview: Option<RunOverview>,
    pub(super) history: &'a RunHistory,
    /// The visit that is selected.
    pub(super) visit: Option<usize>,
    /// The session that is looked at: that of the selected step, otherwise the last one.
    pub(super) detail: Option<&'a SessionDetail>,
    /// What those sessions spent that have not ended.
    pub(super) totals: &'a BTreeMap<SessionId, AgentTotals>,
    /// How the files of its workflow changed since it was started.
    pub(super) definition: Option<Arc<DefinitionChange>>,
    /// Whether the server started after the run did.
    pub(super) is_restored: bool,
    pub(super) now: i64,
}

impl<'a> RunMapper<'a> {
    /// The session that is looked at.
    pub(super) fn focus(&self) -> Option<&'a SessionDetail> {
        self.detail
    }

    /// The session of a visit.
    pub(super) fn session_of(&self, visit: usize) -> Option<&'a RunSession> {
        session_of(&self.head.sessions, self.history, visit)
    }

    /// What all its sessions cost so far.
    pub(super) fn cost(&self) -> f64 {
        let cost = |session: &RunSession| {
            let live = || self.totals.get(&session.session.id).map_or(0.0, |totals| totals.spent().cost_usd);
            session.cost_usd.unwrap_or_else(live)
        };
        self.head.sessions.iter().map(cost).sum()
    }

    /// The sessions that have not ended.
    pub(super) fn living(&self) -> Vec<Session> {
        let sessions = self.head.sessions.iter().map(|session| &session.session);
        sessions.filter(|session| !session.status.is_over()).cloned().collect()
    }
}

/// The session of a visit.
pub(super) fn session_of<'s>(sessions: &'s [RunSession], history: &RunHistory, visit: usize) -> Option<&'s RunSession> {
    let of = |session: &&RunSession| {
        let step = session.step.as_deref().unwrap_or_default();
        history.visit_of(step, session.session.started_at) == Some(visit)
    };
    sessions.iter().rfind(of)
}
