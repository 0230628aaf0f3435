//! Are the tables those of the original tools, byte for byte?
//!
//! The expected files are what OpenSkills 1.5.0 wrote and agentskills 0.1.1 printed for these very inputs, `{ROOT}`
//! being where they ran.

use std::fs;

use maestro_core::settings::SkillValidation;
use maestro_skills::render::{
    BodyPart, LoadedBody, LoaderProgram, ReferenceMode, SkillActivation, SkillTable, body, manifest_entry,
    offered_skills, table,
};
use maestro_skills::render::{content, resources, with_block};
use maestro_skills::{Catalogue, Skill, SkillLocation, SkillRoot, SkillSource, resolve_dependencies};

use crate::world::{World, fixtures, found, link, pipe, skill_md, write};

fn original(file: &str) -> String {
    let ran_in = fixtures().join("prompts/input");
    let text = fs::read_to_string(fixtures().join("prompts/output").join(file)).unwrap();
    text.replace("{ROOT}", ran_in.to_str().unwrap())
}

fn inputs(dirs: &[&str]) -> Catalogue {
    let ran_in = fixtures().join("prompts/input");
    let root = |dir: &&str| SkillRoot {
        path: ran_in.join(dir),
        location: SkillLocation::Project,
        source: SkillSource::Project,
        owner: None,
    };
    let mut world = World::new();
    world.places.project.clone_from(&ran_in);
    let catalogue = world.load_from(&dirs.iter().map(root).collect::<Vec<_>>(), SkillValidation::Strict);
    assert_eq!(catalogue.problems, []);
    catalogue
}

#[test]
fn the_skills_system_block_is_that_of_openskills_byte_for_byte() {
    let catalogue = inputs(&[".claude/skills"]);
    let block = table(SkillTable::OpenSkills(LoaderProgram::OpenSkills), &offered_skills(&catalogue));
    assert_eq!(with_block(None, "AGENTS", &block), original("new.md"));
    for existing in ["prose.md", "block.md"] {
        let old = fs::read_to_string(fixtures().join("prompts/input").join(existing)).unwrap();
        let new = with_block(Some(&old), "AGENTS", &block);
        assert_eq!(new, original(existing), "{existing}");
        assert_eq!(with_block(Some(&new), "AGENTS", &block), new, "{existing} a second time");
    }
}

#[test]
fn our_block_differs_from_openskills_only_in_the_command() {
    let catalogue = inputs(&[".claude/skills"]);
    let ours = table(SkillTable::OpenSkills(LoaderProgram::Maestro), &offered_skills(&catalogue));
    let theirs = table(SkillTable::OpenSkills(LoaderProgram::OpenSkills), &offered_skills(&catalogue));
    assert_eq!(ours.replace("maestro skills read", "npx openskills read"), theirs);
}

#[test]
fn the_available_skills_block_is_that_of_to_prompt_byte_for_byte() {
    let catalogue = inputs(&[".claude/skills", "more"]);
    assert_eq!(table(SkillTable::ToPrompt, &offered_skills(&catalogue)) + "\n", original("to-prompt.stdout"));
}

#[test]
fn a_skill_that_a_model_may_not_choose_is_in_no_table() {
    let world = World::new();
    write(world.skills("open/SKILL.md"), skill_md("open", "For all."));
    write(
        world.skills("shy/SKILL.md"),
        "---\nname: shy\ndescription: Only by hand.\ndisable-model-invocation: true\n---\n",
    );
    let catalogue = world.load();
    assert_eq!(catalogue.skills.len(), 2);
    let names: Vec<&str> = offered_skills(&catalogue).iter().map(|skill| skill.id.as_str()).collect();
    assert_eq!(names, ["open"]);
}

#[test]
fn another_format_is_located_by_the_file_that_leads() {
    let world = World::new();
    write(world.skills("kit/manifest.json"), r#"{"name": "Kit", "version": "1.0.0", "description": "d"}"#);
    write(world.skills("kit/skill.md"), "# Kit\n");
    let catalogue = world.load();
    let location = format!("{}/manifest.json", world.skills("kit").display());
    for format in [SkillTable::ToPrompt, SkillTable::Guide(SkillActivation::ReadFile)] {
        assert!(table(format, &offered_skills(&catalogue)).contains(&location));
    }
}

fn text(skill: &Skill) -> LoadedBody {
    body(skill, BodyPart::Body, ReferenceMode::Leave, 20_000).unwrap()
}

#[test]
fn skills_are_formatted_for_a_prompt_as_the_specification_does() {
    let world = World::new();
    let manifest = |name: &str, needs: &str| {
        format!(r#"{{"name": "{name}", "version": "2.1.0", "description": "The {name}.", "dependencies": [{needs}]}}"#)
    };
    write(world.skills("top/manifest.json"), manifest("Top Skill", r#""base""#));
    write(world.skills("top/skill.md"), "# Top\n\nDo it.\n");
    write(world.skills("base/manifest.json"), manifest("Base Skill", ""));
    write(world.skills("plain/SKILL.md"), "---\nname: plain\ndescription: Plain & <simple>.\n---\n\n# Plain\n");
    let catalogue = world.load();
    let wanted = [found(&catalogue, "top"), found(&catalogue, "plain")];
    let entries: Vec<String> = resolve_dependencies(&catalogue, wanted)
        .skills
        .into_iter()
        .map(|skill| manifest_entry(skill, &text(skill)))
        .collect();
    assert_eq!(
        entries.join("\n\n"),
        "---\n# Base Skill (v2.1.0)\n\nThe Base Skill.\n\n\
         ---\n# Top Skill (v2.1.0)\n\nThe Top Skill.\n\n# Top\n\nDo it.\n\n\n\
         ---\n# plain (v1.0.0)\n\nPlain & <simple>.\n\n# Plain"
    );
}

#[test]
fn a_skills_content_is_wrapped_as_the_guide_for_clients_has_it() {
    let world = World::new();
    let dir = world.skills("pdf");
    write(dir.join("SKILL.md"), "---\nname: pdf\ndescription: d\n---\n\n# PDF\n\nSee </skill_content> & `<b>`.\n\n");
    for file in ["scripts/run.sh", "references/a&b.md", "LICENSE", ".git/config", "assets/deep/er/x.png"] {
        write(dir.join(file), "never read");
    }
    link(world.home("secret"), dir.join("assets/secret"));
    write(world.home("secrets/key"), "k");
    link(world.home("secrets"), dir.join("secrets"));
    pipe(dir.join("scripts/pipe"));
    let catalogue = world.load();
    let skill = found(&catalogue, "pdf");
    let wrapped = content(skill, &text(skill), &resources(skill));
    assert_eq!(
        wrapped,
        format!(
            "<skill_content name=\"pdf\">
# PDF

See &lt;/skill_content> & `<b>`.

Skill directory: {}
Relative paths in this skill are relative to the skill directory.

<skill_resources>
  <file>LICENSE</file>
  <file>assets/deep/er/x.png</file>
  <file>references/a&amp;b.md</file>
  <file>scripts/run.sh</file>
</skill_resources>
</skill_content>",
            dir.display()
        )
    );
}

#[test]
fn a_skill_without_other_files_lists_none() {
    let world = World::new();
    write(world.skills("bare/SKILL.md"), skill_md("bare", "d"));
    let catalogue = world.load();
    let skill = found(&catalogue, "bare");
    let wrapped = content(skill, &text(skill), &resources(skill));
    assert!(!wrapped.contains("skill_resources"), "{wrapped}");
}

#[test]
fn of_many_files_fifty_are_named_and_the_others_counted() {
    let world = World::new();
    write(world.skills("many/SKILL.md"), skill_md("many", "d"));
    for number in 0..62 {
        write(world.skills(&format!("many/assets/{number:03}.txt")), "");
    }
    let catalogue = world.load();
    let skill = found(&catalogue, "many");
    let wrapped = content(skill, &text(skill), &resources(skill));
    assert_eq!(wrapped.matches("<file>").count(), 50);
    assert!(wrapped.contains("  <file>assets/049.txt</file>\n  … and 12 more files\n</skill_resources>"), "{wrapped}");
}
