//! Handling of everything that an agent sends during a conversation: messages, requests and its other output.

use maestro_core::agent::{AgentEvent, ChoiceKind, Line, Stream, TroubleKind};
use maestro_core::excerpt::last_bytes;
use serde_json::{Value as Json, json};

use super::super::TalkError;
use super::super::conversation::{AgentChannel, AgentProtocol, TalkInput, TurnPhase, hear, obey};
use super::wire::{self, Message};
use super::{Conversation, LAST_WORDS, NoAnswer, questions};

impl Conversation {
    /// Sends a request, and handles everything else until its response arrives.
    pub(super) async fn call(&mut self, method: &str, parameters: &Json) -> Result<Json, NoAnswer> {
        self.requests += 1;
        let ours = json!(self.requests);
        self.channel.input.write(&wire::request(self.requests, method, parameters)).await;
        loop {
            match hear(self).await {
                TalkInput::Line(line) => match self.read(line).await {
                    Some(Message::Response { id, answer }) if id == ours => return answer.map_err(NoAnswer::Refused),
                    Some(message) => self.handle_message(message).await,
                    None => {}
                },
                TalkInput::Talk(talk) => obey(self, talk).await,
                TalkInput::Over => return Err(NoAnswer::Over),
            }
        }
    }

    /// The message in a line. Anything else becomes an event of printed output.
    async fn read(&self, line: Line) -> Option<Message> {
        match line {
            Line::Whole(line) => {
                let message = Message::read(&line);
                if message.is_none() {
                    self.printed(Stream::Out, &line, 0).await;
                }
                message
            }
            Line::Cut { head, bytes } => {
                let message = format!("a message of {} bytes was too long", head.len() as u64 + bytes);
                let kind = TroubleKind::Malformed;
                let trouble = AgentEvent::Trouble { kind, status: None, message, retry_after_ms: None };
                self.channel.teller.tell(trouble).await;
                self.printed(Stream::Out, &head[..head.len().min(LAST_WORDS)], bytes).await;
                None
            }
        }
    }

    async fn printed(&self, stream: Stream, line: &[u8], cut: u64) {
        if line.trim_ascii().is_empty() {
            return;
        }
        self.channel
            .teller
            .tell(AgentEvent::Printed { stream, text: String::from_utf8_lossy(line).into_owned() })
            .await;
        if cut > 0 {
            self.channel.teller.tell(AgentEvent::Cut { bytes: cut }).await;
        }
    }

    /// Emits events for a message, and answers a request.
    async fn handle_message(&mut self, message: Message) {
        match message {
            Message::Notification { method, parameters } if method == "session/update" => {
                if parameters["sessionId"] != *self.session {
                    return;
                }
                let events = self.known.update(&parameters["update"]);
                if self.channel.phase == TurnPhase::Opening {
                    return;
                }
                for event in events {
                    if let AgentEvent::Said { text } = &event {
                        self.remember(text);
                    }
                    self.channel.teller.tell(event).await;
                }
            }
            Message::Request { id, method, parameters } if method == "session/request_permission" => {
                self.asked(id, &parameters).await;
            }
            Message::Request { id, method, .. } => {
                let message = format!("method `{method}` is not supported");
                self.channel.input.write(&wire::refusal(&id, wire::NO_SUCH_METHOD, &message)).await;
            }
            // Unknown messages, and responses that are no longer awaited.
            Message::Notification { .. } | Message::Response { .. } => {}
        }
    }

    async fn asked(&mut self, request: Json, parameters: &Json) {
        if self.channel.phase != TurnPhase::Turn {
            return self.channel.input.write(&questions::nobody(&request)).await;
        }
        let call = &parameters["toolCall"];
        let events = self.known.call(call);
        self.channel.teller.tell_all(events).await;
        let title = self.known.title(call);
        match self.questions.ask(request, parameters, &title) {
            Ok(asked) => self.channel.teller.tell(asked).await,
            Err(line) => self.channel.input.write(&line).await,
        }
    }

    pub(super) async fn give_up_questions(&mut self) {
        for line in self.questions.give_up() {
            self.channel.input.write(&line).await;
        }
    }

    fn remember(&mut self, words: &str) {
        self.last_words.push_str(words);
        self.last_words = last_bytes(&self.last_words, LAST_WORDS).to_owned();
    }
}

impl AgentProtocol for Conversation {
    fn channel(&mut self) -> &mut AgentChannel {
        &mut self.channel
    }

    async fn handle(&mut self, line: Line) {
        let message = self.read(line).await;
        // Messages after the end of a conversation are ignored.
        if let Some(message) = message.filter(|_| self.channel.phase != TurnPhase::Over) {
            self.handle_message(message).await;
        }
    }

    async fn handle_stderr(&mut self, line: Line) {
        let (line, cut) = match line {
            Line::Whole(line) => (line, 0),
            Line::Cut { head, bytes } => (head, bytes),
        };
        if !line.trim_ascii().is_empty() {
            self.last_error = String::from_utf8_lossy(&line[..line.len().min(LAST_WORDS)]).into_owned();
        }
        self.printed(Stream::Err, &line, cut).await;
    }

    fn answer(&mut self, question: &str, kind: ChoiceKind) -> Result<String, TalkError> {
        let answered = self.questions.answer(question, kind)?;
        if !kind.allows() {
            self.known.deny(&answered.call);
        }
        Ok(answered.line)
    }

    fn interruption(&mut self) -> Vec<String> {
        let cancel = wire::notification("session/cancel", &json!({ "sessionId": self.session }));
        std::iter::once(cancel).chain(self.questions.give_up()).collect()
    }

    fn forget_questions(&mut self) {
        self.questions.give_up();
    }
}
