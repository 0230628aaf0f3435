//! `maestro workflow test`: scripted cases of workflows, walked without executing anything.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use maestro_core::workflow::scripted_case::{TestScript, read_script, run_case};
use maestro_engine::workflows::WorkflowIndex;
use maestro_skills::read_bounded;
use serde_json::json;

use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::{clean, clean_lines, clean_path, count};

/// How large a script may be.
const MAX_BYTES: u64 = 1024 * 1024;

/// How one case went.
struct CaseResult {
    file: String,
    workflow: String,
    name: String,
    failures: Vec<String>,
}

pub(super) fn run(workflows: &WorkflowIndex<'_>, paths: &[PathBuf], world: &World) -> CommandResult {
    let mut results = Vec::new();
    for path in paths {
        results.extend(run_file(workflows, path, world)?);
    }
    let failed = results.iter().filter(|result| !result.failures.is_empty()).count();
    let exit = if failed == 0 { ExitKind::Ok } else { ExitKind::Failed };
    if world.json {
        let row = |result: &CaseResult| {
            json!({
                "file": result.file, "workflow": result.workflow, "name": result.name,
                "passed": result.failures.is_empty(), "failures": result.failures,
            })
        };
        return Ok(CommandOutput::json(&results.iter().map(row).collect::<Vec<_>>())?.with_exit(exit));
    }
    let mut text = String::new();
    for result in &results {
        let verdict = if result.failures.is_empty() { "ok".to_owned() } else { world.paint.error("failed") };
        let _ = writeln!(text, "{}: {} ... {verdict}", clean(&result.workflow), clean(&result.name));
        for line in result.failures.iter().flat_map(|failure| failure.lines()) {
            let _ = writeln!(text, "  {}", clean_lines(line));
        }
    }
    let _ = writeln!(
        text,
        "\n{}: {} passed, {failed} failed",
        count(results.len(), "case", "cases"),
        results.len() - failed
    );
    Ok(CommandOutput::text(text).with_exit(exit))
}

fn run_file(workflows: &WorkflowIndex<'_>, path: &Path, world: &World) -> CommandResult<Vec<CaseResult>> {
    let shown = clean_path(&world.display_path(path)).into_owned();
    let file = world.places.working_dir.join(path);
    let contents =
        read_bounded(&file, MAX_BYTES).map_err(|error| CommandError::io(format!("cannot read `{shown}`"), &error))?;
    if contents.cut {
        return Err(
            CommandError::invalid(format!("`{shown}` is larger than 1 MiB")).hint("split it into several files")
        );
    }
    let TestScript { workflow, cases } = read_script(&String::from_utf8_lossy(&contents.bytes)).map_err(|error| {
        CommandError::invalid(format!("`{shown}`: {error}"))
            .hint("see `docs/workflows.md`, section Tests, for the form")
    })?;
    let definition = workflows.definition(&workflow)?;
    let result = |case| {
        let failures = run_case(&definition, case);
        CaseResult { file: shown.clone(), workflow: workflow.clone(), name: case.name.clone(), failures }
    };
    Ok(cases.iter().map(result).collect())
}
