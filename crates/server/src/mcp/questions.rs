//! Questions to the user: by a result that requires input, by a request to the client, or by the model, depending on
//! the client. The run is in the same state in all three, and the answer means the same.

mod form;

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use maestro_core::settings::FormsMode;
use maestro_core::workflow::Name;
use maestro_core::workflow::directive::Directive;
use maestro_core::workflow::run::Ticket;
use maestro_core::workflow::run_reply::RunUpdate;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitResult, ElicitationAction, InputRequest, InputRequiredResult, InputResponses,
    ProtocolVersion, RequestStateCodec, SealOptions, ServerRequest,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::client::ToolCaller;
use super::runs::RunCall;
use super::tools::ToolFailure;
use super::{McpHandler, internal};
use maestro_api::runs::NoAnswer as Instead;

pub(super) use self::form::for_params;
use self::form::{FormField, QuestionForm, TitleStyle};

/// How long a client may keep a state for us.
const KEPT: Duration = Duration::from_hours(24);

/// How many bytes of earlier updates a client keeps for us.
const MOST_NEWS: usize = 16 * 1024;
/// The name for updates without room.
const EARLIER: &str = "earlier";
/// How soon a refusal cannot come from a person who read the question, in milliseconds.
const QUICKEST_MS: u64 = 500;

/// An answer, or the reason for none.
#[derive(Debug, Clone)]
pub(super) enum QuestionAnswer {
    Value(Json),
    Instead(Instead),
}

/// An answer, and those to the questions of the same form, by step.
pub(super) struct AnswerSet {
    pub(super) given: QuestionAnswer,
    pub(super) others: Map<String, Json>,
}

/// The answer in a client's next call after a question.
pub(super) enum ClientResponse {
    /// This answer.
    Answered(AnswerSet),
    /// No answer to that question.
    Missing,
    /// Not an answer, or a refusal so fast that no person can have seen the question. The model has to ask.
    Unusable,
}

/// The result of a question.
pub(super) enum AskResult {
    /// An answer.
    Answered(AnswerSet),
    /// The client asks, and calls again.
    Later(Box<InputRequiredResult>),
    /// The client cannot ask; the model has to.
    Unavailable,
}

/// A question that a client asks before it calls again.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SealedQuestion {
    pub(super) run: String,
    pub(super) ticket: Ticket,
    /// The fields of its answer, and of those asked with it.
    fields: Vec<FormField>,
    /// The steps whose early answers were used: the next call has all of them again.
    pub(super) spent: Vec<String>,
    /// The latest updates that the model has not received.
    pub(super) updates: Vec<RunUpdate>,
    /// When it was asked, in milliseconds.
    at: u64,
}

/// Which refusals do not count as the user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RefusalDoubt {
    /// All: forms are not used.
    All,
    /// Those faster than anyone reads. Clients without a user claim to support forms, and refuse.
    Haste,
    /// None.
    Nothing,
}

impl RefusalDoubt {
    async fn of(mcp: &McpHandler) -> Self {
        match mcp.skills().own_skills().await.map(|shelf| shelf.settings.mcp_forms.value) {
            Ok(FormsMode::Never) => Self::All,
            Ok(FormsMode::Always) => Self::Nothing,
            Ok(FormsMode::Auto) | Err(_) => Self::Haste,
        }
    }

    fn covers(self, answered: &AnswerSet, asked: u64) -> bool {
        self == Self::Haste
            && matches!(answered.given, QuestionAnswer::Instead(_))
            && now().saturating_sub(asked) < QUICKEST_MS
    }
}

/// The current time in milliseconds.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl SealedQuestion {
    /// The answers to the question of the client's last call, and to those asked with it.
    pub(super) async fn read_response(
        &self,
        given: &InputResponses,
        mcp: &McpHandler,
    ) -> Result<ClientResponse, ToolFailure> {
        let Some(response) = given.get(form::key(&self.fields)) else { return Ok(ClientResponse::Missing) };
        let result: ElicitResult = serde_json::from_value(response.clone()).map_err(|error| {
            ToolFailure::Protocol(ErrorData::invalid_params(format!("inputResponses: {error}"), None))
        })?;
        let doubt = RefusalDoubt::of(mcp).await;
        let answered = form::read_answers(&result, &self.fields).filter(|answered| !doubt.covers(answered, self.at));
        Ok(answered.map_or(ClientResponse::Unusable, ClientResponse::Answered))
    }
}

/// Seals states that clients keep for us, and opens those sealed here for the same call. Its key is never written down: a file
/// could be read by an agent where only Landlock holds it, and a question is asked again after a restart anyway.
#[derive(Default)]
pub(super) struct StateSeal(OnceLock<RequestStateCodec>);

impl StateSeal {
    fn codec(&self) -> Result<&RequestStateCodec, String> {
        if let Some(codec) = self.0.get() {
            return Ok(codec);
        }
        let mut key = [0_u8; 32];
        getrandom::fill(&mut key).map_err(|error| error.to_string())?;
        let codec = RequestStateCodec::try_new(key.to_vec()).map_err(|error| error.to_string())?;
        Ok(self.0.get_or_init(|| codec))
    }

    fn close(&self, open: &SealedQuestion, origin: &CallOrigin, kept: Duration) -> Result<String, String> {
        let options = SealOptions::new().associated_data(origin.0.as_bytes()).ttl(kept);
        self.codec()?.seal_json_with(open, &options).map_err(|error| error.to_string())
    }

    pub(super) fn open(&self, state: &str, origin: &CallOrigin) -> Result<SealedQuestion, ToolFailure> {
        let codec = self.codec().map_err(|error| ToolFailure::Protocol(internal(error)))?;
        codec.open_json_with(state, origin.0.as_bytes()).map_err(|error| {
            let message = format!(
                "requestState: not valid for this call, or too old: {error}; `run_status` lists the runs that wait"
            );
            ToolFailure::Protocol(ErrorData::invalid_params(message, None))
        })
    }
}

/// The identity of a call: the tool, its arguments, and the caller.
pub(super) struct CallOrigin(String);

impl CallOrigin {
    pub(super) fn of(tool: &str, arguments: &Json, who: &ToolCaller, own: Option<&str>) -> Self {
        let session = who.session().or_else(|| own.map(str::to_owned)).unwrap_or_default();
        Self(format!("{tool}\n{session}\n{}", sorted(arguments)))
    }
}

/// A value with its fields sorted by name: a client may send them in another order the next time.
fn sorted(value: &Json) -> Json {
    match value {
        Json::Array(items) => items.iter().map(sorted).collect(),
        Json::Object(fields) => {
            let fields: BTreeMap<&String, Json> = fields.iter().map(|(name, value)| (name, sorted(value))).collect();
            json!(fields)
        }
        other => other.clone(),
    }
}

/// The answers of forms that a client fills in before it is asked, by the step that asks: as far as a form has one field.
pub(super) fn early_answers(given: &InputResponses) -> Map<String, Json> {
    let answer = |(step, form): (&String, &Json)| {
        let form: ElicitResult = serde_json::from_value(form.clone()).ok()?;
        let content = form.content.filter(|_| form.action == ElicitationAction::Accept)?;
        match content.as_object()?.values().collect::<Vec<_>>().as_slice() {
            [value] => Some((step.clone(), (*value).clone())),
            _ => None,
        }
    };
    given.iter().filter_map(answer).collect()
}

/// Whether a client claims to support forms. A client that names neither way to ask means forms, as these once were the
/// only way.
pub(super) fn has_forms(context: &RequestContext<RoleServer>) -> bool {
    let abilities = context.client_capabilities().and_then(|client| client.elicitation);
    abilities.is_some_and(|can| can.form.is_some() || can.url.is_none())
}

/// Whether a client uses the current protocol: the result contains the question, and the client calls again.
pub(super) fn supports_input_results(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

/// The latest updates that fit into a state, and how much was left out.
fn latest(updates: &[RunUpdate]) -> Vec<RunUpdate> {
    let mut room = MOST_NEWS;
    let size = |update: &RunUpdate| serde_json::to_vec(update).map_or(0, |bytes| bytes.len());
    let fits = |update: &&RunUpdate| {
        room = room.saturating_sub(size(update));
        room > 0
    };
    let kept = updates.iter().rev().take_while(fits).count();
    let (left, latest) = updates.split_at(updates.len() - kept);
    let bytes = left.iter().map(size).sum();
    let cut = Name::parse(EARLIER).ok().filter(|_| !left.is_empty()).map(|name| RunUpdate::Cut { name, bytes });
    cut.into_iter().chain(latest.iter().cloned()).collect()
}

/// Asks in the way the client supports.
pub(super) async fn ask(turn: &RunCall<'_>, run: &str, directive: &Directive) -> Result<AskResult, ToolFailure> {
    let Some(question) = directive.question.clone() else { return Ok(AskResult::Unavailable) };
    if !has_forms(turn.context) {
        return Ok(AskResult::Unavailable);
    }
    let (doubt, unseen) = (RefusalDoubt::of(turn.mcp).await, &turn.mcp.link.unseen);
    if doubt == RefusalDoubt::All || (doubt == RefusalDoubt::Haste && unseen.load(Ordering::Relaxed)) {
        return Ok(AskResult::Unavailable);
    }
    let form = QuestionForm::of(turn, run, directive, question).await;
    let version = turn.context.protocol_version();
    let style = TitleStyle::of_revision(version.as_ref().map(ProtocolVersion::as_str));
    let (fields, request) = (form.fields(), ElicitRequest::new(form.request(style)?));
    if supports_input_results(turn.context) {
        let requests = BTreeMap::from([(form::key(&fields).to_owned(), InputRequest::Elicitation(request))]);
        let (ticket, spent, updates) = (directive.ticket.clone(), turn.spent.clone(), latest(&turn.updates));
        let open = SealedQuestion { run: run.to_owned(), ticket, fields, spent, updates, at: now() };
        let state = turn.mcp.parts.seal.close(&open, &turn.origin, KEPT);
        let state = state.map_err(|error| ToolFailure::Protocol(internal(error)))?;
        return Ok(AskResult::Later(Box::new(InputRequiredResult::new(Some(requests), Some(state)))));
    }
    let at = now();
    let asking = turn.context.peer.send_request(ServerRequest::ElicitRequest(request));
    tokio::select! {
        // The run stays where it is: it can be answered later.
        () = turn.context.ct.cancelled() => Err(ToolFailure::Message("the call was cancelled".to_owned())),
        answered = asking => match answered {
            Ok(ClientResult::ElicitResult(result)) => {
                let Some(answered) = form::read_answers(&result, &fields) else { return Ok(AskResult::Unavailable) };
                if doubt.covers(&answered, at) {
                    unseen.store(true, Ordering::Relaxed);
                    return Ok(AskResult::Unavailable);
                }
                Ok(AskResult::Answered(answered))
            }
            // A client that claimed to support questions, and does not.
            Ok(_) | Err(_) => Ok(AskResult::Unavailable),
        },
    }
}

#[cfg(test)]
mod tests {
    use maestro_core::workflow::StepId;

    use super::*;

    #[test]
    fn a_state_that_was_kept_too_long_or_belongs_to_another_call_is_refused() {
        let seal = StateSeal::default();
        let ticket: Ticket = serde_json::from_value(json!("which#1.abcdef")).unwrap();
        let (fields, spent, updates) = (Vec::new(), Vec::new(), Vec::new());
        let open = SealedQuestion { run: "r".to_owned(), ticket, fields, spent, updates, at: 0 };
        let nobody = ToolCaller::default();
        let origin = |tool: &str, who: &str| CallOrigin::of(tool, &json!({ "who": who }), &nobody, None);
        let state = seal.close(&open, &origin("paint", "Ada"), KEPT).unwrap();
        assert_eq!(seal.open(&state, &origin("paint", "Ada")).ok().unwrap().run, "r");
        assert!(StateSeal::default().open(&state, &origin("paint", "Ada")).is_err(), "another process has another key");
        for other in [origin("paint", "Bob"), origin("run_start", "Ada")] {
            assert!(matches!(seal.open(&state, &other), Err(ToolFailure::Protocol(_))));
        }
        let spent = seal.close(&open, &origin("paint", "Ada"), Duration::ZERO).unwrap();
        // It is valid until its last millisecond is over.
        std::thread::sleep(Duration::from_millis(2));
        let refused = seal.open(&spent, &origin("paint", "Ada"));
        let Err(ToolFailure::Protocol(error)) = refused else { panic!("an old state was taken") };
        assert!(error.message.contains("expired"), "{error}");
    }

    #[test]
    fn what_has_no_room_in_a_state_is_told_of() {
        let step: StepId = serde_json::from_value(json!("say")).unwrap();
        let said = |text: String| RunUpdate::Shown { step: step.clone(), text, authored: Vec::new() };
        let short = [said("one".to_owned()), said("two".to_owned())];
        assert_eq!(latest(&short), short);
        let long = [said("x".repeat(MOST_NEWS)), said("two".to_owned())];
        let kept = latest(&long);
        assert!(matches!(&kept[0], RunUpdate::Cut { bytes, .. } if *bytes > MOST_NEWS), "{kept:?}");
        assert_eq!(kept[1..], long[1..]);
    }
}
