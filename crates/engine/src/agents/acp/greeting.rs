//! Handshake of the Agent Client Protocol, also used to probe a program.

use serde_json::{Value as Json, json};
use tokio::process::ChildStdout;

use super::wire::{self, Message, Refusal};
use crate::agents::lines::LineReader;
use crate::agents::process::Input;
use maestro_core::agent::Line;

/// The first request.
pub(super) const METHOD: &str = "initialize";
/// The version of the protocol that we speak.
const VERSION: u64 = 1;

/// The result of a handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::agents) enum Greeted {
    /// It answered, perhaps with its version.
    Back(Option<String>),
    /// It refused, for this reason.
    Refused(String),
    /// Its output ended.
    Over,
}

/// Our name and capabilities.
pub(super) fn hello() -> Json {
    let us = json!({ "name": "maestro", "title": "Maestro", "version": env!("CARGO_PKG_VERSION") });
    let abilities = json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
    json!({ "protocolVersion": VERSION, "clientCapabilities": abilities, "clientInfo": us })
}

/// Checks whether its response has our version of the protocol.
pub(super) fn understood(answer: &Json) -> Result<(), Refusal> {
    let version = &answer["protocolVersion"];
    if *version == VERSION {
        return Ok(());
    }
    Err(Refusal { status: None, message: format!("the agent speaks version {version} of the protocol") })
}

/// The version of an agent.
pub(super) fn version(answer: &Json) -> Option<String> {
    answer["agentInfo"]["version"].as_str().map(str::to_owned)
}

/// Performs the handshake, and ignores everything but the response.
pub(in crate::agents) async fn greet(input: &Input, stdout: &mut LineReader<ChildStdout>) -> Greeted {
    input.write(&wire::request(1, METHOD, &hello())).await;
    while let Some(line) = stdout.next().await {
        // A line that is too long is not a response to a handshake.
        let Line::Whole(line) = line else { continue };
        let Some(Message::Response { id, answer }) = Message::read(&line) else { continue };
        if id == 1 {
            let answered = answer.and_then(|answer| understood(&answer).map(|()| version(&answer)));
            return answered.map_or_else(|refusal| Greeted::Refused(refusal.message), Greeted::Back);
        }
    }
    Greeted::Over
}
