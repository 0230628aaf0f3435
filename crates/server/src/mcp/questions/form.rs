//! Forms that show questions to the user, and the meaning of their fields.

use maestro_core::hidden_chars::escape_hidden;
use maestro_core::workflow::definition::Variable;
use maestro_core::workflow::directive::{Directive, QuestionInfo};
use maestro_core::workflow::pinned_definition::PinnedDefinition;
use maestro_core::workflow::value_type::ValueLimits;
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

/// How a form says the titles of options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TitleStyle {
    /// With each value.
    WithValue,
    /// In a list beside the values, as revisions before 2025-11-25 have it.
    Beside,
}

impl TitleStyle {
    /// What a client of this revision understands.
    pub(super) fn of_revision(version: Option<&str>) -> Self {
        if version.is_some_and(|version| version < "2025-11-25") { Self::Beside } else { Self::WithValue }
    }
}

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
    limits: ValueLimits,
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
            None => form.add(step, None, question),
            Some(workflow) => {
                let following = upcoming_questions::upcoming_questions(&workflow, &step);
                for (step, question) in std::iter::once((step, question)).chain(following) {
                    let stored = workflow.step(&step).and_then(|step| step.store.as_ref()).map(|(name, _)| name);
                    let variable = stored.and_then(|name| workflow.variable(name));
                    form.add(step, variable, question);
                }
            }
        }
        form
    }

    /// Adds a question. Its field is named after the variable of the answer, or else after its step.
    fn add(&mut self, step: StepId, stored: Option<&Variable>, question: QuestionInfo) {
        let free = |name: &String| self.asked.iter().all(|asked| asked.field.name != *name);
        let name = stored.map(|variable| variable.name.to_string()).filter(free).unwrap_or_else(|| step.to_string());
        let kind = stored.map_or(ValueType::Text, |variable| variable.kind.clone());
        let limits = stored.map(|variable| variable.limits.clone()).unwrap_or_default();
        self.asked.push(FormQuestion { field: FormField { name, step }, kind, limits, question });
    }

    /// Its fields, in order.
    pub(super) fn fields(&self) -> Vec<FormField> {
        self.asked.iter().map(|asked| asked.field.clone()).collect()
    }

    /// The request to the client.
    pub(super) fn request(&self, style: TitleStyle) -> Result<ElicitRequestParams, ToolFailure> {
        let fields = self.asked.iter().map(|asked| (asked.field.name.clone(), asked.shape(style)));
        let refused = self.asked.iter().filter_map(|asked| asked.question.refused.as_deref());
        let prompts = self.asked.iter().map(|asked| asked.question.prompt.as_str());
        let message = refused.chain(prompts).collect::<Vec<_>>().join("\n");
        build_request(&message, &fields.collect()).map_err(ToolFailure::Protocol)
    }
}

impl FormQuestion {
    fn shape(&self, style: TitleStyle) -> Json {
        let Self { question, kind, limits, .. } = self;
        let is_titled = !question.titles.is_empty();
        let titled = |options: &[String]| -> Json {
            options.iter().map(|option| json!({ "const": option, "title": question.title(option) })).collect()
        };
        let mut shape = match &question.options {
            // It can be requested by itself, without its texts.
            Some(_) if *kind == ValueType::Bool => of_kind(kind),
            Some(options) if question.multiple && is_titled => {
                json!({ "type": "array", "items": { "anyOf": titled(options) }, "minItems": 1 })
            }
            Some(options) if is_titled && style == TitleStyle::Beside => {
                let names: Vec<&str> = options.iter().map(|option| question.title(option)).collect();
                json!({ "type": "string", "enum": options, "enumNames": names })
            }
            Some(options) if is_titled => json!({ "type": "string", "oneOf": titled(options) }),
            Some(options) if question.multiple => {
                json!({ "type": "array", "items": { "type": "string", "enum": options }, "minItems": 1 })
            }
            Some(options) => json!({ "type": "string", "enum": options }),
            None => limited(of_kind(kind), kind, limits),
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
        let mut shape = limited(of_kind(&param.kind), &param.kind, &param.limits);
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

/// A field with what a value must keep to, as far as forms can say it; a pattern is said in words.
fn limited(mut shape: Json, kind: &ValueType, limits: &ValueLimits) -> Json {
    let (least, most) = match kind {
        ValueType::Int | ValueType::Number => ("minimum", "maximum"),
        ValueType::Text | ValueType::Path => ("minLength", "maxLength"),
        ValueType::Bool | ValueType::Enum(_) | ValueType::List(_) | ValueType::Object(_) => return shape,
    };
    for (key, limit) in [(least, limits.min), (most, limits.max)] {
        if let Some(limit) = limit {
            put(&mut shape, key, json!(limit));
        }
    }
    if let Some(pattern) = &limits.pattern {
        put(&mut shape, "description", json!(format!("It must match {}", pattern.as_str())));
    }
    shape
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn form(question: QuestionInfo, kind: ValueType, limits: ValueLimits) -> Json {
        styled(question, kind, limits, TitleStyle::of_revision(Some("2025-11-25")))
    }

    fn styled(question: QuestionInfo, kind: ValueType, limits: ValueLimits, style: TitleStyle) -> Json {
        let step: StepId = serde_json::from_value(json!("ask")).unwrap();
        let field = FormField { name: "said".to_owned(), step };
        let form = QuestionForm { asked: vec![FormQuestion { field, kind, limits, question }] };
        let ElicitRequestParams::FormElicitationParams { requested_schema, .. } = form.request(style).ok().unwrap()
        else {
            panic!("no form")
        };
        serde_json::to_value(requested_schema).unwrap()["properties"]["said"].clone()
    }

    fn question(options: Option<Vec<String>>) -> QuestionInfo {
        let titles = BTreeMap::from([("now".to_owned(), "Merge it right away".to_owned())]);
        let titles = if options.is_some() { titles } else { BTreeMap::new() };
        QuestionInfo { prompt: "Merge?".to_owned(), options, titles, default: None, multiple: false, refused: None }
    }

    #[test]
    fn options_have_their_titles_and_fields_their_limits() {
        let options = Some(vec!["now".to_owned(), "later".to_owned()]);
        let shown = form(question(options.clone()), ValueType::Text, ValueLimits::default());
        let titled = json!([{"const": "now", "title": "Merge it right away"}, {"const": "later", "title": "later"}]);
        assert_eq!(shown["oneOf"], titled, "{shown}");
        let style = TitleStyle::of_revision(Some("2025-06-18"));
        let earlier = styled(question(options.clone()), ValueType::Text, ValueLimits::default(), style);
        assert_eq!(earlier["enum"], json!(["now", "later"]), "{earlier}");
        assert_eq!(earlier["enumNames"], json!(["Merge it right away", "later"]), "{earlier}");
        let several = QuestionInfo { multiple: true, ..question(options) };
        let shown = form(several, ValueType::List(Vec::new()), ValueLimits::default());
        assert_eq!(shown["items"]["anyOf"], titled, "{shown}");
        let limits = ValueLimits { min: Some(1), max: Some(5), pattern: None };
        let shown = form(question(None), ValueType::Int, limits.clone());
        assert_eq!((&shown["minimum"], &shown["maximum"]), (&json!(1), &json!(5)), "{shown}");
        let shown = form(question(None), ValueType::Text, limits);
        assert_eq!((&shown["minLength"], &shown["maxLength"]), (&json!(1), &json!(5)), "{shown}");
    }
}
