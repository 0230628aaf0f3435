//! How does a conversation by the Agent Client Protocol begin, and does a program begin it at all?

use serde_json::{Value as Json, json};
use tokio::process::ChildStdout;

use super::wire::{self, Message, Refusal};
use crate::agents::lines::LineReader;
use crate::agents::process::Input;
use maestro_core::agent::Line;

/// The first request.
pub(super) const METHOD: &str = "initialize";
/// The version of the protocol that is spoken here.
const VERSION: u64 = 1;

/// What a program said to a greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::agents) enum Greeted {
    /// It greeted back, perhaps with its version.
    Back(Option<String>),
    /// It does not want to speak, for this reason.
    Refused(String),
    /// It said no more.
    Over,
}

/// Who we are, and what we can do for an agent.
pub(super) fn hello() -> Json {
    let us = json!({ "name": "maestro", "title": "Maestro", "version": env!("CARGO_PKG_VERSION") });
    let abilities = json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
    json!({ "protocolVersion": VERSION, "clientCapabilities": abilities, "clientInfo": us })
}

/// Whether what it answered is the protocol that is spoken here.
pub(super) fn understood(answer: &Json) -> Result<(), Refusal> {
    let version = &answer["protocolVersion"];
    if *version == VERSION {
        return Ok(());
    }
    Err(Refusal { status: None, message: format!("it speaks version {version} of the protocol") })
}

/// What an agent calls its version.
pub(super) fn version(answer: &Json) -> Option<String> {
    answer["agentInfo"]["version"].as_str().map(str::to_owned)
}

/// Greets a program, and hears nothing but its answer.
pub(in crate::agents) async fn greet(input: &Input, stdout: &mut LineReader<ChildStdout>) -> Greeted {
    input.write(&wire::request(1, METHOD, &hello())).await;
    while let Some(line) = stdout.next().await {
        // One that is too long is no answer to a greeting.
        let Line::Whole(line) = line else { continue };
        let Some(Message::Response { id, answer }) = Message::read(&line) else { continue };
        if id == 1 {
            let answered = answer.and_then(|answer| understood(&answer).map(|()| version(&answer)));
            return answered.map_or_else(|refusal| Greeted::Refused(refusal.message), Greeted::Back);
        }
    }
    Greeted::Over
}
