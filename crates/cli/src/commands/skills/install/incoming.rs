//! A skill from elsewhere: its files, what it may execute and what hides in it, before anything is written.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use maestro_core::Problem;
use maestro_skills::{Catalogue, FileWrite, Skill, check_text, hidden_character};
use serde_json::{Value as Json, json};

use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::screen::{self, clean, count, fit};

/// How much a skill or a source may contain.
pub(super) const MOST_FILES: usize = 10_000;
pub(super) const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// How many files are named.
const NAMED: usize = 12;
/// Endings of files that interpreters run.
const SCRIPTS: [&str; 12] = ["sh", "bash", "zsh", "py", "js", "mjs", "ts", "rb", "pl", "ps1", "php", "lua"];

/// The plain files of a source, and the paths of what else lies there and is not taken.
#[derive(Debug, Default)]
pub(super) struct SourceFiles {
    pub(super) files: Vec<FileWrite>,
    pub(super) left_out: Vec<PathBuf>,
}

/// A skill that is about to be added.
#[derive(Debug)]
pub(super) struct IncomingSkill {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) leading_file: String,
    pub(super) files: Vec<FileWrite>,
    /// Links and the like, below its folder.
    left_out: Vec<String>,
    description: String,
    allowed_tools: Vec<String>,
    commands: Vec<String>,
    workflow: Option<String>,
    /// What some agents execute by themselves as soon as they use the skill.
    on_use: Vec<String>,
    problems: Vec<Problem>,
}

impl IncomingSkill {
    /// A skill of a source that was copied to `top`, where `left_out` was not taken.
    pub(super) fn read(skill: &Skill, catalogue: &Catalogue, top: &Path, left_out: &[PathBuf]) -> CommandResult<Self> {
        let files = read_folder(&skill.path)
            .map_err(|error| CommandError::io(format!("cannot read the skill `{}`", skill.id), &error))?;
        let commands = skill
            .commands
            .iter()
            .filter_map(|command| Some(format!("{}: {}", command.name, command.run.as_ref()?.join(" "))));
        let mut problems: Vec<Problem> =
            catalogue.problems.iter().filter(|problem| problem.path.starts_with(&skill.path)).cloned().collect();
        problems.extend(check_text(skill));
        // The copy is gone when this is read.
        for problem in &mut problems {
            problem.path = problem.path.strip_prefix(top).unwrap_or(&problem.path).to_owned();
        }
        let leading = files.iter().find(|file| file.path == Path::new(&skill.file));
        let text = leading.map(|file| String::from_utf8_lossy(&file.bytes)).unwrap_or_default();
        let mut on_use = inline_commands(&text);
        on_use.extend(skill.extra.get("hooks").map(|_| "the `hooks` of its frontmatter".to_owned()));
        let folder = skill.path.strip_prefix(top).unwrap_or(Path::new(""));
        let left_out = left_out.iter().filter_map(|path| path.strip_prefix(folder).ok());
        Ok(Self {
            name: skill.id.as_str().to_owned(),
            folder: skill.path.clone(),
            leading_file: skill.file.clone(),
            files,
            left_out: left_out.map(|path| path.to_string_lossy().into_owned()).collect(),
            description: skill.description.clone(),
            allowed_tools: skill.allowed_tools.clone(),
            commands: commands.collect(),
            workflow: skill.workflow.clone(),
            on_use,
            problems,
        })
    }

    /// The files that something could run: marked as such, scripts, and those that begin with `#!`.
    fn executables(&self) -> Vec<String> {
        let is_script =
            |path: &Path| path.extension().and_then(|end| end.to_str()).is_some_and(|end| SCRIPTS.contains(&end));
        let runs = |file: &&FileWrite| file.executable || is_script(&file.path) || file.bytes.starts_with(b"#!");
        self.files.iter().filter(runs).map(|file| file.path.to_string_lossy().into_owned()).collect()
    }

    /// The files in which, or in whose names, characters hide that a reader does not see.
    fn hiding(&self) -> Vec<String> {
        let hides = |file: &&FileWrite| {
            std::str::from_utf8(&file.bytes).is_ok_and(|text| hidden_character(text).is_some())
                || hidden_character(&file.path.to_string_lossy()).is_some()
        };
        self.files.iter().filter(hides).map(|file| file.path.to_string_lossy().into_owned()).collect()
    }

    /// Everything that a person should know before it is written.
    pub(super) fn describe(&self, from: &str, world: &World) -> String {
        let mut text = format!("{}  {}\n", world.paint.skill(&clean(&self.name)), fit(&clean(&self.description), 160));
        let mut row = |name: &str, value: String| {
            let _ = writeln!(text, "  {} {}", world.paint.dim(&screen::pad(name, 9)), value);
        };
        row("from", clean(from).into_owned());
        let bytes: usize = self.files.iter().map(|file| file.bytes.len()).sum();
        let paths: Vec<String> = self.files.iter().map(|file| file.path.to_string_lossy().into_owned()).collect();
        row(
            "files",
            format!("{}, {} kB: {}", count(paths.len(), "file", "files"), bytes.div_ceil(1000), named(&paths)),
        );
        if !self.left_out.is_empty() {
            row("left out", format!("{} (links and special files are not taken)", named(&self.left_out)));
        }
        let executables = self.executables();
        match (executables.is_empty(), self.on_use.is_empty()) {
            (false, _) => row("executes", named(&executables)),
            (true, true) => row("executes", "nothing".to_owned()),
            (true, false) => {}
        }
        if !self.on_use.is_empty() {
            let what = clean(&self.on_use.join(", ")).into_owned();
            row("on use", world.paint.error(&format!("agents such as Claude Code execute by themselves: {what}")));
        }
        for command in &self.commands {
            row("command", format!("{} (only after `maestro trust`)", clean(command)));
        }
        if let Some(workflow) = &self.workflow {
            row("workflow", format!("{} (its commands only after `maestro trust`)", clean(workflow)));
        }
        if !self.allowed_tools.is_empty() {
            row("asks for", format!("{} (grants nothing)", clean(&self.allowed_tools.join(" "))));
        }
        let hiding = self.hiding();
        if !hiding.is_empty() {
            row("hides", world.paint.error(&format!("invisible characters in {}", named(&hiding))));
        }
        for problem in &self.problems {
            text.push_str(&screen::problem(problem, world.paint));
        }
        text
    }

    pub(super) fn to_json(&self) -> Json {
        let paths: Vec<String> = self.files.iter().map(|file| file.path.to_string_lossy().into_owned()).collect();
        json!({
            "name": self.name,
            "description": self.description,
            "files": paths,
            "leftOut": self.left_out,
            "executables": self.executables(),
            "executedOnUse": self.on_use,
            "commands": self.commands,
            "workflow": self.workflow,
            "allowedTools": self.allowed_tools,
            "hiddenCharacters": self.hiding(),
            "problems": self.problems,
        })
    }
}

/// The commands in a text that Claude Code replaces by their output: "!" before a command between backticks.
fn inline_commands(text: &str) -> Vec<String> {
    let is_start = |before: &str| before.chars().next_back().is_none_or(char::is_whitespace);
    let starts = text.match_indices("!`").filter(|(at, _)| text.get(..*at).is_some_and(is_start));
    let inline = starts.filter_map(|(at, mark)| text.get(at + mark.len()..)?.split(['`', '\n']).next());
    let blocks =
        text.match_indices("```!").filter_map(|(at, mark)| text.get(at + mark.len()..)?.trim_start().lines().next());
    inline
        .chain(blocks)
        .filter(|command| !command.trim().is_empty())
        .map(|command| format!("`{}`", command.trim()))
        .collect()
}

fn named(paths: &[String]) -> String {
    let mut text = paths.iter().take(NAMED).map(|path| clean(path).into_owned()).collect::<Vec<_>>().join(", ");
    if paths.len() > NAMED {
        let _ = write!(text, " and {} more", paths.len() - NAMED);
    }
    text
}

/// The files of a skill's folder.
pub(super) fn read_folder(folder: &Path) -> io::Result<Vec<FileWrite>> {
    if !folder.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "there is no such folder"));
    }
    read_tree(folder).map(|source| source.files)
}

/// The plain files below a folder, without git's and what package managers install.
pub(super) fn read_tree(top: &Path) -> io::Result<SourceFiles> {
    use std::os::unix::fs::PermissionsExt as _;
    let (mut found, mut bytes, mut open) = (SourceFiles::default(), 0_u64, vec![PathBuf::new()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(top.join(&folder))? {
            let entry = entry?;
            let (name, about) = (entry.file_name(), entry.path().symlink_metadata()?);
            let path = folder.join(&name);
            if about.is_dir() && name != ".git" && name != "node_modules" {
                open.push(path);
            } else if about.is_file() {
                bytes += about.len();
                if found.files.len() >= MOST_FILES || bytes > MOST_BYTES {
                    let limit = format!("it has more than {MOST_FILES} files or {} MiB", MOST_BYTES >> 20);
                    return Err(io::Error::other(limit));
                }
                let executable = about.permissions().mode() & 0o111 != 0;
                found.files.push(FileWrite { bytes: fs::read(top.join(&path))?, path, executable });
            } else if !about.is_dir() && found.left_out.len() < MOST_FILES {
                found.left_out.push(path);
            }
        }
    }
    found.left_out.sort();
    found.files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}
