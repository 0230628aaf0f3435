//! Are real skills understood as their authors meant them?
//!
//! The corpus is other people's work and is not in this repository; without it these tests say so and pass.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use maestro_core::ProblemSeverity;
use maestro_core::settings::SkillValidation;
use maestro_skills::{Catalogue, Skill, SkillLocation, SkillRoot, SkillSource};
use serde_json::Value;

use crate::world::World;

/// Where the corpus is: `MAESTRO_CORPUS`, else beside the checkout.
fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let dir = env::var_os("MAESTRO_CORPUS").map_or(beside, PathBuf::from);
    if !dir.join("expected.jsonl").is_file() {
        eprintln!("skipped: there is no corpus at {}; set MAESTRO_CORPUS", dir.display());
        return None;
    }
    Some(dir.canonicalize().unwrap())
}

fn load(corpus: &Path) -> Catalogue {
    let root = SkillRoot {
        path: corpus.join("skills"),
        location: SkillLocation::Global,
        source: SkillSource::User,
        owner: None,
    };
    World::new().load_from(&[root], SkillValidation::Lenient)
}

/// What is known of each file: its directory and its line in `expected.jsonl`.
fn expected(corpus: &Path) -> Vec<(PathBuf, Value)> {
    let lines = fs::read_to_string(corpus.join("expected.jsonl")).unwrap();
    lines
        .lines()
        .map(|line| {
            let entry: Value = serde_json::from_str(line).unwrap();
            let file = corpus.join(entry["path"].as_str().unwrap());
            (file.parent().unwrap().to_owned(), entry)
        })
        .collect()
}

/// Every skill of a folder of its own, those that others of the same name hide included.
fn by_directory(catalogue: &Catalogue) -> HashMap<&Path, &Skill> {
    let hidden = catalogue.shadowed.iter().map(|shadowed| &shadowed.skill);
    catalogue.skills.iter().chain(hidden).map(|skill| (skill.path.as_path(), skill.as_ref())).collect()
}

fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_skill_that_codex_loads_is_loaded() {
    let Some(corpus) = corpus() else { return };
    let catalogue = load(&corpus);
    let skills = by_directory(&catalogue);
    let expected = expected(&corpus);
    let lost: Vec<_> = expected
        .iter()
        .filter(|(dir, entry)| entry["codex_loads"] == true && !skills.contains_key(dir.as_path()))
        .map(|(dir, _)| dir)
        .collect();
    assert!(lost.is_empty(), "{lost:#?}");
    let by_codex = expected.iter().filter(|(_, entry)| entry["codex_loads"] == true).count();
    assert!(skills.len() > by_codex, "{} of {}, codex {by_codex}", skills.len(), expected.len());
}

#[test]
fn names_and_descriptions_in_valid_yaml_are_read_as_they_are_written() {
    let Some(corpus) = corpus() else { return };
    let catalogue = load(&corpus);
    let skills = by_directory(&catalogue);
    let mut compared = 0;
    for (dir, entry) in expected(&corpus).iter().filter(|(_, entry)| entry["valid_yaml"] == true) {
        let Some(skill) = skills.get(dir.as_path()) else { continue };
        if let Some(name) = entry["name"].as_str() {
            assert_eq!(collapsed(skill.id.as_str()), collapsed(name), "{}", dir.display());
        }
        if let Some(description) = entry["description"].as_str() {
            assert_eq!(collapsed(&skill.description), collapsed(description), "{}", dir.display());
            compared += 1;
        }
    }
    assert!(compared > 0, "nothing was compared");
}

#[test]
fn every_file_that_is_not_loaded_has_an_error_with_help() {
    let Some(corpus) = corpus() else { return };
    let catalogue = load(&corpus);
    let skills = by_directory(&catalogue);
    for (dir, entry) in &expected(&corpus) {
        if skills.contains_key(dir.as_path()) {
            continue;
        }
        let mut errors = catalogue.problems_of(dir).filter(|problem| problem.severity == ProblemSeverity::Error);
        let error = errors.next().unwrap_or_else(|| panic!("{} vanished: {entry}", dir.display()));
        assert!(error.line >= 1 && !error.help.is_empty(), "{error:?}");
        assert!(catalogue.broken.iter().any(|broken| broken.path == *dir), "{}", dir.display());
    }
}
