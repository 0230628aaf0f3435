//! Modules of each crate: which of them use each other in a circle, and which start programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The files that start programs, each for a reason of its own. No other does.
const STARTERS: [&str; 9] = [
    // Everything that a run or a worker starts, below a supervisor.
    "engine/src/process.rs",
    "engine/src/child.rs",
    "engine/src/child/enter.rs",
    "engine/src/child/supervise.rs",
    // Git, without any program that a repository names.
    "engine/src/git.rs",
    // What a person asked for by name: `gh`, an agent's own interface, a server of a command's own.
    "engine/src/user_program.rs",
    // The demonstration agent is a program of its own.
    "engine/src/agents/demo/daemon.rs",
    "engine/src/agents/demo/perform.rs",
    // A test, of what becomes of a process that has ended.
    "engine/src/identity.rs",
];

/// Calls that wait for files or programs: those of the standard library, and functions of ours that make them.
const WAITING: [&str; 19] = [
    "fs::",
    "File::",
    "tempfile::",
    "thread::sleep",
    "Command::new(",
    ".canonicalize(",
    ".is_dir()",
    ".is_file()",
    ".exists()",
    ".read_dir()",
    ".metadata()",
    ".symlink_metadata()",
    "Git::at(",
    "GitDirs::",
    "git_changes::",
    "read_bounded(",
    "write_manifest(",
    "WorkflowIndex::of(",
    "WritePolicy::default_policy(",
];

/// The files with both async code and calls that wait. In each, the calls are in functions or closures that run on
/// threads of their own (`engine/src/blocking.rs`, `host::ask`, `spawn_blocking`).
const WAITING_ASIDE: [&str; 28] = [
    "engine/src/agents/command.rs",
    "engine/src/agents/mcp_probe.rs",
    "engine/src/agents/probe.rs",
    "engine/src/drive.rs",
    "engine/src/execute.rs",
    // Starts a program without waiting for it.
    "engine/src/process.rs",
    "engine/src/runs/start.rs",
    "engine/src/spawning.rs",
    "engine/src/step_sessions.rs",
    "engine/src/step_sessions/artifacts.rs",
    "engine/src/step_sessions/permitted.rs",
    "engine/src/step_sessions/result.rs",
    "engine/src/user_program.rs",
    "engine/src/worker/launch.rs",
    "engine/src/worker/monitor.rs",
    "engine/src/worker/own_worktree.rs",
    "engine/src/workflow_lookup.rs",
    "server/src/api/runs/seen_files.rs",
    "server/src/api/runs/workspaces.rs",
    "server/src/api/workflows.rs",
    "server/src/mcp/client.rs",
    "server/src/mcp/directory.rs",
    "server/src/mcp/runs.rs",
    "server/src/mcp/skill_index.rs",
    "server/src/page/run_overview.rs",
    "server/src/page/screens/plan/forms.rs",
    "server/src/page/screens/run/definition_change.rs",
    "server/src/page/task_start.rs",
];

/// The files of which all runs on a thread of its own: built-in steps, and what they and commands do with git.
const OWN_THREAD: [&str; 2] = ["engine/src/execute/builtins", "engine/src/git/"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All sources below a directory, with their paths as seen from there.
fn sources(directory: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(directory).unwrap().to_owned(), text));
            }
        }
    }
    found.sort();
    found
}

/// The lines that are code, and no test's.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|line| *line != "mod tests {").filter(|line| !line.trim_start().starts_with("//"))
}

#[test]
fn only_the_engine_starts_programs() {
    let mut starters = BTreeSet::new();
    for (path, text) in sources(&crates()) {
        let path = path.to_str().unwrap();
        if path.contains("/src/") && text.contains("Command::new(") {
            starters.insert(path.to_owned());
        }
    }
    assert_eq!(starters, STARTERS.iter().map(|path| (*path).to_owned()).collect());
}

/// The module at the top of a crate that a file belongs to.
fn top(path: &Path) -> String {
    let first = path.components().next().unwrap().as_os_str().to_str().unwrap();
    first.trim_end_matches(".rs").to_owned()
}

/// Which modules each module at the top of a crate uses.
fn uses(directory: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let sources = sources(directory);
    let names: BTreeSet<String> = sources.iter().map(|(path, _)| top(path)).collect();
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in &sources {
        let own = top(path);
        let is_test =
            path.components().any(|part| part.as_os_str().to_str().unwrap().trim_end_matches(".rs") == "tests");
        if is_test || own == "lib" || own == "main" {
            continue;
        }
        let text: String = code(text).collect::<Vec<_>>().join("\n");
        for part in text.split("crate::").skip(1) {
            // `crate::{a::B, c}` names several, `crate::a::B` one.
            let modules = match part.strip_prefix('{') {
                Some(list) => list.split('}').next().unwrap_or_default().split(',').collect(),
                None => vec![part],
            };
            for name in modules {
                let name: String =
                    name.trim().chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
                if name != own && names.contains(&name) {
                    uses.entry(own.clone()).or_default().insert(name);
                }
            }
        }
    }
    uses
}

/// Everything that a module reaches.
fn reached<'a>(uses: &'a BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(next) = open.pop() {
        for name in uses.get(next).into_iter().flatten() {
            if reached.insert(name.as_str()) {
                open.push(name);
            }
        }
    }
    reached
}

#[test]
fn no_modules_use_each_other_in_a_circle() {
    for entry in fs::read_dir(crates()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let uses = uses(&path.join("src"));
        let circles: Vec<&String> = uses.keys().filter(|own| reached(&uses, own).contains(own.as_str())).collect();
        assert!(circles.is_empty(), "{name}: these modules are in circles: {circles:?}");
    }
}

#[test]
fn async_code_waits_for_files_on_threads_of_its_own() {
    let mut found = BTreeSet::new();
    for (path, text) in sources(&crates()) {
        let path = path.to_str().unwrap();
        let watched = ["engine/src/", "server/src/"].iter().any(|folder| path.starts_with(folder));
        if !watched || OWN_THREAD.iter().any(|folder| path.starts_with(folder)) || path.contains("/tests") {
            continue;
        }
        let lines: Vec<&str> = code(&text).filter(|line| !line.starts_with("use ")).collect();
        let has = |word: &str| lines.iter().any(|line| line.contains(word));
        if (has("async ") || has(".await")) && WAITING.iter().any(|call| has(call)) {
            found.insert(path.to_owned());
        }
    }
    let known: BTreeSet<String> = WAITING_ASIDE.iter().map(|path| (*path).to_owned()).collect();
    assert_eq!(found, known, "move the call to `blocking::run`, then name the file here");
}
