//! Table of skills within a token budget.
//!
//! Descriptions are shortened fairly: each gets an equal share before any gets more, and what is left over goes to the
//! most relevant. A name without a description is useless, so when not even the beginning of
//! every description fits, skills are left out, the least relevant first, and the table's last line says so.

use super::{CutDescription, SkillTable, TableFrame};
use crate::skill::Skill;

/// How many bytes are taken for a token.
const BYTES_PER_TOKEN: usize = 4;
/// How much of a description a row has room for at least.
const LEAST_BYTES: usize = 60;
/// The mark where a description was cut.
const ELLIPSIS: &str = "…";

/// A table within its budget, and what that cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FittedTable {
    /// The table. Empty when there was no room for anything.
    pub text: String,
    /// The descriptions that were shortened, in the order of the table.
    pub cut: Vec<CutDescription>,
    /// The skills that are not in the table, in the order they came.
    pub left_out: Vec<String>,
}

/// About how many tokens a text takes.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

/// The table of these skills, most relevant first, in at most so many tokens.
pub fn fit(table: SkillTable, skills: &[&Skill], most_tokens: usize) -> FittedTable {
    let budget = most_tokens.saturating_mul(BYTES_PER_TOKEN);
    let frame = table.frame();
    let room = room_for(table, &frame, skills, budget, LEAST_BYTES).filter(|(shown, _)| *shown > 0);
    // Where there is so little room, one skill with few words is better than none.
    let Some((shown, used)) = room.or_else(|| room_for_one(table, &frame, skills, budget)) else {
        let left_out = skills.iter().map(|skill| skill.id.as_str().to_owned()).collect();
        let rest = if skills.is_empty() { String::new() } else { table.rest(skills.len()) };
        return FittedTable {
            text: if rest.len() <= budget { rest } else { String::new() },
            cut: Vec::new(),
            left_out,
        };
    };
    let (listed, left_out) = skills.split_at(shown);
    let descriptions: Vec<RowDescription> = listed.iter().map(|skill| RowDescription::new(table, skill)).collect();
    let shortened = share_room(table, &descriptions, budget - used);
    let mut rows: Vec<String> =
        listed.iter().zip(&shortened).map(|(skill, short)| table.row(skill, &short.escaped)).collect();
    if !left_out.is_empty() {
        rows.push(table.rest(left_out.len()));
    }
    let cut = listed.iter().zip(&descriptions).zip(&shortened).filter_map(|((skill, whole), short)| {
        let of = whole.text.chars().count();
        (short.chars < of).then(|| CutDescription { name: skill.id.as_str().to_owned(), kept: short.chars, of })
    });
    FittedTable {
        text: frame.around(&rows),
        cut: cut.collect(),
        left_out: left_out.iter().map(|skill| skill.id.as_str().to_owned()).collect(),
    }
}

/// How many rows fit with the beginning of their descriptions, and how many bytes the table has without these.
fn room_for(
    table: SkillTable,
    frame: &TableFrame,
    skills: &[&Skill],
    budget: usize,
    least: usize,
) -> Option<(usize, usize)> {
    let mut most = None;
    let mut bytes = frame.bytes();
    let mut beginnings = 0;
    let mut gap = 0;
    for shown in 0..=skills.len() {
        if let Some(last) = shown.checked_sub(1).and_then(|last| skills.get(last)) {
            bytes += gap + table.row(last, "").len() + frame.after_each.len();
            beginnings += last.description.len().min(least);
            gap = frame.between.len();
        }
        if bytes + beginnings > budget {
            break;
        }
        let rest = match skills.len() - shown {
            0 => 0,
            left_out => gap + table.rest(left_out).len() + frame.after_each.len(),
        };
        if bytes + beginnings + rest <= budget {
            most = Some((shown, bytes + rest));
        }
    }
    most
}

/// The same for the most relevant skill alone, whatever is left of its description.
fn room_for_one(table: SkillTable, frame: &TableFrame, skills: &[&Skill], budget: usize) -> Option<(usize, usize)> {
    let rest = |left_out: usize| if left_out == 0 { 0 } else { table.rest(left_out).len() + frame.after_each.len() };
    let none = (0, frame.bytes() + rest(skills.len()));
    let one = skills.first().map(|skill| {
        let row = table.row(skill, "").len() + frame.after_each.len();
        let between = if skills.len() > 1 { frame.between.len() } else { 0 };
        (1, frame.bytes() + row + between + rest(skills.len() - 1))
    });
    one.into_iter().chain([none]).find(|(_, bytes)| *bytes <= budget)
}

/// A description as the table wants it, and how long it is once escaped.
struct RowDescription {
    text: String,
    bytes: usize,
}

impl RowDescription {
    fn new(table: SkillTable, skill: &Skill) -> Self {
        let text = table.description(skill);
        let bytes = table.escaped(&text).len();
        Self { text, bytes }
    }
}

/// What became of a description.
struct ShortenedDescription {
    escaped: String,
    /// How many characters of it are left, the ellipsis not counted.
    chars: usize,
}

/// Shares the room out among the descriptions.
fn share_room(table: SkillTable, descriptions: &[RowDescription], room: usize) -> Vec<ShortenedDescription> {
    let level = largest_share(descriptions, room);
    let mut shortened: Vec<ShortenedDescription> =
        descriptions.iter().map(|whole| shorten(table, whole, level.min(whole.bytes))).collect();
    // Cutting at words leaves a little everywhere; together it is worth something to the most relevant.
    let mut spare = room - shortened.iter().map(|short| short.escaped.len()).sum::<usize>();
    for (whole, short) in descriptions.iter().zip(&mut shortened) {
        if short.escaped.len() < whole.bytes {
            let longer = shorten(table, whole, short.escaped.len() + spare);
            if longer.chars > short.chars {
                spare = spare + short.escaped.len() - longer.escaped.len();
                *short = longer;
            }
        }
    }
    shortened
}

/// The largest share that each description can have, where shorter ones take less.
fn largest_share(descriptions: &[RowDescription], room: usize) -> usize {
    let mut needs: Vec<usize> = descriptions.iter().map(|whole| whole.bytes).collect();
    needs.sort_unstable();
    let mut left = room;
    for (served, &need) in needs.iter().enumerate() {
        let share = left / (needs.len() - served);
        if need > share {
            return share;
        }
        left -= need;
    }
    needs.last().copied().unwrap_or_default()
}

/// A description in at most so many bytes: whole, or up to the end of a word.
fn shorten(table: SkillTable, whole: &RowDescription, most: usize) -> ShortenedDescription {
    if whole.bytes <= most {
        return ShortenedDescription { escaped: table.escaped(&whole.text), chars: whole.text.chars().count() };
    }
    let room = most.saturating_sub(ELLIPSIS.len());
    let mut used = 0;
    let mut end = 0;
    let mut word_end = 0;
    for (at, c) in whole.text.char_indices() {
        if c.is_whitespace() {
            word_end = at;
        }
        used += table.escaped_bytes(c);
        if used > room {
            break;
        }
        end = at + c.len_utf8();
    }
    let kept = whole.text.get(..if ends_badly(&whole.text, word_end, end) { word_end } else { end });
    let kept = kept.unwrap_or_default();
    let kept =
        kept.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '-' | '–' | '(' | '&'));
    if kept.is_empty() {
        return ShortenedDescription { escaped: String::new(), chars: 0 };
    }
    ShortenedDescription { escaped: table.escaped(kept) + ELLIPSIS, chars: kept.chars().count() }
}

/// Whether a cut at `end` would leave half a word that begins at `word`, where going back to it costs little.
fn ends_badly(text: &str, word: usize, end: usize) -> bool {
    const LONGEST_WORD: usize = 24;
    let (before, after) = text.split_at_checked(end).unwrap_or((text, ""));
    // Only scripts with capitals part all their words by blanks.
    let cased = |c: Option<char>| c.is_some_and(|c| c.is_lowercase() || c.is_uppercase() || c.is_ascii_digit());
    let in_word = cased(before.chars().next_back()) && cased(after.chars().next());
    let run = before.get(word..).map_or(0, |run| run.chars().count());
    word * 2 >= end || (in_word && run <= LONGEST_WORD)
}
