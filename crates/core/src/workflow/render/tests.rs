mod hostile;
mod test_run;

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::workflow::directive::{RoundMode, StepRound};
use crate::workflow::name::{Name, StepId, StepOutcome};
use crate::workflow::run::{AnswerAuthor, RunInput, UserAnswer};
use crate::workflow::run_reply::{NextAction, RunUpdate, SubagentDone};
use crate::workflow::tool::{RoleAgent, ToolCapability};
use test_run::RenderedRun;

const ITEMS: &str = r#"{"items": [{"check": "names", "severity": "MUST", "scope": "src/**"}, {"check": "style", "severity": "COULD"}]}"#;

/// Every page of a run that fails a gate, uses up its rounds, accepts the risk and ends.
fn pages(tool: &CodingTool) -> String {
    let mut walk = RenderedRun::new("the <parser> & \"more\"");
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
    let answer = |walk: &RenderedRun, word: &str| RunInput::Answer {
        ticket: walk.run.ticket().unwrap(),
        answer: UserAnswer::Value(json!(word)),
        by: AnswerAuthor::User,
        now: 0,
    };
    walk.give(answer(&walk, "accept"));
    pages.push(walk.page(tool));
    walk.give(answer(&walk, "later"));
    pages.push(walk.page(tool));
    pages.join("\n==========\n")
}

fn claude() -> CodingTool {
    let mut tool = CodingTool { name: "claude".into(), ..CodingTool::unknown() }.with_form(RenderForm::Xml);
    let reviewer = RoleAgent { agent: Some("Reviewer".into()), model: None };
    tool.roles.insert(Name::parse("quality-reviewer").unwrap(), reviewer);
    tool.models.insert("strong".into(), "opus".into());
    tool
}

#[test]
fn a_walk_reads_in_text_as_it_goes() {
    insta::assert_snapshot!(pages(&CodingTool::unknown()));
}

#[test]
fn a_walk_reads_in_xml_with_the_blocks_of_the_seed() {
    insta::assert_snapshot!(pages(&claude()));
}

#[test]
fn a_walk_reads_in_markdown_as_it_goes() {
    insta::assert_snapshot!(pages(&claude().with_form(RenderForm::Markdown)));
}

#[test]
fn a_walk_reads_for_aider_as_in_text_but_for_commands_and_tasks_one_after_the_other() {
    let (text, aider) = (pages(&CodingTool::unknown()), pages(&claude().with_form(RenderForm::Aider)));
    let shared: BTreeSet<&str> = text.lines().collect();
    let own: Vec<&str> = aider.lines().filter(|line| !shared.contains(line)).collect();
    insta::assert_snapshot!(own.join("\n"));
}

#[test]
fn what_is_said_instead_of_a_directive_reads_in_every_form() {
    let step = StepId::parse("tests").unwrap();
    let name = Name::parse("log").unwrap();
    let updates = vec![
        RunUpdate::Shown { step: step.clone(), text: "All\nis <well>.".into(), authored: Vec::new() },
        RunUpdate::Failed { step: step.clone(), outcome: StepOutcome::TIMEOUT, reason: "it took 600 s".into() },
        RunUpdate::Tolerated { step: step.clone(), outcome: StepOutcome::FAIL, reason: String::new() },
        RunUpdate::Cut { name, bytes: 20 },
        RunUpdate::RiskAccepted { gate: step.clone(), items: vec!["MUST 1: names".into()], by: AnswerAuthor::User },
    ];
    let handed = SubagentDone {
        child: "1".into(),
        outcome: StepOutcome::OK,
        open: vec!["2".into()],
        parent: ["maestro", "workflow", "next", "r1"].map(str::to_owned).to_vec(),
    };
    let noted = NextAction::Noted { step: step.clone(), title: "Review the <tests>".into() };
    let instead = [
        NextAction::Busy { step, title: "Run the tests".into(), phase: None },
        NextAction::Paused,
        NextAction::Handed(handed),
        noted,
    ];
    let mut all = Vec::new();
    for form in RenderForm::ALL {
        for (index, now) in instead.iter().enumerate() {
            let updates = if index == 0 { updates.clone() } else { Vec::new() };
            let page =
                render_reply(&RunReply { run: "r1".into(), updates, next: now.clone() }, &claude().with_form(form));
            all.push(format!("== {} {}\n{page}", form.as_str(), index + 1));
        }
    }
    insta::assert_snapshot!(all.join("\n"));
}

/// A dispatch whose sub-agents begin runs of their own, after a gate has failed.
fn beginning() -> RunReply {
    let mut walk = RenderedRun::new("it");
    walk.report("ok", json!({"files": ["a.rs"], "size": "small"}));
    walk.report("ok", serde_json::from_str(ITEMS).unwrap());
    let mut told = walk.reply();
    let NextAction::Directive { directive } = &mut told.next else { panic!() };
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
    for form in [RenderForm::Text, RenderForm::Markdown, RenderForm::Xml, RenderForm::Aider] {
        all.push(format!("== {}\n{}", form.as_str(), render_reply(&dispatched, &claude().with_form(form))));
    }
    let json = render_reply(&dispatched, &claude().with_form(RenderForm::Json));
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
    let mut asked = RenderedRun::through(text, "x").reply();
    let mut all: Vec<String> =
        RenderForm::ALL[..4].iter().map(|form| render_reply(&asked, &claude().with_form(*form))).collect();
    assert!(all.iter().all(|page| page.contains("Several answers are several arguments")), "{all:?}");
    let NextAction::Directive { directive } = &mut asked.next else { panic!() };
    let question = directive.question.as_mut().unwrap();
    (question.multiple, question.options) = (false, Some(["again", "done", "abort"].map(str::to_owned).to_vec()));
    all.push(render_reply(&asked, &claude()));
    assert!(!all[4].contains("--declined"), "a recovery question cannot be declined: {}", all[4]);
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn nothing_that_hides_is_printed_as_it_is() {
    let walk = RenderedRun::new("a\u{1b}[31mred\u{202e}x\tb\u{7f}\u{9b}\u{e0041}");
    for form in [RenderForm::Text, RenderForm::Markdown, RenderForm::Xml, RenderForm::Aider] {
        let page = walk.page(&claude().with_form(form));
        let shown = "a\u{fffd}[31mred\u{fffd}x\tb\u{fffd}\u{fffd}\u{fffd}";
        assert!(page.contains(shown), "{page:?}");
        assert!(!page.contains(['\u{1b}', '\u{202e}', '\u{7f}', '\u{9b}', '\u{e0041}']), "{page:?}");
    }
}

#[test]
fn json_has_exactly_the_keys_of_a_directive() {
    let walk = RenderedRun::new("the parser");
    let page = walk.page(&CodingTool::unknown().with_form(RenderForm::Json));
    insta::assert_snapshot!(page);
    let value: serde_json::Value = serde_json::from_str(&page).unwrap();
    let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "run ticket workflow step round do data resources forbidden expected result outcomes dispatches question report progress";
    assert_eq!(keys.join(" "), expected);
}

#[test]
fn the_banners_are_the_seeds() {
    let round = |number, mode| StepRound { number, limit: None, mode, review: Some(Name::parse("plan").unwrap()) };
    assert_eq!(banner(&round(1, RoundMode::Initial)).unwrap(), "PLAN REVIEW: Review the work for issues.");
    let again = "PLAN REVIEW (Iteration 2, fresh review): Previous review found issues.";
    assert_eq!(banner(&round(2, RoundMode::FreshReview)).unwrap(), again);
}

#[test]
fn what_a_tool_cannot_do_is_told_as_something_it_can() {
    let mut walk = RenderedRun::new("it");
    walk.report("ok", json!({"files": ["a.rs"], "size": "small"}));
    walk.report("ok", serde_json::from_str(ITEMS).unwrap());
    let able = |capabilities: &[ToolCapability], form| {
        let capabilities: BTreeSet<ToolCapability> = capabilities.iter().copied().collect();
        CodingTool { capabilities, ..claude() }.with_form(form)
    };
    for form in [RenderForm::Text, RenderForm::Markdown, RenderForm::Xml, RenderForm::Aider] {
        let alone = walk.page(&able(&[ToolCapability::Shell], form));
        assert!(alone.contains("look#1/1."), "{alone}");
        assert!(!alone.contains("look#1/2."), "{alone}");
        assert!(alone.contains("1 more follow"), "{alone}");
    }
    for form in [RenderForm::Text, RenderForm::Markdown, RenderForm::Xml] {
        let in_turn = walk.page(&able(&[ToolCapability::Subagents], form));
        assert!(in_turn.contains("look#1/2."), "{in_turn}");
        assert!(in_turn.contains("the next when the one before is done"), "{in_turn}");
    }
    let mut walk = RenderedRun::new("it");
    walk.report("ok", json!({"files": ["a.rs"], "size": "small"}));
    walk.report("ok", json!({"items": [{"check": "names", "severity": "MUST"}]}));
    walk.report("ok", json!({"items": [{"id": "1", "status": "pass", "evidence": "seen"}]}));
    for form in [RenderForm::Text, RenderForm::Markdown, RenderForm::Xml, RenderForm::Aider] {
        let page = walk.page(&able(&[ToolCapability::Shell], form));
        assert!(page.contains("in your final message, and stop"), "{page}");
        let page = walk.page(&able(&[ToolCapability::Mcp], form));
        assert!(page.contains("the tools of the MCP server"), "{page}");
    }
}

#[test]
fn a_verdict_of_pass_or_fail_has_a_command_for_each() {
    let text = "name: v\nsteps:\n- {id: judge, type: agent, outcomes: [pass, fail, skip], next: {pass: end, fail: again, skip: end}}\n- {id: again, type: end, status: failure}\n";
    let page = RenderedRun::through(text, "x").page(&claude());
    let after = page.split("<INVOKE_AFTER>").nth(1).unwrap();
    let command = |outcome: &str| format!("maestro workflow report r1 --ticket judge#1.9r6w7d --outcome {outcome}");
    assert!(after.contains(&format!("<if_pass>{}</if_pass>", command("pass"))), "{page}");
    assert!(after.contains(&format!("<if_fail>{}</if_fail>", command("fail"))), "{page}");
    assert!(after.contains(&format!("<case outcome=\"skip\">{}</case>", command("skip"))), "{page}");
}

#[test]
fn the_first_directive_has_the_mandate_whatever_the_engine_did_before() {
    let text = "name: m\nvariables: {n: {type: int, default: 0}}\nsteps:\n- {id: count, type: set, values: {n: 1}}\n- {id: one, type: agent, next: {ok: two, fail: end, exhausted: end}, max_visits: 2}\n- {id: two, type: agent, next: {ok: one, fail: end}}\n";
    let mut walk = RenderedRun::through(text, "x");
    assert!(walk.page(&claude()).contains("<xml_format_mandate>"));
    walk.report("ok", json!({}));
    assert!(!walk.page(&claude()).contains("<xml_format_mandate>"));
    walk.report("ok", json!({}));
    assert!(!walk.page(&claude()).contains("<xml_format_mandate>"));
}

#[test]
fn fields_of_items_are_explained_and_those_that_may_be_left_out_are_marked() {
    let text = "name: f\nsteps:\n- id: one\n  type: agent\n  result:\n    found:\n      type: list\n      description: In order\n      fields:\n        id: {type: string, description: H1 …}\n        state: {type: enum, values: [OPEN, CLOSED], description: how it stands}\n        note: {type: string, required: false}\n        files: {type: list, pattern: .+}\n        share: {type: number, min: 0, max: 1}\n  next: {ok: end, fail: end}\n";
    for form in [RenderForm::Text, RenderForm::Markdown, RenderForm::Xml] {
        let page = RenderedRun::through(text, "x").page(&claude().with_form(form));
        assert!(page.contains("In order; `id`: H1 …; `state`: how it stands"), "{page}");
        let kind = page.replace("\\|", "|");
        assert!(
            kind.contains("list of {id, state: OPEN|CLOSED, note?, files: list of strings, share: number, 0 to 1}"),
            "{page}"
        );
    }
    let mut walk = RenderedRun::through(text, "x");
    walk.report("ok", json!({"found": [{"id": "H1", "state": "OPEN", "files": ["a"], "share": 0.5}]}));
}
