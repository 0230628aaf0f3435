//! Diff of a run: the files that it changed, line by line, each line with its numbers.

use maestro_core::excerpt::ellipsize;
use maestro_core::workflow::run::PersonItem;
use serde::Serialize;

use super::evidence::item_badge;
use crate::page::badge::StateBadge;
use crate::page::text::DisplayText;
use crate::work_changes::WorkChanges;

/// How many lines are shown of a file, and of all together.
const FILE_LINES: usize = 1500;
const ALL_LINES: usize = 6000;
/// How many files are shown.
const MOST_FILES: usize = 300;
/// How many characters of a line are shown.
const LINE: usize = 1000;
const PATH: usize = 300;

/// The files that were changed.
#[derive(Debug, Default, Serialize)]
pub(super) struct RunDiff {
    files: Vec<FileHunks>,
    /// What people said about no line that is shown.
    others: Vec<CommentChip>,
    /// How many files are left out, and how many bytes of the patch.
    more_files: usize,
    cut: usize,
}

/// A file that was changed.
#[derive(Debug, Default, Serialize)]
struct FileHunks {
    id: String,
    /// Its name, as git has it.
    name: String,
    path: String,
    /// new, deleted, renamed, binary or nothing.
    note: &'static str,
    added: usize,
    removed: usize,
    lines: Vec<PatchLine>,
    /// How many lines are left out.
    more: usize,
}

/// A line of a patch.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
struct PatchLine {
    /// added, removed, place or nothing.
    kind: &'static str,
    old: Option<usize>,
    new: Option<usize>,
    text: String,
    /// What people said about it.
    comments: Vec<CommentChip>,
    /// Whether its comment is being written.
    is_asked: bool,
}

/// A comment on a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct CommentChip {
    state: StateBadge,
    text: String,
}

/// A line of a file that a comment is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CommentPlace {
    pub(super) file: String,
    pub(super) line: usize,
}

impl RunDiff {
    pub(super) fn of(changes: &WorkChanges) -> Self {
        let mut files: Vec<FileHunks> = Vec::new();
        let (mut old, mut new, mut shown) = (0, 0, 0);
        let (mut more_files, mut in_hunk) = (0, false);
        for line in changes.diff.lines() {
            if let Some(names) = line.strip_prefix("diff --git ") {
                in_hunk = false;
                if files.len() >= MOST_FILES {
                    more_files += 1;
                    continue;
                }
                files.push(FileHunks { id: format!("file-{}", files.len() + 1), ..FileHunks::named(names) });
                continue;
            }
            let Some(file) = files.last_mut().filter(|_| more_files == 0) else { continue };
            if let Some((from, to)) = hunk_start(line) {
                (old, new, in_hunk) = (from, to, true);
                file.push(PatchLine { kind: "place", text: line.to_owned(), ..PatchLine::default() }, &mut shown);
            } else if !in_hunk {
                file.head_line(line);
            } else {
                let (kind, text) = match line.as_bytes().first() {
                    Some(b'+') => ("added", &line[1..]),
                    Some(b'-') => ("removed", &line[1..]),
                    Some(b'\\') => ("place", line),
                    _ => ("", line.get(1..).unwrap_or_default()),
                };
                let text = DisplayText::exactly(text, LINE);
                let text = if text.is_whole() { text.text } else { format!("{}…", text.text) };
                let numbers = match kind {
                    "added" => (None, Some(new)),
                    "removed" => (Some(old), None),
                    "place" => (None, None),
                    _ => (Some(old), Some(new)),
                };
                old += usize::from(numbers.0.is_some());
                new += usize::from(numbers.1.is_some());
                file.added += usize::from(kind == "added");
                file.removed += usize::from(kind == "removed");
                let line = PatchLine { kind, old: numbers.0, new: numbers.1, text, ..PatchLine::default() };
                file.push(line, &mut shown);
            }
        }
        Self { files, more_files, cut: changes.cut, others: Vec::new() }
    }

    /// The same with what people said, and the line that is being commented on.
    pub(super) fn with_comments<'i>(
        mut self,
        items: impl Iterator<Item = &'i PersonItem>,
        asked: Option<&CommentPlace>,
    ) -> Self {
        for item in items {
            let chip = CommentChip { state: item_badge(item.state), text: ellipsize(&item.text, LINE) };
            match self.line_mut(item.file.as_deref(), item.line.and_then(|line| usize::try_from(line).ok())) {
                Some(line) => line.comments.push(chip),
                None => self.others.push(CommentChip { text: ellipsize(&item.describe(), LINE), ..chip }),
            }
        }
        if let Some(line) = asked.and_then(|asked| self.line_mut(Some(&asked.file), Some(asked.line))) {
            line.is_asked = true;
        }
        self
    }

    fn line_mut(&mut self, file: Option<&str>, line: Option<usize>) -> Option<&mut PatchLine> {
        let file = self.files.iter_mut().find(|known| Some(known.name.as_str()) == file)?;
        file.lines.iter_mut().find(|known| known.new.is_some() && known.new == line)
    }
}

impl FileHunks {
    /// The file of a line such as `a/src/x.rs b/src/x.rs`.
    fn named(names: &str) -> Self {
        let half = names.len() / 2;
        let same = names.get(..half).zip(names.get(half + 1..)).filter(|(a, b)| a.get(2..) == b.get(2..));
        let path = match same {
            Some((_, second)) => second.get(2..).unwrap_or(second),
            None => names.rsplit(" b/").next().unwrap_or(names),
        };
        let name = path.trim_matches('"').to_owned();
        Self { path: ellipsize(&name, PATH), name, ..Self::default() }
    }

    /// What stands before the first change.
    fn head_line(&mut self, line: &str) {
        if line.starts_with("new file") {
            self.note = "new";
        } else if line.starts_with("deleted file") {
            self.note = "deleted";
        } else if line.starts_with("Binary files") || line.starts_with("GIT binary") {
            self.note = "binary";
        } else if let Some(from) = line.strip_prefix("rename from ") {
            self.note = "renamed";
            self.path = ellipsize(&format!("{from} → {}", self.name), PATH);
        }
    }

    fn push(&mut self, line: PatchLine, shown: &mut usize) {
        if self.lines.len() >= FILE_LINES || *shown >= ALL_LINES {
            self.more += 1;
            return;
        }
        *shown += 1;
        self.lines.push(line);
    }
}

/// The first lines of a change: `@@ -1,3 +1,6 @@ …`.
fn hunk_start(line: &str) -> Option<(usize, usize)> {
    let mut parts = line.strip_prefix("@@ -")?.split(' ');
    let number = |part: &str| part.trim_start_matches('+').split(',').next()?.parse::<usize>().ok();
    Some((number(parts.next()?)?, number(parts.next()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/src/a b.rs b/src/a b.rs\nindex 1..2 100644\n--- a/src/a b.rs\n+++ b/src/a b.rs\n@@ -3,3 +3,4 @@ fn main\n one\n-two\n+2\n+2.5\n three\n\\ No newline at end of file\ndiff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+--- not a head\ndiff --git a/x b/y\nrename from x\nrename to y\n";

    #[test]
    fn every_line_has_its_numbers() {
        let diff = RunDiff::of(&WorkChanges { diff: PATCH.to_owned(), ..WorkChanges::default() });
        let [first, second, third] = &diff.files[..] else { panic!("{diff:?}") };
        assert_eq!((first.name.as_str(), first.added, first.removed), ("src/a b.rs", 2, 1));
        let numbers: Vec<_> = first.lines.iter().map(|line| (line.kind, line.old, line.new)).collect();
        assert_eq!(
            numbers,
            [
                ("place", None, None),
                ("", Some(3), Some(3)),
                ("removed", Some(4), None),
                ("added", None, Some(4)),
                ("added", None, Some(5)),
                ("", Some(5), Some(6)),
                ("place", None, None),
            ]
        );
        assert_eq!((second.note, second.added, second.lines[1].text.as_str()), ("new", 1, "--- not a head"));
        assert_eq!((third.note, third.path.as_str()), ("renamed", "x → y"));
    }
}
