//! Messages from people to an agent, and whether they were delivered.

use maestro_core::event::{Event, MessageFact};
use maestro_core::id::{MessageId, SessionId};
use maestro_core::message::{MessageState, SessionMessage};
use maestro_core::notice::SessionNotice;
use maestro_core::session::Session;

use crate::actor::Actor;
use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::StoreError;
use crate::tx::{ChangeTx, EventScope};
use crate::value::SqlRow;
use crate::{ListPage, PageItems, notices, session_rows};

pub(crate) fn message(row: &mut SqlRow) -> Result<SessionMessage, StoreError> {
    Ok(SessionMessage {
        id: row.parsed()?,
        session_id: row.parsed()?,
        from: row.text()?,
        text: row.text()?,
        state: {
            let word = row.text()?;
            MessageState::from_word(&word).ok_or_else(|| StoreError::corrupt(format!("message state `{word}`")))?
        },
        how: row.maybe_text()?,
        created_at: row.int()?,
        settled_at: row.maybe_int()?,
    })
}

/// Says something to a session's agent. A session that has ended refuses it at once.
#[derive(Debug, Clone)]
pub struct SendMessage {
    /// Which session.
    pub session: SessionId,
    /// Who makes the change.
    pub from: String,
    /// The words.
    pub text: String,
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for SendMessage {
    type Output = SessionMessage;

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<SessionMessage, StoreError> {
        let session = session_rows::by_id(tx, &self.session)?;
        let over = session.status.is_over();
        let message = SessionMessage {
            id: tx.make_id()?,
            session_id: self.session.clone(),
            from: self.from.clone(),
            text: self.text.clone(),
            state: if over { MessageState::Refused } else { MessageState::Queued },
            how: over.then(|| "the session has ended".to_owned()),
            created_at: tx.now,
            settled_at: over.then_some(tx.now),
        };
        tx.execute(
            "INSERT INTO messages (id, session_id, sender, body, state, delivery, created_at, settled_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            &[
                (&message.id).into(),
                (&message.session_id).into(),
                (&message.from).into(),
                (&message.text).into(),
                message.state.as_str().into(),
                message.how.as_ref().into(),
                message.created_at.into(),
                message.settled_at.into(),
            ],
        )?;
        let fact = fact(&message.id, &session, message.how.clone());
        let scope = EventScope::project(&session.project).session(&session.id);
        if over {
            tx.emit(scope, Event::MessageRefused(fact));
        } else {
            tx.emit(scope, Event::MessageQueued(fact));
            let notice = SessionNotice::Message {
                id: message.id.clone(),
                from: message.from.clone(),
                text: message.text.clone(),
            };
            notices::notify(tx, &session.id, &notice, None);
        }
        Ok(message)
    }
}

fn fact(id: &MessageId, session: &Session, how: Option<String>) -> MessageFact {
    MessageFact { id: id.clone(), session_id: session.id.clone(), how }
}

/// Notes that the agent has a message.
pub(crate) fn mark_delivered(
    tx: &mut ChangeTx<'_>,
    session: &Session,
    id: &MessageId,
    how: &str,
) -> Result<(), StoreError> {
    let changed = tx.execute(
        "UPDATE messages SET state = 'delivered', delivery = $1, settled_at = $2 WHERE id = $3 AND state = 'queued'",
        &[how.into(), tx.now.into(), id.into()],
    )?;
    if changed > 0 {
        let scope = EventScope::project(&session.project).session(&session.id);
        tx.emit(scope, Event::MessageDelivered(fact(id, session, Some(how.to_owned()))));
    }
    Ok(())
}

/// Refuses the messages that a session will never receive.
pub(crate) fn refuse_all(tx: &mut ChangeTx<'_>, session: &Session, why: &str) -> Result<(), StoreError> {
    let rows = tx.rows(
        "UPDATE messages SET state = 'refused', delivery = $1, settled_at = $2 \
         WHERE session_id = $3 AND state = 'queued' RETURNING id",
        &[why.into(), tx.now.into(), (&session.id).into()],
    )?;
    for mut row in rows {
        let scope = EventScope::project(&session.project).session(&session.id);
        tx.emit(scope, Event::MessageRefused(fact(&row.parsed()?, session, Some(why.to_owned()))));
    }
    // A revived session must not receive messages that were reported as refused.
    notices::drop_messages(tx, &session.id)
}

/// What was said to a session and has not reached it, oldest first.
#[derive(Debug, Clone)]
pub struct UnreadMessages(
    /// Which session.
    pub SessionId,
);

impl Query for UnreadMessages {
    type Output = Vec<SessionMessage>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<SessionMessage>, StoreError> {
        let sql = "SELECT id, session_id, sender, body, state, delivery, created_at, settled_at FROM messages \
                   WHERE session_id = $1 AND state = 'queued' ORDER BY ord LIMIT 100";
        db.rows(sql, &[(&self.0).into()])?.iter_mut().map(message).collect()
    }
}

/// What was said to a session, oldest first.
#[derive(Debug, Clone)]
pub struct MessageList {
    /// Which session.
    pub session: SessionId,
    /// Which part.
    pub page: ListPage,
}

impl Query for MessageList {
    type Output = PageItems<SessionMessage>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<PageItems<SessionMessage>, StoreError> {
        session_rows::by_id(db, &self.session)?;
        let sql = "SELECT ord, id, session_id, sender, body, state, delivery, created_at, settled_at FROM messages \
                   WHERE session_id = $1 AND ord > $2 ORDER BY ord LIMIT $3";
        let page = self.page;
        let rows = db.rows(sql, &[(&self.session).into(), page.after.into(), page.row_limit().into()])?;
        page.list(rows, message)
    }
}
