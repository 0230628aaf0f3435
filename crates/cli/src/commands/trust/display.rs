//! Display of what would be executed: in full, and so that no text can hide another.

use std::fmt::Write as _;
use std::path::Path;

use maestro_core::workflow::executions::{ConsentSession, list_executions, list_sessions};
use maestro_core::workflow::pinned_definition::PinnedDefinition;
use maestro_engine::trust::{CoveredCommands, CoveredFile, FolderSnapshot};

use crate::host::world::World;
use crate::output::screen::{clean, clean_lines, clean_path, count};

/// Maximum number of listed files.
const MOST_FILES: usize = 200;

/// Everything that a workflow and those it calls would execute.
pub(super) fn workflow(
    pinned: &PinnedDefinition,
    path: &Path,
    covered: &[&FolderSnapshot],
    own: &[CoveredFile],
    world: &World,
) -> String {
    let mut text = format!("{}  {}\n", world.paint.strong(&clean(&pinned.main)), clean_path(&world.display_path(path)));
    let Ok(definition) = pinned.definition() else { return text };
    let callees = definition.callees.iter().map(|(name, workflow)| (name.as_str(), workflow));
    let mut executes = false;
    for (name, workflow) in std::iter::once((pinned.main.as_str(), &definition.main)).chain(callees) {
        let (orders, sessions) = (list_executions(workflow), list_sessions(workflow));
        if orders.is_empty() && sessions.is_empty() {
            continue;
        }
        executes = true;
        if name != pinned.main {
            let _ = writeln!(text, "  calls {}", world.paint.strong(&clean(name)));
        }
        for order in orders {
            let cause = world.paint.dim(&clean(&order.cause.to_string()));
            let written = order.written();
            let mut lines = written.lines().map(clean);
            let _ = writeln!(text, "    {cause}  {}", lines.next().unwrap_or_default());
            for line in lines {
                let _ = writeln!(text, "        {line}");
            }
        }
        for session in sessions {
            text.push_str(&agent(&session, world));
        }
    }
    for folder in covered {
        text.push_str(&files(folder, world));
    }
    text.push_str(&project_files(own));
    if !executes {
        text.push_str("    executes nothing\n");
    }
    text
}

/// An agent that a step would start: its settings, and its instructions in full.
fn agent(session: &ConsentSession<'_>, world: &World) -> String {
    let cause = world.paint.dim(&clean(&format!("step {}", session.step)));
    let settings = session.settings().into_iter().map(|(name, value)| format!("{name}={value}"));
    let words: Vec<String> = std::iter::once("starts an agent".to_owned()).chain(settings).collect();
    let mut text = format!("    {cause}  {}\n", clean(&words.join(" ")));
    for line in session.instructions().iter().flat_map(|text| text.lines()) {
        let _ = writeln!(text, "        {}", clean(line));
    }
    text
}

/// Files of a folder of which any may be executed: names and sizes.
fn files(folder: &FolderSnapshot, world: &World) -> String {
    let (files, bytes) = (count(folder.files.len(), "file", "files"), folder.size());
    let path = world.display_path(&folder.path);
    let mut text = format!(
        "    may execute files in {}: {files}, {bytes} bytes; any change needs new consent\n",
        clean_path(&path)
    );
    for file in folder.files.iter().take(MOST_FILES) {
        let _ = writeln!(text, "        {}  {} bytes", clean_path(&file.name.to_string_lossy()), file.size);
    }
    if folder.files.len() > MOST_FILES {
        let _ = writeln!(text, "        and {} more", folder.files.len() - MOST_FILES);
    }
    text
}

/// What a consent to commands does not cover.
const NOT_COVERED: &str =
    "    not covered: programs on PATH, and what these commands and files load further, such as sources and tests\n";

/// Files of the project that commands execute: names and sizes.
fn project_files(files: &[CoveredFile]) -> String {
    let line = |file: &CoveredFile| {
        format!("    executes {}: {} bytes; any change needs new consent\n", clean_path(&file.name), file.bytes.len())
    };
    files.iter().map(line).collect()
}

/// The commands of a project's setting.
pub(super) fn commands(key: &str, covered: &CoveredCommands, path: &Path, world: &World) -> String {
    let mut text = format!("{}  {}\n", world.paint.strong(key), clean_path(&world.display_path(path)));
    for command in &covered.commands {
        let _ = writeln!(text, "    {}", clean(command));
    }
    text.push_str(&project_files(&covered.files));
    text.push_str(NOT_COVERED);
    text
}

/// A file of a project, word for word: every line of it may decide what is done.
pub(super) fn text(what: &str, file: &str, path: &Path, world: &World) -> String {
    let mut text = format!("{}  {}\n", world.paint.strong(what), clean_path(&world.display_path(path)));
    for line in clean_lines(file.trim_end()).lines() {
        let _ = writeln!(text, "    {line}");
    }
    text
}
