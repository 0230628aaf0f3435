//! Forms that show questions to the user, and the meaning of their fields.

use maestro_core::hidden_chars::escape_hidden;
use maestro_core::workflow::definition::Variable;
use maestro_core::workflow::directive::{Directive, QuestionInfo};
use maestro_core::workflow::pinned_definition::PinnedDefinition;
use maestro_core::workflow::{StepId, ValueType, Workflow, upcoming_questions};
use rmcp::ErrorData;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::super::clipped;
use super::super::internal;
use super::super::runs::RunCall;
use super::super::tools::{ToolFailure, cleaned, put};
use super::{AnswerSet, Instead, QuestionAnswer};
use maestro_api::runs::{self, RunStateQuery};

/// How many characters of text a field shows.
const TITLE: usize = 100;

/// A field of a form: its name, and the step whose question it answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::mcp) struct FormField {
    name: String,
    step: StepId,
}

/// A question, and the field of its answer.
struct FormQuestion {
    field: FormField,
    kind: ValueType,
    question: QuestionInfo,
}

/// A form with a field for each question asked at once, the one that the run waits for first.
pub(in crate::mcp) struct QuestionForm {
    asked: Vec<FormQuestion>,
}

impl QuestionForm {
    /// The form of the question that a run waits for and of those that certainly follow, so that the user is asked
    /// once. Questions that cannot be predicted are asked later.
    pub(super) async fn of(turn: &RunCall<'_>, run: &str, directive: &Directive, question: QuestionInfo) -> Self {
        let step = directive.step.id.clone();
        let mut form = Self { asked: Vec::new() };
        match current(turn, run).await {
            None => form.add(step, ValueType::Text, None, question),
            Some(workflow) => {
                let following = upcoming_questions::upcoming_questions(&workflow, &step);
                for (step, question) in std::iter::once((step, question)).chain(following) {
                    let stored = workflow.step(&step).and_then(|step| step.store.as_ref()).map(|(name, _)| name);
                    let variable = stored.and_then(|name| workflow.variable(name));
                    let kind = variable.map_or(ValueType::Text, |variable| variable.kind.clone());
                    form.add(step, kind, stored.map(ToString::to_string), question);
                }
            }
        }
        form
    }

    /// Adds a question. Its field is named after the variable of the answer, or else after its step.
    fn add(&mut self, step: StepId, kind: ValueType, stored: Option<String>, question: QuestionInfo) {
        let free = |name: &String| self.asked.iter().all(|asked| asked.field.name != *name);
        let name = stored.filter(free).unwrap_or_else(|| step.to_string());
        self.asked.push(FormQuestion { field: FormField { name, step }, kind, question });
    }

    /// Its fields, in order.
    pub(super) fn fields(&self) -> Vec<FormField> {
        self.asked.iter().map(|asked| asked.field.clone()).collect()
    }

    /// The request to the client.
    pub(super) fn request(&self) -> Result<ElicitRequestParams, ToolFailure> {
        let fields = self.asked.iter().map(|asked| (asked.field.name.clone(), asked.shape()));
        let refused = self.asked.iter().filter_map(|asked| asked.question.refused.as_deref());
        let prompts = self.asked.iter().map(|asked| asked.question.prompt.as_str());
        let message = refused.chain(prompts).collect::<Vec<_>>().join("\n");
        build_request(&message, &fields.collect()).map_err(ToolFailure::Protocol)
    }
}

impl FormQuestion {
    fn shape(&self) -> Json {
        let Self { question, kind, .. } = self;
        let mut shape = match &question.options {
            // It can be requested by itself, without its texts.
            Some(_) if *kind == ValueType::Bool => of_kind(kind),
            Some(options) if question.multiple => {
                json!({ "type": "array", "items": { "type": "string", "enum": options }, "minItems": 1 })
            }
            Some(options) => json!({ "type": "string", "enum": options }),
            None => of_kind(kind),
        };
        put(&mut shape, "title", json!(clipped(&question.prompt, TITLE)));
        let usual = question.default.as_ref().filter(|_| !question.multiple);
        // A value of another kind is not a default, either; the user decides.
        if let Some(usual) = usual.and_then(|usual| kind.admit(json!(usual), usual.len()).ok()) {
            put(&mut shape, "default", usual);
        }
        shape
    }
}

/// A form for missing required parameters.
pub(in crate::mcp) fn for_params(workflow: &str, missing: &[&Variable]) -> Result<ElicitRequestParams, ErrorData> {
    let field = |param: &&Variable| {
        let mut shape = of_kind(&param.kind);
        let about = param.description.as_deref().unwrap_or(param.name.as_str());
        put(&mut shape, "title", json!(clipped(about, TITLE)));
        (param.name.to_string(), shape)
    };
    build_request(&format!("`{workflow}` needs to know:"), &missing.iter().map(field).collect())
}

/// A form with these fields. Each is required, since an empty form hangs some clients.
fn build_request(message: &str, fields: &Map<String, Json>) -> Result<ElicitRequestParams, ErrorData> {
    let required: Vec<&String> = fields.keys().collect();
    // An option with terminal control characters cannot be chosen; it has no good purpose.
    let schema = cleaned(json!({ "type": "object", "required": required, "properties": fields }));
    let message = escape_hidden(message);
    let requested_schema: ElicitationSchema =
        serde_json::from_value(schema).map_err(|error| internal(error.to_string()))?;
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// A field for values of a kind; forms support no others.
fn of_kind(kind: &ValueType) -> Json {
    match kind {
        ValueType::Enum(values) => json!({ "type": "string", "enum": values }),
        ValueType::Int => json!({ "type": "integer" }),
        ValueType::Number => json!({ "type": "number" }),
        ValueType::Bool => json!({ "type": "boolean" }),
        ValueType::Text | ValueType::Path | ValueType::List(_) | ValueType::Object(_) => json!({ "type": "string" }),
    }
}

/// The values of the requested fields; nothing where the form came back without the answer.
pub(super) fn read_answers(result: &ElicitResult, fields: &[FormField]) -> Option<AnswerSet> {
    let (first, others) = fields.split_first()?;
    let answer = |field: &FormField| result.content.as_ref().and_then(|content| content.get(&field.name)).cloned();
    let given = match result.action {
        ElicitationAction::Decline => QuestionAnswer::Instead(Instead::Declined),
        ElicitationAction::Accept => QuestionAnswer::Value(answer(first)?),
        _ => QuestionAnswer::Instead(Instead::Cancelled),
    };
    let others = others.iter().filter_map(|field| Some((field.step.to_string(), answer(field)?)));
    Some(AnswerSet { given, others: others.collect() })
}

/// The name of a form: the step that waits for its first answer.
pub(super) fn key(fields: &[FormField]) -> &str {
    fields.first().map_or("answer", |field| field.step.as_str())
}

/// The workflow of a run.
async fn current(turn: &RunCall<'_>, run: &str) -> Option<Workflow> {
    let state = runs::state(run, RunStateQuery { pinned: Some(true) });
    // Without it the question is put in fewer words.
    let warn = |error: &dyn std::fmt::Display| tracing::warn!(run, "the workflow of a question is not known: {error}");
    let state = turn.mcp.api().call(turn.who, state).await.inspect_err(|error| warn(error)).ok()?;
    let pinned = PinnedDefinition { main: state.workflow, definitions: state.definitions? };
    let definition = pinned.definition().inspect_err(|error| warn(error)).ok()?;
    state.run.current(&definition).map(|(_, _, workflow, _)| workflow.clone())
}
