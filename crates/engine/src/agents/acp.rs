//! Driver of agents that speak the Agent Client Protocol.
//!
//! One task holds the conversation and does one thing at a time: while it waits for a response of the agent, it handles
//! the agent's other messages and the commands of its user. Nothing is read before the last message was passed on, so
//! an agent that floods us waits; the protocol's own crate keeps what it reads in unbounded queues, which is why it is
//! not used here.

pub(super) mod greeting;
mod hearing;
mod questions;
mod told;
pub(super) mod wire;

use std::time::Duration;

use maestro_core::agent::{AgentEvent, Launch as Way, Stop, trouble};
use serde_json::{Value as Json, json};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, watch};

use super::lines::LineReader;
use super::pace::Pace;
use super::process::{Because, Ended, How, Input, WeakHandle};
use super::pulse::Pulse;
use super::teller::{self, Teller};
use super::wishes::{Next, Wishes};
use super::{ENDING, Launch, LaunchError, McpServer, Session, Talk, opened};
use questions::Questions;
use told::Known;
use wire::{Message, Refusal};

/// How long an agent may take to open a session.
const OPENING: Duration = Duration::from_mins(2);
/// How much of its last output is kept, in case it explains a failure.
const LAST_WORDS: usize = 1024;

/// Starts one.
pub(super) async fn start(launch: Launch, way: Way) -> Result<Session, LaunchError> {
    let mode = way.modes.get(&launch.permission).cloned();
    let opened = opened::open(&launch, &way, launch.resume.clone()).await?;
    let conversation = Conversation {
        stdout: opened.stdout,
        stderr: Some(opened.stderr),
        input: opened.input,
        talk: Some(opened.talk),
        teller: opened.teller,
        questions: Questions::new(opened.pulse.clone()),
        pulse: opened.pulse,
        pace: opened.pace,
        known: Known::default(),
        session: String::new(),
        paid: launch.resume.is_none().then_some(0.0),
        requests: 0,
        phase: Phase::Opening,
        wishes: Wishes::new(launch.prompt.clone()),
        last_words: String::new(),
        last_error: String::new(),
    };
    tokio::spawn(conversation.hold(launch, mode, opened.ended, opened.weak));
    Ok(opened.session)
}

/// The activity of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It opens a session; what it reports is a replay.
    Opening,
    /// It works.
    Turn,
    /// It was asked to stop.
    Interrupted,
    /// It waits for us.
    Between,
}

/// An incoming message.
enum Heard {
    Message(Message),
    Talk(Talk),
    /// End of its output.
    Over,
}

/// Why there was no response.
enum NoAnswer {
    Refused(Refusal),
    Over,
}

struct Conversation {
    stdout: LineReader<ChildStdout>,
    stderr: Option<LineReader<ChildStderr>>,
    input: Input,
    talk: Option<mpsc::Receiver<Talk>>,
    teller: Teller,
    questions: Questions,
    pulse: Pulse,
    pace: Pace,
    known: Known,
    /// The agent's id of its session.
    session: String,
    /// The cost of the session as far as it is known; nothing where it was resumed.
    paid: Option<f64>,
    requests: u64,
    phase: Phase,
    wishes: Wishes,
    /// The end of its messages in this turn.
    last_words: String,
    /// The last line of standard error.
    last_error: String,
}

impl Conversation {
    async fn hold(
        mut self,
        launch: Launch,
        mode: Option<String>,
        mut ended: watch::Receiver<Option<Ended>>,
        process: WeakHandle,
    ) {
        let mut explained = self.converse(&launch, mode.as_deref()).await;
        self.input.close().await;
        self.questions.give_up();
        // An agent without input ends by itself; one that does not is killed, and may be silent until then.
        let _hold = self.pulse.hold();
        let pace = self.pace.clone();
        let lingers = pace.within(ENDING, self.hear_out()).await.is_none();
        if lingers {
            process.cancel();
            self.hear_out().await;
        }
        let known = ended.wait_for(Option::is_some).await.ok().and_then(|ended| *ended);
        let mut ended = known.unwrap_or(Ended { how: How::Lost, because: None });
        if lingers && ended.because == Some(Because::Cancelled) {
            ended.because = None;
        }
        if let Some(reason) = teller::reason(ended, launch.limits) {
            self.teller.tell(reason).await;
            explained = true;
        }
        let stop = if self.wishes.is_cancelled() { Stop::Cancelled } else { teller::stop(ended) };
        let well = matches!(stop, Stop::Cancelled | Stop::Exited { code: 0 });
        if !well && !explained && !self.last_error.is_empty() {
            self.teller.tell(trouble(None, &self.last_error)).await;
        }
        self.teller.tell(AgentEvent::Ended { stop, text: None }).await;
    }

    /// Opens a session and sends all prompts. Returns whether a failure was reported.
    async fn converse(&mut self, launch: &Launch, mode: Option<&str>) -> bool {
        let pace = self.pace.clone();
        let opened = pace.within(OPENING, self.open(launch, mode)).await;
        let opened = opened.unwrap_or_else(|| Err(refused("no response")));
        if let Err(NoAnswer::Refused(refusal)) = &opened {
            self.teller.tell(trouble(refusal.status, &refusal.message)).await;
            self.teller.tell(AgentEvent::Ended { stop: Stop::Error, text: None }).await;
        }
        if let Err(no_answer) = opened {
            return matches!(no_answer, NoAnswer::Refused(_));
        }
        while let Some(prompt) = self.next_prompt().await {
            if self.turn(&prompt).await == Went::Silent {
                return false;
            }
        }
        false
    }

    async fn open(&mut self, launch: &Launch, mode: Option<&str>) -> Result<(), NoAnswer> {
        let agent = self.call(greeting::METHOD, &greeting::hello()).await?;
        greeting::understood(&agent).map_err(NoAnswer::Refused)?;
        let servers: Vec<Json> = launch.mcp.iter().map(server).collect();
        let mut place = json!({ "cwd": launch.cwd.display().to_string(), "mcpServers": servers });
        let opened = if let Some(session) = &launch.resume {
            if agent["agentCapabilities"]["loadSession"] != true {
                return Err(refused("the agent cannot resume a session"));
            }
            place["sessionId"] = json!(session);
            self.session.clone_from(session);
            self.call("session/load", &place).await?
        } else {
            let opened = self.call("session/new", &place).await?;
            let session =
                opened["sessionId"].as_str().ok_or_else(|| refused("the agent opened a session without an id"))?;
            session.clone_into(&mut self.session);
            opened
        };
        let text = |value: &Json| value.as_str().map(str::to_owned);
        let began = AgentEvent::Began {
            agent_session: Some(self.session.clone()),
            model: text(&opened["models"]["currentModelId"]),
            version: greeting::version(&agent),
        };
        self.teller.tell(began).await;
        if let Some(mode) = mode.filter(|mode| opened["modes"]["currentModeId"] != **mode) {
            // An agent that runs with other permissions than configured must not run.
            self.call("session/set_mode", &json!({ "sessionId": self.session, "modeId": mode })).await?;
        }
        Ok(())
    }

    /// The next prompt, once there is one; nothing when it must end.
    async fn next_prompt(&mut self) -> Option<String> {
        self.phase = Phase::Between;
        let _hold = self.pulse.hold();
        loop {
            match self.wishes.next() {
                Next::Prompt(prompt) => return Some(prompt),
                Next::Wait => {}
                Next::End => return None,
            }
            match self.hear().await {
                Heard::Message(message) => self.handle(message).await,
                Heard::Talk(talk) => self.obey(talk).await,
                Heard::Over => return None,
            }
        }
    }

    /// Sends a prompt, and handles messages until the turn ends.
    async fn turn(&mut self, prompt: &str) -> Went {
        self.phase = Phase::Turn;
        self.last_words.clear();
        self.paid = self.paid.or(self.known.cost());
        let parameters = json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": prompt }] });
        let answer = self.call("session/prompt", &parameters).await;
        let interrupted = self.phase == Phase::Interrupted;
        let stop = match answer {
            Ok(result) => {
                let cost = self.known.cost().zip(self.paid).map(|(all, paid)| all - paid).filter(|cost| *cost > 0.0);
                self.paid = self.known.cost().or(self.paid);
                let (usage, stop) = told::turn(&result, cost);
                self.teller.tell_all(usage.into_iter().collect()).await;
                if stop == Stop::Error {
                    self.teller.tell(trouble(None, &self.last_words)).await;
                }
                stop
            }
            Err(NoAnswer::Refused(_)) if interrupted => Stop::Cancelled,
            Err(NoAnswer::Refused(refusal)) => {
                self.teller.tell(trouble(refusal.status, &refusal.message)).await;
                Stop::Error
            }
            Err(NoAnswer::Over) => return Went::Silent,
        };
        // Open questions belong to a turn that is over.
        self.give_up_questions().await;
        self.teller.tell(AgentEvent::Ended { stop, text: None }).await;
        Went::Through
    }
}

/// The result of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Went {
    /// It reported how the turn ended.
    Through,
    /// Its output ended.
    Silent,
}

fn refused(message: &str) -> NoAnswer {
    NoAnswer::Refused(Refusal { status: None, message: message.to_owned() })
}

/// A server as the protocol describes it.
fn server(server: &McpServer) -> Json {
    let env: Vec<Json> = server.env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let command = server.program.display().to_string();
    json!({ "name": server.name, "command": command, "args": server.arguments, "env": env })
}
