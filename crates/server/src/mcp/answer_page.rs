//! Pages of a long answer: no answer of a tool is longer than one, and each says how the next is asked for.

use maestro_core::excerpt::split_chars;

/// How many characters of text an answer has at most: about ten thousand tokens, which every client passes on whole.
pub(super) const MOST_CHARS: usize = 40_000;
/// How many characters of one text are in the data beside it: programs read longer ones from the page, or by address.
pub(super) const MOST_DATA: usize = 4_000;

/// Part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AnswerPage<'t> {
    /// The part.
    pub(super) text: &'t str,
    /// Where the next part begins, in characters.
    pub(super) next: Option<usize>,
    /// How many characters the whole has.
    pub(super) total: usize,
}

impl<'t> AnswerPage<'t> {
    /// So many characters of a text from a position on, up to the end of a line if one is near.
    pub(super) fn of(whole: &'t str, from: usize, most: usize) -> Self {
        let total = whole.chars().count();
        let (_, rest) = split_chars(whole, from);
        let (part, after) = split_chars(rest, most.max(1));
        if after.is_empty() {
            return Self { text: part, next: None, total };
        }
        let near = part.len() - part.len() / 10;
        let end = part.rfind('\n').map(|end| end + 1).filter(|end| *end >= near).unwrap_or(part.len());
        let text = &part[..end];
        Self { text, next: Some(from + text.chars().count()), total }
    }

    /// The part with a note on the rest. The call is the one that returns it.
    pub(super) fn with_note(&self, call: impl Fn(usize) -> String) -> String {
        match self.next {
            None => self.text.to_owned(),
            Some(next) => {
                format!("{}\n\n[{next} of {} characters; {} for the rest]\n", self.text, self.total, call(next))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_of_a_text_are_the_text() {
        let whole = "a line with an ü\n".repeat(500);
        let (mut read, mut from, mut pages) = (String::new(), 0, 0);
        loop {
            let page = AnswerPage::of(&whole, from, 700);
            assert!(page.text.chars().count() <= 700);
            read.push_str(page.text);
            pages += 1;
            let Some(next) = page.next else { break };
            assert!(page.text.ends_with('\n'), "a line is not cut where that can be avoided");
            from = next;
        }
        assert_eq!(read, whole);
        assert!(pages > 3, "{pages}");
    }

    #[test]
    fn a_position_behind_the_end_has_nothing() {
        assert_eq!(AnswerPage::of("abc", 9, 5), AnswerPage { text: "", next: None, total: 3 });
    }
}
