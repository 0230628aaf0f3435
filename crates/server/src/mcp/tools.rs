//! Which tools does a client see, and what does a call of one do?
//!
//! A few are always there and the same for everybody. Workflows have tools of their own as long as all of them together
//! stay short: what a client is told here takes room in every conversation of its model.

mod schema;

use std::collections::BTreeSet;

use maestro_api::ClientError;
use maestro_core::visible::visible;
use maestro_skills::Source;
use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Tool, ToolAnnotations};
use rmcp::service::RequestContext;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

use super::client::Who;
use super::library::{Flow, FlowKind, Offer};
use super::questions::Origin;
use super::runs::{self, Turn};
use super::{Mcp, clipped, internal, reading, worker};

/// How many bytes the list of all tools may have.
const BUDGET: usize = 11_800;
/// The longest name that all clients take.
const LONGEST_NAME: usize = 64;

/// Why a tool did not do what it was called for. Its caller reads it, and may do better.
pub(super) enum Failure {
    /// Said to whoever called.
    Told(String),
    /// Not a call at all: no such tool, or a state that is not ours.
    Protocol(ErrorData),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self::Told(error.to_string())
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Told(message)
    }
}

/// How much is told of a workflow's tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// What it does, and what its parameters mean.
    Full,
    /// What it does in a few words, and its parameters' names.
    Brief,
}

impl Manner {
    /// How many characters of a workflow's description are told with its tool.
    fn description(self) -> usize {
        match self {
            Self::Full => 160,
            Self::Brief => 64,
        }
    }

    /// How many bytes one tool may have. Who wants so many parameters is begun with `run_start`.
    fn largest(self) -> usize {
        match self {
            Self::Full => 750,
            Self::Brief => 420,
        }
    }
}

/// The kinds of places that workflows come from, in the order in which their tools are listed.
const PLACES: [Source; 5] = [Source::Project, Source::User, Source::Given, Source::Workspace, Source::Builtin];

/// The place of a kind of place in that order.
pub(super) fn rank(source: Source) -> usize {
    PLACES.iter().position(|place| *place == source).unwrap_or(PLACES.len())
}

/// All tools: those that are always there, then those of workflows and commands, in their order. All of a kind of place are
/// told in full if there is room for that, else in brief, as many as have room.
pub(super) fn listed(flows: &[&Flow], prefix: &str) -> Vec<Tool> {
    let mut tools = steady();
    let mut room = BUDGET.saturating_sub(size(&tools));
    let mut names: BTreeSet<String> = tools.iter().map(|tool| tool.name.to_string()).collect();
    // Of two of one name the first is the tool; the other is begun with `run_start`.
    let flows: Vec<&Flow> =
        flows.iter().copied().filter(|flow| names.insert(format!("{prefix}{}", flow.tool()))).collect();
    for place in PLACES {
        let of = |manner| {
            let own = flows.iter().filter(|flow| flow.source == place);
            own.filter_map(|flow| of_flow(flow, prefix, manner)).collect::<Vec<Tool>>()
        };
        let full = of(Manner::Full);
        let own = if size(&full) <= room { full } else { of(Manner::Brief) };
        for tool in own {
            // Between two of them stands a comma.
            let Some(left) = room.checked_sub(size(&tool) + 1) else { return tools };
            room = left;
            tools.push(tool);
        }
    }
    tools
}

/// How many bytes something takes on the wire.
fn size(told: &impl Serialize) -> usize {
    serde_json::to_vec(told).map_or(usize::MAX, |bytes| bytes.len())
}

fn steady() -> Vec<Tool> {
    let reads = || ToolAnnotations::new().read_only(true).open_world(false);
    let again = || ToolAnnotations::new().destructive(false).idempotent(true).open_world(false);
    let tool = |name: &'static str, description: &'static str, schema: Map<String, Json>, hints: ToolAnnotations| {
        Tool::new(name, description, schema).with_annotations(hints)
    };
    vec![
        tool("find_skills", reading::FIND, schema::find_skills(), reads()),
        tool("use_skill", reading::USE, schema::use_skill(), reads()),
        tool("run_start", runs::START, schema::run_start(), steps()),
        tool("run_next", runs::NEXT, schema::run_next(), again()),
        tool("run_report", runs::REPORT, schema::run_report(), again()),
        // Without a ticket the same again answers what is asked then.
        tool("run_answer", runs::ANSWER, schema::run_answer(), steps()),
        tool("run_status", runs::STATUS, schema::run_status(), reads()),
        tool("get_task_info", worker::INFO, schema::task(), again()),
        tool("report_progress", worker::PROGRESS, schema::report_progress(), again()),
        tool("mark_subtask_complete", worker::SUBTASK, schema::mark_subtask_complete(), again()),
        tool("signal_completion", worker::COMPLETION, schema::signal_completion(), again()),
        tool("signal_blocker", worker::BLOCKER, schema::signal_blocker(), again()),
    ]
}

/// What is executed was allowed by somebody, in bounds, or comes with us.
fn steps() -> ToolAnnotations {
    ToolAnnotations::new().destructive(false).open_world(false)
}

/// The tool of a workflow, if clients take its name and it does not take more room than it is worth.
fn of_flow(flow: &Flow, prefix: &str, manner: Manner) -> Option<Tool> {
    let name = format!("{prefix}{}", flow.tool());
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.len() > LONGEST_NAME || !name.chars().all(fits) {
        return None;
    }
    let about = clipped(&flow.description, manner.description());
    let description = match flow.kind() {
        FlowKind::Workflow => format!("Workflow: {about}"),
        FlowKind::Command => about,
    };
    // The same as of `run_start`, which does the same: some clients ask about every call of a tool that does not say so.
    let tool = Tool::new(name, description, schema::of_flow(flow, manner)).with_annotations(steps());
    (size(&tool) <= manner.largest()).then_some(tool)
}

/// Carries out a call.
pub(super) async fn call(
    mcp: &Mcp,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    match carry_out(mcp, request, context).await {
        Ok(response) => Ok(response),
        Err(Failure::Told(message)) => Ok(CallToolResult::error(vec![words(&message)]).into()),
        Err(Failure::Protocol(error)) => Err(error),
    }
}

async fn carry_out(
    mcp: &Mcp,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, Failure> {
    let who = Who::of(&context.extensions);
    let name = request.name.to_string();
    let arguments = Json::Object(request.arguments.unwrap_or_default());
    let state = request.request_state.as_deref();
    let given = request.input_responses.unwrap_or_default();
    let origin = Origin::of(&name, &arguments, &who, mcp.parts.session.as_deref());
    let turn = || Turn::new(mcp, &who, context, origin, state, given);
    match name.as_str() {
        "find_skills" => reading::find(mcp, &who, read(arguments)?).await.map(Into::into),
        "use_skill" => reading::read(mcp, &who, read(arguments)?).await.map(Into::into),
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
            let unheard = |error| Failure::Protocol(internal(error));
            let mut offer = mcp.library().offer().await.map_err(unheard)?;
            if offer.flow(other).is_none() {
                mcp.library().look_again().await.map_err(unheard)?;
                offer = mcp.library().offer().await.map_err(unheard)?;
            }
            let flow = offer.flow(other).ok_or_else(|| no_tool(other, &offer))?;
            turn()?.start_own(flow, arguments).await
        }
    }
}

/// That a name is no tool's, or not yet.
fn no_tool(name: &str, offer: &Offer) -> Failure {
    let message = match offer.forbidden(name) {
        Some(Flow { name: flow, .. }) => {
            format!(
                "nobody has allowed `{flow}`; ask the user to run `maestro trust {flow}`, which shows what it executes"
            )
        }
        None => format!("there is no tool `{name}`"),
    };
    Failure::Protocol(ErrorData::invalid_params(message, None))
}

/// The arguments of a call; what is wrong with them is told to whoever called.
fn read<T: DeserializeOwned>(arguments: Json) -> Result<T, Failure> {
    serde_json::from_value(arguments).map_err(|error| Failure::Told(format!("the arguments do not fit: {error}")))
}

/// What a tool answers: words, and the same for programs. The words are among the data, too, since some clients show their
/// model nothing but those.
pub(super) fn told(text: impl AsRef<str>, data: Json) -> CallToolResult {
    let (text, mut data) = (visible(text.as_ref()), cleaned(data));
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

/// Words alone.
pub(super) fn words(text: &str) -> ContentBlock {
    ContentBlock::text(visible(text))
}

/// The same data with nothing of that kind in any text.
pub(super) fn cleaned(data: Json) -> Json {
    match data {
        Json::String(text) => Json::String(visible(&text)),
        Json::Array(items) => Json::Array(items.into_iter().map(cleaned).collect()),
        Json::Object(fields) => fields.into_iter().map(|(name, value)| (visible(&name), cleaned(value))).collect(),
        other => other,
    }
}
