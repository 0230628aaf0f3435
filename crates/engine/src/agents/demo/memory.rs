//! What does the demo agent remember of a session? Its prompts, in a temporary file.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;

/// A session that can be taken up again by another process.
#[derive(Debug)]
pub(super) struct Memory {
    /// What it is called.
    pub(super) id: String,
    /// The prompts so far.
    pub(super) prompts: Vec<String>,
}

impl Memory {
    /// A new session.
    pub(super) fn new() -> io::Result<Self> {
        let memory = Self { id: uuid::Uuid::now_v7().to_string(), prompts: Vec::new() };
        OpenOptions::new().write(true).create_new(true).open(path(&memory.id)?)?;
        Ok(memory)
    }

    /// The session that is called so.
    pub(super) fn load(id: &str) -> io::Result<Self> {
        let kept = fs::read_to_string(path(id)?)?;
        let prompts = kept.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(Self { id: id.to_owned(), prompts })
    }

    /// Remembers one more prompt, and says which turn it is.
    pub(super) fn add(&mut self, prompt: &str) -> io::Result<usize> {
        let line = serde_json::to_string(prompt)? + "\n";
        OpenOptions::new().append(true).open(path(&self.id)?)?.write_all(line.as_bytes())?;
        self.prompts.push(prompt.to_owned());
        Ok(self.prompts.len() - 1)
    }
}

fn path(id: &str) -> io::Result<PathBuf> {
    // It is part of a path, and comes from outside.
    let id = uuid::Uuid::parse_str(id).map_err(|_| io::Error::other(format!("there is no session `{id}`")))?;
    Ok(std::env::temp_dir().join(format!("maestro-demo-{id}.jsonl")))
}
