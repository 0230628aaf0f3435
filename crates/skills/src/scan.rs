//! Skill folders below a root.
//!
//! A root is walked level by level, each level in parallel, so that the result depends on nothing but the files.
//! Depth and number of directories are bounded. Directories that hold no skills by the rules are looked through
//! afterwards, so that a skill that was put there is reported.

mod aside;
mod flattened;
mod visit;

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use maestro_core::settings::SkillValidation;
use maestro_core::{Problem, ProblemCode, ProblemSeverity};
use rayon::prelude::*;

use aside::AsideDirectory;

use crate::directory::OpenDirectory;
use crate::directory_visit::{DirectoryVisit, ScanDirectory, SkillFolder};
use crate::file_stamp::DirectoryStamps;
use crate::index::{IndexBuilder, RecalledVisit, RootIndex};
use crate::roots::{LinkPolicy, SkillRoot};

/// How deep groups of skills may nest.
const MAX_DEPTH: usize = 6;
/// How many directories of one root are looked into.
const MAX_DIRS: usize = 50_000;

/// Directories that hold no skills of their own.
pub(crate) const IGNORED: &[&str] = &[".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules", "target"];
/// How many directories are looked into before what was found is put in order: enough to keep every thread busy.
const AT_ONCE: usize = 2048;

/// What was found below one root.
#[derive(Debug, Default)]
pub(crate) struct RootScan<'k> {
    pub(crate) folders: Vec<SkillFolder>,
    pub(crate) problems: Vec<Problem>,
    /// What the next scan may take over.
    pub(crate) index_builder: Option<IndexBuilder<'k>>,
}

/// What a scan needs to know besides its root.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanLimits<'a> {
    pub(crate) validation: SkillValidation,
    pub(crate) link_policy: &'a LinkPolicy,
    pub(crate) progress: &'a AtomicUsize,
}

/// From where it is known what a directory holds.
enum VisitOrigin<'k> {
    /// From an index.
    Index(&'k [u8]),
    /// From the disk, and it could be recalled later.
    Disk(Box<DirectoryStamps>),
    /// From the disk, and it must be looked at each time.
    Uncacheable,
}

/// A scan that is going on.
struct RootWalk<'a, 'k> {
    root: &'a Arc<SkillRoot>,
    limits: ScanLimits<'a>,
    index: Option<&'a RootIndex<'k>>,
    /// The root's directory, open.
    base: Option<OpenDirectory<'a>>,
}

/// Walks a root. A root that does not exist is empty. What an index confirms is not read again.
pub(crate) fn scan<'k>(root: &Arc<SkillRoot>, limits: ScanLimits<'_>, index: Option<&RootIndex<'k>>) -> RootScan<'k> {
    // Should this fail, the visit of the root's own directory reports why.
    let walk = RootWalk { root, limits, index, base: OpenDirectory::open(&root.path).ok() };
    let mut found = RootScan { index_builder: index.map(RootIndex::new_builder), ..RootScan::default() };
    let mut folders: Vec<(Cow<'k, Path>, SkillFolder)> = Vec::new();
    let mut level = vec![ScanDirectory { relative: Cow::Borrowed(Path::new("")), real: None }];
    let mut followed = HashSet::new();
    let mut looked_into = 0;
    let mut aside = Vec::new();
    for _ in 0..=MAX_DEPTH {
        let allowed = MAX_DIRS - looked_into;
        if level.len() > allowed {
            found.problems.push(limit_problem(&root.path, "more than 50,000 directories", "name a smaller directory"));
            level.truncate(allowed);
        }
        looked_into += level.len();
        let mut rest = std::mem::take(&mut level).into_iter();
        loop {
            let batch: Vec<ScanDirectory<'k>> = rest.by_ref().take(AT_ONCE).collect();
            if batch.is_empty() {
                break;
            }
            for (dir, visit) in walk.visit_all(batch, &mut found.index_builder) {
                let is_skill = visit.folder.is_some() && !dir.relative.as_os_str().is_empty();
                limits.progress.fetch_add(usize::from(visit.folder.is_some()), Ordering::Relaxed);
                found.problems.extend(visit.problems);
                for child in visit.children {
                    if is_skill && child.relative.file_name().is_none_or(|name| name != "skills") {
                        aside.push(AsideDirectory::inside(child, &dir.relative));
                    } else if is_new(&child, &mut followed) {
                        level.push(child);
                    } else {
                        found.problems.push(repeated_link_problem(&root.below(&child.relative), child.real.as_deref()));
                    }
                }
                folders.extend(visit.folder.map(|folder| (dir.relative, folder)));
            }
        }
        if level.is_empty() {
            break;
        }
    }
    aside.extend(level.into_iter().map(AsideDirectory::too_deep));
    found.problems.extend(aside::report(aside, &walk, &mut found.index_builder));
    folders.sort_by(|(a, _), (b, _)| a.as_os_str().cmp(b.as_os_str()));
    found.folders = folders.into_iter().map(|(_, folder)| folder).collect();
    found
}

impl<'k> RootWalk<'_, 'k> {
    /// Looks into directories, in parallel, and puts down what an index may keep of them.
    fn visit_all(
        &self,
        directories: Vec<ScanDirectory<'k>>,
        notes: &mut Option<IndexBuilder<'k>>,
    ) -> Vec<(ScanDirectory<'k>, DirectoryVisit<'k>)> {
        let visits: Vec<(DirectoryVisit<'k>, VisitOrigin<'k>)> =
            directories.par_iter().map(|dir| self.visit_directory(dir)).collect();
        let kept = directories.into_iter().zip(visits).map(|(dir, (visit, origin))| {
            if let Some(notes) = notes {
                self.record_visit(&dir, &visit, origin, notes);
            }
            (dir, visit)
        });
        kept.collect()
    }

    fn visit_directory(&self, dir: &ScanDirectory<'k>) -> (DirectoryVisit<'k>, VisitOrigin<'k>) {
        let recalled = self.index.zip(self.base.as_ref()).and_then(|(index, base)| index.recall(&dir.relative, base));
        match recalled {
            Some(RecalledVisit { visit, record }) => (visit, VisitOrigin::Index(record)),
            None => visit::visit(&dir.relative, self.base.as_ref(), self.root, self.limits),
        }
    }

    fn record_visit(
        &self,
        dir: &ScanDirectory<'_>,
        visit: &DirectoryVisit<'_>,
        origin: VisitOrigin<'k>,
        notes: &mut IndexBuilder<'k>,
    ) {
        match origin {
            VisitOrigin::Index(record) => notes.reuse(record),
            VisitOrigin::Disk(seen) => notes.add(&dir.relative, &self.root.below(&dir.relative), &seen, visit),
            VisitOrigin::Uncacheable => {}
        }
    }
}

fn is_new(child: &ScanDirectory<'_>, followed: &mut HashSet<PathBuf>) -> bool {
    child.real.as_ref().is_none_or(|real| followed.insert(real.clone()))
}

/// A link to where another one has led already. Reading it again could go on for ever.
fn repeated_link_problem(path: &Path, real: Option<&Path>) -> Problem {
    let target = real.unwrap_or(path).display();
    let message = format!("the link points to {target}, which another link points to as well; it is read once");
    Problem::new(ProblemCode::LinkRepeated, ProblemSeverity::Info, path, message, "remove one of the two links")
}

fn limit_problem(path: &Path, what: &str, help: &str) -> Problem {
    let message = format!("{what}; the rest is not searched");
    Problem::new(ProblemCode::ScanLimit, ProblemSeverity::Warning, path, message, help)
}
