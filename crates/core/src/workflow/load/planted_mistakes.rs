//! Tests of planted mistakes: each is reported with its code, its line and help.

use super::{CalleeSignature, LoadEnvironment, load_workflow};

/// A mistake: what it is, the text that takes the place of a line, the code and the line that are reported.
struct PlantedMistake {
    what: &'static str,
    line: usize,
    text: &'static str,
    code: &'static str,
    at: usize,
}

/// A definition that uses the whole language and has no mistake. Each mistake changes one line of it.
const SOUND: &str = "\
name: sound
description: Uses the whole language.
category: test
params:
  goal: {type: string, required: true, pattern: '[a-z ]+', min: 3, max: 80}
  size: {type: enum, values: [small, large], default: small}
  rounds: {type: int, min: 1, max: 5, default: 2}
variables:
  found: {type: list, min: 0, max: 50, fields: {id: {type: string, pattern: '[A-Z]-\\d+'}, severity: {type: enum, values: [MUST, SHOULD]}}}
  word: {type: string, default: ''}
reviews: {code: {max_items: 20}}
steps:
- {id: look, type: agent, actions: ['Look at {goal}.'], result: {n: {type: int, min: 0}, found: {type: list, default: [], fields: {id: string, severity: {type: enum, values: [MUST, SHOULD]}}}}, retry: {max: 2, on: [fail], feedback: 'Look at {goal} again.'}, next: {ok: judge, fail: stop}}
- id: judge
  type: conditional
  cases:
  - {when: \"count(found, severity, 'MUST') > 0 and rounds - 1 > 0\", next: list}
  - {when: \"length(found) > 0 and found[0].severity == 'SHOULD'\", next: ask}
  else: report
- {id: list, type: agent, review: {name: code, part: decompose}, next: {ok: check, fail: stop}}
- {id: check, type: dispatch, for_each: reviews.code.open, prompt: 'Check {item.check}.', review: {name: code, part: verify}, retry: 1, max_visits: 5, next: {ok: test, fail: stop, partial: test, exhausted: stop}}
- {id: test, type: command, command: [make, test], timeout: 5m, next: {ok: gate, fail: gate, timeout: gate}}
- {id: gate, type: gate, review: code, checks: [test], max_rounds: 3, next: {pass: report, fail: fix, exhausted: stop}}
- {id: fix, type: agent, review: {name: code, part: fix}, max_visits: 9, next: {ok: check, fail: stop, exhausted: stop}}
- {id: ask, type: question, prompt: 'Go on with {goal}?', options: [yes, no], store: word, next: {ok: report, no: stop, declined: stop, cancelled: stop}}
- {id: report, type: output, template: summary, next: {ok: each}}
- {id: hand, type: call, workflow: helper, with: {goal: '{goal}'}, retry: {max: 1, on: [fail, blocked]}, next: {ok: end, fail: stop, blocked: stop}}
- {id: stop, type: end, status: failure, message: 'It stopped at {goal} {word}.'}
- {id: each, type: command, command: [lint, '{item.id}'], for_each: found, max_parallel: 3, env: {GOAL: '{goal}'}, cwd: sub, secrets: [LINT_TOKEN], next: {ok: hand, fail: stop, partial: hand}}
- {id: tidy, type: command, command: [rm, '{ending.status}'], optional: true, effect: read}
finally: tidy
# the end
templates:
  summary: '{for f in found}- {f.id}: {f.severity} {if size == \"small\"}(small){else}(large){end} {end}'
";

const fn mistake(what: &'static str, line: usize, text: &'static str, code: &'static str, at: usize) -> PlantedMistake {
    PlantedMistake { what, line, text, code, at }
}

#[allow(clippy::too_many_lines, reason = "a table has a line for each row")]
fn mistakes() -> Vec<PlantedMistake> {
    vec![
        mistake("an unknown key", 2, "descripton: Uses it.", "E01", 2),
        mistake("a broken pattern", 5, "  goal: {type: string, pattern: '[a-z'}", "E10", 5),
        mistake("a pattern of a number", 7, "  rounds: {type: int, pattern: '1', default: 2}", "E10", 7),
        mistake("a least above the most", 7, "  rounds: {type: int, min: 5, max: 1}", "E10", 7),
        mistake("a default beyond the most", 7, "  rounds: {type: int, max: 5, default: 9}", "E10", 7),
        mistake("a bound of a truth value", 7, "  rounds: {type: bool, min: 1}", "E10", 7),
        mistake("a bound that is no number", 7, "  rounds: {type: int, min: few, default: 2}", "E10", 7),
        mistake("fields of a text", 10, "  word: {type: string, fields: {a: string}, default: ''}", "E10", 10),
        mistake("values of a text", 10, "  word: {type: string, values: [a], default: ''}", "E10", 10),
        mistake("an enum without values", 6, "  size: {type: enum}", "E01", 6),
        mistake("a type that is none", 6, "  size: {type: text}", "E01", 6),
        mistake("an option that its variable cannot hold", 10, "  word: {type: int, default: 0}", "E17", 25),
        mistake(
            "a word of a shell",
            22,
            "- {id: test, type: command, command: 'cd sub', next: {ok: gate, fail: gate}}",
            "E14",
            22,
        ),
        mistake(
            "a variable before a program",
            22,
            "- {id: test, type: command, command: 'A=1 make', next: {ok: gate, fail: gate}}",
            "E14",
            22,
        ),
        mistake(
            "a condition as a key",
            22,
            "- {id: test, type: command, if: rounds > 1, command: make, next: {ok: gate, fail: gate}}",
            "E01",
            22,
        ),
        mistake("a list of ways on", 22, "- {id: test, type: command, command: make, next: [gate, fix]}", "E10", 22),
        mistake(
            "a name that is not declared",
            26,
            "- {id: report, type: output, template: summary, when: gaol is empty, next: {ok: hand}}",
            "E09",
            26,
        ),
        mistake("a field that items lack", 34, "  summary: '{for f in found}{f.severty}{end}'", "E09", 34),
        mistake("a loop that is not closed", 34, "  summary: '{for f in found}{f.id}'", "E01", 34),
        mistake("a loop over nothing", 34, "  summary: '{for f in founds}x{end}'", "E09", 34),
        mistake("a loop over a number", 34, "  summary: '{for f in rounds}x{end}'", "E10", 34),
        mistake("a calculation in braces", 34, "  summary: '{length(found)}'", "E01", 34),
        mistake("a function that is none", 17, "  - {when: 'len(found) > 1', next: list}", "E10", 17),
        mistake("an enum's value in a template", 34, "  summary: '{if size == \"smal\"}x{end}'", "E10", 34),
        mistake("an item of a text", 17, "  - {when: \"goal[0] == 'x'\", next: list}", "E10", 17),
        mistake("a field of an item", 17, "  - {when: \"found[0].severty == 'MUST'\", next: list}", "E10", 17),
        mistake(
            "a count of a value that is none",
            17,
            "  - {when: \"count(found, severity, 'HIGH') > 0\", next: list}",
            "E10",
            17,
        ),
        mistake("arithmetic with text", 17, "  - {when: 'goal + 1 > 0', next: list}", "E10", 17),
        mistake("a condition that breaks off", 17, "  - {when: 'rounds >', next: list}", "E10", 17),
        mistake(
            "a route to nowhere",
            20,
            "- {id: list, type: agent, review: {name: code, part: decompose}, next: {ok: chekc, fail: stop}}",
            "E04",
            20,
        ),
        mistake(
            "an outcome without a route",
            20,
            "- {id: list, type: agent, review: {name: code, part: decompose}, next: {ok: check}}",
            "E06",
            20,
        ),
        mistake(
            "a retry with an outcome it lacks",
            27,
            "- {id: hand, type: call, workflow: helper, retry: {max: 1, on: [failed]}, next: {ok: end, fail: stop, blocked: stop}}",
            "E11",
            27,
        ),
        mistake(
            "a retry of what is ok",
            27,
            "- {id: hand, type: call, workflow: helper, retry: {on: ok}, next: {ok: end, fail: stop, blocked: stop}}",
            "E11",
            27,
        ),
        mistake(
            "a retry without end",
            27,
            "- {id: hand, type: call, workflow: helper, retry: 99, next: {ok: end, fail: stop, blocked: stop}}",
            "E18",
            27,
        ),
        mistake(
            "a shell's pipe",
            22,
            "- {id: test, type: command, command: 'make test | tail', next: {ok: gate, fail: gate}}",
            "E14",
            22,
        ),
        mistake(
            "a time that is none",
            22,
            "- {id: test, type: command, command: [make, test], timeout: soon, next: {ok: gate, fail: gate}}",
            "E10",
            22,
        ),
        mistake(
            "a callee that is not there",
            27,
            "- {id: hand, type: call, workflow: helpr, next: {ok: end, fail: stop, blocked: stop}}",
            "E13",
            27,
        ),
        mistake("two steps with one id", 24, "- {id: gate, type: agent, next: {ok: check, fail: stop}}", "E02", 24),
        mistake(
            "a question without a choice",
            25,
            "- {id: ask, type: question, prompt: Go on?, options: [yes, yes], store: word, next: {ok: report, declined: stop, cancelled: stop}}",
            "E17",
            25,
        ),
        mistake(
            "a dispatch over a text",
            21,
            "- {id: check, type: dispatch, for_each: goal, prompt: p, review: {name: code, part: verify}, max_visits: 5, next: {ok: test, fail: stop, partial: test, exhausted: stop}}",
            "E16",
            21,
        ),
        mistake(
            "a template that is not there",
            26,
            "- {id: report, type: output, template: sumary, next: {ok: hand}}",
            "E13",
            26,
        ),
        mistake("a last step that is not there", 31, "finally: tydi", "E21", 31),
        mistake("a last step that a route leads to", 31, "finally: stop", "E21", 31),
        mistake(
            "how the run ends, before it ends",
            28,
            "- {id: stop, type: end, status: failure, message: '{goal} {word} {ending.status}'}",
            "E09",
            28,
        ),
        mistake(
            "the answer to a question, as if it were a result",
            28,
            "- {id: stop, type: end, status: failure, message: '{goal} {word} {steps.ask.result.answer}'}",
            "E09",
            28,
        ),
        mistake(
            "branches of a text",
            29,
            "- {id: each, type: command, command: [lint], for_each: goal, next: {ok: hand, fail: stop, partial: hand}}",
            "E16",
            29,
        ),
        mistake(
            "a field that the items of branches lack",
            29,
            "- {id: each, type: command, command: [lint, '{item.severty}'], for_each: found, next: {ok: hand, fail: stop, partial: hand}}",
            "E09",
            29,
        ),
        mistake(
            "a directory outside",
            29,
            "- {id: each, type: command, command: [lint], cwd: ../other, next: {ok: hand, fail: stop}}",
            "E14",
            29,
        ),
        mistake(
            "two options of one title",
            25,
            "- {id: ask, type: question, prompt: Go on?, options: [{value: a, title: Do it}, {value: b, title: Do it}], store: word, next: {ok: report, declined: stop, cancelled: stop}}",
            "E17",
            25,
        ),
        mistake(
            "branches at a time without branches",
            29,
            "- {id: each, type: command, command: [lint], max_parallel: 3, next: {ok: hand, fail: stop}}",
            "E16",
            29,
        ),
        mistake(
            "a variable that no environment has",
            29,
            "- {id: each, type: command, command: [lint], env: {a-b: x}, next: {ok: hand, fail: stop}}",
            "E01",
            29,
        ),
        mistake(
            "a secret that Maestro sets itself",
            29,
            "- {id: each, type: command, command: [lint], secrets: [MAESTRO_TOKEN], next: {ok: hand, fail: stop}}",
            "E01",
            29,
        ),
        mistake(
            "a directory of a built-in",
            29,
            "- {id: each, type: command, command: {builtin: verify}, cwd: sub, next: {ok: hand, fail: stop}}",
            "E01",
            29,
        ),
    ]
}

fn load(text: &str) -> Vec<(String, usize, String)> {
    let callee: &dyn Fn(&str) -> Option<CalleeSignature> = &|name| (name == "helper").then(CalleeSignature::default);
    let (_, findings) = load_workflow(text, &LoadEnvironment { callee, ..LoadEnvironment::none() });
    let errors = findings.into_iter().filter(super::WorkflowFinding::is_error);
    errors.map(|finding| (finding.code.to_string(), finding.place.line, finding.help)).collect()
}

#[test]
fn the_sound_definition_has_no_mistake() {
    assert_eq!(load(SOUND), []);
}

#[test]
fn every_planted_mistake_is_reported_with_its_place_and_help() {
    let mistakes = mistakes();
    assert!(mistakes.len() >= 30);
    for PlantedMistake { what, line, text, code, at } in mistakes {
        let mut lines: Vec<&str> = SOUND.lines().collect();
        lines[line - 1] = text;
        let found = load(&(lines.join("\n") + "\n"));
        let told = found.iter().find(|(known, place, _)| known == code && *place == at);
        assert!(told.is_some_and(|(_, _, help)| !help.is_empty()), "{what}: {code} at line {at}, found {found:?}");
    }
}

#[test]
fn one_mistake_in_a_template_is_reported_once() {
    let broken = SOUND
        .lines()
        .map(|line| if line.starts_with("  summary:") { "  summary: '{for f in found}{f.id}'" } else { line });
    let found = load(&(broken.collect::<Vec<_>>().join("\n") + "\n"));
    assert_eq!(found.iter().map(|(code, line, _)| (code.as_str(), *line)).collect::<Vec<_>>(), [("E01", 34)]);
    assert!(found[0].2.contains("{for x in list}"), "{found:?}");
}
