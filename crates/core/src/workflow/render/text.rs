//! The plain text form. Headings stand at the margin, and everything that came from elsewhere is
//! indented, so that no value can pass for a heading.

use serde_json::Value as Json;

use super::outline::Block;
use super::tree::{item, named};
use super::words::{command, lines, one_line, visible};
use crate::workflow::value::in_text;

/// A page of plain text.
pub(super) fn page(blocks: &[Block]) -> String {
    let mut page = Page::default();
    for block in blocks {
        match block {
            Block::Command(argv) => page.indented(&command(argv)),
            other => page.block(other),
        }
    }
    visible(&page.text)
}

#[derive(Default)]
pub(super) struct Page {
    pub(super) text: String,
}

impl Page {
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
    pub(super) fn block(&mut self, block: &Block) {
        match block {
            Block::Title(head) | Block::Heading(head) => {
                if !self.text.is_empty() {
                    self.text.push('\n');
                }
                self.line(&format!("{}{}", head.word, head.rest));
            }
            Block::Text(text) => self.indented(text),
            Block::List(items) => items.iter().for_each(|item| self.indented(item)),
            Block::Options(options) => {
                for (index, option) in options.iter().enumerate() {
                    self.indented(&format!("{}. {}", index + 1, one_line(option)));
                }
            }
            Block::Values(values) => values.iter().for_each(|(name, value)| self.nested(named(name, value))),
            Block::Fields(fields) => fields.iter().for_each(|(name, declared)| self.field(name, declared)),
            Block::Items(items) => items.iter().for_each(|value| self.nested(item(value))),
            Block::Instead(when, argv) => self.indented(&format!("{when}: {}", command(argv))),
            Block::Command(argv) => self.indented(&command(argv)),
        }
    }

    fn nested(&mut self, lines: Vec<String>) {
        for line in lines {
            self.indented(&line);
        }
    }

    fn field(&mut self, name: &str, declared: &Json) {
        let kind = declared.get("type").map(in_text).unwrap_or_default();
        let values = declared.get("values").map(|values| format!(" of {}", in_text(values))).unwrap_or_default();
        let meaning = declared.get("description").map(|text| format!(": {}", in_text(text))).unwrap_or_default();
        self.indented(&format!("{name} ({kind}{values}){meaning}"));
    }
}
