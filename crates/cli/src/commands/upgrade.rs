//! `maestro upgrade`: how to get a newer version, by the way this one was installed. Asks no one and changes nothing.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

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
    /// In a project's own `node_modules`.
    NpmHere,
    Pip,
    Pipx,
    UvTool,
    Cargo,
    Build,
    Archive,
}

impl InstallMethod {
    fn of(program: &Path, home: &Path) -> Self {
        let names: Vec<&OsStr> = program.components().map(Component::as_os_str).collect();
        let has = |name: &str| names.iter().any(|part| *part == name);
        let follow = |one: &str, other: &str| names.windows(2).any(|pair| pair[0] == one && pair[1] == other);
        if follow("lib", "node_modules") {
            Self::Npm
        } else if has("node_modules") {
            Self::NpmHere
        } else if follow("uv", "tools") {
            Self::UvTool
        } else if follow("pipx", "venvs") {
            Self::Pipx
        } else if program.starts_with(home.join(".cargo")) {
            Self::Cargo
        } else if has("target") && (has("release") || has("debug")) {
            Self::Build
        } else if is_from_wheel(program) {
            Self::Pip
        } else {
            Self::Archive
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Npm | Self::NpmHere => "npm",
            Self::Pip => "pip",
            Self::Pipx => "pipx",
            Self::UvTool => "uv",
            Self::Cargo => "cargo",
            Self::Build => "build",
            Self::Archive => "archive",
        }
    }

    /// How the program itself is removed.
    fn removal(self, program: &Path) -> String {
        match self {
            Self::Npm => format!("npm uninstall -g {PACKAGE}"),
            Self::NpmHere => format!("npm uninstall {PACKAGE}"),
            Self::Pip => format!("pip uninstall {PACKAGE}"),
            Self::Pipx => format!("pipx uninstall {PACKAGE}"),
            Self::UvTool => format!("uv tool uninstall {PACKAGE}"),
            Self::Cargo => "cargo uninstall maestro".to_owned(),
            Self::Build | Self::Archive => format!("rm {}", program.display()),
        }
    }

    fn advice(self) -> String {
        match self {
            Self::Npm => format!("npm install -g {PACKAGE}@latest"),
            Self::NpmHere => format!("npm install {PACKAGE}@latest"),
            Self::Pip => format!("pip install --upgrade {PACKAGE}"),
            Self::Pipx => format!("pipx upgrade {PACKAGE}"),
            Self::UvTool => format!("uv tool upgrade {PACKAGE}"),
            Self::Cargo => "git pull && cargo install --path crates/cli --locked   (in a clone)".to_owned(),
            Self::Build => "git pull && cargo build --release --locked   (in this clone)".to_owned(),
            Self::Archive => "unpack the archive of the new release over this program".to_owned(),
        }
    }
}

/// Whether Python's packages know the program: other programs are in the same folder, too.
fn is_from_wheel(program: &Path) -> bool {
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let Some(prefix) = program.parent().and_then(Path::parent) else { return false };
    let starts_with = |entry: &fs::DirEntry, start: &str| entry.file_name().to_string_lossy().starts_with(start);
    let pythons = entries(prefix.join("lib")).filter(|entry| starts_with(entry, "python"));
    let packages = pythons.flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.path().join(name)));
    packages.flat_map(entries).any(|entry| starts_with(&entry, "maestro_agents-"))
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
        assert_eq!(of("/home/ada/shop/node_modules/maestro-agents-linux-x64/bin/maestro"), InstallMethod::NpmHere);
        assert_eq!(of("/home/ada/.local/share/uv/tools/maestro-agents/bin/maestro"), InstallMethod::UvTool);
        assert_eq!(of("/home/ada/.local/share/pipx/venvs/maestro-agents/bin/maestro"), InstallMethod::Pipx);
        assert_eq!(of("/home/ada/.cargo/bin/maestro"), InstallMethod::Cargo);
        assert_eq!(of("/home/ada/maestro/target/release/maestro"), InstallMethod::Build);
        assert_eq!(of("/nowhere/bin/maestro"), InstallMethod::Archive);
        let prefix = tempfile::tempdir().unwrap();
        fs::create_dir_all(prefix.path().join("lib/python3.12/site-packages/maestro_agents-0.1.0.dist-info")).unwrap();
        let program = prefix.path().join("bin/maestro");
        assert_eq!(InstallMethod::of(&program, Path::new("/home/ada")), InstallMethod::Pip);
        fs::remove_dir_all(prefix.path().join("lib/python3.12/site-packages")).unwrap();
        assert_eq!(InstallMethod::of(&program, Path::new("/home/ada")), InstallMethod::Archive);
    }
}
