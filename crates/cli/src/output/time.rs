//! Times as text: milliseconds since 1970 as a UTC date.

use maestro_core::utc_time::UtcTime;

/// In ISO 8601: `2026-02-08T09:30:00.250Z`.
pub(crate) fn iso(at: i64) -> String {
    UtcTime::of(at).iso()
}

/// The day and the minute: `2026-02-08 09:30`.
pub(crate) fn day(at: i64) -> String {
    let UtcTime { year, month, day, hour, minute, .. } = UtcTime::of(at);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
}

/// The time of day: `09:30:00`.
pub(crate) fn clock_time(at: i64) -> String {
    let UtcTime { hour, minute, second, .. } = UtcTime::of(at);
    format!("{hour:02}:{minute:02}:{second:02}")
}

/// For the name of a file, which sorts by time: `20260208T093000250Z`.
pub(crate) fn file_stamp(at: i64) -> String {
    iso(at).replace(['-', ':', '.'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_dates() {
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(iso(1_770_543_000_250), "2026-02-08T09:30:00.250Z");
        assert_eq!(iso(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(day(1_770_543_000_250), "2026-02-08 09:30");
        assert_eq!(clock_time(1_770_543_000_250), "09:30:00");
        assert_eq!(file_stamp(1_770_543_000_250), "20260208T093000250Z");
    }
}
