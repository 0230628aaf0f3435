//! Checks that a person did not want for a project, so that they are not proposed again.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use maestro_skills::{MAX_TEXT_BYTES, read_bounded};

use crate::host::files;

/// Declined checks of each project.
type DeclinedChecks = BTreeMap<String, Vec<String>>;

fn path(home: &Path) -> PathBuf {
    home.join("declined-checks.json")
}

/// What was declined; a file that cannot be read says nothing, and then the question comes again.
fn load(home: &Path) -> DeclinedChecks {
    let read = read_bounded(&path(home), MAX_TEXT_BYTES).ok().filter(|read| !read.cut);
    read.and_then(|read| serde_json::from_slice(&read.bytes).ok()).unwrap_or_default()
}

/// Whether a check was declined for a project, by what is kept in our home.
pub(super) fn is_declined(home: &Path, project: &Path, check: &str) -> bool {
    let declined = load(home);
    declined.get(&*project.to_string_lossy()).is_some_and(|checks| checks.iter().any(|known| known == check))
}

/// Notes that a check was declined for a project.
pub(super) fn remember(home: &Path, project: &Path, check: &str) -> io::Result<()> {
    let mut declined = load(home);
    let checks = declined.entry(project.to_string_lossy().into_owned()).or_default();
    if checks.iter().any(|known| known == check) {
        return Ok(());
    }
    checks.push(check.to_owned());
    let text = serde_json::to_string_pretty(&declined).map_err(io::Error::other)?;
    files::own_directory(home)?;
    files::write_private(&path(home), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_declined_is_remembered_for_its_project() {
        let home = tempfile::tempdir().unwrap();
        let (home, one, other) = (home.path().join("new"), Path::new("/w/one"), Path::new("/w/other"));
        assert!(!is_declined(&home, one, "pytest"));
        remember(&home, one, "pytest").unwrap();
        remember(&home, one, "pytest").unwrap();
        assert!(is_declined(&home, one, "pytest"));
        assert!(!is_declined(&home, one, "make test") && !is_declined(&home, other, "pytest"));
    }
}
