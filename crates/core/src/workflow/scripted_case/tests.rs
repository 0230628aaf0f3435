use super::*;
use crate::workflow::load::{LoadEnvironment, load_workflow};

const WORKFLOW: &str = "name: w\nparams: {task: {type: string, required: true}}\nsteps:\n- {id: work, type: agent, result: {text: string}, max_visits: 3, next: {ok: check, fail: no, exhausted: no}}\n- {id: check, type: command, command: make, next: {ok: ask, fail: work}}\n- {id: ask, type: question, prompt: Is it good?, options: [good, bad], next: {good: yes, bad: work, declined: no, cancelled: no}}\n- {id: yes, type: end}\n- {id: no, type: end, status: blocked}\noutputs: {text: '{steps.work.result.text}'}\n";

fn failures(script: &str) -> Vec<Vec<String>> {
    let (workflow, findings) = load_workflow(WORKFLOW, &LoadEnvironment::none());
    let definition = RunDefinition::alone(workflow.unwrap_or_else(|| panic!("{findings:?}")));
    read_script(script).unwrap().cases.iter().map(|case| run_case(&definition, case)).collect()
}

#[test]
fn a_case_passes_where_the_run_takes_its_way_and_tells_where_it_does_not() {
    let script = "
workflow: w
cases:
- name: a red check is repaired
  params: {task: t}
  script:
  - {at: work, outcome: ok, result: {text: a}}
  - {at: check, exit: 1, output: red}
  - {at: work, outcome: ok, result: {text: b}}
  - {at: check}
  - {at: ask, answer: good}
  ends: success
  steps: [work, check, work, check, ask, yes]
  never: ['no']
  outputs: {text: b}
- params: {task: t}
  script:
  - {at: work, outcome: ok, result: {text: a}}
  - {at: ask, declined: true}
  - {at: ask, answer: good}
  ends: success
  steps: [ask, check]
  outputs: {text: c}
- params: {task: t}
  ends: success
- ends: success
- params: {task: t}
  script: [{at: work, outcome: done}]
  ends: success
";
    // A line without words is a report, which a command does not take.
    let script = script.replace("  - {at: check}\n", "  - {at: check, exit: 0}\n");
    let told = failures(&script);
    assert_eq!(told[0], [""; 0]);
    insta::assert_snapshot!(told[1..].concat().join("\n"), @r#"
    it ends in blocked, not success: without a message
    way: work → check → ask → no
    `check` is not taken in the order of `steps`
    way: work → check → ask → no
    the output `text` is "a", not "c"
    `ask` is visited 1 times, and the case says what happens 2 times
    `work` reports for the 1. time, and the case does not say what; add `- {at: work, …}`
    the run does not start: `task`: required, but not given
    `work` does not take what the case says: the step can end with ok, fail
    "#);
}

#[test]
fn a_script_that_cannot_be_read_says_why() {
    let refused = |script: &str| read_script(script).unwrap_err().to_string();
    assert_eq!(refused("cases: []"), "`workflow:` names no workflow");
    assert_eq!(refused("workflow: w\ncases: []"), "there are no cases");
    assert_eq!(refused("workflow: w\ncases: [{ends: well}]"), "case 1: `ends:` is one of success, failure, blocked");
    let line = refused("workflow: w\ncases: [{name: n, ends: success, script: [{at: a, said: b}]}]");
    assert!(line.starts_with("n: a line of the script has no `said`; it can have at, outcome"), "{line}");
}
