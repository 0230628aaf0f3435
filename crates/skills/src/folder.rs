//! Files of a skill, for callers that copy it elsewhere.
//!
//! Every file with its size and digest, so that a reader can verify that nothing is missing or changed. Links are not
//! followed. A skill without a `SKILL.md` gets one generated from its other files.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use maestro_core::yaml::YamlNode;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};

use crate::directory::{FileKind, OpenDirectory};
use crate::frontmatter;
use crate::instructions::instructions;
use crate::scan::IGNORED;
use crate::skill::{Skill, SkillFormat};
use crate::text::{MAX_TEXT_BYTES, read_bounded};

/// How many files a skill may have.
pub const MOST_FILES: usize = 512;
/// How many bytes they may have together.
pub const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// How many files and directories one directory may have.
const MOST_CHILDREN: usize = 10_000;
/// How deep they may lie.
const MOST_LEVELS: usize = 16;
/// The file that every skill has to those who take it elsewhere.
pub const SKILL_MD: &str = "SKILL.md";

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// Its path below the skill's directory, with `/` between its parts.
    pub path: String,
    /// How many bytes it has.
    pub size: u64,
    /// The SHA-256 of its bytes in hexadecimal digits.
    pub digest: String,
}

/// Something that lies directly in a directory of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderChild {
    /// A file of so many bytes.
    File {
        /// Its size.
        size: u64,
    },
    /// A directory.
    Directory,
}

/// Why a skill cannot be taken elsewhere as a whole.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It has too many files, or too large ones.
    #[error("`{id}` has more than {MOST_FILES} files or {MOST_BYTES} bytes")]
    TooLarge {
        /// The skill.
        id: String,
    },
    /// A file of it cannot be read.
    #[error("`{}` cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Every file of a skill with its size and digest, in the order of their paths.
pub fn files(skill: &Skill) -> Result<Vec<SkillFile>, FolderError> {
    let listed = list_files(skill)?;
    let mut files = Vec::with_capacity(listed.len());
    for path in listed.into_keys() {
        let bytes = read_file(skill, &path).map_err(|source| unreadable(&skill.path.join(&path), source))?;
        files.push(SkillFile { size: bytes.len() as u64, digest: digest(&bytes), path });
    }
    Ok(files)
}

/// What lies directly in a directory of a skill, by name; nothing if there is no such directory. How much lies elsewhere in
/// the skill does not matter.
pub fn children(skill: &Skill, directory: &str) -> Result<Option<BTreeMap<String, FolderChild>>, FolderError> {
    let mut children = BTreeMap::new();
    if directory.is_empty() && is_generated(skill) {
        let bytes = generate_skill_md(skill).map_err(|source| unreadable(&skill.path, source))?;
        children.insert(SKILL_MD.to_owned(), FolderChild::File { size: bytes.len() as u64 });
    }
    let place = resolve_inside(skill, directory).map_err(|source| unreadable(&skill.path, source))?;
    let Some(place) = place else { return Ok(None) };
    let mut found = Vec::new();
    let open = OpenDirectory::open(&place).map_err(|source| unreadable(&place, source))?;
    let listed = open.for_each_entry(|name, kind| {
        // A name that is not UTF-8 cannot be requested.
        let name = name.to_str().filter(|_| found.len() <= MOST_CHILDREN);
        if let (Some(name), FileKind::File | FileKind::Directory) = (name, kind) {
            found.push((name.to_owned(), kind));
        }
    });
    listed.map_err(|source| unreadable(&place, source))?;
    if found.len() > MOST_CHILDREN {
        return Err(FolderError::TooLarge { id: skill.id.to_string() });
    }
    for (name, kind) in found {
        if kind == FileKind::File {
            let path = place.join(&name);
            let size = path.symlink_metadata().map_err(|source| unreadable(&path, source))?.len();
            children.entry(name).or_insert(FolderChild::File { size });
        } else if !IGNORED.contains(&name.as_str()) {
            children.insert(name, FolderChild::Directory);
        }
    }
    Ok(Some(children))
}

/// Where a directory of a skill is; nothing if it is none, or its spelling or a link leads out of the skill.
fn resolve_inside(skill: &Skill, directory: &str) -> io::Result<Option<PathBuf>> {
    let plain = |part: Component<'_>| match part {
        Component::Normal(name) => !IGNORED.iter().any(|&ignored| name == ignored),
        _ => false,
    };
    let path = Path::new(directory);
    let folder = skill.path.canonicalize()?;
    let place = folder.join(path);
    let is_ours = path.components().all(plain) && path.components().count() < MOST_LEVELS && place.is_dir();
    Ok(if is_ours && place.canonicalize()? == place { Some(place) } else { None })
}

fn unreadable(path: &Path, source: io::Error) -> FolderError {
    FolderError::Unreadable { path: path.to_owned(), source }
}

/// A file of a skill. Neither the spelling of its path nor a link leads out of the skill's directory.
pub fn read_file(skill: &Skill, path: &str) -> io::Result<Vec<u8>> {
    if path == SKILL_MD && is_generated(skill) {
        return generate_skill_md(skill);
    }
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    let folder = skill.path.canonicalize()?;
    let file = folder.join(path);
    if !plain || path.is_empty() || file.canonicalize()? != file {
        return Err(io::ErrorKind::NotFound.into());
    }
    let contents = read_bounded(&file, MOST_BYTES)?;
    if contents.cut { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(contents.bytes) }
}

/// The header of a skill's `SKILL.md` with every field as it was written; nothing if it does not say the skill's name
/// and description.
pub fn header(skill: &Skill) -> Option<Map<String, Json>> {
    if is_generated(skill) {
        let header = json!({ "name": skill.id, "description": skill.description });
        return header.as_object().cloned();
    }
    let path = skill.path.join(&skill.file);
    let unreadable = |error| tracing::warn!(path = %path.display(), "the header of a skill cannot be read: {error}");
    let contents = read_bounded(&path, MAX_TEXT_BYTES).map_err(unreadable).ok()?;
    let yaml = contents.bytes.get(frontmatter::find(&contents.bytes).ok()?.yaml)?;
    let yaml = std::str::from_utf8(yaml).ok()?;
    let read = |tree: &YamlNode<'_>| tree.to_json();
    let Json::Object(header) = frontmatter::parse(yaml, read).ok()?.value else { return None };
    let says = |field: &str| header.get(field).and_then(Json::as_str);
    (says("name") == Some(skill.id.as_str()) && says("description").is_some()).then_some(header)
}

/// The SHA-256 of some bytes in hexadecimal digits.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Whether the skill's `SKILL.md` is made of what is known of it.
fn is_generated(skill: &Skill) -> bool {
    skill.format != SkillFormat::SkillMd || skill.file != SKILL_MD
}

fn generate_skill_md(skill: &Skill) -> io::Result<Vec<u8>> {
    let text = instructions(skill)?.bytes;
    let (name, description) = (json!(skill.id), json!(skill.description));
    // Text in JSON's quotes is text in YAML's.
    let mut bytes = format!("---\nname: {name}\ndescription: {description}\n---\n\n").into_bytes();
    let body = match (skill.format, frontmatter::find(&text)) {
        (SkillFormat::SkillMd, Ok(header)) => text.get(header.body_at..).unwrap_or_default(),
        _ => &text,
    };
    bytes.extend_from_slice(body);
    Ok(bytes)
}

/// The paths of all files with their sizes.
fn list_files(skill: &Skill) -> Result<BTreeMap<String, u64>, FolderError> {
    let too_large = || FolderError::TooLarge { id: skill.id.to_string() };
    let mut files = BTreeMap::new();
    if is_generated(skill) {
        let bytes = generate_skill_md(skill).map_err(|source| unreadable(&skill.path, source))?;
        files.insert(SKILL_MD.to_owned(), bytes.len() as u64);
    }
    let mut level = vec![PathBuf::new()];
    for _ in 0..MOST_LEVELS {
        let mut below = Vec::new();
        for relative in level {
            let directory = skill.path.join(&relative);
            let open = OpenDirectory::open(&directory).map_err(|source| unreadable(&directory, source))?;
            let mut names = Vec::new();
            let listed = open.for_each_entry(|name, kind| match kind {
                FileKind::File => names.push(relative.join(name)),
                FileKind::Directory if !IGNORED.iter().any(|&ignored| name == ignored) => {
                    below.push(relative.join(name));
                }
                _ => {}
            });
            listed.map_err(|source| unreadable(&directory, source))?;
            for path in names {
                // A name that is not UTF-8 cannot be requested.
                let Some(name) = path.to_str().filter(|name| *name != SKILL_MD || !is_generated(skill)) else {
                    continue;
                };
                let size = skill.path.join(&path).symlink_metadata().map_err(|source| unreadable(&path, source))?.len();
                files.insert(name.to_owned(), size);
            }
            if files.len() > MOST_FILES || below.len() > MOST_FILES || files.values().sum::<u64>() > MOST_BYTES {
                return Err(too_large());
            }
        }
        if below.is_empty() {
            return Ok(files);
        }
        level = below;
    }
    Err(too_large())
}
