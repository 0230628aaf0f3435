//! Changes to files as lines that are added and removed, whatever form an agent has for them.

use serde::Serialize;
use serde_json::Value as Json;

use crate::page::text::DisplayText;

/// A line of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct DiffLine {
    /// added, removed, place or nothing.
    kind: &'static str,
    text: String,
}

/// The lines of a patch.
pub(super) fn diff_lines(patch: &str) -> Vec<DiffLine> {
    patch.lines().map(diff_line).collect()
}

fn diff_line(line: &str) -> DiffLine {
    let kind = match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'@', b'@', ..] => "place",
        [b'+', ..] => "added",
        [b'-', ..] => "removed",
        _ => "",
    };
    DiffLine { kind, text: line.to_owned() }
}

/// What a call of an agent's tool changes, if its input says that in one of the usual ways: an old and a new text, a
/// list of such, a patch, or a whole file.
pub(super) fn input_edit(input: &Json, most: usize) -> Option<Vec<DiffLine>> {
    let text = |value: &Json, names: &[&str]| {
        names.iter().find_map(|name| value.get(name).and_then(Json::as_str)).map(str::to_owned)
    };
    let replaced = |value: &Json| {
        let old = text(value, &["old_string", "old_str", "oldText", "old_text"]);
        let new = text(value, &["new_string", "new_str", "newText", "new_text"]);
        (old.is_some() || new.is_some()).then(|| replaced_lines(&old.unwrap_or_default(), &new.unwrap_or_default()))
    };
    let several = input.get("edits").and_then(Json::as_array);
    let several: Option<Vec<DiffLine>> = several.map(|edits| edits.iter().filter_map(replaced).flatten().collect());
    let patch = || text(input, &["patch", "diff"]).map(|patch| diff_lines(&patch));
    let file = || {
        text(input, &["file_path", "filePath", "path"])?;
        text(input, &["content", "file_text"]).map(|content| replaced_lines("", &content))
    };
    let lines = replaced(input).or(several).or_else(patch).or_else(file).filter(|lines| !lines.is_empty())?;
    Some(cut(lines, most))
}

fn replaced_lines(old: &str, new: &str) -> Vec<DiffLine> {
    let line = |kind: &'static str, sign: char| move |text: &str| DiffLine { kind, text: format!("{sign}{text}") };
    // What both begin and end with stays as it is.
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let before = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - before;
    let after = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let kept = |lines: &[&str]| lines.iter().copied().map(line("", ' ')).collect::<Vec<_>>();
    let mut lines = kept(&old[..before]);
    lines.extend(old[before..old.len() - after].iter().copied().map(line("removed", '-')));
    lines.extend(new[before..new.len() - after].iter().copied().map(line("added", '+')));
    lines.extend(kept(&old[old.len() - after..]));
    lines
}

/// As many lines as fit; the last one says how many do not.
fn cut(lines: Vec<DiffLine>, most: usize) -> Vec<DiffLine> {
    let all = lines.len();
    let mut left = most;
    let mut shown = Vec::new();
    for line in lines {
        let text = DisplayText::exactly(&line.text, left);
        left -= text.text.chars().count().min(left);
        if !text.is_whole() {
            break;
        }
        shown.push(DiffLine { text: text.text, ..line });
    }
    let rest = all - shown.len();
    if rest > 0 {
        shown.push(DiffLine {
            kind: "place",
            text: format!("… {rest} more {} not shown", if rest == 1 { "line is" } else { "lines are" }),
        });
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(input: &Json, most: usize) -> Option<String> {
        let lines = input_edit(input, most)?;
        Some(lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("|"))
    }

    #[test]
    fn an_edit_is_a_diff_in_every_dialect() {
        let both = json!({ "file_path": "a", "old_string": "one\ntwo\nthree", "new_string": "one\n2\nthree" });
        assert_eq!(shown(&both, 99).as_deref(), Some(" one|-two|+2| three"));
        let several = json!({ "edits": [{ "oldText": "a", "newText": "b" }, { "oldText": "c", "newText": "" }] });
        assert_eq!(shown(&several, 99).as_deref(), Some("-a|+b|-c"));
        assert_eq!(shown(&json!({ "path": "a", "content": "x\ny" }), 99).as_deref(), Some("+x|+y"));
        assert_eq!(shown(&json!({ "patch": "@@ -1 +1 @@\n-a\n+b" }), 99).as_deref(), Some("@@ -1 +1 @@|-a|+b"));
        assert_eq!(shown(&json!({ "command": "ls", "content": "x" }), 99), None);
        assert_eq!(shown(&json!({ "old_string": "", "new_string": "" }), 99), None);
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let long = json!({ "path": "a", "content": "aaaa\nbbbb\ncccc" });
        assert_eq!(shown(&long, 12).as_deref(), Some("+aaaa|+bbbb|… 1 more line is not shown"));
    }
}
