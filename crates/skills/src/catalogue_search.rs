//! Search for skills through all roots, in order.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use maestro_core::settings::{SettingsDirs, SkillValidation};
use maestro_core::{Problem, ProblemCode, ProblemSeverity};

use crate::catalogue::{BrokenSkill, Catalogue, RootReport};
use crate::dependencies;
use crate::directory_visit::SkillFolder;
use crate::index::IndexStore;
use crate::pack::FileWrite;
use crate::roots::{LinkPolicy, SkillRoot};
use crate::scan::{self, ScanLimits};

/// How long a root may take before that is worth a line in the log.
const SLOW: Duration = Duration::from_secs(2);

impl Catalogue {
    /// Looks through `roots` in order. `progress` counts the skill folders met so far.
    pub fn load(
        roots: &[SkillRoot],
        places: &SettingsDirs,
        validation: SkillValidation,
        progress: &AtomicUsize,
    ) -> Self {
        let containment = LinkPolicy::new(roots, places);
        let limits = ScanLimits { validation, link_policy: &containment, progress };
        Self::search_all(
            roots,
            &mut CatalogueSearch { limits, searched: HashMap::new(), memory: None, edits: Vec::new() },
        )
    }

    /// The same, without looking again at what is unchanged since it was kept in memory. Returns what to keep.
    pub fn load_with(
        memory: &IndexStore,
        roots: &[SkillRoot],
        places: &SettingsDirs,
        validation: SkillValidation,
        progress: &AtomicUsize,
    ) -> (Self, Vec<FileWrite>) {
        let containment = LinkPolicy::new(roots, places);
        let limits = ScanLimits { validation, link_policy: &containment, progress };
        let mut search = CatalogueSearch { limits, searched: HashMap::new(), memory: Some(memory), edits: Vec::new() };
        (Self::search_all(roots, &mut search), search.edits)
    }

    fn search_all(roots: &[SkillRoot], search: &mut CatalogueSearch<'_>) -> Self {
        let mut catalogue = Self::default();
        for root in roots {
            catalogue.search(root, search);
        }
        let missing = dependencies::check(&catalogue);
        catalogue.problems.extend(missing);
        catalogue
    }

    fn search(&mut self, root: &SkillRoot, search: &mut CatalogueSearch<'_>) {
        let mut report = RootReport {
            path: root.path.clone(),
            source: root.source,
            owner: root.owner.clone(),
            exists: false,
            folders: 0,
            same_as: None,
        };
        match root.path.canonicalize() {
            Err(error) if root.path.is_symlink() => self.problems.push(broken_link_problem(root, &error)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(error) => tracing::warn!(root = %root.path.display(), "skills are not searched here: {error}"),
            Ok(real) => {
                report.exists = true;
                if let Some(earlier) = search.searched.get(&real) {
                    report.same_as = Some(earlier.clone());
                } else if !search.limits.link_policy.permits_root(root, &real) {
                    self.problems.push(outside_problem(root, &real));
                } else {
                    search.searched.insert(real, root.path.clone());
                    let (folders, problems) = search.scan(root);
                    report.folders = folders.len();
                    self.reserve(folders.len());
                    self.problems.extend(problems);
                    for folder in folders {
                        match folder {
                            SkillFolder::Skill(skill) => self.add(skill),
                            SkillFolder::Broken(path) => {
                                tracing::debug!(path = %path.display(), "skill skipped");
                                self.broken.push(BrokenSkill { name: directory_name(&path), path });
                            }
                        }
                    }
                }
            }
        }
        self.roots.push(report);
    }
}

/// A search through several roots.
struct CatalogueSearch<'a> {
    limits: ScanLimits<'a>,
    /// Where each searched root really is, and how it was named.
    searched: HashMap<PathBuf, PathBuf>,
    memory: Option<&'a IndexStore>,
    edits: Vec<FileWrite>,
}

impl CatalogueSearch<'_> {
    fn scan(&mut self, root: &SkillRoot) -> (Vec<SkillFolder>, Vec<Problem>) {
        let start = Instant::now();
        let (folders, problems) = self.scan_root(root);
        let (took, path) = (start.elapsed(), root.path.display());
        if took < SLOW {
            tracing::debug!(root = %path, folders = folders.len(), ?took, "skills searched");
        } else {
            tracing::info!(root = %path, folders = folders.len(), ?took, "the search for skills is slow here");
        }
        (folders, problems)
    }

    fn scan_root(&mut self, root: &SkillRoot) -> (Vec<SkillFolder>, Vec<Problem>) {
        let root = Arc::new(root.clone());
        let Some(memory) = self.memory else {
            let found = scan::scan(&root, self.limits, None);
            return (found.folders, found.problems);
        };
        let kept = memory.load(&root, self.limits.validation);
        let index = kept.index();
        let found = scan::scan(&root, self.limits, Some(&index));
        self.edits.extend(found.index_builder.and_then(|notes| index.rebuild(notes)));
        (found.folders, found.problems)
    }
}

fn outside_problem(root: &SkillRoot, real: &Path) -> Problem {
    Problem::new(
        ProblemCode::LinkOutside,
        ProblemSeverity::Error,
        &root.path,
        format!("it is at {}, outside the project that names it", real.display()),
        "name it in the skills_extra_dirs of your own config.toml if you trust it",
    )
}

fn broken_link_problem(root: &SkillRoot, error: &io::Error) -> Problem {
    Problem::new(
        ProblemCode::LinkBroken,
        ProblemSeverity::Warning,
        &root.path,
        format!("the link is broken: {error}"),
        "remove it, or point it at a directory that exists",
    )
}

fn directory_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
