//! How is the user asked? By a result that wants input, by a request to the client, or by the model, whichever the client
//! can do. The run is at the same place in all three, and the answer means the same.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use maestro_core::workflow::directive::{Directive, QuestionInfo};
use maestro_core::workflow::run::Ticket;
use rmcp::ErrorData;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
    InputRequiredResult, InputResponses, RequestStateCodec, SealOptions,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::desk::Who;
use super::internal;
use super::runs::Turn;
use super::tools::Failure;

/// How long a client may keep a state for us.
const KEPT: Duration = Duration::from_hours(24);
/// The name of the one field of a form.
const FIELD: &str = "answer";

/// What states are sealed with; the same after a restart. It is asked for when it is first needed.
pub type Secret = Arc<dyn Fn() -> Result<Vec<u8>, String> + Send + Sync>;

/// An answer, or why there is none.
#[derive(Debug)]
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

/// What came of asking.
pub(super) enum Asked {
    /// An answer.
    Answered(Given),
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
    let form = form(question)?;
    if turn.context.protocol_version().is_some_and(|version| !version.has_initialize()) {
        let open = Open { run: run.to_owned(), ticket: directive.ticket.clone() };
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
    let asking = turn.context.peer.create_elicitation(form);
    tokio::select! {
        // The run stays where it is: somebody may answer it later.
        () = turn.context.ct.cancelled() => Err(Failure::Told("the call was cancelled".to_owned())),
        answered = asking => match answered {
            Ok(result) => understood(&result).map(Asked::Answered),
            // A client that said that it can ask, and cannot.
            Err(_) => Ok(Asked::Nobody),
        },
    }
}

/// What the client answers that was asked before, if it did.
pub(super) fn responded(given: &InputResponses) -> Result<Option<Given>, Failure> {
    let Some(response) = given.get(FIELD) else { return Ok(None) };
    let result: ElicitResult = serde_json::from_value(response.clone())
        .map_err(|error| Failure::Protocol(ErrorData::invalid_params(format!("inputResponses: {error}"), None)))?;
    understood(&result).map(Some)
}

fn understood(result: &ElicitResult) -> Result<Given, Failure> {
    Ok(match result.action {
        ElicitationAction::Decline => Given::Instead(Instead::Declined),
        ElicitationAction::Accept => {
            let value = result.content.as_ref().and_then(|content| content.get(FIELD)).cloned();
            Given::Value(value.ok_or_else(|| Failure::Told(format!("the form came back without `{FIELD}`")))?)
        }
        _ => Given::Instead(Instead::Cancelled),
    })
}

/// The form of a question: one field, which is required, since an empty form hangs some clients.
fn form(question: &QuestionInfo) -> Result<ElicitRequestParams, Failure> {
    let mut field = match (&question.options, question.multiple) {
        (Some(options), true) => {
            json!({ "type": "array", "items": { "type": "string", "enum": options }, "minItems": 1 })
        }
        (Some(options), false) => json!({ "type": "string", "enum": options }),
        (None, _) => json!({ "type": "string" }),
    };
    field["title"] = json!("Answer");
    if let Some(usual) = question.default.as_ref().filter(|_| !question.multiple) {
        field["default"] = json!(usual);
    }
    let schema = json!({ "type": "object", "properties": { FIELD: field }, "required": [FIELD] });
    let requested_schema: ElicitationSchema =
        serde_json::from_value(schema).map_err(|error| Failure::Protocol(internal(error.to_string())))?;
    let message = match &question.refused {
        Some(refused) => format!("{refused}\n{}", question.prompt),
        None => question.prompt.clone(),
    };
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}
