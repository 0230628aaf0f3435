//! Sessions with the ends of their timelines, read as of one moment.

use maestro_api::sessions::SessionBody;
use maestro_core::Session;
use maestro_core::id::SessionId;
use maestro_store::{
    DbTx, PageItems, Query, RecentSessionEvents, SessionById, SessionList, StoreError, TimelineQuery, TimelineRange,
};

/// How many lines of a timeline go with a session; the rest is had by asking for the timeline.
const LINES: i64 = 100;

/// A session with the end of its timeline.
#[derive(Debug, Clone)]
pub(crate) struct FullSession(pub(crate) SessionId);

impl Query for FullSession {
    type Output = SessionBody;

    fn load(&self, db: &mut DbTx<'_>) -> Result<SessionBody, StoreError> {
        let session = SessionById(self.0.clone()).load(db)?;
        full(db, session)
    }
}

fn full(db: &mut DbTx<'_>, session: Session) -> Result<SessionBody, StoreError> {
    let timeline = TimelineQuery { session: session.id.clone(), range: TimelineRange::Last(LINES) }.load(db)?.items;
    let events = RecentSessionEvents { session: session.id.clone(), last: LINES }.load(db)?;
    Ok(SessionBody::new(session, events, timeline))
}

/// Sessions with the ends of their timelines.
#[derive(Debug, Clone)]
pub(crate) struct FullSessions(pub(crate) SessionList);

impl Query for FullSessions {
    type Output = PageItems<SessionBody>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<PageItems<SessionBody>, StoreError> {
        let found = self.0.load(db)?;
        let items = found.items.into_iter().map(|session| full(db, session)).collect::<Result<_, _>>()?;
        Ok(PageItems { items, next: found.next })
    }
}
