//! Retries of requests that got no answer.

use std::time::Duration;

/// The longest pause there is.
const LONGEST: Duration = Duration::from_mins(1);

/// How often a request is repeated, and after which pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often.
    pub retries: u32,
    /// The first pause; each further one is twice as long.
    pub delay: Duration,
}

impl RetryPolicy {
    /// No retries.
    pub const NONE: Self = Self { retries: 0, delay: Duration::ZERO };

    /// The pauses before each further try.
    pub(crate) fn pauses(self) -> impl Iterator<Item = Duration> {
        (0..self.retries).map(move |tried| self.delay.saturating_mul(1 << tried.min(16)).min(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pause_is_twice_as_long_up_to_a_minute() {
        let policy = RetryPolicy { retries: 8, delay: Duration::from_secs(1) };
        let seconds: Vec<u64> = policy.pauses().map(|pause| pause.as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(RetryPolicy::NONE.pauses().count(), 0);
    }
}
