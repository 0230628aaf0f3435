//! Tools to find and read skills, for clients that support tools only.

use std::fmt::Write as _;
use std::io;

use maestro_api::skills::{self, SkillRequest};
use maestro_core::{SkillSelection, StepKind};
use maestro_engine::ProjectSkills;
use maestro_skills::render::{BodyPart, ReferenceMode, body, close_skills, offered_skills, resources};
use maestro_skills::{Skill, SkillType, envelope};
use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde::Deserialize;
use serde_json::json;

use super::address::of_skill;
use super::answer_page::{AnswerPage, MOST_CHARS};
use super::client::ToolCaller;
use super::skill_index::skill;
use super::tools::{ToolFailure, text_block, tool_result};
use super::{McpHandler, clipped, file_content, media_type};
use crate::api::skills::{choose, fresh_run};

pub(super) const FIND: &str = "Use when a task starts, or to see which skills exist. Returns the skills that fit `task` with the \
reason; without `task`, all names.";
pub(super) const USE: &str = "Use when a skill fits what you do next, or the user names one. Returns its instructions, which you then \
follow, and the names of its files; with `file`, that file.";

/// How many names of skills are listed, and in how many characters.
const MOST_NAMES: usize = 500;
const MOST_NAMES_CHARS: usize = 12_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FindSkillsArgs {
    task: Option<String>,
    step: Option<StepKind>,
    project_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UseSkillArgs {
    name: String,
    file: Option<String>,
    #[serde(default)]
    from: usize,
    project_id: Option<String>,
}

/// The skills for a task, or the names of all. A project's selections are recorded as events, as everywhere.
pub(super) async fn find_skills(
    mcp: &McpHandler,
    who: &ToolCaller,
    args: FindSkillsArgs,
) -> Result<CallToolResult, ToolFailure> {
    let shelf = mcp.skills().of(mcp.api(), who, args.project_id.as_deref()).await?;
    let warning = mcp.parts.directory.warning().map(|warning| format!("{warning}\n\n")).unwrap_or_default();
    let Some(task) = args.task.filter(|task| !task.trim().is_empty()) else {
        return Ok(list_names(&shelf, warning));
    };
    let step = args.step.unwrap_or(StepKind::Implementation);
    // An unreachable API does not prevent finding skills on this disk.
    let here = mcp.api().project(who).await.unwrap_or_default();
    let chosen = match args.project_id.or(here) {
        Some(project) => {
            let request =
                SkillRequest { task: Some(task), step: Some(step.as_str().to_owned()), project_id: Some(project) };
            mcp.api().call(who, skills::select(&request)).await?
        }
        None => select_skills(shelf.clone(), task, step).await?,
    };
    let mut text = warning;
    let mut skills = Vec::new();
    for selected in &chosen.skills {
        let description = shelf.catalogue.get(&selected.name).map(|skill| clipped(&skill.description, 300));
        let description = description.unwrap_or_default();
        let _ = writeln!(text, "- {}: {description} ({})", selected.name, selected.reason);
        skills.push(json!({ "name": selected.name, "reason": selected.reason }));
    }
    match (skills.is_empty(), close_skills(&chosen, &shelf.catalogue)) {
        (false, None) => text.push_str("\nRead one with `use_skill`.\n"),
        (false, Some(close)) => {
            let _ = write!(text, "\nClose, too:\n{close}\nRead what fits with `use_skill`.\n");
        }
        (true, Some(close)) => {
            let _ = write!(
                text,
                "No skill clearly fits. These come close:\n{close}\nRead one with `use_skill` if it helps.\n"
            );
        }
        (true, None) => text.push_str("No skill fits this task. Work without one.\n"),
    }
    Ok(tool_result(text, json!({ "skills": skills, "considered": chosen.detail.considered, "errors": chosen.errors })))
}

/// The names of the skills that a model may choose; not those of roles, which sessions get anyway.
fn list_names(shelf: &ProjectSkills, mut text: String) -> CallToolResult {
    let offered = offered_skills(&shelf.catalogue);
    let named: Vec<&str> =
        offered.iter().filter(|skill| skill.kind != SkillType::Role).map(|skill| skill.id.as_str()).collect();
    let mut room = MOST_NAMES_CHARS;
    let fits = |name: &&&str| {
        room = room.saturating_sub(name.chars().count() + 2);
        room > 0
    };
    let shown: Vec<&str> = named.iter().take(MOST_NAMES).take_while(fits).copied().collect();
    let omitted = named.len() - shown.len();
    if shown.is_empty() {
        text.push_str("There are no skills here. Work without one.\n");
    } else {
        let _ = writeln!(text, "{} skills: {}", named.len(), shown.join(", "));
        let more = if omitted == 0 { String::new() } else { format!("{omitted} more are not listed. ") };
        let _ = writeln!(text, "\n{more}Name a `task` to see which fit; read one with `use_skill`.");
    }
    // The names are in the text, which the data includes.
    tool_result(text, json!({ "omitted": omitted }))
}

async fn select_skills(shelf: ProjectSkills, task: String, step: StepKind) -> Result<SkillSelection, ToolFailure> {
    let most = match step {
        StepKind::Review => shelf.settings.skills_max_selected_review.value,
        StepKind::Implementation => shelf.settings.skills_max_selected_impl.value,
    };
    let choose = move || choose(&shelf, fresh_run(), &task, step, most.into());
    tokio::task::spawn_blocking(choose).await.map_err(|error| ToolFailure::Message(error.to_string()))
}

/// A skill's text as agents read it with the names of its other files, or one of these files.
pub(super) async fn read(
    mcp: &McpHandler,
    who: &ToolCaller,
    args: UseSkillArgs,
) -> Result<CallToolResult, ToolFailure> {
    let name = args.name.trim();
    let shelf = mcp.skills().skills_with(mcp.api(), who, args.project_id.as_deref(), name).await?;
    let read = tokio::task::spawn_blocking(move || {
        let skill = skill(&shelf.catalogue, args.name.trim())?;
        match args.file.as_deref().map(str::trim).filter(|file| !file.is_empty()) {
            Some(file) => file_page(skill, file, args.from),
            None => page(skill, args.from, shelf.settings.skills_max_body_chars.value),
        }
    });
    read.await.map_err(|error| ToolFailure::Message(error.to_string()))?.map_err(ToolFailure::Message)
}

fn page(skill: &Skill, from: usize, most: usize) -> Result<CallToolResult, String> {
    let id = skill.id.as_str();
    let text = body(skill, BodyPart::Body, ReferenceMode::Leave, usize::MAX)
        .map_err(|error| format!("the text of `{id}` cannot be read: {error}"))?;
    let most = if most == 0 { MOST_CHARS } else { most.min(MOST_CHARS) };
    let part = AnswerPage::of(&text.text, from, most);
    let part = part.with_note(|next| format!("call `use_skill` with name \"{id}\" and from {next}"));
    let mut page = String::from_utf8_lossy(&envelope(skill, part.as_bytes())).into_owned();
    if !skill.dependencies.is_empty() {
        let _ = writeln!(page, "\nIt builds on {}; read them with `use_skill`.", skill.dependencies.join(", "));
    }
    if skill.workflow.is_some() {
        let has_command = text.text.contains("maestro workflow start");
        let instead = if has_command { " That takes the place of the command above." } else { "" };
        let _ = writeln!(page, "\nIt has a workflow: start it with `run_start`, `workflow` being \"{id}\".{instead}");
    }
    let listed = resources(skill);
    let is_definition = |file: &&str| skill.workflow.as_deref() == Some(*file);
    // A name that is not UTF-8 cannot be asked for.
    let files: Vec<&str> =
        listed.files.iter().filter_map(|path| path.to_str()).filter(|file| !is_definition(file)).collect();
    if !files.is_empty() {
        let _ = writeln!(page, "\nIts files; read one with `use_skill`, name \"{id}\" and `file`:");
        for file in &files {
            let _ = writeln!(page, "- {file}");
        }
        if listed.omitted > 0 || listed.incomplete {
            page.push_str("- and more\n");
        }
    }
    // Without structured data: a client that shows only that to its model would hide the text.
    let mut result = CallToolResult::success(vec![text_block(&page)]);
    let link = |name: &&str| {
        ContentBlock::resource_link(Resource::new(of_skill(id, name), *name).with_mime_type(media_type(name)))
    };
    result.content.extend(files.iter().map(link));
    Ok(result)
}

/// A file of a skill: text as text, a picture or a sound as such, anything else as an embedded resource.
fn file_page(skill: &Skill, file: &str, from: usize) -> Result<CallToolResult, String> {
    let id = skill.id.as_str();
    let bytes = maestro_skills::folder::read_file(skill, file).map_err(|error| {
        let why = if error.kind() == io::ErrorKind::NotFound {
            String::new()
        } else {
            format!(" that can be read ({error})")
        };
        format!("the skill `{id}` has no file `{file}`{why}; call `use_skill` with its name alone for the names")
    })?;
    let block = match String::from_utf8(bytes) {
        Ok(text) => {
            let text = maestro_core::hidden_chars::remove_hidden(&text).into_owned();
            let part = AnswerPage::of(&text, from, MOST_CHARS);
            let more = |next| format!("call `use_skill` with name \"{id}\", file \"{file}\" and from {next}");
            text_block(&part.with_note(more))
        }
        Err(binary) => file_content::of_bytes(binary.as_bytes(), of_skill(id, file), file).ok_or_else(|| {
            let path = skill.path.join(file);
            format!("`{file}` is too large to send; it lies at {}", path.display())
        })?,
    };
    Ok(CallToolResult::success(vec![block]))
}
