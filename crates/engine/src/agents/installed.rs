//! Which program stands for an agent here, and in which way is it spoken with?

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use maestro_core::agent::{Agent, Driver};

/// Where programs are looked for.
#[derive(Debug, Clone)]
pub struct Programs {
    /// Our own program, which is an agent too.
    pub maestro: PathBuf,
    /// The directories, the first one first.
    pub directories: Vec<PathBuf>,
}

/// The program that stands for an agent, and how it is spoken with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The way.
    pub driver: Driver,
    /// The program.
    pub program: PathBuf,
}

impl Programs {
    /// The most preferred way to speak with an agent whose program is here; only that way, if one is named.
    pub fn find(&self, agent: &Agent, wanted: Option<Driver>) -> Option<Found> {
        agent.ways().filter(|(driver, _)| wanted.is_none_or(|wanted| wanted == *driver)).find_map(|(driver, way)| {
            let program = way.programs.iter().find_map(|name| self.program(name))?;
            Some(Found { driver, program })
        })
    }

    /// A program by its name, or by its path.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        if name == "maestro" {
            return Some(self.maestro.clone());
        }
        let name = Path::new(name);
        if name.is_absolute() {
            return is_program(name).then(|| name.to_owned());
        }
        self.directories.iter().map(|directory| directory.join(name)).find(|path| is_program(path))
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
