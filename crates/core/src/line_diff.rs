//! Difference of two texts, line by line, with a few lines around each change.

/// How many lines around a change are kept.
const AROUND: usize = 3;
/// How many pairs of lines are compared at most; texts that differ more are shown as wholly replaced.
const MOST_PAIRS: usize = 4_000_000;

/// A line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineChange {
    /// It is in both.
    Same(String),
    /// It is only in the text before.
    Removed(String),
    /// It is only in the text after.
    Added(String),
    /// So many lines that are in both are left out here.
    LeftOut(usize),
}

/// The lines that differ between two texts; none where they are equal.
pub fn diff_lines(before: &str, after: &str) -> Vec<LineChange> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let ahead = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let behind = old[ahead..].iter().rev().zip(new[ahead..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_end, new_end) = (old.len() - behind, new.len() - behind);
    let mut lines: Vec<LineChange> = old[..ahead].iter().map(|line| LineChange::Same((*line).to_owned())).collect();
    lines.extend(middle(&old[ahead..old_end], &new[ahead..new_end]));
    lines.extend(old[old_end..].iter().map(|line| LineChange::Same((*line).to_owned())));
    shorten(lines)
}

/// The difference of what remains between the equal beginning and the equal end.
fn middle(old: &[&str], new: &[&str]) -> Vec<LineChange> {
    let removed = |line: &&str| LineChange::Removed((*line).to_owned());
    let added = |line: &&str| LineChange::Added((*line).to_owned());
    if old.len().saturating_mul(new.len()) > MOST_PAIRS {
        return old.iter().map(removed).chain(new.iter().map(added)).collect();
    }
    // How long the longest common part is of what begins at each pair.
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for at in (0..old.len()).rev() {
        for to in (0..new.len()).rev() {
            common[at * width + to] = if old[at] == new[to] {
                common[(at + 1) * width + to + 1] + 1
            } else {
                common[(at + 1) * width + to].max(common[at * width + to + 1])
            };
        }
    }
    let (mut at, mut to, mut lines) = (0, 0, Vec::new());
    while at < old.len() || to < new.len() {
        let both = at < old.len() && to < new.len();
        if both && old[at] == new[to] {
            lines.push(LineChange::Same(old[at].to_owned()));
            (at, to) = (at + 1, to + 1);
        } else if at < old.len() && (!both || common[(at + 1) * width + to] >= common[at * width + to + 1]) {
            lines.push(removed(&old[at]));
            at += 1;
        } else {
            lines.push(added(&new[to]));
            to += 1;
        }
    }
    lines
}

/// Leaves out what is far from every change.
fn shorten(lines: Vec<LineChange>) -> Vec<LineChange> {
    let is_change = |line: &LineChange| !matches!(line, LineChange::Same(_));
    let changes: Vec<usize> = lines.iter().enumerate().filter(|(_, line)| is_change(line)).map(|(at, _)| at).collect();
    if changes.is_empty() {
        return Vec::new();
    }
    let (mut kept, mut left, mut next) = (Vec::new(), 0, 0);
    for (at, line) in lines.into_iter().enumerate() {
        while changes.get(next).is_some_and(|change| change + AROUND < at) {
            next += 1;
        }
        let near = changes.get(next).is_some_and(|change| change.abs_diff(at) <= AROUND);
        if near {
            if left > 0 {
                kept.push(LineChange::LeftOut(std::mem::take(&mut left)));
            }
            kept.push(line);
        } else {
            left += 1;
        }
    }
    if left > 0 {
        kept.push(LineChange::LeftOut(left));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, after: &str) -> String {
        let line = |line: LineChange| match line {
            LineChange::Same(text) => format!(" {text}\n"),
            LineChange::Removed(text) => format!("-{text}\n"),
            LineChange::Added(text) => format!("+{text}\n"),
            LineChange::LeftOut(count) => format!("@{count}\n"),
        };
        diff_lines(before, after).into_iter().map(line).collect()
    }

    #[test]
    fn changes_are_shown_with_what_is_around_them() {
        let before = (1..=20).map(|number| format!("n{number}.")).collect::<Vec<_>>().join("\n") + "\n";
        let after = before.replace("n5.\n", "five\n").replace("n18.\n", "");
        let expected =
            "@1\n n2.\n n3.\n n4.\n-n5.\n+five\n n6.\n n7.\n n8.\n@6\n n15.\n n16.\n n17.\n-n18.\n n19.\n n20.\n";
        assert_eq!(shown(&before, &after), expected);
        assert_eq!(shown(&before, &before), "");
        assert_eq!(shown("", "a\nb\n"), "+a\n+b\n");
        assert_eq!(shown("a\nb\n", ""), "-a\n-b\n");
    }

    #[test]
    fn texts_that_have_little_in_common_end_soon() {
        let (one, other) = ("a\n".repeat(5000), "b\n".repeat(5000));
        assert_eq!(diff_lines(&one, &other).len(), 10_000);
    }
}
