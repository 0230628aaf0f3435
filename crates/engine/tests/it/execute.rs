//! What happens when something is really executed, by a program that does its worst?

mod builtins;
mod confined;
pub(crate) mod ended;
mod given;
mod interrupted;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

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
