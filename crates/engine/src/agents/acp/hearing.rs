//! Handling of everything that arrives during a conversation: messages and requests of the agent, its other output, and
//! commands of its user.

use maestro_core::agent::{AgentEvent, Line, Stream, TroubleKind};
use serde_json::{Value as Json, json};

use super::super::Talk;
use super::super::lines::next_of;
use super::super::wishes::next_talk;
use super::wire::{self, Message};
use super::{Conversation, Heard, LAST_WORDS, NoAnswer, Phase, questions};

impl Conversation {
    /// Sends a request, and handles everything else until its response arrives.
    pub(super) async fn call(&mut self, method: &str, parameters: &Json) -> Result<Json, NoAnswer> {
        self.requests += 1;
        let ours = json!(self.requests);
        self.input.write(&wire::request(self.requests, method, parameters)).await;
        loop {
            match self.hear().await {
                Heard::Message(Message::Response { id, answer }) if id == ours => {
                    return answer.map_err(NoAnswer::Refused);
                }
                Heard::Message(message) => self.handle(message).await,
                Heard::Talk(talk) => self.obey(talk).await,
                Heard::Over => return Err(NoAnswer::Over),
            }
        }
    }

    /// The next incoming message. Other output becomes events.
    pub(super) async fn hear(&mut self) -> Heard {
        loop {
            tokio::select! {
                line = self.stdout.next() => match line {
                    None => return Heard::Over,
                    Some(Line::Whole(line)) => match Message::read(&line) {
                        Some(message) => return Heard::Message(message),
                        None => self.printed(Stream::Out, &line, 0).await,
                    },
                    Some(Line::Cut { head, bytes }) => {
                        let message = format!("a message of {} bytes is too long", head.len() as u64 + bytes);
                        let kind = TroubleKind::Malformed;
                        self.teller.tell(AgentEvent::Trouble { kind, status: None, message, retry_after_ms: None }).await;
                        self.printed(Stream::Out, &head[..head.len().min(LAST_WORDS)], bytes).await;
                    }
                },
                line = next_of(&mut self.stderr) => self.complained(line).await,
                talk = next_talk(self.talk.as_mut()) => match talk {
                    None => self.talk = None,
                    Some(talk) => return Heard::Talk(talk),
                },
            }
        }
    }

    /// Handles everything that is left until all streams have ended: the last line of standard error often explains the
    /// most.
    pub(super) async fn hear_out(&mut self) {
        while !matches!(self.hear().await, Heard::Over) {}
        while self.stderr.is_some() {
            let line = next_of(&mut self.stderr).await;
            self.complained(line).await;
        }
    }

    async fn complained(&mut self, line: Option<Line>) {
        let (line, cut) = match line {
            None => {
                self.stderr = None;
                return;
            }
            Some(Line::Whole(line)) => (line, 0),
            Some(Line::Cut { head, bytes }) => (head, bytes),
        };
        if !line.trim_ascii().is_empty() {
            self.last_error = String::from_utf8_lossy(&line[..line.len().min(LAST_WORDS)]).into_owned();
        }
        self.printed(Stream::Err, &line, cut).await;
    }

    async fn printed(&self, stream: Stream, line: &[u8], cut: u64) {
        if line.trim_ascii().is_empty() {
            return;
        }
        self.teller.tell(AgentEvent::Printed { stream, text: String::from_utf8_lossy(line).into_owned() }).await;
        if cut > 0 {
            self.teller.tell(AgentEvent::Cut { bytes: cut }).await;
        }
    }

    /// Emits events for a message, and answers a request.
    pub(super) async fn handle(&mut self, message: Message) {
        match message {
            Message::Notification { method, parameters } if method == "session/update" => {
                if parameters["sessionId"] != *self.session {
                    return;
                }
                let events = self.known.update(&parameters["update"]);
                if self.phase == Phase::Opening {
                    return;
                }
                for event in events {
                    if let AgentEvent::Said { text } = &event {
                        self.remember(text);
                    }
                    self.teller.tell(event).await;
                }
            }
            Message::Request { id, method, parameters } if method == "session/request_permission" => {
                self.asked(id, &parameters).await;
            }
            Message::Request { id, method, .. } => {
                let message = format!("method `{method}` is not supported");
                self.input.write(&wire::refusal(&id, wire::NO_SUCH_METHOD, &message)).await;
            }
            // Unknown messages, and responses that are no longer awaited.
            Message::Notification { .. } | Message::Response { .. } => {}
        }
    }

    async fn asked(&mut self, request: Json, parameters: &Json) {
        if self.phase != Phase::Turn {
            return self.input.write(&questions::nobody(&request)).await;
        }
        let call = &parameters["toolCall"];
        let events = self.known.call(call);
        self.teller.tell_all(events).await;
        let title = self.known.title(call);
        match self.questions.ask(request, parameters, &title) {
            Ok(asked) => self.teller.tell(asked).await,
            Err(line) => self.input.write(&line).await,
        }
    }

    /// Applies a command of its user.
    pub(super) async fn obey(&mut self, talk: Talk) {
        match talk {
            Talk::Say { text, done } => drop(done.send(self.wishes.say(text))),
            Talk::Answer { question, kind, done } => {
                let answered = self.questions.answer(&question, kind);
                let _ = done.send(answered.as_ref().map(|_| ()).map_err(|error| *error));
                let Ok(answered) = answered else { return };
                if !answered.kind.allows() {
                    self.known.deny(&answered.call);
                }
                self.input.write(&answered.line).await;
                self.teller.tell(AgentEvent::Answered { id: question, kind: answered.kind }).await;
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
        self.input.write(&wire::notification("session/cancel", &json!({ "sessionId": self.session }))).await;
        self.give_up_questions().await;
    }

    pub(super) async fn give_up_questions(&mut self) {
        for line in self.questions.give_up() {
            self.input.write(&line).await;
        }
    }

    fn remember(&mut self, words: &str) {
        self.last_words.push_str(words);
        let extra = self.last_words.len().saturating_sub(LAST_WORDS);
        self.last_words.drain(..self.last_words.ceil_char_boundary(extra));
    }
}
