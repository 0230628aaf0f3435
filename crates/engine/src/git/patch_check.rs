//! Trial of a patch on a commit: whether git would apply it, without applying it anywhere.

use std::io::{Seek as _, Write as _};
use std::path::Path;

use super::Git;

/// Why a patch does not apply to a commit, as git says it. Line numbers may be off; context may not.
pub(crate) fn applies(workspace: &Path, commit: &str, patch: &str) -> Result<(), String> {
    let repository = Git::at(workspace).repository().map_err(|error| error.to_string())?;
    let failed = |error: std::io::Error| format!("the diffs cannot be tried: {error}");
    // An index of its own, where no agent can write.
    let index = tempfile::Builder::new().prefix("index-").tempfile_in(&repository.git_dir).map_err(failed)?;
    std::fs::remove_file(index.path()).map_err(failed)?;
    let git = Git::at(&repository.dirs.root).with_index(index.path());
    git.run(&["read-tree", commit]).map_err(|error| error.to_string())?;
    let mut input = tempfile::tempfile_in(&repository.git_dir).map_err(failed)?;
    input.write_all(patch.as_bytes()).and_then(|()| input.rewind()).map_err(failed)?;
    let words = ["apply", "--check", "--cached", "--recount", "--whitespace=nowarn", "-"];
    let checked = git.run_with(&words, input).map(drop).map_err(|error| error.to_string());
    // Git puts a new file in the place of the one that was made.
    let _ = std::fs::remove_file(index.path());
    checked
}
