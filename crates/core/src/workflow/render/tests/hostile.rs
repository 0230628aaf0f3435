//! Tests with hostile values: no value may pass for something it is not.

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::json;

use super::claude;
use super::test_run::RenderedRun;
use crate::workflow::draw::draw_svg;
use crate::workflow::load::{LoadEnvironment, load_workflow};
use crate::workflow::name::{Name, StepId, StepOutcome};
use crate::workflow::render::{RenderForm, render_reply};
use crate::workflow::run::AnswerAuthor;
use crate::workflow::run_reply::{NextAction, RunReply, RunUpdate, SubagentDone};
use crate::workflow::stateless::{self, DeclaredVerdict, StatelessRequest};
use crate::workflow::tool::CodingTool;

/// Why a text is no well-formed XML document of one element, if it is none.
fn fault(page: &str) -> Option<String> {
    let name_ok = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let text_ok = |text: &str| {
        let entities = text.split('&').skip(1).all(|rest| {
            let entity = rest.split_once(';').map(|(entity, _)| entity).unwrap_or_default();
            matches!(entity, "amp" | "lt" | "gt" | "quot" | "#10" | "#9")
        });
        entities && !text.contains("]]>") && !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t')
    };
    let (mut open, mut roots, mut rest) = (Vec::new(), 0, page);
    while let Some(at) = rest.find('<') {
        let (before, after) = rest.split_at(at);
        if before.contains('>') || !text_ok(before) || (open.is_empty() && !before.trim().is_empty()) {
            return Some(format!("text {before:?}"));
        }
        // A `>` inside quotes would be escaped, so the first one ends the tag.
        let Some((tag, after)) = after[1..].split_once('>') else { return Some(format!("no end of {after:?}")) };
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Some(format!("unexpected end of {name}"));
            }
            continue;
        }
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut keys = Vec::new();
        while !attributes.is_empty() {
            let Some((key, value)) = attributes.split_once("=\"") else { return Some(format!("attribute in {tag}")) };
            let Some((value, more)) = value.split_once('"') else { return Some(format!("open quote in {tag}")) };
            if !name_ok(key) || keys.contains(&key) || !text_ok(value) || value.contains(['<', '\n', '\t']) {
                return Some(format!("attribute {key} in {tag}"));
            }
            keys.push(key);
            match more.strip_prefix(' ') {
                Some(more) => attributes = more,
                None if more.is_empty() => break,
                None => return Some(format!("no space after {key} in {tag}")),
            }
        }
        if !name_ok(name) {
            return Some(format!("name {name:?}"));
        }
        if open.is_empty() {
            roots += 1;
        }
        if !empty {
            open.push(name);
        }
    }
    (!open.is_empty() || roots != 1 || !rest.trim().is_empty())
        .then(|| format!("{roots} roots, open {open:?}, {rest:?}"))
}

/// The told pages of a walk in which the task and everything that is reported hold this.
fn walked(value: &str, tool: &CodingTool) -> Vec<String> {
    let mut walk = RenderedRun::new(value);
    let mut pages = vec![walk.page(tool)];
    walk.report("ok", json!({"files": [value, "x"], "size": "small"}));
    let check = if value.trim().is_empty() { "x" } else { value };
    walk.report("ok", json!({"items": [{"check": check, "severity": "MUST", "scope": [value]}]}));
    pages.push(walk.page(tool));
    walk.report("ok", json!({"items": [{"id": "1", "status": "fail", "finding": check}]}));
    pages.push(walk.page(tool));
    walk.report("ok", json!({"files": [], "size": "small"}));
    walk.report("ok", json!({"items": [{"id": "1", "status": "pass", "evidence": "seen"}]}));
    pages.push(walk.page(tool));
    pages
}

/// News and a directive whose every text is this, then what is said instead of one.
fn full(v: &str, tool: &CodingTool) -> Vec<String> {
    let part = |review: &str| format!("each {{id, {review}, evidence, finding}}");
    let directive = json!({
        "run": v, "ticket": "a#1.000000", "workflow": v,
        "step": {"id": "a", "title": v, "brief": v, "phase": v, "number": 1, "total": 2},
        "round": {"number": 2, "limit": 3, "mode": "fresh_review", "review": "r"},
        "do": [v, v], "data": {"k": v, v: v, "items": [{"id": v, "check": v, v: v}], "l": [v, v], "gate": {"reasons": [v], v: [{"step": v, v: [v, {v: v}]}]}},
        "resources": [{"name": "n", "content": v}], "forbidden": [v],
        "expected": {"if_pass": v, "when_issues": v, "categories": [v, v]},
        "result": {v: {"type": v, "values": [v], "description": v}, "items": {"type": "list", "description": part("status: pass|fail")}},
        "outcomes": ["pass", "fail", v],
        "dispatches": [],
        "question": {"prompt": v, "options": [v, v], "default": v, "multiple": true, "refused": v},
        "report": ["maestro", v, "OUTCOME"],
        "progress": {"visited": 1, "total": 2, "transitions": 0, "limit": 9},
    });
    let child = json!({"ticket": "a#1/b.000000", "child": v, "role": "x", "model": v, "prompt": v, "workflow": null,
        "with": {v: v}, "items": [{"id": v, "check": v}], "free_form": true, "report": ["maestro", v]});
    let mut delegating = directive.clone();
    delegating["dispatches"] = json!([child, child]);
    delegating["question"] = json!(null);
    let (step, name, outcome) =
        (StepId::parse("a").unwrap(), Name::parse("n").unwrap(), StepOutcome::new(v.to_owned()));
    let updates = vec![
        RunUpdate::Shown { step: step.clone(), text: v.to_owned(), authored: Vec::new() },
        RunUpdate::Judged {
            gate: step.clone(),
            title: v.to_owned(),
            round: 1,
            limit: 3,
            outcome: StepOutcome::FAIL,
            reasons: vec![v.to_owned()],
            review: None,
            fix_target: Some(name.clone()),
            self_fix: true,
        },
        RunUpdate::Failed { step: step.clone(), outcome: outcome.clone(), reason: v.to_owned() },
        RunUpdate::Tolerated { step: step.clone(), outcome: outcome.clone(), reason: v.to_owned() },
        RunUpdate::Cut { name, bytes: 1 },
        RunUpdate::RiskAccepted { gate: step.clone(), items: vec![v.to_owned()], by: AnswerAuthor::User },
    ];
    let now = [
        NextAction::Directive { directive: serde_json::from_value(directive).unwrap() },
        NextAction::Directive { directive: serde_json::from_value(delegating).unwrap() },
        NextAction::Busy { step, title: v.to_owned(), phase: None },
        NextAction::Handed(SubagentDone {
            child: v.to_owned(),
            outcome,
            open: vec![v.to_owned()],
            parent: vec![v.to_owned()],
        }),
    ];
    now.map(|now| render_reply(&RunReply { run: "r1".into(), updates: updates.clone(), next: now }, tool)).to_vec()
}

fn hostile() -> impl Strategy<Value = String> {
    let pieces = vec![
        "# STEP",
        "## Next",
        "NEXT: run",
        "FORBIDDEN:",
        "/run rm -rf",
        "```",
        "````",
        "~~~",
        "<step>",
        "</step>",
        "]]>",
        "<![CDATA[",
        "<!--",
        "&amp;",
        "&",
        "\"",
        "'",
        "\n",
        "\r",
        "\r\n",
        "\t",
        "    ",
        "- ",
        "1. ",
        "> ",
        "---",
        "===",
        "| a | b |",
        "|---|---|",
        "[a]: b",
        "<script>",
        "\u{0}",
        "\u{1b}[2J",
        "\u{2028}",
        "\u{202e}",
        "\u{fffe}",
        "é",
        "x",
        " ",
        "\\",
        "*",
        "_",
        "`",
        "{task}",
        "WORKFLOW COMPLETE",
    ];
    // Nothing at all is no material, so a page about it lacks a heading.
    proptest::collection::vec(proptest::sample::select(pieces), 1..12).prop_map(|pieces| pieces.concat())
}

/// The lines at the margin.
fn margin(page: &str) -> Vec<String> {
    let at_margin = |line: &&str| !line.is_empty() && !line.starts_with(' ');
    page.split(['\n', '\r', '\u{2028}', '\u{2029}', '\u{85}', '\u{b}', '\u{c}'])
        .filter(at_margin)
        .map(str::to_owned)
        .collect()
}

/// The headings of a page, and how many things stand in it that we never write.
fn headings(page: &str) -> (Vec<String>, usize) {
    let (mut found, mut open, mut foreign) = (Vec::new(), None, 0);
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => open = Some(String::new()),
            Event::End(pulldown_cmark::TagEnd::Heading(_)) => found.extend(open.take()),
            Event::Text(text) | Event::Code(text) => open.iter_mut().for_each(|heading| heading.push_str(&text)),
            Event::Html(_) | Event::InlineHtml(_) | Event::Rule | Event::Start(Tag::BlockQuote(_) | Tag::HtmlBlock) => {
                foreign += 1;
            }
            _ => {}
        }
    }
    (found, foreign)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn xml_is_well_formed_whatever_a_value_holds(value in hostile()) {
        for page in walked(&value, &claude()).into_iter().chain(full(&value, &claude())) {
            prop_assert_eq!(fault(&page), None, "{}", page);
        }
    }

    #[test]
    fn a_definition_is_printed_and_drawn_as_well_formed_whatever_it_says(value in hostile()) {
        let said = serde_json::to_string(&value.replace(['{', '}'], "")).unwrap();
        let text = format!(
            "name: w\nreviews: {{r: {{}}}}\nsteps:\n\
             - {{id: a, type: agent, title: {said}, description: {said}, phase: {said}, actions: [{said}], forbidden: [{said}], data: {{d: {said}}}, result: {{f: {{type: string, description: {said}}}}}, review: {{name: r, part: decompose}}, next: {{ok: b, fail: e}}}}\n\
             - {{id: b, type: dispatch, title: {said}, prompt: {said}, for_each: reviews.r.open, review: {{name: r, part: verify}}, next: {{ok: g, fail: g, partial: g}}}}\n\
             - {{id: g, type: gate, title: {said}, review: r, pass_message: {said}, max_rounds: 2, next: {{pass: e, fail: a, exhausted: e}}}}\n\
             - {{id: e, type: end, title: {said}, message: {said}}}\n"
        );
        let (loaded, findings) = load_workflow(&text, &LoadEnvironment::none());
        // YAML has no control characters; whatever else is said is read.
        let readable = !value.trim().is_empty() && !value.contains(|c: char| c.is_control() || c == '\u{fffe}');
        prop_assert!(loaded.is_some() || !readable, "{:?}", findings);
        let Some(workflow) = loaded else { return Ok(()) };
        let drawn = draw_svg(&workflow, None, &std::collections::BTreeMap::new());
        prop_assert_eq!(fault(&drawn), None, "{}", drawn);
        for step in 1..=4 {
            let verdict = (step == 3).then_some(DeclaredVerdict::Fail);
            let page = stateless::page(&workflow, &value, &StatelessRequest { step, verdict, ..StatelessRequest::default() }, &claude());
            prop_assert_eq!(page.as_deref().map(fault), Ok(None), "{:?}", page);
        }
    }

    #[test]
    fn no_value_stands_at_the_margin_of_a_text(value in hostile()) {
        for form in [RenderForm::Text, RenderForm::Aider] {
            let tool = claude().with_form(form);
            for (plain, page) in walked("x", &tool).iter().zip(walked(&value, &tool)) {
                prop_assert_eq!(margin(plain), margin(&page), "{}", page);
            }
            for (plain, page) in full("x", &tool).iter().zip(full(&value, &tool)) {
                prop_assert_eq!(margin(plain).len(), margin(&page).len(), "{}", page);
            }
        }
    }

    #[test]
    fn no_value_is_a_heading_or_ends_its_block_in_markdown(value in hostile()) {
        let tool = claude().with_form(RenderForm::Markdown);
        for (plain, page) in walked("x", &tool).iter().zip(walked(&value, &tool)) {
            let (found, foreign) = headings(&page);
            prop_assert_eq!(headings(plain).0, found, "{}", &page);
            prop_assert_eq!(foreign, 0, "{}", &page);
        }
        for (plain, page) in full("x", &tool).iter().zip(full(&value, &tool)) {
            let (found, foreign) = headings(&page);
            prop_assert_eq!((headings(plain).0.len(), 0), (found.len(), foreign), "{}", &page);
        }
    }
}
