//! Likely check and setup commands of a project whose settings name none, guessed from its files; nothing is
//! written without consent.

mod declined;
mod python;

use std::fs;
use std::io;
use std::path::Path;

use maestro_core::Settings;
use maestro_core::settings::SettingKey;
use maestro_skills::read_bounded;
use serde_json::{Value as Json, json};

use crate::commands::config::with_line;
use crate::commands::trust;
use crate::host::world::World;
use crate::host::{agents, config, files};
use crate::output::command_output::CommandResult;
use crate::output::confirm::{EmptyAnswer, confirm};
use crate::output::error::CommandError;
use crate::output::screen::clean_path;

/// How much of a project's file is read; a larger one is ignored.
const MAX_BYTES: u64 = 1024 * 1024;

/// A check that projects like this have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProposedCheck {
    /// The command.
    pub(crate) command: &'static str,
}

impl ProposedCheck {
    fn new(command: &'static str) -> Self {
        Self { command }
    }

    /// The program that it needs.
    pub(crate) fn program(self) -> &'static str {
        self.command.split(' ').next().unwrap_or_default()
    }

    /// Whether that is installed here.
    pub(crate) fn is_installed(self, world: &World) -> bool {
        let program = self.program();
        if program.contains('/') {
            return world.places.project.join(program).is_file();
        }
        agents::program(program, world).is_some()
    }
}

/// A file of a project, if it is a text that is not too long.
fn read_file(project: &Path, name: &str) -> Option<String> {
    let contents = read_bounded(&project.join(name), MAX_BYTES).ok().filter(|contents| !contents.cut)?;
    String::from_utf8(contents.bytes).ok()
}

/// The usual check command of projects like this: the first whose program is here, else the most usual.
pub(crate) fn likely_check(world: &World) -> Option<ProposedCheck> {
    let checks = likely_checks(&world.places.project);
    checks.iter().find(|check| check.is_installed(world)).or(checks.first()).copied()
}

/// The check commands that projects like this have, the most usual first.
fn likely_checks(project: &Path) -> Vec<ProposedCheck> {
    let is_there = |name: &str| project.join(name).is_file();
    let mut found = Vec::new();
    if is_there("Cargo.toml") {
        found.push("cargo test");
    }
    found.extend(node_checks(project));
    found.extend(python::likely_checks(project));
    let by_file = [
        ("go.mod", "go test ./..."),
        ("gradlew", "./gradlew test"),
        ("pom.xml", "mvn test"),
        ("mix.exs", "mix test"),
        ("deno.json", "deno test"),
    ];
    found.extend(by_file.into_iter().filter(|(file, _)| is_there(file)).map(|(_, check)| check));
    for (file, checks) in [("Makefile", ["make test", "make check"]), ("justfile", ["just test", "just check"])] {
        let text = read_file(project, file).unwrap_or_default();
        let has = |check: &&str| check.split(' ').nth(1).is_some_and(|target| has_target(&text, target));
        found.extend(checks.into_iter().find(has));
    }
    found.into_iter().map(ProposedCheck::new).collect()
}

/// The test script of a package, by the package manager whose lock file is there.
fn node_checks(project: &Path) -> Vec<&'static str> {
    let package: Option<Json> = read_file(project, "package.json").and_then(|text| serde_json::from_str(&text).ok());
    let script = package.as_ref().and_then(|package| package["scripts"]["test"].as_str());
    // What `npm init` writes fails always.
    if script.is_none_or(|script| script.contains("no test specified")) {
        return Vec::new();
    }
    let by_lock = [("pnpm-lock.yaml", "pnpm test"), ("yarn.lock", "yarn test"), ("bun.lock", "bun run test")];
    let own = by_lock.into_iter().filter(|(lock, _)| project.join(lock).is_file()).map(|(_, check)| check);
    own.chain(["npm test"]).collect()
}

/// Whether a Makefile or justfile has a target of this name.
fn has_target(text: &str, target: &str) -> bool {
    text.lines().any(|line| line.split_once(':').is_some_and(|(name, _)| name.trim_end() == target))
}

/// The command that prepares a fresh worktree of projects like this: it downloads or builds what a lock file pins
/// exactly.
pub(crate) fn likely_setup(project: &Path) -> Option<&'static str> {
    const SETUPS: [(&str, &str); 5] = [
        ("package-lock.json", "npm ci"),
        ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
        ("yarn.lock", "yarn install --immutable"),
        ("uv.lock", "uv sync"),
        ("go.sum", "go mod download"),
    ];
    SETUPS.iter().find(|(file, _)| project.join(file).is_file()).map(|(_, command)| *command)
}

/// The config line that prepares worktrees, if none is configured and one is likely.
fn propose_setup(settings: &Settings, world: &World) -> Option<String> {
    let setup = likely_setup(&world.places.project).filter(|_| settings.worktree_setup.value.is_empty())?;
    let line = format!("worktree_setup = {}", json!([setup]));
    let shown = clean_path(&world.display_path(&config::project_file(world))).into_owned();
    Some(format!("hint: add `{line}` to {shown} to prepare new worktrees with `{setup}`\n"))
}

fn missing_program(proposed: ProposedCheck) -> String {
    let (check, program) = (proposed.command, proposed.program());
    format!(
        "note: `{check}` fits this project, but `{program}` is not installed; install it and run `maestro init` again\n"
    )
}

/// The lines to add for likely settings that are missing; asks nothing.
pub(crate) fn hints(settings: &Settings, world: &World) -> String {
    let shown = clean_path(&world.display_path(&config::project_file(world))).into_owned();
    let check = likely_check(world).filter(|_| settings.verify.value.is_empty()).map(|proposed| {
        let check = proposed.command;
        if proposed.is_installed(world) {
            format!("hint: add `verify = {}` to {shown} to run `{check}` after each task\n", json!([check]))
        } else {
            missing_program(proposed)
        }
    });
    check.into_iter().chain(propose_setup(settings, world)).collect()
}

/// Proposes likely settings that are missing.
pub(crate) fn propose(settings: &Settings, world: &World) -> CommandResult<Option<String>> {
    let told: String = propose_check(settings, world)?.into_iter().chain(propose_setup(settings, world)).collect();
    Ok(Some(told).filter(|told| !told.is_empty()))
}

/// The likely check of a project that has none, if its program is here and the user has not declined it.
pub(crate) fn missing_check(settings: &Settings, world: &World) -> Option<ProposedCheck> {
    let (home, project) = (&world.maestro_home, &world.places.project);
    likely_check(world)
        .filter(|_| settings.verify.value.is_empty())
        .filter(|check| check.is_installed(world) && !declined::is_declined(home, project, check.command))
}

/// The command that prepares a fresh worktree, if none is configured and its program is here.
pub(crate) fn missing_setup(settings: &Settings, world: &World) -> Option<&'static str> {
    let setup = likely_setup(&world.places.project).filter(|_| settings.worktree_setup.value.is_empty())?;
    agents::program(setup.split(' ').next()?, world).map(|_| setup)
}

/// Adds a check to the project's config, and allows it: the user agreed.
pub(crate) fn adopt_check(check: ProposedCheck, world: &World) -> CommandResult<String> {
    let (path, line) = (config::project_file(world), format!("verify = {}", json!([check.command])));
    let shown = clean_path(&world.display_path(&path)).into_owned();
    if !path.is_file() || !files::stays_inside(&path, &world.places.project) {
        return Ok(format!("hint: add `{line}` to {shown} to run `{}` after each task\n", check.command));
    }
    write(&path, &line).map_err(|error| CommandError::io(format!("cannot write {shown}"), &error))?;
    trust::allow_checks(&[check.command.to_owned()], world)?;
    Ok(format!("Added `{line}` to {shown} and allowed it.\n"))
}

/// Proposes the likely check if none is configured: asks a person, and shows programs the line to add.
fn propose_check(settings: &Settings, world: &World) -> CommandResult<Option<String>> {
    let Some(proposed) = likely_check(world).filter(|_| settings.verify.value.is_empty()) else {
        return Ok(None);
    };
    let check = proposed.command;
    if !proposed.is_installed(world) {
        return Ok(Some(missing_program(proposed)));
    }
    let line = format!("verify = {}", json!([check]));
    let path = config::project_file(world);
    let shown = clean_path(&world.display_path(&path)).into_owned();
    let asks = world.terminals.stdin && world.terminals.stderr && !world.json;
    let question = format!("Run `{check}` after each task? This adds `{line}` to {shown}.");
    let writable = path.is_file() && files::stays_inside(&path, &world.places.project);
    let (home, project) = (&world.maestro_home, &world.places.project);
    if asks && writable && !declined::is_declined(home, project, check) {
        if confirm(&question, EmptyAnswer::Refuses)? {
            return adopt_check(proposed, world).map(Some);
        }
        declined::remember(home, project, check)
            .map_err(|error| CommandError::io("cannot remember that you do not want this check", &error))?;
    }
    Ok(Some(format!("hint: add `{line}` to {shown} to run `{check}` after each task\n")))
}

/// Puts the line of the checks into a config file.
fn write(path: &Path, line: &str) -> io::Result<()> {
    let text = with_line(&fs::read_to_string(path)?, SettingKey::Verify, line)
        .ok_or_else(|| io::Error::other("`verify` spans several lines; edit the file"))?;
    files::replace(path, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_a_project_tells_its_check() {
        for (file, text, check) in [
            ("Cargo.toml", "", Some("cargo test")),
            ("package.json", r#"{"scripts": {"test": "jest"}}"#, Some("npm test")),
            ("package.json", r#"{"scripts": {}}"#, None),
            ("package.json", r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#, None),
            ("package.json", "no JSON", None),
            ("pyproject.toml", "", Some("pytest")),
            ("test_a.py", "import unittest\n", Some("python3 -m unittest")),
            ("tests/test_a.py", "from unittest import TestCase\n", Some("python3 -m unittest discover -s tests")),
            ("tests/test_a.py", "import pytest, unittest\n", Some("pytest")),
            ("go.mod", "", Some("go test ./...")),
            ("Makefile", "all: x\ntest: all\n\ttrue\n", Some("make test")),
            ("Makefile", "check:\n\ttrue\n", Some("make check")),
            ("Makefile", "tests:\n\ttest\n", None),
            ("justfile", "test :\n  true\n", Some("just test")),
            ("pom.xml", "", Some("mvn test")),
            ("README.md", "test:", None),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            let first = likely_checks(dir.path()).first().map(|check| check.command);
            assert_eq!(first, check, "{file}: {text}");
        }
    }

    #[test]
    fn several_checks_may_fit_the_lock_file_s_own_first() {
        let dir = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("package.json", r#"{"scripts": {"test": "vitest"}}"#),
            ("pnpm-lock.yaml", ""),
            ("pyproject.toml", "[tool.pytest]"),
            ("uv.lock", ""),
            ("Makefile", "check:\n\ttrue\n"),
        ] {
            fs::write(dir.path().join(file), text).unwrap();
        }
        let commands: Vec<_> = likely_checks(dir.path()).iter().map(|check| check.command).collect();
        assert_eq!(commands, ["pnpm test", "npm test", "uv run pytest", "pytest", "make check"]);
    }

    #[test]
    fn what_lies_in_a_project_tells_what_its_worktrees_need() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("package.json"), "{}").unwrap();
        assert_eq!(likely_setup(dir.path()), None, "nothing says exactly what");
        fs::write(dir.path().join("package-lock.json"), "{}").unwrap();
        assert_eq!(likely_setup(dir.path()), Some("npm ci"));
    }
}
