//! The plain text form. Headings stand at the margin, and everything that came from elsewhere is
//! indented, so that no value can pass for a heading.

use serde_json::Value as Json;

use super::outline::PageBlock;
use super::phrases::{command, escape_hidden, field_meaning, field_type, lines, one_line};
use super::tree::{item, named};

/// A page of plain text.
pub(super) fn page(blocks: &[PageBlock]) -> String {
    let mut page = TextPage::default();
    for block in blocks {
        match block {
            PageBlock::Command(argv) => page.indented(&command(argv)),
            other => page.block(other),
        }
    }
    escape_hidden(&page.text)
}

#[derive(Default)]
pub(super) struct TextPage {
    pub(super) text: String,
}

impl TextPage {
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub(super) fn indented(&mut self, text: &str) {
        for line in lines(text) {
            let line = if line.is_empty() { line } else { format!("  {line}") };
            self.line(&line);
        }
    }

    /// Any block but a command.
    pub(super) fn block(&mut self, block: &PageBlock) {
        match block {
            PageBlock::Title(head) | PageBlock::Heading(head) => {
                if !self.text.is_empty() {
                    self.text.push('\n');
                }
                self.line(&format!("{}{}", head.word, head.rest));
            }
            PageBlock::Text(text) => self.indented(&text.text),
            PageBlock::List(items) => items.iter().for_each(|item| self.indented(&item.text)),
            PageBlock::Document(text) => self.indented(text),
            PageBlock::Options(options) => {
                for (index, option) in options.iter().enumerate() {
                    self.indented(&format!("{}. {}", index + 1, one_line(option)));
                }
            }
            PageBlock::Values(values) => values.iter().for_each(|(name, value)| self.nested(named(name, value))),
            PageBlock::Fields(fields) => fields.iter().for_each(|(name, declared)| self.field(name, declared)),
            PageBlock::Items(items) => items.iter().for_each(|value| self.nested(item(value))),
            PageBlock::Instead(when, argv) => self.indented(&format!("{when}: {}", command(argv))),
            PageBlock::Command(argv) => self.indented(&command(argv)),
            PageBlock::Calls(calls) => calls.iter().for_each(|call| self.indented(&call.line())),
        }
    }

    fn nested(&mut self, lines: Vec<String>) {
        for line in lines {
            self.indented(&line);
        }
    }

    fn field(&mut self, name: &str, declared: &Json) {
        let kind = field_type(declared);
        let meaning = field_meaning(declared);
        let meaning = if meaning.is_empty() { meaning } else { format!(": {meaning}") };
        self.indented(&format!("{name} ({kind}){meaning}"));
    }
}
