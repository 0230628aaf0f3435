//! Own fields of `agent`, `dispatch`, `output`, `conditional`, `set`, `call` and `end` steps.

use super::definition_reader::MappingFields;
use super::{DefinitionReader, outcome_routes, params, review, session};
use crate::workflow::definition::{
    AgentStep, ConditionalCase, DispatchMode, DispatchStep, EndStatus, ExpectedTemplate, ForEach, OutcomeRule,
    RosterEntry, StepRoute, StepWork, SubagentTask, WorkflowCall,
};
use crate::workflow::finding::FindingCode;
use crate::workflow::name::{Name, StepOutcome};
use crate::workflow::template::ValueReference;
use crate::yaml::{SourcePosition, YamlNode, YamlValue};

/// The own fields of an `agent` step.
pub(super) const AGENT: &[&str] = &[
    "actions",
    "forbidden",
    "expected_output",
    "resources",
    "data",
    "role",
    "skills",
    "session",
    "review",
    "result",
    "outcomes",
    "outcome_from",
    "retry",
];

pub(super) fn agent(fields: &MappingFields<'_>, reader: &mut DefinitionReader<'_>) -> StepWork {
    let outcome_from = fields.get("outcome_from").map(|node| outcome_from(node, reader)).unwrap_or_default();
    let mut outcomes: Vec<StepOutcome> =
        reader.texts_of(fields.get("outcomes")).into_iter().map(StepOutcome::new).collect();
    if outcomes.is_empty() && outcome_from.is_empty() {
        outcomes = vec![StepOutcome::OK, StepOutcome::FAIL];
    }
    for rule in &outcome_from {
        if !outcomes.contains(&rule.outcome) {
            outcomes.push(rule.outcome.clone());
        }
    }
    StepWork::Agent(Box::new(AgentStep {
        actions: reader.templates_of(fields.get("actions")),
        forbidden: reader.templates_of(fields.get("forbidden")),
        expected: fields.get("expected_output").map(|node| expected(node, reader)).unwrap_or_default(),
        resources: reader.names_of(fields.get("resources")),
        data: reader.named_templates(fields.get("data")),
        role: reader.name_of(fields.get("role")),
        skills: reader.texts_of(fields.get("skills")),
        session: fields.get("session").map(|node| session::read(node, reader)),
        review: review::part(fields.get("review"), reader),
        result: params::fields(fields.get("result"), reader),
        outcomes,
        outcome_from,
    }))
}

fn expected(node: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> ExpectedTemplate {
    if !matches!(node.value, YamlValue::Map(_)) {
        return ExpectedTemplate::List(reader.templates_of(Some(node)));
    }
    let fields = reader.fields(node, "`expected_output`", &["if_pass", "when_issues", "categories"]);
    ExpectedTemplate::Verdict {
        if_pass: reader.template_of(fields.get("if_pass")),
        when_issues: reader.template_of(fields.get("when_issues")),
        categories: reader.templates_of(fields.get("categories")),
    }
}

fn outcome_from(node: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> Vec<OutcomeRule> {
    let items = reader.items(node, "`outcome_from`");
    let mut rules = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let fields = reader.fields(item, "a rule", &["when", "outcome", "else"]);
        let last = index + 1 == items.len();
        let rule = match (fields.get("when"), fields.get("outcome"), fields.get("else")) {
            (Some(when), Some(outcome), None) if !last => reader.condition(when).map(Some).zip(reader.text(outcome)),
            (None, None, Some(outcome)) if last => reader.text(outcome).map(|outcome| (None, outcome)),
            _ => {
                let help = "write `{when: CONDITION, outcome: NAME}`, and `{else: NAME}` as the last";
                reader.find(FindingCode::E12, item.place, "the rules do not decide every case", help);
                None
            }
        };
        rules.extend(rule.map(|(when, outcome)| OutcomeRule { when, outcome: StepOutcome::new(outcome) }));
    }
    rules
}

/// The own fields of a `dispatch` step.
pub(super) const DISPATCH: &[&str] = &[
    "mode",
    "role",
    "for_each",
    "group",
    "prompt",
    "call",
    "with",
    "free_form",
    "review",
    "retry",
    "result",
    "max_parallel",
];

#[derive(Clone, Copy)]
enum ModeWord {
    Single,
    Template,
    Roster,
}

pub(super) fn dispatch(
    fields: &MappingFields<'_>,
    place: SourcePosition,
    reader: &mut DefinitionReader<'_>,
) -> Option<StepWork> {
    let words = [("single", ModeWord::Single), ("template", ModeWord::Template), ("roster", ModeWord::Roster)];
    let mode = match fields.get("mode") {
        Some(node) => reader.word(node, "mode", &words)?,
        None if fields.get("for_each").is_some() => ModeWord::Template,
        None => ModeWord::Single,
    };
    let mode = match (mode, fields.get("for_each")) {
        (ModeWord::Single, None) => Some(DispatchMode::Single),
        (ModeWord::Single, Some(node)) => {
            let help = "leave `for_each` out, or choose `mode: template`";
            reader.find(FindingCode::E16, node.place, "one sub-agent goes through no list", help);
            None
        }
        (mode, None) => {
            let help = match mode {
                ModeWord::Roster => "add `for_each:` with one entry for each, for example `- {role: architect}`",
                ModeWord::Single | ModeWord::Template => "add `for_each:` with the name of a list",
            };
            reader.find(FindingCode::E16, place, "nothing says how many sub-agents there are", help);
            None
        }
        (ModeWord::Template, Some(node)) => template_mode(node, fields.get("group"), reader),
        (ModeWord::Roster, Some(node)) => roster(node, reader).map(DispatchMode::Roster),
    };
    let task = match (fields.get("prompt"), fields.get("call")) {
        (Some(node), None) => reader.template(node).map(SubagentTask::Prompt),
        (None, Some(node)) => reader.text(node).map(|name| SubagentTask::Call(name, node.place)),
        _ => {
            let message = "a sub-agent has a `prompt` or a workflow to `call`, and not both";
            reader.find(FindingCode::E01, place, message, "keep one of them");
            None
        }
    };
    Some(StepWork::Dispatch(Box::new(DispatchStep {
        mode: mode?,
        role: reader.name_of(fields.get("role")),
        task: task?,
        with: reader.named_templates(fields.get("with")),
        free_form: reader.flag_of(fields.get("free_form")),
        review: review::part(fields.get("review"), reader),
        result: params::fields(fields.get("result"), reader),
        max_parallel: fields.get("max_parallel").and_then(|node| reader.limit(node, 1000)).map(|most| most as usize),
    })))
}

fn template_mode(
    node: &YamlNode<'_>,
    group: Option<&YamlNode<'_>>,
    reader: &mut DefinitionReader<'_>,
) -> Option<DispatchMode> {
    let group = group.and_then(|node| reader.limit(node, 1000)).unwrap_or(1) as usize;
    if matches!(node.value, YamlValue::List(_) | YamlValue::Map(_)) {
        reader.find(
            FindingCode::E16,
            node.place,
            "a template goes through a variable",
            "use `mode: roster` for a fixed list",
        );
        return None;
    }
    let text = reader.text(node)?;
    let text = text.trim_matches(['{', '}']);
    if let ["reviews", review, "open"] = text.split('.').collect::<Vec<_>>()[..] {
        let review = reader.name_at(review, node.place)?;
        return Some(DispatchMode::Template { items: ForEach::Open(review, node.place), group });
    }
    match ValueReference::parse(text) {
        Ok(reference) => Some(DispatchMode::Template { items: ForEach::List(reference, node.place), group }),
        Err(reason) => {
            reader.find(FindingCode::E16, node.place, reason, "name a list, or write `reviews.NAME.open`");
            None
        }
    }
}

fn roster(node: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> Option<Vec<RosterEntry>> {
    let YamlValue::List(items) = &node.value else {
        reader.find(FindingCode::E16, node.place, "a roster is a list", "write one entry for each sub-agent");
        return None;
    };
    if items.is_empty() {
        reader.find(FindingCode::E16, node.place, "the roster is empty", "write one entry for each sub-agent");
    }
    Some(items.iter().map(|item| roster_entry(item, reader)).collect())
}

/// One sub-agent of a roster: its values, and what is otherwise with it than with the others.
fn roster_entry(item: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> RosterEntry {
    let mut entry = RosterEntry::default();
    for pair in reader.pairs(item, "an entry of a roster") {
        if pair.key == "result" && matches!(pair.value.value, YamlValue::Map(_)) {
            entry.result = params::fields(Some(&pair.value), reader);
            continue;
        }
        let (name, value) = (reader.name_at(&pair.key, pair.place), reader.template(&pair.value));
        match (pair.key.as_ref(), &value) {
            ("role", Some(role)) if role.value.is_literal() => {
                entry.role = Name::parse(role.text.trim()).ok().map(|name| (name, role.place));
            }
            ("agent", Some(agent)) => entry.agent = Some(agent.clone()),
            _ => {}
        }
        entry.values.extend(name.zip(value));
    }
    entry
}

pub(super) fn output(
    fields: &MappingFields<'_>,
    place: SourcePosition,
    reader: &mut DefinitionReader<'_>,
) -> Option<StepWork> {
    if fields.get("template").is_none() {
        reader.find(FindingCode::E01, place, "the step shows nothing", "add `template:` with a name of `templates`");
    }
    let template = reader.name_of(fields.get("template"));
    let mut data = Vec::new();
    let mut source = None;
    if let Some(node) = fields.get("data") {
        for pair in reader.pairs(node, "`data`") {
            if pair.key == "source" {
                source = reference(&pair.value, reader);
            } else {
                let name = reader.name_at(&pair.key, pair.place);
                data.extend(name.zip(reader.template(&pair.value)));
            }
        }
    }
    Some(StepWork::Output { template: template?, data, source })
}

/// The name of something, with or without braces.
fn reference(node: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> Option<(ValueReference, SourcePosition)> {
    let text = reader.text(node)?;
    match ValueReference::parse(text.trim_matches(['{', '}'])) {
        Ok(reference) => Some((reference, node.place)),
        Err(reason) => {
            reader.find(FindingCode::E01, node.place, reason, "write the name of an object");
            None
        }
    }
}

pub(super) fn conditional(
    fields: &MappingFields<'_>,
    place: SourcePosition,
    reader: &mut DefinitionReader<'_>,
) -> StepWork {
    let mut cases = Vec::new();
    if let Some(node) = fields.get("cases") {
        for item in reader.items(node, "`cases`") {
            let case = reader.fields(item, "a case", &["when", "next"]);
            let when = case.get("when").and_then(|node| reader.condition(node));
            let next = case.get("next").and_then(|node| route(node, reader));
            if case.get("when").is_none() || case.get("next").is_none() {
                reader.find(
                    FindingCode::E01,
                    item.place,
                    "the case is incomplete",
                    "write `{when: CONDITION, next: STEP}`",
                );
            }
            cases.extend(when.zip(next).map(|(when, next)| ConditionalCase { when, next }));
        }
    }
    let otherwise = fields.get("else").and_then(|node| route(node, reader));
    if fields.get("else").is_none() {
        let help = "add `else:` with the step to go to when no case holds";
        reader.find(FindingCode::E12, place, "the conditional does not say what happens otherwise", help);
    }
    StepWork::Conditional { cases, otherwise }
}

fn route(node: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> Option<StepRoute> {
    outcome_routes::target(node, reader).map(|target| StepRoute { target, place: node.place })
}

pub(super) fn set(
    fields: &MappingFields<'_>,
    place: SourcePosition,
    reader: &mut DefinitionReader<'_>,
) -> Option<StepWork> {
    let Some(node) = fields.get("values") else {
        reader.find(FindingCode::E01, place, "the step sets nothing", "add `values: {name: value}`");
        return None;
    };
    Some(StepWork::Set(reader.assignments(node)))
}

pub(super) fn call(
    fields: &MappingFields<'_>,
    place: SourcePosition,
    reader: &mut DefinitionReader<'_>,
) -> Option<StepWork> {
    let Some(node) = fields.get("workflow") else {
        reader.find(FindingCode::E01, place, "the step calls nothing", "add `workflow:` with a workflow's name");
        return None;
    };
    let workflow = (reader.text(node)?, node.place);
    let with = fields.get("with").map(|node| reader.assignments(node)).unwrap_or_default();
    Some(StepWork::Call(WorkflowCall { workflow, with }))
}

pub(super) fn end(fields: &MappingFields<'_>, reader: &mut DefinitionReader<'_>) -> StepWork {
    let words = EndStatus::ALL.map(|status| (status.as_str(), status));
    let status = fields.get("status").and_then(|node| reader.word(node, "status", &words));
    StepWork::End { status: status.unwrap_or(EndStatus::Success), message: reader.template_of(fields.get("message")) }
}
