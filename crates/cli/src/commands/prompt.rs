//! `maestro prompt`: the exact prompt an agent would receive for a task.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use maestro_api::sessions;
use maestro_api::tasks::{self, DepthQuery};
use maestro_core::event::Event;
use maestro_core::excerpt::one_line;
use maestro_core::id::{EntityId as _, TaskId};
use maestro_core::plan::{TaskSelection, select_task, skill_hints};
use maestro_core::{RunId, Settings};
use maestro_skills::render::{ReferenceMode, tokens};
use maestro_skills::{PromptLimits, SkillSelector, TaskNeeds, TaskPrompt, task_prompt};
use serde_json::json;

use crate::args::TaskPromptArgs;
use crate::client::CliClient;
use crate::commands::task_tree::TaskTree;
use crate::host::plans::PlanFile;
use crate::host::skill_vectors::{self, VectorEffort};
use crate::host::world::World;
use crate::host::{catalogue, config};
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{clean, clean_lines, count};
use crate::server_process::database;

/// How many characters a word has at least that can be a short id.
const SHORTEST_ID: usize = 4;

pub(crate) fn run(args: &TaskPromptArgs, world: &World) -> CommandResult {
    let settings = config::settings(world)?;
    let PromptSubject { task, details } = subject(&args.task, world)?;
    let mut catalogue = catalogue::load(world, &args.dirs.dirs, &settings)?;
    skill_vectors::attach(&mut catalogue, VectorEffort::Few, &settings, world);
    let catalogue = Arc::new(catalogue);
    let (step, most) = args.step.with_limit(&settings);
    let needs = TaskNeeds { label: &task.label, hints: &task.skill_hints, step, most };
    let selector = SkillSelector::for_task(Arc::clone(&catalogue), &task.label);
    let selection = selector.select(RunId::new(uuid::Uuid::now_v7()), needs);
    let prompt = task_prompt(&task, details.as_deref(), &selection, &catalogue, limits(&settings));
    // The process ends now; freeing ten thousand skills first would only cost time.
    std::mem::forget((selector, catalogue));
    if world.json {
        return CommandOutput::json(&json!({
            "text": prompt.text,
            "tokens": tokens(&prompt.text),
            "events": prompt.events,
            "cut": prompt.cut,
            "left_out": prompt.left_out,
        }));
    }
    let notes = notes(&prompt, world);
    let text = format!("{}\n", prompt.text);
    // Other programs get every byte; a terminal gets no control characters from a file.
    let text = if world.terminals.stdout { clean_lines(&text) } else { text };
    Ok(CommandOutput::text(text).with_notes(notes))
}

fn limits(settings: &Settings) -> PromptLimits {
    PromptLimits {
        table_tokens: settings.skills_budget_tokens.value,
        body_chars: settings.skills_max_body_chars.value,
        references: if settings.skills_load_references.value { ReferenceMode::Include } else { ReferenceMode::Leave },
    }
}

/// A task, and all that is known of it beside its line.
struct PromptSubject {
    task: TaskSelection,
    details: Option<String>,
}

/// The next task of a plan, a stored task by its id, or the text itself.
fn subject(argument: &str, world: &World) -> CommandResult<PromptSubject> {
    let is_plan = Path::new(argument).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
    if is_plan {
        let plan = PlanFile::read(Path::new(argument))?;
        let task = select_task(&plan.plan).ok_or_else(|| {
            CommandError::not_found(format!("no open task in {argument}"))
                .hint(format!("run `maestro plan list {argument}` for the state of each task"))
        })?;
        let details = plan.describe_task(&task);
        return Ok(PromptSubject { task, details });
    }
    if let Some(task) = named_task(argument, world)? {
        return stored_task(&task, world);
    }
    let label = one_line(argument);
    if label.is_empty() {
        return Err(CommandError::invalid("the task is empty").hint("pass a task in quotes, a task ID, or a plan"));
    }
    let skill_hints = skill_hints(&label);
    Ok(PromptSubject { task: TaskSelection { label, line_number: 1, section: None, skill_hints }, details: None })
}

/// The stored task that an id means, whole or short; of a session its first one.
fn named_task(argument: &str, world: &World) -> CommandResult<Option<String>> {
    if argument.starts_with("task_") && TaskId::parse(argument).is_ok() {
        return Ok(Some(argument.to_owned()));
    }
    let can_be_id = argument.len() >= SHORTEST_ID && !argument.contains(|c: char| c != '_' && !c.is_alphanumeric());
    if !can_be_id || (world.aim.server.is_none() && !database::exists(world)) {
        return Ok(None);
    }
    let client = CliClient::open(world)?;
    // What means no id, or several, is the task itself.
    match client.find_record(argument).ok().flatten() {
        Some(found) if found.kind == "task" => Ok(Some(found.id)),
        Some(found) if found.kind == "session" => {
            Ok(client.call(sessions::get(&found.id))?.task_ids.into_iter().next())
        }
        _ => Ok(None),
    }
}

/// A stored task with its description and subtasks.
fn stored_task(id: &str, world: &World) -> CommandResult<PromptSubject> {
    let client = CliClient::open(world)?;
    let task = client.call(tasks::get(id))?;
    let below = TaskTree::of(client.list(tasks::children(id, DepthQuery { recursive: Some(true) }))?);
    let mut details = format!("{}\n", task.description.trim());
    for (at, (depth, subtask)) in below.below(None).into_iter().enumerate() {
        let (indent, mark) = ("  ".repeat(depth), if subtask.is_closed() { "x" } else { " " });
        let heading = if at == 0 { "\nIts subtasks:\n" } else { "" };
        let _ = writeln!(details, "{heading}{indent}- [{mark}] {} (`{}`)", subtask.title.trim(), subtask.id);
        for line in subtask.description.trim().lines() {
            let _ = writeln!(details, "{}", format!("{indent}  {line}").trim_end());
        }
    }
    let label = one_line(&task.title);
    let mut hints = skill_hints(&label);
    hints.extend(skill_hints(&task.description).into_iter().filter(|hint| !hints.contains(hint)).collect::<Vec<_>>());
    let task = TaskSelection { label, line_number: 1, section: None, skill_hints: hints };
    Ok(PromptSubject { task, details: Some(details).filter(|details| !details.trim().is_empty()) })
}

/// Notes on the prompt: its size, its skills, and what is missing.
fn notes(prompt: &TaskPrompt, world: &World) -> String {
    let mut notes = format!("about {} tokens", tokens(&prompt.text));
    let mut troubles = Vec::new();
    for event in &prompt.events {
        match event {
            Event::SkillsSelected(selection) => {
                let names: Vec<_> = selection.skills.iter().map(|skill| clean(&skill.name)).collect();
                let names = if names.is_empty() { "no skill".to_owned() } else { names.join(", ") };
                let _ = write!(notes, ", {names} of {}", selection.detail.considered);
                troubles.extend(selection.errors.iter().map(|error| clean(error).into_owned()));
            }
            Event::SkillsTruncated(cut) => {
                troubles.push(format!("the text of `{}` is cut to {} characters", clean(&cut.name), cut.max_chars));
            }
            Event::SkillsLoadFailed(failed) => {
                troubles.push(format!("`{}` was not loaded: {}", clean(&failed.name), clean(&failed.error)));
            }
            _ => {}
        }
    }
    notes.push('\n');
    if !prompt.left_out.is_empty() {
        troubles.push(format!("{} found no room in the table", count(prompt.left_out.len(), "skill", "skills")));
    }
    if !prompt.cut.is_empty() {
        troubles.push(format!("{} shortened", count(prompt.cut.len(), "description is", "descriptions are")));
    }
    for trouble in troubles {
        let _ = writeln!(notes, "{} {trouble}", world.note_paint.warning("warning:"));
    }
    notes
}
