//! Likely check of a Python project: the tests' own framework, as far as it is installed.

use std::fs;
use std::path::{Path, PathBuf};

use super::{ProposedCheck, read_file};

/// How many files of tests are looked at.
const MOST_TESTS: usize = 50;

/// The check of a Python project; nothing where it has no tests.
pub(super) fn likely_check(project: &Path) -> Option<ProposedCheck> {
    let is_there = |name: &str| project.join(name).is_file();
    let tests = test_files(project);
    let pyproject = read_file(project, "pyproject.toml");
    if pyproject.is_none() && tests.is_empty() {
        return None;
    }
    let mentions = |name: &str| read_file(project, name).is_some_and(|text| text.contains("pytest"));
    let sources: Vec<String> = tests.iter().filter_map(|file| read_file(project, &file.to_string_lossy())).collect();
    let wants_pytest = ["pyproject.toml", "setup.cfg", "tox.ini", "requirements.txt", "requirements-dev.txt"]
        .iter()
        .any(|name| mentions(name))
        || is_there("pytest.ini")
        || is_there("conftest.py")
        || is_there("tests/conftest.py")
        || sources.iter().any(|text| text.contains("import pytest"));
    let has_unittests = sources.iter().any(|text| text.contains("unittest"));
    if has_unittests && !wants_pytest {
        // Tests in a directory that is no package are found only from there.
        let aside = project.join("tests").is_dir() && !is_there("tests/__init__.py");
        return Some(ProposedCheck::new(if aside {
            "python3 -m unittest discover -s tests"
        } else {
            "python3 -m unittest"
        }));
    }
    Some(ProposedCheck::new("pytest"))
}

/// Files that are named like tests, below the project and its `tests`.
fn test_files(project: &Path) -> Vec<PathBuf> {
    let is_test = |name: &str| {
        Path::new(name).extension().is_some_and(|end| end == "py")
            && (name.starts_with("test_") || name.ends_with("_test.py"))
    };
    let mut found = Vec::new();
    for place in ["", "tests", "test"] {
        let Ok(entries) = fs::read_dir(project.join(place)) else { continue };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).filter(|name| is_test(name));
        found.extend(names.map(|name| Path::new(place).join(name)));
    }
    found.sort();
    found.truncate(MOST_TESTS);
    found
}
