//! Peers of the user's socket: which processes are the user, by what the kernel says of them.
//!
//! A process is the user if it has our user ID, no supervisor of ours above it, no pid namespace of its own, and has not
//! given up new privileges, unless the server has, too. Programs of agents and steps fail at least one of these.

use std::fs;
use std::io;

use tokio::net::UnixStream;

/// How many generations are looked at; more are no tree that anyone has.
const GENERATIONS: usize = 512;
/// How often a tree is read that changes meanwhile.
const TRIES: usize = 3;

/// Whether a peer is the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerStanding {
    /// It is the user.
    Person,
    /// It is not, for this reason.
    Refused(PeerRefusal),
}

/// Why a process is not the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PeerRefusal {
    /// Another user's process.
    #[error("this process belongs to another user")]
    OtherUser,
    /// A program that Maestro started.
    #[error("this process was started by Maestro for an agent or a step")]
    Supervised,
    /// It lives in a pid namespace of its own.
    #[error("this process runs in a pid namespace of its own")]
    Namespace,
    /// It cannot gain privileges, and the server can: a sandbox has it.
    #[error("this process runs in a sandbox (no_new_privs)")]
    Sandboxed,
    /// It is gone, or cannot be seen.
    #[error("this process cannot be identified")]
    Unknown,
}

/// Whether the process at the other end of a socket belongs to our user.
pub(crate) fn is_our_user(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw())
}

/// Finds out who is at the other end of a socket.
pub(crate) fn examine(stream: &UnixStream) -> PeerStanding {
    let found = stream.peer_cred().map_err(|_| PeerRefusal::Unknown).and_then(|peer| {
        if !is_our_user(stream) {
            return Err(PeerRefusal::OtherUser);
        }
        let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0);
        check_process(&MachineProcesses, std::process::id(), pid.ok_or(PeerRefusal::Unknown)?)
    });
    found.map_or_else(PeerStanding::Refused, |()| PeerStanding::Person)
}

/// What is read about processes.
trait ProcessTable {
    /// A process.
    fn read(&self, pid: u32) -> io::Result<ProcessFacts>;
}

/// A process as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ProcessFacts {
    parent: u32,
    /// Whether it is a `maestro child`.
    supervisor: bool,
    no_new_privs: bool,
    /// How many pid namespaces it has a number in, as far as we see.
    namespaces: usize,
}

/// Whether a process is the user's, as seen from the server's.
fn check_process(table: &impl ProcessTable, server: u32, peer: u32) -> Result<(), PeerRefusal> {
    let own = table.read(server).map_err(|_| PeerRefusal::Unknown)?;
    let facts = table.read(peer).map_err(|_| PeerRefusal::Unknown)?;
    if facts.namespaces > own.namespaces {
        return Err(PeerRefusal::Namespace);
    }
    let above_server = ancestors(table, server, &[])?;
    let above_peer = ancestors(table, peer, &above_server)?;
    // What the server started itself, with a supervisor between or without, is not its user.
    let started_here = peer != server && above_peer.contains(&server);
    let is_supervisor = |pid: &u32| table.read(*pid).is_ok_and(|facts| facts.supervisor);
    let mut between = above_peer.iter().filter(|pid| !above_server.contains(pid));
    if facts.supervisor || started_here || between.any(is_supervisor) {
        return Err(PeerRefusal::Supervised);
    }
    if facts.no_new_privs && !own.no_new_privs {
        return Err(PeerRefusal::Sandboxed);
    }
    Ok(())
}

/// The processes above one, nearest first, up to the first of `known`.
fn ancestors(table: &impl ProcessTable, pid: u32, known: &[u32]) -> Result<Vec<u32>, PeerRefusal> {
    // A parent that ends while the tree is read leaves its children to another.
    (0..TRIES).find_map(|_| try_ancestors(table, pid, known)).ok_or(PeerRefusal::Unknown)
}

fn try_ancestors(table: &impl ProcessTable, pid: u32, known: &[u32]) -> Option<Vec<u32>> {
    let mut above = Vec::new();
    let mut next = table.read(pid).ok()?.parent;
    while next != 0 {
        above.push(next);
        if known.contains(&next) {
            break;
        }
        if above.len() > GENERATIONS {
            return None;
        }
        next = table.read(next).ok()?.parent;
    }
    Some(above)
}

/// The processes of this machine.
struct MachineProcesses;

impl ProcessTable for MachineProcesses {
    #[cfg(target_os = "linux")]
    fn read(&self, pid: u32) -> io::Result<ProcessFacts> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let command = fs::read(format!("/proc/{pid}/cmdline"))?;
        let unreadable = || io::Error::other("unreadable status");
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        Ok(ProcessFacts {
            parent: field("PPid:").and_then(|text| text.parse().ok()).ok_or_else(unreadable)?,
            supervisor: is_supervisor(&command),
            no_new_privs: field("NoNewPrivs:") == Some("1"),
            namespaces: field("NSpid:").map_or(1, |pids| pids.split_whitespace().count()),
        })
    }

    /// Elsewhere only the user ID is known.
    #[cfg(not(target_os = "linux"))]
    fn read(&self, _: u32) -> io::Result<ProcessFacts> {
        Ok(ProcessFacts { parent: 0, supervisor: false, no_new_privs: false, namespaces: 1 })
    }
}

/// Whether a command line is that of our supervisor: the program's file, and the one word.
fn is_supervisor(command: &[u8]) -> bool {
    let mut words = command.split(|byte| *byte == 0);
    let program = words.next().unwrap_or_default();
    let name = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.starts_with(b"maestro") && words.next() == Some(maestro_engine::child::COMMAND.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const INIT: u32 = 1;
    const SHELL: u32 = 10;
    const SERVER: u32 = 20;
    const COMMAND: u32 = 30;
    const SUPERVISOR: u32 = 40;
    const AGENT: u32 = 41;

    /// A user's shell with a server and a command below it, and an agent below the server's supervisor.
    struct Tree(BTreeMap<u32, ProcessFacts>);

    impl Tree {
        fn new() -> Self {
            let below = [(INIT, 0), (SHELL, INIT), (SERVER, SHELL), (COMMAND, SHELL), (SUPERVISOR, SERVER)];
            let facts = |parent| ProcessFacts { parent, supervisor: false, no_new_privs: false, namespaces: 1 };
            let mut tree = Self(below.into_iter().map(|(pid, parent)| (pid, facts(parent))).collect());
            tree.0.insert(AGENT, facts(SUPERVISOR));
            tree.at(SUPERVISOR).supervisor = true;
            tree
        }

        fn at(&mut self, pid: u32) -> &mut ProcessFacts {
            self.0.get_mut(&pid).unwrap()
        }

        fn check(&self, pid: u32) -> Result<(), PeerRefusal> {
            check_process(self, SERVER, pid)
        }
    }

    impl ProcessTable for Tree {
        fn read(&self, pid: u32) -> io::Result<ProcessFacts> {
            self.0.get(&pid).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
        }
    }

    #[test]
    fn a_command_beside_the_server_is_the_users_and_an_agent_is_not() {
        let tree = Tree::new();
        assert_eq!(tree.check(COMMAND), Ok(()));
        assert_eq!(tree.check(AGENT), Err(PeerRefusal::Supervised));
        assert_eq!(tree.check(SUPERVISOR), Err(PeerRefusal::Supervised));
        assert_eq!(tree.check(99), Err(PeerRefusal::Unknown), "it is gone");
    }

    #[test]
    fn an_agent_that_lost_its_supervisor_is_still_known_by_its_sandbox() {
        let mut tree = Tree::new();
        tree.at(AGENT).parent = INIT;
        tree.at(AGENT).no_new_privs = true;
        assert_eq!(tree.check(AGENT), Err(PeerRefusal::Sandboxed));
        tree.at(AGENT).namespaces = 2;
        assert_eq!(tree.check(AGENT), Err(PeerRefusal::Namespace));
    }

    #[test]
    fn a_server_in_a_sandbox_serves_the_commands_in_the_same_one() {
        let mut tree = Tree::new();
        for pid in [SERVER, COMMAND] {
            tree.at(pid).no_new_privs = true;
        }
        assert_eq!(tree.check(COMMAND), Ok(()));
        // An agent that works on Maestro itself starts a server and asks it: the supervisor is above both.
        tree.at(SHELL).supervisor = true;
        assert_eq!(tree.check(COMMAND), Ok(()));
        assert_eq!(tree.check(AGENT), Err(PeerRefusal::Supervised));
    }

    #[test]
    fn what_the_server_starts_without_a_supervisor_is_not_its_user() {
        let mut tree = Tree::new();
        tree.at(SUPERVISOR).supervisor = false;
        assert_eq!(tree.check(AGENT), Err(PeerRefusal::Supervised));
    }

    #[test]
    fn a_supervisor_is_known_by_its_program_and_its_word() {
        assert!(is_supervisor(b"/usr/bin/maestro\0child\0"));
        assert!(!is_supervisor(b"/usr/bin/maestro\0up\0") && !is_supervisor(b"sh\0child\0") && !is_supervisor(b""));
    }
}
