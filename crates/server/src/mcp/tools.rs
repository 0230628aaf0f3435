//! Tools of a client, and the dispatch of their calls.
//!
//! A few are always available and the same for every client. Workflows have tools of their own as long as the whole
//! list stays short: it takes room in every conversation of the client's model.

pub(super) mod schema;
mod tool_use;

use std::collections::BTreeSet;

use maestro_api::ClientError;
use maestro_core::excerpt::ellipsize;
use maestro_core::hidden_chars::escape_hidden;
use maestro_skills::SkillSource;
use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, MetaObject, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

use super::answer_page::{AnswerPage, MOST_CHARS, MOST_DATA};
use super::client::ToolCaller;
use super::questions::CallOrigin;
use super::runs::{self, RunCall};
use super::skill_index::{StartableWorkflow, ToolSet, WorkflowActs};
use super::{McpHandler, clipped, internal, known_content, skill_tools, worker};

/// The largest list of tools as a client's model reads it, in bytes: at most 1,500 tokens with the instructions and what
/// clients offer of their own for a server's resources, as `tests/agents/costs` records them.
const BUDGET: usize = 4_050;
/// How many characters the names of workflows without tools of their own take.
const MOST_NAMES: usize = 320;
/// Less room is for none.
const FEWEST_NAMES: usize = 40;
/// The longest name that all clients accept.
const LONGEST_NAME: usize = 64;

/// How much a client adds to each tool before its model reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolFrame {
    /// A name in front and the words around it.
    Narrow,
    /// Also a parameter of the client's own, with a description: Gemini CLI.
    Wide,
}

impl ToolFrame {
    /// What the client of this name does.
    pub(super) fn of_client(name: &str) -> Self {
        if name.starts_with("gemini-cli") { Self::Wide } else { Self::Narrow }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Narrow => 40,
            Self::Wide => 290,
        }
    }
}

/// Why a call failed. The caller reads it, and may try again.
pub(super) enum ToolFailure {
    /// An error result for the caller.
    Message(String),
    /// A protocol error: an unknown tool, or a state that is not ours.
    Protocol(ErrorData),
}

impl From<ClientError> for ToolFailure {
    fn from(error: ClientError) -> Self {
        Self::Message(error.to_string())
    }
}

impl From<String> for ToolFailure {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

/// How many characters of a workflow's description are in its tool.
const DESCRIPTION: usize = 200;
/// The largest tool of a workflow, in bytes. One with more parameters is started with `run_start`.
const LARGEST: usize = 900;

/// The kinds of sources of workflows, in the order of their tools.
const PLACES: [SkillSource; 5] =
    [SkillSource::Project, SkillSource::User, SkillSource::Given, SkillSource::Workspace, SkillSource::Builtin];

/// The position of a kind of source in that order.
pub(super) fn rank(source: SkillSource) -> usize {
    PLACES.iter().position(|place| *place == source).unwrap_or(PLACES.len())
}

/// All tools but a worker's: the fixed ones, then those of workflows and commands, as many as fit. The others are
/// named where they are started, as far as there is room.
pub(super) fn listed(flows: &[&StartableWorkflow], prefix: &str, frame: ToolFrame) -> Vec<Tool> {
    let size = |tool: &Tool| model_size(tool) + frame.bytes();
    let whole = BUDGET.saturating_sub(fixed_tools("").iter().map(size).sum());
    let names_room = if whole < FEWEST_NAMES { 0 } else { MOST_NAMES.min(whole) };
    let mut room = whole - names_room;
    let mut names: BTreeSet<String> = all_fixed().iter().map(|tool| tool.name.to_string()).collect();
    let (mut own, mut unlisted) = (Vec::new(), Vec::new());
    let in_order = PLACES.iter().flat_map(|place| flows.iter().copied().filter(move |flow| flow.source == *place));
    for flow in in_order {
        // Of two with one name the first is the tool.
        let is_free = names.insert(format!("{prefix}{}", flow.tool_name()));
        let tool = of_flow(flow, prefix).filter(|_| is_free);
        match tool.and_then(|tool| Some((room.checked_sub(size(&tool))?, tool))) {
            Some((left, tool)) => {
                room = left;
                own.push(tool);
            }
            None => unlisted.push(flow.name.as_str()),
        }
    }
    let names = whole_names(&unlisted, names_room);
    let mut tools = fixed_tools(&names);
    tools.append(&mut own);
    tools
}

/// As many names as there is room for, none of them cut: a model would call what it reads.
fn whole_names(names: &[&str], room: usize) -> String {
    const MORE: &str = ", …";
    let mut listed = String::new();
    for (number, name) in names.iter().enumerate() {
        let comma = if listed.is_empty() { "" } else { ", " };
        let after = if number + 1 == names.len() { 0 } else { MORE.len() };
        if listed.len() + comma.len() + name.len() + after > room {
            if !listed.is_empty() {
                listed.push_str(MORE);
            }
            break;
        }
        listed.push_str(comma);
        listed.push_str(name);
    }
    clipped(&listed, room)
}

/// How many bytes of a tool a client's model reads: neither hints nor what is meant for the client.
fn model_size(tool: &Tool) -> usize {
    let description = tool.description.as_deref().unwrap_or_default();
    tool.name.len() + description.len() + size(&tool.input_schema)
}

/// The size on the wire, in bytes.
fn size(told: &impl Serialize) -> usize {
    serde_json::to_vec(told).map_or(usize::MAX, |bytes| bytes.len())
}

/// The tools that are the same for every client, with the names of workflows that have none.
fn fixed_tools(unlisted: &str) -> Vec<Tool> {
    let reads = || ToolAnnotations::new().read_only(true).destructive(false).open_world(false);
    // What a run does was allowed before: its commands by consent to them, its agents by the user's settings.
    let acts = || ToolAnnotations::new().destructive(false).open_world(false);
    let tool = |name: &'static str, description: &'static str, schema: Map<String, Json>, hints: ToolAnnotations| {
        Tool::new(name, description, schema).with_annotations(hints)
    };
    vec![
        tool("find_skills", skill_tools::FIND, schema::find_skills(), reads()).with_meta(kept_in_view()),
        tool("use_skill", skill_tools::USE, schema::use_skill(), reads()).with_meta(kept_in_view()),
        tool("run_start", runs::START, schema::run_start(unlisted), acts()).with_meta(kept_in_view()),
        tool("run_report", runs::REPORT, schema::run_report(), acts().idempotent(true)),
        // Without a ticket, a repeated call answers the question that is open then.
        tool("run_answer", runs::ANSWER, schema::run_answer(), acts()),
        tool("run_next", runs::NEXT, schema::run_next(), acts().idempotent(true)),
        tool("run_status", runs::STATUS, schema::run_status(), reads()),
    ]
}

/// The tools of a session that works on a task.
pub(super) fn worker_tools() -> Vec<Tool> {
    let hints = || ToolAnnotations::new().destructive(false).idempotent(true).open_world(false);
    let tool = |name: &'static str, description: &'static str, schema: Map<String, Json>| {
        Tool::new(name, description, schema).with_annotations(hints()).with_meta(kept_in_view())
    };
    vec![
        tool("get_task_info", worker::INFO, schema::task()),
        tool("report_progress", worker::PROGRESS, schema::report_progress()),
        tool("mark_subtask_complete", worker::SUBTASK, schema::mark_subtask_complete()),
        tool("signal_completion", worker::COMPLETION, schema::signal_completion()),
        tool("signal_blocker", worker::BLOCKER, schema::signal_blocker()),
    ]
}

fn all_fixed() -> Vec<Tool> {
    fixed_tools("").into_iter().chain(worker_tools()).collect()
}

/// For clients that show their model some tools only after a search: these begin everything, and are always shown.
fn kept_in_view() -> MetaObject {
    let mut meta = MetaObject::new();
    meta.insert("anthropic/alwaysLoad".to_owned(), json!(true));
    meta
}

/// What a client should know of a tool before it asks its user. Commands and agents change files, and reach whatever
/// their network and sandbox allow, however many people consented to them.
fn hints(acts: WorkflowActs) -> ToolAnnotations {
    let acts = acts > WorkflowActs::Reads;
    ToolAnnotations::new().destructive(acts).open_world(acts)
}

/// The tool of a workflow, if clients accept its name and it is not too large.
fn of_flow(flow: &StartableWorkflow, prefix: &str) -> Option<Tool> {
    let name = format!("{prefix}{}", flow.tool_name());
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.len() > LONGEST_NAME || !name.chars().all(fits) {
        return None;
    }
    let description = tool_use::describe(&flow.description, flow.kind(), DESCRIPTION);
    let tool = Tool::new(name, description, schema::of_flow(flow)).with_annotations(hints(flow.acts));
    (model_size(&tool) <= LARGEST).then_some(tool)
}

/// Carries out a call.
pub(super) async fn call(
    mcp: &McpHandler,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    match carry_out(mcp, request, context).await {
        Ok(CallToolResponse::Complete(mut result)) => {
            result.content = known_content::for_client(result.content, context);
            Ok(result.into())
        }
        Ok(response) => Ok(response),
        Err(ToolFailure::Message(message)) => Ok(CallToolResult::error(vec![text_block(&message)]).into()),
        Err(ToolFailure::Protocol(error)) => Err(error),
    }
}

async fn carry_out(
    mcp: &McpHandler,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ToolFailure> {
    let who = ToolCaller::of(&context.extensions);
    let name = request.name.to_string();
    let arguments = Json::Object(request.arguments.unwrap_or_default());
    let state = request.request_state.as_deref();
    let given = request.input_responses.unwrap_or_default();
    let origin = CallOrigin::of(&name, &arguments, &who, mcp.parts.session.as_deref());
    let turn = || RunCall::new(mcp, &who, context, origin, state, given);
    match name.as_str() {
        "find_skills" => skill_tools::find_skills(mcp, &who, read(arguments)?).await.map(Into::into),
        "use_skill" => skill_tools::read(mcp, &who, read(arguments)?).await.map(Into::into),
        "run_start" => turn()?.start(read(arguments)?).await,
        "run_next" => turn()?.next(read(arguments)?).await,
        "run_report" => turn()?.report(read(arguments)?).await,
        "run_answer" => turn()?.answer(read(arguments)?).await,
        "run_status" => turn()?.status(read(arguments)?).await,
        "get_task_info" => worker::info(mcp, &who, read(arguments)?).await.map(Into::into),
        "report_progress" => worker::progress(mcp, &who, read(arguments)?).await.map(Into::into),
        "mark_subtask_complete" => worker::subtask(mcp, &who, read(arguments)?).await.map(Into::into),
        "signal_completion" => worker::completion(mcp, &who, read(arguments)?).await.map(Into::into),
        "signal_blocker" => worker::blocker(mcp, &who, read(arguments)?).await.map(Into::into),
        other => {
            let unheard = |error| ToolFailure::Protocol(internal(error));
            let mut offer = mcp.skills().tool_set().await.map_err(unheard)?;
            if offer.flow(other).is_none() {
                mcp.skills().refresh().await.map_err(unheard)?;
                offer = mcp.skills().tool_set().await.map_err(unheard)?;
            }
            let flow = offer.flow(other).ok_or_else(|| no_tool(other, &offer))?;
            turn()?.start_by_tool(flow, arguments).await
        }
    }
}

/// The error for an unknown tool, or one without consent.
fn no_tool(name: &str, offer: &ToolSet) -> ToolFailure {
    let message = match offer.untrusted_command(name) {
        Some(StartableWorkflow { name: flow, .. }) => {
            format!("`{flow}` is not trusted yet; ask the user to run `maestro trust {flow}` to review and allow it")
        }
        None => format!("unknown tool `{name}`"),
    };
    ToolFailure::Protocol(ErrorData::invalid_params(message, None))
}

/// The arguments of a call; errors go to the caller, and name the argument. Some models send `null` for what they leave out.
fn read<T: DeserializeOwned>(mut arguments: Json) -> Result<T, ToolFailure> {
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.retain(|_, value| !value.is_null());
    }
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let at = error.path().to_string();
        let named = if at == "." { String::new() } else { format!("`{at}`: ") };
        ToolFailure::Message(format!("the arguments do not fit: {named}{}", error.inner()))
    })
}

/// The result of a tool: text, and the same as data. The data includes the text, since some clients show their model
/// nothing else; of any other long text it has the beginning. No answer is longer than a page.
pub(super) fn tool_result(text: impl AsRef<str>, data: Json) -> CallToolResult {
    brief_result(text.as_ref(), text.as_ref(), data)
}

/// The same with another text in the data: one that refers to what the data has anyway.
pub(super) fn brief_result(text: impl AsRef<str>, brief: impl AsRef<str>, data: Json) -> CallToolResult {
    let clean = |text: &str| {
        let page = AnswerPage::of(text, 0, MOST_CHARS);
        escape_hidden(&page.with_note(|_| "ask for less".to_owned()))
    };
    let mut data = cleaned(shortened(data));
    put(&mut data, "text", json!(clean(brief.as_ref())));
    let mut result = CallToolResult::success(vec![ContentBlock::text(clean(text.as_ref()))]);
    result.structured_content = Some(data);
    result
}

/// Puts a warning before everything else that a model reads.
pub(super) fn add_warning(result: &mut CallToolResult, warning: String) {
    if let Some(data) = &mut result.structured_content {
        put(data, "warning", json!(warning));
    }
    result.content.insert(0, ContentBlock::text(warning));
}

/// Adds a field to data, which is an object.
pub(super) fn put(data: &mut Json, name: &str, value: Json) {
    if let Some(data) = data.as_object_mut() {
        data.insert(name.to_owned(), value);
    }
}

/// Text only.
pub(super) fn text_block(text: &str) -> ContentBlock {
    ContentBlock::text(escape_hidden(text))
}

/// The same data with the beginning of each long text. The text beside it has the rest.
fn shortened(data: Json) -> Json {
    match data {
        Json::String(text) if text.len() > MOST_DATA => Json::String(ellipsize(&text, MOST_DATA)),
        Json::Array(items) => items.into_iter().map(shortened).collect(),
        Json::Object(fields) => fields.into_iter().map(|(name, value)| (name, shortened(value))).collect(),
        other => other,
    }
}

/// The same data without control characters in any text.
pub(super) fn cleaned(data: Json) -> Json {
    match data {
        Json::String(text) => Json::String(escape_hidden(&text)),
        Json::Array(items) => Json::Array(items.into_iter().map(cleaned).collect()),
        Json::Object(fields) => {
            fields.into_iter().map(|(name, value)| (escape_hidden(&name), cleaned(value))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_in_a_list_is_cut() {
        let names = ["alpha", "beta", "gamma"];
        assert_eq!(whole_names(&names, 100), "alpha, beta, gamma");
        assert_eq!(whole_names(&names, 18), "alpha, beta, gamma");
        assert_eq!(whole_names(&names, 17), "alpha, beta, …");
        assert_eq!(whole_names(&names, 11), "alpha, …");
        assert_eq!(whole_names(&names, 3), "");
        assert_eq!(whole_names(&[], 9), "");
    }
}
