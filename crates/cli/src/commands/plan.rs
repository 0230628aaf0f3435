//! `maestro plan`: the tasks of a Markdown plan, the next one, and new plans.

mod draft;
mod new;
mod recipe;

use std::fmt::Write as _;
use std::path::Path;

use maestro_core::Problem;
use maestro_core::plan::{PlanTask, PlanTaskStatus, SetAsideReason, select_task};
use serde_json::json;

use crate::args::{PlanArgs, PlanCommand};
use crate::host::plans::PlanFile;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{self, TextStyle, clean, clean_path, count};

const NO_TASK: &str = "No tasks in this plan. A task is a line like `- [ ] Do this`.\n";

/// How many problems are shown in full.
const MOST_PROBLEMS: usize = 10;

pub(crate) fn run(args: &PlanArgs, world: &World) -> CommandResult {
    match &args.command {
        PlanCommand::New(args) => new::run(args, world),
        PlanCommand::Next { file } => next(file, world),
        PlanCommand::List { file } => list(file, world),
    }
}

fn next(file: &Path, world: &World) -> CommandResult {
    let plan = PlanFile::read(file)?;
    let task = select_task(&plan.plan);
    let notes = notes(&plan.problems(), world);
    if world.json {
        return Ok(CommandOutput::json(&task)?.with_notes(notes));
    }
    let Some(task) = task else {
        return Ok(CommandOutput::text(no_task_text(&plan)).with_notes(notes));
    };
    let mut text = format!("{}\n", world.paint.strong(&clean(&task.label)));
    let _ = writeln!(text, "  {}:{}", clean_path(&file.to_string_lossy()), task.line_number);
    if let Some(section) = &task.section {
        let _ = writeln!(text, "  section: {}", clean(section));
    }
    if !task.skill_hints.is_empty() {
        let hints: Vec<String> = task.skill_hints.iter().map(|hint| world.paint.skill(&clean(hint))).collect();
        let _ = writeln!(text, "  skills:  {}", hints.join(", "));
    }
    Ok(CommandOutput::text(text).with_notes(notes))
}

/// Likely mistakes, up to a limit.
fn notes(problems: &[Problem], world: &World) -> String {
    let shown = problems.iter().take(MOST_PROBLEMS).map(|problem| screen::problem(problem, world.note_paint));
    let mut notes: String = shown.collect();
    if problems.len() > MOST_PROBLEMS {
        let more = problems.len() - MOST_PROBLEMS;
        let _ = writeln!(notes, "… and {more} more; run `maestro plan list PLAN.md --json` for all");
    }
    notes
}

fn no_task_text(plan: &PlanFile) -> String {
    if plan.plan.tasks.is_empty() {
        return NO_TASK.to_owned();
    }
    let aside = plan.plan.tasks.iter().filter(|task| task.set_aside.is_some()).count();
    match aside {
        0 => "All tasks are done.\n".to_owned(),
        _ => format!(
            "No task is next: {} set aside; run `maestro plan list {}` to see why.\n",
            count(aside, "open task is", "open tasks are"),
            clean_path(&plan.path.to_string_lossy())
        ),
    }
}

fn list(file: &Path, world: &World) -> CommandResult {
    let plan = PlanFile::read(file)?;
    let problems = plan.problems();
    if world.json {
        return CommandOutput::json(&json!({
            "tasks": plan.plan.tasks,
            "problems": problems,
            "done": plan.done(),
            "total": plan.total(),
        }));
    }
    let mut text = String::new();
    let mut section: Option<&String> = None;
    for task in &plan.plan.tasks {
        if task.section.as_ref() != section {
            section = task.section.as_ref();
            let title = section.map_or("", String::as_str);
            let _ = writeln!(text, "{}{}", if text.is_empty() { "" } else { "\n" }, world.paint.strong(&clean(title)));
        }
        text.push_str(&line(task, world.paint));
    }
    if plan.plan.tasks.is_empty() {
        text.push_str(NO_TASK);
    } else {
        let _ = writeln!(text, "\n{} of {} done", plan.done(), plan.total());
    }
    let notes = notes(&problems, world);
    Ok(CommandOutput::text(text).with_notes(notes))
}

fn line(task: &PlanTask, paint: TextStyle) -> String {
    let state = match task.status {
        PlanTaskStatus::Open if task.set_aside.is_some() => paint.dim("○ "),
        PlanTaskStatus::Open => "○ ".to_owned(),
        PlanTaskStatus::Done => paint.good("✓ "),
        PlanTaskStatus::Reviewed => paint.good("✓✓"),
        PlanTaskStatus::Deferred => paint.dim("~ "),
        PlanTaskStatus::Optional => paint.dim("? "),
        PlanTaskStatus::Other(mark) => paint.dim(&format!("{mark} ")),
    };
    let indent = "  ".repeat(task.depth.min(20) + 1);
    let aside = task.set_aside.map(|reason| paint.dim(&format!("  ({})", why(reason)))).unwrap_or_default();
    format!("{indent}{state} {:>4}  {}{aside}\n", task.line_number, clean(&task.label))
}

fn why(reason: SetAsideReason) -> &'static str {
    match reason {
        SetAsideReason::VerificationSection => "set aside: verification section",
        SetAsideReason::ChecklistSection => "set aside: checklist section",
        SetAsideReason::ManualQaSection => "set aside: manual QA section",
        SetAsideReason::UnderOptionalParent => "set aside: its parent is optional",
        SetAsideReason::UnderDeferredParent => "set aside: its parent is put off",
    }
}
