//! Lines of a project's selection test: a task, a tab, and the skills it should get, or `none`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use maestro_skills::read_bounded;

use super::files;
use super::world::World;

/// The largest file of lines that is read.
const MAX_BYTES: u64 = 1024 * 1024;
/// How a line says that no skill is expected.
pub(crate) const NONE: &str = "none";

/// The lines of the project.
pub(crate) fn file(world: &World) -> PathBuf {
    world.places.project.join(".maestro").join("selection.tsv")
}

/// The text of a file of lines.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let contents = read_bounded(path, MAX_BYTES)?;
    if contents.cut {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 1 MiB"));
    }
    Ok(String::from_utf8_lossy(&contents.bytes).into_owned())
}

/// Appends a line for a task to the project's file, or replaces the one that is there. Returns the file.
pub(crate) fn save(task: &str, expected: &[String], world: &World) -> Result<PathBuf, (PathBuf, io::Error)> {
    let path = file(world);
    let task = task.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("{task}\t{}", if expected.is_empty() { NONE.to_owned() } else { expected.join(",") });
    let written = match fs::read_to_string(&path) {
        Ok(text) => {
            let is_other = |known: &&str| known.split_once('\t').is_none_or(|(known, _)| known.trim() != task);
            let kept: Vec<&str> = text.lines().filter(is_other).chain([line.as_str()]).collect();
            files::replace(&path, &format!("{}\n", kept.join("\n")))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => files::create(&path, &format!("{line}\n")),
        Err(error) => Err(error),
    };
    match written {
        Ok(()) => Ok(path),
        Err(error) => Err((path, error)),
    }
}
