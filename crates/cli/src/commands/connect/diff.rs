//! Diff of a changed file, with a few lines of context.

use std::fmt::Write as _;

use crate::output::screen::{TextStyle, clean_lines, clean_path};

/// Number of context lines.
const AROUND: usize = 3;

/// The range of lines that differs; `None` is a missing file.
pub(super) fn diff(shown: &str, before: Option<&str>, after: Option<&str>, paint: TextStyle) -> String {
    let lines = |text: Option<&'_ str>| -> Vec<String> {
        clean_lines(text.unwrap_or_default()).lines().map(str::to_owned).collect()
    };
    let (old, new) = (lines(before), lines(after));
    let ahead = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let behind = old[ahead..].iter().rev().zip(new[ahead..].iter().rev()).take_while(|(a, b)| a == b).count();
    let first = ahead.saturating_sub(AROUND);
    let (old_end, new_end) = (old.len() - behind, new.len() - behind);
    let last = (old_end + AROUND).min(old.len());
    let name =
        |text: Option<&str>| if text.is_some() { clean_path(shown).into_owned() } else { "/dev/null".to_owned() };
    let mut text = format!("--- {}\n+++ {}\n", name(before), name(after));
    let range = |from: usize, length: usize| format!("{},{length}", if length == 0 { from } else { from + 1 });
    let (old_length, new_length) = (last - first, new_end + (last - old_end) - first);
    let _ = writeln!(text, "@@ -{} +{} @@", range(first, old_length), range(first, new_length));
    for line in &old[first..ahead] {
        let _ = writeln!(text, " {line}");
    }
    for line in &old[ahead..old_end] {
        let _ = writeln!(text, "{}", paint.error(&format!("-{line}")));
    }
    for line in &new[ahead..new_end] {
        let _ = writeln!(text, "{}", paint.good(&format!("+{line}")));
    }
    for line in &old[old_end..last] {
        let _ = writeln!(text, " {line}");
    }
    text
}
