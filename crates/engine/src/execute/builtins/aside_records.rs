//! Records of tasks that were set aside. They lie in the repository, so that every run of a plan finds them.

use std::fs;
use std::io;
use std::path::Path;

use maestro_core::plan::{Plan, SetAsideTasks};
use maestro_skills::read_bounded;
use serde::{Deserialize, Serialize};

/// The beginning of the names of such files.
const PREFIX: &str = ".aside-";
/// How large one may be.
const MAX_BYTES: u64 = 1024 * 1024;

/// A task that was set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AsideRecord {
    /// The task, as the plan says it.
    pub(super) task: String,
    /// Why.
    pub(super) reason: String,
    /// The branch with the work on it; empty where there is none.
    pub(super) branch: String,
}

/// The tasks of a plan that were set aside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct AsideRecords(Vec<AsideRecord>);

impl AsideRecords {
    /// Those in a directory, the oldest first.
    pub(super) fn read(directory: &Path) -> io::Result<Self> {
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            entries => entries?,
        };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| name.starts_with(PREFIX));
        names.sort();
        let read = |name: &String| -> io::Result<AsideRecord> {
            let bytes = read_bounded(&directory.join(name), MAX_BYTES)?.bytes;
            serde_json::from_slice(&bytes).map_err(io::Error::other)
        };
        names.iter().map(read).collect::<io::Result<Vec<_>>>().map(Self)
    }

    /// The tasks, as they are looked for in the plan.
    pub(super) fn tasks(&self) -> SetAsideTasks {
        let tasks: Vec<&str> = self.0.iter().map(|record| record.task.as_str()).collect();
        SetAsideTasks::of(&tasks.join("\n"))
    }

    /// Each with its reason, and what comes after them; nothing where none is set aside.
    pub(super) fn explain(&self, plan: &Plan) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let lines: Vec<String> = self.0.iter().map(AsideRecord::line).collect();
        let waiting = self.tasks().waiting(plan);
        let waiting = match waiting.as_slice() {
            [] => String::new(),
            waiting => format!("\nNot started, because they come after these: {}", waiting.join("; ")),
        };
        Some(format!("Set aside:\n{}{waiting}", lines.join("\n")))
    }
}

impl AsideRecord {
    /// Writes it down, under a name that is the same if it is done again.
    pub(super) fn write(&self, directory: &Path, name: &str) -> io::Result<()> {
        fs::create_dir_all(directory)?;
        fs::write(directory.join(format!("{PREFIX}{name}")), serde_json::to_string(self)?)
    }

    fn line(&self) -> String {
        let Self { task, reason, branch } = self;
        let kept = if branch.is_empty() { String::new() } else { format!(" Its work is on {branch}.") };
        format!("- {task}: {}{kept}", reason.trim())
    }
}

#[cfg(test)]
mod tests {
    use maestro_core::plan::parse_plan;

    use super::*;

    #[test]
    fn each_is_explained_with_its_reason_and_what_comes_after_it() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(AsideRecords::read(&place.path().join("none")).unwrap(), AsideRecords::default());
        let record = |task: &str, branch: &str| AsideRecord {
            task: task.to_owned(),
            reason: "No progress.\n".to_owned(),
            branch: branch.to_owned(),
        };
        record("two", "").write(place.path(), "0002").unwrap();
        for _ in 0..2 {
            record("one", "maestro/x").write(place.path(), "0001").unwrap();
        }
        fs::write(place.path().join("claim"), "a run").unwrap();
        let plan = parse_plan("1. [ ] one\n2. [ ] after\n\n- [ ] two\n");
        let records = AsideRecords::read(place.path()).unwrap();
        let told = "Set aside:\n- one: No progress. Its work is on maestro/x.\n- two: No progress.\n\
                    Not started, because they come after these: after";
        assert_eq!(records.explain(&plan).as_deref(), Some(told));
        assert_eq!(AsideRecords::default().explain(&plan), None);
    }
}
