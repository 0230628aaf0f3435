//! Prose of the author of a workflow in Markdown: what the author wrote stands as it is, and the values in it are escaped.

use super::markdown::{escaped, fenced, inline, prose};
use super::outline::MarkedText;
use super::phrases::lines;

/// A text as Markdown. One without parts of an author is escaped as a whole.
pub(super) fn marked_prose(marked: &MarkedText) -> String {
    if marked.authored.is_empty() {
        return prose(&marked.text);
    }
    let mut page = MarkedPage { text: String::new() };
    let mut at = 0;
    for (index, span) in marked.authored.iter().enumerate() {
        // Spans that do not fit the text leave the rest of it to be escaped.
        let (Some(value), Some(written)) = (marked.text.get(at..span.0), marked.text.get(span.0..span.1)) else {
            break;
        };
        if index > 0 || span.0 > 0 {
            page.value(value, written);
        }
        page.text.push_str(&written.replace("\r\n", "\n"));
        at = span.1;
    }
    page.value(marked.text.get(at..).unwrap_or_default(), "");
    lines(page.text.trim_start_matches('\n')).join("\n")
}

struct MarkedPage {
    text: String,
}

impl MarkedPage {
    /// Adds a value, before what the author wrote after it.
    fn value(&mut self, value: &str, after: &str) {
        if value.trim().is_empty() {
            return;
        }
        let value = lines(value);
        let line = self.text.rsplit('\n').next().unwrap_or_default();
        if line.trim_start().starts_with('|') {
            // A cell of a table is one line.
            return self.text.push_str(&escaped(&value.join(" ")).replace('|', "\\|"));
        }
        if self.is_in_fence() {
            return self.text.push_str(&value.iter().map(|line| fence_line(line)).collect::<Vec<_>>().join("\n"));
        }
        let begins = begins_block(line);
        let is_shaped =
            |line: &String| line.starts_with([' ', '\t']) || line.starts_with("```") || line.starts_with("~~~");
        let alone = line.is_empty() && (after.is_empty() || after.starts_with('\n'));
        if alone && value.len() > 1 && value.iter().any(is_shaped) {
            return self.text.push_str(&fenced("", &value.join("\n")));
        }
        for (index, line) in value.iter().enumerate() {
            if index > 0 {
                self.text.push('\n');
            }
            let line = line.trim_start();
            self.text.push_str(&if index > 0 || begins { inline(line) } else { escaped(line) });
        }
    }

    /// Whether the author opened a fence and has not closed it.
    fn is_in_fence(&self) -> bool {
        let mut open: Option<&str> = None;
        for line in self.text.lines() {
            let line = line.trim_start();
            let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
            open = match (open, mark) {
                (None, mark) => mark,
                (Some(opened), Some(mark)) if opened == mark => None,
                (opened, _) => opened,
            };
        }
        open.is_some()
    }
}

/// Whether what follows on a line would begin a block of its own: only marks of blocks stand before it.
fn begins_block(before: &str) -> bool {
    before.chars().all(|c| c.is_whitespace() || c.is_ascii_digit() || ">-*+.)#:[]`~=_\\".contains(c))
}

/// A line inside an author's fence, which it cannot close.
fn fence_line(line: &str) -> String {
    let closes = ["```", "~~~"].iter().any(|mark| line.trim_start().starts_with(mark));
    if closes { format!("\\{line}") } else { line.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;
    use pulldown_cmark::{Event, Options, Parser, Tag};
    use serde_json::json;

    use super::*;
    use crate::workflow::template::Template;

    fn filled(template: &str, value: &str) -> String {
        let filled = Template::parse(template).unwrap().fill_text(&|_| Cow::Owned(json!(value)));
        marked_prose(&MarkedText { text: filled.text, authored: filled.authored })
    }

    #[test]
    fn what_an_author_wrote_stands_as_it_is_and_values_are_escaped() {
        let author = "## Plan\n\n| a | b |\n|---|---|\n| {v} | 1 |\n\n1. First\n   - *then* {v}\n\n```sh\nrun <x>\n```";
        let expected = "## Plan\n\n| a | b |\n|---|---|\n| # x \\| y | 1 |\n\n1. First\n   - *then* # x | y\n\n```sh\nrun <x>\n```";
        assert_eq!(filled(author, "# x | y"), expected);
        assert_eq!(filled("{v}\n\n## Own", "## Next\n```sh\nrm\n```"), "````\n## Next\n```sh\nrm\n```\n````\n\n## Own");
        assert_eq!(filled("- {v}", "# STEP"), "- \\# STEP");
        assert_eq!(filled("```\n{v}\n```", "a\n```\n# b"), "```\na\n\\```\n# b\n```");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

        #[test]
        fn no_value_is_a_heading_wherever_an_author_puts_it(
            value in "([#>|`~=<&x1. \\n-]|# STEP|\\n## Next|```|    ){0,12}",
            place in proptest::sample::select(vec!["{v}", "a {v}", "## A\n\n{v}\n\nb", "- {v}", "> {v}", "```\n{v}\n```", "| {v} |\n|---|\n| {v} |", "1. a\n2. {v}\n", "{v}{v}", "a\n{v}\n"]),
        ) {
            let headings = |page: &str| {
                let heads = Parser::new_ext(page, Options::ENABLE_TABLES);
                heads.filter(|event| matches!(event, Event::Start(Tag::Heading { .. }) | Event::Html(_))).count()
            };
            let page = filled(place, &value);
            prop_assert_eq!(headings(&page), headings(&filled(place, "x")), "{}", page);
        }
    }
}
