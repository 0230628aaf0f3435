//! Gaps of a sandbox: what this kernel cannot keep a program from.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What confines a program, and what it can do nevertheless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReport {
    /// What confines it.
    pub layer: SandboxLayer,
    /// What it can do nevertheless.
    pub gaps: Vec<SandboxGap>,
    /// Why it has no namespaces, where they were tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl SandboxReport {
    /// Nothing confines a program.
    pub fn unconfined(reason: String) -> Self {
        Self { layer: SandboxLayer::None, gaps: vec![SandboxGap::Writes], reason: Some(reason) }
    }

    /// Whether the program can write only where it may.
    pub fn limits_writes(&self) -> bool {
        !self.gaps.contains(&SandboxGap::Writes)
    }
}

/// What confines a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxLayer {
    /// Namespaces of its own, and Landlock inside where the kernel has it.
    Namespaces,
    /// Landlock alone.
    Landlock,
    /// Nothing.
    None,
}

impl fmt::Display for SandboxLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
            Self::None => "none",
        })
    }
}

/// Something that a program can do although it should not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxGap {
    /// Write to any file of its user.
    Writes,
    /// Read Maestro's own data.
    MaestroData,
    /// Send signals to the user's other processes.
    Signals,
    /// Connect to abstract sockets of other programs.
    AbstractSockets,
    /// Connect to sockets that other programs have in the file system.
    PathSockets,
    /// Change modes, times and extended attributes of the user's files.
    FileAttributes,
    /// Write to the user's terminals.
    Terminals,
    /// Share the directories for temporary files.
    TemporaryFiles,
    /// See other processes.
    Processes,
    /// Use the network although it may not.
    Network,
    /// Change the settings and hooks of the repository that it works in.
    Repository,
    /// Use all memory and start any number of processes.
    Resources,
}

impl SandboxGap {
    /// Its name in settings and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::MaestroData => "maestro_data",
            Self::Signals => "signals",
            Self::AbstractSockets => "abstract_sockets",
            Self::PathSockets => "path_sockets",
            Self::FileAttributes => "file_attributes",
            Self::Terminals => "terminals",
            Self::TemporaryFiles => "temporary_files",
            Self::Processes => "processes",
            Self::Network => "network",
            Self::Repository => "repository",
            Self::Resources => "resources",
        }
    }
}

impl fmt::Display for SandboxGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Writes => "agents can write to all your files",
            Self::MaestroData => "agents can read Maestro's own data",
            Self::Signals => "agents can send signals to your other processes",
            Self::AbstractSockets => "agents can connect to abstract sockets of other programs",
            Self::PathSockets => "agents can connect to sockets of other programs, such as a session bus or Docker",
            Self::FileAttributes => "agents can change modes, times and extended attributes of your files",
            Self::Terminals => "agents can write to your terminals",
            Self::TemporaryFiles => "agents share the directories for temporary files",
            Self::Processes => "agents can see your other processes",
            Self::Network => "agents can use the network although the settings forbid it",
            Self::Repository => "agents that work in place can change the settings and hooks of your repository",
            Self::Resources => "nothing limits the memory and the number of processes of agents",
        })
    }
}
