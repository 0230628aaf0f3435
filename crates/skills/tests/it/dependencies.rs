//! Which skills come with another or with a role, and in which order?

use maestro_core::{ProblemCode, ProblemSeverity, SessionRole};
use maestro_skills::{Catalogue, ResolvedSkills, SkillRoot, resolve_dependencies, skills_for_role};
use serde_json::json;

use crate::packs::apply;
use crate::world::{World, found, write};

/// A skill with a manifest: display name in capitals, dependencies and roles as given.
fn manifest_skill(world: &World, id: &str, dependencies: &[&str], assign_to: &[&str]) {
    let manifest = json!({
        "name": id.to_uppercase(),
        "version": "1.0.0",
        "description": "Part of a test.",
        "dependencies": dependencies,
        "assignTo": assign_to,
    });
    write(world.skills(id).join("manifest.json"), manifest.to_string());
    write(world.skills(id).join("skill.md"), "Text.");
}

fn order<'a>(resolved: &ResolvedSkills<'a>) -> Vec<&'a str> {
    resolved.skills.iter().map(|skill| skill.id.as_str()).collect()
}

fn with_all_it_needs<'a>(catalogue: &'a Catalogue, id: &str) -> ResolvedSkills<'a> {
    resolve_dependencies(catalogue, [found(catalogue, id)])
}

#[test]
fn dependencies_come_before_dependents_through_any_number_of_steps_and_only_once() {
    let world = World::new();
    manifest_skill(&world, "app", &["left", "right"], &[]);
    manifest_skill(&world, "left", &["base"], &[]);
    manifest_skill(&world, "right", &["base"], &[]);
    manifest_skill(&world, "base", &["ground"], &[]);
    manifest_skill(&world, "ground", &[], &[]);
    manifest_skill(&world, "apart", &[], &[]);
    let catalogue = world.load();
    let resolved = with_all_it_needs(&catalogue, "app");
    assert_eq!(order(&resolved), ["ground", "base", "left", "right", "app"]);
    assert!(resolved.problems.is_empty() && catalogue.problems.is_empty());
}

#[test]
fn a_dependency_is_found_by_id_or_by_directory() {
    let world = World::new();
    write(world.skills("folder/SKILL.md"), crate::world::skill_md("inner-name", "Is needed."));
    manifest_skill(&world, "by-id", &["inner-name"], &[]);
    manifest_skill(&world, "by-directory", &["folder"], &[]);
    let catalogue = world.load();
    assert_eq!(order(&with_all_it_needs(&catalogue, "by-id")), ["inner-name", "by-id"]);
    assert_eq!(order(&with_all_it_needs(&catalogue, "by-directory")), ["inner-name", "by-directory"]);
}

#[test]
fn a_missing_dependency_is_told_in_the_words_of_the_specification_and_stops_nothing() {
    let world = World::new();
    manifest_skill(&world, "app", &["gone", "base"], &[]);
    manifest_skill(&world, "base", &[], &[]);
    let catalogue = world.load();
    let resolved = with_all_it_needs(&catalogue, "app");
    assert_eq!(order(&resolved), ["base", "app"]);
    for problems in [&resolved.problems, &catalogue.problems] {
        let [problem] = problems.as_slice() else { panic!("{problems:?}") };
        assert_eq!((problem.code, problem.severity), (ProblemCode::DependencyMissing, ProblemSeverity::Warning));
        assert_eq!(problem.message, "Missing dependency: APP requires gone");
        assert_eq!(problem.help, "install `gone`, or remove it from the dependencies");
        assert_eq!(problem.path, world.skills("app/manifest.json"));
    }
}

#[test]
fn a_dependency_that_cannot_be_loaded_is_missing() {
    let world = World::new();
    manifest_skill(&world, "app", &["torn"], &[]);
    write(world.skills("torn/manifest.json"), "{");
    let catalogue = world.load();
    let messages: Vec<&str> = catalogue.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert!(messages.contains(&"Missing dependency: APP requires torn"), "{messages:?}");
}

#[test]
fn skills_that_need_each_other_are_reported_and_all_returned_once() {
    let world = World::new();
    manifest_skill(&world, "one", &["two"], &[]);
    manifest_skill(&world, "two", &["three"], &[]);
    manifest_skill(&world, "three", &["one"], &[]);
    manifest_skill(&world, "selfish", &["selfish"], &[]);
    let catalogue = world.load();
    let resolved = resolve_dependencies(&catalogue, catalogue.skills.iter().map(AsRef::as_ref));
    let mut all = order(&resolved);
    all.sort_unstable();
    assert_eq!(all, ["one", "selfish", "three", "two"]);
    let messages: Vec<&str> = resolved.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(messages, ["Dependency cycle: one → two → three → one", "Dependency cycle: selfish → selfish"]);
    assert!(resolved.problems.iter().all(|problem| problem.code == ProblemCode::DependencyCycle));
    assert_eq!(catalogue.problems.len(), 2, "the catalogue tells it as well");
}

#[test]
fn a_role_gets_the_base_skill_then_its_own_then_what_is_assigned_to_it_by_id() {
    let world = World::new();
    manifest_skill(&world, "maestro-cli", &[], &["all"]);
    manifest_skill(&world, "maestro-worker", &["maestro-cli"], &["worker"]);
    manifest_skill(&world, "maestro-orchestrator", &["maestro-cli"], &["orchestrator"]);
    manifest_skill(&world, "zebra", &[], &["all"]);
    manifest_skill(&world, "apple", &["yeast"], &["worker", "orchestrator"]);
    manifest_skill(&world, "yeast", &[], &[]);
    manifest_skill(&world, "planner", &[], &["orchestrator"]);
    manifest_skill(&world, "unassigned", &[], &[]);
    let catalogue = world.load();
    assert_eq!(
        order(&skills_for_role(&catalogue, SessionRole::Worker)),
        ["maestro-cli", "maestro-worker", "yeast", "apple", "zebra"]
    );
    assert_eq!(
        order(&skills_for_role(&catalogue, SessionRole::Orchestrator)),
        ["maestro-cli", "maestro-orchestrator", "yeast", "apple", "planner", "zebra"]
    );
}

#[test]
fn a_role_has_its_base_skills_even_when_nothing_assigns_them() {
    let world = World::new();
    manifest_skill(&world, "maestro-worker", &[], &[]);
    manifest_skill(&world, "maestro-cli", &[], &[]);
    let catalogue = world.load();
    assert_eq!(order(&skills_for_role(&catalogue, SessionRole::Worker)), ["maestro-cli", "maestro-worker"]);
    assert_eq!(order(&skills_for_role(&catalogue, SessionRole::Orchestrator)), ["maestro-cli"]);
}

#[test]
fn without_any_skill_a_role_has_none() {
    let catalogue = World::new().load();
    for role in SessionRole::ALL {
        let resolved = skills_for_role(&catalogue, role);
        assert!(resolved.skills.is_empty() && resolved.problems.is_empty());
    }
}

#[test]
fn on_a_fresh_install_each_role_has_exactly_the_two_entries_of_the_specification() {
    let world = World::new();
    let pack = maestro_skills::SkillPack::builtin();
    let directory = pack.directory(&world.home("packs"));
    apply(&pack.plan(&world.home("packs")).unwrap().unwrap());
    let mut roots = world.roots();
    roots.push(SkillRoot::builtin(directory));
    let catalogue = world.load_from(&roots, maestro_core::settings::SkillValidation::Strict);
    let entries = |role| -> Vec<[String; 5]> {
        let skills = skills_for_role(&catalogue, role).skills;
        skills
            .iter()
            .map(|skill| {
                [
                    skill.id.to_string(),
                    skill.display_name.clone(),
                    skill.description.clone(),
                    skill.kind.to_string(),
                    skill.version.clone(),
                ]
            })
            .collect()
    };
    let base = [
        "maestro-cli",
        "Maestro CLI",
        "Core CLI commands and capabilities for all Maestro sessions",
        "system",
        "1.0.0",
    ];
    let worker =
        ["maestro-worker", "Maestro Worker", "Worker-specific capabilities for task execution", "role", "1.0.0"];
    let orchestrator = [
        "maestro-orchestrator",
        "Maestro Orchestrator",
        "Orchestrator-specific capabilities for task delegation",
        "role",
        "1.0.0",
    ];
    assert_eq!(entries(SessionRole::Worker), [base, worker]);
    assert_eq!(entries(SessionRole::Orchestrator), [base, orchestrator]);
}
