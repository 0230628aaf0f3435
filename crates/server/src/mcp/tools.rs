//! Tools of a client, and the dispatch of their calls.
//!
//! A few are always available and the same for every client. Workflows have tools of their own as long as the whole
//! list stays short: it takes room in every conversation of the client's model.

mod schema;

use std::collections::BTreeSet;

use maestro_api::ClientError;
use maestro_core::hidden_chars::escape_hidden;
use maestro_skills::SkillSource;
use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Tool, ToolAnnotations};
use rmcp::service::RequestContext;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

use super::client::ToolCaller;
use super::questions::CallOrigin;
use super::runs::{self, RunCall};
use super::skill_index::{StartableWorkflow, ToolSet, WorkflowActs, WorkflowKind};
use super::{McpHandler, clipped, internal, skill_tools, worker};

/// The largest list of tools, in bytes.
const BUDGET: usize = 11_800;
/// The longest name that all clients accept.
const LONGEST_NAME: usize = 64;

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

/// How detailed a workflow's tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolDetail {
    /// Its description, and those of its parameters.
    Full,
    /// A short description, and the names of its parameters.
    Brief,
}

impl ToolDetail {
    /// How many characters of a workflow's description are in its tool.
    fn description(self) -> usize {
        match self {
            Self::Full => 160,
            Self::Brief => 64,
        }
    }

    /// The largest tool, in bytes. A workflow with more parameters is started with `run_start`.
    fn largest(self) -> usize {
        match self {
            Self::Full => 750,
            Self::Brief => 420,
        }
    }
}

/// The kinds of sources of workflows, in the order of their tools.
const PLACES: [SkillSource; 5] =
    [SkillSource::Project, SkillSource::User, SkillSource::Given, SkillSource::Workspace, SkillSource::Builtin];

/// The position of a kind of source in that order.
pub(super) fn rank(source: SkillSource) -> usize {
    PLACES.iter().position(|place| *place == source).unwrap_or(PLACES.len())
}

/// All tools: the fixed ones, then those of workflows and commands, in order. All of one kind of source are detailed if
/// there is room for that, otherwise brief, as many as fit.
pub(super) fn listed(flows: &[&StartableWorkflow], prefix: &str) -> Vec<Tool> {
    let mut tools = fixed_tools();
    let mut room = BUDGET.saturating_sub(size(&tools));
    let mut names: BTreeSet<String> = tools.iter().map(|tool| tool.name.to_string()).collect();
    // Of two with one name the first is the tool; the other is started with `run_start`.
    let flows: Vec<&StartableWorkflow> =
        flows.iter().copied().filter(|flow| names.insert(format!("{prefix}{}", flow.tool_name()))).collect();
    for place in PLACES {
        let of = |manner| {
            let own = flows.iter().filter(|flow| flow.source == place);
            own.filter_map(|flow| of_flow(flow, prefix, manner)).collect::<Vec<Tool>>()
        };
        let full = of(ToolDetail::Full);
        let own = if size(&full) <= room { full } else { of(ToolDetail::Brief) };
        for tool in own {
            // A comma separates two of them.
            let Some(left) = room.checked_sub(size(&tool) + 1) else { return tools };
            room = left;
            tools.push(tool);
        }
    }
    tools
}

/// The size on the wire, in bytes.
fn size(told: &impl Serialize) -> usize {
    serde_json::to_vec(told).map_or(usize::MAX, |bytes| bytes.len())
}

fn fixed_tools() -> Vec<Tool> {
    let reads = || ToolAnnotations::new().read_only(true).open_world(false);
    let again = || ToolAnnotations::new().destructive(false).idempotent(true).open_world(false);
    // What comes next in a run may be a command or an agent.
    let any_again = || hints(WorkflowActs::Agents).idempotent(true);
    let tool = |name: &'static str, description: &'static str, schema: Map<String, Json>, hints: ToolAnnotations| {
        Tool::new(name, description, schema).with_annotations(hints)
    };
    vec![
        tool("find_skills", skill_tools::FIND, schema::find_skills(), reads()),
        tool("use_skill", skill_tools::USE, schema::use_skill(), reads()),
        tool("run_start", runs::START, schema::run_start(), hints(WorkflowActs::Agents)),
        tool("run_next", runs::NEXT, schema::run_next(), any_again()),
        tool("run_report", runs::REPORT, schema::run_report(), any_again()),
        // Without a ticket, a repeated call answers the question that is open then.
        tool("run_answer", runs::ANSWER, schema::run_answer(), hints(WorkflowActs::Agents)),
        tool("run_status", runs::STATUS, schema::run_status(), reads()),
        tool("get_task_info", worker::INFO, schema::task(), again()),
        tool("report_progress", worker::PROGRESS, schema::report_progress(), again()),
        tool("mark_subtask_complete", worker::SUBTASK, schema::mark_subtask_complete(), again()),
        tool("signal_completion", worker::COMPLETION, schema::signal_completion(), again()),
        tool("signal_blocker", worker::BLOCKER, schema::signal_blocker(), again()),
    ]
}

/// What a client should know of a tool before it asks its user. Commands and agents change files, and reach whatever
/// their network and sandbox allow, however many people consented to them.
fn hints(acts: WorkflowActs) -> ToolAnnotations {
    let acts = acts > WorkflowActs::Reads;
    ToolAnnotations::new().destructive(acts).open_world(acts)
}

/// The tool of a workflow, if clients accept its name and it is not too large.
fn of_flow(flow: &StartableWorkflow, prefix: &str, manner: ToolDetail) -> Option<Tool> {
    let name = format!("{prefix}{}", flow.tool_name());
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.len() > LONGEST_NAME || !name.chars().all(fits) {
        return None;
    }
    let about = clipped(&flow.description, manner.description());
    let description = match flow.kind() {
        WorkflowKind::Workflow => format!("Workflow: {about}"),
        WorkflowKind::Command => about,
    };
    let tool = Tool::new(name, description, schema::of_flow(flow, manner)).with_annotations(hints(flow.acts));
    (size(&tool) <= manner.largest()).then_some(tool)
}

/// Carries out a call.
pub(super) async fn call(
    mcp: &McpHandler,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    match carry_out(mcp, request, context).await {
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

/// The arguments of a call; errors go to the caller.
fn read<T: DeserializeOwned>(arguments: Json) -> Result<T, ToolFailure> {
    serde_json::from_value(arguments)
        .map_err(|error| ToolFailure::Message(format!("the arguments do not fit: {error}")))
}

/// The result of a tool: text, and the same as data. The data includes the text, since some clients show their model
/// nothing else.
pub(super) fn tool_result(text: impl AsRef<str>, data: Json) -> CallToolResult {
    let (text, mut data) = (escape_hidden(text.as_ref()), cleaned(data));
    put(&mut data, "text", json!(text));
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(data);
    result
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
