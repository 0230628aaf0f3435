//! Sources of skills: a folder, an archive, a git repository, or `owner/repo`.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

use maestro_core::settings::{SkillValidation, expand_home};
use maestro_engine::git;
use maestro_skills::{Catalogue, NameLookup, SkillRoot};
use serde_json::Map;
use tempfile::TempDir;

use super::archive;
use super::incoming::{self, IncomingSkill};
use super::lock::{LockedSkill, content_hash};
use crate::host::files;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::screen::{clean, fit, pad};

/// How many skills of a source are listed, and how many columns a description gets.
const MOST_LISTED: usize = 40;
const WORDS: usize = 80;

/// Where skills come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SkillOrigin {
    Folder {
        path: PathBuf,
        /// As it was named.
        shown: String,
    },
    Archive {
        path: PathBuf,
        /// As it was named.
        shown: String,
    },
    Repository {
        address: String,
        /// As it was named.
        shown: String,
        /// `github` or `git`.
        kind: &'static str,
    },
}

/// A copy of a source, which vanishes with this value.
pub(super) struct FetchedSkills {
    _place: TempDir,
    top: PathBuf,
    catalogue: Catalogue,
    commit: Option<String>,
    /// What was not copied, below the top.
    left_out: Vec<PathBuf>,
}

impl SkillOrigin {
    pub(super) fn parse(text: &str, world: &World) -> CommandResult<Self> {
        let shown = text.to_owned();
        let path = world.places.working_dir.join(expand_home(text, &world.places.home));
        if path.is_dir() {
            return Ok(Self::Folder { path, shown });
        }
        if path.is_file() && archive::is_archive(text) {
            return Ok(Self::Archive { path, shown });
        }
        if archive::is_archive(text) {
            let what = if text.contains("://") { "is not on this machine" } else { "is not there" };
            return Err(CommandError::not_found(format!("the archive `{text}` {what}"))
                .hint("download it, and pass its path; or pass a git address, a folder or OWNER/REPO"));
        }
        if archive::is_unreadable(text) {
            return Err(CommandError::invalid(format!("`{text}` is no kind of archive that Maestro reads"))
                .hint("it reads .zip, .skill, .tar and .tar.gz: unpack yours, look at it, and pass the folder"));
        }
        if let Some(command) = from_page(text) {
            return Err(CommandError::invalid(format!("`{text}` is a page about a repository, not its git address"))
                .hint(format!("did you mean `{command}`?")));
        }
        if text.contains("://") || text.starts_with("git@") {
            let kind = if text.starts_with("https://github.com/") { "github" } else { "git" };
            return Ok(Self::Repository { address: shown.clone(), shown, kind });
        }
        if is_owner_and_name(text) {
            let address = format!("https://github.com/{text}.git");
            return Ok(Self::Repository { address, shown, kind: "github" });
        }
        if text.starts_with(['.', '/', '~']) {
            let what = if path.exists() { "is no folder and no archive" } else { "is not there" };
            return Err(CommandError::not_found(format!("`{text}` {what}")).hint(
                "pass the folder that has the skills, or an archive of it; each skill is a folder with a `SKILL.md`",
            ));
        }
        let error = CommandError::not_found(format!("`{text}` is no folder, archive, git address or OWNER/REPO"));
        if let Some((repository, skill)) = text.rsplit_once('/').filter(|(start, _)| is_owner_and_name(start)) {
            return Err(error.hint(format!("did you mean `maestro skills add {repository} --skill {skill}`?")));
        }
        Err(error.hint(
            "for example: `maestro skills add anthropics/skills --skill pdf`, or `maestro skills add ../our-skills`",
        ))
    }

    /// The source of an added skill.
    pub(super) fn of(locked: &LockedSkill, world: &World) -> CommandResult<Self> {
        let shown = locked.source.clone();
        match locked.source_type.as_str() {
            "local" => {
                let path = world.places.project.join(expand_home(&shown, &world.places.home));
                let is_archive = path.is_file() && archive::is_archive(&shown);
                Ok(if is_archive { Self::Archive { path, shown } } else { Self::Folder { path, shown } })
            }
            _ => Self::parse(&shown, world),
        }
    }

    /// Copies the source to a temporary place and finds its skills. Nothing of it is executed.
    pub(super) fn fetch(&self, reference: Option<&str>, world: &World) -> CommandResult<FetchedSkills> {
        let failed = |error: &io::Error| CommandError::io("cannot copy the source", error);
        let place = tempfile::Builder::new().prefix("maestro-skills-").tempdir().map_err(|error| failed(&error))?;
        let place_path = place.path().canonicalize().map_err(|error| failed(&error))?;
        let mut top = place_path.join(self.folder_name());
        let mut left_out = Vec::new();
        let commit = match self {
            Self::Folder { path, .. } => {
                let contents = incoming::read_tree(path)
                    .map_err(|error| failed(&error).hint("pass the folder that has the skills, and nothing else"))?;
                files::create_directory(&top, &contents.files).map_err(|error| failed(&error))?;
                left_out = contents.left_out;
                None
            }
            Self::Archive { path, shown } => {
                let (contents, folder) = archive::read(path).map_err(|error| {
                    CommandError::io(format!("cannot read the archive `{shown}`"), &error)
                        .hint("unpack it yourself, look at it, and pass the folder")
                })?;
                // A skill at the top of the archive lies in the folder that its author gave it.
                if let Some(folder) = folder.filter(|name| !name.starts_with('.')) {
                    top = place_path.join(folder);
                }
                files::create_directory(&top, &contents.files).map_err(|error| failed(&error))?;
                left_out = contents.left_out;
                None
            }
            Self::Repository { address, shown, .. } => {
                Some(git::fetch_snapshot(address, reference, &top).map_err(|error| {
                    CommandError::network(format!("cannot fetch `{shown}`"))
                        .because(&error)
                        .hint("check the address, and that `git clone` of it works")
                })?)
            }
        };
        let root = SkillRoot::given(place_path, &world.places);
        let catalogue = Catalogue::load(&[root], &world.places, SkillValidation::Lenient, &AtomicUsize::new(0));
        Ok(FetchedSkills { _place: place, top, catalogue, commit, left_out })
    }

    /// A name for the copy: a skill at the top of the source has its name from there.
    fn folder_name(&self) -> String {
        let text = match self {
            Self::Folder { path, .. } => path.file_name().map(|name| name.to_string_lossy().into_owned()),
            Self::Archive { path, .. } => {
                path.file_name().map(|name| archive::stem(&name.to_string_lossy()).to_owned())
            }
            Self::Repository { address, .. } => {
                address.trim_end_matches('/').rsplit(['/', ':']).next().map(str::to_owned)
            }
        };
        let name = text.unwrap_or_default();
        let name = name.trim_end_matches(".git");
        if name.is_empty() || name.starts_with('.') { "skills".to_owned() } else { name.to_owned() }
    }

    /// The entry of a skill in the lock file.
    pub(super) fn locked(
        &self,
        skill: &IncomingSkill,
        fetched: &FetchedSkills,
        reference: Option<&str>,
    ) -> LockedSkill {
        let (source, source_type) = match self {
            Self::Folder { shown, .. } | Self::Archive { shown, .. } => (shown.clone(), "local"),
            Self::Repository { shown, kind, .. } => (shown.clone(), *kind),
        };
        LockedSkill {
            source,
            source_type: source_type.to_owned(),
            reference: reference.map(str::to_owned),
            skill_path: Some(fetched.place_of(skill)),
            commit: fetched.commit.clone(),
            computed_hash: content_hash(&skill.files),
            more: Map::new(),
        }
    }

    /// Where exactly a skill comes from.
    pub(super) fn place_of(&self, skill: &IncomingSkill, fetched: &FetchedSkills) -> String {
        let (Self::Folder { shown, .. } | Self::Archive { shown, .. } | Self::Repository { shown, .. }) = self;
        let commit = fetched.short_commit().map(|commit| format!(" at {commit}")).unwrap_or_default();
        format!("{shown}{commit}, {}", fetched.place_of(skill))
    }
}

/// The command for a folder or file of a repository, as a browser shows its address.
fn from_page(text: &str) -> Option<String> {
    let path = text.strip_prefix("https://github.com/")?.trim_end_matches('/');
    let (owner, rest) = path.split_once('/')?;
    let (name, rest) = rest.split_once('/')?;
    let (_, place) =
        rest.strip_prefix("tree/").or_else(|| rest.strip_prefix("blob/"))?.split_once('/').unwrap_or(("", ""));
    let folder = place.strip_suffix("/SKILL.md").unwrap_or(place);
    let skill = folder.rsplit('/').next().filter(|skill| !skill.is_empty());
    let choice = skill.map(|skill| format!(" --skill {skill}")).unwrap_or_default();
    Some(format!("maestro skills add {owner}/{name}{choice}"))
}

fn is_owner_and_name(text: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(['.', '-'])
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    text.split_once('/').is_some_and(|(owner, name)| is_name(owner) && is_name(name))
}

impl FetchedSkills {
    /// The skills to add: the named ones, all, or the only one.
    pub(super) fn chosen(&self, names: &[String], all: bool) -> CommandResult<Vec<IncomingSkill>> {
        let found: Vec<&str> = self.catalogue.skills.iter().map(|skill| skill.heading().id).collect();
        let wanted: Vec<&str> = match (names, found.as_slice()) {
            (_, []) => {
                return Err(
                    CommandError::not_found("no skill found there").hint("a skill is a folder with a `SKILL.md`")
                );
            }
            ([], [one]) => vec![*one],
            ([], several) if all => several.to_vec(),
            ([], several) => {
                return Err(CommandError::invalid(format!("{} skills found{}", several.len(), self.listed()))
                    .hint("choose with `--skill NAME`, or pass `--all`"));
            }
            (names, _) => names.iter().map(String::as_str).collect(),
        };
        wanted.into_iter().map(|name| self.skill(name)).collect()
    }

    fn skill(&self, name: &str) -> CommandResult<IncomingSkill> {
        match self.catalogue.find(name) {
            NameLookup::Found(skill) => IncomingSkill::read(skill, &self.catalogue, &self.top, &self.left_out),
            _ => Err(CommandError::not_found(format!("no skill `{name}` found there; it has{}", self.listed()))
                .hint("pass one of these names to `--skill`")),
        }
    }

    /// The skills with what they are for, a line each.
    fn listed(&self) -> String {
        let all = &self.catalogue.skills;
        let shown = all.iter().take(MOST_LISTED).map(maestro_skills::CatalogueEntry::heading);
        let width = shown.clone().map(|skill| skill.id.len()).max().unwrap_or_default();
        let mut text = String::from(":");
        for skill in shown {
            let _ = write!(text, "\n{}  {}", pad(skill.id, width), fit(&clean(skill.description), WORDS));
        }
        if all.len() > MOST_LISTED {
            let _ = write!(text, "\nand {} more", all.len() - MOST_LISTED);
        }
        text
    }

    /// The beginning of the commit that was fetched.
    pub(super) fn short_commit(&self) -> Option<&str> {
        self.commit.as_deref().map(|commit| commit.get(..8).unwrap_or(commit))
    }

    /// The leading file of a skill, as a path in the source.
    fn place_of(&self, skill: &IncomingSkill) -> String {
        let folder = skill.folder.strip_prefix(&self.top).unwrap_or(Path::new(""));
        folder.join(&skill.leading_file).to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_named_by_its_owner_and_name() {
        assert!(["anthropics/skills", "a-b/c.d"].iter().all(|text| is_owner_and_name(text)));
        assert!(["skills", "a/b/c", "../x", "-a/b", "a/", "a b/c"].iter().all(|text| !is_owner_and_name(text)));
    }
}
