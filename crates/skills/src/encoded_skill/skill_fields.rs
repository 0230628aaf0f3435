//! Fields of an encoded skill, written and read back.
//!
//! What the root decides is left out: the same bytes serve however the root is named and whatever kind of place it is.

use std::path::PathBuf;

use crate::bytes::{ByteReader, ByteWriter};
use crate::card_key::CardKey;
use crate::roots::SkillRoot;
use crate::skill::{InvocationRules, Skill, SkillCommand, SkillFormat, SkillHeading, SkillId, SkillType};

/// Most skills have their instructions in the file that leads.
const SAME_FILE: u8 = 0;
const OTHER_FILE: u8 = 1;

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
        card,
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
    writer.raw(&card.0);
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
    skill.card = CardKey(*reader.raw(CardKey::BYTES)?.first_chunk()?);
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
