//! Failed attempts to sign in with a token: after a few, each further one makes the next wait longer.

use std::sync::{Mutex, PoisonError};

/// How many attempts cost nothing.
const FREE: u32 = 5;
/// The longest pause, in seconds.
const LONGEST: i64 = 300;

/// The failures in a row, and until when the next attempt waits.
#[derive(Debug, Default)]
pub(crate) struct FailedAttempts(Mutex<(u32, i64)>);

impl FailedAttempts {
    /// How many seconds an attempt has to wait at this time.
    pub(crate) fn wait(&self, now: i64) -> Option<i64> {
        let (_, until) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (until > now).then(|| (until - now).div_euclid(1000) + 1)
    }

    /// Notes a failed attempt.
    pub(crate) fn note(&self, now: i64) {
        let mut failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failed.0 = failed.0.saturating_add(1);
        if let Some(more) = failed.0.checked_sub(FREE) {
            failed.1 = now + (1_i64 << more.min(16)).min(LONGEST) * 1000;
        }
    }

    /// Forgets them after a success.
    pub(crate) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_after_the_first_few_doubles_the_pause() {
        let (attempts, now) = (FailedAttempts::default(), 1_000_000);
        for _ in 1..FREE {
            attempts.note(now);
            assert_eq!(attempts.wait(now), None);
        }
        attempts.note(now);
        assert_eq!(attempts.wait(now), Some(2));
        assert_eq!(attempts.wait(now + 1000), None);
        for _ in 0..40 {
            attempts.note(now);
        }
        assert_eq!(attempts.wait(now), Some(LONGEST + 1));
        attempts.clear();
        assert_eq!(attempts.wait(now), None);
    }
}
