//! Steps: their kinds and the fields that all have.

use std::collections::BTreeMap;

use super::definition_reader::MappingFields;
use super::outcome_routes::{self, WorkReading};
use super::{DefinitionReader, branches, command, question, review, step_retry, work};
use crate::workflow::StepPhase;
use crate::workflow::definition::{MAX_VISITS, RouteTarget, StepWork, WorkflowStep};
use crate::workflow::finding::FindingCode;
use crate::workflow::name::StepId;
use crate::yaml::{SourcePosition, YamlNode};

pub(super) const COMMON: &[&str] =
    &["id", "type", "title", "description", "phase", "when", "optional", "timeout", "store", "max_visits", "next"];

/// The own keys of all types: a step without a type may be of any.
const EVERY_OWN_KEY: &[&str] = &[
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
    "mode",
    "for_each",
    "group",
    "prompt",
    "call",
    "with",
    "free_form",
    "command",
    "shell",
    "env",
    "cwd",
    "secrets",
    "max_parallel",
    "parse",
    "effect",
    "idempotent",
    "retry",
    "template",
    "options",
    "default",
    "multiple",
    "validate",
    "cases",
    "else",
    "values",
    "checks",
    "blocking",
    "max_rounds",
    "pass_message",
    "fix_target",
    "self_fix",
    "workflow",
    "status",
    "message",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum WorkKind {
    Agent,
    Dispatch,
    Command,
    Output,
    Question,
    Conditional,
    Set,
    Gate,
    Call,
    End,
}

const KINDS: [(&str, WorkKind); 10] = [
    ("agent", WorkKind::Agent),
    ("dispatch", WorkKind::Dispatch),
    ("command", WorkKind::Command),
    ("output", WorkKind::Output),
    ("question", WorkKind::Question),
    ("conditional", WorkKind::Conditional),
    ("set", WorkKind::Set),
    ("gate", WorkKind::Gate),
    ("call", WorkKind::Call),
    ("end", WorkKind::End),
];

impl WorkKind {
    fn own_keys(self) -> &'static [&'static str] {
        match self {
            Self::Agent => work::AGENT,
            Self::Dispatch => work::DISPATCH,
            Self::Command => command::KEYS,
            Self::Output => &["template", "data"],
            Self::Question => question::KEYS,
            Self::Conditional => &["cases", "else"],
            Self::Set => &["values"],
            Self::Gate => review::GATE,
            Self::Call => &["workflow", "with", "retry", "for_each", "max_parallel"],
            Self::End => &["status", "message"],
        }
    }
}

/// Each type of step with its own keys.
pub(super) fn types_with_keys() -> Vec<(&'static str, &'static [&'static str])> {
    KINDS.iter().map(|(word, kind)| (*word, kind.own_keys())).collect()
}

/// The steps, as far as they can be understood.
pub(super) fn read(node: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> Vec<WorkflowStep> {
    let items = reader.items(node, "`steps`");
    let ids: Vec<Option<StepId>> = items.iter().map(|item| id(item, reader)).collect();
    let mut steps: Vec<WorkflowStep> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Some(id) = ids[index].clone() else { continue };
        if ids[..index].contains(&Some(id.clone())) {
            let help = "give each step an id of its own; routes could not tell them apart";
            reader.find(FindingCode::E02, item.place, format!("`{id}` is the id of two steps"), help);
            continue;
        }
        let following = ids[index + 1..]
            .iter()
            .flatten()
            .find(|next| **next != id)
            .cloned()
            .map_or(RouteTarget::End, RouteTarget::Step);
        steps.push(step(item, id, following, reader));
    }
    steps
}

fn id(item: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> Option<StepId> {
    let crate::yaml::YamlValue::Map(pairs) = &item.value else {
        reader.wrong(item, "a step is a mapping with `id:` and `type:`");
        return None;
    };
    let Some(node) = pairs.iter().find(|pair| pair.key == "id").map(|pair| &pair.value) else {
        reader.find(FindingCode::E01, item.place, "the step has no id", "add `id:`");
        return None;
    };
    let text = reader.text(node)?;
    if text == "end" {
        reader.find(FindingCode::E02, node.place, "`end` is the name of the run's end", "choose another id");
    }
    let id = StepId::parse(&text);
    if let Err(bad) = id {
        reader.find(FindingCode::E01, node.place, format!("`{text}` cannot be an id"), bad.to_string());
    }
    id.ok()
}

fn step(item: &YamlNode<'_>, id: StepId, following: RouteTarget, reader: &mut DefinitionReader<'_>) -> WorkflowStep {
    let kind = kind(item, &id, reader);
    let known = [COMMON, kind.map_or(EVERY_OWN_KEY, WorkKind::own_keys)].concat();
    let what = kind.map_or_else(|| format!("`{id}`"), |kind| format!("`{id}` ({})", word(kind)));
    let fields = reader.fields(item, &what, &known);
    let work = kind.and_then(|kind| own_work(kind, &fields, item.place, reader));
    let title = reader.text_of(fields.get("title"));
    let understood = if work.is_some() { WorkReading::Yes } else { WorkReading::No };
    let mut step = WorkflowStep {
        title: title.unwrap_or_else(|| id.to_string()),
        id,
        place: item.place,
        description: reader.template_of(fields.get("description")),
        phase: reader.text_of(fields.get("phase")).map(StepPhase::from),
        when: fields.get("when").and_then(|node| reader.condition(node)),
        optional: reader.flag_of(fields.get("optional")),
        timeout: fields.get("timeout").and_then(|node| reader.seconds(node)),
        store: reader.name_of(fields.get("store")).filter(|_| work.is_some()),
        max_visits: fields.get("max_visits").and_then(|node| reader.limit(node, MAX_VISITS)),
        branches: work.as_ref().and_then(|work| branches::read(&fields, work, reader)),
        retry: None,
        next: BTreeMap::new(),
        // A step whose own fields are broken still takes part in the graph, so that its neighbours are not blamed.
        work: work.unwrap_or(StepWork::Set(Vec::new())),
    };
    outcome_routes::read(fields.get("next"), &mut step, following, understood, reader);
    if !matches!(step.work, StepWork::Command { .. }) {
        step.retry = step_retry::read(fields.get("retry"), &step, reader);
    }
    step
}

fn own_work(
    kind: WorkKind,
    fields: &MappingFields<'_>,
    place: SourcePosition,
    reader: &mut DefinitionReader<'_>,
) -> Option<StepWork> {
    match kind {
        WorkKind::Agent => Some(work::agent(fields, reader)),
        WorkKind::Dispatch => work::dispatch(fields, place, reader),
        WorkKind::Command => command::work(fields, place, reader),
        WorkKind::Output => work::output(fields, place, reader),
        WorkKind::Question => question::work(fields, place, reader),
        WorkKind::Conditional => Some(work::conditional(fields, place, reader)),
        WorkKind::Set => work::set(fields, place, reader),
        WorkKind::Gate => Some(StepWork::Gate(review::gate(fields, reader))),
        WorkKind::Call => work::call(fields, place, reader),
        WorkKind::End => Some(work::end(fields, reader)),
    }
}

fn kind(item: &YamlNode<'_>, id: &StepId, reader: &mut DefinitionReader<'_>) -> Option<WorkKind> {
    let crate::yaml::YamlValue::Map(pairs) = &item.value else { return None };
    let Some(pair) = pairs.iter().find(|pair| pair.key == "type") else {
        let words: Vec<&str> = KINDS.iter().map(|(word, _)| *word).collect();
        let help = format!("add `type:` with one of {}", words.join(", "));
        reader.find(FindingCode::E01, item.place, format!("`{id}` has no type"), help);
        return None;
    };
    reader.word(&pair.value, "type of step", &KINDS)
}

fn word(kind: WorkKind) -> &'static str {
    KINDS.iter().find(|(_, other)| *other == kind).map_or("", |(word, _)| word)
}
