//! How is a moment written down? Milliseconds since 1970 as a date, in UTC.

/// A moment, taken apart.
struct Moment {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    millisecond: i64,
}

impl Moment {
    fn of(at: i64) -> Self {
        const DAY: i64 = 24 * 60 * 60 * 1000;
        let (days, rest) = (at.div_euclid(DAY), at.rem_euclid(DAY));
        let (year, month, day) = date(days);
        Self {
            year,
            month,
            day,
            hour: rest / 3_600_000,
            minute: rest / 60_000 % 60,
            second: rest / 1000 % 60,
            millisecond: rest % 1000,
        }
    }
}

/// The date of a number of days since 1970. Years are counted from March, so that leap days come last.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// As ISO 8601 has it: `2026-02-08T09:30:00.250Z`.
pub(crate) fn iso(at: i64) -> String {
    let Moment { year, month, day, hour, minute, second, millisecond } = Moment::of(at);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
}

/// For the name of a file, which sorts by time: `20260208T093000250Z`.
pub(crate) fn in_a_name(at: i64) -> String {
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
        assert_eq!(in_a_name(1_770_543_000_250), "20260208T093000250Z");
    }
}
