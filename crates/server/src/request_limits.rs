//! Limits of requests for each credential, so that no caller can take what others need.
//!
//! Strangers share a small pool, and people have one of their own. A response that streams counts until it has ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use axum::http::StatusCode;
use maestro_core::event::RunId;
use maestro_core::id::{AccessTokenId, SessionId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::error::ApiError;

/// How many requests and streams of all strangers are open at once.
const STRANGERS: usize = 32;
/// How many of the user.
const PEOPLE: usize = 1024;
/// How many of each token.
const TOKEN: usize = 1024;
/// How many of each session, and of the steps of each run.
const SESSION: usize = 128;
/// How long a request waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many credentials are remembered before those without requests are forgotten.
const MOST: usize = 1024;

/// What a request is counted under.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum CredentialKey {
    People,
    Session(SessionId),
    Run(RunId),
    Token(Option<AccessTokenId>),
    Strangers,
}

impl CredentialKey {
    fn most(&self) -> usize {
        match self {
            Self::People => PEOPLE,
            Self::Session(_) | Self::Run(_) => SESSION,
            Self::Token(_) => TOKEN,
            Self::Strangers => STRANGERS,
        }
    }
}

/// The open requests of each credential.
#[derive(Debug, Default)]
pub(crate) struct RequestLimits {
    rooms: Mutex<HashMap<CredentialKey, Weak<Semaphore>>>,
}

/// The turn of a request; whatever streams keeps it.
#[derive(Debug, Clone)]
pub(crate) struct RequestTurn {
    _permit: Arc<OwnedSemaphorePermit>,
}

impl RequestLimits {
    /// Waits for the turn of a caller's request. Strangers do not wait.
    pub(crate) async fn enter(&self, key: CredentialKey) -> Result<RequestTurn, ApiError> {
        let patience = if key == CredentialKey::Strangers { Duration::ZERO } else { PATIENCE };
        match timeout(patience, self.room(key).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(RequestTurn { _permit: Arc::new(permit) }),
            _ => Err(ApiError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "TOO_MANY_REQUESTS",
                "too many requests of this caller are open",
            )),
        }
    }

    fn room(&self, key: CredentialKey) -> Arc<Semaphore> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = rooms.get(&key).and_then(Weak::upgrade) {
            return room;
        }
        if rooms.len() >= MOST {
            rooms.retain(|_, room| room.strong_count() > 0);
        }
        let room = Arc::new(Semaphore::new(key.most()));
        rooms.insert(key, Arc::downgrade(&room));
        room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn strangers_cannot_take_the_room_of_people() {
        let limits = RequestLimits::default();
        let mut open = Vec::new();
        for _ in 0..STRANGERS {
            open.push(limits.enter(CredentialKey::Strangers).await.unwrap());
        }
        assert!(limits.enter(CredentialKey::Strangers).await.is_err());
        assert!(limits.enter(CredentialKey::People).await.is_ok());
        open.pop();
        assert!(limits.enter(CredentialKey::Strangers).await.is_ok());
    }
}
