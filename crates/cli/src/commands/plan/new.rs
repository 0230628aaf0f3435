//! `maestro plan new`: a plan for a goal, by an agent or from a recipe. It is shown, then written.

use std::fmt::Write as _;
use std::path::Path;

use maestro_core::Settings;
use maestro_core::plan::{parse_plan, tasks_without_criteria};
use serde_json::json;

use super::{draft, recipe};
use crate::args::PlanNewArgs;
use crate::commands::branches::require_person;
use crate::commands::proposed_checks;
use crate::host::world::World;
use crate::host::{config, files};
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::confirm::{self, EmptyAnswer};
use crate::output::error::CommandError;
use crate::output::screen::{clean_lines, clean_path, count};

/// Where a plan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlanPlace {
    /// It is only shown.
    Nowhere,
    NewFile,
    /// The user was asked.
    Replaced,
}

pub(super) fn run(args: &PlanNewArgs, world: &World) -> CommandResult {
    let goal = args.goal.split_whitespace().collect::<Vec<_>>().join(" ");
    if goal.is_empty() {
        return Err(CommandError::invalid("the goal is empty").hint(
            "say what shall be true in the end, for example: `maestro plan new \"Users can log in by e-mail\"`",
        ));
    }
    require_person(world)?;
    let path = world.places.working_dir.join(&args.file);
    let shown = clean_path(&world.display_path(&path)).into_owned();
    // Known before an agent costs anything.
    let Some(place) = place(args, &path, &shown, world)? else {
        return Ok(CommandOutput::text("Nothing was written.\n"));
    };
    let settings = config::settings(world)?;
    let text = match args.recipe {
        Some(recipe) => recipe::fill_in(recipe, &goal, &settings, world),
        None => draft::by_agent(&goal, args.agent.as_deref(), &settings, world)?,
    };
    let written = write(args, place, &path, &shown, &text, world)?;
    reply(&text, &shown, written, &settings, world)
}

/// Whether and where to write; nothing if the user does not want to replace the file that is there.
fn place(args: &PlanNewArgs, path: &Path, shown: &str, world: &World) -> CommandResult<Option<PlanPlace>> {
    if args.dry_run {
        return Ok(Some(PlanPlace::Nowhere));
    }
    if path.extension().is_none_or(|end| !end.eq_ignore_ascii_case("md")) {
        return Err(CommandError::invalid(format!("{shown} is no Markdown file"))
            .hint("choose a name that ends in `.md`, for example: `--file plans/login.md`"));
    }
    if !files::stays_inside(path, &world.places.project) {
        return Err(CommandError::refused(format!("{shown} is outside of the project"))
            .hint("a loop works on plans of its project; choose another place with `--file`"));
    }
    if path.symlink_metadata().is_err() {
        return Ok(Some(PlanPlace::NewFile));
    }
    if !path.is_file() || path.is_symlink() {
        return Err(CommandError::refused(format!("{shown} exists and is no plain file"))
            .hint("choose another name with `--file`"));
    }
    if !world.terminals.stdin || !world.terminals.stderr {
        return Err(CommandError::refused(format!("{shown} already exists"))
            .hint("choose another name, for example: `--file plans/login.md`; `--dry-run` only prints the plan"));
    }
    let replaces = confirm::confirm(&format!("{shown} already exists. Replace it?"), EmptyAnswer::Refuses)?;
    Ok(replaces.then_some(PlanPlace::Replaced))
}

/// Whether the plan was written.
fn write(
    args: &PlanNewArgs,
    place: PlanPlace,
    path: &Path,
    shown: &str,
    text: &str,
    world: &World,
) -> CommandResult<bool> {
    let asks = world.terminals.stdin && world.terminals.stderr && !args.yes && !world.json;
    if asks && place != PlanPlace::Nowhere {
        let question = format!("{}\nWrite this to {shown}?", clean_lines(text));
        if !confirm::confirm(&question, EmptyAnswer::Agrees)? {
            return Ok(false);
        }
    }
    let written = match place {
        PlanPlace::Nowhere => return Ok(false),
        PlanPlace::NewFile => files::create(path, text),
        PlanPlace::Replaced => files::replace(path, text),
    };
    written.map(|()| true).map_err(|error| {
        CommandError::io(format!("cannot write {shown}"), &error).hint("choose another place with `--file`")
    })
}

fn reply(text: &str, shown: &str, written: bool, settings: &Settings, world: &World) -> CommandResult {
    let tasks = parse_plan(text).tasks;
    let lacking = tasks_without_criteria(text);
    if world.json {
        return CommandOutput::json(&json!({
            "file": written.then_some(shown),
            "text": text,
            "tasks": tasks,
            "withoutCriteria": lacking.iter().map(|task| task.line_number).collect::<Vec<_>>(),
        }));
    }
    let mut notes = String::new();
    if !lacking.is_empty() {
        let lines: Vec<String> = lacking.iter().map(|task| task.line_number.to_string()).collect();
        let _ = writeln!(
            notes,
            "{} {} not say when {} done (line {}); add `Done when: …` below",
            world.note_paint.warning("warning:"),
            count(lacking.len(), "task does", "tasks do"),
            if lacking.len() == 1 { "it is" } else { "they are" },
            lines.join(", ")
        );
    }
    let mut shown_text = if world.terminals.stdin && written { String::new() } else { clean_lines(text) };
    if written {
        if !shown_text.is_empty() {
            shown_text.push('\n');
        }
        let _ =
            writeln!(shown_text, "Wrote {shown} ({}). Edit it as you like, then:", count(tasks.len(), "task", "tasks"));
        let _ = writeln!(shown_text, "  git add {shown} && git commit -m \"Add a plan\"");
        let _ = writeln!(shown_text, "  maestro loop {shown} --dry-run     the first task, its skills and the prompt");
        let _ = writeln!(shown_text, "  maestro loop {shown}               do, check, review and commit every task");
        if settings.verify.value.is_empty() {
            let way = if proposed_checks::missing_check(settings, world).is_some() {
                "`maestro init` proposes one for this project"
            } else {
                "`maestro config set --project verify '[\"COMMAND\"]'` names one for this project"
            };
            let _ = writeln!(shown_text, "Checks decide more reliably than words: {way}.");
        }
    }
    Ok(CommandOutput::text(shown_text).with_notes(notes))
}
