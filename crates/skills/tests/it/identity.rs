//! By which name is a skill known, and what does a folder with several forms become?

use maestro_core::{ProblemCode, ProblemSeverity};
use maestro_skills::{BrokenSkill, NameLookup, SkillFormat, SkillType};

use crate::world::{World, found, good_skill, ids, is_broken, is_missing, skill_md, write};

const MANIFEST: &str = r#"{"name": "Nice Name", "version": "2.0.0", "description": "From the manifest."}"#;

#[test]
fn the_frontmatter_names_a_skill_and_a_differing_directory_is_a_problem() {
    let world = World::new();
    write(world.skills("folder/SKILL.md"), skill_md("inner-name", "Says its name."));
    let catalogue = world.load();
    assert_eq!(ids(&catalogue), ["inner-name"]);
    assert_eq!(world.problems(&catalogue), ["warning name-not-directory work/app/.claude/skills/folder/SKILL.md:2:7"]);
}

#[test]
fn without_a_skill_md_the_directory_names_a_skill() {
    let world = World::new();
    write(world.skills("by-manifest/manifest.json"), MANIFEST);
    write(world.skills("by-manifest/skill.md"), "Text.");
    write(world.skills("by-json/skill.json"), r#"{"name": "other", "description": "d"}"#);
    write(world.skills("by-yaml/workflow.yaml"), "name: another\ndescription: d\n");
    let catalogue = world.load();
    assert_eq!(ids(&catalogue), ["by-json", "by-manifest", "by-yaml"]);
    assert_eq!(
        world.problems(&catalogue),
        [
            "warning forms-contradict work/app/.claude/skills/by-json/skill.json:1:1",
            "warning forms-contradict work/app/.claude/skills/by-yaml/workflow.yaml:1:1",
        ]
    );
}

#[test]
fn the_first_of_manifest_skill_json_and_yaml_leads_when_there_is_no_skill_md() {
    let world = World::new();
    write(world.skills("three/manifest.json"), MANIFEST);
    write(world.skills("three/skill.md"), "Text.");
    for dir in ["three", "two"] {
        let name = format!(r#"{{"name": "{dir}", "description": "From skill.json.", "commands": [{{"name": "go"}}]}}"#);
        write(world.skills(dir).join("skill.json"), name);
        write(world.skills(dir).join("skill.yaml"), format!("name: {dir}\ndescription: From YAML.\n"));
    }
    let catalogue = world.load();
    let three = found(&catalogue, "three");
    assert_eq!((three.format, three.description.as_str()), (SkillFormat::Manifest, "From the manifest."));
    assert_eq!(three.commands[0].name, "go");
    assert_eq!(three.workflow.as_deref(), Some("skill.yaml"));
    let two = found(&catalogue, "two");
    assert_eq!((two.format, two.description.as_str()), (SkillFormat::SkillJson, "From skill.json."));
}

#[test]
fn a_broken_form_does_not_hide_a_good_one_beside_it() {
    let world = World::new();
    good_skill(world.skills("pair"));
    write(world.skills("pair/manifest.json"), "{");
    let catalogue = world.load();
    assert_eq!(found(&catalogue, "pair").format, SkillFormat::SkillMd);
    assert_eq!(world.problems(&catalogue), ["error manifest-invalid work/app/.claude/skills/pair/manifest.json:1:1"]);
}

#[test]
fn a_manifest_says_how_a_skill_md_is_shown_and_used_but_not_what_it_is() {
    let world = World::new();
    write(world.skills("pair/SKILL.md"), skill_md("pair", "From the frontmatter."));
    write(
        world.skills("pair/manifest.json"),
        r#"{"name": "Nice Name", "version": "2.0.0", "description": "From the manifest.", "type": "role"}"#,
    );
    let catalogue = world.load();
    let skill = found(&catalogue, "pair");
    assert_eq!(skill.display_name, "Nice Name");
    assert_eq!(skill.description, "From the frontmatter.");
    assert_eq!((skill.version.as_str(), skill.kind), ("2.0.0", SkillType::Role));
    let [problem] = catalogue.problems.as_slice() else { panic!("{:?}", catalogue.problems) };
    assert_eq!((problem.code, problem.severity), (ProblemCode::FormsContradict, ProblemSeverity::Warning));
    assert_eq!(problem.path, world.skills("pair/manifest.json"));
    assert!(problem.message.contains("`From the manifest.` differs from `From the frontmatter.`"));
}

#[test]
fn a_manifest_that_lacks_required_fields_is_used_with_defaults() {
    let world = World::new();
    write(world.skills("plain/manifest.json"), r#"{"type": "custom"}"#);
    write(world.skills("plain/skill.md"), "Text.");
    let catalogue = world.load();
    let skill = found(&catalogue, "plain");
    assert_eq!((skill.display_name.as_str(), skill.version.as_str()), ("plain", "1.0.0"));
    assert_eq!(skill.description, "");
    let messages: Vec<&str> = catalogue.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`name` is missing; `plain` is used",
            "`version` is missing; `1.0.0` is used",
            "`description` is missing; an empty one is used",
        ]
    );
    assert!(catalogue.problems.iter().all(|problem| problem.code == ProblemCode::ManifestField));
}

#[test]
fn a_manifest_without_instructions_is_used_and_a_warning_says_so() {
    let world = World::new();
    write(world.skills("mute/manifest.json"), MANIFEST);
    let catalogue = world.load();
    assert_eq!(found(&catalogue, "mute").display_name, "Nice Name");
    assert_eq!(
        world.problems(&catalogue),
        ["warning instructions-missing work/app/.claude/skills/mute/manifest.json:1:1"]
    );
}

#[test]
fn a_manifest_that_cannot_be_parsed_is_broken_and_not_missing() {
    let world = World::new();
    write(world.skills("torn/manifest.json"), "{\n  \"name\": \"Torn\",\n}");
    let catalogue = world.load();
    assert_eq!(ids(&catalogue), <[&str; 0]>::default());
    assert_eq!(catalogue.broken, [BrokenSkill { name: "torn".into(), path: world.skills("torn") }]);
    assert_eq!(catalogue.not_loaded(), 1);
    assert!(is_broken(&catalogue, "torn"));
    assert_eq!(world.problems(&catalogue), ["error manifest-invalid work/app/.claude/skills/torn/manifest.json:3:1"]);
}

#[test]
fn the_first_skill_of_a_name_wins_and_the_others_are_kept_for_display() {
    let world = World::new();
    for dir in [world.project(".agent/skills"), world.home(".agent/skills"), world.skills("")] {
        good_skill(dir.join("same"));
    }
    let catalogue = world.load();
    assert_eq!(world.paths(&catalogue), ["work/app/.agent/skills/same"]);
    let shadowed: Vec<_> = catalogue
        .shadowed
        .iter()
        .map(|shadowed| {
            (world.relative(&shadowed.skill.path), world.relative(&shadowed.shadowed_by), shadowed.same_files)
        })
        .collect();
    let winner = "work/app/.agent/skills/same".to_owned();
    assert_eq!(
        shadowed,
        [
            ("home/.agent/skills/same".to_owned(), winner.clone(), false),
            ("work/app/.claude/skills/same".to_owned(), winner, false),
        ]
    );
}

#[test]
fn of_two_folders_in_one_root_with_the_same_name_the_first_by_path_wins() {
    let world = World::new();
    write(world.skills("b/SKILL.md"), skill_md("same", "From b."));
    write(world.skills("a/SKILL.md"), skill_md("same", "From a."));
    let catalogue = world.load();
    assert_eq!(found(&catalogue, "same").description, "From a.");
    assert_eq!(catalogue.shadowed[0].skill.description, "From b.");
}

#[test]
fn a_skill_is_found_by_id_then_by_directory_then_by_its_display_name() {
    let world = World::new();
    write(world.skills("first/SKILL.md"), skill_md("second", "Is called second and lies in first."));
    write(world.skills("third/SKILL.md"), skill_md("first", "Is called first and lies in third."));
    write(world.skills("shown/manifest.json"), MANIFEST);
    write(world.skills("shown/skill.md"), "Text.");
    let catalogue = world.load();
    assert_eq!(found(&catalogue, "first").path, world.skills("third"), "an id comes before a directory");
    assert_eq!(found(&catalogue, "third").path, world.skills("third"));
    assert_eq!(found(&catalogue, "Nice Name").path, world.skills("shown"));
    assert_eq!(found(&catalogue, " second ").path, world.skills("first"), "blanks around a name do not count");
}

#[test]
fn a_display_name_that_several_skills_have_is_ambiguous() {
    let world = World::new();
    for dir in ["one", "two"] {
        write(world.skills(dir).join("manifest.json"), MANIFEST);
        write(world.skills(dir).join("skill.md"), "Text.");
    }
    let catalogue = world.load();
    let NameLookup::Ambiguous(candidates) = catalogue.find("Nice Name") else { panic!("one was chosen") };
    let candidates: Vec<&str> = candidates.iter().map(|skill| skill.id.as_str()).collect();
    assert_eq!(candidates, ["one", "two"]);
}

#[test]
fn a_skill_is_never_found_by_a_path() {
    let world = World::new();
    good_skill(world.skills("group/inner"));
    good_skill(world.elsewhere("secret"));
    let catalogue = world.load();
    let absolute = world.skills("group/inner");
    let secret = world.elsewhere("secret");
    for path in [
        "group/inner",
        "./group/inner",
        "../skills/group/inner",
        "../../../../elsewhere/secret",
        absolute.to_str().unwrap(),
        secret.to_str().unwrap(),
        "inner/",
        "inner/SKILL.md",
        "..",
        ".",
        "/",
        "",
    ] {
        assert!(is_missing(&catalogue, path), "{path}");
    }
    assert_eq!(found(&catalogue, "inner").path, absolute);
}

#[test]
fn an_unknown_name_is_answered_with_the_closest_one() {
    let world = World::new();
    good_skill(world.skills("code-review"));
    let catalogue = world.load();
    let NameLookup::Missing { closest } = catalogue.find("code-reviw") else { panic!("it does not exist") };
    assert_eq!(closest, Some("code-review"));
    let NameLookup::Missing { closest } = catalogue.find("something-else") else { panic!("it does not exist") };
    assert_eq!(closest, None);
}

#[test]
fn a_good_skill_is_found_although_a_broken_one_of_its_name_comes_first() {
    let world = World::new();
    write(world.project(".agent/skills/pdf/SKILL.md"), "no header");
    good_skill(world.home(".claude/skills/pdf"));
    let catalogue = world.load();
    assert_eq!(found(&catalogue, "pdf").path, world.home(".claude/skills/pdf"));
    assert_eq!(catalogue.not_loaded(), 1);
}
