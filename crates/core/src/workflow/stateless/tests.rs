use super::*;
use crate::workflow::load::{LoadEnvironment, load_workflow};
use crate::workflow::tool::ToolTable;

const EXAMPLE: &str = include_str!("../../../../../examples/reviewed-change/workflow.yaml");

const KINDS: &str = "name: kinds
params: {who: {type: string, required: true}}
variables: {n: {type: int, default: 0}}
steps:
- {id: greet, type: output, template: hello}
- {id: list, type: command, command: 'ls {who} *.rs', store: files}
- {id: count, type: set, values: {n: 3}}
- {id: which, type: conditional, cases: [{when: n < 3, next: ask}], else: helpers}
- {id: ask, type: question, prompt: 'Go on, {who}?', options: [yes, no], default: yes, next: {yes: helpers, no: end, declined: end, cancelled: end}}
- {id: helpers, type: dispatch, mode: roster, role: explore, for_each: [{task: one}, {task: two}], prompt: 'Look at {item.task}', next: {ok: other, fail: end, partial: other}}
- {id: other, type: call, workflow: helper, with: {x: '{who}'}, when: n > 1}
- {id: done, type: end, message: 'Bye, {who}: {files}'}
templates: {hello: 'Hello <{who}>'}
";

fn workflow(text: &str) -> Workflow {
    let callee = |_: &str| Some(crate::workflow::CalleeSignature::anything());
    let (workflow, findings) = load_workflow(text, &LoadEnvironment { callee: &callee, ..LoadEnvironment::none() });
    workflow.unwrap_or_else(|| panic!("{findings:#?}"))
}

fn printed(text: &str, request: StatelessRequest) -> Result<String, StatelessError> {
    let workflow = workflow(text);
    let tools = ToolTable::builtin();
    page(&workflow, &workflow.name, &request, tools.find("claude").unwrap())
}

#[test]
fn every_kind_of_step_is_printed_as_it_is_written() {
    let pages: Vec<String> =
        (1..=8).map(|step| printed(KINDS, StatelessRequest { step, ..StatelessRequest::default() }).unwrap()).collect();
    insta::assert_snapshot!(pages.join("\n"));
}

#[test]
fn a_review_goes_round_by_its_command_line() {
    let ask = |step, iteration, again, verdict| {
        let iteration = Some(iteration);
        printed(EXAMPLE, StatelessRequest { step, total: Some(7), iteration, again, verdict }).unwrap()
    };
    let pages = [
        ask(1, 1, false, None),
        ask(3, 2, false, None),
        ask(5, 2, false, None),
        ask(5, 2, false, Some(DeclaredVerdict::Fail)),
        ask(1, 3, true, None),
        ask(5, 3, false, Some(DeclaredVerdict::Pass)),
        ask(5, 5, false, None),
        ask(5, 5, false, Some(DeclaredVerdict::Fail)),
    ];
    insta::assert_snapshot!(pages.join("\n"));
    let next = "maestro workflow step reviewed-change --step 1 --total-steps 7 --qr-fail --qr-iteration 3";
    assert!(pages[3].contains(&format!("run: {next}</NEXT>")), "{}", pages[3]);
}

#[test]
fn every_outcome_leads_where_it_leads_in_a_run() {
    let text = "name: ways
variables: {n: {type: int, default: 0}, l: {type: list, default: [a]}}
steps:
- {id: ask, type: question, prompt: Go on?, options: [yes, no, later], next: {ok: do, no: stop}}
- {id: any, type: question, prompt: Which?, options: {type: variable, source: l}}
- {id: do, type: command, command: ls, max_visits: 2, next: {ok: opt}}
- {id: opt, type: command, command: ls, optional: true, timeout: 5}
- {id: maybe, type: agent, when: n > 1, next: {ok: which, fail: stop}}
- {id: which, type: conditional, when: n > 2, max_visits: 3, cases: [{when: n > 3, next: ask}], else: checked}
- {id: checked, type: gate, when: n > 4, checks: [do], max_rounds: 1, next: {pass: any, fail: do, exhausted: stop}}
- {id: stop, type: end, status: blocked}
";
    let ways = |step, verdict| -> Vec<String> {
        let page = printed(text, StatelessRequest { step, verdict, ..StatelessRequest::default() }).unwrap();
        let after = page.split("<INVOKE_AFTER>").nth(1).unwrap().split("</INVOKE_AFTER>").next().unwrap();
        let on = |line: &str| line.replace("maestro workflow step ways --step", "to").replace(" --total-steps 8", "");
        let over = |line: String| line.replace(": present the results to the user, and run nothing.", "");
        after.trim().lines().map(|line| over(on(line.trim()))).collect()
    };
    let mut all: Vec<String> = (1..=7).flat_map(|step| ways(step, None)).collect();
    all.extend(ways(7, Some(DeclaredVerdict::Fail)));
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn what_cannot_be_is_refused_by_its_range_and_another_total_is_told() {
    let request = StatelessRequest { step: 1, ..StatelessRequest::default() };
    let refusals = [
        StatelessRequest { step: 0, ..request },
        StatelessRequest { step: 8, ..request },
        StatelessRequest { iteration: Some(6), ..request },
        StatelessRequest { iteration: Some(0), ..request },
        StatelessRequest { verdict: Some(DeclaredVerdict::Pass), ..request },
    ];
    let told: Vec<String> =
        refusals.iter().map(|request| printed(EXAMPLE, *request).unwrap_err().to_string()).collect();
    let expected = [
        "there is no step 0: the steps are 1 to 7",
        "there is no step 8: the steps are 1 to 7",
        "there is no iteration 6: the gate allows 1 to 5",
        "there is no iteration 0: the gate allows 1 to 5",
        "step 1 is no gate; the gates are 5",
    ];
    assert_eq!(told, expected);
    let page = printed(EXAMPLE, StatelessRequest { total: Some(9), ..request }).unwrap();
    assert!(page.contains("<note>This workflow has 7 steps, not 9.</note>"), "{page}");
    assert!(page.contains("verified=\"no\""), "{page}");
    assert!(page.contains("maestro workflow start reviewed-change --param change=VALUE"), "{page}");
}
