//! Directories where no skill is looked for: inside a skill, or too deep below the root.
//!
//! A skill that was put there would be missed in silence. So these are looked through as well, after all others and
//! not without end, and every skill in them is reported.

use std::path::{Path, PathBuf};

use maestro_core::workflow::executions::quote_word;
use maestro_core::{Problem, ProblemCode, ProblemSeverity};

use super::{AT_ONCE, RootWalk, limit_problem};
use crate::directory_visit::ScanDirectory;
use crate::index::IndexBuilder;

/// How many of these directories are looked into.
const MOST: usize = 20_000;
/// How many levels of them.
const MAX_DEPTH: usize = 16;
/// Where the standard keeps a skill's own files, which may be examples of skills.
const RESOURCES: &[&str] = &["assets", "references", "scripts"];

/// A directory whose skills are not loaded, and why.
pub(super) struct AsideDirectory<'k> {
    directory: ScanDirectory<'k>,
    reason: AsideReason,
}

#[derive(Clone)]
enum AsideReason {
    /// In the folder of this skill.
    InsideSkill(PathBuf),
    /// Among the own files of this skill.
    Resource(PathBuf),
    TooDeep,
}

impl<'k> AsideDirectory<'k> {
    /// A directory in the folder of the skill at `skill`.
    pub(super) fn inside(directory: ScanDirectory<'k>, skill: &Path) -> Self {
        let name = directory.relative.file_name();
        let is_resource = name.is_some_and(|name| RESOURCES.iter().any(|own| name == *own));
        let reason = if is_resource { AsideReason::Resource } else { AsideReason::InsideSkill };
        Self { reason: reason(skill.to_owned()), directory }
    }

    /// A directory further below the root than skills are loaded from.
    pub(super) fn too_deep(directory: ScanDirectory<'k>) -> Self {
        Self { directory, reason: AsideReason::TooDeep }
    }
}

/// Looks through directories, and reports every skill found there.
pub(super) fn report<'k>(
    mut level: Vec<AsideDirectory<'k>>,
    walk: &RootWalk<'_, 'k>,
    notes: &mut Option<IndexBuilder<'k>>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut looked_into = 0;
    for _ in 0..MAX_DEPTH {
        // Where a skill is most likely a mistake is looked first.
        level.sort_by_key(|aside| matches!(aside.reason, AsideReason::Resource(_)));
        let mut rest = std::mem::take(&mut level).into_iter();
        while looked_into < MOST {
            let batch = rest.by_ref().take(AT_ONCE.min(MOST - looked_into));
            let (directories, reasons): (Vec<_>, Vec<_>) = batch.map(|aside| (aside.directory, aside.reason)).unzip();
            if directories.is_empty() {
                break;
            }
            looked_into += directories.len();
            for ((dir, visit), reason) in walk.visit_all(directories, notes).into_iter().zip(reasons) {
                if visit.folder.is_some() {
                    problems.push(problem(walk, &dir.relative, &reason));
                }
                // A link may lead anywhere; what it leads to is found where it is.
                let below = visit.children.into_iter().filter(|child| child.real.is_none());
                level.extend(below.map(|directory| AsideDirectory { directory, reason: reason.clone() }));
            }
        }
        if let Some(left) = rest.next() {
            // A large catalogue has many folders of resources, and nothing is wrong with that.
            if matches!(left.reason, AsideReason::Resource(_)) {
                return problems;
            }
            let path = walk.root.below(&left.directory.relative);
            problems.push(limit_problem(&path, "very many directories inside skills", "keep them elsewhere"));
            return problems;
        }
    }
    problems
}

fn problem(walk: &RootWalk<'_, '_>, relative: &Path, reason: &AsideReason) -> Problem {
    let path = walk.root.below(relative);
    let beside = match reason {
        AsideReason::InsideSkill(skill) | AsideReason::Resource(skill) => skill.parent().unwrap_or(Path::new("")),
        AsideReason::TooDeep => Path::new(""),
    };
    let beside = walk.root.below(&beside.join(relative.file_name().unwrap_or_default()));
    let to_move = format!("mv {} {}", quote_word(&path.to_string_lossy()), quote_word(&beside.to_string_lossy()));
    let help = match reason {
        AsideReason::Resource(_) => format!("fine for an example; else move it up: {to_move}"),
        AsideReason::InsideSkill(_) | AsideReason::TooDeep => format!("move it up: {to_move}"),
    };
    let name = |skill: &Path| skill.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (code, severity, message) = match reason {
        AsideReason::InsideSkill(skill) => {
            let message = format!("it lies in the folder of the skill `{}` and is not loaded", name(skill));
            (ProblemCode::SkillInside, ProblemSeverity::Warning, message)
        }
        AsideReason::Resource(skill) => {
            let message = format!("it lies among the files of the skill `{}` and is not loaded", name(skill));
            (ProblemCode::SkillInside, ProblemSeverity::Info, message)
        }
        AsideReason::TooDeep => {
            let message = "more than 6 levels below its root; it is not loaded".to_owned();
            (ProblemCode::ScanLimit, ProblemSeverity::Warning, message)
        }
    };
    Problem::new(code, severity, path, message, help)
}
