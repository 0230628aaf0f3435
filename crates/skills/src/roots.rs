//! Search order: the directories that skills are loaded from.
//!
//! Settings name the places; this turns them into directories. Relative entries are looked up from the working
//! directory to the project's root, nearest first. Nothing here reads a skill.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use maestro_core::Settings;
use maestro_core::problem::lossy;
use maestro_core::settings::{
    CLAUDE_PLUGINS, SettingAuthor, SettingOrigin, SettingsDirs, SkillDirOwner, expand_home, usual_owner,
};
use serde::{Serialize, Serializer};

use crate::plugins::{self, InstalledPlugin};
use crate::skill::{SkillLocation, SkillSource};

/// A directory that skills are looked for in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillRoot {
    /// The directory, absolute; it need not exist.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// Whether its skills belong to the project or the user.
    pub location: SkillLocation,
    /// What kind of place it is.
    pub source: SkillSource,
    /// Whose it is, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<RootOwner>,
}

/// Whose a directory of skills is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootOwner {
    /// A tool's, or that of several.
    Tool(SkillDirOwner),
    /// That of a plugin of Claude Code.
    Plugin {
        /// What the plugin is called.
        name: String,
        /// The marketplace that it was installed from.
        marketplace: String,
    },
}

impl RootOwner {
    /// The tool's word, or the plugin as Claude Code names it: `name@marketplace`.
    pub fn label(&self) -> Cow<'static, str> {
        match self {
            Self::Tool(owner) => Cow::Borrowed(owner.as_str()),
            Self::Plugin { name, marketplace } => Cow::Owned(format!("{name}@{marketplace}")),
        }
    }
}

impl Serialize for RootOwner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.label())
    }
}

impl SkillRoot {
    /// A directory named on the command line.
    pub fn given(path: PathBuf, places: &SettingsDirs) -> Self {
        let location = if path.starts_with(&places.project) { SkillLocation::Project } else { SkillLocation::Global };
        Self { path, location, source: SkillSource::Given, owner: None }
    }

    /// A path below it; itself for an empty one.
    pub(crate) fn below(&self, relative: &Path) -> PathBuf {
        if relative.as_os_str().is_empty() { self.path.clone() } else { self.path.join(relative) }
    }

    /// The pack that comes with Maestro, where it was copied to.
    pub fn builtin(path: PathBuf) -> Self {
        let owner = Some(RootOwner::Tool(SkillDirOwner::Maestro));
        Self { path, location: SkillLocation::Global, source: SkillSource::Builtin, owner }
    }
}

/// The project that a directory belongs to: the nearest one above it that is a git checkout, else itself.
pub fn project_of(working_dir: &Path) -> PathBuf {
    working_dir.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(working_dir).to_owned()
}

/// Every directory that the settings name, in search order, the workspace's own pack last.
pub fn search_order(settings: &Settings, places: &SettingsDirs) -> Vec<SkillRoot> {
    let mut roots: Vec<SkillRoot> = Vec::new();
    for setting in [&settings.skills_dirs, &settings.skills_extra_dirs] {
        let by_project = matches!(setting.origin, SettingOrigin::File { author: SettingAuthor::Project, .. });
        for entry in setting.value.iter().map(|entry| entry.trim()) {
            let owner = usual_owner(entry);
            if entry == CLAUDE_PLUGINS {
                roots.extend(plugin_roots(places));
            } else if by_project && owner.is_none() {
                // A project speaks for itself only: what it names elsewhere is judged, and refused, as its own.
                roots.extend(expand(entry, places).into_iter().map(|root| project_root(root.path)));
            } else {
                let owner = owner.map(RootOwner::Tool);
                roots.extend(expand(entry, places).into_iter().map(|root| SkillRoot { owner: owner.clone(), ..root }));
            }
        }
    }
    roots.push(SkillRoot {
        path: settings.skills_builtin_dir.value.clone(),
        location: SkillLocation::Global,
        source: SkillSource::Workspace,
        owner: None,
    });
    roots
}

/// The files that decide on roots besides the settings: with other plugins, [`search_order`] has other directories.
pub fn root_lists(places: &SettingsDirs) -> [PathBuf; 2] {
    plugins::list_files(&expand_home(CLAUDE_PLUGINS, &places.home))
}

fn expand(entry: &str, places: &SettingsDirs) -> Vec<SkillRoot> {
    let path = expand_home(entry, &places.home);
    if path.is_absolute() {
        // An absolute entry may still point into the project, except when the home directory is the project.
        let in_project = path.starts_with(&places.project) && !places.home.starts_with(&places.project);
        return vec![if in_project { project_root(path) } else { user_root(path) }];
    }
    let above: Vec<&Path> = places.working_dir.ancestors().take_while(|dir| dir.starts_with(&places.project)).collect();
    let above = if above.is_empty() { vec![places.working_dir.as_path()] } else { above };
    above
        .into_iter()
        .map(|dir| if dir == places.home { user_root(dir.join(&path)) } else { project_root(dir.join(&path)) })
        .collect()
}

/// The skills of the plugins that Claude Code has for this project.
fn plugin_roots(places: &SettingsDirs) -> Vec<SkillRoot> {
    let plugins = plugins::installed(&expand_home(CLAUDE_PLUGINS, &places.home), &places.project);
    let roots = |plugin: InstalledPlugin| {
        let InstalledPlugin { name, marketplace, skills } = plugin;
        let owner = RootOwner::Plugin { name, marketplace };
        skills.into_iter().map(move |path| SkillRoot { owner: Some(owner.clone()), ..user_root(path) })
    };
    plugins.into_iter().flat_map(roots).collect()
}

fn project_root(path: PathBuf) -> SkillRoot {
    SkillRoot { path, location: SkillLocation::Project, source: SkillSource::Project, owner: None }
}

fn user_root(path: PathBuf) -> SkillRoot {
    SkillRoot { path, location: SkillLocation::Global, source: SkillSource::User, owner: None }
}

/// Which places a symbolic link in a root may lead to.
#[derive(Debug, Clone)]
pub(crate) struct LinkPolicy {
    roots: Vec<PathBuf>,
    /// The project as it was named, and where it really is.
    named_project: PathBuf,
    project: PathBuf,
    home: PathBuf,
}

impl LinkPolicy {
    /// Links may lead into any root; a project's also into the project, a user's also into the home directory.
    pub(crate) fn new(roots: &[SkillRoot], places: &SettingsDirs) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut containment = Self {
            roots: Vec::new(),
            named_project: places.project.clone(),
            project: real(&places.project),
            home: real(&places.home),
        };
        // A root that is refused must not permit links into it either.
        let places = roots.iter().map(|root| (root, real(&root.path)));
        containment.roots =
            places.filter(|(root, real)| containment.permits_root(root, real)).map(|(_, real)| real).collect();
        containment
    }

    /// Whether a root may really be at `real`: a project's may not be somewhere else by way of a link.
    pub(crate) fn permits_root(&self, root: &SkillRoot, real: &Path) -> bool {
        match root.source {
            SkillSource::Project => real.starts_with(&self.project),
            // It may be named by the user's own settings, and then be anywhere.
            SkillSource::Workspace => !root.path.starts_with(&self.named_project) || real.starts_with(&self.project),
            SkillSource::User | SkillSource::Given | SkillSource::Builtin => true,
        }
    }

    /// Whether a link found in a root of this kind may lead to `target`, which is canonical.
    pub(crate) fn permits(&self, source: SkillSource, target: &Path) -> bool {
        let wider: &[&PathBuf] = match source {
            SkillSource::Project | SkillSource::Workspace => &[&self.project],
            SkillSource::User | SkillSource::Builtin => &[&self.home],
            // A directory named on the command line is trusted like the user's own.
            SkillSource::Given => &[&self.project, &self.home],
        };
        wider.iter().any(|place| target.starts_with(place)) || self.roots.iter().any(|root| target.starts_with(root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(working_dir: &str, project: &str) -> SettingsDirs {
        SettingsDirs {
            home: "/home/ada".into(),
            data: "/home/ada/.local/share/maestro".into(),
            project: project.into(),
            working_dir: working_dir.into(),
        }
    }

    fn order(places: &SettingsDirs) -> Vec<String> {
        search_order(&Settings::defaults(places), places)
            .iter()
            .map(|root| format!("{} {}", root.path.display(), root.location))
            .collect()
    }

    #[test]
    fn the_search_order_is_that_of_the_seed_then_the_extras_then_the_packs() {
        let places = places("/srv/app", "/srv/app");
        assert_eq!(
            order(&places)[..15],
            [
                "/srv/app/.agent/skills project",
                "/home/ada/.agent/skills global",
                "/srv/app/.claude/skills project",
                "/home/ada/.claude/skills global",
                "/srv/app/.agents/skills project",
                "/home/ada/.agents/skills global",
                "/srv/app/.opencode/skills project",
                "/home/ada/.config/opencode/skills global",
                "/srv/app/.cursor/skills project",
                "/srv/app/.aider/skills project",
                "/srv/app/.skills project",
                "/srv/app/.maestro/skills project",
                "/home/ada/.skills global",
                "/home/ada/.maestro/skills global",
                "/home/ada/.agents-ui/maestro-skills global",
            ]
        );
        let order = order(&places);
        for tool in ["/home/ada/.codex/skills global", "/srv/app/.github/skills project"] {
            assert!(order.iter().any(|line| line == tool), "{tool} is not in {order:?}");
        }
        assert_eq!(order.last().map(String::as_str), Some("/srv/app/skills global"), "the workspace's pack");
    }

    #[test]
    fn every_usual_directory_says_whose_it_is() {
        let places = places("/srv/app", "/srv/app");
        let roots = search_order(&Settings::defaults(&places), &places);
        let owner = |path: &str| {
            let root = roots.iter().find(|root| root.path == Path::new(path));
            root.and_then(|root| root.owner.as_ref()).map(RootOwner::label)
        };
        assert_eq!(owner("/home/ada/.codex/skills").as_deref(), Some("codex"));
        assert_eq!(owner("/srv/app/.github/skills").as_deref(), Some("copilot"));
        assert_eq!(owner("/srv/app/.agents/skills").as_deref(), Some("shared"));
        assert_eq!(owner("/srv/app/skills"), None);
    }

    #[test]
    fn relative_entries_are_looked_up_to_the_repository_root_nearest_first() {
        let places = places("/srv/app/web/src", "/srv/app");
        assert_eq!(
            order(&places)[..4],
            [
                "/srv/app/web/src/.agent/skills project",
                "/srv/app/web/.agent/skills project",
                "/srv/app/.agent/skills project",
                "/home/ada/.agent/skills global",
            ]
        );
    }

    #[test]
    fn in_the_home_directory_its_skills_stay_global() {
        let places = places("/home/ada", "/home/ada");
        assert!(order(&places).iter().all(|line| line.ends_with(" global")), "{:?}", order(&places));
    }

    #[test]
    fn an_absolute_entry_inside_the_project_is_the_projects() {
        let places = places("/srv/app", "/srv/app");
        let mut settings = Settings::defaults(&places);
        settings.skills_dirs.value = vec!["/srv/app/kit".into(), "/srv/kit".into()];
        let roots = search_order(&settings, &places);
        assert_eq!(roots[0].location, SkillLocation::Project);
        assert_eq!(roots[1].location, SkillLocation::Global);
        assert_eq!(roots[2].path, PathBuf::from("/srv/app/.agents/skills"), "the extras stay");
    }
}
