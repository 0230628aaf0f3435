//! Which skill folders are below a directory?
//!
//! A root is walked level by level, each level in parallel, so that the result depends on nothing but the files.
//! Links are followed only to permitted places; depth and number of directories are bounded.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use maestro_core::settings::Validation;
use maestro_core::{Code, Problem, Severity};
use rayon::prelude::*;

use crate::format::{self, Context, Files};
use crate::listing::{Directory, Kind};
use crate::roots::{Containment, Root};
use crate::skill::Skill;
use crate::text;

/// How deep groups of skills may nest.
const MAX_DEPTH: usize = 6;
/// How many directories of one root are looked into.
const MAX_DIRS: usize = 50_000;

/// Directories that hold no skills of their own.
pub(crate) const IGNORED: &[&str] = &[".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules", "target"];

/// A folder that is a skill, or would be one if it could be read.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    pub(crate) skill: Option<Arc<Skill>>,
}

/// What was found below one root.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) folders: Vec<Folder>,
    pub(crate) problems: Vec<Problem>,
}

/// What a scan needs to know besides its root.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits<'a> {
    pub(crate) validation: Validation,
    pub(crate) containment: &'a Containment,
    pub(crate) progress: &'a AtomicUsize,
}

/// A directory to look into.
struct Dir {
    path: PathBuf,
    /// Where it really is, when a link led here.
    real: Option<PathBuf>,
}

/// What one look into a directory brings.
#[derive(Default)]
struct Visit {
    folder: Option<Folder>,
    children: Vec<Dir>,
    problems: Vec<Problem>,
    /// Whether something has a form's name but may not or cannot be read, so that the folder is broken and not absent.
    form_refused: bool,
}

impl Visit {
    fn refuse_form(&mut self, problem: Problem) {
        self.form_refused = true;
        self.problems.push(problem);
    }

    /// Refuses a link: an error when it stands for a form, else a warning.
    fn refuse_link(&mut self, is_form: bool, mut problem: Problem) {
        if is_form {
            problem.severity = Severity::Error;
            self.refuse_form(problem);
        } else {
            self.problems.push(problem);
        }
    }
}

/// Walks a root. A root that does not exist is empty.
pub(crate) fn scan(root: &Root, limits: Limits<'_>) -> Scan {
    let mut found = Scan::default();
    let mut level = vec![Dir { path: root.path.clone(), real: None }];
    let mut followed = HashSet::new();
    let mut looked_into = 0;
    let base = Directory::open(&root.path).ok();
    for depth in 0..=MAX_DEPTH {
        let below = base.as_ref().filter(|_| depth > 0);
        let allowed = MAX_DIRS - looked_into;
        if level.len() > allowed {
            found.problems.push(limit(&root.path, "more than 50,000 directories", "name a smaller directory"));
            level.truncate(allowed);
        }
        looked_into += level.len();
        let visits: Vec<Visit> = level.par_iter().map(|dir| visit(dir, below, root, limits)).collect();
        level = Vec::new();
        for visit in visits {
            found.folders.extend(visit.folder);
            found.problems.extend(visit.problems);
            level.extend(visit.children.into_iter().filter(|child| is_new(child, &mut followed)));
        }
        if level.is_empty() {
            break;
        }
    }
    if let Some(deeper) = level.first() {
        found.problems.push(limit(&deeper.path, "more than 6 levels below its root", "move the skills further up"));
    }
    found.folders.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    found
}

fn is_new(child: &Dir, followed: &mut HashSet<PathBuf>) -> bool {
    child.real.as_ref().is_none_or(|real| followed.insert(real.clone()))
}

fn limit(path: &Path, what: &str, help: &str) -> Problem {
    let message = format!("{what}; the rest is not searched");
    Problem::new(Code::ScanLimit, Severity::Warning, path, message, help)
}

fn no_file(path: PathBuf) -> Problem {
    let message = "it has the name of a skill's file but is none";
    Problem::new(Code::FileUnreadable, Severity::Error, path, message, "remove it, or put a file in its place")
}

/// Looks into a directory; `base` is the root's own, open, unless this is the root itself.
fn visit(dir: &Dir, base: Option<&Directory>, root: &Root, limits: Limits<'_>) -> Visit {
    let mut visit = Visit::default();
    let mut files = Files::default();
    // Most skills hold one file. Only what is no file has to wait until it can be taken in order.
    let mut others = Vec::new();
    let listed = base.map_or_else(|| Directory::open(&dir.path), |base| base.open_below(&dir.path)).and_then(|open| {
        open.each(|name, kind| match kind {
            Kind::File => files.note(&name.to_string_lossy()),
            _ => others.push((name.to_owned(), kind)),
        })?;
        Ok(open)
    });
    let open = match listed {
        Ok(open) => open,
        Err(error) if base.is_none() && error.kind() == std::io::ErrorKind::NotFound => return visit,
        Err(error) => {
            visit.problems.push(text::unreadable(&dir.path, &error));
            return visit;
        }
    };
    others.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    for (entry, kind) in others {
        let name = entry.to_string_lossy();
        let path = dir.path.join(&entry);
        match kind {
            _ if IGNORED.contains(&name.as_ref()) => {}
            Kind::Link => follow(&path, &name, root, limits, &mut files, &mut visit),
            _ if Files::is_form(&name) => visit.refuse_form(no_file(path)),
            Kind::Directory => visit.children.push(Dir { path, real: None }),
            Kind::File | Kind::Other => {}
        }
    }
    if visit.form_refused {
        visit.folder = Some(Folder { path: dir.path.clone(), skill: None });
    }
    if files.is_skill() {
        limits.progress.fetch_add(1, Ordering::Relaxed);
        let context = Context { location: root.location, source: root.source, validation: limits.validation };
        let loaded = format::load(&open, &files, context);
        visit.problems.extend(loaded.problems);
        visit.folder = Some(Folder { path: dir.path.clone(), skill: loaded.skill });
    }
    if visit.folder.is_some() && base.is_some() {
        // What lies in a skill's folder belongs to it; only a `skills` folder inside may hold more.
        visit.children.retain(|child| child.path.file_name().is_some_and(|name| name == "skills"));
    }
    visit
}

/// Takes a link for what it leads to, if it may lead there.
fn follow(path: &Path, name: &str, root: &Root, limits: Limits<'_>, files: &mut Files, visit: &mut Visit) {
    let is_form = Files::is_form(name);
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) => {
            let problem = Problem::new(
                Code::LinkBroken,
                Severity::Warning,
                path,
                format!("the link leads nowhere: {error}"),
                "remove it, or point it at something that exists",
            );
            visit.refuse_link(is_form, problem);
            return;
        }
    };
    let is_dir = real.is_dir();
    if !is_dir && !is_form {
        return;
    }
    if !limits.containment.permits(root.source, &real) {
        let problem = Problem::new(
            Code::LinkOutside,
            Severity::Warning,
            path,
            format!("the link leads to {}, outside the places skills may come from", real.display()),
            "copy the files here, or add the directory they are in to skills_extra_dirs",
        );
        visit.refuse_link(is_form, problem);
        return;
    }
    if is_form {
        if real.is_file() {
            files.note(name);
        } else {
            visit.refuse_form(no_file(path.to_owned()));
        }
        return;
    }
    if path.parent().and_then(|parent| parent.canonicalize().ok()).is_some_and(|parent| parent.starts_with(&real)) {
        visit.problems.push(Problem::new(
            Code::LinkBroken,
            Severity::Warning,
            path,
            "the link leads back to a directory it is in",
            "remove it",
        ));
        return;
    }
    visit.children.push(Dir { path: path.to_owned(), real: Some(real) });
}
