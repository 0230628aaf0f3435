//! Index record of one directory, written and read back.
//!
//! Paths are kept relative to the directory, and what the root decides is left out: the same record serves however the
//! root is named and whatever kind of place it is.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use maestro_core::{Problem, ProblemCode, ProblemSeverity};

use crate::bytes::{ByteReader, ByteWriter};
use crate::directory_visit::{DirectoryVisit, ScanDirectory, SkillFolder};
use crate::roots::SkillRoot;

const NO_FOLDER: u8 = 0;
const BROKEN_FOLDER: u8 = 1;
const SKILL_FOLDER: u8 = 2;

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
    let code = *ProblemCode::ALL.get(usize::from(reader.byte()?))?;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::encoded_skill::EncodedSkill;
    use crate::encoded_skill::tests::{full_skill, root};
    use crate::skill::SkillId;

    #[test]
    fn every_code_and_severity_survives() {
        for code in ProblemCode::ALL {
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
            let folder = EncodedSkill::new(&full_skill(), Path::new("group/pdf"), &root()).unwrap();
            let problem = Problem::new(ProblemCode::FieldTypo, ProblemSeverity::Info, "/app/skills/group/pdf", "wrong", "fix it");
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
                let bytes = Arc::new(reader.rest().to_vec());
                let fields = 0..u32::try_from(bytes.len()).unwrap();
                let damaged = EncodedSkill { bytes, root: root(), relative: 0..0, fields };
                prop_assert_eq!(damaged.skill().id, SkillId::of(damaged.heading().id));
            }
        }
    }
}
