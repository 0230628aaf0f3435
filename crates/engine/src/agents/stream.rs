//! Driver of Claude Code, which reads messages and asks for permission on its streams.
//!
//! Its output is parsed as elsewhere; only its requests and our messages have a format of their own. It gets one prompt at
//! a time: later ones wait until the turn ends.

mod wire;

use maestro_core::agent::{
    AgentEvent, LaunchSpec as Way, OutputLine, OutputParser, PermissionChoiceKind, StopReason, call_title,
};

use super::approvals::{self, PendingApprovals};
use super::conversation::{self, AgentChannel, AgentProtocol, EndingProcess, TurnPhase, next_prompt, step};
use super::event_sender;
use super::process::ProcessLimits;
use super::{AgentLaunch, AgentStartError, RunningAgent, TalkError, channel};
use wire::{ControlMessage, ControlRequest};

/// Starts one.
pub(super) async fn start(launch: AgentLaunch, way: Way) -> Result<RunningAgent, AgentStartError> {
    let opened = channel::open(&launch, &way, launch.known_session(&way)).await?;
    let (channel, end, session) = AgentChannel::new(opened, launch.prompt);
    let questions = PendingApprovals::new(channel.pulse.clone());
    let conversation = StreamConversation { channel, questions, parser: OutputParser::new(way.format), interrupts: 0 };
    tokio::spawn(conversation.run(launch.limits, end));
    Ok(session)
}

struct StreamConversation {
    channel: AgentChannel,
    questions: PendingApprovals<ControlRequest>,
    parser: OutputParser,
    interrupts: u64,
}

impl StreamConversation {
    async fn run(mut self, limits: ProcessLimits, end: EndingProcess) {
        self.converse().await;
        let ended = conversation::end(&mut self, end).await;
        let teller = &self.channel.teller;
        teller.send_all(event_sender::reason(ended, limits).into_iter().collect()).await;
        let mut rest = self.parser.finish(event_sender::exit(ended));
        if let Some(AgentEvent::Ended { stop, .. }) = rest.last_mut() {
            *stop = if self.channel.queue.is_cancelled() { StopReason::Cancelled } else { event_sender::stop(ended) };
        }
        teller.send_all(rest).await;
    }

    /// Sends all prompts, and handles its messages.
    async fn converse(&mut self) {
        while let Some(prompt) = next_prompt(self).await {
            self.channel.phase = TurnPhase::Turn;
            self.channel.input.write(&wire::prompt(&prompt)).await;
            while self.channel.phase != TurnPhase::Between {
                if step(self).await.is_break() {
                    return;
                }
            }
        }
    }

    async fn handle_question(&mut self, request: ControlRequest) {
        // It is about to be interrupted.
        if self.channel.phase == TurnPhase::Interrupted {
            return self.refuse(&request).await;
        }
        let (title, options) = (call_title(&request.tool, &request.input), request.choices());
        let detail = approvals::detail(&request.input).unwrap_or_default();
        let call = request.call.clone();
        match self.questions.ask(request, &options) {
            Ok(id) => {
                let asked = AgentEvent::Asked { id, title, detail, call: Some(call), options };
                self.channel.teller.send(asked).await;
            }
            Err(request) => self.refuse(&request).await,
        }
    }

    async fn refuse(&mut self, request: &ControlRequest) {
        self.parser.deny(&request.call);
        self.channel.input.write(&request.answer(None)).await;
    }
}

impl AgentProtocol for StreamConversation {
    fn channel(&mut self) -> &mut AgentChannel {
        &mut self.channel
    }

    async fn handle(&mut self, line: OutputLine) {
        match ControlMessage::read(&line) {
            Some(ControlMessage::Asks(request)) => self.handle_question(request).await,
            Some(ControlMessage::Wants { id, what }) => self.channel.input.write(&wire::refusal(&id, &what)).await,
            Some(ControlMessage::TakesBack { id }) => self.questions.withdraw(|request| request.id == id),
            Some(ControlMessage::Answers) => {}
            None => {
                let events = self.parser.feed_line(&line);
                if events.iter().any(|event| matches!(event, AgentEvent::Ended { .. })) {
                    self.channel.phase = TurnPhase::Between;
                }
                self.channel.teller.send_all(events).await;
            }
        }
    }

    async fn handle_stderr(&mut self, line: OutputLine) {
        let events = self.parser.feed_err(&line);
        self.channel.teller.send_all(events).await;
    }

    fn answer(&mut self, question: &str, kind: PermissionChoiceKind) -> Result<String, TalkError> {
        let answered = self.questions.answer(question, kind)?;
        if !kind.allows() {
            self.parser.deny(&answered.about.call);
        }
        Ok(answered.about.answer(answered.choice.as_deref()))
    }

    fn interruption(&mut self) -> Vec<String> {
        self.interrupts += 1;
        // It withdraws its open requests by itself.
        for request in self.questions.cancel_all() {
            self.parser.deny(&request.call);
        }
        vec![wire::interrupt(self.interrupts)]
    }

    fn forget_questions(&mut self) {
        self.questions.cancel_all();
    }
}
