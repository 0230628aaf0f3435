//! Files of a workspace that match a glob pattern.
//!
//! `*` and `?` match characters of a name, `[…]` one of some characters, `**` any number of directories. A name with a
//! leading dot must be matched explicitly. No link is followed out of the workspace.

use std::io;
use std::path::{Path, PathBuf};

/// How many files may match.
const MAX_MATCHES: usize = 10_000;
/// How many directories deep is looked.
const MAX_LEVELS: usize = 64;
/// How many entries are looked at.
const MAX_ENTRIES: usize = 1_000_000;

/// Why a pattern gives no files.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GlobError {
    #[error("nothing matches `{0}`")]
    Nothing(String),
    #[error("`{0}` leads out of the workspace")]
    Outside(String),
    #[error("more than {MAX_MATCHES} files match `{0}`")]
    TooMany(String),
    #[error("there are too many files to look for `{0}`")]
    TooLarge(String),
    #[error("a file that matches `{0}` has a name that is not UTF-8")]
    NoText(String),
    #[error("`{}` cannot be read: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// The files that match, sorted; never none.
pub(crate) fn expand(pattern: &str, workspace: &Path) -> Result<Vec<String>, GlobError> {
    let root = workspace.canonicalize().map_err(|source| GlobError::Io { path: workspace.to_owned(), source })?;
    // A pattern with absolute paths gets absolute paths.
    let prefix = format!("{}/", workspace.display());
    let (prefix, inner) = pattern.strip_prefix(&prefix).map_or(("", pattern), |inner| (prefix.as_str(), inner));
    let parts: Vec<&str> = inner.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if inner.starts_with('/') || parts.contains(&"..") {
        return Err(GlobError::Outside(pattern.to_owned()));
    }
    let mut search = GlobSearch { pattern, root: &root, found: Vec::new(), entries: 0 };
    search.descend("", &parts, 0)?;
    let mut found = search.found;
    found.sort();
    found.dedup();
    if found.is_empty() {
        return Err(GlobError::Nothing(pattern.to_owned()));
    }
    Ok(found.into_iter().map(|name| format!("{prefix}{name}")).collect())
}

struct GlobSearch<'a> {
    pattern: &'a str,
    root: &'a Path,
    found: Vec<String>,
    entries: usize,
}

impl GlobSearch<'_> {
    /// Looks for the rest of the pattern in a directory.
    fn descend(&mut self, dir: &str, parts: &[&str], level: usize) -> Result<(), GlobError> {
        let Some((part, rest)) = parts.split_first() else { return Ok(()) };
        if level > MAX_LEVELS {
            return Ok(());
        }
        if *part == "**" {
            self.descend(dir, rest, level)?;
        }
        for (name, kind) in self.entries(dir)? {
            let path = if dir.is_empty() { name.clone() } else { format!("{dir}/{name}") };
            if *part == "**" {
                if kind.is_dir() && !name.starts_with('.') {
                    self.descend(&path, parts, level + 1)?;
                }
                if rest.is_empty() && !name.starts_with('.') {
                    self.take(path, kind)?;
                }
            } else if matches(part, &name) {
                if rest.is_empty() {
                    self.take(path, kind)?;
                } else if self.root.join(&path).is_dir() && self.is_inside(&path, kind) {
                    self.descend(&path, rest, level + 1)?;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, path: String, kind: std::fs::FileType) -> Result<(), GlobError> {
        if self.is_inside(&path, kind) {
            self.found.push(path);
        }
        if self.found.len() > MAX_MATCHES { Err(GlobError::TooMany(self.pattern.to_owned())) } else { Ok(()) }
    }

    /// Whether something does not lead out of the workspace.
    fn is_inside(&self, path: &str, kind: std::fs::FileType) -> bool {
        !kind.is_symlink() || self.root.join(path).canonicalize().is_ok_and(|real| real.starts_with(self.root))
    }

    fn entries(&mut self, dir: &str) -> Result<Vec<(String, std::fs::FileType)>, GlobError> {
        let path = self.root.join(dir);
        let failed = |source| GlobError::Io { path: path.clone(), source };
        let mut entries = Vec::new();
        let listing = match path.read_dir() {
            // It went away, or is not for us to see.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
                return Ok(entries);
            }
            listing => listing.map_err(failed)?,
        };
        for entry in listing {
            let entry = entry.map_err(failed)?;
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(GlobError::TooLarge(self.pattern.to_owned()));
            }
            let Ok(name) = entry.file_name().into_string() else {
                return Err(GlobError::NoText(self.pattern.to_owned()));
            };
            entries.push((name, entry.file_type().map_err(failed)?));
        }
        Ok(entries)
    }
}

/// Whether a name matches one part of a pattern.
fn matches(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where to go on when it does not fit: after the last star, one character further.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let fits = match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some('?') => Some(p + 1),
            Some('[') => match class(&pattern[p..], name[n]) {
                Some((true, length)) => Some(p + length),
                Some((false, _)) => None,
                None => (name[n] == '[').then_some(p + 1),
            },
            Some(c) => (*c == name[n]).then_some(p + 1),
            None => None,
        };
        match (fits, star) {
            (Some(next), _) => (p, n) = (next, n + 1),
            (None, Some((after, from))) => {
                star = Some((after, from + 1));
                (p, n) = (after, from + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Whether a character is one of `[…]`, and how long that is; nothing if it never closes.
fn class(pattern: &[char], c: char) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let first = if negated { 2 } else { 1 };
    // A bracket that closes right away is meant itself.
    let close = pattern.iter().skip(first + 1).position(|c| *c == ']')? + first + 1;
    let (mut at, mut found) = (first, false);
    while at < close {
        if at + 2 < close && pattern[at + 1] == '-' {
            found |= (pattern[at]..=pattern[at + 2]).contains(&c);
            at += 3;
        } else {
            found |= pattern[at] == c;
            at += 1;
        }
    }
    Some((found != negated, close + 1))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    /// What a name matches by the book: every way a star can be read.
    fn by_the_book(pattern: &[char], name: &[char]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            (['*', rest @ ..], _) => {
                by_the_book(rest, name) || name.split_first().is_some_and(|(_, name)| by_the_book(pattern, name))
            }
            (['?', pattern @ ..], [_, name @ ..]) => by_the_book(pattern, name),
            ([a, pattern @ ..], [b, name @ ..]) if a == b => by_the_book(pattern, name),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn stars_are_read_by_the_book(pattern in "[ab*?]{0,8}", name in "[ab]{0,8}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(matches(&pattern, &name), by_the_book(&chars(&pattern), &chars(&name)));
        }

        /// As values are put into patterns.
        #[test]
        fn what_is_in_brackets_is_itself(name in "[^/\0]{1,12}") {
            let in_brackets = |c: char| if "*?[".contains(c) { format!("[{c}]") } else { c.to_string() };
            let pattern: String = name.chars().map(in_brackets).collect();
            prop_assert!(matches(&pattern, &name));
            let longer = name + "x";
            prop_assert!(!matches(&pattern, &longer));
        }
    }

    #[test]
    fn a_name_matches_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("*.rs", "a.rs", true),
            ("*.rs", ".rs", false),
            (".*", ".git", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("?", "é", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[*]", "*", true),
            ("[*]", "a", false),
            ("[[]x", "[x", true),
            ("[x", "[x", true),
            ("a]", "a]", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
        // Many stars take no time.
        assert!(!matches(&"*a".repeat(50), &"a".repeat(49)));
    }

    #[test]
    fn files_are_found_inside_the_workspace_only() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("work");
        fs::create_dir_all(work.join("src/deep/er")).unwrap();
        fs::create_dir_all(dir.path().join("outside")).unwrap();
        for file in ["work/b.md", "work/a.md", "work/-r.md", "work/src/x.rs", "work/src/deep/er/y.rs", "outside/z.md"] {
            fs::write(dir.path().join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("../outside", work.join("out")).unwrap();
        std::os::unix::fs::symlink("../outside/z.md", work.join("z.md")).unwrap();
        std::os::unix::fs::symlink("src", work.join("in")).unwrap();
        let found = |pattern: &str| expand(pattern, &work).map_err(|error| error.to_string());
        assert_eq!(found("*.md").unwrap(), ["-r.md", "a.md", "b.md"]);
        assert_eq!(found("src/**/*.rs").unwrap(), ["src/deep/er/y.rs", "src/x.rs"]);
        assert_eq!(found("in/*.rs").unwrap(), ["in/x.rs"]);
        assert_eq!(found("**").unwrap().len(), 9);
        assert_eq!(found(&format!("{}/a.*", work.display())).unwrap(), [work.join("a.md").display().to_string()]);
        assert_eq!(found("out/*").unwrap_err(), "nothing matches `out/*`");
        assert_eq!(found("../outside/*").unwrap_err(), "`../outside/*` leads out of the workspace");
        assert_eq!(found("/etc/*").unwrap_err(), "`/etc/*` leads out of the workspace");
    }
}
