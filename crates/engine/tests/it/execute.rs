//! What happens when something is really executed, by a program that does its worst?

mod builtins;
mod confined;
pub(crate) mod ended;
mod given;
mod interrupted;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use maestro_core::workflow::run::{CommandExit, CommandSpec, GivenArgument, Ticket};
use maestro_engine::identity::ProcessIdentity;
use maestro_engine::sandbox::SandboxSettings;
use maestro_engine::{BareHost, ExecutionEnv, ExecutionHost, ExecutionResult, Executor, Host, Limits};
use tempfile::TempDir;

pub(crate) use confined::confined;

/// The program that supervises others here, and that is the demo agent.
pub(crate) const MAESTRO: &str = env!("CARGO_BIN_EXE_maestro-supervisor");

/// A workspace and a data directory that nobody else uses.
pub(crate) struct Place {
    root: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        // Not among temporary files, to which every program may write, unless the whole clone is among them.
        let place = Self { root: TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
        for dir in [place.workspace(), place.home(), place.path("outside"), place.path("tmp")] {
            fs::create_dir_all(dir).unwrap();
        }
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path("work")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home/.maestro")
    }

    pub(crate) fn env(&self) -> ExecutionEnv {
        ExecutionEnv {
            machine: Arc::new(self.machine(BareHost)),
            workspace: self.workspace(),
            folders: Vec::new(),
            run: "run-1".to_owned(),
            socket: None,
        }
    }

    pub(crate) fn machine(&self, host: impl Host) -> ExecutionHost {
        let variables = [
            ("PATH", std::env::var("PATH").unwrap()),
            ("HOME", self.path("home").display().to_string()),
            ("TMPDIR", self.path("tmp").display().to_string()),
            ("SECRET_TOKEN", "hidden".to_owned()),
        ];
        ExecutionHost {
            host: Arc::new(host),
            maestro: MAESTRO.into(),
            home: self.home(),
            own_dirs: Vec::new(),
            shared_dirs: Vec::new(),
            sandbox: SandboxSettings::default(),
            variables: variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            identity: ProcessIdentity::of_this_process(),
            sockets: None,
        }
    }

    /// Executes an order to its end.
    fn execute(&self, order: &CommandSpec, limits: Limits) -> ExecutionResult {
        let executor = executor(self.env());
        runtime().block_on(executor.execute(order, &ticket(), limits))
    }

    /// Runs a script.
    fn shell(&self, script: &str) -> CommandExit {
        self.execute(&shell(script, &[]), Limits::default()).finish
    }
}

pub(crate) fn executor(env: ExecutionEnv) -> Executor {
    runtime().block_on(Executor::new(env)).unwrap()
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn ticket() -> Ticket {
    Ticket::quoted("step#1.abc")
}

pub(crate) fn shell(script: &str, env: &[(&str, &str)]) -> CommandSpec {
    let env: BTreeMap<String, String> =
        env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    CommandSpec::Shell { script: script.to_owned(), env }
}

fn program(program: &str, arguments: &[&str]) -> CommandSpec {
    let arguments = arguments.iter().map(|text| GivenArgument::Text((*text).to_owned())).collect();
    CommandSpec::Program { program: program.to_owned(), arguments }
}

fn exited(code: i32, output: &str) -> CommandExit {
    CommandExit::Exited { code, output: output.to_owned() }
}

/// Waits until something is so; the machine may be slow.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it never came to be so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The process whose number a program wrote into a file, once all of it is there; 0 where it has ended.
pub(crate) fn number_in(path: &Path) -> u32 {
    let read = || fs::read_to_string(path).ok()?.strip_suffix('\n')?.trim().parse().ok();
    wait_until(&format!("{} has a number", path.display()), || read().is_some());
    process_in(path, read().unwrap()).unwrap_or(0)
}

/// The process that has this number in its own namespace, and works beside this file or anywhere in the same test.
pub(crate) fn process_in(file: &Path, number: u32) -> Option<u32> {
    let is_root = |path: &&Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".tmp"));
    let root = file.ancestors().find(is_root).or(file.parent()).unwrap();
    let is_meant = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
        let there = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(root));
        there && numbers.split_whitespace().last() == Some(number.to_string().as_str())
    };
    let pids = fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(is_meant).filter(|pid| is_alive(*pid))
}

/// Whether a process is there, and not only waited for.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}
