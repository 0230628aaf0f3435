//! How is the user asked? By a result that wants input, by a request to the client, or by the model, whichever the client
//! can do. The run is at the same place in all three, and the answer means the same.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use maestro_core::workflow::StepId;
use maestro_core::workflow::directive::{Directive, QuestionInfo};
use maestro_core::workflow::foresight;
use maestro_core::workflow::pinned::{Pinned, PinnedText};
use maestro_core::workflow::run::{Run, Ticket};
use rmcp::ErrorData;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
    InputRequiredResult, InputResponses, RequestStateCodec, SealOptions, ServerRequest,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::desk::{Who, escaped};
use super::runs::Turn;
use super::tools::Failure;
use super::{clipped, internal};

/// How long a client may keep a state for us.
const KEPT: Duration = Duration::from_hours(24);
/// The name of the first field of a form; the others have their number behind it.
const FIELD: &str = "answer";

/// What states are sealed with; the same after a restart. It is asked for when it is first needed.
pub type Secret = Arc<dyn Fn() -> Result<Vec<u8>, String> + Send + Sync>;

/// An answer, or why there is none.
#[derive(Debug, Clone)]
pub(super) enum Given {
    Value(Json),
    Instead(Instead),
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Instead {
    Declined,
    Cancelled,
}

/// An answer, and those to the questions that were asked with it, by their steps.
pub(super) struct Answered {
    pub(super) given: Given,
    pub(super) others: Map<String, Json>,
}

/// What came of asking.
pub(super) enum Asked {
    /// An answer.
    Answered(Answered),
    /// The client asks, and calls again.
    Later(Box<InputRequiredResult>),
    /// The client cannot ask; the model has to.
    Nobody,
}

/// A question that a client asks before it calls again.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Open {
    pub(super) run: String,
    pub(super) ticket: Ticket,
    /// The steps of the questions that were asked with it.
    following: Vec<StepId>,
}

impl Open {
    /// What the client answers that was asked, if it did, and what it answers to the questions that follow.
    pub(super) fn responded(&self, given: &InputResponses) -> Result<Option<Answered>, Failure> {
        let Some(response) = given.get(FIELD) else { return Ok(None) };
        let result: ElicitResult = serde_json::from_value(response.clone())
            .map_err(|error| Failure::Protocol(ErrorData::invalid_params(format!("inputResponses: {error}"), None)))?;
        understood(&result, &self.following).map(Some)
    }
}

/// Seals states that clients keep for us, and opens what was sealed here for the same tool and the same caller.
pub(super) struct Seal {
    secret: Secret,
    codec: OnceLock<RequestStateCodec>,
}

impl Seal {
    pub(super) fn new(secret: Secret) -> Self {
        Self { secret, codec: OnceLock::new() }
    }

    fn codec(&self) -> Result<&RequestStateCodec, String> {
        if let Some(codec) = self.codec.get() {
            return Ok(codec);
        }
        let codec = RequestStateCodec::try_new((self.secret)()?).map_err(|error| error.to_string())?;
        Ok(self.codec.get_or_init(|| codec))
    }

    fn close(&self, open: &Open, tool: &str, who: &Who) -> Result<String, String> {
        let whose = whose(tool, who);
        let options = SealOptions::new().associated_data(whose.as_bytes()).ttl(KEPT);
        self.codec()?.seal_json_with(open, &options).map_err(|error| error.to_string())
    }

    pub(super) fn open(&self, state: &str, tool: &str, who: &Who) -> Result<Open, Failure> {
        let codec = self.codec().map_err(|error| Failure::Protocol(internal(error)))?;
        codec.open_json_with(state, whose(tool, who).as_bytes()).map_err(|error| {
            let message = format!("requestState: it was not made here for `{tool}`, or is too old: {error}");
            Failure::Protocol(ErrorData::invalid_params(message, None))
        })
    }
}

fn whose(tool: &str, who: &Who) -> String {
    format!("{tool}\n{}", who.session().unwrap_or_default())
}

/// Asks by whatever the client can do.
pub(super) async fn ask(turn: &Turn<'_>, run: &str, directive: &Directive) -> Result<Asked, Failure> {
    let Some(question) = &directive.question else { return Ok(Asked::Nobody) };
    let abilities = turn.context.client_capabilities().and_then(|client| client.elicitation);
    // Who says nothing of the two ways means forms, as there was only that once.
    if !abilities.is_some_and(|can| can.form.is_some() || can.url.is_none()) {
        return Ok(Asked::Nobody);
    }
    let following = following(turn, run, &directive.step.id).await.unwrap_or_default();
    let steps: Vec<StepId> = following.iter().map(|(step, _)| step.clone()).collect();
    let form = form(question, &following)?;
    if turn.context.protocol_version().is_some_and(|version| !version.has_initialize()) {
        let open = Open { run: run.to_owned(), ticket: directive.ticket.clone(), following: steps };
        let state = turn
            .mcp
            .parts
            .seal
            .close(&open, turn.tool, turn.who)
            .map_err(|error| Failure::Protocol(internal(error)))?;
        let request = InputRequest::Elicitation(ElicitRequest::new(form));
        let requests = BTreeMap::from([(FIELD.to_owned(), request)]);
        return Ok(Asked::Later(Box::new(InputRequiredResult::new(Some(requests), Some(state)))));
    }
    let asking = turn.context.peer.send_request(ServerRequest::ElicitRequest(ElicitRequest::new(form)));
    tokio::select! {
        // The run stays where it is: somebody may answer it later.
        () = turn.context.ct.cancelled() => Err(Failure::Told("the call was cancelled".to_owned())),
        answered = asking => match answered {
            Ok(ClientResult::ElicitResult(result)) => understood(&result, &steps).map(Asked::Answered),
            // A client that said that it can ask, and cannot.
            Ok(_) | Err(_) => Ok(Asked::Nobody),
        },
    }
}

/// The questions that certainly follow, so that the user is asked once. Where that cannot be found out, they are asked then.
async fn following(turn: &Turn<'_>, run: &str, step: &StepId) -> Option<Vec<(StepId, QuestionInfo)>> {
    #[derive(Deserialize)]
    struct State {
        workflow: String,
        run: Run,
        definitions: BTreeMap<String, PinnedText>,
    }
    let path = format!("/api/runs/{}/state?pinned=true", escaped(run));
    let state: State = turn.mcp.desk().get(turn.who, &path).await.ok()?;
    let definition = Pinned { main: state.workflow, definitions: state.definitions }.definition().ok()?;
    let (_, _, workflow, _) = state.run.current(&definition)?;
    Some(foresight::following(workflow, step))
}

/// The name of a field of a form, by its place from 0.
fn field(place: usize) -> String {
    if place == 0 { FIELD.to_owned() } else { format!("{FIELD}_{}", place + 1) }
}

/// The answer, and those to the questions at these steps, which were asked with it.
fn understood(result: &ElicitResult, following: &[StepId]) -> Result<Answered, Failure> {
    let answer = |place: usize| result.content.as_ref().and_then(|content| content.get(field(place))).cloned();
    let given = match result.action {
        ElicitationAction::Decline => Given::Instead(Instead::Declined),
        ElicitationAction::Accept => {
            Given::Value(answer(0).ok_or_else(|| Failure::Told(format!("the form came back without `{FIELD}`")))?)
        }
        _ => Given::Instead(Instead::Cancelled),
    };
    let others = following.iter().enumerate().filter_map(|(place, step)| Some((step.to_string(), answer(place + 1)?)));
    Ok(Answered { given, others: others.collect() })
}

/// The form of a question and of those that follow: a field each, which is required, since an empty form hangs some clients.
fn form(question: &QuestionInfo, following: &[(StepId, QuestionInfo)]) -> Result<ElicitRequestParams, Failure> {
    let all: Vec<&QuestionInfo> = std::iter::once(question).chain(following.iter().map(|(_, next)| next)).collect();
    let named = |(place, question): (usize, &&QuestionInfo)| (field(place), shape(question));
    let properties: Map<String, Json> = all.iter().enumerate().map(named).collect();
    let required: Vec<String> = (0..all.len()).map(field).collect();
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let requested_schema: ElicitationSchema =
        serde_json::from_value(schema).map_err(|error| Failure::Protocol(internal(error.to_string())))?;
    let refused = question.refused.as_deref();
    let message = refused.into_iter().chain(all.iter().map(|question| question.prompt.as_str()));
    let message = message.collect::<Vec<_>>().join("\n");
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// The field of a question.
fn shape(question: &QuestionInfo) -> Json {
    let mut field = match (&question.options, question.multiple) {
        (Some(options), true) => {
            json!({ "type": "array", "items": { "type": "string", "enum": options }, "minItems": 1 })
        }
        (Some(options), false) => json!({ "type": "string", "enum": options }),
        (None, _) => json!({ "type": "string" }),
    };
    field["title"] = json!(clipped(&question.prompt, 100));
    if let Some(usual) = question.default.as_ref().filter(|_| !question.multiple) {
        field["default"] = json!(usual);
    }
    field
}
