//! Habits of a project: how often its skills were of use.
//!
//! What agents opened or left alone, and what people corrected, is counted on this machine for each project. The counts
//! decide only between skills that fit a task equally well.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How many skills are counted.
const MOST: usize = 1_000;
/// From which count on both of a skill are halved, so that what was long ago counts less.
const ENOUGH: u32 = 200;

/// What became of a skill that a task got, or should have got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageVerdict {
    /// An agent opened it, or a person said that it was the right one.
    Useful,
    /// An agent left it alone, or a person said that it was the wrong one.
    Ignored,
}

/// What a person says of skills by correcting a selection: those they add are useful, those they take out are not.
pub fn corrections<'a>(chosen: &'a [String], expected: &'a [String]) -> impl Iterator<Item = (&'a str, UsageVerdict)> {
    let added = expected.iter().filter(|name| !chosen.contains(name));
    let wrong = chosen.iter().filter(|name| !expected.contains(name));
    let added = added.map(|name| (name.as_str(), UsageVerdict::Useful));
    added.chain(wrong.map(|name| (name.as_str(), UsageVerdict::Ignored)))
}

/// How often a skill was of use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct UseCount {
    useful: u32,
    ignored: u32,
}

/// How often the skills of a project were of use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillHabits {
    counts: BTreeMap<String, UseCount>,
}

impl SkillHabits {
    /// Reads what [`SkillHabits::to_text`] wrote. A line that cannot be read is left out.
    pub fn parse(text: &str) -> Self {
        let count = |line: &str| {
            let mut cells = line.split('\t');
            let name = cells.next().filter(|name| !name.is_empty())?.to_owned();
            let count = UseCount { useful: cells.next()?.parse().ok()?, ignored: cells.next()?.parse().ok()? };
            Some((name, count))
        };
        Self { counts: text.lines().filter_map(count).take(MOST).collect() }
    }

    /// A line for each skill: its name, how often it was useful, how often it was ignored.
    pub fn to_text(&self) -> String {
        self.counts.iter().fold(String::new(), |mut text, (name, count)| {
            let _ = writeln!(text, "{name}\t{}\t{}", count.useful, count.ignored);
            text
        })
    }

    /// Counts a use of a skill. Beyond the first thousand skills no new ones are counted.
    pub fn note(&mut self, skill: &str, usage: UsageVerdict) {
        let is_new = !self.counts.contains_key(skill);
        if skill.contains(['\t', '\n']) || (is_new && self.counts.len() >= MOST) {
            return;
        }
        let count = self.counts.entry(skill.to_owned()).or_default();
        match usage {
            UsageVerdict::Useful => count.useful = count.useful.saturating_add(1),
            UsageVerdict::Ignored => count.ignored = count.ignored.saturating_add(1),
        }
        if count.useful.max(count.ignored) >= ENOUGH {
            *count = UseCount { useful: count.useful / 2, ignored: count.ignored / 2 };
        }
    }

    /// How often a skill is of use, from 0 to 1; a half where nothing is known.
    pub(crate) fn usefulness(&self, skill: &str) -> f64 {
        let count = self.counts.get(skill).copied().unwrap_or_default();
        (f64::from(count.useful) + 1.0) / (f64::from(count.useful) + f64::from(count.ignored) + 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_survive_a_file_and_damage_costs_only_its_line() {
        let mut habits = SkillHabits::default();
        habits.note("pdf", UsageVerdict::Useful);
        habits.note("pdf", UsageVerdict::Ignored);
        habits.note("docx", UsageVerdict::Ignored);
        habits.note("a\tb", UsageVerdict::Useful);
        assert_eq!(habits.to_text(), "docx\t0\t1\npdf\t1\t1\n");
        assert_eq!(SkillHabits::parse(&habits.to_text()), habits);
        assert_eq!(SkillHabits::parse("pdf\t1\t1\n\tx\nxlsx\t-1\t2\ndocx\t0\t1"), habits);
    }

    #[test]
    fn the_number_of_skills_and_of_counts_is_bounded() {
        let mut habits = SkillHabits::default();
        for number in 0..MOST + 10 {
            habits.note(&format!("skill-{number}"), UsageVerdict::Useful);
        }
        assert_eq!(habits.to_text().lines().count(), MOST);
        for _ in 0..10 * ENOUGH {
            habits.note("skill-1", UsageVerdict::Ignored);
        }
        assert!(habits.to_text().len() < 32 * 1024);
        assert!(habits.usefulness("skill-1") < 0.05);
        assert!((habits.usefulness("other") - 0.5).abs() < 1e-9);
    }
}
