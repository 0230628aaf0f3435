//! Files that a repository wants filtered by a program of its own config, which we do not run.

use std::collections::BTreeSet;
use std::io::{Seek as _, SeekFrom, Write as _};

use super::{Git, GitError};

impl Git<'_> {
    /// Refuses a repository of which files pass a filter that only its own config defines. Without the filter they would
    /// be committed as they are, secrets in plain text for example. Filters of the user's own config are run.
    pub fn check_filters(&self) -> Result<(), GitError> {
        let repository = self.repository()?;
        let mut local: BTreeSet<&str> = repository.local_filters().collect();
        if local.is_empty() {
            return Ok(());
        }
        // This sees the user's config, and of the repository's only what was copied, which has no filters.
        let known =
            self.run_for(&["config", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process)$"], &[0, 1])?;
        for name in known.text.lines().filter_map(|name| name.strip_prefix("filter.")?.rsplit_once('.')) {
            local.remove(name.0);
        }
        if local.is_empty() {
            return Ok(());
        }
        let names = self.run(&["ls-files", "--cached", "--others", "--exclude-standard", "-z"])?;
        let not_listed = |error: std::io::Error| format!("the list of files cannot be written: {error}");
        let mut list = tempfile::tempfile_in(&repository.git_dir).map_err(not_listed)?;
        list.write_all(names.as_bytes()).and_then(|()| list.seek(SeekFrom::Start(0))).map_err(not_listed)?;
        let attributes = self.run_with(&["check-attr", "-z", "--stdin", "filter"], list)?;
        let fields: Vec<&str> = attributes.split('\0').collect();
        let mut filtered = fields.chunks_exact(3).filter(|entry| local.contains(entry[2]));
        let Some([file, _, filter]) = filtered.next() else { return Ok(()) };
        let more = filtered.count();
        let files = if more == 0 { format!("`{file}`") } else { format!("`{file}` and {more} more files") };
        Err(GitError::from(format!(
            "{files}: the filter `{filter}` is defined only in this repository's own git config, and Maestro runs no \
             program from there; define it in yours, with `git config --global`"
        )))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tests::repository;

    #[test]
    fn a_file_with_a_filter_of_the_repository_is_refused_and_others_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let git = repository(directory.path());
        fs::write(directory.path().join("secret"), "x").unwrap();
        assert!(git.check_filters().is_ok());
        fs::write(directory.path().join(".git/config"), "[filter \"crypt\"]\n\tclean = crypt\n").unwrap();
        assert!(git.check_filters().is_ok(), "it is used nowhere");
        fs::write(directory.path().join(".gitattributes"), "secret filter=crypt\nx filter=other\n").unwrap();
        let error = git.check_filters().unwrap_err().to_string();
        assert!(error.starts_with("`secret`: the filter `crypt` is defined only"), "{error}");
    }
}
