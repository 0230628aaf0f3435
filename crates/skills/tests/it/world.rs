//! A home, a project and a place that is neither, in a temporary directory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicUsize;

use maestro_core::settings::{SettingsDirs, SkillValidation};
use maestro_core::{Problem, Settings};
use maestro_skills::{Catalogue, NameLookup, Skill, SkillRoot, search_order};
use tempfile::TempDir;

pub(crate) struct World {
    base: PathBuf,
    pub(crate) places: SettingsDirs,
    _temp: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let project = base.join("work/app");
        let places = SettingsDirs {
            home: base.join("home"),
            data: base.join("home/.local/share/maestro"),
            project: project.clone(),
            working_dir: project,
        };
        for dir in [&places.home, &places.project, &base.join("elsewhere")] {
            fs::create_dir_all(dir).unwrap();
        }
        Self { base, places, _temp: temp }
    }

    pub(crate) fn project(&self, path: &str) -> PathBuf {
        self.places.project.join(path)
    }

    pub(crate) fn home(&self, path: &str) -> PathBuf {
        self.places.home.join(path)
    }

    /// In a directory that belongs to neither the project nor the user.
    pub(crate) fn elsewhere(&self, path: &str) -> PathBuf {
        self.base.join("elsewhere").join(path)
    }

    /// Below a root that belongs to the project.
    pub(crate) fn skills(&self, path: &str) -> PathBuf {
        self.project(".claude/skills").join(path)
    }

    pub(crate) fn roots(&self) -> Vec<SkillRoot> {
        search_order(&Settings::defaults(&self.places), &self.places)
    }

    /// All the default places, leniently.
    pub(crate) fn load(&self) -> Catalogue {
        self.load_from(&self.roots(), SkillValidation::Lenient)
    }

    pub(crate) fn load_strictly(&self) -> Catalogue {
        self.load_from(&self.roots(), SkillValidation::Strict)
    }

    pub(crate) fn load_from(&self, roots: &[SkillRoot], validation: SkillValidation) -> Catalogue {
        let progress = AtomicUsize::new(0);
        let catalogue = Catalogue::load(roots, &self.places, validation, &progress);
        for problem in &catalogue.problems {
            assert!(!problem.message.is_empty() && !problem.help.is_empty(), "{problem:?}");
        }
        catalogue
    }

    /// `severity code path:line:column` of each problem, in order.
    pub(crate) fn problems(&self, catalogue: &Catalogue) -> Vec<String> {
        catalogue.problems.iter().map(|problem| self.line(problem)).collect()
    }

    fn line(&self, problem: &Problem) -> String {
        let Problem { code, severity, path, line, column, .. } = problem;
        format!("{severity} {code} {}:{line}:{column}", self.relative(path))
    }

    pub(crate) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.base).unwrap_or(path).display().to_string()
    }

    /// The directories of the skills that count, in order.
    pub(crate) fn paths(&self, catalogue: &Catalogue) -> Vec<String> {
        catalogue.skills.iter().map(|skill| self.relative(&skill.path)).collect()
    }
}

/// Writes a file and the directories above it.
pub(crate) fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
    let path = path.as_ref();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// A link, and the directories above it.
pub(crate) fn link(target: impl AsRef<Path>, at: impl AsRef<Path>) {
    let at = at.as_ref();
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    symlink(target, at).unwrap();
}

/// A pipe that nobody writes to: whoever opens it as a file waits for ever.
pub(crate) fn pipe(path: impl AsRef<Path>) {
    let path = path.as_ref();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A skill without a fault, named after its directory.
pub(crate) fn good_skill(dir: impl AsRef<Path>) {
    let dir = dir.as_ref();
    let name = dir.file_name().unwrap().to_str().unwrap();
    write(dir.join("SKILL.md"), skill_md(name, "Does one thing well."));
}

pub(crate) fn skill_md(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nBody.\n")
}

pub(crate) fn ids(catalogue: &Catalogue) -> Vec<&str> {
    catalogue.skills.iter().map(|skill| skill.id.as_str()).collect()
}

pub(crate) fn found<'a>(catalogue: &'a Catalogue, name: &str) -> &'a Skill {
    match catalogue.find(name) {
        NameLookup::Found(skill) => skill,
        other => panic!("{name}: {other:?}"),
    }
}

pub(crate) fn is_missing(catalogue: &Catalogue, name: &str) -> bool {
    matches!(catalogue.find(name), NameLookup::Missing { .. })
}

pub(crate) fn is_broken(catalogue: &Catalogue, name: &str) -> bool {
    matches!(catalogue.find(name), NameLookup::Broken(_))
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}
