//! Driver of Claude Code, which reads messages and asks for permission on its streams.
//!
//! Its output is parsed as elsewhere; only its requests and our messages have a format of their own. It gets one prompt at
//! a time: later ones wait until the turn ends.

mod wire;

use maestro_core::agent::{AgentEvent, ChoiceKind, Launch as Way, Line, Parser, Stop, call_title};

use super::book::{self, Book};
use super::conversation::{self, AgentChannel, AgentProtocol, EndingProcess, TurnPhase, next_prompt, step};
use super::process::Limits;
use super::teller;
use super::{Launch, LaunchError, Session, TalkError, opened};
use wire::{Control, Request};

/// Starts one.
pub(super) async fn start(launch: Launch, way: Way) -> Result<Session, LaunchError> {
    let opened = opened::open(&launch, &way, launch.known_session(&way)).await?;
    let (channel, end, session) = AgentChannel::new(opened, launch.prompt);
    let questions = Book::new(channel.pulse.clone());
    let conversation = Conversation { channel, questions, parser: Parser::new(way.format), interrupts: 0 };
    tokio::spawn(conversation.hold(launch.limits, end));
    Ok(session)
}

struct Conversation {
    channel: AgentChannel,
    questions: Book<Request>,
    parser: Parser,
    interrupts: u64,
}

impl Conversation {
    async fn hold(mut self, limits: Limits, end: EndingProcess) {
        self.converse().await;
        let ended = conversation::end(&mut self, end).await;
        let teller = &self.channel.teller;
        teller.tell_all(teller::reason(ended, limits).into_iter().collect()).await;
        let mut rest = self.parser.finish(teller::exit(ended));
        if let Some(AgentEvent::Ended { stop, .. }) = rest.last_mut() {
            *stop = if self.channel.queue.is_cancelled() { Stop::Cancelled } else { teller::stop(ended) };
        }
        teller.tell_all(rest).await;
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

    async fn asked(&mut self, request: Request) {
        // It is about to be interrupted.
        if self.channel.phase == TurnPhase::Interrupted {
            return self.refuse(&request).await;
        }
        let (title, options) = (call_title(&request.tool, &request.input), request.choices());
        let detail = book::detail(&request.input).unwrap_or_default();
        let call = request.call.clone();
        match self.questions.ask(request, &options) {
            Ok(id) => {
                let asked = AgentEvent::Asked { id, title, detail, call: Some(call), options };
                self.channel.teller.tell(asked).await;
            }
            Err(request) => self.refuse(&request).await,
        }
    }

    async fn refuse(&mut self, request: &Request) {
        self.parser.deny(&request.call);
        self.channel.input.write(&request.answer(None)).await;
    }
}

impl AgentProtocol for Conversation {
    fn channel(&mut self) -> &mut AgentChannel {
        &mut self.channel
    }

    async fn handle(&mut self, line: Line) {
        match Control::read(&line) {
            Some(Control::Asks(request)) => self.asked(request).await,
            Some(Control::Wants { id, what }) => self.channel.input.write(&wire::refusal(&id, &what)).await,
            Some(Control::TakesBack { id }) => self.questions.take_back(|request| request.id == id),
            Some(Control::Answers) => {}
            None => {
                let events = self.parser.feed_line(&line);
                if events.iter().any(|event| matches!(event, AgentEvent::Ended { .. })) {
                    self.channel.phase = TurnPhase::Between;
                }
                self.channel.teller.tell_all(events).await;
            }
        }
    }

    async fn handle_stderr(&mut self, line: Line) {
        let events = self.parser.feed_err(&line);
        self.channel.teller.tell_all(events).await;
    }

    fn answer(&mut self, question: &str, kind: ChoiceKind) -> Result<String, TalkError> {
        let answered = self.questions.answer(question, kind)?;
        if !kind.allows() {
            self.parser.deny(&answered.about.call);
        }
        Ok(answered.about.answer(answered.choice.as_deref()))
    }

    fn interruption(&mut self) -> Vec<String> {
        self.interrupts += 1;
        // It withdraws its open requests by itself.
        for request in self.questions.give_up() {
            self.parser.deny(&request.call);
        }
        vec![wire::interrupt(self.interrupts)]
    }

    fn forget_questions(&mut self) {
        self.questions.give_up();
    }
}
