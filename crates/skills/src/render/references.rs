//! References of a skill, appended to its text on request.
//!
//! The Markdown files directly in `references/`, in order of their names. One that cannot be used is left out with
//! a problem; the others stay.

use std::path::{Path, PathBuf};

use maestro_core::{Problem, ProblemCode, ProblemSeverity};

use crate::directory::{FileKind, OpenDirectory};
use crate::skill::Skill;
use crate::text::{self, MAX_TEXT_BYTES};

/// How many references are read.
const MOST_FILES: usize = 100;

/// The directory that references are in.
pub(super) fn directory(skill: &Skill) -> PathBuf {
    skill.path.join("references")
}

/// The references as they are appended to a skill's text; nothing when there are none.
pub(super) fn appendix(skill: &Skill, problems: &mut Vec<Problem>) -> String {
    let mut left = MAX_TEXT_BYTES;
    let mut parts = Vec::new();
    for name in names(skill, problems) {
        let path = directory(skill).join(&name);
        match read(&path, skill, left) {
            Ok(text) => {
                left = left.saturating_sub(text.len() as u64);
                let name: String = name.chars().filter(|c| !c.is_control()).collect();
                parts.push(format!("### {name}\n\n{text}"));
            }
            Err(problem) => problems.push(problem),
        }
    }
    if parts.is_empty() { String::new() } else { format!("\n\n---\n\n## References\n\n{}", parts.join("\n\n---\n\n")) }
}

fn names(skill: &Skill, problems: &mut Vec<Problem>) -> Vec<String> {
    let path = directory(skill);
    if let Err(problem) = resolve_within(skill, &path) {
        // Its absence is the usual case, and no problem.
        problems.extend(path.exists().then_some(problem));
        return Vec::new();
    }
    let mut names = Vec::new();
    let listed = OpenDirectory::open(&path).and_then(|open| {
        open.for_each_entry(|name, kind| {
            let is_markdown = Path::new(name).extension().is_some_and(|extension| extension == "md");
            if is_markdown && matches!(kind, FileKind::File | FileKind::Link) {
                names.push(name.to_string_lossy().into_owned());
            }
        })
    });
    if let Err(error) = listed {
        problems.push(as_warning(text::unreadable(&path, &error)));
    }
    names.sort_unstable();
    if names.len() > MOST_FILES {
        let message = format!("{} references; only the first {MOST_FILES} are read", names.len());
        problems.push(Problem::new(
            ProblemCode::ScanLimit,
            ProblemSeverity::Warning,
            &path,
            message,
            "join some of them",
        ));
        names.truncate(MOST_FILES);
    }
    names
}

fn read(path: &Path, skill: &Skill, most: u64) -> Result<String, Problem> {
    let real = resolve_within(skill, path)?;
    let contents = text::read_bounded(&real, most).map_err(|error| as_warning(text::unreadable(path, &error)))?;
    if contents.cut {
        let message = "the references are larger than 1 MiB together; this one is left out";
        let help = "make the references smaller";
        return Err(Problem::new(ProblemCode::FileTooLarge, ProblemSeverity::Warning, path, message, help));
    }
    text::text_of(&contents.bytes).map(str::to_owned).map_err(|place| as_warning(text::not_utf8(path, place)))
}

/// Where a path really is, if that is inside the skill.
fn resolve_within(skill: &Skill, path: &Path) -> Result<PathBuf, Problem> {
    let real = |path: &Path| path.canonicalize().map_err(|error| as_warning(text::unreadable(path, &error)));
    let (target, home) = (real(path)?, real(&skill.path)?);
    if target.starts_with(&home) {
        return Ok(target);
    }
    let message = format!("the link points to {}, outside the skill; it is ignored", target.display());
    let help = "copy what it leads to into the skill's references/";
    Err(Problem::new(ProblemCode::LinkOutside, ProblemSeverity::Warning, path, message, help))
}

/// The skill can be used without it, so it is no error.
fn as_warning(mut problem: Problem) -> Problem {
    problem.severity = ProblemSeverity::Warning;
    problem.message.push_str("; it is left out");
    problem
}
