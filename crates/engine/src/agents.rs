//! How is a coding agent started, heard, talked to and ended?
//!
//! Most are handed their prompt and print what they do; Claude Code converses, and others speak the Agent Client
//! Protocol. All are a [`Session`]:
//! events to be read, and a handle. Whoever does not read keeps the agent waiting; whoever lets go of the handle ends it.

mod acp;
mod book;
mod command;
pub mod demo;
mod lines;
pub mod mcp;
mod opened;
mod pace;
pub(crate) mod places;
pub mod probe;
pub mod process;
mod pulse;
mod stream;
mod teller;
mod wishes;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use maestro_core::agent::{
    Agent, AgentEvent, ChoiceKind, Conversation, Driver, Fill, Launch as Way, Permission, PromptBy,
};
use tokio::sync::{mpsc, oneshot, watch};

use crate::child::{Spec, Stdin};
use crate::sandbox::{self, Policy, Sandbox};
pub use lines::LineReader;
use pace::Step;
use process::{Ended, Limits, Over, StartError};

/// How many events wait for whoever reads them.
const WAITING: usize = 64;
/// How long an agent that was told by its protocol to stop may take before it is ended.
const GRACE: Duration = Duration::from_secs(5);
/// How long it may take to end once nobody has anything more to say.
const ENDING: Duration = Duration::from_secs(5);

/// An agent to be started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Our own program, which watches over it.
    pub maestro: PathBuf,
    /// Its entry in the table.
    pub agent: Agent,
    /// The way to speak with it.
    pub driver: Driver,
    /// Its program, where it was found.
    pub program: PathBuf,
    /// Arguments after those of the table.
    pub arguments: Vec<String>,
    /// The model, if not its own choice.
    pub model: Option<String>,
    /// Where it works.
    pub cwd: PathBuf,
    /// Its environment, to which the table adds.
    pub env: BTreeMap<String, String>,
    /// How often it may ask a model's server again by itself.
    pub retries: u32,
    /// What it is told first.
    pub prompt: String,
    /// What its session is called, where it lets us choose: a UUID.
    pub session: String,
    /// The session of its own to go on with instead.
    pub resume: Option<String>,
    /// What it may do without asking.
    pub permission: Permission,
    /// How long it may go on.
    pub limits: Limits,
    /// Where it may write.
    pub policy: Policy,
    /// The MCP servers it is told of by the protocol. Where it does not speak it, its arguments tell of them.
    pub mcp: Vec<McpServer>,
}

/// A program that serves tools to an agent.
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
pub enum LaunchError {
    /// Its program did not begin.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Its prompt cannot be put into a file.
    #[error("its prompt cannot be put into a file: {0}")]
    Prompt(std::io::Error),
    /// None of its arguments names the file with its prompt.
    #[error("none of its arguments says `{{prompt_file}}`, so it would not find its prompt")]
    NoPlaceForPrompt,
    /// It cannot be spoken with so.
    #[error("`{agent}` cannot be spoken with by `{driver}`")]
    NoSuchWay {
        /// The agent.
        agent: String,
        /// The way.
        driver: Driver,
    },
    /// It cannot go on with a session.
    #[error("`{0}` cannot go on with a session; begin a new one that is told what was done")]
    NoResume(
        /// The agent.
        String,
    ),
}

/// Why an agent was not told something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TalkError {
    /// It takes one prompt, and that is all.
    #[error("this agent is told one thing and then works alone; go on with its session to tell it more")]
    OneTurn,
    /// Too much waits for it already.
    #[error("too much waits to be said to it already")]
    Busy,
    /// It asked no such question, or has its answer.
    #[error("it does not wait for an answer to that")]
    NotAsked,
    /// The question cannot be answered so.
    #[error("its question cannot be answered so")]
    NoSuchChoice,
    /// It has ended.
    #[error("it has ended")]
    Ended,
}

impl From<Over> for TalkError {
    fn from(Over: Over) -> Self {
        Self::Ended
    }
}

/// An agent at work.
#[derive(Debug)]
pub struct Session {
    /// What it does. The last event is that it ended; then there is no more.
    pub events: mpsc::Receiver<AgentEvent>,
    /// To talk to it, and to hold on to it.
    pub handle: Handle,
    /// Whether its writes are kept in bounds.
    pub sandbox: Sandbox,
}

/// To talk to an agent. When the last one is gone, the agent ends with everything that came of it.
#[derive(Debug, Clone)]
pub struct Handle {
    process: process::Handle,
    talk: Option<mpsc::Sender<Talk>>,
    agent_session: watch::Receiver<Option<String>>,
}

/// Something for an agent's driver.
#[derive(Debug)]
enum Talk {
    Say {
        text: String,
        done: oneshot::Sender<Result<(), TalkError>>,
    },
    Answer {
        question: String,
        kind: ChoiceKind,
        done: oneshot::Sender<Result<(), TalkError>>,
    },
    /// Stop what you are at.
    Interrupt,
    /// Stop, and end.
    Cancel,
    /// End after what was said so far.
    Finish,
}

impl Handle {
    /// Tells it something more, once it is through with what it is at.
    pub async fn say(&self, text: &str) -> Result<(), TalkError> {
        let (done, said) = oneshot::channel();
        self.talk(Talk::Say { text: text.to_owned(), done }).await?;
        said.await.unwrap_or(Err(TalkError::Ended))
    }

    /// Answers its question.
    pub async fn answer(&self, question: &str, kind: ChoiceKind) -> Result<(), TalkError> {
        let (done, answered) = oneshot::channel();
        self.talk(Talk::Answer { question: question.to_owned(), kind, done }).await?;
        answered.await.unwrap_or(Err(TalkError::Ended))
    }

    /// Has it stop what it is at, and wait for what is said next.
    pub async fn interrupt(&self) -> Result<(), TalkError> {
        self.talk(Talk::Interrupt).await
    }

    /// Has it end once it is through with everything it was told. One that takes one prompt does so anyway.
    pub async fn finish(&self) {
        let _ = self.talk(Talk::Finish).await;
    }

    /// Has it stand still with everything that came of it, and returns once it does. No limit counts meanwhile; what is
    /// said to it waits.
    pub async fn pause(&self) -> Result<(), TalkError> {
        Ok(self.process.pause().await?)
    }

    /// Has it go on after a pause.
    pub async fn go_on(&self) -> Result<(), TalkError> {
        Ok(self.process.go_on().await?)
    }

    /// Ends it and everything that came of it. It is told so first, where it can be; what does not listen is killed.
    pub fn cancel(&self) {
        let Some(talk) = &self.talk else { return self.process.cancel() };
        // Who stands still does not listen.
        if talk.try_send(Talk::Cancel).is_err() || self.process.pace().step() == Step::Stands {
            return self.process.cancel();
        }
        let process = self.process.clone();
        tokio::spawn(async move {
            if tokio::time::timeout(GRACE, process.wait()).await.is_err() {
                process.cancel();
            }
        });
    }

    /// How its process ended, once nothing of it is left.
    pub async fn wait(&self) -> Ended {
        self.process.wait().await
    }

    /// What it calls its session, as soon as that is known: by this it is resumed.
    pub fn agent_session(&self) -> Option<String> {
        self.agent_session.borrow().clone()
    }

    async fn talk(&self, talk: Talk) -> Result<(), TalkError> {
        let driver = self.talk.as_ref().ok_or(TalkError::OneTurn)?;
        driver.send(talk).await.map_err(|_| TalkError::Ended)
    }
}

/// Starts an agent.
pub async fn start(launch: Launch) -> Result<Session, LaunchError> {
    let way = launch
        .agent
        .launch(launch.driver)
        .cloned()
        .ok_or_else(|| LaunchError::NoSuchWay { agent: launch.agent.name.clone(), driver: launch.driver })?;
    if launch.resume.is_some() && !way.can_resume() {
        return Err(LaunchError::NoResume(launch.agent.name));
    }
    let way = if sandbox::is_there() { way.inside_sandbox() } else { way };
    match launch.driver {
        Driver::Json | Driver::Text if way.prompt == PromptBy::Stream => stream::start(launch, way).await,
        Driver::Json | Driver::Text => command::start(launch, way).await,
        Driver::Acp => acp::start(launch, way).await,
    }
}

impl Launch {
    /// What to run.
    fn spec(&self, way: &Way, prompt_file: &str, stdin: Stdin) -> Spec {
        let fresh = Conversation::Fresh(&self.session);
        let fill = Fill {
            conversation: self.resume.as_deref().map_or(fresh, Conversation::Resumed),
            model: self.model.as_deref(),
            prompt_file,
            permission: self.permission,
        };
        let mut argv = vec![self.program.display().to_string()];
        argv.extend(way.arguments(&fill));
        argv.extend(self.arguments.iter().cloned());
        // What the table says of permissions stands, whatever was set before.
        let mut env = self.env.clone();
        env.extend(self.agent.variables(way, &fill, self.retries));
        Spec { program: self.program.clone(), argv, cwd: self.cwd.clone(), env, policy: self.policy.clone(), stdin }
    }

    /// What the agent calls its session, where that is known before it begins.
    fn known_session(&self, way: &Way) -> Option<String> {
        let ours = (!way.session.is_empty()).then(|| self.session.clone());
        self.resume.clone().or(ours)
    }
}
