//! Parser of templates.

use super::{ByteOffset, InvalidTemplate, Template, TemplatePiece, ValueReference};
use crate::workflow::condition::Condition;
use crate::workflow::name::{Name, is_name_char};

/// How deep blocks may nest.
const MAX_DEPTH: usize = 8;

pub(super) fn parse_template(text: &str) -> Result<Template, InvalidTemplate> {
    let mut parser = TemplateParser { text, at: 0, literal: String::new(), pieces: Vec::new(), open: Vec::new() };
    parser.run()?;
    Ok(Template { pieces: parser.pieces })
}

struct TemplateParser<'t> {
    text: &'t str,
    at: usize,
    literal: String,
    pieces: Vec<TemplatePiece>,
    open: Vec<OpenBlock>,
}

/// A block that is not closed yet, and what stands before it.
struct OpenBlock {
    at: usize,
    before: Vec<TemplatePiece>,
    kind: BlockKind,
}

enum BlockKind {
    Loop { name: Name, list: ValueReference, at: ByteOffset },
    Choice { when: Condition, at: ByteOffset, then: Option<Vec<TemplatePiece>> },
}

impl TemplateParser<'_> {
    fn run(&mut self) -> Result<(), InvalidTemplate> {
        while let Some(found) = self.text[self.at..].find(['{', '}']) {
            self.literal.push_str(&self.text[self.at..self.at + found]);
            self.at += found;
            let rest = &self.text[self.at..];
            if rest.starts_with("{{") || rest.starts_with("}}") {
                self.literal.push_str(&rest[..1]);
                self.at += 2;
            } else if let Some(length) = self.block_length(rest) {
                self.block(length)?;
            } else {
                let (reference, length) = placeholder(rest).map_err(|reason| self.fault(self.at, reason))?;
                self.flush();
                self.pieces.push(TemplatePiece::Value(reference, ByteOffset(self.at)));
                self.at += length;
            }
        }
        self.literal.push_str(&self.text[self.at..]);
        self.flush();
        match self.open.last() {
            Some(block) => Err(self.fault(block.at, "this block is never closed; write `{end}` behind it".into())),
            None => Ok(()),
        }
    }

    fn flush(&mut self) {
        if !self.literal.is_empty() {
            self.pieces.push(TemplatePiece::Text(std::mem::take(&mut self.literal)));
        }
    }

    /// How long the mark of a block is that stands here, if one does. `{end}` and `{else}` are names outside of blocks.
    fn block_length(&self, rest: &str) -> Option<usize> {
        if rest.starts_with("{for ") || rest.starts_with("{if ") {
            return closing_brace(rest).map(|end| end + 1);
        }
        let mut marks = ["{end}", "{else}"].into_iter().filter(|_| !self.open.is_empty());
        marks.find(|mark| rest.starts_with(*mark)).map(str::len)
    }

    fn block(&mut self, length: usize) -> Result<(), InvalidTemplate> {
        let (at, mark) = (self.at, &self.text[self.at..self.at + length]);
        self.at += length;
        self.swallow_line(at);
        self.flush();
        match mark {
            "{end}" => self.close(at),
            "{else}" => self.otherwise(at),
            _ => {
                if self.open.len() >= MAX_DEPTH {
                    return Err(self.fault(at, format!("blocks are nested more than {MAX_DEPTH} deep")));
                }
                let kind = self.begin(at, &mark[1..mark.len() - 1])?;
                self.open.push(OpenBlock { at, before: std::mem::take(&mut self.pieces), kind });
                Ok(())
            }
        }
    }

    /// A mark that is alone on its line leaves no empty line behind.
    fn swallow_line(&mut self, at: usize) {
        let line = self.text[..at].rsplit('\n').next().unwrap_or_default();
        let blank = |text: &str| text.bytes().all(|byte| byte == b' ' || byte == b'\t');
        let after = &self.text[self.at..];
        let end = after.find('\n').unwrap_or(after.len());
        if !blank(line) || !blank(&after[..end]) {
            return;
        }
        self.literal.truncate(self.literal.trim_end_matches([' ', '\t']).len());
        self.at += (end + 1).min(after.len());
    }

    fn begin(&self, at: usize, mark: &str) -> Result<BlockKind, InvalidTemplate> {
        if let Some(text) = mark.strip_prefix("if ") {
            let start = at + 1 + "if ".len();
            let when = Condition::parse(text).map_err(|bad| self.fault(start + bad.at, bad.reason))?;
            return Ok(BlockKind::Choice { when, at: ByteOffset(start), then: None });
        }
        let words: Vec<&str> = mark.split_whitespace().collect();
        let ["for", name, "in", list] = words.as_slice() else {
            return Err(self.fault(at, "a loop is written as `{for NAME in LIST}`".into()));
        };
        let name = Name::parse(name).map_err(|bad| self.fault(at, format!("`{name}` is not a name: {bad}")))?;
        let list = ValueReference::parse(list).map_err(|reason| self.fault(at, reason))?;
        Ok(BlockKind::Loop { name, list, at: ByteOffset(at) })
    }

    fn close(&mut self, at: usize) -> Result<(), InvalidTemplate> {
        let Some(OpenBlock { before, kind, .. }) = self.open.pop() else {
            return Err(self.fault(at, "`{end}` closes nothing".into()));
        };
        let body = std::mem::replace(&mut self.pieces, before);
        self.pieces.push(match kind {
            BlockKind::Loop { name, list, at } => TemplatePiece::Loop { name, list, at, body },
            BlockKind::Choice { when, at, then: None } => {
                TemplatePiece::Choice { when, at, then: body, otherwise: Vec::new() }
            }
            BlockKind::Choice { when, at, then: Some(then) } => {
                TemplatePiece::Choice { when, at, then, otherwise: body }
            }
        });
        Ok(())
    }

    fn otherwise(&mut self, at: usize) -> Result<(), InvalidTemplate> {
        match self.open.last_mut() {
            Some(OpenBlock { kind: BlockKind::Choice { then: then @ None, .. }, .. }) => {
                *then = Some(std::mem::take(&mut self.pieces));
                Ok(())
            }
            _ => Err(self.fault(at, "`{else}` belongs to no `{if …}`".into())),
        }
    }

    fn fault(&self, at: usize, reason: String) -> InvalidTemplate {
        InvalidTemplate { at: at.min(self.text.len()), reason }
    }
}

/// Where the brace stands that closes a mark; one in quotes does not.
fn closing_brace(rest: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match (c, quote) {
            _ if escaped => escaped = false,
            ('\\', Some(_)) => escaped = true,
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            ('}', None) => return Some(at),
            _ => {}
        }
    }
    None
}

/// The reference at the start of `rest`, which begins with a brace, and how many bytes it takes.
fn placeholder(rest: &str) -> Result<(ValueReference, usize), String> {
    if rest.starts_with('}') {
        return Err("a lone `}`; write `}}` for the brace itself".into());
    }
    let inside = &rest[1..];
    let end = inside.find(|c: char| !is_name_char(c) && c != '.').unwrap_or(inside.len());
    if !inside[end..].starts_with('}') {
        let text = inside.split(['}', '\n']).next().unwrap_or_default();
        let calculates =
            end > 0 && text[end..].trim_start().starts_with(['[', '(', '+', '-', '*', '/', '%', '=', '<', '>', '!']);
        return Err(if calculates {
            "only names stand in braces; `list[0]`, functions and arithmetic belong into conditions (`when`, `{if …}`)"
                .into()
        } else {
            "a `{` that begins no `{name}`; write `{{` for the brace itself".into()
        });
    }
    Ok((ValueReference::parse(&inside[..end])?, end + 2))
}
