//! Mask for secrets in a text: known ones, tokens by their form, and passwords in addresses.

/// What a secret is replaced by.
const MASKED: &str = "(secret)";
/// How tokens begin that are recognized by that: ours, and those of well-known services.
const TOKENS: [&str; 11] =
    ["mst_", "sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "AIza"];
/// How long a token of a service is at least; a shorter word only begins so.
const SHORTEST: usize = 12;
/// How much of a known secret must be there to be taken for a part of it.
const SHORTEST_PART: usize = 6;

/// Replaces secrets.
#[derive(Debug, Clone, Default)]
pub struct SecretMask(Vec<String>);

impl SecretMask {
    /// A mask for these secrets and all that look like one.
    pub fn new<'a>(secrets: impl Iterator<Item = &'a str>) -> Self {
        let mut known: Vec<String> = secrets.filter(|secret| secret.len() >= 4).map(str::to_owned).collect();
        // A secret within another one would leave the rest of it.
        known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(known)
    }

    /// A mask for the variables of a process that seem to hold secrets, and all that looks like one.
    pub fn of_variables(variables: impl Iterator<Item = (String, String)>) -> Self {
        const WORDS: [&str; 7] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY"];
        let is_secret = |name: &str| WORDS.iter().any(|word| name.to_ascii_uppercase().contains(word));
        let values: Vec<String> =
            variables.filter(|(name, value)| is_secret(name) && value.len() >= 8).map(|(_, value)| value).collect();
        Self::new(values.iter().map(String::as_str))
    }

    /// A mask for these secrets, however short they are.
    pub fn exactly<'a>(secrets: impl Iterator<Item = &'a str>) -> Self {
        let mut known: Vec<String> = secrets.filter(|secret| !secret.is_empty()).map(str::to_owned).collect();
        known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(known)
    }

    /// The text without the known secrets; what only looks like one stays.
    pub fn apply_known(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASKED))
    }

    /// The same for a text that was cut somewhere: a part of a secret at an end of a line goes as well.
    pub fn apply_known_cut(&self, text: &str) -> String {
        let whole = self.apply_known(text);
        let lines =
            whole.split('\n').map(|line| self.0.iter().fold(line.to_owned(), |line, secret| mask_ends(line, secret)));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The text without secrets.
    pub fn apply(&self, text: &str) -> String {
        let known = self.apply_known(text);
        let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let tokens = TOKENS.iter().fold(known, |text, word| {
            let least = if *word == "mst_" { 1 } else { SHORTEST };
            mask_after(&text, word, least, belongs)
        });
        let bearers = mask_after(&tokens, "Bearer ", 1, |c| !c.is_whitespace() && !matches!(c, '"' | '<' | '&'));
        mask_passwords(&bearers)
    }
}

/// Masks the longest part of a secret with which a line ends or begins.
fn mask_ends(line: String, secret: &str) -> String {
    let places = || secret.char_indices().map(|(at, _)| at).filter(|at| *at > 0);
    let head = places().rev().map(|at| &secret[..at]).take_while(|part| part.len() >= SHORTEST_PART);
    let line = match head.into_iter().find_map(|part| line.strip_suffix(part)) {
        Some(rest) => format!("{rest}{MASKED}"),
        None => line,
    };
    let mut tail = places().map(|at| &secret[at..]).take_while(|part| part.len() >= SHORTEST_PART);
    match tail.find_map(|part| line.strip_prefix(part)) {
        Some(rest) => format!("{MASKED}{rest}"),
        None => line,
    }
}

/// Masks what follows a word, as far as it belongs to it and is long enough.
fn mask_after(text: &str, word: &str, least: usize, belongs: impl Fn(char) -> bool) -> String {
    let mut parts = text.split(word);
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let begins = masked.chars().next_back().is_none_or(|before| !before.is_ascii_alphanumeric());
        let rest = part.trim_start_matches(&belongs);
        let is_secret = begins && part.len() - rest.len() >= least && !part.starts_with(MASKED);
        masked.push_str(word);
        masked.push_str(if is_secret { MASKED } else { "" });
        masked.push_str(if is_secret { rest } else { part });
    }
    masked
}

/// Masks `password` in `scheme://user:password@host`.
fn mask_passwords(text: &str) -> String {
    let mut parts = text.split("://");
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        masked.push_str("://");
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '"' | '<');
        let end = part.find(ends).unwrap_or(part.len());
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
    fn a_secret_that_was_cut_is_one() {
        let mask = SecretMask::exactly(["swordfish-äöü"].into_iter());
        assert_eq!(mask.apply_known_cut("a swordfish-ä"), "a (secret)");
        assert_eq!(mask.apply_known_cut("sword\nfish-äöü b"), "sword\n(secret) b");
        assert_eq!(mask.apply_known_cut("a swordfish-äöü b"), "a (secret) b");
    }

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
            ("key sk-ant-api03-AbCdEf0123456789", "key sk-(secret)"),
            ("push with ghp_0123456789abcdefghij.", "push with ghp_(secret)."),
            ("the task-list and disk-usage", "the task-list and disk-usage"),
            ("a sk-short one", "a sk-short one"),
        ] {
            assert_eq!(mask.apply(line), wanted);
        }
    }

    #[test]
    fn variables_with_secrets_are_known_by_their_names() {
        let variables = [("OPENAI_API_KEY", "hunter2hunter2"), ("PATH", "/usr/bin:/bin"), ("GH_TOKEN", "short")];
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mask = SecretMask::of_variables(variables);
        assert_eq!(mask.apply("hunter2hunter2 /usr/bin:/bin short"), "(secret) /usr/bin:/bin short");
    }
}
