//! Can a value pass for something it is not, whatever it holds?

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::json;

use super::walk::Walk;
use super::{ITEMS, claude};
use crate::workflow::render::Form;
use crate::workflow::tool::Tool;

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
fn walked(value: &str, tool: &Tool) -> Vec<String> {
    let mut walk = Walk::new(value);
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
    proptest::collection::vec(proptest::sample::select(pieces), 0..12).prop_map(|pieces| pieces.concat())
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
            Event::Html(_) | Event::InlineHtml(_) | Event::Rule => foreign += 1,
            Event::Start(Tag::BlockQuote(_) | Tag::HtmlBlock) => foreign += 1,
            _ => {}
        }
    }
    (found, foreign)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn xml_is_well_formed_whatever_a_value_holds(value in hostile()) {
        for page in walked(&value, &claude()) {
            prop_assert_eq!(fault(&page), None, "{}", page);
        }
    }

    #[test]
    fn no_value_stands_at_the_margin_of_a_text(value in hostile()) {
        for form in [Form::Text, Form::Aider] {
            let tool = claude().in_form(form);
            for (plain, page) in walked("x", &tool).iter().zip(walked(&value, &tool)) {
                prop_assert_eq!(margin(plain), margin(&page), "{}", page);
            }
        }
    }

    #[test]
    fn no_value_is_a_heading_or_ends_its_block_in_markdown(value in hostile()) {
        let tool = claude().in_form(Form::Markdown);
        for (plain, page) in walked("x", &tool).iter().zip(walked(&value, &tool)) {
            let (found, foreign) = headings(&page);
            prop_assert_eq!(headings(plain).0, found, "{}", &page);
            prop_assert_eq!(foreign, 0, "{}", &page);
        }
    }
}
