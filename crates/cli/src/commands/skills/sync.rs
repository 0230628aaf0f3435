//! `maestro skills sync`: the table of skills in a file that agents read. Everything else in the file stays.

use std::io;
use std::path::{Path, PathBuf};

use maestro_core::Settings;
use maestro_skills::render::{LoaderProgram, SkillTable, fit, has_block, offered_skills, with_block};
use maestro_skills::{Catalogue, read_bounded};
use serde_json::json;

use super::budget_note;
use crate::args::SyncArgs;
use crate::host::files;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::{clean_path, count};

/// The file that most agents read.
const DEFAULT_FILE: &str = "AGENTS.md";
/// The command that a table of ours tells agents to run.
const OWN_MARK: &str = "`maestro skills read ";
/// Maximum size of the file.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

pub(super) fn run(catalogue: &Catalogue, args: &SyncArgs, settings: &Settings, world: &World) -> CommandResult {
    let shown = args.output.to_string_lossy();
    let target = SyncFile::find(&args.output, world)?;
    let skills = offered_skills(catalogue);
    if skills.is_empty() && !target.old.as_deref().is_some_and(has_block) {
        let text = format!("No skills to write to {}.\n", clean_path(&shown));
        let reply = json!({
            "path": target.path.to_string_lossy(), "changed": false, "written": false, "skills": 0, "cut": [], "left_out": [],
        });
        return if world.json { CommandOutput::json(&reply) } else { Ok(CommandOutput::text(text)) };
    }
    let budget = settings.skills_budget_tokens.value;
    let table = fit(SkillTable::OpenSkills(LoaderProgram::Maestro), &skills, budget);
    let listed = skills.len() - table.left_out.len();
    if table.text.is_empty() || (listed == 0 && !skills.is_empty()) {
        return Err(CommandError::invalid(format!("no skill fits into {budget} tokens"))
            .hint("raise skills_budget_tokens, for example: --set skills_budget_tokens=4000"));
    }
    let title = target.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let new = with_block(target.old.as_deref(), &title, &table.text);
    let changed = target.old.as_ref() != Some(&new);
    let written = changed && !args.check;
    if written {
        target.write(&new, &shown)?;
    }
    let exit = if changed && args.check { ExitKind::Failed } else { ExitKind::Ok };
    if world.json {
        let reply = json!({
            "path": target.path.to_string_lossy(), "changed": changed, "written": written, "skills": listed,
            "cut": table.cut, "left_out": table.left_out,
        });
        return Ok(CommandOutput::json(&reply)?.with_exit(exit));
    }
    let (file, skills) = (clean_path(&shown), count(listed, "skill", "skills"));
    let text = match (changed, written) {
        (false, _) => format!("{file} is up to date: {skills}.\n"),
        (true, true) => format!("Wrote {skills} to {file}.\n"),
        (true, false) => format!("{file} is out of date. Run `maestro skills sync` to update it.\n"),
    };
    Ok(CommandOutput::text(text).with_notes(budget_note(&table, budget)).with_exit(exit))
}

/// Whether `AGENTS.md` has a table that would be written otherwise now.
pub(crate) fn is_table_old(catalogue: &Catalogue, settings: &Settings, world: &World) -> bool {
    let Ok(target) = SyncFile::find(Path::new(DEFAULT_FILE), world) else { return false };
    // Tables of other programs are theirs.
    let Some(old) = target.old.as_deref().filter(|text| has_block(text) && text.contains(OWN_MARK)) else {
        return false;
    };
    let skills = offered_skills(catalogue);
    let table = fit(SkillTable::OpenSkills(LoaderProgram::Maestro), &skills, settings.skills_budget_tokens.value);
    with_block(Some(old), "AGENTS", &table.text) != old
}

/// The file to write.
struct SyncFile {
    /// Its real path.
    path: PathBuf,
    /// Its text, if it exists.
    old: Option<String>,
}

impl SyncFile {
    fn find(output: &Path, world: &World) -> CommandResult<Self> {
        let shown = output.display();
        let is_markdown = |path: &Path| path.extension().is_some_and(|extension| extension == "md");
        if !is_markdown(output) {
            return Err(CommandError::invalid(format!("`{shown}` is not a Markdown file"))
                .hint("pass a file that ends in .md; the default is AGENTS.md"));
        }
        let named = world.places.working_dir.join(output);
        let path = real(&named).map_err(|error| {
            CommandError::io(format!("cannot write `{shown}`"), &error)
                .hint("its directory must exist, and a link must lead to a file")
        })?;
        let project = &world.places.project;
        let inside = |path: &Path| project.canonicalize().is_ok_and(|project| path.starts_with(project));
        // A cloned project must not choose a file of the user's. An absolute path is the user's own choice.
        if named.starts_with(project) && !inside(&path) {
            return Err(CommandError::invalid(format!("`{shown}` leads to {}, outside the project", path.display()))
                .hint("replace the link with a file, or pass the absolute path of its target"));
        }
        if !is_markdown(&path) {
            return Err(CommandError::invalid(format!(
                "`{shown}` leads to {}, which is not a Markdown file",
                path.display()
            ))
            .hint("replace the link with a file"));
        }
        let old = match read_bounded(&path, MAX_FILE_BYTES) {
            Ok(contents) if contents.cut => {
                return Err(CommandError::invalid(format!("`{shown}` is larger than 16 MiB")).hint("pass another file"));
            }
            Ok(contents) => Some(contents.bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(CommandError::io(format!("cannot read `{shown}`"), &error).hint("pass another file"));
            }
        };
        let old = old.map(String::from_utf8).transpose().map_err(|_| {
            CommandError::invalid(format!("`{shown}` is not UTF-8 text; not changed"))
                .hint("save it as UTF-8, for example: iconv -f latin1 -t utf-8 OLD > NEW")
        })?;
        Ok(Self { path, old })
    }

    fn write(&self, text: &str, shown: &str) -> CommandResult<()> {
        let write = if self.old.is_some() { files::replace } else { files::create };
        write(&self.path, text).map_err(|error| {
            CommandError::io(format!("cannot write `{shown}`"), &error)
                .hint("check the permissions of the file and its directory")
        })
    }
}

/// The path of a file once all links are followed. A broken link is an error.
fn real(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            let name = path.file_name().ok_or(error)?;
            Ok(path.parent().unwrap_or(Path::new(".")).canonicalize()?.join(name))
        }
        found => found,
    }
}
