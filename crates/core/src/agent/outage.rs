//! Pauses between the tries of an agent whose model is out of reach.

use super::failure::RetryDecision;

/// How often a model is tried again before the session gives up: about a day with the usual first pause.
const MOST_TRIES: u32 = 20;
/// How many times as long as the first pause the longest one is: two hours for half a minute.
const LONGEST: f64 = 240.0;
/// How far away the moment may be that a model's server names, in milliseconds.
const FARTHEST: i64 = 24 * 60 * 60 * 1000;

/// When to try again after an outage, in milliseconds since 1970; nothing where that is no outage, or where it lasts too
/// long.
///
/// `tries` counts the outages so far, this one included, and `first` is the first pause in seconds. What the server says
/// itself counts for more than our own pauses.
pub fn next_try(decision: RetryDecision, tries: u32, first: f64, now: i64) -> Option<i64> {
    let at = match decision {
        RetryDecision::WaitOut => now.saturating_add(pause_ms(tries, first)),
        RetryDecision::RetryAfter { ms } => now.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)),
        RetryDecision::WaitUntil { at } => at.max(now),
        RetryDecision::Park | RetryDecision::Compact | RetryDecision::Retry | RetryDecision::Fail => return None,
    };
    (tries <= MOST_TRIES && at.saturating_sub(now) <= FARTHEST).then_some(at)
}

/// The pause after so many tries: each is twice as long as the one before, up to the longest.
fn pause_ms(tries: u32, first: f64) -> i64 {
    let doubled = 2.0_f64.powi(i32::try_from(tries.saturating_sub(1)).unwrap_or(i32::MAX));
    let seconds = first.max(0.0) * doubled.min(LONGEST);
    i64::try_from(std::time::Duration::try_from_secs_f64(seconds).map_or(u128::MAX, |pause| pause.as_millis()))
        .unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 60 * 60 * 1000;

    #[test]
    fn pauses_double_up_to_two_hours_and_end_after_a_day() {
        let at = |tries| next_try(RetryDecision::WaitOut, tries, 30.0, 1_000);
        let first: Vec<i64> = (1..=4).filter_map(|tries| Some(at(tries)? - 1_000)).collect();
        assert_eq!(first, [30_000, 60_000, 120_000, 240_000]);
        assert_eq!((at(9), at(20)), (Some(1_000 + 2 * HOUR), Some(1_000 + 2 * HOUR)));
        assert_eq!(at(21), None);
        let all: i64 = (1..=20).filter_map(|tries| Some(at(tries)? - 1_000)).sum();
        assert!((24 * HOUR..28 * HOUR).contains(&all), "{all}");
    }

    #[test]
    fn what_the_server_says_counts_unless_it_is_too_far_away() {
        let at = |decision| next_try(decision, 1, 30.0, 1_000);
        assert_eq!(at(RetryDecision::RetryAfter { ms: 90_000 }), Some(91_000));
        assert_eq!(at(RetryDecision::WaitUntil { at: 5 * HOUR }), Some(5 * HOUR));
        assert_eq!(at(RetryDecision::WaitUntil { at: 10 }), Some(1_000), "it is over already");
        assert_eq!(at(RetryDecision::RetryAfter { ms: u64::MAX }), None);
        assert_eq!(at(RetryDecision::WaitUntil { at: 72 * HOUR }), None);
        for other in [RetryDecision::Park, RetryDecision::Retry, RetryDecision::Fail, RetryDecision::Compact] {
            assert_eq!(at(other), None);
        }
    }
}
