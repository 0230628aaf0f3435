//! Repair of a header that is almost YAML.
//!
//! Each entry (a key and the lines that belong to it) is tried alone. Those that do not parse are rewritten
//! as quoted text, others stay untouched. Lines keep their numbers, so places still fit the file.

use maestro_core::yaml::{self, SourcePosition};

/// One entry that was read differently from how it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderRepair {
    /// The entry's key.
    pub key: String,
    /// Where the trouble is, counted from the header's first line.
    pub place: SourcePosition,
    /// What YAML has against it.
    pub reason: String,
    /// The entry as it should have been written.
    pub replacement: String,
}

/// How deep nested blocks are looked into.
const MAX_DEPTH: usize = 8;

/// The same text with broken entries quoted, and what was done.
pub(super) fn repair(yaml: &str) -> (String, Vec<HeaderRepair>) {
    let lines: Vec<&str> = yaml.lines().collect();
    let mut repairs = Vec::new();
    let repaired = repair_block(&lines, 0, 0, &mut repairs);
    (repaired.join("\n") + "\n", repairs)
}

/// An entry's lines: `first` is the one with its key, counted within the block.
struct HeaderEntry<'a> {
    first: usize,
    lines: &'a [&'a str],
}

fn repair_block(lines: &[&str], line_offset: usize, depth: usize, repairs: &mut Vec<HeaderRepair>) -> Vec<String> {
    let mut repaired = Vec::with_capacity(lines.len());
    for entry in entries(lines) {
        let text = entry.lines.join("\n") + "\n";
        match yaml::parse(&text) {
            Ok(_) => repaired.extend(entry.lines.iter().map(|&line| line.to_owned())),
            Err(error) => {
                let offset = line_offset + entry.first;
                repaired.extend(repair_entry(entry.lines, offset, depth, &error, repairs));
            }
        }
    }
    repaired
}

fn repair_entry(
    lines: &[&str],
    line_offset: usize,
    depth: usize,
    error: &yaml::YamlError,
    repairs: &mut Vec<HeaderRepair>,
) -> Vec<String> {
    let unchanged = || lines.iter().map(|&line| line.to_owned()).collect();
    let Some((head, rest)) = lines.split_first() else { return Vec::new() };
    let Some((key, value)) = key_and_value(head) else { return unchanged() };
    let is_block = value.is_empty() || is_block_mark(value);
    if is_block {
        if depth >= MAX_DEPTH || rest.is_empty() || !value.is_empty() {
            return unchanged();
        }
        let mut repaired = vec![(*head).to_owned()];
        repaired.extend(repair_block(rest, line_offset + 1, depth + 1, repairs));
        return repaired;
    }
    let quoted = quote(value, rest);
    let prefix = head.get(..head.len() - head.trim_start().len()).unwrap_or_default();
    let instead = format!("{prefix}{key}: {quoted}");
    repairs.push(HeaderRepair {
        key: key.trim_start_matches("- ").to_owned(),
        place: error.place.below(line_offset),
        reason: error.reason.clone(),
        replacement: instead.trim_start().to_owned(),
    });
    // The lines that were folded in leave blank ones behind, so that nothing below moves.
    std::iter::once(instead).chain(rest.iter().map(|_| String::new())).collect()
}

/// `|` or `>` with nothing but its own signs after it; with text after it, it is the text's first character.
fn is_block_mark(value: &str) -> bool {
    value.strip_prefix(['|', '>']).is_some_and(|signs| {
        let signs = signs.split('#').next().unwrap_or_default().trim();
        signs.chars().all(|c| matches!(c, '+' | '-' | '1'..='9'))
    })
}

/// Groups lines into entries: one begins at each line that has a key and is indented no more than the first.
fn entries<'a>(lines: &'a [&'a str]) -> Vec<HeaderEntry<'a>> {
    let indent = lines.iter().find(|line| !is_blank(line)).map_or(0, |line| indent_of(line));
    let begins = |line: &str| !is_blank(line) && indent_of(line) <= indent && key_and_value(line).is_some();
    let mut starts: Vec<usize> =
        lines.iter().enumerate().filter(|(_, line)| begins(line)).map(|(index, _)| index).collect();
    if starts.first() != Some(&0) {
        starts.insert(0, 0);
    }
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    starts
        .iter()
        .zip(ends)
        .filter_map(|(&start, end)| lines.get(start..end).map(|lines| HeaderEntry { first: start, lines }))
        .filter(|entry| !entry.lines.is_empty())
        .collect()
}

/// Splits `key: value`. A key is a short word, perhaps after a list's dash.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim().split_once(':')?;
    let word = key.strip_prefix("- ").unwrap_or(key).trim();
    let is_word = !word.is_empty()
        && word.len() <= 64
        && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '$'));
    (is_word && (value.is_empty() || value.starts_with([' ', '\t']))).then(|| (key.trim_end(), value.trim()))
}

/// The whole value as one single-quoted scalar, its continuation lines folded in as YAML folds them.
fn quote(value: &str, continuation: &[&str]) -> String {
    if continuation.iter().all(|line| is_blank(line))
        && let Some(escaped) = escape_backslashes(value)
    {
        return escaped;
    }
    let mut text = without_outer_quotes(value).to_owned();
    for line in continuation.iter().map(|line| line.trim()).filter(|line| !line.is_empty()) {
        text.push(' ');
        text.push_str(line);
    }
    let text = text.replace('\t', " ").replace('\'', "''");
    format!("'{}'", text.chars().filter(|c| !c.is_control()).collect::<String>())
}

/// A quoted value that an apostrophe ended too early, without its quotes: `'it's here'`.
fn without_outer_quotes(value: &str) -> &str {
    let Some(inner) = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')) else { return value };
    let letters: Vec<char> = inner.chars().collect();
    let is_letter = |index: Option<usize>| index.and_then(|at| letters.get(at)).is_some_and(|c| c.is_alphanumeric());
    let apostrophes = letters.iter().enumerate().filter(|(_, c)| **c == '\'');
    let all_inside_words =
        apostrophes.map(|(at, _)| at).all(|at| is_letter(at.checked_sub(1)) && is_letter(Some(at + 1)));
    if all_inside_words { inner } else { value }
}

/// A double-quoted value whose only fault is an escape that YAML does not know: `"\d+"`.
fn escape_backslashes(value: &str) -> Option<String> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return None;
    }
    let doubled = format!("\"{}\"", inner.replace("\\\\", "\\").replace("\\\"", "\u{0}").replace('\\', "\\\\"));
    let doubled = doubled.replace('\u{0}', "\\\"");
    yaml::parse(&format!("k: {doubled}\n")).is_ok().then_some(doubled)
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
