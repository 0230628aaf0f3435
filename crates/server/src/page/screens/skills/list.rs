//! List of skills: those with problems first, then by name.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use maestro_core::excerpt::ellipsize;
use maestro_skills::{BrokenSkill, Catalogue, CatalogueEntry, SkillHeading};
use serde::Serialize;

use super::SkillsAddress;

/// How many characters of a description are shown.
const LINE: usize = 160;

/// A skill in the list.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ShelfLine {
    pub(super) name: String,
    text: String,
    source: &'static str,
    problems: usize,
    /// Whether it could not be loaded.
    broken: bool,
    href: String,
}

/// The skills that an address asks for.
pub(super) fn lines(address: &SkillsAddress, catalogue: &Catalogue) -> Vec<ShelfLine> {
    let problems = problem_counts(catalogue);
    let wanted: Vec<String> =
        address.words.iter().flat_map(|words| words.split_whitespace()).map(str::to_lowercase).collect();
    let fits = |texts: &[&str]| {
        let texts: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
        wanted.iter().all(|word| texts.iter().any(|text| text.contains(word)))
    };
    let loaded = catalogue.skills.iter().filter_map(|entry| {
        let SkillHeading { id, description, source, display_name, .. } = entry.heading();
        let is_wanted = address.source.as_deref().is_none_or(|only| only == source.as_str());
        (is_wanted && fits(&[id, display_name, description])).then(|| line(address, entry, &problems))
    });
    let is_listed = |broken: &&BrokenSkill| address.source.is_none() && fits(&[&broken.name]);
    let broken = catalogue.broken.iter().filter(is_listed).map(|broken| broken_line(address, broken, catalogue));
    let mut lines: Vec<ShelfLine> = broken.chain(loaded).collect();
    lines.sort_by(|one, other| {
        let key = |line: &ShelfLine| (!line.broken, line.problems == 0);
        key(one).cmp(&key(other)).then_with(|| one.name.cmp(&other.name))
    });
    lines.dedup_by(|one, other| one.broken && other.broken && one.name == other.name);
    lines
}

fn line(address: &SkillsAddress, entry: &CatalogueEntry, problems: &HashMap<PathBuf, usize>) -> ShelfLine {
    let SkillHeading { id, description, source, .. } = entry.heading();
    ShelfLine {
        name: id.to_owned(),
        text: ellipsize(&description.split_whitespace().collect::<Vec<_>>().join(" "), LINE),
        source: source.as_str(),
        problems: problems.get(&entry.path()).copied().unwrap_or_default(),
        broken: false,
        href: address.with_skill(id).address(),
    }
}

fn broken_line(address: &SkillsAddress, broken: &BrokenSkill, catalogue: &Catalogue) -> ShelfLine {
    let why = catalogue.problems_of(&broken.path).next().map(|problem| problem.message.clone());
    ShelfLine {
        name: broken.name.clone(),
        text: ellipsize(&why.unwrap_or_default(), LINE),
        source: "",
        problems: catalogue.problems_of(&broken.path).count(),
        broken: true,
        href: address.with_skill(&broken.name).address(),
    }
}

/// How many problems each skill's folder has.
fn problem_counts(catalogue: &Catalogue) -> HashMap<PathBuf, usize> {
    let mut counts: HashMap<PathBuf, usize> = catalogue.skills.iter().map(|entry| (entry.path(), 0)).collect();
    for problem in &catalogue.problems {
        let mut folders = problem.path.ancestors().map(Path::to_owned);
        if let Some(count) = folders.find(|folder| counts.contains_key(folder)).and_then(|at| counts.get_mut(&at)) {
            *count += 1;
        }
    }
    counts
}
