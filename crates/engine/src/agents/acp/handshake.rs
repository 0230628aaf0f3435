//! Handshake of the Agent Client Protocol, also used to probe a program.

use serde_json::{Value as Json, json};
use tokio::process::ChildStdout;

use super::wire::{self, AcpMessage, AcpRefusal};
use crate::agents::lines::LineReader;
use crate::agents::process::ProcessInput;
use maestro_core::agent::OutputLine;

/// The first request.
pub(super) const METHOD: &str = "initialize";
/// The version of the protocol that we speak.
const VERSION: u64 = 1;

/// The result of a handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::agents) enum HandshakeReply {
    /// It answered, perhaps with its version.
    Accepted(Option<String>),
    /// It refused, for this reason.
    Refused(String),
    /// Its output ended.
    Ended,
}

/// Our name and capabilities.
pub(super) fn initialize_params() -> Json {
    let us = json!({ "name": "maestro", "title": "Maestro", "version": env!("CARGO_PKG_VERSION") });
    let abilities = json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
    json!({ "protocolVersion": VERSION, "clientCapabilities": abilities, "clientInfo": us })
}

/// Checks whether its response has our version of the protocol.
pub(super) fn check_protocol(answer: &Json) -> Result<(), AcpRefusal> {
    let version = &answer["protocolVersion"];
    if *version == VERSION {
        return Ok(());
    }
    Err(AcpRefusal { status: None, message: format!("the agent speaks version {version} of the protocol") })
}

/// The version of an agent.
pub(super) fn agent_version(answer: &Json) -> Option<String> {
    answer["agentInfo"]["version"].as_str().map(str::to_owned)
}

/// Performs the handshake, and ignores everything but the response.
pub(in crate::agents) async fn shake_hands(
    input: &ProcessInput,
    stdout: &mut LineReader<ChildStdout>,
) -> HandshakeReply {
    input.write(&wire::request(1, METHOD, &initialize_params())).await;
    while let Some(line) = stdout.next().await {
        // A line that is too long is not a response to a handshake.
        let OutputLine::Whole(line) = line else { continue };
        let Some(AcpMessage::Response { id, answer }) = AcpMessage::read(&line) else { continue };
        if id == 1 {
            let answered = answer.and_then(|answer| check_protocol(&answer).map(|()| agent_version(&answer)));
            return answered.map_or_else(|refusal| HandshakeReply::Refused(refusal.message), HandshakeReply::Accepted);
        }
    }
    HandshakeReply::Ended
}
