//! What does an agent get when it reads a skill?

use std::fs;
use std::io::ErrorKind;

use maestro_core::settings::SkillValidation;
use maestro_skills::{SkillLocation, SkillRoot, SkillSource, envelope, instructions, instructions_file};

use crate::world::{World, fixtures, found, link, write};

/// The expected files are what OpenSkills 1.5.0 printed for these very inputs, `{ROOT}` being where it ran.
#[test]
fn the_envelope_is_that_of_openskills_byte_for_byte() {
    let ran_in = fixtures().join("openskills/input");
    let root = SkillRoot {
        path: ran_in.join(".claude/skills"),
        location: SkillLocation::Project,
        source: SkillSource::Project,
        owner: None,
    };
    let mut world = World::new();
    world.places.project.clone_from(&ran_in);
    let catalogue = world.load_from(&[root], SkillValidation::Lenient);
    assert_eq!(catalogue.skills.len(), 3);
    for skill in &catalogue.skills {
        let expected = fixtures().join("openskills/output").join(format!("{}.stdout", skill.id));
        let expected = fs::read_to_string(expected).unwrap().replace("{ROOT}", ran_in.to_str().unwrap());
        let read = instructions(skill).unwrap();
        assert!(!read.cut);
        let printed = String::from_utf8(envelope(skill, &read.bytes)).unwrap();
        assert_eq!(printed, expected, "{}", skill.id);
    }
}

#[test]
fn a_manifests_instructions_are_its_skill_md() {
    let world = World::new();
    write(world.skills("kit/manifest.json"), r#"{"name": "Kit", "version": "1.0.0", "description": "d"}"#);
    write(world.skills("kit/skill.md"), "# Kit\n\nDo it.\n");
    let catalogue = world.load();
    let skill = found(&catalogue, "kit");
    assert_eq!(instructions_file(skill), Some(world.skills("kit/skill.md")));
    let read = instructions(skill).unwrap();
    assert_eq!(read.bytes, b"# Kit\n\nDo it.\n");
    let printed = String::from_utf8(envelope(skill, &read.bytes)).unwrap();
    assert_eq!(
        printed,
        format!(
            "Reading: kit\nBase directory: {}\n\n# Kit\n\nDo it.\n\n\nSkill read: kit\n",
            world.skills("kit").display()
        )
    );
}

#[test]
fn a_manifest_without_skill_md_has_empty_instructions() {
    let world = World::new();
    write(world.skills("kit/manifest.json"), r#"{"name": "Kit", "version": "1.0.0", "description": "d"}"#);
    let catalogue = world.load();
    assert_eq!(instructions(found(&catalogue, "kit")).unwrap().bytes, b"");
}

/// A cloned project must not make us print a file of the user's.
#[test]
fn instructions_behind_a_refused_link_are_not_read() {
    let world = World::new();
    write(world.home("secret.md"), "the user's own");
    write(world.skills("kit/manifest.json"), r#"{"name": "Kit", "version": "1.0.0", "description": "d"}"#);
    link(world.home("secret.md"), world.skills("kit/skill.md"));
    let catalogue = world.load();
    assert_eq!(world.problems(&catalogue)[0], "error link-outside work/app/.claude/skills/kit/skill.md:1:1");
    assert_eq!(instructions(found(&catalogue, "kit")).unwrap().bytes, b"");
}

#[test]
fn a_skill_json_is_put_into_words() {
    let root = SkillRoot {
        path: fixtures().join("formats"),
        location: SkillLocation::Global,
        source: SkillSource::User,
        owner: None,
    };
    let catalogue = World::new().load_from(&[root], SkillValidation::Lenient);
    let skill = found(&catalogue, "with-commands");
    assert_eq!(instructions_file(skill), None);
    insta::assert_snapshot!(String::from_utf8(instructions(skill).unwrap().bytes).unwrap(), @"
    # with-commands

    Tools for reporting progress on tasks.

    ## Commands

    - `get_task_info`: Show the current task and its subtasks.
    - `report_progress`: Log a progress update that the user sees.
      - `message` (string, required): what was done
    - `mark_subtask_complete`: Mark one subtask as done.
      - `subtaskId` (string, required): the subtask's id
    - `signal_completion`: Say that all work of this session is finished.
    - `signal_blocker`: Say that work cannot go on.
      - `reason` (string, required): what is in the way
    ");
}

#[test]
fn a_workflow_is_put_into_words_that_name_its_file() {
    let root = SkillRoot {
        path: fixtures().join("formats"),
        location: SkillLocation::Global,
        source: SkillSource::User,
        owner: None,
    };
    let catalogue = World::new().load_from(&[root], SkillValidation::Lenient);
    let skill = found(&catalogue, "with-workflow-yaml");
    insta::assert_snapshot!(String::from_utf8(instructions(skill).unwrap().bytes).unwrap(), @r"
    # with-workflow-yaml

    Check the build every night

    Its workflow is in `workflow.yaml`.
    ");
}

#[test]
fn instructions_are_read_when_asked_for_and_not_before() {
    let world = World::new();
    crate::world::good_skill(world.skills("fresh"));
    let catalogue = world.load();
    let skill = found(&catalogue, "fresh");
    write(world.skills("fresh/SKILL.md"), "changed");
    assert_eq!(instructions(skill).unwrap().bytes, b"changed");
    fs::remove_file(world.skills("fresh/SKILL.md")).unwrap();
    assert_eq!(instructions(skill).unwrap_err().kind(), ErrorKind::NotFound);
}
