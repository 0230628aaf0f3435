//! `maestro skills test`: task lines of the project and the skills they should get.
//!
//! `.maestro/selection.tsv` has a line for each task: the task, a tab, and the expected skills, separated by commas, or
//! `none`. Lines that begin with `#` are comments.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use maestro_core::plan::skill_hints;
use maestro_core::{RunId, Settings, StepKind};
use maestro_skills::{Catalogue, SkillSelector, TaskNeeds, read_bounded};
use serde::Serialize;
use serde_json::json;

use crate::host::files;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::{clean, count};

/// The largest file of lines that is read.
const MAX_BYTES: u64 = 1024 * 1024;
/// How a line says that no skill is expected.
const NONE: &str = "none";

/// A task line and the result of its selection.
#[derive(Debug, Serialize)]
struct TestedLine {
    task: String,
    expected: Vec<String>,
    selected: Vec<String>,
    ok: bool,
}

pub(super) fn run(
    catalogue: &Arc<Catalogue>,
    file: Option<&Path>,
    settings: &Settings,
    world: &World,
) -> CommandResult {
    let path = file.map_or_else(|| default_file(world), |file| world.places.working_dir.join(file));
    let lines = read_expectations(&path)?;
    let selector = SkillSelector::new(Arc::clone(catalogue));
    let most = settings.skills_max_selected_impl.value.into();
    let tested: Vec<TestedLine> = lines
        .into_iter()
        .map(|(task, expected)| {
            let hints = skill_hints(&task);
            let needs = TaskNeeds { label: &task, hints: &hints, step: StepKind::Implementation, most };
            let record = selector.select(RunId::new(uuid::Uuid::now_v7()), needs).record;
            let selected: Vec<String> = record.skills.into_iter().map(|skill| skill.name).collect();
            let ok = selected.len() == expected.len() && expected.iter().all(|name| selected.contains(name));
            TestedLine { task, expected, selected, ok }
        })
        .collect();
    let failed = tested.iter().filter(|line| !line.ok).count();
    let exit = if failed > 0 { ExitKind::Failed } else { ExitKind::Ok };
    if world.json {
        let passed = tested.len() - failed;
        return Ok(
            CommandOutput::json(&json!({ "lines": tested, "passed": passed, "failed": failed }))?.with_exit(exit)
        );
    }
    let mut text = String::new();
    for line in tested.iter().filter(|line| !line.ok) {
        let (expected, selected) = (names(&line.expected), names(&line.selected));
        let _ = writeln!(text, "{}\n  expected {expected}, selected {selected}", clean(&line.task));
    }
    let _ = writeln!(text, "{} of {} as expected", tested.len() - failed, count(tested.len(), "line", "lines"));
    Ok(CommandOutput::text(text).with_exit(exit))
}

fn names(names: &[String]) -> String {
    if names.is_empty() { NONE.to_owned() } else { clean(&names.join(", ")).into_owned() }
}

fn default_file(world: &World) -> PathBuf {
    world.places.project.join(".maestro").join("selection.tsv")
}

/// The tasks of a file and their expected skills.
fn read_expectations(path: &Path) -> CommandResult<Vec<(String, Vec<String>)>> {
    let shown = path.display();
    let contents = match read_bounded(path, MAX_BYTES) {
        Ok(contents) if !contents.cut => contents,
        Ok(_) => return Err(CommandError::invalid(format!("{shown} is larger than 1 MiB"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(CommandError::not_found(format!("{shown} not found"))
                .hint("run `maestro skills try \"TASK\" --save` to write a first line"));
        }
        Err(error) => return Err(CommandError::io(format!("cannot read {shown}"), &error)),
    };
    let text = String::from_utf8_lossy(&contents.bytes);
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines
        .map(|(number, line)| {
            let Some((task, expected)) = line.split_once('\t') else {
                return Err(CommandError::invalid(format!("{shown}:{}: no tab between task and skills", number + 1))
                    .hint("write: TASK, a tab, and skill names or `none`"));
            };
            let expected = expected.split(',').map(str::trim).filter(|name| !name.is_empty() && *name != NONE);
            Ok((task.trim().to_owned(), expected.map(str::to_owned).collect()))
        })
        .collect()
}

/// Appends a line for a task to the project's file, or replaces the one that is there. Returns the file.
pub(super) fn save(task: &str, expected: &[String], world: &World) -> CommandResult<PathBuf> {
    let path = default_file(world);
    let task = task.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("{task}\t{}", if expected.is_empty() { NONE.to_owned() } else { expected.join(",") });
    let failed = |error: io::Error| CommandError::io(format!("cannot write {}", path.display()), &error);
    let written = match fs::read_to_string(&path) {
        Ok(text) => {
            let is_other = |known: &&str| known.split_once('\t').is_none_or(|(known, _)| known.trim() != task);
            let kept: Vec<&str> = text.lines().filter(is_other).chain([line.as_str()]).collect();
            files::replace(&path, &format!("{}\n", kept.join("\n")))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => files::create(&path, &format!("{line}\n")),
        Err(error) => Err(error),
    };
    written.map_err(failed)?;
    Ok(path)
}
