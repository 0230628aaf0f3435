//! Result of a look into one directory, from the disk or from an index.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use maestro_core::Problem;

use crate::catalogue_entry::CatalogueEntry;

/// A folder that is a skill, or would be one if it could be read.
#[derive(Debug)]
pub(crate) enum SkillFolder {
    Skill(CatalogueEntry),
    Broken(PathBuf),
}

/// A directory to look into.
#[derive(Debug)]
pub(crate) struct ScanDirectory<'k> {
    /// Its path below the root; empty for the root itself.
    pub(crate) relative: Cow<'k, Path>,
    /// Where it really is, when a link led here.
    pub(crate) real: Option<PathBuf>,
}

/// What one look into a directory brings.
#[derive(Debug, Default)]
pub(crate) struct DirectoryVisit<'k> {
    pub(crate) folder: Option<SkillFolder>,
    pub(crate) children: Vec<ScanDirectory<'k>>,
    pub(crate) problems: Vec<Problem>,
}
