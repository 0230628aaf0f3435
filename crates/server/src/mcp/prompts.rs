//! Slash commands of a client: one for each workflow, and for each skill that people may invoke.

use std::collections::BTreeMap;

use maestro_core::hidden_chars::escape_hidden;
use maestro_core::workflow::ValueType;
use maestro_core::workflow::definition::Variable;
use maestro_skills::render::{BodyPart, ReferenceMode, body, resources};
use maestro_skills::{Catalogue, CatalogueEntry, Skill, envelope};
use rmcp::model::{
    CacheScope, CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock, ElicitRequest, ElicitResult,
    ElicitationAction, GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequest, InputRequiredResult,
    ListPromptsResult, Prompt, PromptArgument, PromptMessage, Reference, Role,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value as Json, json};

use super::questions::{for_params, has_forms, supports_input_results};
use super::skill_index::{SkillIndex, StartableWorkflow, skill};
use super::{FRESH_MS, clipped, internal, known_content, linked_files, skills};

/// The argument of a skill that describes its purpose.
const ARGUMENTS: &str = "arguments";
/// How many characters of a description are sent.
const DESCRIPTION: usize = 200;

/// A page of all prompts, sorted by name.
pub(super) async fn list(library: &SkillIndex, cursor: Option<&str>) -> Result<ListPromptsResult, ErrorData> {
    let offer = library.tool_set().await.map_err(internal)?;
    let catalogue = library.own_skills().await.map_err(internal)?.catalogue;
    let mut prompts: Vec<Prompt> = offer.workflows().map(of_workflow).collect();
    let own = |skill: &&Skill| skill.invocation.by_user && offer.workflow(skill.id.as_str()).is_none();
    prompts.extend(catalogue.skills.iter().map(CatalogueEntry::skill).filter(own).map(of_skill));
    prompts.sort_by(|one, other| one.name.cmp(&other.name));
    let (part, next) = skills::page(&prompts, cursor, |prompt| prompt.name.as_str())?;
    let mut result = ListPromptsResult::with_all_items(part.to_vec());
    result.next_cursor = next;
    Ok(result.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Private))
}

fn of_workflow(flow: &StartableWorkflow) -> Prompt {
    let argument = |param: &Variable| {
        let argument = PromptArgument::new(param.name.as_str());
        let argument = argument.with_required(param.required && param.default.is_none());
        match &param.description {
            Some(description) => argument.with_description(clipped(description, DESCRIPTION)),
            None => argument,
        }
    };
    let arguments: Vec<PromptArgument> = flow.workflow.params.iter().map(argument).collect();
    let arguments = (!arguments.is_empty()).then_some(arguments);
    Prompt::new(flow.name.clone(), Some(clipped(&flow.description, DESCRIPTION)), arguments)
}

fn of_skill(skill: &Skill) -> Prompt {
    let hint = skill.argument_hint.as_deref().unwrap_or("What to use it for");
    let argument = PromptArgument::new(ARGUMENTS).with_description(clipped(hint, DESCRIPTION)).with_required(false);
    Prompt::new(skill.id.as_str(), Some(clipped(&skill.description, DESCRIPTION)), Some(vec![argument]))
}

/// The messages for a slash command; or a question to the user, where a client can ask and a required argument is
/// missing.
pub(super) async fn get(
    library: &SkillIndex,
    request: GetPromptRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    let offer = library.tool_set().await.map_err(internal)?;
    let name = request.name.as_str();
    let mut arguments = request.arguments.unwrap_or_default();
    let asked = request.input_responses.and_then(|mut responses| responses.remove(ARGUMENTS));
    let form: Option<ElicitResult> = asked.and_then(|form| serde_json::from_value(form).ok());
    arguments.extend(form.as_ref().map(given_params).unwrap_or_default());
    let (text, files) = if let Some(flow) = offer.workflow(name) {
        let missing: Vec<&Variable> =
            required_params(flow).filter(|param| !arguments.contains_key(param.name.as_str())).collect();
        // A user who declined is not asked again; missing arguments are reported when the workflow starts.
        if !missing.is_empty() && form.is_none() && has_forms(context) && supports_input_results(context) {
            let form = InputRequest::Elicitation(ElicitRequest::new(for_params(name, &missing)?));
            return Ok(InputRequiredResult::new(Some(BTreeMap::from([(ARGUMENTS.to_owned(), form)])), None).into());
        }
        let call = json!({ "workflow": flow.name, "params": arguments });
        let text = format!(
            "Walk through the workflow `{name}`: call the tool `run_start` with {call}, do what it answers, report with \
             `run_report`, and go on until it says that the workflow is complete."
        );
        (text, Vec::new())
    } else {
        let shelf = library.own_skills_with(name).await.map_err(internal)?;
        let name = name.to_owned();
        let read =
            move || render_prompt(&shelf.catalogue, &name, shelf.settings.skills_max_body_chars.value, &arguments);
        tokio::task::spawn_blocking(read).await.map_err(|error| internal(error.to_string()))??
    };
    let mut messages = vec![PromptMessage::new_text(Role::User, escape_hidden(&text))];
    let files = known_content::for_client(files, context);
    messages.extend(files.into_iter().map(|file| PromptMessage::new(Role::User, file)));
    Ok(GetPromptResult::new(messages).into())
}

/// The required parameters.
fn required_params(flow: &StartableWorkflow) -> impl Iterator<Item = &Variable> {
    flow.workflow.params.iter().filter(|param| param.required && param.default.is_none())
}

/// What the user filled in.
fn given_params(form: &ElicitResult) -> Map<String, Json> {
    let content = form.content.as_ref().filter(|_| form.action == ElicitationAction::Accept);
    content.and_then(Json::as_object).cloned().unwrap_or_default()
}

fn render_prompt(
    catalogue: &Catalogue,
    name: &str,
    most: usize,
    arguments: &Map<String, Json>,
) -> Result<(String, Vec<ContentBlock>), ErrorData> {
    let skill = skill(catalogue, name).map_err(|message| ErrorData::invalid_params(message, None))?;
    let text =
        body(skill, BodyPart::Body, ReferenceMode::Leave, most).map_err(|error| internal(error.to_string()))?.text;
    let files = linked_files::of_text(skill, &text);
    let mut text = String::from_utf8_lossy(&envelope(skill, text.as_bytes())).into_owned();
    let wanted = arguments.get(ARGUMENTS).and_then(Json::as_str).map(str::trim).filter(|wanted| !wanted.is_empty());
    text.push_str("\nFollow this skill");
    text.push_str(
        &wanted.map_or_else(|| " for what we are working on.".to_owned(), |wanted| format!(" for this: {wanted}")),
    );
    Ok((text, files))
}

/// Completions for the argument of a slash command.
pub(super) async fn complete(
    library: &SkillIndex,
    request: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let typed = request.argument.value.as_str();
    let offer = library.tool_set().await.map_err(internal)?;
    let values = match &request.r#ref {
        Reference::Prompt(prompt) => offer
            .workflow(&prompt.name)
            .and_then(|flow| flow.workflow.params.iter().find(|param| param.name.as_str() == request.argument.name))
            .map(|param| completions(&param.kind))
            .unwrap_or_default(),
        Reference::Resource(resource) if resource.uri.starts_with("skill://") && request.argument.name == "skill" => {
            let catalogue = library.own_skills().await.map_err(internal)?.catalogue;
            skills::portable(&catalogue).iter().map(|entry| entry.id().to_owned()).collect()
        }
        Reference::Resource(resource) if resource.uri.starts_with("skill://") && request.argument.name == "path" => {
            let given = request.context.as_ref().and_then(|context| context.arguments.as_ref());
            match given.and_then(|given| given.get("skill")) {
                Some(skill) => file_names(library, skill.clone()).await?,
                None => Vec::new(),
            }
        }
        _ => Vec::new(),
    };
    let fitting: Vec<String> = values.into_iter().filter(|value| value.starts_with(typed)).collect();
    let total = u32::try_from(fitting.len()).ok();
    let more = fitting.len() > CompletionInfo::MAX_VALUES;
    let first = fitting.into_iter().take(CompletionInfo::MAX_VALUES).collect();
    Ok(CompleteResult::new(CompletionInfo::with_pagination(first, total, more).map_err(internal)?))
}

/// The names of a skill's files, of those that are listed.
async fn file_names(library: &SkillIndex, skill: String) -> Result<Vec<String>, ErrorData> {
    let catalogue = library.own_skills_with(&skill).await.map_err(internal)?.catalogue;
    let list = move || {
        let listed = catalogue.get(&skill).map(|skill| resources(skill).files).unwrap_or_default();
        listed.iter().filter_map(|path| path.to_str()).map(str::to_owned).collect()
    };
    tokio::task::spawn_blocking(list).await.map_err(|error| internal(error.to_string()))
}

fn completions(kind: &ValueType) -> Vec<String> {
    match kind {
        ValueType::Enum(values) => values.clone(),
        ValueType::Bool => ["false", "true"].map(str::to_owned).to_vec(),
        ValueType::Text
        | ValueType::Int
        | ValueType::Number
        | ValueType::List(_)
        | ValueType::Path
        | ValueType::Object(_) => Vec::new(),
    }
}
