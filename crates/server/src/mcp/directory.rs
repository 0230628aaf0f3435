//! Directory that a handler works in: the one it was given, or a folder that its client has open.

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::address::decoded;

/// How long a client may take to name its folders.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether the folders that a client has open decide about the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenFolders {
    /// They do: no directory was named.
    Follow,
    /// They do not.
    Ignore,
}

/// Where a handler works.
#[derive(Debug, Clone)]
pub struct McpPlace {
    /// The directory for skills and runs, where no project is named.
    pub directory: PathBuf,
    /// What replaces it.
    pub folders: OpenFolders,
    /// The user's home directory, which is no project; unknown where many users are served.
    pub home: Option<PathBuf>,
}

/// The directory of a handler, which may change with the folders of its client.
pub(super) struct WorkDirectory {
    place: McpPlace,
    current: RwLock<PathBuf>,
    /// Whether the client was asked for its folders; held while it is.
    asked: Mutex<bool>,
}

impl WorkDirectory {
    pub(super) fn new(place: McpPlace) -> Self {
        let current = RwLock::new(place.directory.clone());
        Self { place, current, asked: Mutex::new(false) }
    }

    /// The directory now.
    pub(super) fn current(&self) -> PathBuf {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks a client for its folders before the first of its requests that needs the directory.
    pub(super) async fn settle(&self, context: &RequestContext<RoleServer>) {
        if self.place.folders == OpenFolders::Ignore || !names_folders(context) {
            return;
        }
        let mut asked = self.asked.lock().await;
        if !*asked {
            self.follow(&context.peer).await;
            *asked = true;
        }
    }

    /// Asks a client for its folders again. Whether the directory is another one now.
    pub(super) async fn look_again(&self, peer: &Peer<RoleServer>) -> bool {
        if self.place.folders == OpenFolders::Ignore {
            return false;
        }
        let mut asked = self.asked.lock().await;
        let before = self.current();
        self.follow(peer).await;
        *asked = true;
        self.current() != before
    }

    /// Takes over the folders of a client. One that does not answer has none.
    #[allow(deprecated, reason = "clients of the earlier protocol name their folders this way")]
    async fn follow(&self, peer: &Peer<RoleServer>) {
        let Ok(Ok(named)) = timeout(PATIENCE, peer.list_roots()).await else { return };
        let (started, uris) = (self.place.directory.clone(), named.roots.into_iter().map(|root| root.uri));
        let uris: Vec<String> = uris.collect();
        let home = self.place.home.clone();
        let look = move || choose(&started, uris.iter().filter_map(|uri| folder(uri)).collect(), home.as_deref());
        let chosen = tokio::task::spawn_blocking(look).await.ok().flatten();
        let chosen = chosen.unwrap_or_else(|| self.place.directory.clone());
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = chosen;
    }

    /// What is wrong with the directory, where it cannot be a project: a sentence for a model and its user.
    pub(super) fn warning(&self) -> Option<String> {
        let current = self.current();
        let what = if current.parent().is_none() {
            "the root directory"
        } else if self.place.home.as_ref() == Some(&current) {
            "the user's home directory"
        } else {
            return None;
        };
        Some(format!(
            "Warning: this server works in {what}, so it sees the skills of no project. Tell the user to start it as \
             `maestro mcp --directory PROJECT` in the settings of this tool."
        ))
    }

    /// The same for a client that was not asked for its folders yet.
    pub(super) fn first_warning(&self, names_folders: bool) -> Option<String> {
        let may_change = names_folders && self.place.folders == OpenFolders::Follow;
        self.warning().filter(|_| !may_change)
    }
}

/// Whether a client can be asked for its folders. In the current protocol no client can be asked anything.
fn names_folders(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.has_initialize())
        && context.client_capabilities().is_some_and(|client| client.roots.is_some())
}

/// The path of a folder on this machine.
fn folder(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    // Only this machine has no name, or this one.
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let path = PathBuf::from(decoded(path)?);
    let path = path.is_absolute().then_some(path)?;
    let real = path.canonicalize().ok()?;
    real.is_dir().then_some(real)
}

/// The directory among folders: the one where the program was started if it is in a folder, else the first that can be a
/// project, else the first.
fn choose(started: &Path, folders: Vec<PathBuf>, home: Option<&Path>) -> Option<PathBuf> {
    let can_be_project = |folder: &&PathBuf| folder.parent().is_some() && Some(folder.as_path()) != home;
    if can_be_project(&&started.to_owned())
        && folders.iter().any(|folder| folder.parent().is_some() && started.starts_with(folder))
    {
        return Some(started.to_owned());
    }
    let project = folders.iter().find(can_be_project).cloned();
    project.or_else(|| folders.into_iter().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_program_was_started_counts_if_it_is_in_an_open_folder() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let home = Some(Path::new("/home/ada"));
        let chosen = |started: &str, folders: &[&str]| choose(Path::new(started), paths(folders), home);
        assert_eq!(chosen("/p/deep", &["/q", "/p"]), Some("/p/deep".into()));
        assert_eq!(chosen("/home/ada", &["/q", "/p"]), Some("/q".into()));
        assert_eq!(
            chosen("/home/ada", &["/", "/home/ada", "/p"]),
            Some("/p".into()),
            "the first that can be a project"
        );
        assert_eq!(chosen("/home/ada", &["/", "/home/ada"]), Some("/".into()), "what the client says first");
        assert_eq!(chosen("/home/ada", &[]), None);
    }

    #[test]
    fn only_directories_of_this_machine_are_folders() {
        let here = std::env::temp_dir().canonicalize().unwrap();
        assert_eq!(folder(&format!("file://{}", here.display())), Some(here.clone()));
        assert_eq!(folder(&format!("file://localhost{}", here.display())), Some(here));
        for other in ["https://example.com/x", "file://server/share", "file:///no/such/folder", "relative"] {
            assert_eq!(folder(other), None, "{other}");
        }
    }
}
