//! Probe of an MCP server: it is started and initialized as a tool would do it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use maestro_core::agent::OutputLine;
use maestro_core::connect::ClientIdentity;
use serde_json::{Value as Json, json};
use tokio::process::ChildStdout;
use tokio::time::timeout;

use super::acp::wire::{self, AcpMessage};
use super::lines::LineReader;
use super::probe::{ProbeAnswer, UNASKED, error_line, first_lines, join_all, shorten};
use super::process::{self, AgentProcess, KillReason, ProcessInput, ProcessOutcome, ProcessStartError};
use crate::blocking;
use crate::child::{ChildSpec, ChildStdin};
use crate::sandbox::{ConfinementMode, WritePolicy};

/// How long a server may take: the timeout of Codex.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A server to probe.
#[derive(Debug, Clone)]
pub struct McpProbe {
    /// Our own program, which supervises it.
    pub maestro: PathBuf,
    /// Its program.
    pub program: PathBuf,
    /// Its arguments, starting with its name.
    pub argv: Vec<String>,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Where else it may write.
    pub writes: Vec<PathBuf>,
    /// The client information of the tool.
    pub hello: ClientIdentity,
}

/// The result of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpProbeResult {
    /// It responds.
    Tools {
        /// The revision of the protocol that it chose.
        revision: String,
        /// How many tools it offers.
        tools: usize,
    },
    /// It does not respond.
    Failed(ProbeAnswer),
}

impl fmt::Display for McpProbeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tools { revision, tools: 1 } => write!(f, "answers: 1 tool, by {revision}"),
            Self::Tools { revision, tools } => write!(f, "answers: {tools} tools, by {revision}"),
            Self::Failed(answer) => answer.fmt(f),
        }
    }
}

/// Probes all of them at once. The results are in the order of the probes; dropping the future ends every program.
pub async fn probe_all(servers: Vec<McpProbe>, patience: Duration) -> Vec<McpProbeResult> {
    let asked = servers.into_iter().map(|server| async move { server.probe(patience).await });
    join_all(asked.collect(), &McpProbeResult::Failed(ProbeAnswer::NotStarted(UNASKED.to_owned()))).await
}

impl McpProbe {
    /// Probes a server, and returns when none of its processes is left.
    pub async fn probe(&self, patience: Duration) -> McpProbeResult {
        let probe = self.clone();
        blocking::drive(move || async move { probe.start(patience).await }).await
    }

    async fn start(&self, patience: Duration) -> McpProbeResult {
        // It is Maestro itself, which must see the processes that it asks about.
        let policy = WritePolicy::default_policy(&self.cwd, None).allow(self.writes.clone());
        let spec = ChildSpec {
            program: self.program.clone(),
            argv: self.argv.clone(),
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            policy: WritePolicy { confinement: ConfinementMode::Landlock, ..policy },
            stdin: ChildStdin::Relay,
        };
        let limits = process::ProcessLimits { time: patience, idle: patience };
        match timeout(patience, process::start(&self.maestro, &spec, limits)).await {
            Ok(Ok(process)) => self.receive(process, patience).await,
            Ok(Err(ProcessStartError::NotStarted(reason))) => McpProbeResult::Failed(ProbeAnswer::NotStarted(reason)),
            Ok(Err(error)) => McpProbeResult::Failed(ProbeAnswer::NotStarted(error.to_string())),
            Err(_) => McpProbeResult::Failed(ProbeAnswer::Silent { time: patience, said: String::new() }),
        }
    }

    async fn receive(&self, process: AgentProcess, patience: Duration) -> McpProbeResult {
        let AgentProcess { mut stdout, stderr, input, handle, .. } = process;
        let complaints = tokio::spawn(async move { first_lines(&mut { stderr }).await });
        let talk = converse(&self.hello, &input, &mut stdout).await;
        drop(input);
        if !matches!(talk, McpProbeTalk::Over) {
            handle.cancel();
        }
        let ProcessOutcome { how, because } = handle.wait().await;
        let complaints = complaints.await.unwrap_or_default();
        match talk {
            McpProbeTalk::Tools { revision, tools } => McpProbeResult::Tools { revision, tools },
            McpProbeTalk::Refused(reason) => McpProbeResult::Failed(ProbeAnswer::Refused(shorten(&reason))),
            McpProbeTalk::Over if matches!(because, Some(KillReason::Time | KillReason::Idle)) => {
                McpProbeResult::Failed(ProbeAnswer::Silent {
                    time: patience,
                    said: error_line(&complaints).unwrap_or_default(),
                })
            }
            McpProbeTalk::Over => {
                McpProbeResult::Failed(ProbeAnswer::Ended { how, said: error_line(&complaints).unwrap_or_default() })
            }
        }
    }
}

/// The result of a conversation.
enum McpProbeTalk {
    Tools { revision: String, tools: usize },
    Refused(String),
    Over,
}

async fn converse(hello: &ClientIdentity, input: &ProcessInput, stdout: &mut LineReader<ChildStdout>) -> McpProbeTalk {
    let (method, said, each) = match hello {
        ClientIdentity::Handshake(said) => ("initialize", said, json!({})),
        ClientIdentity::WithEachRequest(said) => ("server/discover", said, said.clone()),
    };
    input.write(&wire::request(1, method, said)).await;
    let greeted = match answer(1, stdout).await {
        Some(Ok(greeted)) => greeted,
        Some(Err(refusal)) => return McpProbeTalk::Refused(refusal),
        None => return McpProbeTalk::Over,
    };
    let revision = match hello {
        ClientIdentity::Handshake(_) => {
            input.write(&wire::notification("notifications/initialized", &json!({}))).await;
            greeted["protocolVersion"].as_str()
        }
        ClientIdentity::WithEachRequest(said) => said["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str(),
    };
    input.write(&wire::request(2, "tools/list", &each)).await;
    match answer(2, stdout).await {
        Some(Ok(listed)) => {
            let Some(tools) = listed["tools"].as_array() else {
                return McpProbeTalk::Refused("its list of tools is not valid".to_owned());
            };
            McpProbeTalk::Tools { revision: shorten(revision.unwrap_or("an unknown revision")), tools: tools.len() }
        }
        Some(Err(refusal)) => McpProbeTalk::Refused(refusal),
        None => McpProbeTalk::Over,
    }
}

/// The response to a request; all other messages are ignored.
async fn answer(request: u64, stdout: &mut LineReader<ChildStdout>) -> Option<Result<Json, String>> {
    while let Some(line) = stdout.next().await {
        let OutputLine::Whole(line) = line else { continue };
        if let Some(AcpMessage::Response { id, answer }) = AcpMessage::read(&line)
            && id == request
        {
            return Some(answer.map_err(|refusal| refusal.message));
        }
    }
    None
}
