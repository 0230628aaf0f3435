//! Coding agents: start, events, input and end.
//!
//! Most agents get their prompt and print what they do; Claude Code reads messages, and others speak the Agent Client
//! Protocol. All are a [`RunningAgent`]: a stream of events and a handle. A reader that does not read makes the agent wait;
//! dropping the handle ends it.

mod acp;
mod approvals;
mod channel;
pub(crate) mod chosen_env;
mod command;
mod conversation;
mod cpu_use;
pub mod demo;
mod event_sender;
mod idle;
mod lines;
pub mod mcp_probe;
mod pause;
pub mod probe;
pub mod process;
mod prompt_queue;
mod stream;
pub(crate) mod writable_paths;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use maestro_core::agent::{
    AgentEvent, CodingAgent, ConversationFlags, Driver, LaunchSpec as Way, LaunchValues, Permission,
    PermissionChoiceKind, PromptDelivery,
};
use tokio::sync::{mpsc, oneshot, watch};

use crate::child::{ChildSpec, ChildStdin};
use crate::sandbox::{self, SandboxReport, WritePolicy};
pub use lines::LineReader;
use pause::ProgramState;
use process::{AgentProcess, ProcessEnded, ProcessLimits, ProcessOutcome, ProcessStartError};

/// How many events wait for the reader.
const WAITING: usize = 64;
/// How long an agent may take to stop through its protocol before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// How long it may take to end once there is no more input.
const ENDING: Duration = Duration::from_secs(5);

/// The specification of an agent to start.
#[derive(Debug, Clone)]
pub struct AgentLaunch {
    /// Our own program, which supervises it.
    pub maestro: PathBuf,
    /// Its entry in the table.
    pub agent: CodingAgent,
    /// The protocol to use with it.
    pub driver: Driver,
    /// The path of its program.
    pub program: PathBuf,
    /// Arguments after those of the table.
    pub arguments: Vec<String>,
    /// The model, if not the agent's default.
    pub model: Option<String>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its environment, to which the table adds.
    pub env: BTreeMap<String, String>,
    /// How often it may retry a request to its model provider.
    pub retries: u32,
    /// Its first prompt.
    pub prompt: String,
    /// The id of its session, where we can choose it: a UUID.
    pub session: String,
    /// The session of its own to resume instead.
    pub resume: Option<String>,
    /// What it may do without asking.
    pub permission: Permission,
    /// How long it may run.
    pub limits: ProcessLimits,
    /// Whether it stands still, before it gets its prompt, until it is resumed.
    pub waits: bool,
    /// Where it may write.
    pub policy: WritePolicy,
    /// The MCP servers it receives through its protocol. Without a protocol, its arguments name them.
    pub mcp: Vec<McpServer>,
}

/// An MCP server for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// What it is called.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its variables.
    pub env: BTreeMap<String, String>,
}

/// Why an agent was not started.
#[derive(Debug, thiserror::Error)]
pub enum AgentStartError {
    /// Its program did not start.
    #[error(transparent)]
    Start(#[from] ProcessStartError),
    /// Its prompt cannot be written to a file.
    #[error("cannot write the prompt file: {0}")]
    Prompt(std::io::Error),
    /// None of its arguments names the prompt file.
    #[error("none of its arguments contains `{{prompt_file}}`")]
    NoPlaceForPrompt,
    /// It does not support this driver.
    #[error("`{agent}` does not support the driver `{driver}`")]
    NoSuchWay {
        /// The agent.
        agent: String,
        /// The driver.
        driver: Driver,
    },
    /// It cannot resume a session.
    #[error("`{0}` cannot resume a session; start a new one with a summary of the work so far")]
    NoResume(
        /// The agent.
        String,
    ),
}

/// Why an agent did not accept input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TalkError {
    /// It accepts one prompt only.
    #[error("this agent accepts one prompt only; resume its session to send another")]
    OneTurn,
    /// Too many prompts are waiting.
    #[error("too many prompts are already queued for this agent")]
    Busy,
    /// It has no such open question.
    #[error("the agent has no such open question")]
    NotAsked,
    /// The question does not accept this answer.
    #[error("the question does not accept this answer")]
    NoSuchChoice,
    /// It has ended.
    #[error("the agent has ended")]
    Ended,
}

impl From<ProcessEnded> for TalkError {
    fn from(ProcessEnded: ProcessEnded) -> Self {
        Self::Ended
    }
}

/// A running agent.
#[derive(Debug)]
pub struct RunningAgent {
    /// Its events. The last one is its end.
    pub events: mpsc::Receiver<AgentEvent>,
    /// The handle to talk to it and to keep it alive.
    pub handle: AgentHandle,
    /// What confines it.
    pub sandbox: SandboxReport,
}

/// The handle of an agent. When the last clone is dropped, the agent ends with all its descendants.
#[derive(Debug, Clone)]
pub struct AgentHandle {
    process: process::ProcessHandle,
    talk: Option<mpsc::Sender<DriverCommand>>,
    agent_session: watch::Receiver<Option<String>>,
}

/// A command for an agent's driver.
#[derive(Debug)]
enum DriverCommand {
    Say {
        text: String,
        done: oneshot::Sender<Result<(), TalkError>>,
    },
    Answer {
        question: String,
        kind: PermissionChoiceKind,
        done: oneshot::Sender<Result<(), TalkError>>,
    },
    /// Stop the current turn.
    Interrupt,
    /// Stop, and end.
    Cancel,
    /// End after the queued prompts.
    Finish,
}

impl AgentHandle {
    /// Queues another prompt, for after the current turn.
    pub async fn say(&self, text: &str) -> Result<(), TalkError> {
        let (done, said) = oneshot::channel();
        self.send_command(DriverCommand::Say { text: text.to_owned(), done }).await?;
        said.await.unwrap_or(Err(TalkError::Ended))
    }

    /// Answers its question.
    pub async fn answer(&self, question: &str, kind: PermissionChoiceKind) -> Result<(), TalkError> {
        let (done, answered) = oneshot::channel();
        self.send_command(DriverCommand::Answer { question: question.to_owned(), kind, done }).await?;
        answered.await.unwrap_or(Err(TalkError::Ended))
    }

    /// Stops the current turn, and waits for the next prompt.
    pub async fn interrupt(&self) -> Result<(), TalkError> {
        self.send_command(DriverCommand::Interrupt).await
    }

    /// Ends it after all queued prompts. An agent with a single prompt does so anyway.
    pub async fn finish(&self) {
        // An agent that takes no commands ends by itself, or has ended.
        let _ = self.send_command(DriverCommand::Finish).await;
    }

    /// Lets it go on for this time; after that it is paused until the next call.
    pub fn renew(&self, lease: Duration) {
        self.process.renew(lease);
    }

    /// Pauses it with all its descendants, and returns once they are stopped. No limit counts meanwhile; prompts wait.
    pub async fn pause(&self) -> Result<(), TalkError> {
        Ok(self.process.pause().await?)
    }

    /// Resumes it after a pause.
    pub async fn resume(&self) -> Result<(), TalkError> {
        Ok(self.process.resume().await?)
    }

    /// Ends it and all its descendants: through its protocol where possible, otherwise by a signal.
    pub fn cancel(&self) {
        let Some(talk) = &self.talk else { return self.process.cancel() };
        // A stopped process does not react.
        if talk.try_send(DriverCommand::Cancel).is_err() || self.process.pause_watch().state() == ProgramState::Paused {
            return self.process.cancel();
        }
        let process = self.process.clone();
        tokio::spawn(async move {
            if tokio::time::timeout(GRACE, process.wait()).await.is_err() {
                process.cancel();
            }
        });
    }

    /// How its process ended, once none of its processes is left.
    pub async fn wait(&self) -> ProcessOutcome {
        self.process.wait().await
    }

    /// The agent's id of its session, as soon as it is known; it is needed to resume.
    pub fn agent_session(&self) -> Option<String> {
        self.agent_session.borrow().clone()
    }

    async fn send_command(&self, talk: DriverCommand) -> Result<(), TalkError> {
        let driver = self.talk.as_ref().ok_or(TalkError::OneTurn)?;
        driver.send(talk).await.map_err(|_| TalkError::Ended)
    }
}

/// Starts an agent.
pub async fn start(launch: AgentLaunch) -> Result<RunningAgent, AgentStartError> {
    let way = launch
        .agent
        .launch(launch.driver)
        .cloned()
        .ok_or_else(|| AgentStartError::NoSuchWay { agent: launch.agent.name.clone(), driver: launch.driver })?;
    if launch.resume.is_some() && !way.can_resume() {
        return Err(AgentStartError::NoResume(launch.agent.name));
    }
    let (way, launch) = if sandbox::is_supported() { inside_sandbox(way, launch) } else { (way, launch) };
    match launch.driver {
        Driver::Json | Driver::Text if way.prompt == PromptDelivery::Stream => stream::start(launch, way).await,
        Driver::Json | Driver::Text => command::start(launch, way).await,
        Driver::Acp => acp::start(launch, way).await,
    }
}

/// The same for an agent that our own sandbox holds. One that would only read in its own only reads in ours.
fn inside_sandbox(way: Way, mut launch: AgentLaunch) -> (Way, AgentLaunch) {
    if launch.permission == Permission::Ask && way.sandboxed.contains_key(&Permission::Ask) {
        launch.policy = launch.policy.read_only_workspace(&launch.cwd);
    }
    (way.inside_sandbox(), launch)
}

impl AgentLaunch {
    /// The command to run.
    fn spec(&self, way: &Way, prompt_file: &str, stdin: ChildStdin) -> ChildSpec {
        let fresh = ConversationFlags::Fresh(&self.session);
        let fill = LaunchValues {
            conversation: self.resume.as_deref().map_or(fresh, ConversationFlags::Resumed),
            model: self.model.as_deref(),
            prompt_file,
            permission: self.permission,
        };
        let mut argv = vec![self.program.display().to_string()];
        argv.extend(way.arguments(&fill));
        argv.extend(self.arguments.iter().cloned());
        // The table's permission variables override the caller's.
        let mut env = self.env.clone();
        env.extend(self.agent.variables(way, &fill, self.retries));
        ChildSpec {
            program: self.program.clone(),
            argv,
            cwd: self.cwd.clone(),
            env,
            policy: self.policy.clone(),
            stdin,
        }
    }

    /// Starts its program.
    async fn start_program(&self, spec: &ChildSpec) -> Result<AgentProcess, ProcessStartError> {
        let process = process::start(&self.maestro, spec, self.limits).await?;
        if self.waits && process.handle.pause().await.is_err() {
            tracing::debug!("the agent ended before it was paused");
        }
        Ok(process)
    }

    /// The agent's id of its session, where it is known before the start.
    fn known_session(&self, way: &Way) -> Option<String> {
        let ours = (!way.session.is_empty()).then(|| self.session.clone());
        self.resume.clone().or(ours)
    }
}
