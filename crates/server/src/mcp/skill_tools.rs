//! Tools to find and read skills, for clients that support tools only.

use std::fmt::Write as _;

use maestro_api::skills::{self, SkillRequest};
use maestro_core::{SkillSelection, StepKind};
use maestro_engine::ProjectSkills;
use maestro_skills::folder::{SKILL_MD, children};
use maestro_skills::render::{BodyPart, ReferenceMode, body};
use maestro_skills::{Skill, envelope};
use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde::Deserialize;
use serde_json::json;

use super::address::of_skill;
use super::client::ToolCaller;
use super::skill_index::skill;
use super::tools::{ToolFailure, text_block, tool_result};
use super::{McpHandler, clipped, media_type};
use crate::api::skills::{choose, fresh_run};

pub(super) const FIND: &str = "Find the skills that fit a task, each with the reason. Call it when a task starts; read those that help with `use_skill`.";
pub(super) const USE: &str = "Read a skill's instructions, to follow them for what you do now.";

/// How many of a skill's files are listed.
const MOST_LINKS: usize = 30;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FindSkillsArgs {
    task: String,
    step: Option<StepKind>,
    project_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UseSkillArgs {
    name: String,
    project_id: Option<String>,
}

/// The skills for a task. A project's selections are recorded as events, as everywhere.
pub(super) async fn find_skills(
    mcp: &McpHandler,
    who: &ToolCaller,
    args: FindSkillsArgs,
) -> Result<CallToolResult, ToolFailure> {
    let step = args.step.unwrap_or(StepKind::Implementation);
    let shelf = mcp.skills().of(mcp.api(), who, args.project_id.as_deref()).await?;
    // An unreachable API does not prevent finding skills on this disk.
    let here = mcp.api().project(who).await.unwrap_or_default();
    let chosen = match args.project_id.or(here) {
        Some(project) => {
            let request =
                SkillRequest { task: Some(args.task), step: Some(step.as_str().to_owned()), project_id: Some(project) };
            mcp.api().call(who, skills::select(&request)).await?
        }
        None => select_skills(shelf.clone(), args.task, step).await?,
    };
    let mut text = mcp.parts.directory.warning().map(|warning| format!("{warning}\n\n")).unwrap_or_default();
    let mut skills = Vec::new();
    for selected in &chosen.skills {
        let description = shelf.catalogue.get(&selected.name).map(|skill| clipped(&skill.description, 300));
        let description = description.unwrap_or_default();
        let _ = writeln!(text, "- {}: {description} ({})", selected.name, selected.reason);
        skills.push(json!({ "name": selected.name, "reason": selected.reason, "description": description }));
    }
    if skills.is_empty() {
        let considered = chosen.detail.considered;
        let _ = writeln!(text, "None of {considered} skills fits this task well enough. Work without one.");
    } else {
        text.push_str("\nRead one with `use_skill`.\n");
    }
    Ok(tool_result(text, json!({ "skills": skills, "considered": chosen.detail.considered, "errors": chosen.errors })))
}

async fn select_skills(shelf: ProjectSkills, task: String, step: StepKind) -> Result<SkillSelection, ToolFailure> {
    let most = match step {
        StepKind::Review => shelf.settings.skills_max_selected_review.value,
        StepKind::Implementation => shelf.settings.skills_max_selected_impl.value,
    };
    let choose = move || choose(&shelf, fresh_run(), &task, step, most.into());
    tokio::task::spawn_blocking(choose).await.map_err(|error| ToolFailure::Message(error.to_string()))
}

/// A skill's text as agents read it, and the addresses of its other files.
pub(super) async fn read(
    mcp: &McpHandler,
    who: &ToolCaller,
    args: UseSkillArgs,
) -> Result<CallToolResult, ToolFailure> {
    let name = args.name.trim();
    let shelf = mcp.skills().skills_with(mcp.api(), who, args.project_id.as_deref(), name).await?;
    let read = tokio::task::spawn_blocking(move || {
        let skill = skill(&shelf.catalogue, args.name.trim())?;
        page(skill, shelf.settings.skills_max_body_chars.value)
    });
    read.await.map_err(|error| ToolFailure::Message(error.to_string()))?.map_err(ToolFailure::Message)
}

fn page(skill: &Skill, most: usize) -> Result<CallToolResult, String> {
    let id = skill.id.as_str();
    let text = body(skill, BodyPart::Body, ReferenceMode::Leave, most)
        .map_err(|error| format!("the text of `{id}` cannot be read: {error}"))?;
    let mut page = String::from_utf8_lossy(&envelope(skill, text.text.as_bytes())).into_owned();
    if !skill.dependencies.is_empty() {
        let _ = writeln!(page, "\nIt builds on {}; read them with `use_skill`.", skill.dependencies.join(", "));
    }
    if skill.workflow.is_some() {
        let _ = writeln!(page, "\nIt has a workflow: start it with `run_start`, `workflow` being \"{id}\".");
    }
    // Without structured data: a client that shows only that to its model would hide the text.
    let mut result = CallToolResult::success(vec![text_block(&page)]);
    // Deeper directories are listed on request.
    let warn = |error: &_| tracing::warn!(skill = id, "its files cannot be listed: {error}");
    let files = children(skill, "").inspect_err(warn).ok().flatten().unwrap_or_default();
    let others = files.keys().filter(|name| *name != SKILL_MD && **name != skill.file).take(MOST_LINKS);
    let link = |name: &String| {
        ContentBlock::resource_link(Resource::new(of_skill(id, name), name).with_mime_type(media_type(name)))
    };
    let plain = |name: &&String| matches!(files.get(*name), Some(maestro_skills::folder::FolderChild::File { .. }));
    result.content.extend(others.filter(plain).map(link));
    Ok(result)
}
