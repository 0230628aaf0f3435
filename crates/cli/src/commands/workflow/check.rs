//! `maestro workflow check`: problems in definitions, shown in place.

use std::fmt::Write as _;
use std::path::PathBuf;

use maestro_core::ProblemSeverity;
use maestro_core::workflow::WorkflowFinding;
use maestro_engine::workflows::{LoadedWorkflow, WorkflowIndex};
use serde_json::{Value as Json, json};
use unicode_width::UnicodeWidthStr;

use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::ExitKind;
use crate::output::screen::{TextStyle, clean, clean_path, count};

/// How much of a long line is shown.
const WIDEST: usize = 160;

pub(super) fn run(workflows: &WorkflowIndex<'_>, paths: &[PathBuf], world: &World) -> CommandResult {
    let sources = if paths.is_empty() { workflows.all().to_vec() } else { workflows.at(paths)? };
    let mut loaded = Vec::new();
    for source in &sources {
        loaded.push(workflows.load(source)?);
    }
    let exit = if loaded.iter().all(LoadedWorkflow::is_sound) { ExitKind::Ok } else { ExitKind::Failed };
    if world.json {
        return Ok(CommandOutput::json(&loaded.iter().map(to_json).collect::<Vec<_>>())?.with_exit(exit));
    }
    let mut text = String::new();
    for loaded in &loaded {
        for finding in &loaded.findings {
            text.push_str(&finding_text(loaded, finding, world.paint));
            text.push('\n');
        }
    }
    let all = || loaded.iter().flat_map(|loaded| &loaded.findings);
    let errors = all().filter(|finding| finding.is_error()).count();
    let warnings = all().count() - errors;
    let checked = count(loaded.len(), "workflow", "workflows");
    let (errors, warnings) = (count(errors, "error", "errors"), count(warnings, "warning", "warnings"));
    let _ = writeln!(text, "{checked} checked: {errors}, {warnings}");
    Ok(CommandOutput::text(text).with_exit(exit))
}

fn to_json(loaded: &LoadedWorkflow) -> Json {
    let finding = |finding: &WorkflowFinding| {
        json!({
            "code": finding.code.as_str(),
            "severity": finding.code.severity(),
            "line": finding.place.line,
            "column": finding.place.column,
            "message": finding.message,
            "help": finding.help,
        })
    };
    json!({
        "name": loaded.source.name,
        "path": loaded.source.path.to_string_lossy(),
        "sound": loaded.is_sound(),
        "findings": loaded.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}

/// A finding with its line and a mark below the place.
fn finding_text(loaded: &LoadedWorkflow, finding: &WorkflowFinding, paint: TextStyle) -> String {
    let severity = finding.code.severity();
    let word = if severity == ProblemSeverity::Error { "error" } else { "warning" };
    let head = paint.severity(severity, &format!("{word}[{}]", finding.code));
    let (line, column) = (finding.place.line, finding.place.column);
    let gutter = " ".repeat(line.to_string().len());
    let path = clean_path(&loaded.source.path.to_string_lossy()).into_owned();
    // The place is in the generated command, not in the file.
    let place = if loaded.is_made_of_command() { path } else { format!("{path}:{line}:{column}") };
    let mut text = format!("{head}: {}\n", clean_path(&finding.message));
    let _ = writeln!(text, "{gutter}{} {place}", paint.dim("-->"));
    if let Some((source, mark)) = snippet(&loaded.text, line, column) {
        let _ = writeln!(text, "{gutter} {}", paint.dim("|"));
        let _ = writeln!(text, "{line} {} {source}", paint.dim("|"));
        let _ = writeln!(text, "{gutter} {} {}{}", paint.dim("|"), " ".repeat(mark), paint.severity(severity, "^"));
    }
    let _ = writeln!(text, "{gutter} {} {}", paint.help("= hint:"), clean(&finding.help));
    text
}

/// A line as shown, and the column of the place.
fn snippet(text: &str, line: usize, column: usize) -> Option<(String, usize)> {
    let line = text.trim_start_matches('\u{feff}').lines().nth(line.checked_sub(1)?)?;
    // Of a long line the part around the place is shown.
    let from = column.saturating_sub(WIDEST / 2);
    let from = if line.chars().count() <= WIDEST { 0 } else { from };
    let part = |from: usize, to: usize| line.chars().skip(from).take(to - from).collect::<String>();
    let shown = clean_path(&part(from, from + WIDEST)).into_owned();
    let before = clean_path(&part(from, column.saturating_sub(1).max(from))).width();
    Some((shown, before))
}
