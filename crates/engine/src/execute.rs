//! How is an order carried out? As a program, a script or something we can do ourselves, within its limits.

mod environment;
mod globs;
pub(crate) mod programs;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use maestro_core::workflow::run::{Finish, Given, Order, Ticket};

use crate::builtins::{self, Abilities};
use crate::child::{Spec, Stdin};
use crate::process::{self, Ended, How};
use crate::sandbox::{Policy, Sandbox};

pub(crate) use globs::expand;

/// What an order may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long it may take.
    pub time: Duration,
    /// How many bytes of its output are kept.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_mins(1), output: 256 * 1024 }
    }
}

impl Limits {
    /// The usual ones, with the time a definition gives.
    pub fn within(seconds: Option<u32>) -> Self {
        let usual = Self::default();
        Self { time: seconds.map_or(usual.time, |seconds| Duration::from_secs(seconds.into())), ..usual }
    }
}

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

/// Where orders of a run are carried out, and with what.
#[derive(Debug, Clone)]
pub struct Site {
    /// Our own program.
    pub maestro: PathBuf,
    /// Where we keep our data.
    pub home: PathBuf,
    /// What else our own program writes to: its cache, the copies of skill packs.
    pub own: Vec<PathBuf>,
    /// Where programs work.
    pub workspace: PathBuf,
    /// The skills' folders whose programs may be run.
    pub folders: Vec<PathBuf>,
    /// Where programs may write besides.
    pub extra: Vec<PathBuf>,
    /// The run.
    pub run: String,
    /// The environment of this process, of which programs are given a part.
    pub variables: BTreeMap<String, String>,
    /// What whoever runs the workflow can do for us.
    pub abilities: Abilities,
}

/// What came of an order.
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
#[derive(Debug, Clone)]
pub struct Executor {
    site: Site,
}

impl Executor {
    /// One for a run. Programs that it starts find our own one as `maestro`.
    pub fn new(site: Site) -> io::Result<Self> {
        programs::put_on_path(&site.home, &site.maestro)?;
        Ok(Self { site })
    }

    /// Where it carries out orders, and with what.
    pub(crate) fn site(&self) -> &Site {
        &self.site
    }

    /// The same, in another directory.
    pub(crate) fn at(&self, workspace: PathBuf) -> Self {
        Self { site: Site { workspace, ..self.site.clone() } }
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
        match process::run(&self.site.maestro, &spec, limits).await {
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
        let site = &self.site;
        let mut variables = environment::of_program(site, reach);
        let file = programs::find(program, site, variables.get("PATH")).map_err(|error| error.to_string())?;
        let temporary = variables.get("TMPDIR").map(Path::new);
        let policy = Policy::usual(&site.workspace, temporary).allow(site.extra.iter().cloned());
        let policy = match reach {
            Reach::Data => policy.allow(site.own.iter().cloned().chain([site.home.clone()])),
            Reach::Workspace => policy.seal(site.home.clone()),
            Reach::Repository => policy.with_repository(&site.workspace).seal(site.home.clone()),
        };
        variables.extend(env.iter().map(|(name, value)| (name.clone(), value.clone())));
        let argv = std::iter::once(program.to_owned()).chain(arguments).collect();
        let cwd = site.workspace.clone();
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
                    // A file's name is no option, whatever it begins with.
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
        let (pattern, workspace) = (pattern.to_owned(), self.site.workspace.clone());
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
