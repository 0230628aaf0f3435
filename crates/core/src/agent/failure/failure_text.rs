//! HTTP status and waiting time in the text of a failure.

use crate::excerpt::first_bytes;

/// How much of a message is searched; the cause comes early.
const LOOKED_AT: usize = 4096;

/// What stands before a number that is a status.
const BEFORE_STATUS: [&str; 5] = ["status", "code", "http", "error", "("];

/// What stands before a wait.
const BEFORE_WAIT: [&str; 6] =
    ["again in ", "retry in ", "retry after ", "retry-after: ", "retrydelay\": \"", "retrydelay\":\""];

/// What stands before a moment in seconds since 1970.
const BEFORE_MOMENT: [&str; 3] = ["limit reached|", "resets at ", "resetsat\":"];

/// The status that a message names: a number from 400 to 599 behind a word such as `status`.
pub(super) fn status(message: &str) -> Option<u16> {
    let text = lower(message);
    let bytes = text.as_bytes();
    let starts = text.match_indices(['4', '5']).map(|(at, _)| at);
    starts.filter(|at| stands_alone(bytes, *at)).find_map(|at| {
        let before = &text[text.floor_char_boundary(at.saturating_sub(16))..at];
        let named = BEFORE_STATUS.iter().any(|word| before.contains(word));
        named.then(|| text.get(at..at + 3)?.parse().ok()).flatten()
    })
}

/// Whether three digits begin here that are not part of a longer number or word.
fn stands_alone(bytes: &[u8], at: usize) -> bool {
    let part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let digits = bytes.get(at..at + 3).is_some_and(|three| three.iter().all(u8::is_ascii_digit));
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    digits && !part(before) && !part(bytes.get(at + 3)) && before != Some(&b'.') && before != Some(&b':')
}

/// How many milliseconds to wait, where a message says so: `try again in 1m30.5s`.
pub(super) fn wait(message: &str) -> Option<u64> {
    let text = lower(message);
    let rest = BEFORE_WAIT.iter().find_map(|words| text.split_once(words)).map(|(_, rest)| rest)?;
    let mut rest = rest.trim_start();
    let mut total = None;
    while let Some((amount, after)) = number(rest) {
        let after = after.trim_start();
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        // Without a unit it is seconds, as in the header of that name.
        let (unit, next) = after.split_at(end);
        let Some(ms) = unit_ms(unit) else { break };
        total = Some(total.unwrap_or(0.0) + amount * ms);
        rest = next.trim_start_matches([',', ' ']);
    }
    total.map(whole)
}

/// The moment a message names, in milliseconds since 1970.
pub(super) fn moment(message: &str) -> Option<i64> {
    let text = lower(message);
    let (_, rest) = BEFORE_MOMENT.iter().find_map(|words| text.split_once(words))?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let seconds: i64 = rest[..end].parse().ok()?;
    (end == 10).then(|| seconds * 1000)
}

fn lower(message: &str) -> String {
    first_bytes(message, LOOKED_AT).to_lowercase()
}

fn number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    // A full stop after the number is not part of it.
    let end = text[..end].trim_end_matches('.').len();
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn unit_ms(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" | "millisecond" | "milliseconds" => 1.0,
        "" | "s" | "sec" | "secs" | "second" | "seconds" => 1000.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
        "h" | "hr" | "hour" | "hours" => 3_600_000.0,
        "d" | "day" | "days" => 86_400_000.0,
        _ => return None,
    })
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a wait is positive, and a cast saturates")]
fn whole(ms: f64) -> u64 {
    ms.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_number_behind_a_word_for_it() {
        let cases = [
            ("unexpected status 401 Unauthorized", Some(401)),
            ("exceeded retry limit, last status: 429 Too Many Requests", Some(429)),
            ("Request rejected (429) · x", Some(429)),
            ("API Error: 529 {}", Some(529)),
            ("{\"error\":{\"code\": 503}}", Some(503)),
            ("the error is in line 4012", None),
            ("at http://127.0.0.1:443/x", None),
            ("I wrote 500 lines", None),
            ("status é40", None),
        ];
        for (text, expected) in cases {
            assert_eq!(status(text), expected, "{text}");
        }
    }

    #[test]
    fn a_wait_is_read_in_all_its_units() {
        let cases = [
            ("Please try again in 20s.", Some(20_000)),
            ("try again in 1m30.5s", Some(90_500)),
            ("Please retry in 34.07s.", Some(34_070)),
            ("Try again in 3 days 4 hours 5 minutes.", Some(273_900_000)),
            ("try again in 250ms", Some(250)),
            ("Retry-After: 30", Some(30_000)),
            ("\"retryDelay\": \"34s\"", Some(34_000)),
            ("try again in a while", None),
            ("try again later", None),
        ];
        for (text, expected) in cases {
            assert_eq!(wait(text), expected, "{text}");
        }
        assert_eq!(moment("usage limit reached|1755806400"), Some(1_755_806_400_000));
        assert_eq!(moment("usage limit reached|17"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_words_are_read_without_a_panic(text in "(status|again in |limit reached\\||é|[0-9. smhd:(]){0,40}") {
            let _ = (status(&text), wait(&text), moment(&text));
        }
    }
}
