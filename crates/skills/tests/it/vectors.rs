//! Are the vectors of skills right, stored safely, and used?

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use maestro_core::event::SelectionStrategy;
use maestro_core::settings::SkillValidation;
use maestro_core::{RunId, SkillSelection, StepKind};
use maestro_skills::render::also_here;
use maestro_skills::{Catalogue, SkillHabits, SkillRoot, SkillSelector, SkillVectors, TaskNeeds, UsageVerdict};

use crate::world::{World, write};

fn built_in_pack() -> Catalogue {
    let world = World::new();
    let pack = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills").canonicalize().unwrap();
    world.load_from(&[SkillRoot::builtin(pack)], SkillValidation::Lenient)
}

fn toolbox() -> World {
    let world = World::new();
    let add = |name: &str, description: &str| {
        write(
            world.skills(&format!("{name}/SKILL.md")),
            format!("---\nname: {name}\ndescription: {description}\n---\n"),
        );
    };
    add("pdf-forms", "Fill in and flatten PDF forms, and merge PDF files into one.");
    add("kubernetes-manifests", "Write Kubernetes manifests for deployments and services.");
    add("postgres-migrations", "Migrate Postgres schemas without downtime.");
    add("cargo-fuzz", "Find crashes of parsers by feeding them random input.");
    world
}

fn with_vectors(mut catalogue: Catalogue) -> Catalogue {
    let mut vectors = SkillVectors::built_in().unwrap();
    vectors.add(&vectors.missing(catalogue.each_skill()), &AtomicUsize::new(0)).unwrap();
    catalogue.vectors = Some(Arc::new(vectors));
    catalogue
}

fn select(catalogue: &Arc<Catalogue>, label: &str) -> SkillSelection {
    let needs = TaskNeeds { label, hints: &[], step: StepKind::Implementation, most: 2 };
    SkillSelector::new(Arc::clone(catalogue)).select(RunId::default(), needs).record
}

fn names(selection: &SkillSelection) -> Vec<&str> {
    selection.skills.iter().map(|skill| skill.name.as_str()).collect()
}

#[test]
fn builtin_vectors_are_those_of_the_built_in_pack() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/builtin.vectors");
    let catalogue = built_in_pack();
    let mut vectors = SkillVectors::read(Path::new("/nowhere")).unwrap();
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        let mut fresh = SkillVectors::built_in().unwrap();
        fresh.clear();
        fresh.add(&fresh.missing(catalogue.each_skill()), &AtomicUsize::new(0)).unwrap();
        fs::write(&file, fresh.to_bytes(catalogue.each_skill())).unwrap();
        vectors = fresh;
    }
    assert!(vectors.missing(catalogue.each_skill()).is_empty(), "run with UPDATE_VECTORS=1 and build again");
    let mut fresh = SkillVectors::built_in().unwrap();
    fresh.clear();
    fresh.add(&fresh.missing(catalogue.each_skill()), &AtomicUsize::new(0)).unwrap();
    assert_eq!(
        fresh.to_bytes(catalogue.each_skill()),
        fs::read(&file).unwrap(),
        "run with UPDATE_VECTORS=1 and build again"
    );
}

#[test]
fn a_task_finds_a_skill_by_meaning_that_shares_no_word_with_it() {
    let catalogue = Arc::new(with_vectors(toolbox().load()));
    let selection = select(&catalogue, "Put the scanned contracts together in a single document");
    assert_eq!(names(&selection), ["pdf-forms"]);
    assert_eq!(selection.strategy, SelectionStrategy::Match);
    let best = &selection.detail.ranking[0];
    assert!(best.meaning.unwrap() > 0.3 && best.score >= selection.detail.threshold);
    assert!(names(&select(&catalogue, "Bump the version to 0.4.2")).is_empty());
}

#[test]
fn an_exact_name_decides() {
    let catalogue = Arc::new(with_vectors(toolbox().load()));
    assert_eq!(names(&select(&catalogue, "Run cargo-fuzz on it over night")), ["cargo-fuzz"]);
}

#[test]
fn of_two_skills_for_the_same_work_one_is_enough() {
    let world = toolbox();
    let twin =
        "---\nname: pdf-tools\ndescription: Fill in PDF forms, flatten them, and merge PDF files into one.\n---\n";
    write(world.skills("pdf-tools/SKILL.md"), twin);
    let catalogue = Arc::new(with_vectors(world.load()));
    assert_eq!(names(&select(&catalogue, "Merge the signed PDF forms into one PDF file")).len(), 1);
}

#[test]
fn words_alone_decide_as_long_as_most_vectors_are_missing() {
    let world = toolbox();
    let mut some = world.load();
    let mut vectors = SkillVectors::built_in().unwrap();
    vectors.add(&vectors.missing(some.each_skill())[..2], &AtomicUsize::new(0)).unwrap();
    some.vectors = Some(Arc::new(vectors));
    let selection = select(&Arc::new(some), "Merge the signed PDF forms into one file");
    assert_eq!(selection, select(&Arc::new(world.load()), "Merge the signed PDF forms into one file"));
    assert_eq!(selection.detail.ranking[0].meaning, None);
}

#[test]
fn role_and_loop_skills_are_never_found_by_content() {
    let catalogue = Arc::new(with_vectors(built_in_pack()));
    for task in [
        "Act as worker for task 4.2: execute it end to end and report status",
        "Work through the plan task by task until it is done",
        "Do just the next task of the plan",
    ] {
        let selection = select(&catalogue, task);
        let assigned = ["maestro-worker", "maestro-orchestrator", "plan-loop", "plan-task"];
        assert!(names(&selection).iter().all(|name| !assigned.contains(name)), "{task}: {:?}", names(&selection));
    }
}

#[test]
fn vectors_survive_a_file_and_a_damaged_one_counts_as_empty() {
    let catalogue = with_vectors(toolbox().load());
    let vectors = catalogue.vectors.clone().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let bytes = vectors.to_bytes(catalogue.each_skill());
    fs::write(file.path(), &bytes).unwrap();
    let read = SkillVectors::read(file.path()).unwrap();
    assert!(read.missing(catalogue.each_skill()).is_empty());
    assert_eq!(read.to_bytes(catalogue.each_skill()), bytes);
    let built_in = SkillVectors::built_in().unwrap().len();
    for (at, damage) in [(20, 1), (bytes.len() - 1, 1), (3, 7)] {
        let mut damaged = bytes.clone();
        damaged[at] ^= damage;
        fs::write(file.path(), &damaged).unwrap();
        assert_eq!(SkillVectors::read(file.path()).unwrap().len(), built_in);
    }
    for cut in [0, 7, 30, bytes.len() - 1] {
        fs::write(file.path(), &bytes[..cut]).unwrap();
        assert_eq!(SkillVectors::read(file.path()).unwrap().len(), built_in);
    }
}

#[test]
fn a_changed_skill_needs_a_new_vector_and_an_unchanged_one_does_not() {
    let world = toolbox();
    let vectors = with_vectors(world.load()).vectors.unwrap();
    assert!(vectors.missing(world.load().each_skill()).is_empty());
    let text = "---\nname: pdf-forms\ndescription: Fill in and flatten PDF forms, and merge PDF files into one.\n---\n# Stamps\n";
    write(world.skills("pdf-forms/SKILL.md"), text);
    let catalogue = world.load();
    let missing: Vec<&str> = vectors.missing(catalogue.each_skill()).iter().map(|skill| skill.id.as_str()).collect();
    assert_eq!(missing, ["pdf-forms"]);
}

#[test]
fn what_comes_close_is_listed_and_what_is_far_is_not() {
    let catalogue = Arc::new(with_vectors(toolbox().load()));
    let selection =
        select(&catalogue, "Write the Kubernetes manifests for the payment service and its database schema");
    let list = also_here(&selection, &catalogue).unwrap_or_default();
    assert!(!list.contains("- kubernetes-manifests:"), "it is chosen: {list}");
    assert!(list.lines().count() <= 7);
    assert_eq!(also_here(&select(&catalogue, "Bump the version to 0.4.2"), &catalogue), None);
}

#[test]
fn a_task_in_two_parts_gets_a_skill_for_each() {
    let catalogue = Arc::new(with_vectors(toolbox().load()));
    let both = select(
        &catalogue,
        "Put the signed contracts together as one PDF and write a Deployment with a Service for the relay",
    );
    let mut found = names(&both);
    found.sort_unstable();
    assert_eq!(found, ["kubernetes-manifests", "pdf-forms"], "{both:?}");
}

#[test]
fn the_format_of_a_pasted_text_says_what_a_request_is_about() {
    let catalogue = Arc::new(with_vectors(toolbox().load()));
    let request =
        "Split the name into first and last name while the service goes on, old and new code run side by side:";
    let table = "CREATE TABLE customers (\n  id bigint,\n  name text\n)";
    let with_table = select(&catalogue, &format!("{request}\n{table}"));
    assert_eq!(names(&with_table), ["postgres-migrations"], "{with_table:?}");
    let with_trace =
        select(&catalogue, &format!("{request}\nTraceback (most recent call last):\n  File \"a.py\", line 2"));
    assert_eq!(names(&with_trace), Vec::<&str>::new(), "{with_trace:?}");
}

#[test]
fn people_in_a_pasted_text_are_no_skills_that_a_task_names() {
    let catalogue = Arc::new(with_vectors(toolbox().load()));
    let label = "Merge the PDF files of the contracts into one\n01:07 @mia acks\n01:15 @jo: went out at 00:58";
    let hints = ["mia".to_owned(), "jo".to_owned()];
    let needs = TaskNeeds { label, hints: &hints, step: StepKind::Implementation, most: 2 };
    let record = SkillSelector::new(Arc::clone(&catalogue)).select(RunId::default(), needs).record;
    assert_eq!((names(&record), record.errors.len()), (vec!["pdf-forms"], 0), "{record:?}");
}

#[test]
fn habits_decide_between_equals_and_lift_nothing_over_the_bar() {
    let world = World::new();
    for name in ["alpha", "beta"] {
        let text = format!("---\nname: {name}\ndescription: Merge PDF files into one.\n---\n");
        write(world.skills(&format!("{name}/SKILL.md")), text);
    }
    let mut catalogue = with_vectors(world.load());
    let first = |catalogue: &Catalogue, task: &str| {
        select(&Arc::new(catalogue.clone()), task).skills.first().map(|skill| skill.name.clone())
    };
    let task = "Merge the PDF files of May into one";
    let before = first(&catalogue, task).unwrap();
    let other = if before == "alpha" { "beta" } else { "alpha" };
    let mut habits = SkillHabits::default();
    habits.note(&before, UsageVerdict::Ignored);
    for _ in 0..50 {
        habits.note(other, UsageVerdict::Useful);
    }
    catalogue.habits = Some(Arc::new(habits));
    assert_eq!(first(&catalogue, task).as_deref(), Some(other));
    assert_eq!(first(&catalogue, "Bump the version to 0.4.2"), None);

    let mut habits = SkillHabits::default();
    habits.note("kubernetes-manifests", UsageVerdict::Useful);
    let mut catalogue = with_vectors(toolbox().load());
    catalogue.habits = Some(Arc::new(habits));
    assert_eq!(first(&catalogue, "Merge the PDF files of May into one").as_deref(), Some("pdf-forms"));
}
