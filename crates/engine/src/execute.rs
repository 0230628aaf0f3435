//! Execution of an order as a program, a script or a built-in, within its limits.

mod builtins;
mod environment;
mod globs;
mod program_extras;
pub(crate) mod programs;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use maestro_core::workflow::run::{CommandExit, CommandSpec, GivenArgument, ProgramContext, Ticket};

use crate::blocking;
use crate::child::{ChildSpec, ChildStdin};
use crate::host::{self, ExecutionHost, Host, HostError};
pub use crate::process::Limits;
use crate::process::{self, ProgramExit, ProgramResult};
use crate::sandbox::{ConfinementMode, SandboxReport, WritePolicy};
use crate::scratch::ScratchDir;
use crate::sealed_copies::SealedCopies;
use crate::trust::CoveredFile;
use program_extras::ProgramExtras;

pub use builtins::CommitVerdict;
pub(crate) use builtins::plan_text;
pub(crate) use globs::expand;

/// What a program can reach besides its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SandboxReach {
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
    /// The socket by which its programs call.
    pub socket: Option<PathBuf>,
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
pub struct ExecutionResult {
    /// How it ended.
    pub finish: CommandExit,
    /// What confined a program; nothing where none ran.
    pub sandbox: Option<SandboxReport>,
}

impl From<CommandExit> for ExecutionResult {
    fn from(finish: CommandExit) -> Self {
        Self { finish, sandbox: None }
    }
}

/// Carries out the orders of one run.
#[derive(Clone)]
pub struct Executor {
    env: ExecutionEnv,
    copies: Arc<SealedCopies>,
    /// The temporary files of its programs, which end with it.
    scratch: Arc<OnceLock<ScratchDir>>,
    /// What the current step gives its program.
    extras: Arc<ProgramExtras>,
}

impl Executor {
    /// One for a run. Programs that it starts find our own one as `maestro`.
    pub async fn new(env: ExecutionEnv) -> io::Result<Self> {
        let machine = Arc::clone(&env.machine);
        blocking::run(move || programs::put_on_path(&machine.home, &machine.maestro)).await?;
        Ok(Self { env, copies: Arc::default(), scratch: Arc::default(), extras: Arc::default() })
    }

    /// The same, with copies in place of the files that they were made of.
    pub(crate) fn with_copies(&self, copies: SealedCopies) -> Self {
        Self { copies: Arc::new(copies), ..self.clone() }
    }

    /// Where it carries out orders, and with what.
    pub(crate) fn env(&self) -> &ExecutionEnv {
        &self.env
    }

    /// The same, with copies of files of the workspace as they were read.
    pub(crate) async fn with_files(&self, files: Vec<CoveredFile>) -> Result<Self, String> {
        let (home, workspace) = (self.env.machine.home.clone(), self.env.workspace.clone());
        let copies = blocking::run(move || SealedCopies::of_files(&home, &workspace, &files)).await;
        copies.map(|copies| self.with_copies(copies)).map_err(|error| format!("cannot copy what is checked: {error}"))
    }

    /// The same, for programs that execute what an agent may have written, as checks do: they cannot call Maestro.
    pub(crate) fn without_socket(&self) -> Self {
        let env = ExecutionEnv { socket: None, ..self.env.clone() };
        Self { env, ..self.clone() }
    }

    /// The same, for a program that a step gives variables, a directory or secrets.
    pub async fn with_context(&self, context: &ProgramContext) -> Result<Self, String> {
        if *context == ProgramContext::default() {
            return Ok(self.clone());
        }
        let (context, env) = (context.clone(), self.env.clone());
        let extras = blocking::run(move || ProgramExtras::of(&context, &env.workspace, &env.machine.variables)).await?;
        Ok(Self { extras: Arc::new(extras), ..self.clone() })
    }

    /// The same, in another directory.
    pub(crate) fn at(&self, workspace: PathBuf) -> Self {
        let env = ExecutionEnv { workspace, ..self.env.clone() };
        Self { env, ..self.clone() }
    }

    /// Carries out an order. Dropping the future ends whatever it started.
    ///
    /// The visit is the same however often it is executed: by it, what was done before a crash is known.
    pub async fn execute(&self, order: &CommandSpec, visit: &Ticket, limits: Limits) -> ExecutionResult {
        match order {
            CommandSpec::Program { program, arguments } => match self.expand_arguments(arguments).await {
                Ok(arguments) => self.program(program, arguments, limits).await,
                Err(reason) => CommandExit::Failed(reason).into(),
            },
            CommandSpec::Shell { script, env } => {
                let arguments = vec!["-c".to_owned(), script.clone()];
                self.run("sh", arguments, env, SandboxReach::Workspace, limits).await
            }
            CommandSpec::Builtin { builtin, arguments } => {
                builtins::perform(self, *builtin, arguments, visit, limits).await.into()
            }
        }
    }

    /// Runs the project's checks on a commit that is checked out nowhere yet, in a worktree that is removed afterwards.
    pub async fn check_commit(&self, commit: &str, limits: Limits) -> CommitVerdict {
        builtins::check_commit(self, commit, limits).await
    }

    /// Runs a program with these very arguments.
    pub(crate) async fn program(&self, program: &str, arguments: Vec<String>, limits: Limits) -> ExecutionResult {
        let reach = if program == programs::OWN { SandboxReach::Data } else { SandboxReach::Workspace };
        self.run(program, arguments, &BTreeMap::new(), reach, limits).await
    }

    pub(crate) async fn run(
        &self,
        program: &str,
        arguments: Vec<String>,
        env: &BTreeMap<String, String>,
        reach: SandboxReach,
        limits: Limits,
    ) -> ExecutionResult {
        let (executor, name, env) = (self.clone(), program.to_owned(), env.clone());
        let spec = match blocking::run(move || executor.spec(&name, arguments, &env, reach)).await {
            Ok(spec) => spec,
            Err(reason) => return CommandExit::Failed(reason).into(),
        };
        match process::run(&self.env.machine.maestro, &spec, limits).await {
            Ok(ended) => ExecutionResult { sandbox: ended.sandbox.clone(), finish: self.extras.mask(finish(ended)) },
            Err(error) => CommandExit::Failed(format!("`{program}` cannot be started: {error}")).into(),
        }
    }

    /// The program with all that it is started with. It reads files.
    fn spec(
        &self,
        program: &str,
        arguments: Vec<String>,
        env: &BTreeMap<String, String>,
        reach: SandboxReach,
    ) -> Result<ChildSpec, String> {
        let machine = &self.env.machine;
        let workspace = &self.env.workspace;
        let mut variables = environment::of_program(&self.env, reach);
        let cwd = self.cwd();
        let path = variables.get("PATH");
        let file = programs::find(program, &self.env, cwd, path).map_err(|error| error.to_string())?;
        let scratch = self.scratch().map_err(|error| format!("cannot create its temporary directory: {error}"))?;
        let policy = WritePolicy::default_policy(workspace, Some(scratch)).allow(machine.shared_dirs.iter().cloned());
        let policy = match reach {
            // Our own program must see the processes that it asks about.
            SandboxReach::Data => WritePolicy { confinement: ConfinementMode::Landlock, ..policy }
                .allow(machine.own_dirs.iter().cloned().chain([machine.home.clone()])),
            SandboxReach::Workspace => policy.hide_data(&machine.home, &machine.sandbox),
            // It runs no program of the repository, and is called a dozen times for each task: namespaces would cost most.
            SandboxReach::Repository => WritePolicy {
                confinement: ConfinementMode::Landlock,
                ..policy.with_repository(workspace).hide_data(&machine.home, &machine.sandbox)
            },
        };
        let policy = policy.show(self.env.folders.iter().cloned().chain(self.copies.place()));
        variables.insert("TMPDIR".to_owned(), scratch.display().to_string());
        let given = self.extras.env.iter().chain(env);
        variables.extend(given.map(|(name, value)| (name.clone(), self.copies.redirect_text(value))));
        variables.extend(self.extras.secrets.clone());
        let argv: Vec<String> = std::iter::once(program.to_owned()).chain(arguments).collect();
        let (file, argv) = self.copies.redirect(workspace, cwd, &file, &argv);
        Ok(ChildSpec { program: file, argv, cwd: cwd.to_owned(), env: variables, policy, stdin: ChildStdin::Nothing })
    }

    /// The directory that its program works in.
    fn cwd(&self) -> &Path {
        self.extras.cwd.as_deref().unwrap_or(&self.env.workspace)
    }

    /// The directory for temporary files of its programs.
    fn scratch(&self) -> io::Result<&Path> {
        if let Some(scratch) = self.scratch.get() {
            return Ok(scratch.path());
        }
        let created = ScratchDir::create("run", self.env.machine.variables.get("TMPDIR").map(Path::new))?;
        Ok(self.scratch.get_or_init(|| created).path())
    }

    /// The arguments with every pattern replaced by the files that match it.
    pub(crate) async fn expand_arguments(&self, arguments: &[GivenArgument]) -> Result<Vec<String>, String> {
        let mut words = Vec::new();
        for argument in arguments {
            match argument {
                GivenArgument::Text(text) => words.push(text.clone()),
                GivenArgument::Glob(pattern) => {
                    let (wanted, cwd) = (pattern.clone(), self.cwd().to_owned());
                    let found =
                        blocking::run(move || expand(&wanted, &cwd)).await.map_err(|error| error.to_string())?;
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
        blocking::run(move || expand(&pattern, &workspace)).await.map_err(|error| error.to_string())
    }
}

fn finish(ended: ProgramResult) -> CommandExit {
    let stderr = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
    let and_why = |what: String| if stderr.is_empty() { what } else { format!("{what}: {stderr}") };
    match ended.how {
        ProgramExit::Exited(code) => {
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
            CommandExit::Exited { code, output }
        }
        ProgramExit::Killed(signal) => CommandExit::Failed(and_why(format!("killed by signal {signal}"))),
        ProgramExit::TimedOut => CommandExit::TimedOut,
        ProgramExit::NotStarted(reason) => CommandExit::Failed(reason),
    }
}
