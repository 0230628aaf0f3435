//! All skills of the search order: the loaded, the shadowed, the broken, and the problems.
//!
//! First wins for each id. Nothing is dropped: what is shadowed or broken stays in the catalogue for display.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use maestro_core::problem::lossy;
use maestro_core::settings::{Places, Validation};
use maestro_core::{Code, Problem, Severity, suggest};
use serde::Serialize;

use crate::dependencies;
use crate::entry::Entry;
use crate::index::Memory;
use crate::pack::Edit;
use crate::roots::{Containment, Root};
use crate::scan::{self, Folder, Limits};
use crate::skill::{Skill, Source};

/// All skills found, with problems and shadowed ones.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// The skills that count, in search order.
    pub skills: Vec<Entry>,
    /// Everything worth fixing.
    pub problems: Vec<Problem>,
    /// Skills that another one of the same name hides.
    pub shadowed: Vec<Shadowed>,
    /// Folders that are skills but could not be loaded.
    pub broken: Vec<Broken>,
    /// Where was looked, and how many skills each place gave.
    pub roots: Vec<RootReport>,
    by_id: Positions,
}

/// Where in the catalogue the skill of an id is. The ids themselves are in the skills.
#[derive(Debug, Clone, Default)]
struct Positions {
    table: HashTable<usize>,
    hasher: RandomState,
}

impl Positions {
    fn find<'a>(&self, skills: &'a [Entry], id: &str) -> Option<&'a Entry> {
        let entry = |&position: &usize| skills.get(position);
        let position = self.table.find(self.hasher.hash_one(id), |at| entry(at).is_some_and(|skill| skill.id() == id));
        position.and_then(entry)
    }

    /// Notes that the skill of an id, which is not there yet, comes next.
    fn push(&mut self, skills: &[Entry], id: &str) {
        let hash_at = |&at: &usize| skills.get(at).map_or(0, |skill| self.hasher.hash_one(skill.id()));
        self.table.insert_unique(self.hasher.hash_one(id), skills.len(), hash_at);
    }

    fn reserve(&mut self, skills: &[Entry], more: usize) {
        self.table.reserve(more, |&at| skills.get(at).map_or(0, |skill| self.hasher.hash_one(skill.id())));
    }
}

/// A skill that is hidden by an earlier one of the same name.
#[derive(Debug, Clone)]
pub struct Shadowed {
    /// The skill that is not used.
    pub skill: Entry,
    /// The directory of the one that is.
    pub shadowed_by: PathBuf,
    /// Whether both are the same directory, reached by two ways.
    pub same_files: bool,
}

/// A skill folder that could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
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
    pub source: Source,
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
pub enum Lookup<'a> {
    /// This one.
    Found(&'a Skill),
    /// Several skills are shown by that name; their ids distinguish them.
    Ambiguous(Vec<&'a Skill>),
    /// It is there but could not be loaded.
    Broken(&'a Broken),
    /// There is none; this one has a similar name.
    Missing {
        /// The closest id.
        closest: Option<&'a str>,
    },
}

impl Catalogue {
    /// Looks through `roots` in order. `progress` counts the skill folders met so far.
    pub fn load(roots: &[Root], places: &Places, validation: Validation, progress: &AtomicUsize) -> Self {
        let containment = Containment::new(roots, places);
        let limits = Limits { validation, containment: &containment, progress };
        Self::search_all(roots, &mut Search { limits, searched: HashMap::new(), memory: None, edits: Vec::new() })
    }

    /// The same, without looking again at what is unchanged since it was kept in memory. Returns what to keep.
    pub fn load_with(
        memory: &Memory,
        roots: &[Root],
        places: &Places,
        validation: Validation,
        progress: &AtomicUsize,
    ) -> (Self, Vec<Edit>) {
        let containment = Containment::new(roots, places);
        let limits = Limits { validation, containment: &containment, progress };
        let mut search = Search { limits, searched: HashMap::new(), memory: Some(memory), edits: Vec::new() };
        (Self::search_all(roots, &mut search), search.edits)
    }

    fn search_all(roots: &[Root], search: &mut Search<'_>) -> Self {
        let mut catalogue = Self::default();
        for root in roots {
            catalogue.search(root, search);
        }
        let missing = dependencies::check(&catalogue);
        catalogue.problems.extend(missing);
        catalogue
    }

    fn search(&mut self, root: &Root, search: &mut Search<'_>) {
        let mut report =
            RootReport { path: root.path.clone(), source: root.source, exists: false, folders: 0, same_as: None };
        match root.path.canonicalize() {
            Err(error) if root.path.is_symlink() => self.problems.push(leads_nowhere(root, &error)),
            Err(_) => {}
            Ok(real) => {
                report.exists = true;
                if let Some(earlier) = search.searched.get(&real) {
                    report.same_as = Some(earlier.clone());
                } else if !search.limits.containment.permits_root(root, &real) {
                    self.problems.push(outside(root, &real));
                } else {
                    search.searched.insert(real, root.path.clone());
                    let (folders, problems) = search.scan(root);
                    report.folders = folders.len();
                    self.skills.reserve(folders.len());
                    self.by_id.reserve(&self.skills, folders.len());
                    self.problems.extend(problems);
                    for folder in folders {
                        match folder {
                            Folder::Skill(skill) => self.add(skill),
                            Folder::Broken(path) => self.broken.push(Broken { name: directory_name(&path), path }),
                        }
                    }
                }
            }
        }
        self.roots.push(report);
    }

    fn add(&mut self, skill: Entry) {
        let id = skill.id();
        let Some(first) = self.by_id.find(&self.skills, id) else {
            self.by_id.push(&self.skills, id);
            self.skills.push(skill);
            return;
        };
        let same = |a: &Path, b: &Path| a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b);
        let shadowed_by = first.path();
        let same_files = same(&shadowed_by, &skill.path());
        self.shadowed.push(Shadowed { skill, shadowed_by, same_files });
    }

    /// The skill of that id.
    pub fn get(&self, id: &str) -> Option<&Skill> {
        self.skill(id).map(Entry::skill)
    }

    /// The skill of that id, as the catalogue keeps it.
    pub fn skill(&self, id: &str) -> Option<&Entry> {
        self.by_id.find(&self.skills, id.trim())
    }

    /// Answers a name: by id, then by directory, then by a unique display name. Never by path.
    pub fn find(&self, name: &str) -> Lookup<'_> {
        if let Some(skill) = self.get(name).or_else(|| self.by_directory(name)) {
            return Lookup::Found(skill);
        }
        let shown = self.skills.iter().filter(|skill| skill.heading().display_name == name);
        let shown: Vec<&Skill> = shown.map(Entry::skill).collect();
        match shown.as_slice() {
            [skill] => return Lookup::Found(skill),
            [] => {}
            _ => return Lookup::Ambiguous(shown),
        }
        if let Some(broken) = self.broken.iter().find(|broken| broken.name == name) {
            return Lookup::Broken(broken);
        }
        Lookup::Missing { closest: suggest::closest(name, self.skills.iter().map(Entry::id)) }
    }

    /// The skill whose directory has that name.
    pub(crate) fn by_directory(&self, name: &str) -> Option<&Skill> {
        let named = |skill: &&Entry| skill.packed().directory().is_some_and(|directory| directory == name);
        self.skills.iter().find(named).map(Entry::skill)
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

/// A search through several roots.
struct Search<'a> {
    limits: Limits<'a>,
    /// Where each searched root really is, and how it was named.
    searched: HashMap<PathBuf, PathBuf>,
    memory: Option<&'a Memory>,
    edits: Vec<Edit>,
}

impl Search<'_> {
    fn scan(&mut self, root: &Root) -> (Vec<Folder>, Vec<Problem>) {
        let root = Arc::new(root.clone());
        let Some(memory) = self.memory else {
            let found = scan::scan(&root, self.limits, None);
            return (found.folders, found.problems);
        };
        let kept = memory.take(&root, self.limits.validation);
        let index = kept.index();
        let found = scan::scan(&root, self.limits, Some(&index));
        self.edits.extend(found.notes.and_then(|notes| index.renewed(notes)));
        (found.folders, found.problems)
    }
}

fn outside(root: &Root, real: &Path) -> Problem {
    Problem::new(
        Code::LinkOutside,
        Severity::Error,
        &root.path,
        format!("it is at {}, outside the project that names it", real.display()),
        "name it in the skills_extra_dirs of your own config.toml if you trust it",
    )
}

fn leads_nowhere(root: &Root, error: &io::Error) -> Problem {
    Problem::new(
        Code::LinkBroken,
        Severity::Warning,
        &root.path,
        format!("the link is broken: {error}"),
        "remove it, or point it at a directory that exists",
    )
}

fn directory_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
