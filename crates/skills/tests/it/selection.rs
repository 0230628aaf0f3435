//! Which skills does a task get, and why?

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use maestro_core::event::{SelectionStrategy, SkillVerdict};
use maestro_core::plan::skill_hints;
use maestro_core::settings::SkillValidation;
use maestro_core::{RunId, SkillSelection, StepKind};
use maestro_skills::{Catalogue, SkillRoot, SkillSelector, SkillVectors, TaskNeeds};
use proptest::prelude::*;
use serde_json::Value as Json;

use crate::world::{World, write};

fn run_id() -> RunId {
    "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap()
}

fn select_from(selector: &SkillSelector, label: &str, step: StepKind) -> SkillSelection {
    let hints = skill_hints(label);
    let most = if step == StepKind::Review { 1 } else { 2 };
    selector.select(run_id(), TaskNeeds { label, hints: &hints, step, most }).record
}

fn select(catalogue: Catalogue, label: &str) -> SkillSelection {
    select_from(&SkillSelector::new(Arc::new(catalogue)), label, StepKind::Implementation)
}

fn names(selection: &SkillSelection) -> Vec<&str> {
    selection.skills.iter().map(|skill| skill.name.as_str()).collect()
}

fn reasons(selection: &SkillSelection) -> Vec<&str> {
    selection.skills.iter().map(|skill| skill.reason.as_str()).collect()
}

fn add(world: &World, name: &str, description: &str, more: &str) {
    let text = format!("---\nname: {name}\ndescription: {description}\n{more}---\n");
    write(world.skills(&format!("{name}/SKILL.md")), text);
}

fn toolbox() -> World {
    let world = World::new();
    add(&world, "pdf-forms", "Fill in and flatten PDF forms, and merge PDF files into one.", "");
    add(&world, "kubernetes-manifests", "Write Kubernetes manifests for deployments and services.", "");
    add(&world, "postgres-migrations", "Migrate Postgres schemas without downtime.", "");
    add(&world, "release-cut", "Cut a release and publish it to the registry.", "disable-model-invocation: true\n");
    world
}

#[test]
fn a_task_gets_the_skill_that_fits_with_the_words_that_decided() {
    let selection = select(toolbox().load(), "Merge the signed PDF forms into one file");
    assert_eq!(names(&selection), ["pdf-forms"]);
    assert_eq!(reasons(&selection), ["keyword: pdf, merge, forms"]);
    assert_eq!(selection.strategy, SelectionStrategy::Match);
    assert_eq!(selection.errors, Vec::<String>::new());
    assert!(selection.detail.ranking[0].score >= selection.detail.threshold);
    assert_eq!(selection.detail.ranking[0].verdict, SkillVerdict::Chosen);
}

#[test]
fn a_task_that_needs_no_skill_gets_none() {
    for task in ["Bump the version to 0.4.2", "Rename the flag and update its help text", ""] {
        let selection = select(toolbox().load(), task);
        assert_eq!(names(&selection), Vec::<&str>::new(), "{task}");
        assert_eq!(selection.strategy, SelectionStrategy::None);
    }
}

#[test]
fn hinted_skills_come_first_in_order_and_unknown_ones_are_errors_that_stop_nothing() {
    let selection = select(toolbox().load(), "Tidy up @postgres-migrations @nope @pdf-forms");
    assert_eq!(names(&selection), ["postgres-migrations", "pdf-forms"]);
    assert_eq!(reasons(&selection), ["hint: @postgres-migrations", "hint: @pdf-forms"]);
    assert_eq!(selection.strategy, SelectionStrategy::Hint);
    assert_eq!(selection.errors, ["hinted skill not found: @nope"]);
}

#[test]
fn a_hint_over_the_limit_is_told() {
    let catalogue = toolbox().load();
    let task = "Look at it @pdf-forms @postgres-migrations";
    let selection = select_from(&SkillSelector::new(Arc::new(catalogue)), task, StepKind::Review);
    assert_eq!(names(&selection), ["pdf-forms"]);
    assert_eq!(selection.errors, ["hinted skill over the limit of 1: @postgres-migrations"]);
}

#[test]
fn a_hint_wins_over_invocation_control_and_a_match_does_not() {
    let matched = select(toolbox().load(), "Cut the release and publish it to the registry");
    assert_eq!(names(&matched), Vec::<&str>::new());
    assert_eq!(matched.detail.ranking[0].verdict, SkillVerdict::NotByModel);
    let hinted = select(toolbox().load(), "Ship it @release-cut");
    assert_eq!(names(&hinted), ["release-cut"]);
}

#[test]
fn a_skill_is_asked_for_or_ruled_out_in_words_too() {
    let asked = select(toolbox().load(), "Tidy up with the pdf-forms skill");
    assert_eq!(reasons(&asked), ["hint: @pdf-forms"]);
    let bracketed = select(toolbox().load(), "Tidy up [skill: pdf-forms]");
    assert_eq!(reasons(&bracketed), ["hint: @pdf-forms"]);
    let ruled_out = select(toolbox().load(), "Do not use the `pdf-forms` skill: merge the PDF forms by hand");
    assert_eq!(names(&ruled_out), Vec::<&str>::new());
    assert_eq!(ruled_out.detail.ranking[0].verdict, SkillVerdict::Excluded);
}

#[test]
fn a_second_skill_must_be_worth_its_place() {
    let world = toolbox();
    add(&world, "helm-charts", "Package Kubernetes services as Helm charts.", "");
    let two = select(world.load(), "Write the Kubernetes manifests for the services and package them as Helm charts");
    assert_eq!(names(&two), ["helm-charts", "kubernetes-manifests"]);
    let one = select(world.load(), "Write the Kubernetes manifests for the payment deployments");
    assert_eq!(names(&one), ["kubernetes-manifests"]);
}

#[test]
fn triggers_count_and_so_does_the_body_of_those_in_question() {
    let world = toolbox();
    add(&world, "paperwork", "Helps with paperwork.", "triggers: [tax return, quarterly filing]\n");
    let selection = select(world.load(), "Prepare the quarterly filing of the tax return");
    assert_eq!(names(&selection), ["paperwork"]);
    let text = "---\nname: vague\ndescription: Good advice on sourdough.\n---\n\
                Feed the sourdough starter with rye flour. Proof the dough overnight. Sourdough starter, rye, proof.\n";
    write(world.skills("vague/SKILL.md"), text);
    let with_body = select(world.load(), "Proof the sourdough overnight with a rye starter");
    assert_eq!(names(&with_body), ["vague"]);
}

#[test]
fn the_same_question_has_the_same_answer() {
    let world = toolbox();
    let first = select(world.load(), "Migrate the Postgres schema and write manifests");
    for _ in 0..5 {
        assert_eq!(select(world.load(), "Migrate the Postgres schema and write manifests"), first);
    }
}

#[test]
fn one_skill_is_explained_word_by_word() {
    let catalogue = Arc::new(toolbox().load());
    let selector = SkillSelector::new(Arc::clone(&catalogue));
    let standing = selector.explain("Merge the PDF forms", &[], catalogue.get("pdf-forms").unwrap()).0.unwrap();
    let words: Vec<&str> = standing.terms.iter().map(|term| term.word.as_str()).collect();
    assert_eq!(words, ["pdf", "merge", "forms"]);
    assert_eq!(standing.verdict, SkillVerdict::Chosen);
    assert!(selector.explain("Boil an egg", &[], catalogue.get("pdf-forms").unwrap()).0.is_none());
    let named =
        selector.explain("Boil an egg", &["pdf-forms".to_owned()], catalogue.get("pdf-forms").unwrap()).0.unwrap();
    assert_eq!(named.verdict, SkillVerdict::Hinted, "as a selection would say");
}

/// F1 of one line, acceptable skills counting as right.
fn score(line: &Json, chosen: &[&str]) -> f64 {
    let list = |key: &str| line[key].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect::<Vec<_>>();
    let (expected, acceptable) = (list("expected"), list("acceptable"));
    let right = chosen.iter().filter(|name| expected.contains(name) || acceptable.contains(name)).count();
    let wrong = chosen.len() - right;
    if expected.is_empty() {
        return f64::from(u8::from(wrong == 0));
    }
    let hits = right.min(expected.len());
    let all = 2 * hits + wrong + (expected.len() - hits);
    if hits == 0 { 0.0 } else { 2.0 * hits as f64 / all as f64 }
}

#[test]
fn the_projects_own_test_lines_are_answered_well() {
    let set = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/selection");
    let world = World::new();
    let roots = [set.join("skills"), set.join("../../skills")].map(|path| SkillRoot::given(path, &world.places));
    let mut catalogue = world.load_from(&roots, SkillValidation::Lenient);
    let mut vectors = SkillVectors::built_in().unwrap();
    vectors.add(&vectors.missing(catalogue.each_skill()), &AtomicUsize::new(0)).unwrap();
    catalogue.vectors = Some(Arc::new(vectors));
    let selector = SkillSelector::new(Arc::new(catalogue));
    let (mut scores, mut abstained) = (Vec::new(), Vec::new());
    for line in fs::read_to_string(set.join("test.jsonl")).unwrap().lines() {
        let line: Json = serde_json::from_str(line).unwrap();
        let step = if line["step_kind"] == "review" { StepKind::Review } else { StepKind::Implementation };
        let selection = select_from(&selector, line["task"].as_str().unwrap(), step);
        let score = score(&line, &names(&selection));
        scores.push(score);
        if line["expected"].as_array().unwrap().is_empty() {
            abstained.push(score);
        }
    }
    let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
    assert!(mean(&scores) >= 0.79, "score {:.3}", mean(&scores));
    assert!(mean(&abstained) >= 0.97, "abstention {:.3}", mean(&abstained));
}

#[test]
fn a_selector_for_one_task_answers_it_as_one_for_any_would() {
    let world = toolbox();
    let catalogue = Arc::new(world.load());
    let any = SkillSelector::new(Arc::clone(&catalogue));
    for task in ["Merge the signed PDF forms", "Migrate the schema and write manifests @nope", "", "Boil an egg"] {
        let one = SkillSelector::for_task(Arc::clone(&catalogue), task);
        let step = StepKind::Implementation;
        assert_eq!(select_from(&one, task, step), select_from(&any, task, step), "{task}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn any_task_gets_at_most_what_it_may_and_only_skills_that_are_there(task in "\\PC{0,120}") {
        let world = toolbox();
        let catalogue = world.load();
        let known: Vec<String> = catalogue.skills.iter().map(|skill| skill.id.as_str().to_owned()).collect();
        let selection = select(catalogue, &task);
        prop_assert!(selection.skills.len() <= 2);
        prop_assert!(selection.skills.iter().all(|skill| known.contains(&skill.name)));
        prop_assert_eq!(selection.skills.is_empty(), selection.strategy == SelectionStrategy::None);
    }
}
