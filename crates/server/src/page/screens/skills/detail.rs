//! Everything about one skill: its text, files, header, places, problems, and who sees it.

use std::path::Path;

use maestro_core::Problem;
use maestro_engine::{Host, SkillSight};
use maestro_skills::folder::{self, SkillFile};
use maestro_skills::render::{BodyPart, ReferenceMode, body};
use maestro_skills::{BrokenSkill, Catalogue, NameLookup, Skill, SkillVisibility, check_text};
use serde::Serialize;
use serde_json::Value as Json;

/// How many characters of a text are read.
const TEXT: usize = 200_000;
/// How many files are listed.
const FILES: usize = 100;

/// A skill as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct SkillDetail {
    pub(super) name: String,
    title: String,
    description: String,
    source: &'static str,
    format: &'static str,
    /// Where it is found.
    path: String,
    /// What it shadows, and what shadows it.
    shadows: Vec<ShadowLine>,
    problems: Vec<ProblemLine>,
    header: Vec<(String, String)>,
    files: Vec<FileLine>,
    more_files: usize,
    /// Why the files cannot be listed.
    no_files: Option<String>,
    /// Its text, in Markdown.
    text: String,
    /// Why there is no text.
    no_text: Option<String>,
    sights: Vec<SightLine>,
    /// Whether agents are offered it, or only who names it gets it.
    by_name_only: bool,
    pub(super) broken: bool,
}

/// A skill of the same name elsewhere.
#[derive(Debug, Serialize)]
struct ShadowLine {
    path: String,
    source: &'static str,
    same: bool,
}

/// A problem, where it is, and what to do.
#[derive(Debug, Serialize)]
struct ProblemLine {
    is_error: bool,
    severity: &'static str,
    code: &'static str,
    place: String,
    message: String,
    help: String,
}

/// A file of the skill.
#[derive(Debug, Serialize)]
struct FileLine {
    path: String,
    size: String,
}

/// How an agent sees it.
#[derive(Debug, Serialize)]
struct SightLine {
    agent: &'static str,
    installed: bool,
    sees: bool,
    words: String,
}

impl SkillDetail {
    /// Everything about the skill of a name; nothing where there is none.
    pub(super) fn load(host: &dyn Host, directory: Option<&Path>, catalogue: &Catalogue, name: &str) -> Option<Self> {
        match catalogue.find(name) {
            NameLookup::Found(skill) => Some(Self::of(host, directory, catalogue, skill)),
            NameLookup::Ambiguous(skills) => Some(Self::of(host, directory, catalogue, skills.first()?)),
            NameLookup::Broken(broken) => Some(Self::of_broken(catalogue, broken)),
            NameLookup::Missing { .. } => None,
        }
    }

    fn of(host: &dyn Host, directory: Option<&Path>, catalogue: &Catalogue, skill: &Skill) -> Self {
        let texts = check_text(skill);
        let problems =
            catalogue.problems_of(&skill.path).chain(&texts).map(|problem| problem_line(problem, &skill.path));
        let shadows = catalogue.shadowed.iter().filter(|other| other.skill.id == skill.id).map(|other| ShadowLine {
            path: other.skill.path.display().to_string(),
            source: other.skill.source.as_str(),
            same: other.same_files,
        });
        let (files, no_files) = match folder::files(skill) {
            Ok(files) => (files, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let (text, no_text) = match body(skill, BodyPart::Body, ReferenceMode::Leave, TEXT) {
            Ok(body) => (body.text, None),
            Err(error) => (String::new(), Some(error.to_string())),
        };
        Self {
            name: skill.id.to_string(),
            title: skill.display_name.clone(),
            description: skill.description.clone(),
            source: skill.source.as_str(),
            format: skill.format.as_str(),
            path: skill.path.display().to_string(),
            shadows: shadows.collect(),
            problems: problems.collect(),
            header: folder::header(skill).into_iter().flatten().map(|(key, value)| (key, header_text(value))).collect(),
            more_files: files.len().saturating_sub(FILES),
            files: files.iter().take(FILES).map(file_line).collect(),
            no_files,
            text,
            no_text,
            sights: host.skill_sights(directory, skill).iter().map(sight_line).collect(),
            by_name_only: !skill.invocation.by_model,
            broken: false,
        }
    }

    fn of_broken(catalogue: &Catalogue, broken: &BrokenSkill) -> Self {
        let problems = catalogue.problems_of(&broken.path).map(|problem| problem_line(problem, &broken.path));
        Self {
            name: broken.name.clone(),
            title: broken.name.clone(),
            description: String::new(),
            source: "",
            format: "",
            path: broken.path.display().to_string(),
            shadows: Vec::new(),
            problems: problems.collect(),
            header: Vec::new(),
            files: Vec::new(),
            more_files: 0,
            no_files: None,
            text: String::new(),
            no_text: None,
            sights: Vec::new(),
            by_name_only: false,
            broken: true,
        }
    }
}

fn problem_line(problem: &Problem, folder: &Path) -> ProblemLine {
    let file = problem.path.strip_prefix(folder).unwrap_or(&problem.path).display().to_string();
    let place = if file.is_empty() { String::new() } else { format!("{file}:{}:{}", problem.line, problem.column) };
    ProblemLine {
        is_error: problem.severity == maestro_core::ProblemSeverity::Error,
        severity: problem.severity.as_str(),
        code: problem.code.as_str(),
        place,
        message: problem.message.clone(),
        help: problem.help.clone(),
    }
}

/// A value of the header: a text as it is, anything else as JSON.
fn header_text(value: Json) -> String {
    match value {
        Json::String(text) => text,
        other => other.to_string(),
    }
}

fn file_line(file: &SkillFile) -> FileLine {
    let size = match file.size {
        bytes @ 0..1024 => format!("{bytes} B"),
        bytes @ 1024..1_048_576 => format!("{} KB", bytes.div_ceil(1024)),
        bytes => format!("{} MB", bytes.div_ceil(1_048_576)),
    };
    FileLine { path: file.path.clone(), size }
}

fn sight_line(sight: &SkillSight) -> SightLine {
    SightLine {
        agent: sight.agent,
        installed: sight.installed,
        sees: matches!(sight.visibility, SkillVisibility::Whole | SkillVisibility::Cut { .. }),
        words: sight.visibility.to_string(),
    }
}
