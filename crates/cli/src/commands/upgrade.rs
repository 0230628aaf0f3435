//! `maestro upgrade`: how to get a newer version, by the way this one was installed. Asks no one and changes nothing.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::clean_path;

/// Name of the packages on npm and `PyPI`.
const PACKAGE: &str = "maestro-agents";

/// How this program came here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InstallMethod {
    Npm,
    Pip,
    Cargo,
    Build,
    Archive,
}

impl InstallMethod {
    fn of(program: &Path, home: &Path) -> Self {
        let has = |name: &str| program.components().any(|part| part.as_os_str() == name);
        let folder = program.parent().unwrap_or(Path::new("/"));
        if has("node_modules") {
            Self::Npm
        } else if program.starts_with(home.join(".cargo")) {
            Self::Cargo
        } else if has("target") && (has("release") || has("debug")) {
            Self::Build
        } else if ["python", "python3", "pip"].iter().any(|name| folder.join(name).exists()) {
            Self::Pip
        } else {
            Self::Archive
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pip => "pip",
            Self::Cargo => "cargo",
            Self::Build => "build",
            Self::Archive => "archive",
        }
    }

    /// How the program itself is removed.
    fn removal(self, program: &Path) -> String {
        match self {
            Self::Npm => format!("npm uninstall -g {PACKAGE}"),
            Self::Pip => format!("pip uninstall {PACKAGE}"),
            Self::Cargo => "cargo uninstall maestro".to_owned(),
            Self::Build | Self::Archive => format!("rm {}", program.display()),
        }
    }

    fn advice(self) -> String {
        match self {
            Self::Npm => format!("npm install -g {PACKAGE}@latest"),
            Self::Pip => format!("pip install --upgrade {PACKAGE}"),
            Self::Cargo => "git pull && cargo install --path crates/cli --locked   (in a clone)".to_owned(),
            Self::Build => "git pull && cargo build --release --locked   (in this clone)".to_owned(),
            Self::Archive => "unpack the archive of the new release over this program".to_owned(),
        }
    }
}

/// The command that removes this program.
pub(crate) fn removal(world: &World) -> CommandResult<String> {
    let program = std::env::current_exe().map_err(|error| CommandError::io("cannot find this program", &error))?;
    Ok(clean_path(&InstallMethod::of(&program, &world.places.home).removal(&program)).into_owned())
}

pub(crate) fn run(world: &World) -> CommandResult {
    let program: PathBuf =
        std::env::current_exe().map_err(|error| CommandError::io("cannot find this program", &error))?;
    let method = InstallMethod::of(&program, &world.places.home);
    let version = env!("CARGO_PKG_VERSION");
    if world.json {
        let program = program.to_string_lossy();
        return CommandOutput::json(
            &json!({ "version": version, "program": program, "installed": method.word(), "upgrade": method.advice() }),
        );
    }
    let shown = world.display_path(&program);
    Ok(CommandOutput::text(format!(
        "maestro {version}, {}\n\nTo get a newer version:\n  {}\n\nA newer Maestro updates the database when it first opens it, and keeps a copy of the old file. Restart the server afterwards.\n",
        clean_path(&shown),
        method.advice()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_it_was_installed_is_seen_by_its_place() {
        let of = |path: &str| InstallMethod::of(Path::new(path), Path::new("/home/ada"));
        let npm = "/usr/lib/node_modules/maestro-agents-linux-x64/bin/maestro";
        assert_eq!(of(npm), InstallMethod::Npm);
        assert_eq!(of("/home/ada/.cargo/bin/maestro"), InstallMethod::Cargo);
        assert_eq!(of("/home/ada/maestro/target/release/maestro"), InstallMethod::Build);
        assert_eq!(of("/nowhere/bin/maestro"), InstallMethod::Archive);
    }
}
