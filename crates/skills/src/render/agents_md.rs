//! Block of skills in a user's file, added or replaced in place.
//!
//! In place of the block that is there, else between the marks of an older one, else at the end. Everything around
//! it stays as it is, and doing it again changes nothing.

use std::ops::Range;

use super::openskills::{TABLE_END, TABLE_START};

/// The text of a file with the block in it. A file that is not there yet begins with its title.
pub fn with_block(old: Option<&str>, title: &str, block: &str) -> String {
    let Some(old) = old else { return format!("# {title}\n\n{block}\n") };
    let block = if old.contains("\r\n") { block.replace('\n', "\r\n") } else { block.to_owned() };
    if let Some(place) = block_in(old) {
        return replaced(old, place, &block);
    }
    if let (Some(place), Some(part)) = (table_in(old), table_in(&block).and_then(|part| block.get(part))) {
        return replaced(old, place, part);
    }
    let end = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let kept = old.trim_end();
    let gap = if kept.is_empty() { String::new() } else { end.repeat(2) };
    format!("{kept}{gap}{block}{end}")
}

/// Whether a text holds a block, or the marks between which a table goes.
pub fn has_block(text: &str) -> bool {
    block_in(text).or_else(|| table_in(text)).is_some()
}

fn replaced(text: &str, place: Range<usize>, new: &str) -> String {
    let before = text.get(..place.start).unwrap_or_default();
    let after = text.get(place.end..).unwrap_or_default();
    format!("{before}{new}{after}")
}

/// The first block. A tag in backticks is only talked about.
fn block_in(text: &str) -> Option<Range<usize>> {
    const OPEN: &str = "<skills_system";
    const CLOSE: &str = "</skills_system>";
    let is_tag = |at: usize| {
        let after = text.get(at + OPEN.len()..).unwrap_or_default();
        after.starts_with(|c: char| c == '>' || c.is_whitespace())
    };
    between(text, OPEN, CLOSE, is_tag)
}

/// The first table between its marks, the marks included.
fn table_in(text: &str) -> Option<Range<usize>> {
    between(text, TABLE_START, TABLE_END, |_| true)
}

/// The first `close` that has an `open` before it, and the nearest such `open`.
fn between(text: &str, open: &str, close: &str, counts: impl Fn(usize) -> bool) -> Option<Range<usize>> {
    let quoted = |at: usize| text.get(..at).is_some_and(|before| before.ends_with('`'));
    let mut closes = text.match_indices(close).map(|(at, _)| at).filter(|&at| !quoted(at));
    closes.find_map(|end| {
        let before = text.get(..end)?;
        let start = before.rmatch_indices(open).map(|(at, _)| at).find(|&at| !quoted(at) && counts(at))?;
        Some(start..end + close.len())
    })
}
