//! Handling of everything that an agent sends during a conversation: messages, requests and its other output.

use maestro_core::agent::{AgentEvent, FailureKind, OutputLine, PermissionChoiceKind, Stream};
use maestro_core::excerpt::last_bytes;
use serde_json::{Value as Json, json};

use super::super::TalkError;
use super::super::conversation::{AgentChannel, AgentProtocol, TalkInput, TurnPhase, obey, receive_input};
use super::wire::{self, AcpMessage};
use super::{AcpConversation, AcpRequestError, LAST_WORDS, pending};

impl AcpConversation {
    /// Sends a request, and handles everything else until its response arrives.
    pub(super) async fn call(&mut self, method: &str, parameters: &Json) -> Result<Json, AcpRequestError> {
        self.requests += 1;
        let ours = json!(self.requests);
        self.channel.input.write(&wire::request(self.requests, method, parameters)).await;
        loop {
            match receive_input(self).await {
                TalkInput::Line(line) => match self.read(line).await {
                    Some(AcpMessage::Response { id, answer }) if id == ours => {
                        return answer.map_err(AcpRequestError::Refused);
                    }
                    Some(message) => self.handle_message(message).await,
                    None => {}
                },
                TalkInput::Talk(talk) => obey(self, talk).await,
                TalkInput::Over => return Err(AcpRequestError::Over),
            }
        }
    }

    /// The message in a line. Anything else becomes an event of printed output.
    async fn read(&self, line: OutputLine) -> Option<AcpMessage> {
        match line {
            OutputLine::Whole(line) => {
                let message = AcpMessage::read(&line);
                if message.is_none() {
                    self.report_printed(Stream::Out, &line, 0).await;
                }
                message
            }
            OutputLine::Cut { head, bytes } => {
                let message = format!("a message of {} bytes was too long", head.len() as u64 + bytes);
                let kind = FailureKind::Malformed;
                let trouble = AgentEvent::Trouble { kind, status: None, message, retry_after_ms: None };
                self.channel.teller.send(trouble).await;
                self.report_printed(Stream::Out, &head[..head.len().min(LAST_WORDS)], bytes).await;
                None
            }
        }
    }

    async fn report_printed(&self, stream: Stream, line: &[u8], cut: u64) {
        if line.trim_ascii().is_empty() {
            return;
        }
        self.channel
            .teller
            .send(AgentEvent::Printed { stream, text: String::from_utf8_lossy(line).into_owned() })
            .await;
        if cut > 0 {
            self.channel.teller.send(AgentEvent::Cut { bytes: cut }).await;
        }
    }

    /// Emits events for a message, and answers a request.
    async fn handle_message(&mut self, message: AcpMessage) {
        match message {
            AcpMessage::Notification { method, parameters } if method == "session/update" => {
                if parameters["sessionId"] != *self.session {
                    return;
                }
                let events = self.calls.update(&parameters["update"]);
                if self.channel.phase == TurnPhase::Opening {
                    return;
                }
                for event in events {
                    if let AgentEvent::Said { text } = &event {
                        self.remember(text);
                    }
                    self.channel.teller.send(event).await;
                }
            }
            AcpMessage::Request { id, method, parameters } if method == "session/request_permission" => {
                self.handle_question(id, &parameters).await;
            }
            AcpMessage::Request { id, method, .. } => {
                let message = format!("method `{method}` is not supported");
                self.channel.input.write(&wire::refusal(&id, wire::NO_SUCH_METHOD, &message)).await;
            }
            // Unknown messages, and responses that are no longer awaited.
            AcpMessage::Notification { .. } | AcpMessage::Response { .. } => {}
        }
    }

    async fn handle_question(&mut self, request: Json, parameters: &Json) {
        if self.channel.phase != TurnPhase::Turn {
            return self.channel.input.write(&pending::cancelled_answer(&request)).await;
        }
        let call = &parameters["toolCall"];
        let events = self.calls.call(call);
        self.channel.teller.send_all(events).await;
        let title = self.calls.title(call);
        match self.questions.ask(request, parameters, &title) {
            Ok(asked) => self.channel.teller.send(asked).await,
            Err(line) => self.channel.input.write(&line).await,
        }
    }

    pub(super) async fn cancel_questions(&mut self) {
        for line in self.questions.cancel_all() {
            self.channel.input.write(&line).await;
        }
    }

    fn remember(&mut self, words: &str) {
        self.last_words.push_str(words);
        self.last_words = last_bytes(&self.last_words, LAST_WORDS).to_owned();
    }
}

impl AgentProtocol for AcpConversation {
    fn channel(&mut self) -> &mut AgentChannel {
        &mut self.channel
    }

    async fn handle(&mut self, line: OutputLine) {
        let message = self.read(line).await;
        // Messages after the end of a conversation are ignored.
        if let Some(message) = message.filter(|_| self.channel.phase != TurnPhase::Over) {
            self.handle_message(message).await;
        }
    }

    async fn handle_stderr(&mut self, line: OutputLine) {
        let (line, cut) = match line {
            OutputLine::Whole(line) => (line, 0),
            OutputLine::Cut { head, bytes } => (head, bytes),
        };
        if !line.trim_ascii().is_empty() {
            self.last_error = String::from_utf8_lossy(&line[..line.len().min(LAST_WORDS)]).into_owned();
        }
        self.report_printed(Stream::Err, &line, cut).await;
    }

    fn answer(&mut self, question: &str, kind: PermissionChoiceKind) -> Result<String, TalkError> {
        let answered = self.questions.answer(question, kind)?;
        if !kind.allows() {
            self.calls.deny(&answered.call);
        }
        Ok(answered.line)
    }

    fn interruption(&mut self) -> Vec<String> {
        let cancel = wire::notification("session/cancel", &json!({ "sessionId": self.session }));
        std::iter::once(cancel).chain(self.questions.cancel_all()).collect()
    }

    fn forget_questions(&mut self) {
        self.questions.cancel_all();
    }
}
