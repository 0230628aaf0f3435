//! Catalogue entries, which stay encoded until all of a skill is needed.
//!
//! Of ten thousand skills most commands want to know what they are called and what they are for, and all of one or two.
//! So skills are kept as they are written in an index, in a fifth of the memory, and taken apart when asked for.

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crate::encoded_skill::EncodedSkill;
use crate::roots::RootOwner;
use crate::skill::{Skill, SkillHeading};

/// A skill of the catalogue. It can be used like a [`Skill`]; what a list needs is cheaper to get by
/// [`CatalogueEntry::heading`].
#[derive(Clone)]
pub struct CatalogueEntry {
    encoded: EncodedSkill,
    decoded: OnceLock<Arc<Skill>>,
}

impl CatalogueEntry {
    /// Everything about the skill.
    pub fn skill(&self) -> &Skill {
        self.decoded.get_or_init(|| Arc::new(self.encoded.skill()))
    }

    /// Everything about the skill, to be kept.
    pub fn shared(&self) -> Arc<Skill> {
        Arc::clone(self.decoded.get_or_init(|| Arc::new(self.encoded.skill())))
    }

    /// What a list shows of it.
    pub fn heading(&self) -> SkillHeading<'_> {
        self.encoded.heading()
    }

    /// What the skill is known by.
    pub fn id(&self) -> &str {
        self.encoded.id()
    }

    /// The skill's directory, absolute.
    pub fn path(&self) -> PathBuf {
        self.encoded.path()
    }

    /// Whose the directory is that it was found in, if that is known.
    pub fn owner(&self) -> Option<&RootOwner> {
        self.encoded.root.owner.as_ref()
    }

    /// As it is written in an index.
    pub(crate) fn encoded(&self) -> &EncodedSkill {
        &self.encoded
    }
}

impl From<EncodedSkill> for CatalogueEntry {
    fn from(packed: EncodedSkill) -> Self {
        Self { encoded: packed, decoded: OnceLock::new() }
    }
}

impl Deref for CatalogueEntry {
    type Target = Skill;

    fn deref(&self) -> &Skill {
        self.skill()
    }
}

impl AsRef<Skill> for CatalogueEntry {
    fn as_ref(&self) -> &Skill {
        self.skill()
    }
}

impl PartialEq for CatalogueEntry {
    fn eq(&self, other: &Self) -> bool {
        self.skill() == other.skill()
    }
}

impl fmt::Debug for CatalogueEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.skill().fmt(f)
    }
}
