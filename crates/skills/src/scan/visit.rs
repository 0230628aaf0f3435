//! Contents of one directory: a skill, subdirectories to visit, problems to report.
//!
//! Links are followed only to permitted places.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use maestro_core::{Problem, ProblemCode, ProblemSeverity};

use super::flattened;
use super::{IGNORED, ScanLimits, VisitOrigin};
use crate::directory::{FileKind, OpenDirectory};
use crate::directory_visit::{DirectoryVisit, ScanDirectory, SkillFolder};
use crate::encoded_skill::EncodedSkill;
use crate::file_stamp::DirectoryStamps;
use crate::format::{self, LoadContext, SkillFiles};
use crate::roots::SkillRoot;
use crate::text;

/// A directory being looked into.
struct DirectoryReader<'a, 'k> {
    root: &'a SkillRoot,
    limits: ScanLimits<'a>,
    files: SkillFiles,
    visit: DirectoryVisit<'k>,
    /// Whether something has a form's name but may not or cannot be read, so that the folder is broken and not absent.
    form_refused: bool,
}

/// Looks into a directory; `base` is the root's own, open.
pub(super) fn visit<'k>(
    relative: &Path,
    base: Option<&OpenDirectory<'_>>,
    root: &Arc<SkillRoot>,
    limits: ScanLimits<'_>,
) -> (DirectoryVisit<'k>, VisitOrigin<'k>) {
    let dir = root.below(relative);
    let is_root = relative.as_os_str().is_empty();
    let mut look = DirectoryReader {
        root,
        limits,
        files: SkillFiles::default(),
        visit: DirectoryVisit::default(),
        form_refused: false,
    };
    // Most skills hold one file. Only what is no file has to wait until it can be taken in order.
    let mut others = Vec::new();
    let mut once_links = Vec::new();
    let opened = match base {
        Some(base) if !is_root => base.open_below(relative, &dir),
        _ => OpenDirectory::open(&dir),
    };
    let listed = opened.and_then(|open| {
        open.for_each_entry(|name, kind| match kind {
            FileKind::File => {
                let name = name.to_string_lossy();
                look.files.note(&name);
                if is_root && flattened::is_named_like_a_folder(&name) {
                    once_links.push(dir.join(name.as_ref()));
                }
            }
            _ => others.push((name.to_owned(), kind)),
        })?;
        Ok(open)
    });
    let open = match listed {
        Ok(open) => open,
        Err(error) if is_root && error.kind() == std::io::ErrorKind::NotFound => {
            return (look.visit, VisitOrigin::Uncacheable);
        }
        Err(error) => {
            look.visit.problems.push(text::unreadable(&dir, &error));
            return (look.visit, VisitOrigin::Uncacheable);
        }
    };
    others.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    once_links.sort_unstable();
    let flattened: Vec<Problem> = once_links.iter().filter_map(|path| flattened::problem(path)).collect();
    // Like a link, such a file can come to mean something else without anything here changing.
    let mut has_links = !flattened.is_empty();
    look.visit.problems.extend(flattened);
    for (entry, kind) in others {
        let name = entry.to_string_lossy();
        let path = dir.join(&entry);
        match kind {
            _ if IGNORED.contains(&name.as_ref()) => {}
            FileKind::Link => {
                has_links = true;
                look.follow(relative, &path, &name);
            }
            _ if SkillFiles::is_form(&name) => look.refuse_form(no_file(path)),
            FileKind::Directory => look.visit.children.push(child(relative, &entry, None)),
            FileKind::File | FileKind::Other => {}
        }
    }
    let DirectoryReader { files, mut visit, form_refused, .. } = look;
    if form_refused {
        visit.folder = Some(SkillFolder::Broken(dir.clone()));
    }
    let mut read = Vec::new();
    if files.is_skill() {
        let context = LoadContext { location: root.location, source: root.source, validation: limits.validation };
        let loaded = format::load(&open, &files, context);
        visit.problems.extend(loaded.problems);
        let packed = loaded.skill.and_then(|skill| EncodedSkill::new(&skill, relative, root));
        visit.folder =
            Some(packed.map_or_else(|| SkillFolder::Broken(dir.clone()), |packed| SkillFolder::Skill(packed.into())));
        read = loaded.read;
    }
    if visit.folder.is_some() && !is_root {
        visit.children.retain(may_hold_skills);
    }
    // What a link means, and what may be read, can change without anything here changing.
    let depends = has_links || visit.problems.iter().any(|problem| problem.code == ProblemCode::FileUnreadable);
    let origin = if depends {
        VisitOrigin::Uncacheable
    } else {
        VisitOrigin::Disk(Box::new(DirectoryStamps { directory: open.stamp(), files: read }))
    };
    (visit, origin)
}

/// Whether a directory inside a skill's folder is looked through. What lies there belongs to the skill, and only a
/// `skills` folder may hold more; the others are for what was put there by mistake.
fn may_hold_skills(child: &ScanDirectory<'_>) -> bool {
    child.real.is_none() || child.relative.file_name().is_some_and(|name| name == "skills")
}

fn child<'k>(parent: &Path, entry: &OsStr, real: Option<PathBuf>) -> ScanDirectory<'k> {
    ScanDirectory { relative: Cow::Owned(parent.join(entry)), real }
}

fn no_file(path: PathBuf) -> Problem {
    let message = "it has the name of a skill file but is not a file";
    Problem::new(
        ProblemCode::FileUnreadable,
        ProblemSeverity::Error,
        path,
        message,
        "remove it, or put a file in its place",
    )
}

impl DirectoryReader<'_, '_> {
    fn refuse_form(&mut self, problem: Problem) {
        self.form_refused = true;
        self.visit.problems.push(problem);
    }

    /// Refuses a link: an error when it takes the place of a form, else a warning.
    fn refuse_link(&mut self, is_form: bool, mut problem: Problem) {
        if is_form {
            problem.severity = ProblemSeverity::Error;
            self.refuse_form(problem);
        } else {
            self.visit.problems.push(problem);
        }
    }

    /// Takes a link for what it leads to, if it may lead there.
    fn follow(&mut self, parent: &Path, path: &Path, name: &str) {
        let is_form = SkillFiles::is_form(name);
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) => {
                let problem = Problem::new(
                    ProblemCode::LinkBroken,
                    ProblemSeverity::Warning,
                    path,
                    format!("the link is broken: {error}"),
                    "remove it, or point it at something that exists",
                );
                self.refuse_link(is_form, problem);
                return;
            }
        };
        let is_dir = real.is_dir();
        if !is_dir && !is_form {
            return;
        }
        if !self.limits.link_policy.permits(self.root.source, &real) {
            let problem = Problem::new(
                ProblemCode::LinkOutside,
                ProblemSeverity::Warning,
                path,
                format!("the link points to {}, outside the permitted skill directories", real.display()),
                "copy the files here, or add the directory they are in to skills_extra_dirs",
            );
            self.refuse_link(is_form, problem);
            return;
        }
        if is_form {
            if real.is_file() {
                self.files.note(name);
            } else {
                self.refuse_form(no_file(path.to_owned()));
            }
            return;
        }
        let above = path.parent().map(Path::canonicalize);
        if above.is_some_and(|above| above.is_ok_and(|above| above.starts_with(&real))) {
            self.visit.problems.push(Problem::new(
                ProblemCode::LinkBroken,
                ProblemSeverity::Warning,
                path,
                "the link points back to a directory that contains it",
                "remove it",
            ));
            return;
        }
        self.visit.children.extend(path.file_name().map(|entry| child(parent, entry, Some(real))));
    }
}
