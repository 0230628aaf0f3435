//! Driver of agents that get one prompt and print what they do.

use std::io::Write as _;

use maestro_core::agent::{AgentEvent, LaunchSpec as Way, OutputParser, PromptDelivery};
use tempfile::NamedTempFile;
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, watch};

use super::event_sender::{EventSender, exit, reason, stop};
use super::lines::{LineReader, next_of};
use super::process::{self, AgentProcess, ProcessLimits, ProcessOutcome};
use super::{AgentHandle, AgentLaunch, AgentStartError, RunningAgent, WAITING};
use crate::blocking;
use crate::child::ChildStdin;

/// Starts one.
pub(super) async fn start(launch: AgentLaunch, way: Way) -> Result<RunningAgent, AgentStartError> {
    let file = match way.prompt {
        PromptDelivery::Stdin | PromptDelivery::Stream | PromptDelivery::Protocol => None,
        PromptDelivery::File => {
            let text = launch.prompt.clone();
            Some(blocking::run(move || write_prompt_file(&text)).await.map_err(AgentStartError::Prompt)?)
        }
    };
    let path = file.as_ref().map(|file| file.path().display().to_string()).unwrap_or_default();
    let stdin = if file.is_some() { ChildStdin::Nothing } else { ChildStdin::Relay };
    let mut spec = launch.spec(&way, &path, stdin);
    spec.policy.visible.extend(file.as_ref().map(|file| file.path().to_owned()));
    if !spec.argv.iter().any(|argument| argument.contains(&path)) {
        return Err(AgentStartError::NoPlaceForPrompt);
    }
    let process = launch.start_program(&spec).await?;
    let (events, told) = mpsc::channel(WAITING);
    let (agent_session, known) = watch::channel(launch.known_session(&way));
    let (handle, sandbox) = (process.handle.clone(), process.sandbox);
    let teller = EventSender::new(events, agent_session, process.idle.clone());
    let hearing = OutputListener { parser: OutputParser::new(way.format), teller, limits: launch.limits, file };
    // From here on only the caller holds the handle.
    let ended = process.handle.end_watch();
    let AgentProcess { stdout, stderr, input, .. } = process;
    tokio::spawn(async move {
        input.write(&launch.prompt).await;
        drop(input);
        hearing.listen(stdout, stderr, ended).await;
    });
    Ok(RunningAgent {
        events: told,
        handle: AgentHandle { process: handle, talk: None, agent_session: known },
        sandbox,
    })
}

/// A text in a temporary file that only its user can read.
fn write_prompt_file(text: &str) -> std::io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("maestro-prompt-").suffix(".md").tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    Ok(file)
}

/// Makes events of its output.
struct OutputListener {
    parser: OutputParser,
    teller: EventSender,
    limits: ProcessLimits,
    /// Kept for as long as the agent runs.
    file: Option<NamedTempFile>,
}

impl OutputListener {
    async fn listen(
        mut self,
        stdout: LineReader<ChildStdout>,
        stderr: LineReader<ChildStderr>,
        mut ended: watch::Receiver<Option<ProcessOutcome>>,
    ) {
        let (mut stdout, mut stderr) = (Some(stdout), Some(stderr));
        self.teller.send_all(self.parser.begin().into_iter().collect()).await;
        while stdout.is_some() || stderr.is_some() {
            let events = tokio::select! {
                line = next_of(&mut stdout) => if let Some(line) = line {
                    self.parser.feed_line(&line)
                } else {
                    stdout = None;
                    Vec::new()
                },
                line = next_of(&mut stderr) => if let Some(line) = line {
                    self.parser.feed_err(&line)
                } else {
                    stderr = None;
                    Vec::new()
                },
            };
            self.teller.send_all(events).await;
        }
        let known = ended.wait_for(Option::is_some).await.ok().and_then(|ended| *ended);
        drop(self.file);
        let ended = known.unwrap_or(ProcessOutcome { how: process::ProcessExit::Lost, because: None });
        self.teller.send_all(reason(ended, self.limits).into_iter().collect()).await;
        let mut rest = self.parser.finish(exit(ended));
        if let Some(AgentEvent::Ended { stop: how, .. }) = rest.last_mut() {
            *how = stop(ended);
        }
        self.teller.send_all(rest).await;
    }
}
