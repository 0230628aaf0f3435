//! Sessions with the ends of their timelines, read as of one moment.

use maestro_api::sessions::SessionBody;
use maestro_core::Session;
use maestro_core::id::SessionId;
use maestro_store::{Db, Listed, Part, Read, SessionById, SessionEvents, Sessions, StoreError, Timeline};

/// How many lines of a timeline go with a session; the rest is had by asking for the timeline.
const LINES: i64 = 100;

/// A session with the end of its timeline.
#[derive(Debug, Clone)]
pub(crate) struct FullSession(pub(crate) SessionId);

impl Read for FullSession {
    type Output = SessionBody;

    fn load(&self, db: &mut Db<'_>) -> Result<SessionBody, StoreError> {
        let session = SessionById(self.0.clone()).load(db)?;
        full(db, session)
    }
}

fn full(db: &mut Db<'_>, session: Session) -> Result<SessionBody, StoreError> {
    let timeline = Timeline { session: session.id.clone(), part: Part::Last(LINES) }.load(db)?.items;
    let events = SessionEvents { session: session.id.clone(), last: LINES }.load(db)?;
    Ok(SessionBody::new(session, events, timeline))
}

/// Sessions with the ends of their timelines.
#[derive(Debug, Clone)]
pub(crate) struct FullSessions(pub(crate) Sessions);

impl Read for FullSessions {
    type Output = Listed<SessionBody>;

    fn load(&self, db: &mut Db<'_>) -> Result<Listed<SessionBody>, StoreError> {
        let found = self.0.load(db)?;
        let items = found.items.into_iter().map(|session| full(db, session)).collect::<Result<_, _>>()?;
        Ok(Listed { items, next: found.next })
    }
}
