//! Driver of Claude Code, which reads messages and asks for permission on its streams.
//!
//! One task holds the conversation. Its output is parsed as elsewhere; only its requests and our messages have a format
//! of their own. It gets one prompt at a time: later ones wait until the turn ends.

mod wire;

use maestro_core::agent::{AgentEvent, Launch as Way, Line, Parser, Stop, call_title};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, watch};

use super::book::{self, Book};
use super::lines::{LineReader, next_of};
use super::pace::Pace;
use super::process::{Because, Ended, How, Input, Limits, WeakHandle};
use super::pulse::Pulse;
use super::teller::{self, Teller};
use super::wishes::{Next, Wishes, next_talk};
use super::{ENDING, Launch, LaunchError, Session, Talk, opened};
use wire::{Control, Request};

/// Starts one.
pub(super) async fn start(launch: Launch, way: Way) -> Result<Session, LaunchError> {
    let opened = opened::open(&launch, &way, launch.known_session(&way)).await?;
    let conversation = Conversation {
        stdout: opened.stdout,
        stderr: Some(opened.stderr),
        input: opened.input,
        talk: Some(opened.talk),
        teller: opened.teller,
        questions: Book::new(opened.pulse.clone()),
        pulse: opened.pulse,
        pace: opened.pace,
        parser: Parser::new(way.format),
        phase: Phase::Between,
        wishes: Wishes::new(launch.prompt),
        interrupts: 0,
    };
    tokio::spawn(conversation.hold(launch.limits, opened.ended, opened.weak));
    Ok(opened.session)
}

/// The activity of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It works.
    Turn,
    /// It was asked to stop.
    Interrupted,
    /// It waits for us.
    Between,
}

/// An incoming message.
enum Heard {
    Line(Line),
    Talk(Talk),
    /// End of its output.
    Over,
}

struct Conversation {
    stdout: LineReader<ChildStdout>,
    stderr: Option<LineReader<ChildStderr>>,
    input: Input,
    talk: Option<mpsc::Receiver<Talk>>,
    teller: Teller,
    questions: Book<Request>,
    pulse: Pulse,
    pace: Pace,
    parser: Parser,
    phase: Phase,
    wishes: Wishes,
    interrupts: u64,
}

impl Conversation {
    async fn hold(mut self, limits: Limits, mut ended: watch::Receiver<Option<Ended>>, process: WeakHandle) {
        self.converse().await;
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
        self.teller.tell_all(teller::reason(ended, limits).into_iter().collect()).await;
        let mut rest = self.parser.finish(teller::exit(ended));
        if let Some(AgentEvent::Ended { stop, .. }) = rest.last_mut() {
            *stop = if self.wishes.is_cancelled() { Stop::Cancelled } else { teller::stop(ended) };
        }
        self.teller.tell_all(rest).await;
    }

    /// Sends all prompts, and handles its messages.
    async fn converse(&mut self) {
        while let Some(prompt) = self.next_prompt().await {
            self.phase = Phase::Turn;
            self.input.write(&wire::prompt(&prompt)).await;
            while self.phase != Phase::Between {
                match self.hear().await {
                    Heard::Line(line) => self.handle(&line).await,
                    Heard::Talk(talk) => self.obey(talk).await,
                    Heard::Over => return,
                }
            }
        }
    }

    /// The next prompt, once there is one; nothing when it must end.
    async fn next_prompt(&mut self) -> Option<String> {
        let _hold = self.pulse.hold();
        loop {
            match self.wishes.next() {
                Next::Prompt(prompt) => return Some(prompt),
                Next::Wait => {}
                Next::End => return None,
            }
            match self.hear().await {
                Heard::Line(line) => self.handle(&line).await,
                Heard::Talk(talk) => self.obey(talk).await,
                Heard::Over => return None,
            }
        }
    }

    /// The next incoming message. Standard error becomes events.
    async fn hear(&mut self) -> Heard {
        loop {
            tokio::select! {
                line = self.stdout.next() => return line.map_or(Heard::Over, Heard::Line),
                line = next_of(&mut self.stderr) => self.complained(line).await,
                talk = next_talk(self.talk.as_mut()) => match talk {
                    None => self.talk = None,
                    Some(talk) => return Heard::Talk(talk),
                },
            }
        }
    }

    /// Handles everything that is left, until all streams have ended.
    async fn hear_out(&mut self) {
        loop {
            match self.hear().await {
                Heard::Line(line) => self.handle(&line).await,
                Heard::Talk(talk) => self.obey(talk).await,
                Heard::Over => break,
            }
        }
        while self.stderr.is_some() {
            let line = next_of(&mut self.stderr).await;
            self.complained(line).await;
        }
    }

    async fn complained(&mut self, line: Option<Line>) {
        let Some(line) = line else {
            self.stderr = None;
            return;
        };
        let events = self.parser.feed_err(&line);
        self.teller.tell_all(events).await;
    }

    /// Emits events for a message, and registers requests.
    async fn handle(&mut self, line: &Line) {
        match Control::read(line) {
            Some(Control::Asks(request)) => self.asked(request).await,
            Some(Control::Wants { id, what }) => self.input.write(&wire::refusal(&id, &what)).await,
            Some(Control::TakesBack { id }) => self.questions.take_back(|request| request.id == id),
            Some(Control::Answers) => {}
            None => {
                let events = self.parser.feed_line(line);
                if events.iter().any(|event| matches!(event, AgentEvent::Ended { .. })) {
                    self.phase = Phase::Between;
                }
                self.teller.tell_all(events).await;
            }
        }
    }

    async fn asked(&mut self, request: Request) {
        // It is about to be interrupted.
        if self.phase == Phase::Interrupted {
            return self.refuse(&request).await;
        }
        let (title, options) = (call_title(&request.tool, &request.input), request.choices());
        let detail = book::detail(&request.input).unwrap_or_default();
        let call = request.call.clone();
        match self.questions.ask(request, &options) {
            Ok(id) => self.teller.tell(AgentEvent::Asked { id, title, detail, call: Some(call), options }).await,
            Err(request) => self.refuse(&request).await,
        }
    }

    async fn refuse(&mut self, request: &Request) {
        self.parser.deny(&request.call);
        self.input.write(&request.answer(None)).await;
    }

    /// Applies a command of its user.
    async fn obey(&mut self, talk: Talk) {
        match talk {
            Talk::Say { text, done } => drop(done.send(self.wishes.say(text))),
            Talk::Answer { question, kind, done } => {
                let answered = self.questions.answer(&question, kind);
                let _ = done.send(answered.as_ref().map(|_| ()).map_err(|error| *error));
                let Ok(answered) = answered else { return };
                if !kind.allows() {
                    self.parser.deny(&answered.about.call);
                }
                self.input.write(&answered.about.answer(answered.choice.as_deref())).await;
                self.teller.tell(AgentEvent::Answered { id: question, kind }).await;
            }
            Talk::Interrupt => self.interrupt().await,
            Talk::Cancel => {
                self.wishes.cancel();
                self.interrupt().await;
            }
            Talk::Finish => self.wishes.finish(),
        }
    }

    async fn interrupt(&mut self) {
        if self.phase != Phase::Turn {
            return;
        }
        self.phase = Phase::Interrupted;
        self.interrupts += 1;
        // It withdraws its open requests by itself.
        for request in self.questions.give_up() {
            self.parser.deny(&request.call);
        }
        self.input.write(&wire::interrupt(self.interrupts)).await;
    }
}
