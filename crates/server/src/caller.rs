//! Identity and rights of the caller of a request.
//!
//! A caller is made in one place, [`identify`], from the way the request came and what it shows. Everything else asks it
//! what it may.

mod identify;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use maestro_core::SessionRole;
use maestro_core::event::RunId;
use maestro_core::id::{AccessTokenId, ProjectId, SessionId};
use maestro_store::{Actor, TokenAccess};

pub(crate) use self::identify::{identify, is_server_token};
use crate::error::ApiError;
use crate::request_limits::CredentialKey;

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The user.
    Person,
    /// A hook of the user's coding tool: the user's rights, under its own name.
    Hook,
    /// A session.
    Session(CallingSession),
    /// A step of a run: what a step does, an agent may have written, so it has the rights of a session at most.
    Run {
        /// The run.
        id: RunId,
        /// Its starter.
        starter: RunStarter,
    },
    /// A program with a token.
    Token(CallingToken),
    /// One that showed nothing.
    Stranger,
}

/// A session that calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallingSession {
    pub(crate) id: SessionId,
    pub(crate) role: SessionRole,
    pub(crate) project: ProjectId,
}

/// The one who started a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunStarter {
    /// The user, for this project; a run that belongs to none is held to none.
    Person(Option<ProjectId>),
    /// A session.
    Session(CallingSession),
}

/// A token that a program showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallingToken {
    /// Which; nothing for the server's own.
    pub(crate) id: Option<AccessTokenId>,
    pub(crate) access: TokenAccess,
    /// The only project it is for.
    pub(crate) project: Option<ProjectId>,
}

impl Caller {
    /// Who makes the changes that it asks for.
    pub(crate) fn actor(&self) -> Actor {
        match self {
            Self::Hook => Actor::Hook,
            Self::Session(session) | Self::Run { starter: RunStarter::Session(session), .. } => session.actor(),
            // So that what a body names is held to the project, too.
            Self::Token(CallingToken { project: Some(project), .. })
            | Self::Run { starter: RunStarter::Person(Some(project)), .. } => {
                Actor::Client { project: project.clone() }
            }
            Self::Person | Self::Run { starter: RunStarter::Person(None), .. } | Self::Token(_) | Self::Stranger => {
                Actor::Person
            }
        }
    }

    /// Its name where a person reads who answered.
    pub(crate) fn in_words(&self) -> &'static str {
        match self {
            Self::Person => "you, in a terminal",
            Self::Token(_) => "a program with a token",
            Self::Hook | Self::Session(_) | Self::Run { .. } => "an agent",
            Self::Stranger => "someone else",
        }
    }

    /// The session that it is, or whose run it is a step of.
    pub(crate) fn session(&self) -> Option<&CallingSession> {
        match self {
            Self::Session(session) | Self::Run { starter: RunStarter::Session(session), .. } => Some(session),
            _ => None,
        }
    }

    /// The id of that session.
    pub(crate) fn session_id(&self) -> Option<&SessionId> {
        self.session().map(|session| &session.id)
    }

    /// The only project that it may see and change; nothing if it may all of them.
    pub(crate) fn project(&self) -> Option<&ProjectId> {
        match self {
            Self::Token(token) => token.project.as_ref(),
            Self::Run { starter: RunStarter::Person(project), .. } => project.as_ref(),
            _ => self.session().map(|session| &session.project),
        }
    }

    /// The project of a list: the one that is asked for, if the caller may see it, or the only one that it may.
    pub(crate) fn list_project(&self, wanted: Option<ProjectId>) -> Result<Option<ProjectId>, ApiError> {
        match (self.project(), wanted) {
            (Some(own), Some(wanted)) if *own != wanted => Err(self.foreign(&wanted)),
            (Some(own), _) => Ok(Some(own.clone())),
            (None, wanted) => Ok(wanted),
        }
    }

    /// Refuses a caller for whom this project is not.
    pub(crate) fn check_project(&self, project: Option<&ProjectId>) -> Result<(), ApiError> {
        match (self.project(), project) {
            (Some(own), Some(project)) if own != project => Err(self.foreign(project)),
            _ => Ok(()),
        }
    }

    fn foreign(&self, project: &ProjectId) -> ApiError {
        ApiError::forbidden(match self {
            Self::Session(CallingSession { id, .. }) => format!("session '{id}' may not act in project '{project}'"),
            Self::Run { id, .. } => format!("a step of run '{id}' may not act in project '{project}'"),
            _ => format!("this token is not for project '{project}'"),
        })
    }

    /// What its requests are counted under.
    pub(crate) fn credential(&self) -> CredentialKey {
        match self {
            Self::Person | Self::Hook => CredentialKey::People,
            Self::Session(session) => CredentialKey::Session(session.id.clone()),
            Self::Run { id, .. } => CredentialKey::Run(*id),
            Self::Token(token) => CredentialKey::Token(token.id.clone()),
            Self::Stranger => CredentialKey::Strangers,
        }
    }

    /// What sets its idempotency keys apart from those of others.
    pub(crate) fn key_space(&self) -> String {
        match self {
            Self::Token(CallingToken { id: Some(id), .. }) => id.to_string(),
            _ => self.session_id().map(ToString::to_string).unwrap_or_default(),
        }
    }

    /// Refuses one that may not hand out access: a token knows nothing of the limits of the step or token that made it.
    pub(crate) fn require_hand_out(&self, what: &str) -> Result<(), ApiError> {
        match self {
            Self::Token(CallingToken { id: Some(_), .. }) => {
                Err(ApiError::forbidden(format!("this token may not {what}")))
            }
            _ => self.require_person(what),
        }
    }

    /// Refuses everyone but people and programs with all their rights.
    pub(crate) fn require_person(&self, what: &str) -> Result<(), ApiError> {
        match self {
            // Hooks are the user's own.
            Self::Person | Self::Hook | Self::Token(CallingToken { project: None, access: TokenAccess::Write, .. }) => {
                Ok(())
            }
            Self::Token(_) => Err(ApiError::forbidden(format!("this token may not {what}"))),
            Self::Session(CallingSession { id, .. }) => {
                Err(ApiError::forbidden(format!("session '{id}' may not {what}")))
            }
            Self::Run { .. } => Err(ApiError::forbidden(format!("a step of a run may not {what}"))),
            Self::Stranger => Err(ApiError::unauthorized(format!("a stranger may not {what}"))),
        }
    }

    /// Refuses steps of runs: an agent may have written what they execute.
    pub(crate) fn refuse_steps(&self, what: &str) -> Result<(), ApiError> {
        match self {
            Self::Run { .. } => Err(ApiError::forbidden(format!("a step of a run may not {what}"))),
            _ => Ok(()),
        }
    }

    /// Refuses workers: they do the work and do not assign it.
    pub(crate) fn refuse_workers(&self, what: &str) -> Result<(), ApiError> {
        match self.session() {
            Some(CallingSession { id, role: SessionRole::Worker, .. }) => {
                Err(ApiError::forbidden(format!("session '{id}' is a worker and may not {what}")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a worker that speaks for another session.
    pub(crate) fn check_session(&self, session: &SessionId) -> Result<(), ApiError> {
        match self.session() {
            Some(CallingSession { id, role: SessionRole::Worker, .. }) if id != session => {
                Err(ApiError::forbidden(format!("session '{id}' may not act for session '{session}'")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a token that only reads.
    pub(crate) fn check_write(&self) -> Result<(), ApiError> {
        match self {
            Self::Token(CallingToken { access: TokenAccess::Read, .. }) => {
                Err(ApiError::forbidden("this token may only read"))
            }
            _ => Ok(()),
        }
    }
}

impl CallingSession {
    fn actor(&self) -> Actor {
        Actor::Session { id: self.id.clone(), role: self.role }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| ApiError::unauthorized("unknown caller"))
    }
}

/// The actor of a request, for handlers that ask nothing else of the caller.
pub(crate) struct CallingActor(pub(crate) Actor);

impl<S: Send + Sync> FromRequestParts<S> for CallingActor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Caller::from_request_parts(parts, state).await.map(|caller| Self(caller.actor()))
    }
}

#[cfg(test)]
mod tests {
    use maestro_core::id::EntityId as _;

    use super::*;

    #[test]
    fn a_step_is_held_to_its_project_and_decides_nothing() {
        let project = ProjectId::parse("proj_1").unwrap();
        let step = Caller::Run { id: RunId::default(), starter: RunStarter::Person(Some(project.clone())) };
        assert_eq!(step.actor(), Actor::Client { project });
        assert!(step.refuse_steps("answer").is_err() && step.require_person("answer").is_err());
        assert!(step.check_project(Some(&ProjectId::parse("proj_2").unwrap())).is_err());
        assert!(Caller::Person.refuse_steps("answer").is_ok());
    }
}
