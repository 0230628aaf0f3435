//! Actors that make changes.

use maestro_core::SessionRole;
use maestro_core::id::{ProjectId, SessionId};

/// Who makes a change, as far as the server could make sure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Actor {
    /// The local user, or a holder of the server's token.
    #[default]
    Person,
    /// A session that showed its token, or whose commands said which one they are of.
    Session {
        /// The session.
        id: SessionId,
        /// Its role.
        role: SessionRole,
    },
    /// A program that is held to one project: one with a token for it, or a step of a run.
    Client {
        /// The project.
        project: ProjectId,
    },
    /// The daemon, which does what is due.
    Daemon,
    /// A worker, which starts and ends agents.
    Worker,
    /// A step of a run, which needs a session or none any more.
    Step,
    /// A hook of a coding tool.
    Hook,
}

impl Actor {
    /// The session that acts.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Session { id, .. } => Some(id),
            Self::Person | Self::Client { .. } | Self::Daemon | Self::Worker | Self::Step | Self::Hook => None,
        }
    }

    /// The word that an event carries for what acts by itself; nothing for people and sessions, which events name already.
    pub(crate) fn automatic(&self) -> Option<&'static str> {
        match self {
            Self::Person | Self::Client { .. } | Self::Session { .. } => None,
            Self::Daemon => Some("daemon"),
            Self::Worker => Some("worker"),
            Self::Step => Some("step"),
            Self::Hook => Some("hook"),
        }
    }

    /// The worker that acts; only workers are held to their own tasks.
    pub(crate) fn worker(&self) -> Option<&SessionId> {
        match self {
            Self::Session { id, role: SessionRole::Worker } => Some(id),
            _ => None,
        }
    }
}
