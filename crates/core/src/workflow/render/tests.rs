mod hostile;
mod walk;

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::workflow::directive::{Round, RoundMode};
use crate::workflow::name::{Name, Outcome, StepId};
use crate::workflow::run::{Answer, Input};
use crate::workflow::told::{Handed, News, Now};
use crate::workflow::tool::{Capability, Player};
use walk::Walk;

const ITEMS: &str = r#"{"items": [{"check": "names", "severity": "MUST", "scope": "src/**"}, {"check": "style", "severity": "COULD"}]}"#;

/// Every page of a run that fails a gate, uses up its rounds, accepts the risk and ends.
fn pages(tool: &Tool) -> String {
    let mut walk = Walk::new("the <parser> & \"more\"");
    let mut pages = vec![walk.page(tool)];
    walk.report("ok", json!({"files": ["a.rs"], "size": "small"}));
    pages.push(walk.page(tool));
    walk.report("ok", serde_json::from_str(ITEMS).unwrap());
    pages.push(walk.page(tool));
    walk.report("ok", json!({"items": [{"id": "1", "status": "fail", "finding": "unclear"}]}));
    walk.report("ok", json!({"items": [{"id": "2", "status": "pass", "evidence": "seen"}]}));
    pages.push(walk.page(tool));
    walk.report("ok", json!({"files": [], "size": "small"}));
    pages.push(walk.page(tool));
    walk.report("ok", json!({"items": [{"id": "1", "status": "fail", "finding": "still unclear"}]}));
    walk.report("ok", json!({"items": [{"id": "2", "status": "pass", "evidence": "seen"}]}));
    pages.push(walk.page(tool));
    let answer = |walk: &Walk, word: &str| Input::Answer {
        ticket: walk.run.ticket().unwrap(),
        answer: Answer::Value(json!(word)),
        now: 0,
    };
    walk.give(answer(&walk, "accept"));
    pages.push(walk.page(tool));
    walk.give(answer(&walk, "later"));
    pages.push(walk.page(tool));
    pages.join("\n==========\n")
}

fn claude() -> Tool {
    let mut tool = Tool { name: "claude".into(), ..Tool::unknown() }.in_form(Form::Xml);
    let reviewer = Player { agent: Some("Reviewer".into()), model: None };
    tool.roles.insert(Name::parse("quality-reviewer").unwrap(), reviewer);
    tool.models.insert("strong".into(), "opus".into());
    tool
}

#[test]
fn a_walk_reads_in_text_as_it_goes() {
    insta::assert_snapshot!(pages(&Tool::unknown()));
}

#[test]
fn a_walk_reads_in_xml_with_the_blocks_of_the_seed() {
    insta::assert_snapshot!(pages(&claude()));
}

#[test]
fn a_walk_reads_in_markdown_as_it_goes() {
    insta::assert_snapshot!(pages(&claude().in_form(Form::Markdown)));
}

#[test]
fn a_walk_reads_for_aider_as_in_text_but_for_commands_and_tasks_one_after_the_other() {
    let (text, aider) = (pages(&Tool::unknown()), pages(&claude().in_form(Form::Aider)));
    let shared: BTreeSet<&str> = text.lines().collect();
    let own: Vec<&str> = aider.lines().filter(|line| !shared.contains(line)).collect();
    insta::assert_snapshot!(own.join("\n"));
}

#[test]
fn what_is_said_instead_of_a_directive_reads_in_every_form() {
    let step = StepId::parse("tests").unwrap();
    let name = Name::parse("log").unwrap();
    let news = vec![
        News::Shown { step: step.clone(), text: "All\nis <well>.".into() },
        News::Failed { step: step.clone(), outcome: Outcome::TIMEOUT, reason: "it took 600 s".into() },
        News::Tolerated { step: step.clone(), outcome: Outcome::FAIL },
        News::Cut { name, bytes: 20 },
        News::RiskAccepted { gate: step.clone(), items: vec!["MUST 1: names".into()] },
    ];
    let handed = Handed {
        child: "1".into(),
        outcome: Outcome::OK,
        open: vec!["2".into()],
        parent: ["maestro", "workflow", "next", "r1"].map(str::to_owned).to_vec(),
    };
    let noted = Now::Noted { step: step.clone(), title: "Review the <tests>".into() };
    let instead =
        [Now::Busy { step, title: "Run the tests".into(), phase: None }, Now::Paused, Now::Handed(handed), noted];
    let mut all = Vec::new();
    for form in Form::ALL {
        for (index, now) in instead.iter().enumerate() {
            let news = if index == 0 { news.clone() } else { Vec::new() };
            let page = told(&Told { run: "r1".into(), news, now: now.clone() }, &claude().in_form(form));
            all.push(format!("== {} {}\n{page}", form.word(), index + 1));
        }
    }
    insta::assert_snapshot!(all.join("\n"));
}

/// A dispatch whose sub-agents begin runs of their own, after a gate has failed.
fn beginning() -> Told {
    let mut walk = Walk::new("it");
    walk.report("ok", json!({"files": ["a.rs"], "size": "small"}));
    walk.report("ok", serde_json::from_str(ITEMS).unwrap());
    let mut told = walk.told();
    let Now::Directive { directive } = &mut told.now else { panic!() };
    let checks = json!([{"step": "tests", "outcome": "fail", "printed": "1 failed\n\u{1b}[31mred"}]);
    let gate = json!({"reasons": ["check `tests` is not ok", "MUST 1: unclear"], "checks": checks});
    directive.data.insert("gate".into(), gate);
    for child in &mut directive.dispatches {
        child.workflow = Some("critic/verify".into());
        child.with.insert("statement".into(), json!("SECRET"));
        child.items.push(json!({"id": "9", "check": "SECRET"}));
        child.prompt = Some("SECRET".into());
        let ticket = child.ticket.to_string();
        let words = ["maestro", "workflow", "start", "critic/verify", "--parent", "r1", "--ticket", &ticket];
        child.report = words.map(str::to_owned).to_vec();
    }
    told
}

#[test]
fn who_begins_a_run_of_its_own_is_told_only_how() {
    let dispatched = beginning();
    let mut all = Vec::new();
    for form in [Form::Text, Form::Markdown, Form::Xml, Form::Aider] {
        all.push(format!("== {}\n{}", form.word(), told(&dispatched, &claude().in_form(form))));
    }
    let json = told(&dispatched, &claude().in_form(Form::Json));
    for page in all.iter().chain([&json]) {
        assert!(!page.contains("SECRET"), "{page}");
        assert!(page.contains("check `tests` is not ok"), "{page}");
        assert!(page.contains("maestro workflow start critic/verify") || *page == json, "{page}");
    }
    for page in &all {
        assert!(!page.contains("OUTCOME"), "{page}");
        assert!(page.contains("maestro workflow report r1 --ticket look#1/1.r9ppv3 --outcome fail"), "{page}");
    }
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn several_answers_and_a_choice_that_must_be_made_have_their_own_words() {
    let text =
        "name: q\nsteps:\n- {id: ask, type: question, prompt: Which?, options: [\"it's\", two], multiple: true}\n";
    let mut asked = Walk::through(text, "x").told();
    let mut all: Vec<String> = Form::ALL[..4].iter().map(|form| told(&asked, &claude().in_form(*form))).collect();
    assert!(all.iter().all(|page| page.contains("Several answers are several arguments")), "{all:?}");
    let Now::Directive { directive } = &mut asked.now else { panic!() };
    let question = directive.question.as_mut().unwrap();
    (question.multiple, question.options) = (false, Some(["again", "done", "abort"].map(str::to_owned).to_vec()));
    all.push(told(&asked, &claude()));
    assert!(!all[4].contains("--declined"), "a recovery question cannot be declined: {}", all[4]);
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn nothing_that_hides_is_printed_as_it_is() {
    let walk = Walk::new("a\u{1b}[31mred\u{202e}x\tb\u{7f}\u{9b}\u{e0041}");
    for form in [Form::Text, Form::Markdown, Form::Xml, Form::Aider] {
        let page = walk.page(&claude().in_form(form));
        let shown = "a\u{fffd}[31mred\u{fffd}x\tb\u{fffd}\u{fffd}\u{fffd}";
        assert!(page.contains(shown), "{page:?}");
        assert!(!page.contains(['\u{1b}', '\u{202e}', '\u{7f}', '\u{9b}', '\u{e0041}']), "{page:?}");
    }
}

#[test]
fn json_has_exactly_the_keys_of_a_directive() {
    let walk = Walk::new("the parser");
    let page = walk.page(&Tool::unknown().in_form(Form::Json));
    insta::assert_snapshot!(page);
    let value: serde_json::Value = serde_json::from_str(&page).unwrap();
    let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "run ticket workflow step round do data resources forbidden expected result outcomes dispatches question report progress";
    assert_eq!(keys.join(" "), expected);
}

#[test]
fn the_banners_are_the_seeds() {
    let round = |number, mode| Round { number, limit: None, mode, review: Some(Name::parse("plan").unwrap()) };
    assert_eq!(banner(&round(1, RoundMode::Initial)).unwrap(), "PLAN REVIEW: Review the work for issues.");
    let again = "PLAN REVIEW (Iteration 2, fresh review): Previous review found issues.";
    assert_eq!(banner(&round(2, RoundMode::FreshReview)).unwrap(), again);
}

#[test]
fn what_a_tool_cannot_do_is_told_as_something_it_can() {
    let mut walk = Walk::new("it");
    walk.report("ok", json!({"files": ["a.rs"], "size": "small"}));
    walk.report("ok", serde_json::from_str(ITEMS).unwrap());
    let able = |capabilities: &[Capability], form| {
        let capabilities: BTreeSet<Capability> = capabilities.iter().copied().collect();
        Tool { capabilities, ..claude() }.in_form(form)
    };
    for form in [Form::Text, Form::Markdown, Form::Xml, Form::Aider] {
        let alone = walk.page(&able(&[Capability::Shell], form));
        assert!(alone.contains("look#1/1."), "{alone}");
        assert!(!alone.contains("look#1/2."), "{alone}");
        assert!(alone.contains("1 more follow"), "{alone}");
    }
    for form in [Form::Text, Form::Markdown, Form::Xml] {
        let in_turn = walk.page(&able(&[Capability::Subagents], form));
        assert!(in_turn.contains("look#1/2."), "{in_turn}");
        assert!(in_turn.contains("the next when the one before is done"), "{in_turn}");
    }
    let mut walk = Walk::new("it");
    walk.report("ok", json!({"files": ["a.rs"], "size": "small"}));
    walk.report("ok", json!({"items": [{"check": "names", "severity": "MUST"}]}));
    walk.report("ok", json!({"items": [{"id": "1", "status": "pass", "evidence": "seen"}]}));
    for form in [Form::Text, Form::Markdown, Form::Xml, Form::Aider] {
        let page = walk.page(&able(&[Capability::Shell], form));
        assert!(page.contains("in your final message, and stop"), "{page}");
        let page = walk.page(&able(&[Capability::Mcp], form));
        assert!(page.contains("the tools of the MCP server"), "{page}");
    }
}

#[test]
fn a_verdict_of_pass_or_fail_has_a_command_for_each() {
    let text = "name: v\nsteps:\n- {id: judge, type: agent, outcomes: [pass, fail, skip], next: {pass: end, fail: again, skip: end}}\n- {id: again, type: end, status: failure}\n";
    let page = Walk::through(text, "x").page(&claude());
    let after = page.split("<INVOKE_AFTER>").nth(1).unwrap();
    let command = |outcome: &str| format!("maestro workflow report r1 --ticket judge#1.9r6w7d --outcome {outcome}");
    assert!(after.contains(&format!("<if_pass>{}</if_pass>", command("pass"))), "{page}");
    assert!(after.contains(&format!("<if_fail>{}</if_fail>", command("fail"))), "{page}");
    assert!(after.contains(&format!("<case outcome=\"skip\">{}</case>", command("skip"))), "{page}");
}

#[test]
fn the_first_directive_has_the_mandate_whatever_the_engine_did_before() {
    let text = "name: m\nvariables: {n: {type: int, default: 0}}\nsteps:\n- {id: count, type: set, values: {n: 1}}\n- {id: one, type: agent, next: {ok: two, fail: end, exhausted: end}, max_visits: 2}\n- {id: two, type: agent, next: {ok: one, fail: end}}\n";
    let mut walk = Walk::through(text, "x");
    assert!(walk.page(&claude()).contains("<xml_format_mandate>"));
    walk.report("ok", json!({}));
    assert!(!walk.page(&claude()).contains("<xml_format_mandate>"));
    walk.report("ok", json!({}));
    assert!(!walk.page(&claude()).contains("<xml_format_mandate>"));
}
