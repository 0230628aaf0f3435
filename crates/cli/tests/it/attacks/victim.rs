//! A user with files, processes, sockets and a terminal, and an agent that is after them.
//!
//! The agent is this very test program, started again in a sandbox, as a user without privileges where we are root.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use maestro_engine::child::{ChildReport, ChildSpec, ChildStdin};
use maestro_engine::sandbox::{ConfinementMode, NetworkAccess, ResourceLimits, SandboxReport, WritePolicy};
use tempfile::TempDir;

/// The program that supervises.
const MAESTRO: &str = env!("CARGO_BIN_EXE_maestro");

/// The user without privileges.
const NOBODY: u32 = 65534;

/// A user's home outside of the temporary directory, and what else there is to attack.
pub(super) struct Victim {
    root: TempDir,
    /// A process of the user.
    pub(super) neighbor: Child,
    /// Sockets of other programs: hidden, in the open, and abstract.
    _sockets: Vec<UnixListener>,
    pub(super) abstract_name: String,
}

/// The result of an attack.
pub(super) struct Attack {
    pub(super) output: String,
    pub(super) sandbox: SandboxReport,
    pub(super) end: Option<ChildReport>,
}

impl Attack {
    pub(super) fn succeeded(&self) -> bool {
        assert!(self.output.contains("attack:"), "the attacker did not run: {}", self.output);
        self.output.contains("attack: succeeded")
    }
}

impl Victim {
    pub(super) fn new() -> Self {
        let root = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = |name: &str| root.path().join(name);
        for directory in ["work", "scratch", "home/.maestro/run", "home/.maestro/bin", "runtime", "app"] {
            fs::create_dir_all(path(directory)).unwrap();
        }
        for (file, text) in [
            ("home/.bashrc", "alias ls=ls\n"),
            ("home/.maestro/run/token", "secret"),
            ("home/.maestro/maestro.db", "secret"),
            ("home/.maestro/bin/tool", "public"),
        ] {
            fs::write(path(file), text).unwrap();
        }
        let abstract_name = format!("maestro-attack-{}", root.path().file_name().unwrap().display());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let sockets = vec![
            UnixListener::bind(path("runtime/bus")).unwrap(),
            UnixListener::bind(path("app/socket")).unwrap(),
            UnixListener::bind_addr(&address).unwrap(),
        ];
        give_to_user(root.path());
        let neighbor = as_user(Command::new("sleep").arg("1000").env("NEIGHBOR_SECRET", "secret")).spawn().unwrap();
        Self { root, neighbor, _sockets: sockets, abstract_name }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn policy(&self, mode: ConfinementMode) -> WritePolicy {
        let home = self.path("home/.maestro");
        let usual = WritePolicy::default_policy(&self.path("work"), Some(&self.path("scratch")));
        let policy = usual.hide(home.clone()).hide(self.path("runtime")).show([home.join("bin")]);
        WritePolicy { confinement: mode, ..policy }
    }

    /// Has the agent attack in this way; nothing where the kernel cannot confine it so.
    pub(super) fn attack(&self, mode: ConfinementMode, kind: &str, target: &str) -> Option<Attack> {
        let (program, argv) = attacker();
        let env = [("ATTACK", kind), ("TARGET", target)];
        let policy = self.policy(mode);
        let policy = if kind == "network" { WritePolicy { network: NetworkAccess::None, ..policy } } else { policy };
        self.run(policy, program, argv, &env)
    }

    /// Has the agent attack in this way, where it may reach these hosts.
    pub(super) fn reach(&self, mode: ConfinementMode, hosts: &[&str], kind: &str, target: &str) -> Option<Attack> {
        let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
        let policy = WritePolicy { network: NetworkAccess::Hosts(hosts), ..self.policy(mode) };
        let (program, argv) = attacker();
        self.run(policy, program, argv, &[("ATTACK", kind), ("TARGET", target)])
    }

    /// Has the agent run a script.
    pub(super) fn script(&self, mode: ConfinementMode, script: &str, env: &[(&str, &str)]) -> Option<Attack> {
        let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
        self.run(self.policy(mode), "/bin/sh".into(), argv, env)
    }

    /// Has an agent of this test's own user, who may make control groups, run a script with these limits.
    pub(super) fn limited(&self, resources: ResourceLimits, script: &str) -> Option<Attack> {
        let policy = WritePolicy { resources, ..self.policy(ConfinementMode::Auto) };
        let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
        self.supervise(Command::new(MAESTRO), policy, "/bin/sh".into(), argv, &[])
    }

    fn run(&self, policy: WritePolicy, program: PathBuf, argv: Vec<String>, env: &[(&str, &str)]) -> Option<Attack> {
        let mut command = Command::new(MAESTRO);
        as_user(&mut command);
        self.supervise(command, policy, program, argv, env)
    }

    fn supervise(
        &self,
        mut command: Command,
        policy: WritePolicy,
        program: PathBuf,
        argv: Vec<String>,
        env: &[(&str, &str)],
    ) -> Option<Attack> {
        if let Some(closed) = closed_to_user(&self.path("work")).or_else(|| closed_to_user(Path::new(MAESTRO))) {
            skip(&format!("a user without privileges does not get into {}", closed.display()));
            return None;
        }
        let usual = [("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()), ("HOME", text(&self.path("home")))];
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let env: BTreeMap<String, String> =
            usual.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(env).collect();
        let spec = ChildSpec { program, argv, cwd: self.path("work"), env, policy, stdin: ChildStdin::Nothing };
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        command.arg("child").stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut supervisor = command.spawn().unwrap();
        // Our copy of its end closes with this.
        drop(command);
        ours.write_all((serde_json::to_string(&spec).unwrap() + "\n").as_bytes()).unwrap();
        let mut output = String::new();
        supervisor.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        supervisor.wait().unwrap();
        let reports = BufReader::new(ours).lines().map_while(Result::ok);
        let reports: Vec<ChildReport> = reports.filter_map(|line| serde_json::from_str(&line).ok()).collect();
        if let Some(ChildReport::NotStarted { reason }) = reports.last() {
            skip(reason);
            return None;
        }
        let sandbox = reports.iter().find_map(|report| match report {
            ChildReport::Started { sandbox, .. } => Some(sandbox.clone()),
            _ => None,
        });
        let end = reports.into_iter().next_back();
        Some(Attack { output, sandbox: sandbox.unwrap(), end })
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.neighbor.kill();
        let _ = self.neighbor.wait();
    }
}

/// The agent's program and arguments.
fn attacker() -> (PathBuf, Vec<String>) {
    let arguments = ["attacker", "--exact", "attacks::confinement::attacker", "--ignored", "--nocapture"];
    (std::env::current_exe().unwrap(), arguments.map(str::to_owned).to_vec())
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(super) fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
}

/// The same command as a user without privileges; as ourselves where we have none.
pub(super) fn as_user(command: &mut Command) -> &mut Command {
    if rustix::process::getuid().is_root() { command.uid(NOBODY).gid(NOBODY) } else { command }
}

/// A directory above a path that keeps that user out.
fn closed_to_user(path: &Path) -> Option<PathBuf> {
    let is_closed = |path: &&Path| path.metadata().is_ok_and(|found| found.permissions().mode() & 0o001 == 0);
    let mut above = path.ancestors().skip(1).filter(|path| !path.starts_with(env!("CARGO_TARGET_TMPDIR")));
    if rustix::process::getuid().is_root() { above.find(is_closed).map(Path::to_owned) } else { None }
}

/// Gives a directory with all in it to that user; sockets are open for all.
fn give_to_user(path: &Path) {
    if rustix::process::getuid().is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    if path.is_dir() {
        for entry in path.read_dir().unwrap() {
            give_to_user(&entry.unwrap().path());
        }
    } else if !path.is_file() {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
}

pub(super) fn text(path: &Path) -> String {
    path.display().to_string()
}
