//! Skill names in a task's text. Finds `@name` and `(skills: a, b)` in running text;
//! it never checks that such a skill exists.

use std::collections::BTreeSet;

/// Stands for markup that leaves no text behind. It parts words, but it is not white space.
const GAP: char = '\u{fffc}';

const MAX_NAME_CHARS: usize = 64;

/// The text of a task as a reader sees it, with what is to be taken literally marked as such.
#[derive(Debug, Default)]
pub(super) struct TaskProse {
    glyphs: Vec<ProseGlyph>,
}

#[derive(Debug, Clone, Copy)]
struct ProseGlyph {
    c: char,
    literal: bool,
}

impl TaskProse {
    /// Adds ordinary text. `escaped` says that a backslash takes the meaning from its first
    /// character.
    pub(super) fn push_text(&mut self, text: &str, escaped: bool) {
        let glyphs = text.chars().enumerate().map(|(index, c)| ProseGlyph { c, literal: escaped && index == 0 });
        self.glyphs.extend(glyphs);
    }

    /// Adds text that never starts a hint, such as code.
    pub(super) fn push_literal(&mut self, text: &str) {
        self.push_gap();
        let glyphs = text.chars().map(|c| ProseGlyph { c, literal: true });
        self.glyphs.extend(glyphs);
        self.push_gap();
    }

    /// Adds a place where markup parts the text.
    pub(super) fn push_gap(&mut self) {
        self.push_text(GAP.encode_utf8(&mut [0; 4]), false);
    }

    /// The names of the skills asked for, each once, in order.
    pub(super) fn hints(&self) -> Vec<String> {
        let mut found = HintNames::default();
        // A bare `https://host/@name` is not a link to Markdown, yet it is to its author.
        let mut in_url = false;
        let mut before = ' ';
        let mut rest = self.glyphs.as_slice();
        while let Some((glyph, after)) = rest.split_first() {
            match glyph.c {
                c if c.is_whitespace() => in_url = false,
                _ if glyph.literal => {}
                ':' if starts_with(after, "//") => in_url = true,
                '@' if !in_url && may_precede_mention(before) => {
                    if let Some(name) = mention(after) {
                        found.add(&name);
                    }
                }
                '(' => list(after).into_iter().flatten().for_each(|name| found.add(&name)),
                _ => {}
            }
            before = glyph.c;
            rest = after;
        }
        found.names
    }
}

#[derive(Default)]
struct HintNames {
    names: Vec<String>,
    seen: BTreeSet<String>,
}

impl HintNames {
    fn add(&mut self, name: &str) {
        // A line's end inside a name is one blank, whichever way it is written.
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        if self.seen.insert(name.clone()) {
            self.names.push(name);
        }
    }
}

/// Whether a mention may follow this character; otherwise the `@` belongs to an e-mail address
/// or a path.
fn may_precede_mention(c: char) -> bool {
    !(c.is_alphanumeric() || matches!(c, '_' | '.' | '%' | '+' | '-' | '/'))
}

/// The name at the start of what follows an `@`.
fn mention(glyphs: &[ProseGlyph]) -> Option<String> {
    let name: String = glyphs
        .iter()
        .map(|glyph| glyph.c)
        .take_while(|c| is_name_char(*c))
        .take(MAX_NAME_CHARS.saturating_add(1))
        .collect();
    // Names are ASCII, so their length in bytes is their number of glyphs.
    let mut after = glyphs.iter().skip(name.len()).map(|glyph| glyph.c);
    let goes_on = match after.next() {
        // `@types/node` and `@pdf@1.2` are packages.
        Some('/' | '@' | '_') => true,
        Some('.') => after.next().is_some_and(char::is_alphanumeric),
        Some(c) => c.is_alphanumeric(),
        None => false,
    };
    (!goes_on && is_skill_name(&name)).then_some(name)
}

/// The names in `skill: a, b)` or `skills: a, b)`, as they follow a `(`.
fn list(glyphs: &[ProseGlyph]) -> Option<Vec<String>> {
    let rest = skip_ignoring_case(glyphs, "skill")?;
    let rest = skip_ignoring_case(rest, "s").unwrap_or(rest);
    let blanks = rest.iter().take_while(|g| g.c.is_whitespace()).count();
    let rest = skip_ignoring_case(rest.get(blanks..)?, ":")?;
    // Names hold no brackets, so a second `(` ends the search too, which keeps it linear.
    let end = rest.iter().position(|g| matches!(g.c, '(' | ')'))?;
    rest.get(end).filter(|g| g.c == ')')?;
    let names = rest.get(..end)?.split(|g| g.c == ',');
    let names = names.map(|name| name.iter().map(|g| g.c).collect::<String>());
    let names = names.map(|name| name.trim_matches(|c: char| c.is_whitespace() || c == GAP || c == '@').to_owned());
    // Here a name is surely meant, whatever it looks like; whether there is such a skill shows when it is chosen.
    Some(names.filter(|name| (1..=MAX_NAME_CHARS).contains(&name.chars().count())).collect())
}

fn starts_with(glyphs: &[ProseGlyph], text: &str) -> bool {
    skip_ignoring_case(glyphs, text).is_some()
}

fn skip_ignoring_case<'a>(glyphs: &'a [ProseGlyph], text: &str) -> Option<&'a [ProseGlyph]> {
    text.chars().try_fold(glyphs, |glyphs, wanted| {
        let (glyph, rest) = glyphs.split_first()?;
        (!glyph.literal && glyph.c.eq_ignore_ascii_case(&wanted)).then_some(rest)
    })
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
}

fn is_skill_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.len())
        && name.chars().all(is_name_char)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}
