//! The Markdown form. What came from elsewhere stands in list items and table cells whose marks are
//! escaped, or in fences longer than any within, so that no value can pass for a heading or end its block. What the
//! author of the workflow wrote stands as it is.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json};

use super::marked_prose::marked_prose;
use super::outline::{PageBlock, PageHeading, ToolCall};
use super::phrases::{command, escape_hidden, field_meaning, field_type, lines, one_line};
use super::tree::{is_nested, item, tree};
use crate::workflow::value_type::value_text;

/// A page of Markdown.
pub(super) fn page(blocks: &[PageBlock]) -> String {
    let mut page = MarkdownPage::default();
    for block in blocks {
        page.block(block);
    }
    escape_hidden(&page.text)
}

#[derive(Default)]
struct MarkdownPage {
    text: String,
}

impl MarkdownPage {
    /// A paragraph, a list, a table or a fence, set apart from what stands before it.
    fn apart(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn block(&mut self, block: &PageBlock) {
        match block {
            PageBlock::Title(head) => self.apart(&format!("# {}", heading(head))),
            PageBlock::Heading(head) => self.apart(&format!("## {}", heading(head))),
            PageBlock::Text(text) => self.apart(&marked_prose(text)),
            PageBlock::List(items) => self.list(items.iter().map(marked_prose), |_| "- ".to_owned()),
            PageBlock::Document(text) => self.apart(&fenced("", text)),
            PageBlock::Options(options) => {
                self.list(options.iter().map(|option| inline(&one_line(option))), |index| format!("{}. ", index + 1));
            }
            PageBlock::Values(values) => self.values(values),
            PageBlock::Fields(fields) => self.fields(fields),
            PageBlock::Items(items) => self.items(items),
            PageBlock::Command(argv) => self.apart(&fenced("sh", &command(argv))),
            PageBlock::Instead(when, argv) => {
                self.apart(&format!("{when}:"));
                self.apart(&fenced("sh", &command(argv)));
            }
            PageBlock::Calls(calls) => {
                let calls: Vec<String> = calls.iter().map(ToolCall::line).collect();
                self.apart(&fenced("", &calls.join("\n")));
            }
        }
    }

    fn list(&mut self, items: impl Iterator<Item = String>, mark: impl Fn(usize) -> String) {
        let mut text = String::new();
        for (index, item) in items.enumerate() {
            let mark = mark(index);
            for (number, line) in item.lines().enumerate() {
                let margin = if number == 0 { mark.clone() } else { " ".repeat(mark.len()) };
                let _ = writeln!(text, "{}", format!("{margin}{line}").trim_end());
            }
        }
        self.apart(text.trim_end());
    }

    fn values(&mut self, values: &Map<String, Json>) {
        let mut short = Vec::new();
        for (name, value) in values {
            if is_nested(value) {
                self.apart(&format!("{}:", inline(&one_line(name))));
                match value {
                    Json::Array(items) => self.items(items),
                    other => self.apart(&fenced("", &tree(other).join("\n"))),
                }
                continue;
            }
            let text = tree(value).join("\n");
            if let [one] = lines(&text).as_slice() {
                short.push(vec![name.clone(), one.clone()]);
            } else {
                self.apart(&format!("{}:", inline(&one_line(name))));
                self.apart(&fenced("", &text));
            }
        }
        match short.as_slice() {
            [] => {}
            [one] => self.apart(&format!("- {}: {}", inline(&one_line(&one[0])), inline(&one[1]))),
            many => self.table(&["name".to_owned(), "value".to_owned()], many),
        }
    }

    fn fields(&mut self, fields: &Map<String, Json>) {
        let row =
            |(name, declared): (&String, &Json)| vec![name.clone(), field_type(declared), field_meaning(declared)];
        let head = ["field", "type", "meaning"].map(str::to_owned);
        self.table(&head, &fields.iter().map(row).collect::<Vec<_>>());
    }

    /// Objects of plain values as a table with a column for each key, plain values as a list, anything else as it is.
    fn items(&mut self, items: &[Json]) {
        let mut columns: Vec<String> = Vec::new();
        for key in items.iter().filter_map(Json::as_object).flat_map(Map::keys) {
            if !columns.contains(key) {
                columns.push(key.clone());
            }
        }
        if items.iter().all(|item| !item.is_object() && !item.is_array()) {
            return self.list(items.iter().map(|item| prose(&value_text(item))), |_| "- ".to_owned());
        }
        let plain = |item: &Json| item.as_object().is_some_and(|fields| !fields.values().any(is_nested));
        if columns.is_empty() || !items.iter().all(plain) {
            let lines: Vec<String> = items.iter().flat_map(item).collect();
            return self.apart(&fenced("", &lines.join("\n")));
        }
        let cell = |item: &Json, column: &String| item.get(column).map(value_text).unwrap_or_default();
        let row = |item: &Json| columns.iter().map(|column| cell(item, column)).collect();
        self.table(&columns, &items.iter().map(row).collect::<Vec<Vec<String>>>());
    }

    fn table(&mut self, head: &[String], rows: &[Vec<String>]) {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|text| inline(&one_line(text)).replace('|', "\\|")).collect();
            format!("| {} |", cells.join(" | "))
        };
        let mut text = format!("{}\n|{}", line(head), "---|".repeat(head.len()));
        for row in rows {
            let _ = write!(text, "\n{}", line(row));
        }
        self.apart(&text);
    }
}

/// A heading in calm letters.
fn heading(head: &PageHeading) -> String {
    let mut letters = head.word.chars();
    let first = letters.next().map(String::from).unwrap_or_default();
    let rest = escaped(head.rest.trim_end_matches(':'));
    format!("{first}{}{}", letters.as_str().to_lowercase(), rest.trim_end_matches('#'))
}

/// A text as paragraphs; one with a shape of its own as it is, in a fence.
pub(super) fn prose(text: &str) -> String {
    let lines = lines(text);
    let shaped = |line: &String| line.starts_with([' ', '\t']) || line.starts_with("```") || line.starts_with("~~~");
    if lines.iter().any(shaped) {
        fenced("", text)
    } else {
        // An item of a list that began with empty lines would be over before its text.
        let text = lines.iter().skip_while(|line| line.is_empty()).map(|line| inline(line));
        text.collect::<Vec<_>>().join("\n")
    }
}

/// A text that holds no markup of another language.
pub(super) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('<', "\\<").replace('&', "\\&")
}

/// A line that begins no block either.
pub(super) fn inline(line: &str) -> String {
    let line = escaped(line);
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let after = line[digits..].chars().next();
    if digits > 0 && matches!(after, Some('.' | ')')) {
        return format!("{}\\{}", &line[..digits], &line[digits..]);
    }
    if line.starts_with(['#', '>', '+', '-', '=', '|', '~', '*', '_', ':', '[']) || line.starts_with("```") {
        return format!("\\{line}");
    }
    line
}

/// A text in a fence that nothing in it can close.
pub(super) fn fenced(language: &str, text: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence}{language}\n{}\n{fence}", lines(text).join("\n"))
}
