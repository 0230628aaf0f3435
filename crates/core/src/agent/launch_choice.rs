//! The choice of a driver for an agent on this machine, and the reason for it.

use std::path::PathBuf;

use super::parse::Format;
use super::{CodingAgent, Driver, LaunchSpec};

/// The way that is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchChoice {
    /// The way.
    pub driver: Driver,
    /// The name by which its program was found.
    pub name: String,
    /// Its program.
    pub program: PathBuf,
    /// Why this way.
    pub why: String,
}

impl CodingAgent {
    /// The first of its ways whose program is there; `find` looks for one. None, if none is.
    pub fn choose_launch(&self, find: impl Fn(&str) -> Option<PathBuf>) -> Option<LaunchChoice> {
        let mut missing = Vec::new();
        for (driver, launch) in self.drivers() {
            let found = launch.programs.iter().find_map(|name| Some((name.clone(), find(name)?)));
            if let Some((name, program)) = found {
                let why = if missing.is_empty() { self.explain_preference() } else { explain_skipped(&missing, &name) };
                return Some(LaunchChoice { driver, name, program, why });
            }
            missing.push(launch);
        }
        None
    }

    /// This way, if its program is there.
    pub fn choose_driver(&self, driver: Driver, find: impl Fn(&str) -> Option<PathBuf>) -> Option<LaunchChoice> {
        let programs = &self.launch(driver)?.programs;
        let (name, program) = programs.iter().find_map(|name| Some((name.clone(), find(name)?)))?;
        Some(LaunchChoice { driver, name, program, why: "it was asked for".to_owned() })
    }

    /// Whether it says what it costs, spoken with in this way.
    pub fn reports_cost(&self, driver: Driver) -> bool {
        let format = self.launch(driver).map(|launch| launch.format);
        driver == Driver::Acp || !matches!(format, Some(Format::Codex | Format::Gemini))
    }

    /// The programs it may be, each once, the preferred ones first. Empty where the caller names one.
    pub fn programs(&self) -> Vec<&str> {
        let mut programs = Vec::new();
        for name in self.drivers().flat_map(|(_, launch)| &launch.programs) {
            if !programs.contains(&name.as_str()) {
                programs.push(name.as_str());
            }
        }
        programs
    }

    /// Why the first of its ways is preferred.
    pub fn explain_preference(&self) -> String {
        let unsaid = match self.drivers.len() {
            0 | 1 => "its only driver",
            _ => "first in its entry",
        };
        self.reason.clone().unwrap_or_else(|| unsaid.to_owned())
    }
}

/// The preferred programs are not there. A way without a program says nothing.
fn explain_skipped(missing: &[&LaunchSpec], found: &str) -> String {
    let names: Vec<String> =
        missing.iter().flat_map(|launch| &launch.programs).map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => "its preferred drivers name no program".to_owned(),
        [name] => format!("{name} is not installed, so `{found}`"),
        names => format!("{} are not installed, so `{found}`", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AgentCatalogue;

    fn choose_launch(agents: &AgentCatalogue, name: &str, installed: &[&str]) -> Option<(Driver, String, String)> {
        let find = |name: &str| installed.contains(&name).then(|| PathBuf::from("/bin").join(name));
        let chosen = agents.find(name).unwrap().choose_launch(find)?;
        assert_eq!(chosen.program, PathBuf::from("/bin").join(&chosen.name));
        Some((chosen.driver, chosen.name, chosen.why))
    }

    #[test]
    fn the_first_way_whose_program_is_there_is_taken() {
        let table =
            "[mine]\nprefer = [\"acp\"]\n[mine.acp]\nprograms = [\"a\", \"b\"]\n[mine.text]\nprograms = [\"c\"]\n";
        let (agents, mistakes) = AgentCatalogue::builtin().extend_from_toml(table);
        assert_eq!(mistakes, []);
        let found = |driver, name: &str, why: &str| Some((driver, name.to_owned(), why.to_owned()));
        let login = "the installed program and its login; the protocol needs an adapter";
        assert_eq!(
            choose_launch(&agents, "claude", &["claude-agent-acp", "claude"]),
            found(Driver::Json, "claude", login)
        );
        assert_eq!(
            choose_launch(&agents, "claude", &["claude-agent-acp"]),
            found(Driver::Acp, "claude-agent-acp", "`claude` is not installed, so `claude-agent-acp`")
        );
        assert_eq!(choose_launch(&agents, "claude", &["codex"]), None);
        let find = |name: &str| (name == "claude-agent-acp").then(|| PathBuf::from("/bin").join(name));
        let claude = agents.find("claude").unwrap();
        assert_eq!(
            claude.choose_driver(Driver::Acp, find).map(|chosen| chosen.name),
            Some("claude-agent-acp".to_owned())
        );
        assert_eq!(claude.choose_driver(Driver::Json, find), None);
        assert_eq!(choose_launch(&agents, "mine", &["b", "c"]), found(Driver::Acp, "b", "first in its entry"));
        assert_eq!(
            choose_launch(&agents, "mine", &["c"]),
            found(Driver::Text, "c", "`a`, `b` are not installed, so `c`")
        );
        assert_eq!(choose_launch(&agents, "command", &["command"]), None);
    }

    #[test]
    fn an_agent_that_reports_no_cost_is_known() {
        let agents = AgentCatalogue::builtin();
        let reports = |name: &str| agents.find(name).unwrap().reports_cost(Driver::Json);
        assert!(reports("claude") && reports("opencode") && !reports("codex") && !reports("gemini"));
    }

    #[test]
    fn programs_are_told_once() {
        let agents = AgentCatalogue::builtin();
        assert_eq!(agents.find("opencode").unwrap().programs(), ["opencode"]);
        assert_eq!(agents.find("codex").unwrap().programs(), ["codex", "codex-acp"]);
        assert_eq!(agents.find("command").unwrap().programs(), [""; 0]);
    }
}
