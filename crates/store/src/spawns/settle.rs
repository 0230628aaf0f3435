//! Settlement of an agent that ended: its outcome, and what happens next.

use maestro_core::agent::{PermissionChoiceKind, SessionOutcome};
use maestro_core::event::{Event, SessionFact};
use maestro_core::id::SessionId;
use maestro_core::session::{EndReason, EntryKind, Session, SessionControl, SessionStatus};

use serde_json::Value as Json;

use super::spending::AgentCost;
use super::{NEVER, require_claim};
use crate::actor::Actor;
use crate::change::Change;
use crate::error::StoreError;
use crate::messages::SendMessage;
use crate::search_words::{self, SearchedTable};
use crate::timeline::{self, NewTimelineEntry};
use crate::tokens;
use crate::tx::{ChangeTx, EventScope};
use crate::value::to_json;
use crate::{session_rows, session_status};

/// The sender of a reminder.
const REMINDER: &str = "Maestro";

/// What becomes of a spawn when its agent has ended.
#[derive(Debug, Clone, PartialEq)]
pub enum NextStart {
    /// It is over, and this is how its session ended.
    Over {
        /// The session's status.
        status: SessionStatus,
        /// Why, where the agent did not decide it.
        end: Option<EndReason>,
    },
    /// It is started again, not before this time.
    Retry {
        /// When.
        not_before: i64,
    },
    /// It is started again at once, in a fresh session of the agent, with a summary of what was done.
    Fresh,
    /// It is started again at once, and told this.
    Remind {
        /// What.
        text: String,
    },
    /// Another agent is started in its place at once, with a summary of what was done.
    TakeOver {
        /// The agent.
        agent: String,
        /// What is needed to start it.
        spec: Json,
    },
    /// It is started again with the next message to it.
    AwaitInput {
        /// What it needs.
        needs: String,
    },
    /// A person has it now.
    HandOver,
}

/// Settles a spawn whose agent ended.
#[derive(Debug, Clone)]
pub struct SettleSpawn {
    /// Which session.
    pub session: SessionId,
    /// Who had it.
    pub worker: String,
    /// The outcome.
    pub outcome: SessionOutcome,
    /// The same in a line, for people.
    pub line: String,
    /// What follows.
    pub next_start: NextStart,
}

impl Change for SettleSpawn {
    type Output = ();

    fn actor(&self) -> Option<&Actor> {
        Some(&Actor::Worker)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        require_claim(tx, &self.session, &self.worker)?;
        self.move_on(tx)?;
        tokens::end_tokens(tx, &self.session)?;
        // The agent that asked is gone, so its questions need no answer.
        tx.execute(
            "UPDATE permissions SET answer = $1, answered_at = $2 WHERE session_id = $3 AND answer IS NULL",
            &[(&to_json(&PermissionChoiceKind::RejectOnce)?).into(), tx.now.into(), (&self.session).into()],
        )?;
        let mut session = session_rows::by_id(tx, &self.session)?;
        let entry = NewTimelineEntry {
            kind: EntryKind::agent_ended(),
            message: self.line.clone(),
            task: None,
            metadata: Some(
                serde_json::to_value(&self.outcome).map_err(|error| StoreError::corrupt(error.to_string()))?,
            ),
        };
        timeline::add(tx, &session.project, &session.id, &entry)?;
        match &self.next_start {
            NextStart::Over { status, end } if !session.status.is_over() => {
                session_status::set_status(tx, &mut session, *status, *end)
            }
            NextStart::Over { .. } => Ok(()),
            NextStart::AwaitInput { needs } => {
                session.needs_input.get_or_insert_with(|| needs.clone());
                match session.status {
                    SessionStatus::Spawning | SessionStatus::Working => {
                        session_status::set_status(tx, &mut session, SessionStatus::Idle, None)
                    }
                    _ => session_rows::save(tx, &mut session),
                }
            }
            NextStart::Remind { text } => {
                let (from, actor) = (REMINDER.to_owned(), Actor::Worker);
                SendMessage { session: session.id.clone(), from, text: text.clone(), actor }.apply(tx)?;
                self.tell(tx, &session);
                Ok(())
            }
            NextStart::TakeOver { agent, spec } => {
                tx.execute(
                    "UPDATE spawns SET spec = $1 WHERE session_id = $2",
                    &[(&to_json(spec)?).into(), (&self.session).into()],
                )?;
                let searched = session_rows::searched_text(&session);
                session.agent = Some(agent.clone());
                session_rows::save(tx, &mut session)?;
                let (table, id) = (SearchedTable::Sessions, (&session.id).into());
                search_words::change(tx, table, id, &searched, &session_rows::searched_text(&session))?;
                self.tell(tx, &session);
                Ok(())
            }
            NextStart::Retry { .. } | NextStart::Fresh | NextStart::HandOver => {
                self.tell(tx, &session);
                Ok(())
            }
        }
    }
}

/// Queues an ended agent to be started again. A session without a spawn has none.
pub(crate) fn revive(tx: &mut ChangeTx<'_>, session: &Session) -> Result<(), StoreError> {
    let changed = tx.execute(
        "UPDATE spawns SET state = 'waiting', attempt = 0, not_before = $1, updated_at = $2 \
         WHERE session_id = $3 AND state = 'done'",
        &[tx.now.into(), tx.now.into(), (&session.id).into()],
    )?;
    match changed {
        0 => Err(StoreError::InvalidControl { from: session.status, control: SessionControl::Resume }),
        _ => Ok(()),
    }
}

impl SettleSpawn {
    fn move_on(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        // After a wait for a person, attempts count from zero; an attached person keeps the agent by renewing the lease.
        let (columns, not_before, lease) = match &self.next_start {
            NextStart::Over { .. } => ("state = 'done', worker = NULL", tx.now, None),
            NextStart::Retry { not_before } => ("state = 'waiting', worker = NULL", *not_before, None),
            NextStart::Fresh => ("state = 'waiting', worker = NULL, agent_session = NULL", tx.now, None),
            NextStart::Remind { .. } => ("state = 'waiting', worker = NULL", tx.now, None),
            NextStart::TakeOver { .. } => {
                ("state = 'waiting', worker = NULL, agent_session = NULL, attempt = 0", tx.now, None)
            }
            NextStart::AwaitInput { .. } => ("state = 'waiting', worker = NULL, attempt = 0", NEVER, None),
            NextStart::HandOver => {
                let columns =
                    "state = 'attached', worker = attach_requested_by, attach_requested_by = NULL, attempt = 0";
                (columns, tx.now, Some(tx.now + 30_000))
            }
        };
        let cost = AgentCost::of(&self.outcome);
        tx.execute(
            &format!(
                "UPDATE spawns SET {columns}, lease_until = $1, not_before = $2, outcome = $3, cost_micros = $4, \
                 counted_micros = $5, updated_at = $6 WHERE session_id = $7"
            ),
            &[
                lease.into(),
                not_before.into(),
                (&to_json(&self.outcome)?).into(),
                cost.reported.into(),
                cost.counted.into(),
                tx.now.into(),
                (&self.session).into(),
            ],
        )?;
        // A session that waits on purpose must not count as silent.
        let until = (!matches!(self.next_start, NextStart::Over { .. })).then_some(NEVER);
        tx.execute("UPDATE sessions SET lease_until = $1 WHERE id = $2", &[until.into(), (&self.session).into()])?;
        Ok(())
    }

    fn tell(&self, tx: &mut ChangeTx<'_>, session: &Session) {
        let fact = SessionFact {
            id: session.id.clone(),
            name: session.name.clone(),
            status: session.status,
            reason: Some(self.line.clone()),
        };
        tx.emit(EventScope::project(&session.project).session(&session.id), Event::SessionUpdated(fact));
    }
}
