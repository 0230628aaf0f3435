//! Which coding agents are known here, and which of them are installed? Reads files and looks for programs; starts none.

use std::path::{Path, PathBuf};

use maestro_core::agent::{Agent, Agents, Chosen};
use maestro_core::settings::{ConfigText, expand_home};
use maestro_core::{Code, Problem, Severity};
use maestro_engine::trust::{self, Trust};
use serde::Serialize;

use crate::host::config;
use crate::host::world::World;
use crate::output::error::CommandError;

/// What agents are described in, by users and by projects.
const FILE: &str = "agents.toml";
/// The name of this very program in the table.
const OWN: &str = "maestro";
/// Agents that read skills by themselves, and that Maestro does not start.
const OTHERS: [(&str, &str); 1] = [("Cursor", "cursor-agent")];

/// The agents in force.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) agents: Agents,
    /// What is wrong with the files, and whose file does not count.
    pub(crate) problems: Vec<Problem>,
    /// Who said what, the first one first.
    sources: Vec<Source>,
}

/// Where something about agents stands.
#[derive(Debug)]
struct Source {
    origin: Origin,
    /// The agents it adds or changes.
    names: Vec<String>,
}

/// Who says something about an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It came with the program.
    BuiltIn,
    /// The user's own file.
    User(PathBuf),
    /// The project's file, which somebody allowed.
    Project(PathBuf),
}

impl Table {
    /// Who says something about an agent: first who named it, then who changed that.
    pub(crate) fn origins<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Origin> {
        let speaks = move |source: &&Source| source.names.iter().any(|known| known == name);
        self.sources.iter().filter(speaks).map(|source| &source.origin)
    }

    fn add(&mut self, ConfigText { path, text }: ConfigText, origin: fn(PathBuf) -> Origin) {
        let (after, mistakes) = self.agents.clone().extended(&text);
        self.problems.extend(mistakes.into_iter().map(|mistake| {
            let place = mistake.place;
            let problem =
                Problem::new(Code::ConfigInvalid, Severity::Error, path.clone(), mistake.message, mistake.help);
            problem.at(place.line, place.column)
        }));
        let is_news = |agent: &&Agent| !self.agents.all().contains(agent);
        let names = after.all().iter().filter(is_news).map(|agent| agent.name.clone()).collect();
        self.sources.push(Source { origin: origin(path), names });
        self.agents = after;
    }
}

/// The agents in force: those that came with the program, what the user's file adds or changes, then what the
/// project's does if somebody allowed it.
pub(crate) fn table(world: &World) -> Table {
    let agents = Agents::builtin();
    let names = agents.all().iter().map(|agent| agent.name.clone()).collect();
    let sources = vec![Source { origin: Origin::BuiltIn, names }];
    let mut table = Table { agents, problems: Vec::new(), sources };
    let path = user_file(world);
    if let Some(text) = config::read_text(&path, &mut table.problems) {
        table.add(ConfigText { path, text }, Origin::User);
    }
    if let Some(file) = of_project(world, &mut table.problems) {
        match not_allowed(&file, world) {
            None => table.add(file, Origin::Project),
            Some(problem) => table.problems.push(problem),
        }
    }
    table
}

/// Where the user describes agents.
pub(crate) fn user_file(world: &World) -> PathBuf {
    world.user_config.with_file_name(FILE)
}

/// What the project says about agents, whether or not it counts.
pub(crate) fn of_project(world: &World, problems: &mut Vec<Problem>) -> Option<ConfigText> {
    let path = config::nearest(world, &format!(".maestro/{FILE}"));
    let text = config::read_text(&path, problems)?;
    Some(ConfigText { path, text })
}

/// Why a project's file does not count, if it does not.
fn not_allowed(file: &ConfigText, world: &World) -> Option<Problem> {
    let (message, help) = match Trust::load(&world.maestro_home) {
        Ok(trust) if trust.allows(&trust::agents_hash(&file.text)) => return None,
        Ok(_) => (
            "this project describes agents, and nobody has allowed that yet; they are left out".to_owned(),
            "`maestro trust --config` shows what they would run, and asks",
        ),
        Err(error) => (
            format!("this project describes agents; whether that is allowed cannot be known: {error}"),
            "`maestro trust` says what to do about it",
        ),
    };
    Some(Problem::new(Code::ConfigNotAllowed, Severity::Warning, file.path.clone(), message, help))
}

/// Makes sure that there is such an agent. Whether it is installed, the worker that starts it finds out.
pub(crate) fn known(name: &str, world: &World) -> Result<(), CommandError> {
    table(world).agents.find(name).map(drop).map_err(|error| {
        let hint = match &error.close {
            Some(close) => format!("did you mean `{close}`? `maestro agents` shows all of them"),
            None => "`maestro agents` shows all of them; your agents.toml may add more".to_owned(),
        };
        CommandError::invalid(error.to_string()).hint(hint)
    })
}

/// The way to speak with an agent that works here, with its program; nothing if it is not installed.
pub(crate) fn chosen(agent: &Agent, world: &World) -> Option<Chosen> {
    agent.chosen(|name| program(name, world))
}

/// Where a program of the table is: this very one, a file, or the first of that name on the `PATH`.
pub(crate) fn program(name: &str, world: &World) -> Option<PathBuf> {
    if name == OWN {
        return std::env::current_exe().ok();
    }
    if name.contains('/') {
        return Some(expand_home(name, &world.places.home)).filter(|path| path.is_absolute() && can_run(path));
    }
    let dirs = world.program_dirs.iter().filter(|dir| dir.is_absolute());
    dirs.map(|dir| dir.join(name)).find(|path| can_run(path))
}

/// Whether an agent is part of this program, and so always there.
pub(crate) fn is_own(agent: &Agent) -> bool {
    agent.programs() == [OWN]
}

/// An agent of somebody else's whose program was found.
#[derive(Debug, Serialize)]
pub(crate) struct Installed {
    pub(crate) name: String,
    pub(crate) program: String,
    #[serde(serialize_with = "maestro_core::problem::lossy")]
    pub(crate) path: PathBuf,
}

/// The agents on this machine, whether Maestro starts them or only gives them skills.
pub(crate) fn installed(table: &Table, world: &World) -> Vec<Installed> {
    let known = table.agents.all().iter().filter(|agent| !is_own(agent)).filter_map(|agent| {
        let Chosen { name, program, .. } = chosen(agent, world)?;
        Some(Installed { name: agent.title.clone(), program: name, path: program })
    });
    let others = OTHERS.iter().filter_map(|(title, name)| {
        let path = program(name, world)?;
        Some(Installed { name: (*title).to_owned(), program: (*name).to_owned(), path })
    });
    known.chain(others).collect()
}

#[cfg(unix)]
fn can_run(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
