//! Execution of an order as a program, a script or a built-in, within its limits.

mod builtins;
mod environment;
mod globs;
pub(crate) mod programs;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use maestro_core::workflow::run::{Finish, Given, Order, Ticket};

use crate::child::{Spec, Stdin};
use crate::host::{self, ExecutionHost, Host, HostError};
pub use crate::process::Limits;
use crate::process::{self, Ended, How};
use crate::sandbox::{Policy, Sandbox};

pub(crate) use globs::expand;

/// What a program can reach besides its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Nothing.
    Workspace,
    /// All of its repository: git, called by ourselves.
    Repository,
    /// Our data, and who we speak for: our own program.
    Data,
}

/// Where the orders of one run are executed, and with what.
#[derive(Clone)]
pub struct ExecutionEnv {
    /// What all executions on this machine share.
    pub machine: Arc<ExecutionHost>,
    /// The directory programs work in.
    pub workspace: PathBuf,
    /// The skills' folders whose programs may be run.
    pub folders: Vec<PathBuf>,
    /// The run's id.
    pub run: String,
}

impl ExecutionEnv {
    /// Asks the host about the workspace, on a thread that may wait for files.
    pub(crate) async fn ask_host<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Host, &Path) -> Result<T, HostError> + Send + 'static,
    ) -> Result<T, HostError> {
        let workspace = self.workspace.clone();
        host::ask(&self.machine.host, move |host| question(host, &workspace)).await
    }
}

/// The result of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    /// How it ended.
    pub finish: Finish,
    /// Whether a program's writes were kept in bounds; nothing where no program ran.
    pub sandbox: Option<Sandbox>,
}

impl From<Finish> for Executed {
    fn from(finish: Finish) -> Self {
        Self { finish, sandbox: None }
    }
}

/// Carries out the orders of one run.
#[derive(Clone)]
pub struct Executor {
    env: ExecutionEnv,
}

impl Executor {
    /// One for a run. Programs that it starts find our own one as `maestro`.
    pub fn new(env: ExecutionEnv) -> io::Result<Self> {
        programs::put_on_path(&env.machine.home, &env.machine.maestro)?;
        Ok(Self { env })
    }

    /// Where it carries out orders, and with what.
    pub(crate) fn env(&self) -> &ExecutionEnv {
        &self.env
    }

    /// The same, in another directory.
    pub(crate) fn at(&self, workspace: PathBuf) -> Self {
        Self { env: ExecutionEnv { workspace, ..self.env.clone() } }
    }

    /// Carries out an order. Dropping the future ends whatever it started.
    ///
    /// The ticket says for which visit of which step it is.
    pub async fn execute(&self, order: &Order, ticket: &Ticket, limits: Limits) -> Executed {
        match order {
            Order::Program { program, arguments } => match self.given(arguments).await {
                Ok(arguments) => self.program(program, arguments, limits).await,
                Err(reason) => Finish::Failed(reason).into(),
            },
            Order::Shell { script, env } => {
                let arguments = vec!["-c".to_owned(), script.clone()];
                self.run("sh", arguments, env, Reach::Workspace, limits).await
            }
            Order::Builtin { builtin, arguments } => {
                builtins::perform(self, *builtin, arguments, ticket, limits).await.into()
            }
        }
    }

    /// Runs a program with these very arguments.
    pub(crate) async fn program(&self, program: &str, arguments: Vec<String>, limits: Limits) -> Executed {
        let reach = if program == programs::OWN { Reach::Data } else { Reach::Workspace };
        self.run(program, arguments, &BTreeMap::new(), reach, limits).await
    }

    pub(crate) async fn run(
        &self,
        program: &str,
        arguments: Vec<String>,
        env: &BTreeMap<String, String>,
        reach: Reach,
        limits: Limits,
    ) -> Executed {
        let spec = match self.spec(program, arguments, env, reach) {
            Ok(spec) => spec,
            Err(reason) => return Finish::Failed(reason).into(),
        };
        match process::run(&self.env.machine.maestro, &spec, limits).await {
            Ok(ended) => Executed { sandbox: ended.sandbox, finish: finish(ended) },
            Err(error) => Finish::Failed(format!("`{program}` cannot be started: {error}")).into(),
        }
    }

    fn spec(
        &self,
        program: &str,
        arguments: Vec<String>,
        env: &BTreeMap<String, String>,
        reach: Reach,
    ) -> Result<Spec, String> {
        let machine = &self.env.machine;
        let workspace = &self.env.workspace;
        let mut variables = environment::of_program(&self.env, reach);
        let file = programs::find(program, &self.env, variables.get("PATH")).map_err(|error| error.to_string())?;
        let temporary = variables.get("TMPDIR").map(Path::new);
        let policy = Policy::usual(workspace, temporary).allow(machine.shared_dirs.iter().cloned());
        let policy = match reach {
            Reach::Data => policy.allow(machine.own_dirs.iter().cloned().chain([machine.home.clone()])),
            Reach::Workspace => policy.seal(machine.home.clone()),
            Reach::Repository => policy.with_repository(workspace).seal(machine.home.clone()),
        };
        variables.extend(env.iter().map(|(name, value)| (name.clone(), value.clone())));
        let argv = std::iter::once(program.to_owned()).chain(arguments).collect();
        let cwd = workspace.clone();
        Ok(Spec { program: file, argv, cwd, env: variables, policy, stdin: Stdin::Nothing })
    }

    /// The arguments with every pattern replaced by the files that match it.
    pub(crate) async fn given(&self, arguments: &[Given]) -> Result<Vec<String>, String> {
        let mut words = Vec::new();
        for argument in arguments {
            match argument {
                Given::Text(text) => words.push(text.clone()),
                Given::Glob(pattern) => {
                    let found = self.files(pattern).await?;
                    // A file name is never an option, whatever its first character is.
                    words.extend(
                        found.into_iter().map(|name| if name.starts_with('-') { format!("./{name}") } else { name }),
                    );
                }
            }
        }
        Ok(words)
    }

    /// The files of the workspace that match a pattern.
    pub(crate) async fn files(&self, pattern: &str) -> Result<Vec<String>, String> {
        let (pattern, workspace) = (pattern.to_owned(), self.env.workspace.clone());
        let found = tokio::task::spawn_blocking(move || expand(&pattern, &workspace)).await;
        found.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }
}

fn finish(ended: Ended) -> Finish {
    let stderr = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
    let and_why = |what: String| if stderr.is_empty() { what } else { format!("{what}: {stderr}") };
    match ended.how {
        How::Exited(code) => {
            let mut output = String::from_utf8_lossy(&ended.stdout).into_owned();
            if ended.cut > 0 {
                let _ = write!(output, "\n[{} more bytes were cut]\n", ended.cut);
            }
            if code != 0 && !stderr.is_empty() {
                if !output.is_empty() && !output.ends_with('\n') {
                    output.push('\n');
                }
                output.push_str(&stderr);
            }
            Finish::Exited { code, output }
        }
        How::Killed(signal) => Finish::Failed(and_why(format!("killed by signal {signal}"))),
        How::TimedOut => Finish::TimedOut,
        How::NotStarted(reason) => Finish::Failed(reason),
    }
}
