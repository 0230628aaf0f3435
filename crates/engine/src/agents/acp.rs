//! Driver of agents that speak the Agent Client Protocol.
//!
//! While it waits for a response of the agent, it handles the agent's other messages and the commands of its user. The
//! protocol's own crate keeps what it reads in unbounded queues, which is why it is not used here.

pub(super) mod handshake;
mod model_choice;
mod pending;
mod receive;
mod turn_usage;
mod updates;
pub(super) mod wire;

use std::time::Duration;

use maestro_core::agent::{AgentEvent, LaunchSpec as Way, StopReason, failure_event};
use serde_json::{Value as Json, json};

use super::conversation::{self, AgentChannel, EndingProcess, TurnPhase, next_prompt};
use super::event_sender;
use super::{AgentLaunch, AgentStartError, McpServer, RunningAgent, channel};
use pending::AcpQuestions;
use updates::CallTracker;
use wire::AcpRefusal;

/// How long an agent may take to open a session.
const OPENING: Duration = Duration::from_mins(2);
/// How much of its last output is kept, in case it explains a failure.
const LAST_WORDS: usize = 1024;

/// Starts one.
pub(super) async fn start(launch: AgentLaunch, way: Way) -> Result<RunningAgent, AgentStartError> {
    // A model that its command does not name is set by the protocol.
    let is_named = !way.model.is_empty() || way.model_env.is_some();
    let choices = SessionChoices {
        mode: way.modes.get(&launch.permission).cloned(),
        model: launch.model.clone().filter(|_| !is_named),
    };
    let opened = channel::open(&launch, &way, launch.resume.clone()).await?;
    let (channel, end, session) = AgentChannel::new(opened, launch.prompt.clone());
    let conversation = AcpConversation {
        questions: AcpQuestions::new(channel.pulse.clone()),
        channel,
        calls: CallTracker::default(),
        session: String::new(),
        paid: launch.resume.is_none().then_some(0.0),
        requests: 0,
        agent_name: String::new(),
        last_words: String::new(),
        last_error: String::new(),
    };
    tokio::spawn(conversation.run(launch, choices, end));
    Ok(session)
}

/// What is set once a session is open.
struct SessionChoices {
    /// The protocol's word for what it may do.
    mode: Option<String>,
    model: Option<String>,
}

/// Why there was no response.
enum AcpRequestError {
    Refused(AcpRefusal),
    Over,
}

struct AcpConversation {
    channel: AgentChannel,
    questions: AcpQuestions,
    calls: CallTracker,
    /// The agent's id of its session.
    session: String,
    /// The cost of the session as far as it is known; nothing where it was resumed.
    paid: Option<f64>,
    requests: u64,
    /// What the agent calls itself.
    agent_name: String,
    /// The end of its messages in this turn.
    last_words: String,
    /// The last line of standard error.
    last_error: String,
}

impl AcpConversation {
    async fn run(mut self, launch: AgentLaunch, choices: SessionChoices, end: EndingProcess) {
        let mut explained = self.converse(&launch, &choices).await;
        let ended = conversation::end(&mut self, end).await;
        if let Some(reason) = event_sender::reason(ended, launch.limits) {
            self.channel.teller.send(reason).await;
            explained = true;
        }
        let stop = if self.channel.queue.is_cancelled() { StopReason::Cancelled } else { event_sender::stop(ended) };
        let well = matches!(stop, StopReason::Cancelled | StopReason::Exited { code: 0 });
        if !well && !explained && !self.last_error.is_empty() {
            self.channel.teller.send(failure_event(None, &self.last_error)).await;
        }
        self.channel.teller.send(AgentEvent::Ended { stop, text: None }).await;
    }

    /// Opens a session and sends all prompts. Returns whether a failure was reported.
    async fn converse(&mut self, launch: &AgentLaunch, choices: &SessionChoices) -> bool {
        let pace = self.channel.pace.clone();
        let opened = pace.timeout_running(OPENING, self.open(launch, choices)).await;
        let opened = opened.unwrap_or_else(|| Err(request_refused("no response")));
        if let Err(AcpRequestError::Refused(refusal)) = &opened {
            self.channel.teller.send(failure_event(refusal.status, &refusal.message)).await;
            self.channel.teller.send(AgentEvent::Ended { stop: StopReason::Error, text: None }).await;
        }
        if let Err(no_answer) = opened {
            return matches!(no_answer, AcpRequestError::Refused(_));
        }
        while let Some(prompt) = next_prompt(self).await {
            if self.turn(&prompt).await == TurnResult::Silent {
                return false;
            }
        }
        false
    }

    async fn open(&mut self, launch: &AgentLaunch, choices: &SessionChoices) -> Result<(), AcpRequestError> {
        let agent = self.call(handshake::METHOD, &handshake::initialize_params()).await?;
        handshake::check_protocol(&agent).map_err(AcpRequestError::Refused)?;
        agent["agentInfo"]["name"].as_str().unwrap_or_default().clone_into(&mut self.agent_name);
        let servers: Vec<Json> = launch.mcp.iter().map(server_json).collect();
        let mut place = json!({ "cwd": launch.cwd.display().to_string(), "mcpServers": servers });
        let opened = if let Some(session) = &launch.resume {
            if agent["agentCapabilities"]["loadSession"] != true {
                return Err(request_refused("the agent cannot resume a session"));
            }
            place["sessionId"] = json!(session);
            self.session.clone_from(session);
            self.call("session/load", &place).await?
        } else {
            let opened = self.call("session/new", &place).await?;
            let session = opened["sessionId"]
                .as_str()
                .ok_or_else(|| request_refused("the agent opened a session without an id"))?;
            session.clone_into(&mut self.session);
            opened
        };
        let text = |value: &Json| value.as_str().map(str::to_owned);
        let began = AgentEvent::Began {
            agent_session: Some(self.session.clone()),
            model: choices.model.clone().or_else(|| text(&opened["models"]["currentModelId"])),
            version: handshake::agent_version(&agent),
        };
        self.channel.teller.send(began).await;
        if let Some(mode) = choices.mode.as_deref().filter(|mode| opened["modes"]["currentModeId"] != **mode) {
            // An agent that runs with other permissions than configured must not run.
            self.call("session/set_mode", &json!({ "sessionId": self.session, "modeId": mode })).await?;
        }
        if let Some(model) = &choices.model {
            let request =
                model_choice::model_request(&opened, &self.session, model).map_err(AcpRequestError::Refused)?;
            if let Some(request) = request {
                self.call(request.method, &request.parameters).await?;
            }
        }
        Ok(())
    }

    /// Sends a prompt, and handles messages until the turn ends.
    async fn turn(&mut self, prompt: &str) -> TurnResult {
        self.channel.phase = TurnPhase::Turn;
        self.last_words.clear();
        self.paid = self.paid.or(self.calls.cost());
        // What is reported of an earlier turn is not of this one.
        self.calls.take_requests();
        let parameters = json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": prompt }] });
        let answer = self.call("session/prompt", &parameters).await;
        let interrupted = self.channel.phase == TurnPhase::Interrupted;
        let stop = match answer {
            Ok(result) => {
                let cost = self.calls.cost().zip(self.paid).map(|(all, paid)| all - paid).filter(|cost| *cost > 0.0);
                self.paid = self.calls.cost().or(self.paid);
                let (usage, stop) = updates::turn_end(&result, cost);
                let requests = self.calls.take_requests();
                let usage = turn_usage::at_end(&self.agent_name, usage, requests);
                self.channel.teller.send_all(usage.into_iter().collect()).await;
                let told = updates::told_failure(&self.agent_name, &result, &self.last_words);
                let failure = if stop == StopReason::Error { Some(self.last_words.as_str()) } else { told };
                if let Some(failure) = failure {
                    self.channel.teller.send(failure_event(None, failure)).await;
                }
                if failure.is_some() { StopReason::Error } else { stop }
            }
            Err(AcpRequestError::Refused(_)) if interrupted => StopReason::Cancelled,
            Err(AcpRequestError::Refused(refusal)) => {
                self.channel.teller.send(failure_event(refusal.status, &refusal.message)).await;
                StopReason::Error
            }
            Err(AcpRequestError::Over) => return TurnResult::Silent,
        };
        // Open questions belong to a turn that is over.
        self.cancel_questions().await;
        self.channel.teller.send(AgentEvent::Ended { stop, text: None }).await;
        TurnResult::Completed
    }
}

/// The result of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnResult {
    /// It reported how the turn ended.
    Completed,
    /// Its output ended.
    Silent,
}

fn request_refused(message: &str) -> AcpRequestError {
    AcpRequestError::Refused(AcpRefusal { status: None, message: message.to_owned() })
}

/// A server as the protocol describes it.
fn server_json(server: &McpServer) -> Json {
    let env: Vec<Json> = server.env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let command = server.program.display().to_string();
    json!({ "name": server.name, "command": command, "args": server.arguments, "env": env })
}
