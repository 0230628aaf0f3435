//! Encoded skills, whose id and heading are readable without decoding the rest.

mod skill_fields;
#[cfg(test)]
pub(crate) mod tests;

use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bytes::{ByteReader, ByteWriter};
use crate::roots::SkillRoot;
use crate::skill::{Skill, SkillFormat, SkillHeading, SkillId, SkillLocation, SkillSource, SkillType};

/// A skill as it is written in an index.
#[derive(Debug, Clone)]
pub(crate) struct EncodedSkill {
    pub(crate) bytes: Arc<Vec<u8>>,
    pub(crate) root: Arc<SkillRoot>,
    /// Where its path below the root is.
    pub(crate) relative: Range<u32>,
    /// Where its fields are.
    pub(crate) fields: Range<u32>,
}

impl EncodedSkill {
    /// Packs the skill that was found in the directory `relative`; nothing if it is larger than any skill can be.
    pub(crate) fn new(skill: &Skill, relative: &Path, root: &Arc<SkillRoot>) -> Option<Self> {
        let relative = relative.as_os_str().as_bytes();
        // What most skills have beside their description fits into this.
        let mut writer = ByteWriter::with_room(relative.len() + skill.description.len() + 192);
        writer.raw(relative);
        skill_fields::write_skill(&mut writer, skill);
        let bytes = writer.into_bytes();
        let (middle, end) = (u32::try_from(relative.len()).ok()?, u32::try_from(bytes.len()).ok()?);
        Some(Self { bytes: Arc::new(bytes), root: Arc::clone(root), relative: 0..middle, fields: middle..end })
    }

    pub(crate) fn fields(&self) -> &[u8] {
        self.part(&self.fields)
    }

    fn part(&self, range: &Range<u32>) -> &[u8] {
        let at = |offset: u32| usize::try_from(offset).unwrap_or(usize::MAX);
        self.bytes.get(at(range.start)..at(range.end)).unwrap_or_default()
    }

    fn relative(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.part(&self.relative)))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.root.below(self.relative())
    }

    pub(crate) fn directory(&self) -> Option<&OsStr> {
        self.relative().file_name().or_else(|| self.root.path.file_name())
    }

    pub(crate) fn heading(&self) -> SkillHeading<'_> {
        skill_fields::read_heading(&mut ByteReader::new(self.fields()), &self.root).unwrap_or(SkillHeading {
            id: "",
            display_name: "",
            description: "",
            location: self.root.location,
            source: self.root.source,
            format: SkillFormat::SkillMd,
            kind: SkillType::Custom,
            version: "",
        })
    }

    pub(crate) fn id(&self) -> &str {
        skill_fields::read_id(&mut ByteReader::new(self.fields())).unwrap_or_default()
    }

    pub(crate) fn has_dependencies(&self) -> bool {
        skill_fields::read_depends(&mut ByteReader::new(self.fields())).unwrap_or_default()
    }

    /// The whole skill. Should it be unreadable, which the index's checksum rules out, there is what can be read.
    pub(crate) fn skill(&self) -> Skill {
        let mut reader = ByteReader::new(self.fields());
        skill_fields::read_skill(&mut reader, self.path(), &self.root).unwrap_or_else(|| self.fallback_skill())
    }

    fn fallback_skill(&self) -> Skill {
        let SkillHeading { id, display_name, description, location, source, format, kind, version } = self.heading();
        let place: (SkillLocation, SkillSource) = (location, source);
        let mut skill = Skill::new(SkillId::of(id), self.path(), place, format, String::new());
        display_name.clone_into(&mut skill.display_name);
        description.clone_into(&mut skill.description);
        version.clone_into(&mut skill.version);
        skill.kind = kind;
        skill
    }
}
