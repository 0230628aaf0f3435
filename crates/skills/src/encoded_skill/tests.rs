//! Tests of encoded skills, and a skill of which every field has a value.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::*;
use crate::skill::{InvocationRules, SkillCommand};

pub(crate) fn root() -> Arc<SkillRoot> {
    Arc::new(SkillRoot {
        path: "/app/skills".into(),
        location: SkillLocation::Project,
        source: SkillSource::Project,
        owner: None,
    })
}

fn map(value: Json) -> Map<String, Json> {
    let Json::Object(map) = value else { panic!("an object") };
    map
}

/// Every field has a value that nothing else has.
pub(crate) fn full_skill() -> Skill {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let place = (SkillLocation::Project, SkillSource::Project);
    let path = PathBuf::from("/app/skills/group/pdf");
    let mut skill = Skill::new(SkillId::of("pdf"), path, place, SkillFormat::Manifest, "manifest.json".into());
    skill.display_name = "PDF".into();
    skill.description = "Reads – and writes.".into();
    skill.instructions = Some("skill.md".into());
    skill.kind = SkillType::Role;
    skill.version = "2.1".into();
    skill.assign_to = texts(&["worker"]);
    skill.capabilities = texts(&["reads", "writes"]);
    skill.dependencies = texts(&["files"]);
    skill.author = Some("Ada".into());
    skill.license = Some("MIT".into());
    skill.compatibility = Some("any".into());
    skill.when_to_use = Some("often".into());
    skill.argument_hint = Some("[file]".into());
    skill.triggers = texts(&["a pdf", ""]);
    skill.tags = texts(&["paper"]);
    skill.allowed_tools = texts(&["Bash(ls, cat)"]);
    skill.invocation = InvocationRules { by_model: false, by_user: true };
    skill.metadata = map(json!({"z": 1, "a": [1.5, null, {"deep": true}]}));
    skill.config = map(json!({"c": "d"}));
    skill.commands = vec![SkillCommand {
        name: "merge".into(),
        description: "Joins".into(),
        parameters: map(json!({"from": "a path"})),
        run: Some(texts(&["cat", "{from}"])),
    }];
    skill.workflow = Some("workflow.yaml".into());
    skill.extra = map(json!({"other": -3}));
    skill.card = crate::CardKey([7; 16]);
    skill
}

#[test]
fn a_packed_skill_is_the_same_skill() {
    let plain = Skill::new(
        SkillId::of("a"),
        root().path.clone(),
        (SkillLocation::Project, SkillSource::Project),
        SkillFormat::Workflow,
        "skill.yaml".into(),
    );
    let usual = Skill { instructions: Some("SKILL.md".into()), file: "SKILL.md".into(), ..full_skill() };
    for (skill, relative) in [(full_skill(), "group/pdf"), (plain, ""), (usual, "group/pdf")] {
        let packed = EncodedSkill::new(&skill, Path::new(relative), &root()).unwrap();
        assert_eq!(packed.skill(), skill);
        assert_eq!(packed.path(), skill.path);
        assert_eq!(packed.directory(), skill.path.file_name());
        assert_eq!(packed.has_dependencies(), !skill.dependencies.is_empty());
        let SkillHeading { id, display_name, description, location, source, format, kind, version } = packed.heading();
        assert_eq!((id, packed.id()), (skill.id.as_str(), skill.id.as_str()));
        assert_eq!((display_name, description), (skill.display_name.as_str(), skill.description.as_str()));
        assert_eq!((location, source, format, kind), (skill.location, skill.source, skill.format, skill.kind));
        assert_eq!(version, skill.version);
    }
}
