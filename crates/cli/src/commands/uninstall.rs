//! `maestro uninstall`: removes what Maestro left on this machine, after showing it. What others made stays.

mod data;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use maestro_api::projects;
use maestro_core::connect::SettingsScope;
use maestro_engine::branches::RunBranch;
use maestro_engine::worktrees;
use serde_json::json;

use self::data::OwnData;
use crate::args::UninstallArgs;
use crate::client::{CliClient, own_server};
use crate::commands::branches::{branch_error, require_person};
use crate::commands::connect::OwnConnections;
use crate::commands::upgrade;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::confirm::{self, EmptyAnswer};
use crate::output::error::CommandError;
use crate::output::screen::{clean, clean_path};
use crate::server_process::database;

/// Everything of Maestro's on this machine.
struct MaestroTraces {
    /// Entries in the settings of tools, of this user and in projects.
    connections: Vec<OwnConnections>,
    branches: Vec<RunBranch>,
    data: OwnData,
    /// What stays, with the reason.
    stays: Vec<String>,
}

/// What happens to branches with work that is nowhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnmergedWork {
    Kept,
    Removed,
}

pub(crate) fn run(args: &UninstallArgs, world: &World) -> CommandResult {
    require_person(world)?;
    if !args.dry_run && own_server::running(world).is_some() {
        return Err(CommandError::refused("the server is running, and it uses what would be removed")
            .hint("stop it with Ctrl-C where `maestro up` runs, then run `maestro uninstall` again"));
    }
    let work = if args.unmerged { UnmergedWork::Removed } else { UnmergedWork::Kept };
    let mut traces = MaestroTraces::find(work, world)?;
    let shown = traces.describe(world);
    if args.dry_run {
        return traces.reply(&shown, "Nothing was removed.\n", world);
    }
    if !args.yes {
        if !world.terminals.stdin || !world.terminals.stderr || world.json {
            return Err(CommandError::invalid("confirmation required; nothing was removed")
                .hint("look at it with `maestro uninstall --dry-run`, then run `maestro uninstall --yes`"));
        }
        if !confirm::confirm(&format!("{shown}Remove this?"), EmptyAnswer::Refuses)? {
            return Ok(CommandOutput::text("Nothing was removed.\n"));
        }
    }
    traces.remove(world)?;
    let program = upgrade::removal(world)?;
    let end = format!("Removed. The program itself stays; remove it with:\n  {program}\n");
    traces.reply(if args.yes { &shown } else { "" }, &end, world)
}

impl MaestroTraces {
    fn find(work: UnmergedWork, world: &World) -> CommandResult<Self> {
        let mut stays = Vec::new();
        let folders = project_folders(world, &mut stays);
        let mut connections = vec![OwnConnections::find(SettingsScope::User, world)?];
        let mut branches = Vec::new();
        for folder in &folders {
            let there = world.at(folder);
            connections.push(OwnConnections::find(SettingsScope::Project, &there)?);
            match RunBranch::all(folder) {
                Ok(found) => branches.extend(found),
                // Without git, or outside of a repository, there are none.
                Err(error) if folder.join(".git").exists() => {
                    return Err(branch_error(&error, "uninstall"));
                }
                Err(_) => {}
            }
            if folder.join(".maestro").is_dir() {
                let shown = world.display_path(&folder.join(".maestro"));
                stays.push(format!("{} (settings and skills of the project)", clean_path(&shown)));
            }
        }
        if work == UnmergedWork::Kept {
            let (kept, gone): (Vec<_>, Vec<_>) = branches.into_iter().partition(|branch| !branch.is_merged());
            branches = gone;
            stays.extend(kept.iter().map(|branch| {
                let place = world.display_path(&branch.workspace);
                let what = "has work that is not merged; `--unmerged` removes it, too";
                format!("{} in {} ({what})", clean(&branch.branch), clean_path(&place))
            }));
        }
        let data = OwnData::find(world);
        stays.extend(
            data.foreign
                .iter()
                .map(|path| format!("{} (not known to be Maestro's)", clean_path(&world.display_path(path)))),
        );
        connections.retain(|found| !found.files().is_empty());
        Ok(Self { connections, branches, data, stays })
    }

    fn describe(&self, world: &World) -> String {
        let mut text = String::new();
        let mut part = |title: &str, lines: Vec<String>| {
            if !lines.is_empty() {
                let _ = writeln!(text, "{}", world.paint.strong(title));
                for line in lines {
                    let _ = writeln!(text, "  {line}");
                }
                text.push('\n');
            }
        };
        let files = self.connections.iter().flat_map(|found| found.files());
        part("Entries in the settings of tools", files.map(|file| clean_path(file).into_owned()).collect());
        let branch = |branch: &RunBranch| {
            let place = clean_path(&world.display_path(&branch.workspace)).into_owned();
            let tree = if branch.worktree.is_some() { ", with its worktree" } else { "" };
            format!("{} in {place}{tree}", clean(&branch.branch))
        };
        part("Branches", self.branches.iter().map(branch).collect());
        let data = self.data.own.iter().map(|path| clean_path(&world.display_path(path)).into_owned());
        part("Data and settings of Maestro", data.collect());
        part("Stays", self.stays.clone());
        if self.is_empty() {
            text.push_str("Nothing of Maestro's is here.\n");
        }
        text
    }

    fn is_empty(&self) -> bool {
        self.connections.is_empty() && self.branches.is_empty() && self.data.own.is_empty()
    }

    /// Removes it: first what needs the records, then the records.
    fn remove(&mut self, world: &World) -> CommandResult<()> {
        for found in &mut self.connections {
            found.remove(world)?;
        }
        for branch in &self.branches {
            branch.discard().map_err(|error| branch_error(&error, "uninstall"))?;
            // Only if no other worktree is in it.
            let _ = fs::remove_dir(branch.workspace.join(worktrees::PLACE));
        }
        // Disconnecting wrote records of its own.
        self.data = OwnData::find(world);
        self.data.remove()
    }

    fn reply(&self, shown: &str, end: &str, world: &World) -> CommandResult {
        if world.json {
            let files: Vec<&str> = self.connections.iter().flat_map(OwnConnections::files).collect();
            let data: Vec<_> = self.data.own.iter().map(|path| path.to_string_lossy()).collect();
            return CommandOutput::json(&json!({
                "settings": files, "branches": self.branches, "data": data, "stays": self.stays,
            }));
        }
        Ok(CommandOutput::text(format!("{shown}{end}")))
    }
}

/// The folders of all projects that the database knows, and this one.
fn project_folders(world: &World, stays: &mut Vec<String>) -> Vec<PathBuf> {
    let mut folders = vec![world.places.project.clone()];
    if database::exists(world) {
        let known = CliClient::open(world).and_then(|client| client.list(projects::list()));
        match known {
            Ok(known) => folders.extend(known.iter().map(|project| PathBuf::from(&project.working_dir))),
            Err(error) => stays.push(format!(
                "branches and worktrees in other projects (the database does not say which: {})",
                clean(error.message())
            )),
        }
    }
    folders.retain(|folder| folder.is_absolute() && folder.is_dir());
    let real = |folder: PathBuf| folder.canonicalize().unwrap_or(folder);
    let mut folders: Vec<PathBuf> = folders.into_iter().map(real).collect();
    folders.sort();
    folders.dedup();
    folders
}
