//! Catalogue entries, which stay encoded until all of a skill is needed.
//!
//! Of ten thousand skills most commands want to know what they are called and what they are for, and all of one or two.
//! So skills are kept as they are written in an index, in a fifth of the memory, and taken apart when asked for.

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crate::index::Packed;
use crate::skill::{Format, Location, Skill, SkillType, Source};

/// A skill of the catalogue. It can be used like a [`Skill`]; what a list needs is cheaper to get by
/// [`Entry::heading`].
#[derive(Clone)]
pub struct Entry {
    packed: Packed,
    whole: OnceLock<Arc<Skill>>,
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
    /// Everything about the skill.
    pub fn skill(&self) -> &Skill {
        self.whole.get_or_init(|| Arc::new(self.packed.skill()))
    }

    /// Everything about the skill, to be kept.
    pub fn shared(&self) -> Arc<Skill> {
        Arc::clone(self.whole.get_or_init(|| Arc::new(self.packed.skill())))
    }

    /// What a list shows of it.
    pub fn heading(&self) -> Heading<'_> {
        self.packed.heading()
    }

    /// What the skill is known by.
    pub fn id(&self) -> &str {
        self.packed.id()
    }

    /// The skill's directory, absolute.
    pub fn path(&self) -> PathBuf {
        self.packed.path()
    }

    /// As it is written in an index.
    pub(crate) fn packed(&self) -> &Packed {
        &self.packed
    }
}

impl From<Packed> for Entry {
    fn from(packed: Packed) -> Self {
        Self { packed, whole: OnceLock::new() }
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
