use super::*;
use crate::workflow::load::{Surroundings, load};
use crate::workflow::tool::Tools;

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
    let callee = |_: &str| Some(crate::workflow::Callee::anything());
    let (workflow, findings) = load(text, &Surroundings { callee: &callee, ..Surroundings::none() });
    workflow.unwrap_or_else(|| panic!("{findings:#?}"))
}

fn printed(text: &str, request: Request) -> Result<String, Refused> {
    let workflow = workflow(text);
    let tools = Tools::builtin();
    page(&workflow, &workflow.name, &request, tools.find("claude").unwrap())
}

#[test]
fn every_kind_of_step_is_printed_as_it_is_written() {
    let pages: Vec<String> =
        (1..=8).map(|step| printed(KINDS, Request { step, ..Request::default() }).unwrap()).collect();
    insta::assert_snapshot!(pages.join("\n"));
}

#[test]
fn a_review_goes_round_by_its_command_line() {
    let ask = |step, iteration, again, verdict| {
        let iteration = Some(iteration);
        printed(EXAMPLE, Request { step, total: Some(7), iteration, again, verdict }).unwrap()
    };
    let pages = [
        ask(1, 1, false, None),
        ask(3, 2, false, None),
        ask(5, 2, false, None),
        ask(5, 2, false, Some(Verdict::Fail)),
        ask(1, 3, true, None),
        ask(5, 3, false, Some(Verdict::Pass)),
        ask(5, 5, false, None),
        ask(5, 5, false, Some(Verdict::Fail)),
    ];
    insta::assert_snapshot!(pages.join("\n"));
    let next = "maestro workflow step reviewed-change --step 1 --total-steps 7 --qr-fail --qr-iteration 3";
    assert!(pages[3].contains(&format!("run: {next}</NEXT>")), "{}", pages[3]);
}

#[test]
fn what_cannot_be_is_refused_by_its_range_and_another_total_is_told() {
    let request = Request { step: 1, ..Request::default() };
    let refusals = [
        Request { step: 0, ..request },
        Request { step: 8, ..request },
        Request { iteration: Some(6), ..request },
        Request { iteration: Some(0), ..request },
        Request { verdict: Some(Verdict::Pass), ..request },
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
    let page = printed(EXAMPLE, Request { total: Some(9), ..request }).unwrap();
    assert!(page.contains("<note>This workflow has 7 steps, not 9.</note>"), "{page}");
    assert!(page.contains("verified=\"no\""), "{page}");
    assert!(page.contains("maestro workflow start reviewed-change --param change=VALUE"), "{page}");
}
