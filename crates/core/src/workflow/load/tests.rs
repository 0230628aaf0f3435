use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::*;
use crate::workflow::definition::{CommandAction, CommandArgument, RouteTarget, StepWork};
use crate::workflow::name::{StepId, StepOutcome};
use crate::workflow::tool::ToolCapability;

/// The parameters of a workflow that declares these.
fn params(declared: &str) -> Vec<Variable> {
    let text = format!("name: c\nparams: {{{declared}}}\nsteps: [{{id: a, type: end}}]\n");
    load_workflow(&text, &LoadEnvironment::none()).0.unwrap().params
}

fn surroundings() -> LoadEnvironment<'static> {
    let callee: &'static dyn Fn(&str) -> Option<CalleeSignature> = &|name| match name {
        "helper" => Some(CalleeSignature {
            params: Some(params("count: {type: int, required: true}")),
            outputs: Some(vec![Name::parse("total").unwrap()]),
            calls: Vec::new(),
        }),
        "mutual" => Some(CalleeSignature { params: Some(Vec::new()), outputs: None, calls: vec!["w".into()] }),
        _ => None,
    };
    LoadEnvironment { callee, ..LoadEnvironment::none() }
}

fn told(text: &str, surroundings: &LoadEnvironment<'_>) -> String {
    let (workflow, findings) = load_workflow(text, surroundings);
    assert_eq!(workflow.is_some(), !findings.iter().any(WorkflowFinding::is_error));
    let mut told = String::new();
    for WorkflowFinding { code, place, message, help } in findings {
        writeln!(told, "{code} w.yaml:{}:{} {message}\n    {help}", place.line, place.column).unwrap();
    }
    told
}

/// A text per code: the smallest definition that has it.
const CASES: &[(&str, &str)] = &[
    ("E01 a key", "name: w\nstepz: []\nsteps:\n- {id: a, type: end, statsu: x}\n"),
    ("E01 a type", "name: w\nsteps:\n- {id: a, type: comand, command: ls}\n- {id: b, command: ls}\n"),
    ("E01 a field's type", "name: w\nparams: {n: {type: integer}, m: {type: enum}}\nsteps:\n- {id: a, type: end}\n"),
    (
        "E01 a word of a session",
        "name: w\nsteps:\n- {id: a, type: agent, session: {permission: readonly, role: reviwer, budget: 30 minutes, mends: x, feedback: y}, next: {ok: b, fail: end}}\n- {id: b, type: agent, session: {permission: edit, role: '{workspace}', run_budget: tokens=0}, next: {ok: end, fail: end}}\n",
    ),
    (
        "E04 a check that is no step",
        "name: w\nsteps:\n- {id: a, type: command, command: ls, next: {ok: g, fail: g}}\n- {id: g, type: gate, checks: [a, 'A step'], next: {pass: end, fail: a, exhausted: end}}\n",
    ),
    ("E01 a brace", "name: w\nsteps:\n- {id: a, type: end, message: \"one { two\"}\n"),
    (
        "E02",
        "name: w\nparams: {p: string, tool: string}\nvariables: {p: int}\nsteps:\n- {id: a, type: output, template: t}\n- {id: a, type: end}\n- {id: end, type: end}\ntemplates: {t: x}\n",
    ),
    ("E03", "name: w\nstart: fisrt\nsteps:\n- {id: first, type: end}\n"),
    ("E03 no steps", "name: w\n"),
    (
        "E04",
        "name: w\nsteps:\n- {id: first, type: command, command: ls, next: {ok: secnod, fail: elsewhere}}\n- {id: second, type: end}\n",
    ),
    ("E05", "name: w\nsteps:\n- {id: a, type: command, command: ls, next: end}\n- {id: b, type: end}\n"),
    ("E06", "name: w\nsteps:\n- {id: a, type: agent, max_visits: 2, timeout: 5m, next: end}\n"),
    (
        "E07",
        "name: w\nsteps:\n- {id: a, type: command, command: ls, max_visits: 3, next: {ok: a, fail: a, exhausted: a}}\n",
    ),
    (
        "E08",
        "name: w\nsteps:\n- {id: a, type: command, command: ls, next: {ok: b, fail: end}}\n- {id: b, type: command, command: ls, next: {ok: a, fail: end}}\n",
    ),
    (
        "E08 an exhausted step that leads back, a gate that passes for ever",
        "name: w\nsteps:\n- {id: a, type: command, command: ls, max_visits: 3, next: {ok: b, fail: end, exhausted: b}}\n- {id: b, type: command, command: ls, next: {ok: a, fail: c}}\n- {id: c, type: command, command: ls, next: {ok: g, fail: g}}\n- {id: g, type: gate, checks: [c], next: {pass: c, fail: c, exhausted: end}}\n",
    ),
    (
        "E09 never declared",
        "name: w\nparams: {role: string}\nsteps:\n- {id: a, type: command, command: 'echo {rloe} {params.rule} {steps.a.result.x}'}\n",
    ),
    (
        "E09 never written",
        "name: w\nsteps:\n- {id: a, type: command, command: 'echo {late}'}\n- {id: b, type: command, command: date, store: late}\n",
    ),
    (
        "E09 set",
        "name: w\nvariables: {count: {type: int, default: 0}}\nsteps:\n- {id: a, type: set, values: {cuont: 3}, when: count > 1}\n",
    ),
    (
        "E09 what a call hands back",
        "name: w\nsteps:\n- {id: a, type: call, workflow: helper, with: {count: 1}}\n- {id: b, type: end, message: 'All {steps.a.result.total}, {steps.a.result.totl} or {steps.a.result.weather}'}\n",
    ),
    (
        "E10 conditions",
        "name: w\nvariables: {mode: {type: enum, values: [full, quick], default: full}, n: {type: int, default: many}}\nsteps:\n- id: a\n  type: conditional\n  cases:\n  - {when: mode == 'fulll', next: end}\n  - {when: n == 'x' or mode ==, next: end}\n  else: end\n",
    ),
    (
        "E10 values",
        "name: w\nvariables: {l: {type: list, default: []}, n: {type: int, default: 1}}\nsteps:\n- {id: a, type: set, values: {n: \"{l}\", l: text}}\n- {id: b, type: command, command: 'echo {l}', store: l}\n- {id: c, type: command, command: [echo, {spread: n}], timeout: soon}\n",
    ),
    (
        "E10 what a call hands over",
        "name: w\nvariables: {l: {type: list, default: []}}\nsteps:\n- {id: a, type: call, workflow: helper, with: {count: '{l}', cuont: 2}}\n- {id: b, type: call, workflow: helper}\n",
    ),
    (
        "E11",
        "name: w\nsteps:\n- {id: a, type: command, command: ls, next: {ok: end, fial: end, partial: end}}\n- {id: b, type: gate, next: end}\n",
    ),
    (
        "E11 every answer has a way of its own",
        "name: w\nsteps:\n- {id: a, type: question, prompt: p, options: [x, y], next: {x: end, y: b, ok: b}}\n- {id: b, type: question, prompt: p, options: [x, y], optional: true, next: {x: end, y: c, ok: c}}\n- {id: c, type: question, prompt: p, options: [x, y], multiple: true, next: {x: end, y: end, ok: end}}\n",
    ),
    (
        "E12",
        "name: w\nvariables: {n: {type: int, default: 1}}\nsteps:\n- {id: a, type: conditional, cases: [{when: n == 1, next: end}]}\n- {id: b, type: agent, outcome_from: [{when: n == 1, outcome: ok}], next: {ok: end, fail: end}}\n",
    ),
    (
        "E13",
        "name: w\nresources: {r: {file: r.md}, c: {convention: severity}}\ntemplates: {summary: x}\nsteps:\n- {id: a, type: output, template: sumary}\n- {id: b, type: agent, role: develper, resources: [x], next: {ok: c, fail: c}}\n- {id: c, type: question, prompt: who, validate: known, next: {ok: d, declined: end}}\n- {id: d, type: call, workflow: nobody}\n- {id: e, type: call, workflow: mutual}\n- {id: f, type: call, workflow: w}\n- {id: g, type: call, workflow: helper}\n",
    ),
    (
        "E14 a value in a script",
        "name: w\nparams: {p: string}\nsteps:\n- {id: a, type: command, command: [sh, -c, 'echo {p}']}\n- {id: b, type: command, command: [env, FOO=1, bash, -lc, 'echo {p}']}\n- {id: c, type: command, command: [/usr/bin/python3.12, -c, 'print({p})']}\n- {id: d, type: command, command: [sh, -c, 'echo \"$1\"', sh, '{p}']}\n- {id: e, type: command, command: [grep, -c, '{p}']}\n",
    ),
    (
        "E14",
        "name: w\nparams: {p: string}\nsteps:\n- {id: a, type: command, command: 'ls | wc'}\n- {id: b, type: command, command: '{p} x'}\n- {id: c, type: command, command: ['{p}']}\n- {id: d, type: command, shell: {script: 'echo {p}'}}\n- {id: e, type: command, command: \"echo 'open\"}\n",
    ),
    (
        "E15",
        "name: w\nreviews: {code: {}}\nsteps:\n- {id: t, type: output, template: x}\n- {id: a, type: gate, next: {pass: b, fail: b, exhausted: end}}\n- {id: b, type: gate, review: code, checks: [t], next: {pass: end, fail: end, exhausted: end}}\ntemplates: {x: x}\n",
    ),
    (
        "E16",
        "name: w\nparams: {p: string}\nsteps:\n- {id: a, type: dispatch, for_each: p, prompt: x, next: {ok: b, fail: b, partial: end}}\n- {id: b, type: dispatch, mode: roster, for_each: [], prompt: x, next: {ok: c, fail: c, partial: end}}\n- {id: c, type: dispatch, mode: template, prompt: x, next: {ok: end, fail: end}}\n",
    ),
    (
        "E17",
        "name: w\nvariables: {v: {type: enum, values: [a, b]}}\nsteps:\n- {id: a, type: question, prompt: x, options: []}\n- {id: b, type: question, prompt: x, options: [a, a, c], default: d, store: v}\n- {id: c, type: question, prompt: '{v}', options: {type: command}}\n",
    ),
    (
        "E18",
        "name: w\nlimits: {max_transitions: 100001}\nsteps:\n- {id: a, type: command, command: ls, max_visits: 0}\n",
    ),
    ("E19", "name: w\nrequires: {capabilities: [ask_user, elicitation, asks_user]}\nsteps:\n- {id: a, type: end}\n"),
    ("E20 twice", "name: w\nname: v\nsteps:\n- {id: a, type: end, id: b}\n"),
    ("E20 an alias", "name: &n w\nversion: *n\nsteps: []\n"),
    ("E20 no YAML", "name: w\nsteps: [a: b: c\n"),
    (
        "E21",
        "name: w\nfinally: tidi\nsteps:\n- {id: a, type: agent, next: {ok: tidy, fail: end}}\n- {id: tidy, type: set, values: {}}\n",
    ),
    (
        "E21 steps that are not apart",
        "name: w\nfinally: tidy\nsteps:\n- {id: a, type: agent, next: {ok: tidy, fail: end}}\n- {id: tidy, type: output, template: t}\ntemplates: {t: '{ending.message}'}\n",
    ),
    ("W01", "name: w\nvariables: {v: string}\nsteps:\n- {id: a, type: end}\ntemplates: {t: x}\n"),
    ("W02", "name: w\nsteps:\n- {id: a, type: agent, next: {ok: end, fail: end}}\n"),
    (
        "W02 a dispatch whose results are read",
        "name: w\nsteps:\n- {id: a, type: dispatch, prompt: p, next: {ok: b, fail: b, partial: b}}\n- {id: b, type: dispatch, prompt: '{steps.a.result.results}', next: {ok: end, fail: end, partial: end}}\n",
    ),
    ("W03", "name: w\nsteps:\n- {id: a, type: command, command: rm x, optional: true}\n"),
    ("W04", "name: w\nsteps:\n- {id: a, type: command, command: ls, timeout: 3, next: {ok: end, timeout: end}}\n"),
    ("W05", "name: w\ncompatibility: [claude, opencode]\nsteps:\n- {id: a, type: end}\n"),
    ("W06", "name: w\nparams: {p: string}\nsteps:\n- {id: a, type: end, message: '{{ p }}'}\n"),
];

#[test]
fn every_kind_of_finding_has_its_code_place_message_and_help() {
    let tool = CodingTool {
        name: "aider".into(),
        capabilities: BTreeSet::from([ToolCapability::Shell]),
        ..CodingTool::unknown()
    };
    let surroundings = LoadEnvironment { tool: Some(&tool), ..surroundings() };
    let mut all = String::new();
    for (title, text) in CASES {
        let told = told(text, &surroundings);
        assert!(told.contains(&title[..3]), "{title}\n{told}");
        write!(all, "== {title}\n{told}").unwrap();
    }
    for code in FindingCode::ALL {
        assert!(CASES.iter().any(|(title, _)| title.starts_with(code.as_str())), "{code} has no case");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_tool_of_which_nothing_is_known_is_no_reason_for_a_finding() {
    let text = "name: w\ncompatibility: [claude]\nrequires: {capabilities: [mcp]}\nsteps:\n- {id: a, type: end}\n";
    let (_, findings) =
        load_workflow(text, &LoadEnvironment { tool: Some(&CodingTool::unknown()), ..LoadEnvironment::none() });
    assert_eq!(findings, []);
}

const SESSION_START: &str = include_str!("fixtures/session-start.yaml");

#[test]
fn the_names_that_adr_004_never_defines_are_told_one_by_one() {
    insta::assert_snapshot!(told(SESSION_START, &LoadEnvironment::none()));
}

#[test]
fn with_the_names_supplied_adr_004_is_a_workflow() {
    let names = "params:\n  suggested_name: {type: string, default: Ptah}\n  mythology: {type: string, default: x}\n  mythology_text: {type: string, default: x}\nvariables:\n  dashboard-output: {type: object, fields: {active_agents: int, tasks_in_progress: int, tasks_completed: int}}\nvalidators:\n  role-exists: {command: 's9 agent has {answer}'}\n";
    let text = SESSION_START
        .replace("    validate: role-exists\n", "    validate: role-exists\n    store: role\n")
        .replace("another one?\"\n", "another one?\"\n    store: name\n")
        .replace("command: s9 dashboard\n", "command: s9 dashboard\n    parse: json\n    store: dashboard-output\n");
    let (workflow, findings) = load_workflow(&format!("{names}{text}"), &LoadEnvironment::none());
    assert!(!findings.iter().any(WorkflowFinding::is_error), "{findings:#?}");
    let workflow = workflow.unwrap();
    assert_eq!(workflow.steps.len(), 11);
    let handoffs = workflow.step(&StepId::parse("check-handoffs").unwrap()).unwrap();
    let StepWork::Command { action: CommandAction::Program { program, arguments }, .. } = &handoffs.work else {
        panic!()
    };
    assert_eq!(program, "ls");
    assert!(matches!(arguments.as_slice(), [CommandArgument::Glob(_)]));
    assert_eq!(
        handoffs.route(&StepOutcome::OK),
        Some(&RouteTarget::Step(StepId::parse("show-role-dashboard").unwrap()))
    );
}

#[test]
fn a_place_inside_a_text_is_where_the_name_stands() {
    let text = "name: w\nsteps:\n- id: a\n  type: end\n  message: |\n    one\n    two {x}\n- id: b\n  type: end\n  message: \"éé {y}\"\n";
    let (_, findings) = load_workflow(text, &LoadEnvironment::none());
    let places: Vec<_> = findings.iter().filter(|f| f.code == FindingCode::E09).map(|f| f.place).collect();
    assert_eq!(places, [SourcePosition { line: 7, column: 9 }, SourcePosition { line: 10, column: 16 }]);
}

#[test]
fn the_largest_definitions_are_read_and_checked_while_one_waits() {
    // Folded texts are never found as one line of the file, and every step reads what others found.
    let mut text = "name: w\nparams: {p: {type: string, default: x}}\nsteps:\n".to_owned();
    for index in 0..MAX_STEPS / 2 {
        writeln!(text, "- {{id: a{index}, type: agent, outcomes: [ok], result: {{found: list}}}}").unwrap();
        writeln!(text, "- id: c{index}\n  type: command\n  command: >-\n    run").unwrap();
        for option in 0..8 {
            writeln!(
                text,
                "    --option{option} {{p}} '{{steps.a{index}.result.found}}' and more words than one reads"
            )
            .unwrap();
        }
    }
    let (_, findings) = load_workflow(&text, &LoadEnvironment::none());
    assert!(findings.iter().all(|finding| finding.code == FindingCode::E10), "{:?}", findings.first());
    assert_eq!(findings.len(), MAX_STEPS / 2, "a list fits into no argument, and that is told once for each place");
}

proptest::proptest! {
    #[test]
    fn any_text_is_answered_without_a_panic(
        lines in proptest::collection::vec(proptest::sample::select(vec![
            "name: w", "steps:", "- id: a", "  type: gate", "  type: agent", "  type: command", "  command: 'x {y} |'",
            "  next: {ok: a, fail: b}", "- {id: b, type: end}", "  review: r", "reviews: {r: }", "params: {y: int}",
            "  when: y == 'é", "  max_visits: 2", "templates:", "  t: '{'", "- []", "x", "  for_each: reviews.r.open",
            "  type: dispatch", "  options: {}", "  type: question", "  prompt: é{z}",
        ]), 0..14)
    ) {
        let (workflow, findings) = load_workflow(&lines.join("\n"), &LoadEnvironment::none());
        proptest::prop_assert!(workflow.is_some() || !findings.is_empty());
    }
}
