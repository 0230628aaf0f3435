//! `maestro skills test`: task lines of the project and the skills they should get.
//!
//! `.maestro/selection.tsv` has a line for each task: the task, a tab, and the expected skills, separated by commas, or
//! `none`. Lines that begin with `#` are comments.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use maestro_core::plan::skill_hints;
use maestro_core::{RunId, Settings, StepKind};
use maestro_skills::{Catalogue, SkillSelector, TaskNeeds};
use serde::Serialize;
use serde_json::json;

use crate::host::selection_lines::{self, NONE};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::{clean, count};

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
    let path = file.map_or_else(|| selection_lines::file(world), |file| world.places.working_dir.join(file));
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

/// The tasks of a file and their expected skills.
fn read_expectations(path: &Path) -> CommandResult<Vec<(String, Vec<String>)>> {
    let shown = path.display();
    let text = match selection_lines::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(CommandError::not_found(format!("{shown} not found"))
                .hint("run `maestro skills try \"TASK\" --save` to write a first line"));
        }
        Err(error) => return Err(CommandError::io(format!("cannot read {shown}"), &error)),
    };
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

/// Saves a line for a task in the project's file. Returns the file.
pub(super) fn save(task: &str, expected: &[String], world: &World) -> CommandResult<PathBuf> {
    selection_lines::save(task, expected, world)
        .map_err(|(path, error)| CommandError::io(format!("cannot write {}", path.display()), &error))
}
