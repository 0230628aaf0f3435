//! The last commit of a repository elsewhere, without its history and without running anything of it.

use std::path::Path;
use std::process::Stdio;

use super::{GitCommand, GitError, SETTINGS, VARIABLES, execute, named};

/// Copies the last commit of a branch or tag, or of the default branch, to a directory that does not exist yet, and
/// returns the commit.
pub fn fetch_snapshot(address: &str, reference: Option<&str>, into: &Path) -> Result<String, GitError> {
    let place = into.display().to_string();
    let branch = reference.map(|name| format!("--branch={name}"));
    // A link would be followed as if it were the user's; an address that says nothing must not be waited for.
    let mut words = vec![
        "-c",
        "core.symlinks=false",
        "-c",
        "http.lowSpeedLimit=1000",
        "-c",
        "http.lowSpeedTime=30",
        "clone",
        "--quiet",
        "--depth=1",
        "--no-tags",
        "--no-recurse-submodules",
        "--template=",
    ];
    words.extend(branch.as_deref());
    words.extend(["--", address, &place]);
    call(&words, into)?;
    let repository = format!("--git-dir={}", into.join(".git").display());
    call(&[&repository, "rev-parse", "HEAD"], into).map(|commit| commit.trim().to_owned())
}

fn call(words: &[&str], into: &Path) -> Result<String, GitError> {
    let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
    let arguments = settings.chain(words.iter().copied()).map(str::to_owned).collect();
    let variables = VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let directory = into.parent().unwrap_or(into);
    named(
        &words[words.iter().position(|word| *word == "clone").unwrap_or_default()..],
        execute(&GitCommand { arguments, variables }, directory, &[0], Stdio::null()),
    )
    .map(|output| output.text)
}
