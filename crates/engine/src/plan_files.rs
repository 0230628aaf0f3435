//! Plan files of a project: read and changed at the version they were read at, and never outside their directory.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use maestro_core::plan::{PlanEdit, PlanEditError, edit_plan};
use maestro_skills::read_bounded;
use sha2::{Digest as _, Sha256};

use crate::git::Git;

/// The largest plan that is shown.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// How many commits are asked about at once.
const MOST_COMMITS: usize = 200;

/// A plan as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanText {
    /// The text.
    pub text: String,
    /// What tells this text from any other.
    pub version: String,
    file: PathBuf,
}

/// Why a plan cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum PlanFileError {
    /// The path is none of a Markdown file in the directory.
    #[error("`{0}` is not a Markdown file of the project")]
    NotAPlan(String),
    /// There is no such file.
    #[error("there is no plan `{0}`")]
    NotFound(String),
    /// It is too large.
    #[error("the plan `{0}` is larger than 4 MiB")]
    TooLarge(String),
    /// It cannot be read or written.
    #[error("the plan `{path}` cannot be read or written: {source}")]
    Unusable {
        /// The plan.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// It has another text than the change was made for.
    #[error("the plan changed meanwhile")]
    Changed,
    /// The change is none of the plan.
    #[error(transparent)]
    Edit(#[from] PlanEditError),
}

/// Reads a plan of a directory. The path has no `..` and leads through no link.
pub fn read_plan(directory: &Path, path: &str) -> Result<PlanText, PlanFileError> {
    let file = plan_file(directory, path)?;
    let unusable = |source| PlanFileError::Unusable { path: path.to_owned(), source };
    let contents = read_bounded(&file, MAX_BYTES).map_err(unusable)?;
    if contents.cut {
        return Err(PlanFileError::TooLarge(path.to_owned()));
    }
    let text = String::from_utf8(contents.bytes).map_err(|_| PlanFileError::NotAPlan(path.to_owned()))?;
    let version = hash_text(&text);
    Ok(PlanText { text, version, file })
}

/// Changes a plan that still has the version it was read at.
pub fn edit_plan_file(directory: &Path, path: &str, version: &str, edit: &PlanEdit) -> Result<(), PlanFileError> {
    let read = read_plan(directory, path)?;
    if read.version != version {
        return Err(PlanFileError::Changed);
    }
    let text = edit_plan(&read.text, edit)?;
    replace_plan(&read.file, &text, PlanWriter::Person)
        .map_err(|source| PlanFileError::Unusable { path: path.to_owned(), source })
}

/// The file of a plan, if the path is plain and no part of it is a link.
fn plan_file(directory: &Path, path: &str) -> Result<PathBuf, PlanFileError> {
    let refused = || PlanFileError::NotAPlan(path.to_owned());
    let relative = Path::new(path);
    let is_markdown = relative.extension().is_some_and(|end| end.eq_ignore_ascii_case("md") || end == "markdown");
    let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_markdown || !is_plain || directory.as_os_str().is_empty() {
        return Err(refused());
    }
    let mut file = directory.canonicalize().map_err(|_| PlanFileError::NotFound(path.to_owned()))?;
    for part in relative.components() {
        file.push(part);
        match fs::symlink_metadata(&file) {
            Ok(found) if found.file_type().is_symlink() => return Err(refused()),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Err(PlanFileError::NotFound(path.to_owned()));
            }
            Err(source) => return Err(PlanFileError::Unusable { path: path.to_owned(), source }),
        }
    }
    if file.is_file() { Ok(file) } else { Err(refused()) }
}

fn hash_text(text: &str) -> String {
    let mut hash = String::new();
    for byte in Sha256::digest(text.as_bytes()).iter().take(16) {
        let _ = write!(hash, "{byte:02x}");
    }
    hash
}

/// The writer of a plan.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PlanWriter {
    /// A run, which ticks a task.
    Run,
    /// A person, on the page.
    Person,
}

/// Writes a file in place of the one that is there, in one step; it keeps its permissions.
///
/// The temporary file always has the same name: if we crash before it replaces the plan, the next attempt reuses the
/// name, and no extra file gets into a commit. Writers that may meet have different ones.
pub(crate) fn replace_plan(path: &Path, text: &str, writer: PlanWriter) -> io::Result<()> {
    let permissions = fs::metadata(path)?.permissions();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(match writer {
        PlanWriter::Run => format!(".{name}.ticked"),
        PlanWriter::Person => format!(".{name}.edited"),
    });
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // A new file, and never one that a link leads to.
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(permissions)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

/// How many lines a commit adds and removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommitSize {
    /// Added.
    pub added: u64,
    /// Removed.
    pub removed: u64,
}

/// The sizes of commits, as far as the repository has them.
pub fn commit_sizes(workspace: &Path, commits: &[String]) -> HashMap<String, CommitSize> {
    let is_id = |commit: &&String| commit.len() >= 7 && commit.chars().all(|c| c.is_ascii_hexdigit());
    let mut sizes = HashMap::new();
    for commit in commits.iter().filter(is_id).take(MOST_COMMITS) {
        let arguments = ["show", "--numstat", "--format=", "--no-ext-diff", "--no-textconv", commit, "--"];
        let Ok(output) = Git::at(workspace).run(&arguments) else { continue };
        let mut size = CommitSize::default();
        for line in output.lines() {
            let mut columns = line.split('\t');
            let mut number = || columns.next().and_then(|column| column.parse::<u64>().ok()).unwrap_or(0);
            size.added += number();
            size.removed += number();
        }
        sizes.insert(commit.clone(), size);
    }
    sizes
}

/// The files and folders that usually hold plans.
const FILES: &[&str] = &["PLAN.md", "plan.md", "TODO.md", "docs/PLAN.md", "docs/plan.md"];
const FOLDERS: &[&str] = &["plans", "docs/plans", "specs/planning", ".maestro/plans"];
/// How many plans of a folder are listed.
const MOST_PLANS: usize = 20;

/// The plans of a directory in the usual places, below it.
pub fn find_plans(directory: &Path) -> Vec<String> {
    let mut found: Vec<String> = FILES.iter().map(ToString::to_string).collect();
    for folder in FOLDERS {
        let Ok(entries) = fs::read_dir(directory.join(folder)) else { continue };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.map(|name| format!("{folder}/{name}")).take(MOST_PLANS * 10).collect();
        names.sort();
        found.extend(names.into_iter().take(MOST_PLANS));
    }
    found.retain(|path| plan_file(directory, path).is_ok());
    // On a file system that ignores case, one file has two names.
    let mut seen = Vec::new();
    found.retain(|path| {
        let lower = path.to_lowercase();
        let is_new = !seen.contains(&lower);
        seen.push(lower);
        is_new
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_markdown_inside_the_project_is_read_and_through_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        fs::create_dir_all(project.join("docs")).unwrap();
        fs::write(dir.path().join("secret.md"), "s").unwrap();
        fs::write(project.join("docs/PLAN.md"), "- [ ] a\n").unwrap();
        fs::write(project.join("notes.txt"), "n").unwrap();
        fs::create_dir(project.join("folder.md")).unwrap();
        std::os::unix::fs::symlink("../secret.md", project.join("link.md")).unwrap();
        std::os::unix::fs::symlink("docs", project.join("linked")).unwrap();
        assert_eq!(read_plan(&project, "docs/PLAN.md").unwrap().text, "- [ ] a\n");
        let outside = [
            "link.md",
            "linked/PLAN.md",
            "../secret.md",
            "notes.txt",
            "folder.md",
            "/etc/x.md",
            "",
            "./docs/PLAN.md/..",
        ];
        for path in outside {
            assert!(matches!(read_plan(&project, path), Err(PlanFileError::NotAPlan(_))), "{path}");
        }
        assert!(matches!(read_plan(&project, "docs/OTHER.md"), Err(PlanFileError::NotFound(_))));
        assert_eq!(find_plans(&project), ["docs/PLAN.md"]);
    }

    #[test]
    fn a_change_underneath_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let plan = dir.path().join("PLAN.md");
        fs::write(&plan, "- [ ] a\n").unwrap();
        let version = read_plan(dir.path(), "PLAN.md").unwrap().version;
        let add = PlanEdit::Add { after: None, label: "b".to_owned() };
        edit_plan_file(dir.path(), "PLAN.md", &version, &add).unwrap();
        assert_eq!(fs::read_to_string(&plan).unwrap(), "- [ ] a\n- [ ] b\n");
        let again = edit_plan_file(dir.path(), "PLAN.md", &version, &add);
        assert!(matches!(again, Err(PlanFileError::Changed)));
        assert_eq!(fs::read_to_string(&plan).unwrap(), "- [ ] a\n- [ ] b\n");
    }
}
