//! What might somebody do now? One list of inputs for each thing that leads somewhere else.

use serde_json::{Map, Value as Json, json};

use crate::workflow::condition::{Condition, Literal, Operand};
use crate::workflow::definition::{Agent, Parse, Part, Step, Variable, Work, Workflow};
use crate::workflow::name::Outcome;
use crate::workflow::run::{Answer, CONTINUE, Child, Choice, Definition, Effect, Finish, Input, Run, Ticket, pending};
use crate::workflow::value::Type;

/// How many combinations of values are tried at once.
const MAX_COMBINED: usize = 48;
/// Later than every timeout.
const LATER: i64 = i64::MAX / 2;

/// The parameters a run might be started with.
pub(super) fn params(workflow: &Workflow) -> Vec<Map<String, Json>> {
    let domains = workflow.params.iter().map(|param| {
        let values = match (&param.kind, &param.default) {
            (Type::Enum(_) | Type::Bool, _) => examples(&param.kind, workflow),
            (_, Some(default)) => vec![default.clone()],
            (kind, None) => examples(kind, workflow).into_iter().rev().take(1).collect(),
        };
        (param.name.to_string(), values)
    });
    combined(domains.collect())
}

/// Everything that might happen to a run now.
pub(super) fn to(definition: &Definition, run: &Run) -> Vec<Vec<Input>> {
    let Some((frame, _, workflow, step)) = run.current(definition) else { return Vec::new() };
    let mut all = Vec::new();
    // A user who always says "continue" at a gate never comes to an end; saying it once shows where it leads.
    let granted = frame.rounds.get(&step.id).is_some_and(|rounds| rounds.granted > 0);
    // Of several children any may come first; that makes no difference to where the run goes.
    if let Some(mut effect) = pending(definition, run).into_iter().next() {
        if let (Effect::Ask { asked, .. }, Work::Gate(_), true) = (&mut effect, &step.work, granted) {
            asked.options.iter_mut().for_each(|options| options.retain(|option| option != CONTINUE));
        }
        all.extend(responses(workflow, step, &effect));
    }
    if step.timeout.is_some() {
        all.push(vec![Input::Elapsed { now: LATER }]);
    }
    all
}

fn responses(workflow: &Workflow, step: &Step, effect: &Effect) -> Vec<Vec<Input>> {
    match (effect, &step.work) {
        (Effect::Instruct { ticket, .. }, Work::Agent(agent)) => reports(workflow, step, agent, ticket),
        (Effect::Delegate { ticket, child, .. }, _) => child_reports(step, ticket, child),
        (Effect::Execute { ticket, .. }, _) => {
            let started = Input::Started { ticket: ticket.clone(), now: 0 };
            let finished = |finish| Input::Finished { ticket: ticket.clone(), finish, now: 0 };
            finishes(workflow, step).into_iter().map(|finish| vec![started.clone(), finished(finish)]).collect()
        }
        (Effect::Ask { ticket, asked, .. }, _) => {
            let mut answers = vec![Answer::Declined, Answer::Cancelled];
            let options = asked.options.clone().unwrap_or_else(|| vec!["x".into(), "1".into(), "true".into()]);
            let many = matches!(&step.work, Work::Question(question) if question.multiple);
            answers.extend(
                options.into_iter().map(|option| Answer::Value(if many { json!([option]) } else { json!(option) })),
            );
            let answer = |answer| vec![Input::Answer { ticket: ticket.clone(), answer, now: 0 }];
            answers.into_iter().map(answer).collect()
        }
        (Effect::Consent { ticket, .. }, _) => {
            let choices = [Choice::Again, Choice::Done, Choice::Abort];
            choices.map(|choice| vec![Input::Consent { ticket: ticket.clone(), choice, now: 0 }]).to_vec()
        }
        (Effect::Instruct { .. } | Effect::Await { .. }, _) => Vec::new(),
    }
}

fn reports(workflow: &Workflow, step: &Step, agent: &Agent, ticket: &Ticket) -> Vec<Vec<Input>> {
    let results = results(workflow, agent);
    let mut all = Vec::new();
    for outcome in &agent.outcomes {
        for result in &results {
            for items in review_items(step, &[]) {
                let mut result = result.clone();
                result.extend(items);
                all.push(report(ticket, outcome, Map::new(), result));
            }
        }
    }
    // An agent may set what conditions ask for.
    for variable in asked_for(workflow) {
        for value in examples(&variable.kind, workflow) {
            let set = Map::from_iter([(variable.name.to_string(), value)]);
            let (outcome, result) = (&agent.outcomes[0], results.first().cloned().unwrap_or_default());
            all.push(report(ticket, outcome, set, result));
        }
    }
    all
}

fn report(ticket: &Ticket, outcome: &Outcome, set: Map<String, Json>, result: Map<String, Json>) -> Vec<Input> {
    let (ticket, outcome) = (ticket.clone(), Some(outcome.clone()));
    vec![Input::Report { ticket, outcome, set, result, seen: crate::workflow::run::Seen::default(), now: 0 }]
}

fn results(workflow: &Workflow, agent: &Agent) -> Vec<Map<String, Json>> {
    let deciding = !agent.outcome_from.is_empty();
    let domain = |kind: &Type| {
        let values = examples(kind, workflow);
        if deciding { values } else { values.into_iter().take(1).collect() }
    };
    combined(agent.result.iter().map(|field| (field.name.to_string(), domain(&field.kind))).collect())
}

/// What a report might say to a review: nothing to say is one empty answer.
fn review_items(step: &Step, given: &[Json]) -> Vec<Map<String, Json>> {
    let Some(part) = step.work.review() else { return vec![Map::new()] };
    let items = |items: Json| Map::from_iter([("items".to_owned(), items)]);
    match part.part {
        Part::Decompose => vec![items(json!([{"check": "c", "severity": "MUST"}])), Map::new()],
        Part::Verify => {
            let judged = |status: &str| {
                let judge = |item: &Json| json!({"id": item["id"], "status": status, "evidence": "e", "finding": "f"});
                given.iter().map(judge).collect::<Json>()
            };
            let one = |status: &str| json!([{"id": "1", "status": status, "evidence": "e", "finding": "f"}]);
            if given.is_empty() {
                vec![items(one("pass")), items(one("fail")), Map::new()]
            } else {
                vec![items(judged("pass")), items(judged("fail")), Map::new()]
            }
        }
        Part::Fix => vec![Map::new()],
    }
}

fn child_reports(step: &Step, ticket: &Ticket, child: &Child) -> Vec<Vec<Input>> {
    let mut all = Vec::new();
    for outcome in [Outcome::OK, Outcome::FAIL] {
        for result in review_items(step, &child.items) {
            all.push(report(ticket, &outcome, Map::new(), result));
        }
    }
    all
}

fn finishes(workflow: &Workflow, step: &Step) -> Vec<Finish> {
    let exited = |code, output: String| Finish::Exited { code, output };
    let mut all = vec![exited(1, String::new())];
    if step.timeout.is_some() {
        all.push(Finish::TimedOut);
    }
    let stored = step.store.as_ref().and_then(|(name, _)| workflow.variable(name));
    match (&step.work, stored) {
        (Work::Command { parse: Parse::Json, .. }, Some(variable)) => {
            all.extend(examples(&variable.kind, workflow).iter().map(|value| exited(0, value.to_string())));
        }
        (Work::Command { parse: Parse::Text, .. }, Some(variable)) => {
            let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            all.extend(examples(&variable.kind, workflow).iter().map(|value| exited(0, text(value))));
        }
        (Work::Command { parse: Parse::Lines, .. }, Some(_)) => {
            all.extend([exited(0, String::new()), exited(0, "x".into())]);
        }
        _ => all.push(exited(0, "x".into())),
    }
    all
}

/// A few values of a type, those that conditions mention among them.
fn examples(kind: &Type, workflow: &Workflow) -> Vec<Json> {
    match kind {
        Type::Bool => vec![json!(false), json!(true)],
        Type::Enum(values) => values.iter().map(|value| json!(value)).collect(),
        Type::List => vec![json!([]), json!(["x"])],
        Type::Path => vec![json!("x")],
        Type::Int => {
            let mentioned = literals(workflow).into_iter().filter_map(|literal| match literal {
                Literal::Int(number) => Some([number - 1, *number, number + 1]),
                _ => None,
            });
            let mut numbers: Vec<i64> = mentioned.flatten().chain([0, 1]).collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers.into_iter().map(Json::from).collect()
        }
        Type::Text => {
            let mentioned = literals(workflow).into_iter().filter_map(|literal| match literal {
                Literal::Text(text) => Some(json!(text)),
                _ => None,
            });
            [json!(""), json!("x")].into_iter().chain(mentioned).collect()
        }
        Type::Object(fields) => {
            let domains = fields.iter().map(|field| (field.name.to_string(), examples(&field.kind, workflow)));
            combined(domains.collect()).into_iter().map(Json::Object).collect()
        }
    }
}

fn conditions(workflow: &Workflow) -> Vec<&Condition> {
    let mut all = Vec::new();
    for step in &workflow.steps {
        all.extend(step.when.iter().map(|when| &when.value));
        match &step.work {
            Work::Conditional { cases, .. } => all.extend(cases.iter().map(|case| &case.when.value)),
            Work::Agent(agent) => {
                all.extend(agent.outcome_from.iter().filter_map(|rule| rule.when.as_ref()).map(|when| &when.value));
            }
            _ => {}
        }
    }
    all
}

fn asked_for(workflow: &Workflow) -> Vec<&Variable> {
    let references: Vec<String> = conditions(workflow)
        .into_iter()
        .flat_map(Condition::references)
        .map(|(reference, _)| reference.to_string())
        .collect();
    let asked =
        |variable: &&Variable| references.iter().any(|name| name.split('.').next() == Some(variable.name.as_str()));
    workflow.variables.iter().filter(asked).collect()
}

fn literals(workflow: &Workflow) -> Vec<&Literal> {
    fn of<'c>(condition: &'c Condition, found: &mut Vec<&'c Literal>) {
        let mut add = |operand: &'c Operand| match operand {
            Operand::Literal(literal, _) => found.push(literal),
            Operand::List(items, _) => found.extend(items.iter().map(|(literal, _)| literal)),
            Operand::Value(..) | Operand::Length(..) => {}
        };
        match condition {
            Condition::Or(a, b) | Condition::And(a, b) => {
                of(a, found);
                of(b, found);
            }
            Condition::Not(a) => of(a, found),
            Condition::Compare(a, _, b) | Condition::In(a, b) => {
                add(a);
                add(b);
            }
            Condition::Empty(a) | Condition::Truth(a) => add(a),
        }
    }
    let mut found = Vec::new();
    for condition in conditions(workflow) {
        of(condition, &mut found);
    }
    found
}

/// Every combination of one value for each name, up to a bound.
fn combined(domains: Vec<(String, Vec<Json>)>) -> Vec<Map<String, Json>> {
    let mut all = vec![Map::new()];
    for (name, values) in domains {
        let with = |map: &Map<String, Json>, value: &Json| {
            let mut map = map.clone();
            map.insert(name.clone(), value.clone());
            map
        };
        let room = (MAX_COMBINED / all.len()).max(1);
        all = all
            .iter()
            .flat_map(|map| values.iter().take(room).map(move |value| with(map, value)).collect::<Vec<_>>())
            .collect();
    }
    all
}
