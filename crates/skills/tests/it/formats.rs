//! What is read out of each kind of skill folder?

use maestro_core::settings::SkillValidation;
use maestro_skills::{Catalogue, SkillLocation, SkillRoot, SkillSource};
use serde_json::{Value, json};

use crate::world::{World, fixtures, found, ids, write};

fn load_fixtures() -> Catalogue {
    let root = SkillRoot {
        path: fixtures().join("formats"),
        location: SkillLocation::Global,
        source: SkillSource::User,
        owner: None,
    };
    World::new().load_from(&[root], SkillValidation::Lenient)
}

/// The skill of a fixture folder and the problems with its files, without the path of this checkout.
fn fixture(directory: &str) -> Value {
    let catalogue = load_fixtures();
    let skill = found(&catalogue, directory);
    let problems: Vec<_> = catalogue.problems_of(&skill.path).collect();
    let text = json!({ "skill": skill, "problems": problems }).to_string();
    serde_json::from_str(&text.replace(fixtures().to_str().unwrap(), "[fixtures]")).unwrap()
}

#[test]
fn a_skill_md_with_every_field_is_read_whole() {
    insta::assert_json_snapshot!(fixture("full-header"));
}

#[test]
fn allowed_tools_mean_the_same_as_text_with_commas_or_as_a_list() {
    let expected = json!(["Bash(git commit:*, git push)", "Read", "Edit"]);
    for directory in ["tools-text", "tools-commas", "tools-list"] {
        let fixture = fixture(directory);
        assert_eq!(fixture["skill"]["allowed_tools"], expected, "{directory}");
        assert_eq!(fixture["problems"], json!([]), "{directory}");
    }
}

#[test]
fn a_manifest_with_every_field_is_read_whole_and_unknown_keys_are_kept() {
    insta::assert_json_snapshot!(fixture("with-manifest"));
}

#[test]
fn a_manifest_without_anything_gets_defaults_and_a_problem_for_each() {
    insta::assert_json_snapshot!(fixture("bare-manifest"));
}

#[test]
fn a_skill_json_brings_its_commands() {
    insta::assert_json_snapshot!(fixture("with-commands"));
}

#[test]
fn a_skill_yaml_alone_is_a_skill_with_a_workflow() {
    insta::assert_json_snapshot!(fixture("with-skill-yaml"));
}

#[test]
fn a_workflow_yaml_alone_is_a_skill_with_a_workflow() {
    insta::assert_json_snapshot!(fixture("with-workflow-yaml"));
}

#[test]
fn all_forms_in_one_folder_make_one_skill() {
    insta::assert_json_snapshot!(fixture("all-forms"));
}

#[test]
fn forms_that_contradict_each_other_are_reported_and_the_leading_one_counts() {
    insta::assert_json_snapshot!(fixture("contradicting"));
}

#[test]
fn a_skill_md_in_small_letters_is_read_and_reported() {
    insta::assert_json_snapshot!(fixture("lower-case"));
}

#[test]
fn values_that_are_no_yaml_are_repaired_and_each_repair_is_told() {
    insta::assert_json_snapshot!(fixture("repaired-header"));
}

#[test]
fn each_fixture_folder_is_one_skill() {
    let folders = std::fs::read_dir(fixtures().join("formats")).unwrap().count();
    let catalogue = load_fixtures();
    assert_eq!(catalogue.skills.len(), folders, "{:?}", ids(&catalogue));
    assert_eq!(catalogue.roots[0].folders, folders);
}

#[test]
fn a_newer_workflow_file_wins_over_an_older_one_beside_it() {
    let world = World::new();
    for name in ["skill.yaml", "workflow.yaml"] {
        write(world.skills("flow").join(name), format!("name: flow\ndescription: From {name}.\n"));
    }
    let catalogue = world.load();
    let skill = found(&catalogue, "flow");
    assert_eq!(skill.workflow.as_deref(), Some("workflow.yaml"));
    assert_eq!(skill.description, "From workflow.yaml.");
}

#[test]
fn a_workflow_without_description_is_loaded_and_reported() {
    let world = World::new();
    write(world.skills("flow/workflow.yaml"), "name: flow\nsteps: []\n");
    let catalogue = world.load();
    assert_eq!(found(&catalogue, "flow").description, "");
    assert_eq!(
        world.problems(&catalogue),
        ["warning description-missing work/app/.claude/skills/flow/workflow.yaml:1:1"]
    );
}

#[test]
fn a_skill_marked_as_internal_is_hidden_from_models_whatever_the_order_of_its_fields() {
    let internal = "metadata:\n  internal: true\n";
    let flag = "disable-model-invocation: false\n";
    for fields in [format!("{internal}{flag}"), format!("{flag}{internal}")] {
        let world = World::new();
        write(
            world.skills("inner/SKILL.md"),
            format!("---\nname: inner\ndescription: Serves other skills.\n{fields}---\n"),
        );
        let catalogue = world.load();
        assert!(!found(&catalogue, "inner").invocation.by_model, "{fields}");
    }
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_change_nothing() {
    let world = World::new();
    let text = "\u{feff}---\r\nname: from-windows\r\ndescription: Was saved elsewhere.\r\n---\r\nBody.\r\n";
    write(world.skills("from-windows/SKILL.md"), text);
    write(
        world.skills("with-mark/manifest.json"),
        "\u{feff}{\"name\": \"M\", \"version\": \"1\", \"description\": \"d\"}",
    );
    write(world.skills("with-mark/skill.md"), "Body.");
    let catalogue = world.load();
    assert_eq!(found(&catalogue, "from-windows").description, "Was saved elsewhere.");
    assert_eq!(found(&catalogue, "with-mark").display_name, "M");
    assert_eq!(world.problems(&catalogue), <[&str; 0]>::default());
}
