//! Watcher that reloads a long-lived process's catalogue when skills change.
//!
//! The system reports every change in the roots, and beside them, so that a root that appears, goes or is swapped is
//! noticed too, and of the files that list further roots. Changes come in bursts; when a burst is over the catalogue is
//! loaded again. Where the system cannot report changes, nothing is watched, and that is a problem to be shown.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use maestro_core::{Problem, ProblemCode, ProblemSeverity};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::cache::CatalogueCache;
use crate::catalogue::Catalogue;
use crate::roots::SkillRoot;

/// How long it must be quiet before a burst of changes is over.
const QUIET: Duration = Duration::from_millis(100);

/// How long a burst may go on before what has changed so far is looked at.
const LONGEST: Duration = Duration::from_secs(1);

/// Keeps a [`CatalogueCache`] fresh until it is dropped.
#[derive(Debug)]
pub struct CatalogueWatcher {
    messages: Sender<WatchMessage>,
    problems: Arc<Mutex<Vec<Problem>>>,
    thread: Option<JoinHandle<()>>,
}

/// Messages to the watching thread.
enum WatchMessage {
    Changed(notify::Result<notify::Event>),
    Stop,
}

impl CatalogueWatcher {
    /// Loads the catalogue again whenever skills change, and then calls `changed` with it. A change of one of `lists`
    /// calls it, too: the cache keeps its roots, and another one may be due.
    pub fn start(
        cache: Arc<CatalogueCache>,
        lists: Vec<PathBuf>,
        changed: impl Fn(&Arc<Catalogue>) + Send + 'static,
    ) -> Self {
        let (messages, received) = mpsc::channel();
        let problems: Arc<Mutex<Vec<Problem>>> = Arc::default();
        let first = cache.roots().first().map(|root| root.path.clone());
        let mut watch = WatchThread {
            cache,
            messages: messages.clone(),
            problems: Arc::clone(&problems),
            watcher: None,
            roots: Vec::new(),
            lists,
        };
        // Before this returns, so that no change after it is missed.
        watch.start_watching();
        let thread = thread::Builder::new().name("skills".to_owned()).spawn(move || watch.run(&received, &changed));
        let thread = thread.map_err(|error| {
            let unwatched = first.map(|root| unwatched_problem(&root, &notify::Error::io(error)));
            problems.lock().unwrap_or_else(PoisonError::into_inner).extend(unwatched);
        });
        Self { messages, problems, thread: thread.ok() }
    }

    /// What is not watched, and why.
    pub fn problems(&self) -> Vec<Problem> {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for CatalogueWatcher {
    fn drop(&mut self) {
        // A thread that has ended already receives nothing.
        let _ = self.messages.send(WatchMessage::Stop);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the watcher of skills panicked");
        }
    }
}

/// The thread's side.
struct WatchThread {
    cache: Arc<CatalogueCache>,
    messages: Sender<WatchMessage>,
    problems: Arc<Mutex<Vec<Problem>>>,
    watcher: Option<RecommendedWatcher>,
    /// Each root as it is named and where it really is: some systems report the one, some the other.
    roots: Vec<PathBuf>,
    /// The files that list further roots.
    lists: Vec<PathBuf>,
}

/// What a burst of changes asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ReloadNeed {
    Nothing,
    /// Something in a root changed.
    Reload,
    /// A root itself may be another one now.
    Rewatch,
}

impl WatchThread {
    fn run(mut self, received: &Receiver<WatchMessage>, changed: &impl Fn(&Arc<Catalogue>)) {
        while let Some(need) = self.next_burst(received) {
            if need == ReloadNeed::Rewatch {
                self.start_watching();
            }
            if need >= ReloadNeed::Reload {
                let catalogue = self.cache.reload();
                tracing::info!(skills = catalogue.skills.len(), problems = catalogue.problems.len(), "skills reloaded");
                changed(&catalogue);
            }
        }
    }

    /// Waits for something to change and then until nothing does; `None` when it should stop.
    fn next_burst(&self, received: &Receiver<WatchMessage>) -> Option<ReloadNeed> {
        let mut need = self.need(received.recv().ok()?)?;
        let end = Instant::now() + LONGEST;
        while need > ReloadNeed::Nothing {
            let patience = QUIET.min(end.saturating_duration_since(Instant::now()));
            match received.recv_timeout(patience) {
                Ok(message) => need = need.max(self.need(message)?),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        Some(need)
    }

    fn need(&self, message: WatchMessage) -> Option<ReloadNeed> {
        let event = match message {
            WatchMessage::Stop => return None,
            WatchMessage::Changed(Ok(event)) => event,
            WatchMessage::Changed(Err(error)) => {
                tracing::warn!("changes of skills were missed: {error}");
                return Some(ReloadNeed::Rewatch);
            }
        };
        if event.need_rescan() {
            return Some(ReloadNeed::Rewatch);
        }
        // Loading the catalogue opens every directory, which is no change.
        if matches!(event.kind, EventKind::Access(_)) {
            return Some(ReloadNeed::Nothing);
        }
        Some(event.paths.iter().map(|path| need_of(path, &self.roots)).max().unwrap_or(ReloadNeed::Reload))
    }

    /// Watches what is there now. What was watched before is forgotten: it may be somewhere else by now.
    fn start_watching(&mut self) {
        let mut problems = Vec::new();
        self.watcher = None;
        self.roots = root_paths(self.cache.roots());
        self.roots.extend(self.lists.iter().cloned());
        let messages = self.messages.clone();
        // This fails only when the receiver is gone.
        let tell = move |event| drop(messages.send(WatchMessage::Changed(event)));
        match notify::recommended_watcher(tell) {
            Ok(mut watcher) => {
                let roots = self.cache.roots().iter().map(|root| root.path.as_path());
                let paths: Vec<&Path> = roots.chain(self.lists.iter().map(PathBuf::as_path)).collect();
                watch_all(&mut watcher, &paths, &mut problems);
                self.watcher = Some(watcher);
            }
            Err(error) => problems.extend(self.cache.roots().first().map(|root| unwatched_problem(&root.path, &error))),
        }
        *self.problems.lock().unwrap_or_else(PoisonError::into_inner) = problems;
    }
}

/// What a change of `path` asks for.
fn need_of(path: &Path, roots: &[PathBuf]) -> ReloadNeed {
    let of = |root: &PathBuf| match path.strip_prefix(root) {
        Ok(below) if !below.as_os_str().is_empty() => ReloadNeed::Reload,
        _ if root.starts_with(path) => ReloadNeed::Rewatch,
        _ => ReloadNeed::Nothing,
    };
    roots.iter().map(of).max().unwrap_or(ReloadNeed::Nothing)
}

fn root_paths(roots: &[SkillRoot]) -> Vec<PathBuf> {
    roots.iter().flat_map(|root| [Some(root.path.clone()), root.path.canonicalize().ok()]).flatten().collect()
}

fn watch_all(watcher: &mut RecommendedWatcher, paths: &[&Path], problems: &mut Vec<Problem>) {
    let mut tried = BTreeSet::new();
    loop {
        let mut missing: Vec<_> = paths_to_watch(paths).into_iter().filter(|(path, _)| !tried.contains(path)).collect();
        // While a directory is being put under watch, one may appear in it; so this is asked until nothing is new.
        if missing.is_empty() {
            return;
        }
        // A directory that is watched twice is reported under its last name, and then with all below it.
        missing.sort_by_key(|(_, mode)| *mode == RecursiveMode::Recursive);
        for (path, mode) in missing {
            if let Err(error) = watcher.watch(&path, mode) {
                problems.push(unwatched_problem(&path, &error));
                // A part of it may be watched, which would only seem to be enough.
                if let Err(error) = watcher.unwatch(&path) {
                    tracing::debug!(path = %path.display(), "nothing of it was watched: {error}");
                }
            }
            tried.insert(path);
        }
    }
}

/// Every directory that exists, with all below it, and beside each path the nearest directory above it that exists.
fn paths_to_watch(paths: &[&Path]) -> BTreeMap<PathBuf, RecursiveMode> {
    let mut wanted = BTreeMap::new();
    for path in paths {
        let above = path.ancestors().skip(1).find(|dir| dir.is_dir());
        if let Some(above) = above {
            wanted.entry(above.to_owned()).or_insert(RecursiveMode::NonRecursive);
        }
        if path.is_dir() {
            wanted.insert((*path).to_owned(), RecursiveMode::Recursive);
        }
    }
    wanted
}

fn unwatched_problem(path: &Path, error: &notify::Error) -> Problem {
    let help = match error.kind {
        notify::ErrorKind::MaxFilesWatch => "raise the limit, for example: sysctl fs.inotify.max_user_watches=524288",
        _ => "restart the program after a change",
    };
    let message = format!("changes here are not noticed while the program runs: {error}");
    tracing::warn!(path = %path.display(), "{message}");
    Problem::new(ProblemCode::SkillsNotWatched, ProblemSeverity::Warning, path, message, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_concerns_a_root_is_looked_at() {
        let roots = ["/app/.claude/skills", "/home/ada/.claude/skills"].map(PathBuf::from);
        let need = |path: &str| need_of(Path::new(path), &roots);
        assert_eq!(need("/app/.claude/skills/pdf/SKILL.md"), ReloadNeed::Reload);
        assert_eq!(need("/app/.claude/skills/pdf"), ReloadNeed::Reload);
        assert_eq!(need("/app/.claude/skills"), ReloadNeed::Rewatch, "another one may be there now");
        assert_eq!(need("/home/ada/.claude"), ReloadNeed::Rewatch, "it appeared, or went");
        assert_eq!(need("/home/ada/.claude/settings.json"), ReloadNeed::Nothing);
        assert_eq!(need("/home/ada/.bash_history"), ReloadNeed::Nothing);
    }

    #[test]
    fn a_limit_of_the_system_is_told_with_a_way_out() {
        let error = notify::Error::new(notify::ErrorKind::MaxFilesWatch);
        let problem = unwatched_problem(Path::new("/app/.claude/skills"), &error);
        assert_eq!((problem.code, problem.severity), (ProblemCode::SkillsNotWatched, ProblemSeverity::Warning));
        assert!(problem.help.contains("max_user_watches"), "{}", problem.help);
    }
}
