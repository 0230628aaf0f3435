//! All skills of the search order: the loaded, the shadowed, the broken, and the problems.
//!
//! First wins for each id. Nothing is dropped: what is shadowed or broken stays in the catalogue for display.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use maestro_core::problem::lossy;
use maestro_core::{Problem, closest_word};
use serde::Serialize;

use crate::catalogue_entry::CatalogueEntry;
use crate::habits::SkillHabits;
use crate::roots::RootOwner;
use crate::skill::{Skill, SkillSource};
use crate::vectors::SkillVectors;

/// All skills found, with problems and shadowed ones.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// The skills that count, in search order.
    pub skills: Vec<CatalogueEntry>,
    /// Everything worth fixing.
    pub problems: Vec<Problem>,
    /// Skills that another one of the same name hides.
    pub shadowed: Vec<ShadowedSkill>,
    /// Folders that are skills but could not be loaded.
    pub broken: Vec<BrokenSkill>,
    /// Where was looked, and how many skills each place gave.
    pub roots: Vec<RootReport>,
    /// What its skills mean, where that is known. Without it only words are compared.
    pub vectors: Option<Arc<SkillVectors>>,
    /// How often its skills were of use, where that is counted.
    pub habits: Option<Arc<SkillHabits>>,
    by_id: SkillPositions,
}

/// Where in the catalogue the skill of an id is. The ids themselves are in the skills.
#[derive(Debug, Clone, Default)]
struct SkillPositions {
    table: HashTable<usize>,
    hasher: RandomState,
}

impl SkillPositions {
    fn find<'a>(&self, skills: &'a [CatalogueEntry], id: &str) -> Option<&'a CatalogueEntry> {
        let entry = |&position: &usize| skills.get(position);
        let position = self.table.find(self.hasher.hash_one(id), |at| entry(at).is_some_and(|skill| skill.id() == id));
        position.and_then(entry)
    }

    /// Notes that the skill of an id, which is not there yet, comes next.
    fn push(&mut self, skills: &[CatalogueEntry], id: &str) {
        let hash_at = |&at: &usize| skills.get(at).map_or(0, |skill| self.hasher.hash_one(skill.id()));
        self.table.insert_unique(self.hasher.hash_one(id), skills.len(), hash_at);
    }

    fn reserve(&mut self, skills: &[CatalogueEntry], more: usize) {
        self.table.reserve(more, |&at| skills.get(at).map_or(0, |skill| self.hasher.hash_one(skill.id())));
    }
}

/// A skill that is hidden by an earlier one of the same name.
#[derive(Debug, Clone)]
pub struct ShadowedSkill {
    /// The skill that is not used.
    pub skill: CatalogueEntry,
    /// The directory of the one that is.
    pub shadowed_by: PathBuf,
    /// Whether both are the same directory, reached by two ways.
    pub same_files: bool,
}

/// A skill folder that could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenSkill {
    /// The directory's name, by which it may be requested.
    pub name: String,
    /// The directory.
    pub path: PathBuf,
}

/// What a root gave.
#[derive(Debug, Clone, Serialize)]
pub struct RootReport {
    /// The directory.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// What kind of place it is.
    pub source: SkillSource,
    /// Whose it is, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<RootOwner>,
    /// Whether it exists.
    pub exists: bool,
    /// How many skill folders it holds.
    pub folders: usize,
    /// The earlier root that is the same directory, and was searched in its stead.
    #[serde(skip)]
    pub same_as: Option<PathBuf>,
}

/// How a name is answered.
#[derive(Debug)]
pub enum NameLookup<'a> {
    /// This one.
    Found(&'a Skill),
    /// Several skills are shown by that name; their ids distinguish them.
    Ambiguous(Vec<&'a Skill>),
    /// It is there but could not be loaded.
    Broken(&'a BrokenSkill),
    /// There is none; this one has a similar name.
    Missing {
        /// The closest id.
        closest: Option<&'a str>,
    },
}

impl Catalogue {
    /// Makes room for so many more skills.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.skills.reserve(more);
        self.by_id.reserve(&self.skills, more);
    }

    /// Adds a skill; an earlier one of the same id hides it.
    pub(crate) fn add(&mut self, skill: CatalogueEntry) {
        let id = skill.id();
        let Some(first) = self.by_id.find(&self.skills, id) else {
            self.by_id.push(&self.skills, id);
            self.skills.push(skill);
            return;
        };
        let same = |a: &Path, b: &Path| a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b));
        let shadowed_by = first.path();
        let same_files = same(&shadowed_by, &skill.path());
        self.shadowed.push(ShadowedSkill { skill, shadowed_by, same_files });
    }

    /// Every skill that counts, in search order.
    pub fn each_skill(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter().map(CatalogueEntry::skill)
    }

    /// The skill of that id.
    pub fn get(&self, id: &str) -> Option<&Skill> {
        self.skill(id).map(CatalogueEntry::skill)
    }

    /// The skill of that id, as the catalogue keeps it.
    pub fn skill(&self, id: &str) -> Option<&CatalogueEntry> {
        self.by_id.find(&self.skills, id.trim())
    }

    /// Answers a name: by id, then by directory, then by a unique display name. Never by path.
    pub fn find(&self, name: &str) -> NameLookup<'_> {
        if let Some(skill) = self.get(name).or_else(|| self.by_directory(name)) {
            return NameLookup::Found(skill);
        }
        let shown = self.skills.iter().filter(|skill| skill.heading().display_name == name);
        let shown: Vec<&Skill> = shown.map(CatalogueEntry::skill).collect();
        match shown.as_slice() {
            [skill] => return NameLookup::Found(skill),
            [] => {}
            _ => return NameLookup::Ambiguous(shown),
        }
        if let Some(broken) = self.broken.iter().find(|broken| broken.name == name) {
            return NameLookup::Broken(broken);
        }
        NameLookup::Missing { closest: closest_word::closest(name, self.skills.iter().map(CatalogueEntry::id)) }
    }

    /// The skill whose directory has that name.
    pub(crate) fn by_directory(&self, name: &str) -> Option<&Skill> {
        let named = |skill: &&CatalogueEntry| skill.encoded().directory().is_some_and(|directory| directory == name);
        self.skills.iter().find(named).map(CatalogueEntry::skill)
    }

    /// The problems about one skill's files.
    pub fn problems_of<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a Problem> {
        self.problems.iter().filter(move |problem| problem.path.starts_with(path))
    }

    /// How many folders could not be loaded.
    pub fn not_loaded(&self) -> usize {
        self.broken.iter().map(|broken| &broken.path).collect::<HashSet<_>>().len()
    }
}
