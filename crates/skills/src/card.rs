//! Card of a skill: the text that stands for it where meaning is compared.

use std::io;

use memchr::{memchr, memchr_iter};

use crate::frontmatter;
use crate::instructions::instructions_file;
use crate::skill::{Skill, SkillFormat};
use crate::text::{FIRST_READ, read_bounded};

/// How much of a description is on a card, in characters.
const DESCRIPTION: usize = 420;
/// How much of the headings.
const HEADINGS: usize = 260;
/// How many headings.
const MOST_HEADINGS: usize = 14;

/// A skill's card: its name in words, what it is for, and the headings of its text.
pub(crate) fn card_text(skill: &Skill, headings: &str) -> String {
    let more = skill.when_to_use.iter().chain(&skill.triggers).map(String::as_str);
    let texts: Vec<&str> = std::iter::once(skill.description.as_str()).chain(more).collect();
    let description = cut(texts.join(" "), DESCRIPTION);
    format!("{}: {description} | {headings}", skill.id.as_str().replace(['-', '_'], " "))
}

/// The card of a skill as its file is now.
pub(crate) fn read_card(skill: &Skill) -> io::Result<String> {
    let file = instructions_file(skill).filter(|_| skill.format == SkillFormat::SkillMd);
    let headings = match file {
        Some(file) => headings(&read_bounded(&file, FIRST_READ as u64)?.bytes),
        None => String::new(),
    };
    Ok(card_text(skill, &headings))
}

/// The headings below the header, as far as the first read of a file reaches; loading reads no more than that.
pub(crate) fn headings(head: &[u8]) -> String {
    let head = head.get(..FIRST_READ).unwrap_or(head);
    let Ok(header) = frontmatter::find(head) else { return String::new() };
    let text = head.get(header.body_at..).unwrap_or_default();
    // Few lines are headings, and only those are looked at.
    let starts =
        memchr_iter(b'#', text).filter(|&at| at.checked_sub(1).is_none_or(|before| text.get(before) == Some(&b'\n')));
    let found = starts.filter_map(|start| {
        let rest = text.get(start..)?;
        // The last line may go on beyond what was read.
        let line = rest.get(..memchr(b'\n', rest)?)?;
        heading(&String::from_utf8_lossy(line))
    });
    cut(found.take(MOST_HEADINGS).collect::<Vec<_>>().join("; "), HEADINGS)
}

fn heading(line: &str) -> Option<String> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let level = line.len() - line.trim_start_matches('#').len();
    let rest = line.get(level..)?.strip_prefix(' ')?;
    ((1..=3).contains(&level) && !rest.trim().is_empty()).then(|| rest.trim_matches(['#', ' ']).to_owned())
}

/// The text without what follows so many characters.
fn cut(mut text: String, most: usize) -> String {
    // A text has no more characters than bytes.
    if text.len() > most
        && let Some((end, _)) = text.char_indices().nth(most)
    {
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("abc".to_owned(), 3), "abc");
        assert_eq!(cut("äbc".to_owned(), 2), "äb");
        assert_eq!(cut("äb".to_owned(), 2), "äb");
    }

    #[test]
    fn headings_are_those_of_the_text_and_not_of_what_is_cut() {
        let text = "---\nname: a\n---\n# One\ntext\n## Two ##\n#### four\n#no\n### Three\n## cut off here";
        assert_eq!(headings(text.as_bytes()), "One; Two; Three");
        assert_eq!(headings(b"no header\n# One\n"), "");
        assert_eq!(headings(b"---\nname: a\n---\nno # heading\n#\n# One #1\n"), "One #1");
        assert_eq!(headings(b"---\r\nname: a\r\n---\r\n# One\r\n# T\xffwo\r\n"), "One; T\u{fffd}wo");
    }
}
