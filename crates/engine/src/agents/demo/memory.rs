//! Sessions of the demo agent: their prompts, in a file each.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;

/// A session that another process can resume.
#[derive(Debug)]
pub(super) struct DemoMemory {
    /// Its id.
    pub(super) id: String,
    /// The prompts so far.
    pub(super) prompts: Vec<String>,
}

impl DemoMemory {
    /// A new session.
    pub(super) fn new() -> io::Result<Self> {
        let memory = Self { id: uuid::Uuid::now_v7().to_string(), prompts: Vec::new() };
        OpenOptions::new().write(true).create_new(true).open(path(&memory.id)?)?;
        Ok(memory)
    }

    /// The session with this id.
    pub(super) fn load(id: &str) -> io::Result<Self> {
        let kept = fs::read_to_string(path(id)?)?;
        let prompts = kept.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(Self { id: id.to_owned(), prompts })
    }

    /// Adds a prompt.
    pub(super) fn add(&mut self, prompt: &str) -> io::Result<()> {
        let line = serde_json::to_string(prompt)? + "\n";
        OpenOptions::new().append(true).open(path(&self.id)?)?.write_all(line.as_bytes())?;
        self.prompts.push(prompt.to_owned());
        Ok(())
    }
}

/// The directory of its sessions, as in its table entry.
fn sessions_dir() -> io::Result<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::home_dir().map(|home| home.join(".local/state"));
    let state = state.or_else(home).ok_or_else(|| io::Error::other("no home directory"))?;
    Ok(state.join("maestro-demo"))
}

fn path(id: &str) -> io::Result<PathBuf> {
    // The id is part of a path, and comes from outside.
    let id = uuid::Uuid::parse_str(id).map_err(|_| io::Error::other(format!("there is no session `{id}`")))?;
    let directory = sessions_dir()?;
    fs::create_dir_all(&directory)?;
    Ok(directory.join(format!("{id}.jsonl")))
}
