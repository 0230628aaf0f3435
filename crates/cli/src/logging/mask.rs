//! Mask for secrets in a line of the log: known tokens, tokens by their form, and passwords in addresses.

/// What a secret is replaced by.
const MASKED: &str = "(secret)";
/// How tokens of sessions begin.
const TOKEN: &str = "mst_";

/// Replaces secrets.
pub(super) struct SecretMask(Vec<String>);

impl SecretMask {
    /// A mask for these secrets and all that look like one.
    pub(super) fn new<'a>(secrets: impl Iterator<Item = &'a str>) -> Self {
        Self(secrets.filter(|secret| secret.len() >= 4).map(str::to_owned).collect())
    }

    pub(super) fn apply(&self, line: &str) -> String {
        let known = self.0.iter().fold(line.to_owned(), |line, secret| line.replace(secret, MASKED));
        let tokens = mask_after(&known, TOKEN, |c| c.is_ascii_alphanumeric());
        let bearers = mask_after(&tokens, "Bearer ", |c| !c.is_whitespace() && c != '"');
        mask_passwords(&bearers)
    }
}

/// Masks what follows a word, as far as it belongs to it.
fn mask_after(line: &str, word: &str, belongs: impl Fn(char) -> bool) -> String {
    let mut parts = line.split(word);
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(&belongs);
        masked.push_str(word);
        masked.push_str(if rest.len() < part.len() && !part.starts_with(MASKED) { MASKED } else { "" });
        masked.push_str(if part.starts_with(MASKED) { part } else { rest });
    }
    masked
}

/// Masks `password` in `scheme://user:password@host`.
fn mask_passwords(line: &str) -> String {
    let mut parts = line.split("://");
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        masked.push_str("://");
        let end = part.find(|c: char| c.is_whitespace() || c == '/' || c == '"').unwrap_or(part.len());
        match part[..end].rfind('@').and_then(|at| Some((part[..at].find(':')?, at))) {
            Some((colon, at)) => masked.extend([&part[..=colon], MASKED, &part[at..]]),
            None => masked.push_str(part),
        }
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_left() {
        let mask = SecretMask::new(["swordfish"].into_iter());
        for (line, wanted) in [
            ("token swordfish, again swordfish", "token (secret), again (secret)"),
            ("MAESTRO_SESSION_TOKEN=mst_0123456789abcdef \"x\"", "MAESTRO_SESSION_TOKEN=mst_(secret) \"x\""),
            ("Authorization: Bearer a.b-c", "Authorization: Bearer (secret)"),
            ("Authorization: Bearer swordfish", "Authorization: Bearer (secret)"),
            ("postgres://me:pass@host/db is busy", "postgres://me:(secret)@host/db is busy"),
            ("http://127.0.0.1:3000/x@y", "http://127.0.0.1:3000/x@y"),
        ] {
            assert_eq!(mask.apply(line), wanted);
        }
    }
}
