//! Calendar time in UTC, from milliseconds since 1970.

/// A moment, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UtcTime {
    /// The year.
    pub year: i64,
    /// The month, from 1.
    pub month: i64,
    /// The day of the month, from 1.
    pub day: i64,
    /// The hour.
    pub hour: i64,
    /// The minute.
    pub minute: i64,
    /// The second.
    pub second: i64,
    /// The millisecond.
    pub millisecond: i64,
}

impl UtcTime {
    /// The moment so many milliseconds after 1970 began, in UTC.
    pub fn of(at: i64) -> Self {
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

    /// As ISO 8601 has it: `2026-02-08T09:30:00.250Z`.
    pub fn iso(&self) -> String {
        let Self { year, month, day, hour, minute, second, millisecond } = self;
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_date_and_a_time() {
        let moment = UtcTime::of(1_709_210_096_007);
        let UtcTime { year, month, day, hour, minute, second, millisecond } = moment;
        assert_eq!((year, month, day), (2024, 2, 29));
        assert_eq!((hour, minute, second, millisecond), (12, 34, 56, 7));
        assert_eq!(UtcTime::of(-1).year, 1969);
    }
}
