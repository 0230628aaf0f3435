//! Where does work go on that must not touch the workspace yet?
//!
//! A worktree lies in `.maestro/worktrees/NAME` of the workspace: programs may write there, and whoever removes the
//! project removes it. Its branch is `maestro/NAME`. The repository's own exclude file keeps it out of commits.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::{Job, Undone};
use crate::sandbox::GitPlaces;

/// Where worktrees lie, and what is excluded.
const PLACE: &str = ".maestro/worktrees";
/// How long a name may be.
const MAX_NAME: usize = 64;

impl Job<'_> {
    /// Opens a worktree, unless it is open.
    pub(super) async fn open_worktree(&self) -> Result<Json, Undone> {
        let (path, branch) = self.worktree()?;
        let said = |changed: bool| json!({ "path": path.to_string_lossy(), "branch": branch, "changed": changed });
        // What was removed by hand is no worktree any more.
        self.git(&["worktree", "prune"]).await?;
        if self.worktree_at(&path).await?.as_deref() == Some(branch.as_str()) {
            return Ok(said(false));
        }
        self.exclude()?;
        let place = path.to_string_lossy();
        let reference = format!("refs/heads/{branch}");
        if self.git(&["rev-parse", "--verify", "--quiet", &reference]).await.is_ok() {
            self.git(&["worktree", "add", "--quiet", &place, &branch]).await?;
        } else {
            let base = self.commit_of(self.given("base").unwrap_or("HEAD")).await?;
            self.git(&["worktree", "add", "--quiet", "-b", &branch, &place, &base]).await?;
        }
        Ok(said(true))
    }

    /// Closes a worktree, unless it is closed. Its branch stays; so does everything while something is uncommitted.
    pub(super) async fn close_worktree(&self) -> Result<Json, Undone> {
        let (path, branch) = self.worktree()?;
        let said = |changed: bool| json!({ "path": path.to_string_lossy(), "branch": branch, "changed": changed });
        self.git(&["worktree", "prune"]).await?;
        if self.worktree_at(&path).await?.is_none() {
            return Ok(said(false));
        }
        self.git(&["worktree", "remove", &path.to_string_lossy()]).await?;
        Ok(said(true))
    }

    /// Where a worktree is, and the name of its branch.
    fn worktree(&self) -> Result<(PathBuf, String), Undone> {
        let name = self.needed("name")?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let bad_end = [".", ".lock"].iter().any(|end| name.ends_with(end));
        if name.len() > MAX_NAME
            || !name.chars().all(plain)
            || name.starts_with(['.', '-'])
            || name.contains("..")
            || bad_end
        {
            return Err(Undone::Failed(format!(
                "`{name}` cannot name a worktree: letters, digits, `-`, `_` and `.` can, {MAX_NAME} at most"
            )));
        }
        let workspace = &self.executor.site().workspace;
        let workspace = workspace.canonicalize().map_err(|error| format!("{}: {error}", workspace.display()))?;
        Ok((workspace.join(PLACE).join(name), format!("maestro/{name}")))
    }

    /// The branch of the worktree at a path; nothing where none is.
    async fn worktree_at(&self, path: &Path) -> Result<Option<String>, Undone> {
        let list = self.git(&["worktree", "list", "--porcelain", "-z"]).await?;
        let entry = list.split("\0\0").find(|entry| {
            entry.split('\0').any(|line| line.strip_prefix("worktree ").is_some_and(|at| Path::new(at) == path))
        });
        let branch = |line: &str| line.strip_prefix("branch refs/heads/").map(str::to_owned);
        Ok(entry.map(|entry| entry.split('\0').find_map(branch).unwrap_or_default()))
    }

    /// Keeps worktrees out of what is committed, without touching any file of the project.
    fn exclude(&self) -> Result<(), Undone> {
        // Not what git says: a workspace may point anywhere, and this is written by ourselves.
        let places = GitPlaces::of(&self.executor.site().workspace);
        let file = places.ok_or_else(|| "its repository cannot be found".to_owned())?.shared.join("info/exclude");
        let line = format!("{PLACE}/");
        let add = || -> io::Result<()> {
            let text = match fs::read_to_string(&file) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                text => text?,
            };
            if text.lines().any(|known| known.trim() == line) {
                return Ok(());
            }
            fs::create_dir_all(file.parent().unwrap_or(Path::new("/")))?;
            let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            fs::OpenOptions::new().create(true).append(true).open(&file)?.write_all(format!("{gap}{line}\n").as_bytes())
        };
        add().map_err(|error| Undone::Failed(format!("`{}` cannot be written: {error}", file.display())))
    }
}
