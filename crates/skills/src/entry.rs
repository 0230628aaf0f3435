//! How is a skill kept until somebody wants to know everything about it?
//!
//! Of ten thousand skills most commands want to know what they are called and what they are for, and all of one or two.
//! So a skill that comes from an index stays as it is written there, and is taken apart when it is asked for.

use std::ffi::OsStr;
use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crate::index::Packed;
use crate::skill::{Format, Location, Skill, SkillType, Source};

/// A skill of the catalogue. It can be used like a [`Skill`]; what a list needs is cheaper to get by
/// [`Entry::heading`].
#[derive(Clone)]
pub struct Entry(Content);

#[derive(Clone)]
enum Content {
    Whole(Arc<Skill>),
    Packed { packed: Packed, whole: OnceLock<Arc<Skill>> },
}

/// What a list shows of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading<'a> {
    /// See [`Skill::id`].
    pub id: &'a str,
    /// See [`Skill::display_name`].
    pub display_name: &'a str,
    /// See [`Skill::description`].
    pub description: &'a str,
    /// See [`Skill::location`].
    pub location: Location,
    /// See [`Skill::source`].
    pub source: Source,
    /// See [`Skill::format`].
    pub format: Format,
    /// See [`Skill::kind`].
    pub kind: SkillType,
    /// See [`Skill::version`].
    pub version: &'a str,
}

impl Entry {
    pub(crate) fn packed(packed: Packed) -> Self {
        Self(Content::Packed { packed, whole: OnceLock::new() })
    }

    /// Everything about the skill.
    pub fn skill(&self) -> &Skill {
        match &self.0 {
            Content::Whole(skill) => skill,
            Content::Packed { packed, whole } => whole.get_or_init(|| Arc::new(packed.skill())),
        }
    }

    /// What a list shows of it.
    pub fn heading(&self) -> Heading<'_> {
        match &self.0 {
            Content::Whole(skill) => Heading::from(skill.as_ref()),
            Content::Packed { packed, .. } => packed.heading(),
        }
    }

    /// The skill's directory, absolute.
    pub fn path(&self) -> PathBuf {
        match &self.0 {
            Content::Whole(skill) => skill.path.clone(),
            Content::Packed { packed, .. } => packed.path(),
        }
    }

    /// What the skill is known by.
    pub fn id(&self) -> &str {
        match &self.0 {
            Content::Whole(skill) => skill.id.as_str(),
            Content::Packed { packed, .. } => packed.id(),
        }
    }

    /// Whether it needs other skills.
    pub(crate) fn depends(&self) -> bool {
        match &self.0 {
            Content::Whole(skill) => !skill.dependencies.is_empty(),
            Content::Packed { packed, .. } => packed.depends(),
        }
    }

    /// The name of the skill's directory.
    pub(crate) fn directory(&self) -> Option<&OsStr> {
        match &self.0 {
            Content::Whole(skill) => skill.path.file_name(),
            Content::Packed { packed, .. } => packed.directory(),
        }
    }
}

impl From<Skill> for Entry {
    fn from(skill: Skill) -> Self {
        Self(Content::Whole(Arc::new(skill)))
    }
}

impl Deref for Entry {
    type Target = Skill;

    fn deref(&self) -> &Skill {
        self.skill()
    }
}

impl AsRef<Skill> for Entry {
    fn as_ref(&self) -> &Skill {
        self.skill()
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.skill() == other.skill()
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.skill().fmt(f)
    }
}

impl<'a> From<&'a Skill> for Heading<'a> {
    fn from(skill: &'a Skill) -> Self {
        Self {
            id: skill.id.as_str(),
            display_name: &skill.display_name,
            description: &skill.description,
            location: skill.location,
            source: skill.source,
            format: skill.format,
            kind: skill.kind,
            version: &skill.version,
        }
    }
}
