//! Skill folders below a root.
//!
//! A root is walked level by level, each level in parallel, so that the result depends on nothing but the files.
//! Depth and number of directories are bounded.

mod visit;

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use maestro_core::settings::Validation;
use maestro_core::{Code, Problem, Severity};
use rayon::prelude::*;

use crate::entry::Entry;
use crate::index::{Index, Notes, Recalled, Seen};
use crate::listing::Directory;
use crate::roots::{Containment, Root};

/// How deep groups of skills may nest.
const MAX_DEPTH: usize = 6;
/// How many directories of one root are looked into.
const MAX_DIRS: usize = 50_000;

/// Directories that hold no skills of their own.
pub(crate) const IGNORED: &[&str] = &[".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules", "target"];
/// How many directories are looked into before what was found is put in order: enough to keep every thread busy.
const AT_ONCE: usize = 2048;

/// A folder that is a skill, or would be one if it could be read.
#[derive(Debug)]
pub(crate) enum Folder {
    Skill(Entry),
    Broken(PathBuf),
}

/// What was found below one root.
#[derive(Debug, Default)]
pub(crate) struct Scan<'k> {
    pub(crate) folders: Vec<Folder>,
    pub(crate) problems: Vec<Problem>,
    /// What the next scan may take over.
    pub(crate) notes: Option<Notes<'k>>,
}

/// What a scan needs to know besides its root.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits<'a> {
    pub(crate) validation: Validation,
    pub(crate) containment: &'a Containment,
    pub(crate) progress: &'a AtomicUsize,
}

/// A directory to look into.
#[derive(Debug)]
pub(crate) struct Dir<'k> {
    /// Its path below the root; empty for the root itself.
    pub(crate) relative: Cow<'k, Path>,
    /// Where it really is, when a link led here.
    pub(crate) real: Option<PathBuf>,
}

/// What one look into a directory brings.
#[derive(Debug, Default)]
pub(crate) struct Visit<'k> {
    pub(crate) folder: Option<Folder>,
    pub(crate) children: Vec<Dir<'k>>,
    pub(crate) problems: Vec<Problem>,
}

/// From where it is known what a directory holds.
enum Origin<'k> {
    /// From an index.
    Recalled(&'k [u8]),
    /// From the disk, and it could be recalled later.
    Seen(Box<Seen>),
    /// From the disk, and it must be looked at each time.
    Unkept,
}

/// A scan that is going on.
struct Walk<'a, 'k> {
    root: &'a Arc<Root>,
    limits: Limits<'a>,
    index: Option<&'a Index<'k>>,
    /// The root's directory, open.
    base: Option<Directory<'a>>,
}

/// Walks a root. A root that does not exist is empty. What an index confirms is not read again.
pub(crate) fn scan<'k>(root: &Arc<Root>, limits: Limits<'_>, index: Option<&Index<'k>>) -> Scan<'k> {
    let walk = Walk { root, limits, index, base: Directory::open(&root.path).ok() };
    let mut found = Scan { notes: index.map(Index::notes), ..Scan::default() };
    let mut folders: Vec<(Cow<'k, Path>, Folder)> = Vec::new();
    let mut level = vec![Dir { relative: Cow::Borrowed(Path::new("")), real: None }];
    let mut followed = HashSet::new();
    let mut looked_into = 0;
    for _ in 0..=MAX_DEPTH {
        let allowed = MAX_DIRS - looked_into;
        if level.len() > allowed {
            found.problems.push(limit(&root.path, "more than 50,000 directories", "name a smaller directory"));
            level.truncate(allowed);
        }
        looked_into += level.len();
        let mut rest = std::mem::take(&mut level).into_iter();
        loop {
            let batch: Vec<Dir<'k>> = rest.by_ref().take(AT_ONCE).collect();
            if batch.is_empty() {
                break;
            }
            let visits: Vec<(Visit<'k>, Origin<'k>)> = batch.par_iter().map(|dir| walk.look(dir)).collect();
            for (dir, (visit, origin)) in batch.into_iter().zip(visits) {
                if let Some(notes) = &mut found.notes {
                    walk.note(&dir, &visit, origin, notes);
                }
                folders.extend(visit.folder.map(|folder| (dir.relative, folder)));
                found.problems.extend(visit.problems);
                for child in visit.children {
                    if is_new(&child, &mut followed) {
                        level.push(child);
                    } else {
                        found.problems.push(repeated(&root.below(&child.relative), child.real.as_deref()));
                    }
                }
            }
        }
        if level.is_empty() {
            break;
        }
    }
    if let Some(deeper) = level.first() {
        let path = root.below(&deeper.relative);
        found.problems.push(limit(&path, "more than 6 levels below its root", "move the skills further up"));
    }
    folders.sort_by(|(a, _), (b, _)| a.as_os_str().cmp(b.as_os_str()));
    found.folders = folders.into_iter().map(|(_, folder)| folder).collect();
    found
}

impl<'k> Walk<'_, 'k> {
    fn look(&self, dir: &Dir<'k>) -> (Visit<'k>, Origin<'k>) {
        let recalled = self.index.zip(self.base.as_ref()).and_then(|(index, base)| index.recall(&dir.relative, base));
        let (visit, origin) = match recalled {
            Some(Recalled { visit, record }) => (visit, Origin::Recalled(record)),
            None => visit::visit(&dir.relative, self.base.as_ref(), self.root, self.limits),
        };
        if visit.folder.is_some() {
            self.limits.progress.fetch_add(1, Ordering::Relaxed);
        }
        (visit, origin)
    }

    fn note(&self, dir: &Dir<'_>, visit: &Visit<'_>, origin: Origin<'k>, notes: &mut Notes<'k>) {
        match origin {
            Origin::Recalled(record) => notes.keep(record),
            Origin::Seen(seen) => notes.add(&dir.relative, &self.root.below(&dir.relative), &seen, visit),
            Origin::Unkept => {}
        }
    }
}

fn is_new(child: &Dir<'_>, followed: &mut HashSet<PathBuf>) -> bool {
    child.real.as_ref().is_none_or(|real| followed.insert(real.clone()))
}

/// A link to where another one has led already. Reading it again could go on for ever.
fn repeated(path: &Path, real: Option<&Path>) -> Problem {
    let target = real.unwrap_or(path).display();
    let message = format!("the link points to {target}, which another link points to as well; it is read once");
    Problem::new(Code::LinkRepeated, Severity::Info, path, message, "remove one of the two links")
}

fn limit(path: &Path, what: &str, help: &str) -> Problem {
    let message = format!("{what}; the rest is not searched");
    Problem::new(Code::ScanLimit, Severity::Warning, path, message, help)
}
