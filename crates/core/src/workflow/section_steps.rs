//! Steps in instructions: the numbered sections of a text, where they can be told apart safely.

use crate::excerpt::ellipsize;

/// The most steps that are made of a text.
const MOST_STEPS: usize = 40;
/// How long a title may be.
const TITLE_CHARS: usize = 100;

/// A numbered section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionStep {
    /// Its heading without the number.
    pub title: String,
    /// Its heading as it is written, by which it is found in the text.
    pub heading: String,
    /// The line of its heading, from 1.
    pub line: usize,
}

/// What was made of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SplitInstructions {
    /// The steps, in their order; none where the text was not split.
    pub steps: Vec<SectionStep>,
    /// Headings of sections without a number, which belong to no step.
    pub beside: Vec<String>,
    /// What could not be taken over, for the author.
    pub notes: Vec<String>,
}

/// Words that lead from one step to another otherwise than in order.
const JUMPS: [&str; 6] = ["go back to", "return to step", "repeat step", "skip to", "jump to", "until step"];

/// The steps of instructions. They are split only where sections of one level are numbered 1, 2, 3 … without a gap.
pub fn split_instructions(text: &str) -> SplitInstructions {
    let headings = headings(text);
    let numbered: Vec<&FoundHeading> = headings.iter().filter(|heading| heading.number.is_some()).collect();
    let level = numbered.iter().map(|heading| heading.level).min().unwrap_or_default();
    let steps: Vec<&FoundHeading> = numbered.into_iter().filter(|heading| heading.level == level).collect();
    let mut split = SplitInstructions::default();
    if steps.len() < 2 {
        split.notes.push("there are no numbered sections (`## 1. …`, `## Step 1: …`), so it stays one step".to_owned());
        return split;
    }
    let in_order = steps.iter().enumerate().all(|(index, heading)| heading.number == Some(index + 1));
    if !in_order || steps.len() > MOST_STEPS {
        let lines: Vec<String> = steps.iter().map(|heading| heading.line.to_string()).collect();
        let reason = if in_order {
            format!("there are more than {MOST_STEPS}")
        } else {
            "they are not 1, 2, 3 … once each".to_owned()
        };
        split.notes.push(format!("the numbered sections at lines {} were not split: {reason}", lines.join(", ")));
        return split;
    }
    split.steps = steps.iter().map(|heading| heading.step()).collect();
    let beside =
        headings.iter().filter(|heading| heading.level <= level && heading.number.is_none() && heading.level > 1);
    split.beside = beside.map(|heading| heading.text.clone()).collect();
    for heading in &split.beside {
        split.notes.push(format!("`{heading}` has no number; the first step is given it"));
    }
    for (index, line) in text.lines().enumerate() {
        let words = line.to_lowercase();
        if JUMPS.iter().any(|jump| words.contains(jump)) {
            split.notes.push(format!(
                "line {}: a way back or ahead is not a route yet: {}",
                index + 1,
                ellipsize(line.trim(), 80)
            ));
        }
    }
    split
}

/// A heading of a text.
struct FoundHeading {
    level: usize,
    number: Option<usize>,
    title: String,
    text: String,
    line: usize,
}

impl FoundHeading {
    fn step(&self) -> SectionStep {
        SectionStep { title: ellipsize(&self.title, TITLE_CHARS), heading: self.text.clone(), line: self.line }
    }
}

fn headings(text: &str) -> Vec<FoundHeading> {
    let mut found = Vec::new();
    let mut fence = false;
    for (index, line) in text.lines().enumerate() {
        fence ^= line.trim_start().starts_with("```");
        let level = line.chars().take_while(|c| *c == '#').count();
        if fence || !(1..=6).contains(&level) || !line[level..].starts_with(' ') {
            continue;
        }
        let text = line[level..].trim().trim_end_matches('#').trim().to_owned();
        let (number, title) = numbered(&text);
        found.push(FoundHeading { level, number, title, text, line: index + 1 });
    }
    found
}

/// The number that a heading begins with, and what follows it.
fn numbered(heading: &str) -> (Option<usize>, String) {
    let lower = heading.to_lowercase();
    let word = ["step ", "phase "].into_iter().find(|word| lower.starts_with(word)).map_or(0, str::len);
    let rest = &heading[word..];
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let after = &rest[digits.len()..];
    let ends = after.starts_with(['.', ')', ':', ' ', '-', '–', '—']) || after.is_empty();
    // `2.1` is a part of a step, and `3 ways` is none.
    let is_number = ends
        && !after.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit())
        && (word > 0 || !after.starts_with(' '));
    let title = after.trim_start_matches(['.', ')', ':', '-', '–', '—', ' ']).to_owned();
    match digits.parse().ok().filter(|_| is_number && (word > 0 || !title.is_empty())) {
        Some(number) => (Some(number), if title.is_empty() { heading.to_owned() } else { title }),
        None => (None, heading.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(text: &str) -> Vec<String> {
        split_instructions(text).steps.into_iter().map(|step| step.title).collect()
    }

    #[test]
    fn sections_that_are_numbered_without_a_gap_are_steps() {
        let text = "# Polish\n\n## When\nx\n\n## Step 1: Look\na\n### 1. part\n```\n## 2. no\n```\n## Step 2: Change it\nThen go back to step 1.\n## Step 3\nc\n";
        assert_eq!(titles(text), ["Look", "Change it", "Step 3"]);
        let split = split_instructions(text);
        assert_eq!(split.beside, ["When"]);
        insta::assert_snapshot!(split.notes.join("\n"), @"
        `When` has no number; the first step is given it
        line 13: a way back or ahead is not a route yet: Then go back to step 1.
        ");
        assert_eq!(titles("## 1. A\n## 2) B\n"), ["A", "B"]);
    }

    #[test]
    fn what_is_not_plainly_numbered_stays_whole() {
        for text in [
            "1. a\n2. b\n",
            "## 1. A\n",
            "## 1. A\n## 3. B\n",
            "## 1. A\n## 1. B\n",
            "## 3 ways\n## 4 ways\n",
            "## 1.1 A\n## 1.2 B\n",
        ] {
            let split = split_instructions(text);
            assert_eq!((split.steps.len(), split.notes.len()), (0, 1), "{text}: {split:?}");
        }
    }
}
