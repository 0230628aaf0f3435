//! How is the user asked? By a result that wants input, by a request to the client, or by the model, whichever the client
//! can do. The run is at the same place in all three, and the answer means the same.

mod form;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use maestro_core::workflow::directive::Directive;
use maestro_core::workflow::run::Ticket;
use rmcp::ErrorData;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitResult, InputRequest, InputRequiredResult, InputResponses, RequestStateCodec,
    SealOptions, ServerRequest,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::desk::Who;
use super::internal;
use super::runs::Turn;
use super::tools::Failure;

use self::form::{Field, Form};

/// How long a client may keep a state for us.
const KEPT: Duration = Duration::from_hours(24);

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
    /// The fields that it is answered in, and those that were asked for with it.
    fields: Vec<Field>,
}

impl Open {
    /// What the client answers that was asked, if it did, and what it answers to the questions that follow.
    pub(super) fn responded(&self, given: &InputResponses) -> Result<Option<Answered>, Failure> {
        let Some(response) = given.get(form::key(&self.fields)) else { return Ok(None) };
        let result: ElicitResult = serde_json::from_value(response.clone())
            .map_err(|error| Failure::Protocol(ErrorData::invalid_params(format!("inputResponses: {error}"), None)))?;
        form::understood(&result, &self.fields).map(Some)
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
    let Some(question) = directive.question.clone() else { return Ok(Asked::Nobody) };
    let abilities = turn.context.client_capabilities().and_then(|client| client.elicitation);
    // Who says nothing of the two ways means forms, as there was only that once.
    if !abilities.is_some_and(|can| can.form.is_some() || can.url.is_none()) {
        return Ok(Asked::Nobody);
    }
    let form = Form::of(turn, run, directive, question).await;
    let (fields, request) = (form.fields(), ElicitRequest::new(form.request()?));
    if turn.context.protocol_version().is_some_and(|version| !version.has_initialize()) {
        let requests = BTreeMap::from([(form::key(&fields).to_owned(), InputRequest::Elicitation(request))]);
        let open = Open { run: run.to_owned(), ticket: directive.ticket.clone(), fields };
        let state = turn.mcp.parts.seal.close(&open, turn.tool, turn.who);
        let state = state.map_err(|error| Failure::Protocol(internal(error)))?;
        return Ok(Asked::Later(Box::new(InputRequiredResult::new(Some(requests), Some(state)))));
    }
    let asking = turn.context.peer.send_request(ServerRequest::ElicitRequest(request));
    tokio::select! {
        // The run stays where it is: somebody may answer it later.
        () = turn.context.ct.cancelled() => Err(Failure::Told("the call was cancelled".to_owned())),
        answered = asking => match answered {
            Ok(ClientResult::ElicitResult(result)) => form::understood(&result, &fields).map(Asked::Answered),
            // A client that said that it can ask, and cannot.
            Ok(_) | Err(_) => Ok(Asked::Nobody),
        },
    }
}
