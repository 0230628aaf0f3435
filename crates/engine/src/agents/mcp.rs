//! Probe of an MCP server: it is started and initialized as a tool would do it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use maestro_core::agent::Line;
use maestro_core::connect::Hello;
use serde_json::{Value as Json, json};
use tokio::process::ChildStdout;
use tokio::time::timeout;

use super::acp::wire::{self, Message};
use super::lines::LineReader;
use super::probe::{Answer, UNASKED, at_once, first_lines, short, telling};
use super::process::{self, Because, Ended, Input, Process, StartError};
use crate::child::{Spec, Stdin};
use crate::sandbox::Policy;

/// How long a server may take: the timeout of Codex.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A server to probe.
#[derive(Debug, Clone)]
pub struct Configured {
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
    pub hello: Hello,
}

/// The result of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Served {
    /// It responds.
    Tools {
        /// The revision of the protocol that it chose.
        revision: String,
        /// How many tools it offers.
        tools: usize,
    },
    /// It does not respond.
    Not(Answer),
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tools { revision, tools: 1 } => write!(f, "answers: 1 tool, by {revision}"),
            Self::Tools { revision, tools } => write!(f, "answers: {tools} tools, by {revision}"),
            Self::Not(answer) => answer.fmt(f),
        }
    }
}

/// Probes all of them at once. The results are in the order of the probes; dropping the future ends every program.
pub async fn all(servers: Vec<Configured>, patience: Duration) -> Vec<Served> {
    let asked = servers.into_iter().map(|server| async move { server.ask(patience).await });
    at_once(asked.collect(), &Served::Not(Answer::NotStarted(UNASKED.to_owned()))).await
}

impl Configured {
    /// Probes a server, and returns when none of its processes is left.
    pub async fn ask(&self, patience: Duration) -> Served {
        let spec = Spec {
            program: self.program.clone(),
            argv: self.argv.clone(),
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            policy: Policy::usual(&self.cwd, None).allow(self.writes.clone()),
            stdin: Stdin::Relay,
        };
        let limits = process::Limits { time: patience, idle: patience };
        match timeout(patience, process::start(&self.maestro, &spec, limits)).await {
            Ok(Ok(process)) => self.hear(process, patience).await,
            Ok(Err(StartError::NotStarted(reason))) => Served::Not(Answer::NotStarted(reason)),
            Ok(Err(error)) => Served::Not(Answer::NotStarted(error.to_string())),
            Err(_) => Served::Not(Answer::Silent { time: patience, said: String::new() }),
        }
    }

    async fn hear(&self, process: Process, patience: Duration) -> Served {
        let Process { mut stdout, stderr, input, handle, .. } = process;
        let complaints = tokio::spawn(async move { first_lines(&mut { stderr }).await });
        let talk = converse(&self.hello, &input, &mut stdout).await;
        drop(input);
        if !matches!(talk, Talk::Over) {
            handle.cancel();
        }
        let Ended { how, because } = handle.wait().await;
        let complaints = complaints.await.unwrap_or_default();
        match talk {
            Talk::Tools { revision, tools } => Served::Tools { revision, tools },
            Talk::Refused(reason) => Served::Not(Answer::Refused(short(&reason))),
            Talk::Over if matches!(because, Some(Because::Time | Because::Idle)) => {
                Served::Not(Answer::Silent { time: patience, said: telling(&complaints).unwrap_or_default() })
            }
            Talk::Over => Served::Not(Answer::Ended { how, said: telling(&complaints).unwrap_or_default() }),
        }
    }
}

/// The result of a conversation.
enum Talk {
    Tools { revision: String, tools: usize },
    Refused(String),
    Over,
}

async fn converse(hello: &Hello, input: &Input, stdout: &mut LineReader<ChildStdout>) -> Talk {
    let (method, said, each) = match hello {
        Hello::Handshake(said) => ("initialize", said, json!({})),
        Hello::WithEachRequest(said) => ("server/discover", said, said.clone()),
    };
    input.write(&wire::request(1, method, said)).await;
    let greeted = match answer(1, stdout).await {
        Some(Ok(greeted)) => greeted,
        Some(Err(refusal)) => return Talk::Refused(refusal),
        None => return Talk::Over,
    };
    let revision = match hello {
        Hello::Handshake(_) => {
            input.write(&wire::notification("notifications/initialized", &json!({}))).await;
            greeted["protocolVersion"].as_str()
        }
        Hello::WithEachRequest(said) => said["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str(),
    };
    input.write(&wire::request(2, "tools/list", &each)).await;
    match answer(2, stdout).await {
        Some(Ok(listed)) => {
            let Some(tools) = listed["tools"].as_array() else {
                return Talk::Refused("its list of tools is not valid".to_owned());
            };
            Talk::Tools { revision: short(revision.unwrap_or("an unknown revision")), tools: tools.len() }
        }
        Some(Err(refusal)) => Talk::Refused(refusal),
        None => Talk::Over,
    }
}

/// The response to a request; all other messages are ignored.
async fn answer(request: u64, stdout: &mut LineReader<ChildStdout>) -> Option<Result<Json, String>> {
    while let Some(line) = stdout.next().await {
        let Line::Whole(line) = line else { continue };
        if let Some(Message::Response { id, answer }) = Message::read(&line)
            && id == request
        {
            return Some(answer.map_err(|refusal| refusal.message));
        }
    }
    None
}
