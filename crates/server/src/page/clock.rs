//! Times for people, as time elapsed, which is the same in every time zone.

/// A second, in milliseconds.
const SECOND: i64 = 1000;
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A duration: `0:41`, `3:12`, `1:02:03`, `2 d 3 h`.
pub(super) fn elapsed(since: i64, now: i64) -> String {
    let seconds = now.saturating_sub(since).max(0) / SECOND;
    let (hours, minutes) = (seconds / HOUR, seconds / MINUTE % 60);
    match seconds {
        0..HOUR => format!("{minutes}:{:02}", seconds % 60),
        HOUR..DAY => format!("{hours}:{minutes:02}:{:02}", seconds % 60),
        _ => format!("{} d {} h", seconds / DAY, hours % 24),
    }
}

/// How long something took that is over: `0.3 s`, `14 s`, then like [`elapsed`].
pub(super) fn took(since: i64, until: i64) -> String {
    let tenths = until.saturating_sub(since).max(0) / (SECOND / 10);
    match tenths {
        0..100 => format!("{}.{} s", tenths / 10, tenths % 10),
        100..600 => format!("{} s", tenths / 10),
        _ => elapsed(since, until),
    }
}

/// The time since a moment: `just now`, `12 min ago`, `3 h ago`, `2 d ago`.
pub(super) fn ago(then: i64, now: i64) -> String {
    let seconds = now.saturating_sub(then).max(0) / SECOND;
    match seconds {
        0..MINUTE => "just now".to_owned(),
        MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        HOUR..DAY => format!("{} h ago", seconds / HOUR),
        _ => format!("{} d ago", seconds / DAY),
    }
}

/// A moment for programs: `2025-02-05T00:00:00Z`.
pub(super) fn iso(at: i64) -> String {
    let (days, seconds) = (at.div_euclid(SECOND).div_euclid(DAY), at.div_euclid(SECOND).rem_euclid(DAY));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (seconds / HOUR, seconds / MINUTE % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A day for people: `5 Feb`.
pub(super) fn day_label(at: i64) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, month, day) = civil(at.div_euclid(SECOND).div_euclid(DAY));
    let month = usize::try_from(month - 1).ok().and_then(|index| MONTHS.get(index)).unwrap_or(&"");
    format!("{day} {month}")
}

/// The date of a day counted from 1970: years start in March here, so that the leap day is the last one.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let month = if march < 10 { march + 3 } else { march - 9 };
    (year + era * 400 + i64::from(month <= 2), month, of_year - (153 * march + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_as_many_parts_as_it_needs() {
        for (seconds, text) in [(0, "0:00"), (41, "0:41"), (192, "3:12"), (3723, "1:02:03"), (183_600, "2 d 3 h")] {
            assert_eq!(elapsed(0, seconds * SECOND), text);
        }
        assert_eq!(elapsed(5000, 0), "0:00", "a clock that went back");
    }

    #[test]
    fn what_is_over_is_told_as_exactly_as_it_matters() {
        for (milliseconds, text) in
            [(-5, "0.0 s"), (340, "0.3 s"), (9_960, "9.9 s"), (14_200, "14 s"), (61_000, "1:01")]
        {
            assert_eq!(took(1000, 1000 + milliseconds), text);
        }
    }

    #[test]
    fn the_past_is_told_roughly() {
        for (seconds, text) in [(59, "just now"), (60, "1 min ago"), (7200, "2 h ago"), (90_000, "1 d ago")] {
            assert_eq!(ago(0, seconds * SECOND), text);
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(iso(1_738_713_600_000), "2025-02-05T00:00:00Z");
        assert_eq!(iso(951_782_400_000), "2000-02-29T00:00:00Z");
        assert_eq!(iso(4_107_542_399_999), "2100-02-28T23:59:59Z");
        assert_eq!(iso(0), "1970-01-01T00:00:00Z");
    }
}
