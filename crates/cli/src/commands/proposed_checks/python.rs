//! Likely checks of a Python project: the tests' own framework.

use std::fs;
use std::path::{Path, PathBuf};

use super::read_file;

/// How many files of tests are looked at.
const MOST_TESTS: usize = 50;

/// The checks of a Python project, the most usual first; nothing where it has no tests.
pub(super) fn likely_checks(project: &Path) -> Vec<&'static str> {
    let is_there = |name: &str| project.join(name).is_file();
    let tests = test_files(project);
    let pyproject = read_file(project, "pyproject.toml");
    if pyproject.is_none() && tests.is_empty() {
        return Vec::new();
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
        return vec![if aside { "python3 -m unittest discover -s tests" } else { "python3 -m unittest" }];
    }
    let by_lock = [("uv.lock", "uv run pytest"), ("poetry.lock", "poetry run pytest")];
    let own = by_lock.into_iter().filter(|(lock, _)| is_there(lock)).map(|(_, check)| check);
    own.chain(["pytest"]).collect()
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
