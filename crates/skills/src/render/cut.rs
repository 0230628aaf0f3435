//! Best place to cut a long Markdown text.
//!
//! Before a heading, else between paragraphs, else between lines, else between words: whichever comes first and
//! does not lose more than half of what there is room for. Never inside a code block that begins further down.

use crate::frontmatter;

/// The part of a text that fits, or nothing when all of it does.
pub(super) fn at_boundary(text: &str, most_chars: usize) -> Option<&str> {
    let (limit, _) = text.char_indices().nth(most_chars)?;
    let marks = CutPositions::up_to(text, limit);
    let room = marks.room;
    let line = text.get(..room)?.rfind('\n').map_or(0, |end| end + 1);
    let word = text.get(..room)?.rfind(char::is_whitespace).unwrap_or_default();
    let fair = |at: &usize| *at > 0 && at.saturating_mul(2) >= room;
    let end = [marks.heading, marks.paragraph, line, word].into_iter().find(fair).unwrap_or(room);
    text.get(..end).map(str::trim_end)
}

/// The last places at or before a limit where a text may be parted, in bytes.
#[derive(Debug, Default)]
struct CutPositions {
    heading: usize,
    paragraph: usize,
    /// As far as may be kept: the limit, or the beginning of the code block that it lies in.
    room: usize,
}

impl CutPositions {
    fn up_to(text: &str, limit: usize) -> Self {
        let mut marks = Self { room: limit, ..Self::default() };
        let begin = frontmatter::find(text.as_bytes()).map_or(0, |header| header.body_at);
        let mut at = begin;
        let mut fence: Option<CodeFence<'_>> = None;
        let mut after_blank = false;
        for line in text.get(at..).unwrap_or_default().split_inclusive('\n') {
            if at > limit {
                break;
            }
            let mut inside = fence.as_ref().map(|open| open.at);
            match &fence {
                Some(open) if open.is_closed_by(line) => fence = None,
                Some(_) => {}
                None => {
                    if after_blank {
                        marks.paragraph = at;
                    }
                    if is_heading(line) && at > begin {
                        marks.heading = at;
                    }
                    fence = CodeFence::opened_by(line, at);
                    inside = fence.as_ref().map(|open| open.at);
                }
            }
            // A text that begins with a code block has no better place.
            marks.room = inside.filter(|&begin| begin > 0).unwrap_or(limit);
            after_blank = line.trim().is_empty();
            at += line.len();
        }
        marks
    }
}

/// A code block that is open.
#[derive(Debug)]
struct CodeFence<'a> {
    at: usize,
    marks: &'a str,
}

impl<'a> CodeFence<'a> {
    fn opened_by(line: &'a str, at: usize) -> Option<Self> {
        let (marks, info) = leading_marks(line)?;
        (!marks.starts_with('`') || !info.contains('`')).then_some(Self { at, marks })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        leading_marks(line).is_some_and(|(marks, rest)| marks.starts_with(self.marks) && rest.trim().is_empty())
    }
}

/// The three or more backticks or tildes that a line begins with, and what follows them.
fn leading_marks(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let end = line.find(|c| c != mark).unwrap_or(line.len());
    line.split_at_checked(end).filter(|(marks, _)| marks.len() >= 3)
}

fn is_heading(line: &str) -> bool {
    let hashes = line.len() - line.trim_start_matches('#').len();
    (1..=6).contains(&hashes) && line.get(hashes..).is_some_and(|rest| rest.starts_with([' ', '\t', '\r', '\n']))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_that_fits_is_not_cut() {
        assert_eq!(at_boundary("", 0), None);
        assert_eq!(at_boundary("ärger", 5), None);
    }

    #[test]
    fn a_cut_falls_before_the_last_heading_that_fits() {
        let text = "# One\n\nFirst.\n\n## Two\n\nSecond, which is longer.\n\n## Three\n\nThird.\n";
        assert_eq!(at_boundary(text, 60), Some("# One\n\nFirst.\n\n## Two\n\nSecond, which is longer."));
        assert_eq!(at_boundary(text, 28), Some("# One\n\nFirst."));
    }

    #[test]
    fn without_a_heading_in_reach_it_falls_between_paragraphs_lines_words_or_characters() {
        let paragraphs = "# T\n\nA paragraph of text.\n\nAnother paragraph of text.\n";
        assert_eq!(at_boundary(paragraphs, 40), Some("# T\n\nA paragraph of text."));
        let lines = "one line here\nand another line\nand a third line\n";
        assert_eq!(at_boundary(lines, 35), Some("one line here\nand another line"));
        assert_eq!(at_boundary("# T\n\nmany words on one very long line", 20), Some("# T\n\nmany words on"));
        assert_eq!(at_boundary("日本語日本語日本語", 5), Some("日本語日本"));
        assert_eq!(at_boundary("abc", 0), Some(""));
    }

    #[test]
    fn code_is_kept_whole_or_left_out() {
        let text = "Before.\n\n```sh\n# not a heading\n\necho one\necho two\n```\nAfter.\n";
        for most in 10..=50 {
            assert_eq!(at_boundary(text, most), Some("Before."), "{most}");
        }
        assert_eq!(at_boundary(text, 57), Some(text.strip_suffix("\nAfter.\n").unwrap()));
        let tildes = "Before.\n\n~~~~\n~~~\n```\n~~~~\nAfter, with more words.\n";
        assert_eq!(at_boundary(tildes, 15), Some("Before."));
        assert_eq!(at_boundary(tildes, 40), Some("Before.\n\n~~~~\n~~~\n```\n~~~~"));
        assert_eq!(at_boundary("```\nall code\nand no more\n```\n", 16), Some("```\nall code"));
    }

    #[test]
    fn a_header_is_not_taken_apart_for_its_comments() {
        let text = "---\nname: a\n# about\ndescription: b\n---\nBody of some length.\n\nMore.\n";
        assert_eq!(at_boundary(text, 62), Some("---\nname: a\n# about\ndescription: b\n---\nBody of some length."));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_cut_is_a_beginning_of_the_text_within_the_limit(
            text in "(---\n|# h\n|```\n|\n|word |ä|日|\r\n|~~~x\n){0,40}", most in 0_usize..120,
        ) {
            match at_boundary(&text, most) {
                None => prop_assert!(text.chars().count() <= most),
                Some(kept) => {
                    prop_assert!(text.starts_with(kept));
                    prop_assert!(kept.chars().count() <= most && text.chars().count() > most);
                }
            }
        }
    }
}
