//! Visits of a person, as their browser remembers them: what is new is what happened since the last one.

use axum::http::{HeaderMap, header};

/// After this long without a look, the next one is another visit.
const PAUSE: i64 = 30 * 60 * 1000;
const MINUTE: i64 = 60 * 1000;
const YEAR: i64 = 365 * 24 * 60 * 60;

/// The visit that a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Visit {
    /// When the person was last here before it.
    pub(super) before: Option<i64>,
    /// What the browser remembers from now on.
    pub(super) cookie: String,
}

/// The name of the cookie with the times of visits, which holds nothing secret.
pub(super) fn cookie_name(own: &str) -> String {
    format!("{own}_visit")
}

impl Visit {
    /// The visit at this moment.
    pub(super) fn now(headers: &HeaderMap, own: &str, now: i64) -> Self {
        let name = cookie_name(own);
        let before = match remembered(headers, &name) {
            Some((_, last)) if now - last >= PAUSE => Some(last),
            Some((before, _)) => Some(before).filter(|before| *before > 0),
            None => None,
        };
        // One rendering serves everybody who was last here in the same minute.
        let before = before.map(|before| before - before.rem_euclid(MINUTE)).filter(|before| *before <= now);
        let cookie = format!("{name}={}.{now}; Path=/; Max-Age={YEAR}; SameSite=Strict", before.unwrap_or(0));
        Self { before, cookie }
    }
}

/// When the visit before this one was, and when this one was last known to go on.
fn remembered(headers: &HeaderMap, name: &str) -> Option<(i64, i64)> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = cookies.flat_map(|line| line.split(';'));
    let value = cookies.find_map(|cookie| cookie.trim().strip_prefix(name)?.strip_prefix('='))?;
    let (before, last) = value.split_once('.')?;
    Some((before.parse().ok()?, last.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(cookie: &str, now: i64) -> Visit {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, format!("other=1; {cookie}").parse().unwrap());
        Visit::now(&headers, "m", now)
    }

    #[test]
    fn a_visit_goes_on_until_nobody_looks_for_a_while() {
        let (first, hour) = (100 * MINUTE, 60 * MINUTE);
        let one = Visit::now(&HeaderMap::new(), "m", first);
        assert_eq!((one.before, one.cookie.starts_with("m_visit=0.6000000;")), (None, true));
        assert_eq!(visit("m_visit=0.6000000", first + MINUTE).before, None, "still the first one");
        let later = visit("m_visit=0.6000000", first + hour);
        assert_eq!(later.before, Some(first));
        let again = visit(later.cookie.split(';').next().unwrap(), first + hour + MINUTE);
        assert_eq!(again.before, Some(first), "the same visit");
        for broken in ["m_visit=", "m_visit=x.y", "m_visit=9", "m_visit=99999999999.99999999999"] {
            assert_eq!(visit(broken, first).before, None, "{broken}");
        }
    }
}
