//! Parts of a directive that follow from the definition, with its templates filled or as they are written.

use serde_json::{Map, Value as Json, json};

use super::text_section::text_section;
use super::{Directive, DirectiveText, ExpectedText, ResourceText, RunProgress, StepInfo, StepRound};
use crate::workflow::definition::{
    AgentStep, ExpectedTemplate, PlacedValue, ReviewStage, TextResource, Workflow, WorkflowStep,
};
use crate::workflow::name::Name;
use crate::workflow::run::Ticket;
use crate::workflow::template::{Template, TextSpan};
use crate::workflow::value_type::{MAX_OUTPUT, ResultField, ValueType, value_text};

/// A step, and what its templates say.
pub(in crate::workflow) struct StepText<'t> {
    pub(in crate::workflow) workflow: &'t Workflow,
    pub(in crate::workflow) step: &'t WorkflowStep,
    /// A template as text.
    pub(in crate::workflow) text: &'t dyn Fn(&PlacedValue<Template>) -> String,
    /// The parts of the text that the template itself says.
    pub(in crate::workflow) authored: &'t dyn Fn(&PlacedValue<Template>) -> Vec<TextSpan>,
    /// A template as a value.
    pub(in crate::workflow) value: &'t dyn Fn(&PlacedValue<Template>) -> Json,
}

impl StepText<'_> {
    /// A directive that asks for nothing yet.
    pub(in crate::workflow) fn directive(&self, round: StepRound) -> Directive {
        let (number, total) = (self.workflow.number(&self.step.id).unwrap_or_default(), self.workflow.steps.len());
        let mut directive = Directive {
            run: String::new(),
            ticket: Ticket::quoted(""),
            workflow: self.workflow.name.clone(),
            step: StepInfo {
                id: self.step.id.clone(),
                title: self.step.title.clone(),
                brief: self.step.description.as_ref().map(self.text),
                phase: self.step.phase.clone(),
                number,
                total,
            },
            round,
            actions: Vec::new(),
            data: Map::new(),
            resources: Vec::new(),
            forbidden: Vec::new(),
            expected: ExpectedText::List(Vec::new()),
            result: Map::new(),
            outcomes: Vec::new(),
            dispatches: Vec::new(),
            question: None,
            report: Vec::new(),
            progress: RunProgress {
                first: number == 1,
                visited: 0,
                total,
                transitions: 0,
                limit: self.workflow.max_transitions,
            },
            authored: Vec::new(),
        };
        if let Some(brief) = &self.step.description {
            directive.add_authored(DirectiveText::Brief, (self.authored)(brief));
        }
        directive
    }

    /// Adds the instructions of an agent.
    pub(in crate::workflow) fn instruct(&self, directive: &mut Directive, agent: &AgentStep) {
        let all = |texts: &[PlacedValue<Template>]| texts.iter().map(self.text).collect();
        directive.actions = all(&agent.actions);
        for (index, action) in agent.actions.iter().enumerate() {
            directive.add_authored(DirectiveText::Action(index), (self.authored)(action));
        }
        // A variable without a value is no material.
        let is_given = |value: &Json| !value.is_null() && value.as_str() != Some("");
        let data = agent.data.iter().map(|(name, template)| (name.to_string(), (self.value)(template)));
        directive.data = data.filter(|(_, value)| is_given(value)).collect();
        let text =
            |name: &Name| self.workflow.resources.get(name).map(|known| self.resource(known)).unwrap_or_default();
        let resource = |name: &Name| ResourceText { name: name.clone(), content: text(name) };
        directive.resources = agent.resources.iter().map(|(name, _)| resource(name)).collect();
        directive.forbidden = all(&agent.forbidden);
        directive.expected = match &agent.expected {
            ExpectedTemplate::List(items) => ExpectedText::List(all(items)),
            ExpectedTemplate::Verdict { if_pass, when_issues, categories } => ExpectedText::Verdict {
                if_pass: if_pass.as_ref().map(self.text),
                when_issues: when_issues.as_ref().map(self.text),
                categories: all(categories),
            },
        };
        directive.result = self.result(&agent.result);
    }

    /// The text of a resource, or of the section that is given of it.
    fn resource(&self, resource: &TextResource) -> String {
        let heading = resource.section.as_ref().map(self.text);
        let section = heading.and_then(|heading| text_section(&resource.text, &heading));
        section.unwrap_or_else(|| resource.text.clone())
    }

    /// The fields of a result as they are declared, with those a review asks for.
    pub(in crate::workflow) fn result(&self, fields: &[ResultField]) -> Map<String, Json> {
        let mut schema = fields_schema(fields);
        let Some(part) = self.step.work.review() else { return schema };
        let Some(described) = review_items_key(part.part) else { return schema };
        let mut items = Map::from_iter([("type".to_owned(), json!("list"))]);
        if let (ReviewStage::Decompose, Some(review)) = (part.part, self.workflow.reviews.get(&part.review)) {
            items.insert("max_items".to_owned(), json!(review.max_items));
        }
        items.insert("description".to_owned(), json!(described));
        schema.insert("items".to_owned(), Json::Object(items));
        schema
    }
}

/// What the items are that a part of a review reports.
pub(super) fn review_items_key(part: ReviewStage) -> Option<&'static str> {
    match part {
        ReviewStage::Decompose => Some("each {id, scope, check, severity: MUST|SHOULD|COULD}"),
        ReviewStage::Verify => Some("each {id, status: pass|fail, evidence, finding}"),
        ReviewStage::Fix => None,
    }
}

/// Fields as the definition declares them.
pub(super) fn fields_schema(fields: &[ResultField]) -> Map<String, Json> {
    fields.iter().map(|field| (field.name.to_string(), describe_field(field))).collect()
}

/// A field as the definition declares it.
fn describe_field(field: &ResultField) -> Json {
    let mut map = Map::from_iter([("type".to_owned(), json!(field.kind.word()))]);
    match &field.kind {
        ValueType::Enum(values) => map.insert("values".to_owned(), json!(values)),
        ValueType::Object(fields) | ValueType::List(fields) if !fields.is_empty() => {
            map.insert("fields".to_owned(), Json::Object(fields_schema(fields)))
        }
        _ => None,
    };
    if let Some(pattern) = &field.limits.pattern {
        map.insert("pattern".to_owned(), json!(pattern.as_str()));
    }
    for (key, limit) in [("min", field.limits.min), ("max", field.limits.max)] {
        map.extend(limit.map(|limit| (key.to_owned(), json!(limit))));
    }
    if let Some(default) = &field.default {
        map.insert("default".to_owned(), default.clone());
    }
    if field.append {
        map.insert("append".to_owned(), json!(true));
    }
    if field.max_length != MAX_OUTPUT {
        map.insert("max_length".to_owned(), json!(field.max_length));
    }
    if let Some(description) = &field.description {
        map.insert("description".to_owned(), json!(value_text(&json!(description))));
    }
    Json::Object(map)
}
