//! Is a skill added to the prompts of a conversation where it helps, and hardly anywhere else?
//!
//! `prompts.jsonl` has prompts in six languages as people type them to an agent, a third with pasted traces, diffs, logs
//! and code, each with the skills that would help, or none.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use maestro_core::plan::skill_hints;
use maestro_core::settings::SkillValidation;
use maestro_core::{RunId, StepKind};
use maestro_skills::{SkillRoot, SkillSelector, SkillVectors, TaskNeeds, fitting_prompt, prompt_label};
use serde::Deserialize;

use crate::world::World;

#[derive(Deserialize)]
struct LabelledPrompt {
    id: String,
    lang: String,
    kind: String,
    expected: Vec<String>,
    acceptable: Vec<String>,
    prompt: String,
}

fn prompts() -> Vec<LabelledPrompt> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/prompts.jsonl");
    fs::read_to_string(file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A selector over the skills of the selection set and those that come with Maestro.
fn selector() -> SkillSelector {
    let set = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/selection");
    let world = World::new();
    let roots = [set.join("skills"), set.join("../../skills")].map(|path| SkillRoot::given(path, &world.places));
    let mut catalogue = world.load_from(&roots, SkillValidation::Lenient);
    let mut vectors = SkillVectors::built_in().unwrap();
    vectors.add(&vectors.missing(catalogue.each_skill()), &AtomicUsize::new(0)).unwrap();
    catalogue.vectors = Some(Arc::new(vectors));
    SkillSelector::new(Arc::new(catalogue))
}

fn added(selector: &SkillSelector, prompt: &str) -> Vec<String> {
    let label = prompt_label(prompt);
    let hints = skill_hints(&label);
    let needs = TaskNeeds { label: &label, hints: &hints, step: StepKind::Implementation, most: 2 };
    let chosen = fitting_prompt(&selector.select(RunId::default(), needs), &label);
    chosen.iter().map(|skill| skill.id.to_string()).collect()
}

#[test]
fn prompts_get_the_skill_that_helps_and_seldom_another() {
    let (selector, prompts) = (selector(), prompts());
    let (mut right, mut wanted, mut wrong) = (0, 0, Vec::new());
    let mut missed = Vec::new();
    for prompt in &prompts {
        let added = added(&selector, &prompt.prompt);
        wanted += usize::from(!prompt.expected.is_empty());
        if prompt.expected.iter().any(|name| added.contains(name)) {
            right += 1;
        } else if !prompt.expected.is_empty() {
            missed.push((&prompt.id, &prompt.lang, &prompt.expected));
        }
        let is_wrong = |name: &&String| !prompt.expected.contains(name) && !prompt.acceptable.contains(name);
        wrong.extend(added.iter().filter(is_wrong).map(|name| (&prompt.id, &prompt.lang, name.clone())));
    }
    let figures = format!(
        "{right} of {wanted} right, {} wrong in {} prompts\nwrong: {wrong:?}\nmissed: {missed:?}",
        wrong.len(),
        prompts.len()
    );
    // For those who measure: `--no-capture` shows it.
    eprintln!("{figures}");
    assert!(wrong.len() * 70 < prompts.len(), "{figures}");
    assert!(right * 100 >= wanted * 80, "{figures}");
}

#[test]
fn the_prompts_are_in_six_languages_and_a_good_part_is_pasted() {
    let prompts = prompts();
    assert!(prompts.len() >= 150);
    let (mut languages, mut kinds) = (BTreeMap::new(), BTreeMap::new());
    for prompt in &prompts {
        *languages.entry(prompt.lang.as_str()).or_insert(0) += 1;
        *kinds.entry(prompt.kind.as_str()).or_insert(0) += 1;
    }
    assert_eq!(languages.len(), 6, "{languages:?}");
    assert_eq!(kinds.keys().copied().collect::<Vec<_>>(), ["code", "diff", "log", "short", "trace"]);
    assert!(kinds.iter().all(|(_, count)| *count >= 9), "{kinds:?}");
}

#[test]
fn a_request_below_a_long_log_is_read() {
    let log = "2026-11-17T08:00:01Z INFO kubernetes: scaled deployment payments to 3 replicas\n".repeat(500);
    let label = prompt_label(&format!("{log}\nMerge the three PDF files into one"));
    assert!(label.ends_with("Merge the three PDF files into one"));
    assert!(label.chars().count() < 9_000);
}
