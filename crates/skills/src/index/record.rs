//! Index record of one directory, written and read back.
//!
//! Paths are kept relative to the directory, and what the root decides is left out: the same record serves however the
//! root is named and whatever kind of place it is.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use maestro_core::{Code, Problem, ProblemSeverity};

use super::bytes::{ByteReader, ByteWriter};
use crate::catalogue_entry::SkillHeading;
use crate::roots::SkillRoot;
use crate::scan::{DirectoryVisit, ScanDirectory, SkillFolder};
use crate::skill::{InvocationRules, Skill, SkillCommand, SkillFormat, SkillId, SkillType};

const NO_FOLDER: u8 = 0;
const BROKEN_FOLDER: u8 = 1;
const SKILL_FOLDER: u8 = 2;

/// Most skills have their instructions in the file that leads.
const SAME_FILE: u8 = 0;
const OTHER_FILE: u8 = 1;

/// Writes what was found in `dir`; `None` if that refers to places elsewhere.
pub(super) fn write(writer: &mut ByteWriter, dir: &Path, visit: &DirectoryVisit<'_>) -> Option<()> {
    writer.count(visit.children.len());
    for child in &visit.children {
        writer.bytes(child.relative.as_os_str().as_bytes());
    }
    writer.count(visit.problems.len());
    for problem in &visit.problems {
        write_problem(writer, dir, problem)?;
    }
    match &visit.folder {
        None => writer.byte(NO_FOLDER),
        Some(SkillFolder::Broken(_)) => writer.byte(BROKEN_FOLDER),
        Some(SkillFolder::Skill(skill)) => {
            writer.byte(SKILL_FOLDER);
            writer.raw(skill.encoded().fields());
        }
    }
    Some(())
}

/// What a record says was found, a skill not yet taken apart.
pub(super) struct RecordContents<'k> {
    pub(super) children: Vec<ScanDirectory<'k>>,
    pub(super) problems: Vec<Problem>,
    pub(super) kind: FoundKind,
}

/// What a record says a directory is. The fields of a skill are all that is left of the record.
pub(super) enum FoundKind {
    Nothing,
    Broken,
    Skill,
}

/// Reads what was found in the directory `relative` of `root`.
pub(super) fn read<'k>(reader: &mut ByteReader<'k>, relative: &Path, root: &SkillRoot) -> Option<RecordContents<'k>> {
    let children = reader.list(|child| {
        let relative = Path::new(OsStr::from_bytes(child.bytes()?));
        Some(ScanDirectory { relative: Cow::Borrowed(relative), real: None })
    })?;
    let problems = reader.list(|problem| read_problem(problem, relative, root))?;
    let kind = match reader.byte()? {
        NO_FOLDER => FoundKind::Nothing,
        BROKEN_FOLDER => FoundKind::Broken,
        SKILL_FOLDER => FoundKind::Skill,
        _ => return None,
    };
    Some(RecordContents { children, problems, kind })
}

fn write_problem(writer: &mut ByteWriter, dir: &Path, problem: &Problem) -> Option<()> {
    let Problem { code, severity, path, line, column, message, help } = problem;
    writer.byte(*code as u8);
    writer.byte(*severity as u8);
    writer.bytes(path.strip_prefix(dir).ok()?.as_os_str().as_bytes());
    writer.count(*line);
    writer.count(*column);
    writer.text(message);
    writer.text(help);
    Some(())
}

fn read_problem(reader: &mut ByteReader<'_>, relative: &Path, root: &SkillRoot) -> Option<Problem> {
    let code = *Code::ALL.get(usize::from(reader.byte()?))?;
    let severity =
        *[ProblemSeverity::Info, ProblemSeverity::Warning, ProblemSeverity::Error].get(usize::from(reader.byte()?))?;
    let dir = root.below(relative);
    let path = match reader.bytes()? {
        b"" => dir,
        file => dir.join(OsStr::from_bytes(file)),
    };
    let (line, column) = (reader.plain_number()?, reader.plain_number()?);
    Some(Problem { code, severity, path, line, column, message: reader.string()?, help: reader.string()? })
}

/// Writes a whole skill.
pub(super) fn write_skill(writer: &mut ByteWriter, skill: &Skill) {
    // Named one by one, so that a field that is new cannot be forgotten here. Path, location and source are the root's.
    let Skill {
        id,
        display_name,
        description,
        path: _,
        location: _,
        source: _,
        format,
        file,
        instructions,
        kind,
        version,
        assign_to,
        capabilities,
        dependencies,
        author,
        license,
        compatibility,
        when_to_use,
        argument_hint,
        triggers,
        tags,
        allowed_tools,
        invocation,
        metadata,
        config,
        commands,
        workflow,
        extra,
    } = skill;
    // First what can be read without the rest.
    writer.byte(u8::from(!dependencies.is_empty()));
    writer.text(id.as_str());
    writer.option((display_name != id.as_str()).then_some(display_name));
    writer.text(description);
    writer.byte(*format as u8);
    writer.byte(*kind as u8);
    writer.text(version);
    writer.text(file);
    writer.texts(dependencies);
    match instructions {
        Some(other) if other == file => writer.byte(SAME_FILE),
        other => {
            writer.byte(OTHER_FILE);
            writer.option(other.as_deref());
        }
    }
    writer.texts(assign_to);
    writer.texts(capabilities);
    for text in [author, license, compatibility, when_to_use, argument_hint] {
        writer.option(text.as_deref());
    }
    writer.texts(triggers);
    writer.texts(tags);
    writer.texts(allowed_tools);
    writer.byte(u8::from(invocation.by_model) | u8::from(invocation.by_user) << 1);
    writer.map(metadata);
    writer.map(config);
    writer.count(commands.len());
    for SkillCommand { name, description, parameters, run } in commands {
        writer.text(name);
        writer.text(description);
        writer.map(parameters);
        // One that is there has a program at least.
        writer.texts(run.as_deref().unwrap_or_default());
    }
    writer.option(workflow.as_deref());
    writer.map(extra);
}

/// Reads whether a skill needs others.
pub(super) fn read_depends(reader: &mut ByteReader<'_>) -> Option<bool> {
    reader.byte().map(|byte| byte != 0)
}

/// Reads what a skill is known by.
pub(super) fn read_id<'a>(reader: &mut ByteReader<'a>) -> Option<&'a str> {
    read_depends(reader)?;
    reader.text()
}

/// Reads what a list shows of a skill.
pub(super) fn read_heading<'a>(reader: &mut ByteReader<'a>, root: &SkillRoot) -> Option<SkillHeading<'a>> {
    let id = read_id(reader)?;
    Some(SkillHeading {
        id,
        display_name: reader.text_or(id)?,
        description: reader.text()?,
        location: root.location,
        source: root.source,
        format: read_format(reader)?,
        kind: read_kind(reader)?,
        version: reader.text()?,
    })
}

/// Reads a whole skill.
pub(super) fn read_skill(reader: &mut ByteReader<'_>, path: PathBuf, root: &SkillRoot) -> Option<Skill> {
    let SkillHeading { id, display_name, description, location, source, format, kind, version } =
        read_heading(reader, root)?;
    let mut skill = Skill::new(SkillId::of(id), path, (location, source), format, reader.string()?);
    display_name.clone_into(&mut skill.display_name);
    description.clone_into(&mut skill.description);
    version.clone_into(&mut skill.version);
    skill.kind = kind;
    skill.dependencies = reader.texts()?;
    match reader.byte()? {
        SAME_FILE => skill.instructions = Some(skill.file.clone()),
        OTHER_FILE => reader.option(&mut skill.instructions)?,
        _ => return None,
    }
    skill.assign_to = reader.texts()?;
    skill.capabilities = reader.texts()?;
    reader.option(&mut skill.author)?;
    reader.option(&mut skill.license)?;
    reader.option(&mut skill.compatibility)?;
    reader.option(&mut skill.when_to_use)?;
    reader.option(&mut skill.argument_hint)?;
    skill.triggers = reader.texts()?;
    skill.tags = reader.texts()?;
    skill.allowed_tools = reader.texts()?;
    skill.invocation = read_invocation(reader)?;
    skill.metadata = reader.map()?;
    skill.config = reader.map()?;
    skill.commands = reader.list(read_command)?;
    reader.option(&mut skill.workflow)?;
    skill.extra = reader.map()?;
    Some(skill)
}

fn read_format(reader: &mut ByteReader<'_>) -> Option<SkillFormat> {
    let formats = [SkillFormat::SkillMd, SkillFormat::Manifest, SkillFormat::SkillJson, SkillFormat::Workflow];
    formats.get(usize::from(reader.byte()?)).copied()
}

fn read_kind(reader: &mut ByteReader<'_>) -> Option<SkillType> {
    let kinds = [SkillType::System, SkillType::Role, SkillType::Custom];
    kinds.get(usize::from(reader.byte()?)).copied()
}

fn read_invocation(reader: &mut ByteReader<'_>) -> Option<InvocationRules> {
    let bits = reader.byte()?;
    Some(InvocationRules { by_model: bits & 1 != 0, by_user: bits & 2 != 0 })
}

fn read_command(reader: &mut ByteReader<'_>) -> Option<SkillCommand> {
    let (name, description, parameters) = (reader.string()?, reader.string()?, reader.map()?);
    Some(SkillCommand { name, description, parameters, run: Some(reader.texts()?).filter(|run| !run.is_empty()) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use serde_json::{Map, Value as Json, json};

    use super::*;
    use crate::index::EncodedSkill;
    use crate::skill::{SkillLocation, SkillSource};

    fn root() -> Arc<SkillRoot> {
        Arc::new(SkillRoot {
            path: "/app/skills".into(),
            location: SkillLocation::Project,
            source: SkillSource::Project,
        })
    }

    fn map(value: Json) -> Map<String, Json> {
        let Json::Object(map) = value else { panic!("an object") };
        map
    }

    /// Every field has a value that nothing else has.
    fn full() -> Skill {
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
        let usual = Skill { instructions: Some("SKILL.md".into()), file: "SKILL.md".into(), ..full() };
        for (skill, relative) in [(full(), "group/pdf"), (plain, ""), (usual, "group/pdf")] {
            let packed = EncodedSkill::new(&skill, Path::new(relative), &root()).unwrap();
            assert_eq!(packed.skill(), skill);
            assert_eq!(packed.path(), skill.path);
            assert_eq!(packed.directory(), skill.path.file_name());
            assert_eq!(packed.has_dependencies(), !skill.dependencies.is_empty());
            let SkillHeading { id, display_name, description, location, source, format, kind, version } =
                packed.heading();
            assert_eq!((id, packed.id()), (skill.id.as_str(), skill.id.as_str()));
            assert_eq!((display_name, description), (skill.display_name.as_str(), skill.description.as_str()));
            assert_eq!((location, source, format, kind), (skill.location, skill.source, skill.format, skill.kind));
            assert_eq!(version, skill.version);
        }
    }

    #[test]
    fn every_code_and_severity_survives() {
        for &code in Code::ALL {
            for severity in [ProblemSeverity::Info, ProblemSeverity::Warning, ProblemSeverity::Error] {
                for path in ["/app/skills/pdf", "/app/skills/pdf/SKILL.md"] {
                    let problem = Problem::new(code, severity, path, "wrong", "fix it").at(300, 2);
                    let mut writer = ByteWriter::default();
                    write_problem(&mut writer, Path::new("/app/skills/pdf"), &problem).unwrap();
                    let read = read_problem(&mut ByteReader::new(writer.as_slice()), Path::new("pdf"), &root());
                    assert_eq!(read, Some(problem));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn no_damage_stops_the_program(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
            let mut writer = ByteWriter::default();
            let folder = EncodedSkill::new(&full(), Path::new("group/pdf"), &root()).unwrap();
            let problem = Problem::new(Code::FieldTypo, ProblemSeverity::Info, "/app/skills/group/pdf", "wrong", "fix it");
            let child = ScanDirectory { relative: Cow::Borrowed(Path::new("group/pdf/skills")), real: None };
            let folder = Some(SkillFolder::Skill(folder.into()));
            let visit = DirectoryVisit { folder, children: vec![child], problems: vec![problem] };
            write(&mut writer, Path::new("/app/skills/group/pdf"), &visit).unwrap();
            let mut bytes = writer.into_bytes();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let mut reader = ByteReader::new(&bytes);
            if read(&mut reader, Path::new("group/pdf"), &root()).is_some() {
                let _ = read_heading(&mut ByteReader::new(reader.rest()), &root());
                let _ = read_skill(&mut ByteReader::new(reader.rest()), PathBuf::new(), &root());
            }
        }
    }
}
