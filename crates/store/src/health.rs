//! Health of the database: what fails, since when and why.

use std::sync::{Mutex, PoisonError};

use crate::error::StoreError;

/// A failure of the database that has not passed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFailure {
    /// Since when, in milliseconds since 1970.
    pub since: i64,
    /// How often it failed since then.
    pub failures: u64,
    /// Why it failed last.
    pub reason: String,
}

/// Whether reads or changes are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseAccess {
    Read,
    Write,
}

/// The failures of reads and of changes, each until the next one succeeds.
#[derive(Debug, Default)]
pub(crate) struct StoreHealth {
    read: Mutex<Option<StoreFailure>>,
    write: Mutex<Option<StoreFailure>>,
}

impl StoreHealth {
    /// What fails now; a change that cannot be stored counts for more than a read.
    pub(crate) fn failure(&self) -> Option<StoreFailure> {
        let current = |slot: &Mutex<Option<StoreFailure>>| slot.lock().unwrap_or_else(PoisonError::into_inner).clone();
        current(&self.write).or_else(|| current(&self.read))
    }

    /// Takes note of a result by its error, and logs it where the database failed. A refusal shows that the database works.
    pub(crate) fn note(&self, access: DatabaseAccess, what: &str, clock: &dyn Fn() -> i64, error: Option<&StoreError>) {
        let slot = match access {
            DatabaseAccess::Read => &self.read,
            DatabaseAccess::Write => &self.write,
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        match error {
            Some(error) if error.is_failure() => {
                let failure =
                    slot.get_or_insert_with(|| StoreFailure { since: clock(), failures: 0, reason: String::new() });
                failure.failures += 1;
                failure.reason = error.to_string();
                // The first failures are logged one by one, and then ever fewer of them.
                if failure.failures.is_power_of_two() {
                    tracing::error!(?access, what, failures = failure.failures, "{error}");
                }
            }
            // Nothing is known of the database once the store is closed.
            Some(StoreError::Closed) => {}
            None | Some(_) => {
                if let Some(failure) = slot.take() {
                    tracing::info!(?access, what, failures = failure.failures, "the database works again");
                }
            }
        }
    }
}

/// The name of a type without its path.
pub(crate) fn short_name<T>() -> &'static str {
    let name = std::any::type_name::<T>();
    name.rsplit("::").next().unwrap_or(name)
}
