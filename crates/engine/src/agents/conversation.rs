//! Conversation with an agent: the loop that all drivers share which talk to their agent while it works.
//!
//! One task holds the conversation and does one thing at a time: it handles the agent and its user in turn. Nothing is
//! read before what was read last has been passed on, so an agent that floods us waits.

use std::ops::ControlFlow;

use maestro_core::agent::{AgentEvent, OutputLine, PermissionChoiceKind};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, watch};

use super::channel::OpenedAgent;
use super::event_sender::EventSender;
use super::idle::IdleTimer;
use super::lines::{LineReader, next_of};
use super::pause::PauseWatch;
use super::process::{KillReason, ProcessExit, ProcessInput, ProcessOutcome, WeakProcessHandle};
use super::prompt_queue::{NextPrompt, PromptQueue, next_command};
use super::{DriverCommand, ENDING, RunningAgent, TalkError};

/// What the agent is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnPhase {
    /// It opens a session.
    Opening,
    /// It works.
    Turn,
    /// It was asked to stop.
    Interrupted,
    /// It waits for us.
    Between,
    /// The conversation is over; only the process is still there.
    Over,
}

/// The next input of a conversation.
pub(super) enum TalkInput {
    /// A line of the agent's.
    Line(OutputLine),
    /// A wish of its user's.
    Talk(DriverCommand),
    /// The agent says no more.
    Over,
}

/// The ways to an agent and back, whatever it speaks.
pub(super) struct AgentChannel {
    stdout: LineReader<ChildStdout>,
    stderr: Option<LineReader<ChildStderr>>,
    talk: Option<mpsc::Receiver<DriverCommand>>,
    pub(super) input: ProcessInput,
    pub(super) teller: EventSender,
    pub(super) pulse: IdleTimer,
    pub(super) pace: PauseWatch,
    pub(super) queue: PromptQueue,
    pub(super) phase: TurnPhase,
}

/// What tells how the agent's process ends, and ends it.
pub(super) struct EndingProcess {
    ended: watch::Receiver<Option<ProcessOutcome>>,
    process: WeakProcessHandle,
}

impl AgentChannel {
    /// The channel to an agent that was started, with the first prompt.
    pub(super) fn new(opened: OpenedAgent, prompt: String) -> (Self, EndingProcess, RunningAgent) {
        let channel = Self {
            stdout: opened.stdout,
            stderr: Some(opened.stderr),
            talk: Some(opened.talk),
            input: opened.input,
            teller: opened.sender,
            pulse: opened.idle,
            pace: opened.pause,
            queue: PromptQueue::new(prompt),
            phase: TurnPhase::Opening,
        };
        (channel, EndingProcess { ended: opened.ended, process: opened.weak }, opened.session)
    }
}

/// What differs from protocol to protocol.
pub(super) trait AgentProtocol: Send {
    fn channel(&mut self) -> &mut AgentChannel;

    /// Passes on what a line says.
    fn handle(&mut self, line: OutputLine) -> impl Future<Output = ()> + Send;

    /// Passes on a line of standard error.
    fn handle_stderr(&mut self, line: OutputLine) -> impl Future<Output = ()> + Send;

    /// Answers a question; returns the line for the agent.
    fn answer(&mut self, question: &str, kind: PermissionChoiceKind) -> Result<String, TalkError>;

    /// The lines that stop its turn.
    fn interruption(&mut self) -> Vec<String>;

    /// Forgets what the agent asked.
    fn forget_questions(&mut self);
}

/// The next input. What the agent complains of meanwhile is passed on.
pub(super) async fn receive_input<P: AgentProtocol>(protocol: &mut P) -> TalkInput {
    loop {
        let channel = protocol.channel();
        let complaint = tokio::select! {
            line = channel.stdout.next() => return line.map_or(TalkInput::Over, TalkInput::Line),
            line = next_of(&mut channel.stderr) => line,
            talk = next_command(channel.talk.as_mut()) => {
                if let Some(talk) = talk {
                    return TalkInput::Talk(talk);
                }
                channel.talk = None;
                continue;
            }
        };
        match complaint {
            Some(line) => protocol.handle_stderr(line).await,
            None => protocol.channel().stderr = None,
        }
    }
}

/// The next prompt, once there is one; nothing when the agent is to end.
pub(super) async fn next_prompt<P: AgentProtocol>(protocol: &mut P) -> Option<String> {
    protocol.channel().phase = TurnPhase::Between;
    let _hold = protocol.channel().pulse.suspend();
    loop {
        match protocol.channel().queue.next() {
            NextPrompt::Prompt(prompt) => return Some(prompt),
            NextPrompt::Wait => {}
            NextPrompt::End => return None,
        }
        if step(protocol).await.is_break() {
            return None;
        }
    }
}

/// Handles one input; breaks at the end of the agent's output.
pub(super) async fn step<P: AgentProtocol>(protocol: &mut P) -> ControlFlow<()> {
    match receive_input(protocol).await {
        TalkInput::Line(line) => protocol.handle(line).await,
        TalkInput::Talk(talk) => obey(protocol, talk).await,
        TalkInput::Over => return ControlFlow::Break(()),
    }
    ControlFlow::Continue(())
}

/// Applies a command of its user.
pub(super) async fn obey<P: AgentProtocol>(protocol: &mut P, talk: DriverCommand) {
    match talk {
        // The agent reads no more.
        DriverCommand::Say { .. } | DriverCommand::Answer { .. } if protocol.channel().phase == TurnPhase::Over => {}
        DriverCommand::Say { text, done } => drop(done.send(protocol.channel().queue.say(text))),
        DriverCommand::Answer { question, kind, done } => {
            let answer = protocol.answer(&question, kind);
            // The caller may no longer wait for the result.
            let _ = done.send(answer.as_ref().map(|_| ()).map_err(|error| *error));
            let Ok(line) = answer else { return };
            let channel = protocol.channel();
            channel.input.write(&line).await;
            channel.teller.send(AgentEvent::Answered { id: question, kind }).await;
        }
        DriverCommand::Interrupt => interrupt(protocol).await,
        DriverCommand::Cancel => {
            protocol.channel().queue.cancel();
            interrupt(protocol).await;
        }
        DriverCommand::Finish => protocol.channel().queue.finish(),
    }
}

async fn interrupt<P: AgentProtocol>(protocol: &mut P) {
    if protocol.channel().phase != TurnPhase::Turn {
        return;
    }
    protocol.channel().phase = TurnPhase::Interrupted;
    for line in protocol.interruption() {
        protocol.channel().input.write(&line).await;
    }
}

/// Ends a conversation, and returns how its process ended.
pub(super) async fn end<P: AgentProtocol>(protocol: &mut P, end: EndingProcess) -> ProcessOutcome {
    let EndingProcess { mut ended, process } = end;
    protocol.channel().phase = TurnPhase::Over;
    protocol.channel().input.close().await;
    protocol.forget_questions();
    // An agent without input ends by itself; one that does not is ended, and may be silent until then.
    let _hold = protocol.channel().pulse.suspend();
    let pace = protocol.channel().pace.clone();
    let lingers = pace.timeout_running(ENDING, hear_out(protocol)).await.is_none();
    if lingers {
        process.cancel();
        hear_out(protocol).await;
    }
    let known = ended.wait_for(Option::is_some).await.ok().and_then(|ended| *ended);
    let mut ended = known.unwrap_or(ProcessOutcome { how: ProcessExit::Lost, because: None });
    if lingers && ended.because == Some(KillReason::Cancelled) {
        ended.because = None;
    }
    ended
}

/// Handles everything that is left until all streams have ended: the last line of standard error often says the most.
async fn hear_out<P: AgentProtocol>(protocol: &mut P) {
    while step(protocol).await.is_continue() {}
    while protocol.channel().stderr.is_some() {
        match next_of(&mut protocol.channel().stderr).await {
            Some(line) => protocol.handle_stderr(line).await,
            None => protocol.channel().stderr = None,
        }
    }
}
