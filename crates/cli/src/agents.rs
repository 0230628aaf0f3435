//! Which coding agents are installed? Only looks for their programs; starts none.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// A coding agent that Maestro knows.
struct Known {
    name: &'static str,
    program: &'static str,
}

const KNOWN: &[Known] = &[
    Known { name: "Claude Code", program: "claude" },
    Known { name: "Codex", program: "codex" },
    Known { name: "OpenCode", program: "opencode" },
    Known { name: "Gemini CLI", program: "gemini" },
    Known { name: "Goose", program: "goose" },
    Known { name: "Cursor", program: "cursor-agent" },
    Known { name: "Aider", program: "aider" },
];

/// An agent whose program was found.
#[derive(Debug, Serialize)]
pub(crate) struct Agent {
    pub(crate) name: &'static str,
    pub(crate) program: &'static str,
    #[serde(serialize_with = "maestro_core::problem::lossy")]
    pub(crate) path: PathBuf,
}

/// The agents whose programs are in one of the directories, first directory first.
pub(crate) fn installed(program_dirs: &[PathBuf]) -> Vec<Agent> {
    KNOWN
        .iter()
        .filter_map(|known| {
            let path = program_dirs.iter().map(|dir| dir.join(known.program)).find(|path| can_run(path))?;
            Some(Agent { name: known.name, program: known.program, path })
        })
        .collect()
}

#[cfg(unix)]
fn can_run(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
