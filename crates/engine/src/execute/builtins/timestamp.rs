//! Text form of a moment.

use std::fmt::Write as _;

use maestro_core::utc_time::UtcTime;

/// A moment as `iso`, `date`, `epoch` (milliseconds, as everywhere in Maestro), or by a pattern as `date` knows it.
pub(super) fn format_time(at: i64, format: &str) -> Result<String, String> {
    let pattern = match format {
        "iso" => "%Y-%m-%dT%H:%M:%SZ",
        "date" => "%Y-%m-%d",
        "epoch" => return Ok(at.to_string()),
        pattern if pattern.contains('%') => pattern,
        other => {
            return Err(format!(
                "`{other}` is no way to write a time; there are iso, date, epoch, and patterns as `%Y-%m-%d`"
            ));
        }
    };
    let UtcTime { year, month, day, hour, minute, second, .. } = UtcTime::of(at);
    let (mut text, mut chars) = (String::new(), pattern.chars());
    while let Some(c) = chars.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        let _ = match chars.next() {
            Some('Y') => write!(text, "{year:04}"),
            Some('m') => write!(text, "{month:02}"),
            Some('d') => write!(text, "{day:02}"),
            Some('H') => write!(text, "{hour:02}"),
            Some('M') => write!(text, "{minute:02}"),
            Some('S') => write!(text, "{second:02}"),
            Some('F') => write!(text, "{year:04}-{month:02}-{day:02}"),
            Some('T') => write!(text, "{hour:02}:{minute:02}:{second:02}"),
            Some('s') => write!(text, "{}", at.div_euclid(1000)),
            Some('%') => write!(text, "%"),
            other => {
                let other = other.map(String::from).unwrap_or_default();
                return Err(format!("`%{other}` is not known; there are %Y %m %d %H %M %S %F %T %s %%"));
            }
        };
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_as_asked() {
        let at = 1_709_210_096_007;
        for (format, expected) in [
            ("iso", "2024-02-29T12:34:56Z"),
            ("date", "2024-02-29"),
            ("epoch", "1709210096007"),
            ("%F.%H:%M:%S", "2024-02-29.12:34:56"),
            ("%s %T %%", "1709210096 12:34:56 %"),
        ] {
            assert_eq!(format_time(at, format).as_deref(), Ok(expected));
        }
        assert!(
            format_time(at, "%Q").is_err() && format_time(at, "%").is_err() && format_time(at, "tomorrow").is_err()
        );
    }
}
