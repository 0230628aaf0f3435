//! Table of coding agents, and which are installed. Reads files and looks for programs; starts none.

use std::path::{Path, PathBuf};

use maestro_core::agent::{AgentCatalogue, CodingAgent, LaunchChoice};
use maestro_core::settings::{ConfigText, expand_home};
use maestro_core::{Problem, ProblemCode, ProblemSeverity};
use maestro_engine::trust::{self, TrustStore};
use serde::Serialize;

use crate::host::config;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// File in which users and projects define agents.
const FILE: &str = "agents.toml";
/// Name of this program in the table.
const OWN: &str = "maestro";
/// Agents that read skills by themselves, and that Maestro does not start.
const OTHERS: [(&str, &str); 1] = [("Cursor", "cursor-agent")];

/// The agents in force.
#[derive(Debug)]
pub(crate) struct AgentTable {
    pub(crate) agents: AgentCatalogue,
    /// Problems in the files, and files that are ignored.
    pub(crate) problems: Vec<Problem>,
    /// The sources, in the order in which they apply.
    sources: Vec<AgentSource>,
}

/// Source of agent definitions.
#[derive(Debug)]
struct AgentSource {
    origin: AgentOrigin,
    /// The agents it adds or changes.
    names: Vec<String>,
}

/// Origin of an agent definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AgentOrigin {
    /// Built into the program.
    BuiltIn,
    /// The user's own file.
    User(PathBuf),
    /// The project's file, which the user trusts.
    Project(PathBuf),
}

impl AgentTable {
    /// The origins of an agent: its first definition, then the changes.
    pub(crate) fn origins<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a AgentOrigin> {
        let speaks = move |source: &&AgentSource| source.names.iter().any(|known| known == name);
        self.sources.iter().filter(speaks).map(|source| &source.origin)
    }

    fn add(&mut self, ConfigText { path, text }: ConfigText, origin: fn(PathBuf) -> AgentOrigin) {
        let (after, mistakes) = self.agents.clone().extend_from_toml(&text);
        self.problems.extend(mistakes.into_iter().map(|mistake| {
            let place = mistake.place;
            let problem = Problem::new(
                ProblemCode::ConfigInvalid,
                ProblemSeverity::Error,
                path.clone(),
                mistake.message,
                mistake.help,
            );
            problem.at(place.line, place.column)
        }));
        let is_news = |agent: &&CodingAgent| !self.agents.all().contains(agent);
        let names = after.all().iter().filter(is_news).map(|agent| agent.name.clone()).collect();
        self.sources.push(AgentSource { origin: origin(path), names });
        self.agents = after;
    }
}

/// The agents in force: those that came with the program, what the user's file adds or changes, then what the
/// project's file adds if the user trusts it.
pub(crate) fn table(world: &World) -> AgentTable {
    let agents = AgentCatalogue::builtin();
    let names = agents.all().iter().map(|agent| agent.name.clone()).collect();
    let sources = vec![AgentSource { origin: AgentOrigin::BuiltIn, names }];
    let mut table = AgentTable { agents, problems: Vec::new(), sources };
    let path = user_file(world);
    if let Some(text) = config::read_text(&path, &mut table.problems) {
        table.add(ConfigText { path, text }, AgentOrigin::User);
    }
    if let Some(file) = of_project(world, &mut table.problems) {
        match consent_problem(&file, world) {
            None => table.add(file, AgentOrigin::Project),
            Some(problem) => table.problems.push(problem),
        }
    }
    table
}

/// The user's file of agents.
pub(crate) fn user_file(world: &World) -> PathBuf {
    world.user_config.with_file_name(FILE)
}

/// The project's file of agents, trusted or not.
pub(crate) fn of_project(world: &World, problems: &mut Vec<Problem>) -> Option<ConfigText> {
    let path = config::nearest(world, &format!(".maestro/{FILE}"));
    let text = config::read_text(&path, problems)?;
    Some(ConfigText { path, text })
}

/// The reason why a project's file is ignored, if it is.
fn consent_problem(file: &ConfigText, world: &World) -> Option<Problem> {
    let (message, help) = match TrustStore::load(&world.maestro_home) {
        Ok(trust) if trust.allows(&trust::agents_hash(&world.places.project, &file.text)) => return None,
        Ok(_) => (
            "this project's agents are not trusted yet; ignoring them".to_owned(),
            "run `maestro trust --config` to review and allow them",
        ),
        Err(error) => (
            format!("cannot check whether this project's agents are trusted: {error}"),
            "run `maestro trust` for details",
        ),
    };
    Some(Problem::new(ProblemCode::ConfigNotAllowed, ProblemSeverity::Warning, file.path.clone(), message, help))
}

/// Checks that an agent of this name is defined. The worker that starts it checks whether it is installed.
pub(crate) fn require_agent(name: &str, world: &World) -> CommandResult<()> {
    table(world).agents.find(name).map(drop).map_err(|error| {
        let hint = match &error.close {
            Some(close) => format!("did you mean `{close}`? run `maestro agents` for the list"),
            None => "run `maestro agents` for the list; agents.toml can add more".to_owned(),
        };
        CommandError::invalid(error.to_string()).hint(hint)
    })
}

/// The driver of an agent that works here, with its program; `None` if it is not installed.
pub(crate) fn choose_driver(agent: &CodingAgent, world: &World) -> Option<LaunchChoice> {
    agent.choose_launch(|name| program(name, world))
}

/// Path of a program of the table: this one, a file, or the first of that name on the `PATH`.
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

/// Whether an agent is part of this program, and so always available.
pub(crate) fn is_own(agent: &CodingAgent) -> bool {
    agent.programs() == [OWN]
}

/// A third-party agent whose program was found.
#[derive(Debug, Serialize)]
pub(crate) struct InstalledAgent {
    pub(crate) name: String,
    pub(crate) program: String,
    #[serde(serialize_with = "maestro_core::problem::lossy")]
    pub(crate) path: PathBuf,
}

/// The agents on this machine, whether Maestro starts them or only gives them skills.
pub(crate) fn installed(table: &AgentTable, world: &World) -> Vec<InstalledAgent> {
    let known = table.agents.all().iter().filter(|agent| !is_own(agent)).filter_map(|agent| {
        let LaunchChoice { name, program, .. } = choose_driver(agent, world)?;
        Some(InstalledAgent { name: agent.title.clone(), program: name, path: program })
    });
    let others = OTHERS.iter().filter_map(|(title, name)| {
        let path = program(name, world)?;
        Some(InstalledAgent { name: (*title).to_owned(), program: (*name).to_owned(), path })
    });
    known.chain(others).collect()
}

#[cfg(unix)]
fn can_run(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
