//! Changes and reads as values: a change is applied in one transaction, a read sees one state.

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

use crate::actor::Actor;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::idempotency::{self, IdempotencyKey};
use crate::tx::ChangeTx;

/// A change to what is stored. It may be applied again when another one came first, so it keeps nothing of its own.
pub trait Change: Send + Sync + 'static {
    /// What the caller learns.
    type Output: Send + Serialize + DeserializeOwned + 'static;

    /// Makes the change; an error undoes all of it.
    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Self::Output, StoreError>;

    /// Who makes it, where that is known; its events say so of what acts by itself.
    fn actor(&self) -> Option<&Actor> {
        None
    }
}

/// A query of what is stored.
pub trait Query: Send + 'static {
    /// The result.
    type Output: Send + 'static;

    /// Runs the query.
    fn load(&self, db: &mut DbTx<'_>) -> Result<Self::Output, StoreError>;
}

/// A change on its way through a writer's thread.
pub(crate) trait WriteJob: Send {
    /// Makes the change and appends its events; the outcome waits for the commit.
    fn run(&mut self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError>;

    /// Sends the outcome to the caller once it is certain.
    fn settle(self: Box<Self>, committed: Result<(), StoreError>);
}

/// A change and the caller that waits for it.
pub(crate) struct PendingChange<C: Change> {
    change: C,
    key: Option<IdempotencyKey>,
    outcome: Option<Result<C::Output, StoreError>>,
    caller: oneshot::Sender<Result<C::Output, StoreError>>,
}

impl<C: Change> PendingChange<C> {
    pub(crate) fn new(
        change: C,
        once: Option<IdempotencyKey>,
    ) -> (Box<Self>, oneshot::Receiver<Result<C::Output, StoreError>>) {
        let (caller, answer) = oneshot::channel();
        (Box::new(Self { change, key: once, outcome: None, caller }), answer)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<C::Output, StoreError> {
        let Some(once) = &self.key else {
            return self.change.apply(tx);
        };
        if let Some(answer) = idempotency::find_answer(tx, once)? {
            return Ok(answer);
        }
        let output = self.change.apply(tx)?;
        idempotency::save_answer(tx, once, &output)?;
        Ok(output)
    }
}

impl<C: Change> WriteJob for PendingChange<C> {
    fn run(&mut self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        match self.apply(tx).and_then(|output| tx.append(self.change.actor()).map(|()| output)) {
            Ok(output) => {
                self.outcome = Some(Ok(output));
                Ok(())
            }
            Err(error) => {
                self.outcome = Some(Err(error.clone()));
                Err(error)
            }
        }
    }

    fn settle(self: Box<Self>, committed: Result<(), StoreError>) {
        let outcome = match (self.outcome, committed) {
            // Of a change that met others too often, the writer knows best what was in the way.
            (Some(Err(StoreError::Collision) | Ok(_)) | None, Err(failed)) => Err(failed),
            (Some(Err(refused)), _) => Err(refused),
            (Some(done), Ok(())) => done,
            (None, Ok(())) => Err(StoreError::Closed),
        };
        // The caller may have gone away; what is stored stays stored.
        let _ = self.caller.send(outcome);
    }
}

/// A read on its way through a reader's thread.
pub(crate) type QueryJob = Box<dyn FnOnce(Result<&mut DbTx<'_>, StoreError>) + Send>;

pub(crate) fn query_job<R: Query>(read: R) -> (QueryJob, oneshot::Receiver<Result<R::Output, StoreError>>) {
    let (caller, answer) = oneshot::channel();
    let job = move |db: Result<&mut DbTx<'_>, StoreError>| {
        // The caller may have gone away, and no one else needs the answer.
        let _ = caller.send(db.and_then(|db| read.load(db)));
    };
    (Box::new(job), answer)
}
