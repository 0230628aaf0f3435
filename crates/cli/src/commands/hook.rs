//! `maestro hook AGENT`: events of a session that a person started, answered with the skill that fits.
//!
//! It is called at every prompt, and must never be in the way: a failure, or anything slower than a
//! blink, gives an empty answer. Failures are stored, and sent with the next report that arrives.

mod delivered;
mod failures;
mod report;
mod skills;
mod usage_error;

use std::io::{self, Read as _};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use maestro_core::connect::ConnectableTool;
use maestro_core::hook::{HookEvent, HookEventKind, ModelMemory};
use maestro_core::id::SessionId;
use serde::Deserialize as _;
use serde_json::Value as Json;

use self::delivered::DeliveredTexts;
pub(crate) use self::usage_error::{is_hook_call, record};
use crate::args::HookArgs;
use crate::client::context;
use crate::host::world::World;
use crate::output::command_output::{self, CommandOutput, CommandResult};
use crate::output::error::CommandError;

/// How many milliseconds an agent may have to wait, unless `MAESTRO_HOOK_MS` sets it.
const PATIENCE: u64 = 100;
/// Maximum of that variable.
const MOST_PATIENCE: u64 = 10_000;
/// What a model reads at the start of a session if it reads nothing with prompts.
const SESSION_TEXT: &str = "Skills of this project and its user say how work is done here. Before you start a task, \
    call `find_skills` of the server `maestro` with the task, and `use_skill` for each one that fits.";
/// Maximum size of the input.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Results to wait for.
enum HookResult {
    /// The answer for the agent, if any.
    Answer(CommandResult<Option<HookAnswer>>),
    /// The outcome of the report.
    Reported(CommandResult<()>),
}

/// The answer for an agent, and the texts its session has by then.
struct HookAnswer {
    json: Json,
    given: Option<DeliveredTexts>,
}

pub(crate) fn run(args: &HookArgs, world: &World) -> CommandOutput {
    let started = Instant::now();
    let patience = time_limit(world);
    // A session that Maestro started has its skills, and is recorded already.
    if context::session(world).is_some() {
        return CommandOutput::text("");
    }
    let (sender, parts) = mpsc::channel();
    let (agent, own) = (args.agent.clone(), world.clone());
    thread::spawn(move || work(&agent, &own, &sender));
    for why in run_parts(&parts, started, patience) {
        failures::record(&args.agent, &why, world);
    }
    CommandOutput::text("")
}

impl HookAnswer {
    /// Prints the answer. Other hooks of the session may continue then, so this waits for nothing else.
    fn print(self) -> CommandResult<()> {
        command_output::show(&format!("{}\n", self.json))?;
        // Only now it is certain that the session gets it.
        if let Some(given) = self.given {
            given.save();
        }
        Ok(())
    }
}

fn time_limit(world: &World) -> Duration {
    let said = world.variable("MAESTRO_HOOK_MS").and_then(|text| text.parse::<u64>().ok());
    Duration::from_millis(said.unwrap_or(PATIENCE).min(MOST_PATIENCE))
}

/// Prints results while there is time, and returns the failures.
fn run_parts(parts: &Receiver<HookResult>, started: Instant, patience: Duration) -> Vec<String> {
    let mut missed = Vec::new();
    loop {
        let done = match parts.recv_timeout(patience.saturating_sub(started.elapsed())) {
            Ok(HookResult::Answer(answer)) => answer.and_then(|answer| answer.map_or(Ok(()), HookAnswer::print)),
            Ok(HookResult::Reported(told)) => told,
            Err(mpsc::RecvTimeoutError::Disconnected) => return missed,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                missed.push(format!("it took longer than {} ms", patience.as_millis()));
                return missed;
            }
        };
        missed.extend(done.err().map(|error| error.message().to_owned()));
    }
}

/// Does all the work, and sends each result as soon as it is there.
fn work(agent: &str, world: &World, parts: &Sender<HookResult>) {
    let understood = read_event(agent, world);
    let (event, session, world) = match understood {
        Ok(understood) => understood,
        // The receiver is gone if it took too long.
        Err(error) => return drop(parts.send(HookResult::Answer(Err(error)))),
    };
    let (chosen, names) = mpsc::channel();
    let (teller, happening, place) = (parts.clone(), event.kind.clone(), world.clone());
    let agent_name = agent.to_owned();
    thread::spawn(move || {
        let told = report::report_event(&agent_name, &session, &happening, &names, &place);
        let _ = teller.send(HookResult::Reported(told));
    });
    let answer = answer_event(agent, &event, &chosen, &world);
    let _ = parts.send(HookResult::Answer(answer));
}

/// The agent's input, its session, and the environment in the agent's directory.
fn read_event(agent: &str, world: &World) -> CommandResult<(HookEvent, SessionId, World)> {
    if ConnectableTool::from_name(agent).is_none() {
        return Err(CommandError::not_found(format!("unknown agent `{agent}`")));
    }
    // One value is read, and no end waited for: an agent may leave its end open.
    let mut told = serde_json::Deserializer::from_reader(io::stdin().lock().take(MAX_BYTES));
    let unclear = |error: &serde_json::Error| CommandError::invalid(format!("cannot read the hook's input: {error}"));
    let event = Json::deserialize(&mut told).and_then(HookEvent::parse).map_err(|error| unclear(&error))?;
    let session: SessionId =
        event.session.parse().map_err(|_| CommandError::invalid("the session's ID is not valid"))?;
    let world = event.directory.as_deref().map_or_else(|| world.clone(), |directory| world.at(directory));
    Ok((event, session, world))
}

fn answer_event(
    agent: &str,
    event: &HookEvent,
    chosen: &Sender<Vec<String>>,
    world: &World,
) -> CommandResult<Option<HookAnswer>> {
    match &event.kind {
        HookEventKind::Started { memory: ModelMemory::Lost } => delivered::forget(agent, &event.session, world),
        HookEventKind::Started { memory: ModelMemory::Kept } => {
            delivered::prune(world);
            let answer = event.session_answer(SESSION_TEXT).filter(|_| skills::are_wanted(world));
            return Ok(answer.map(|json| HookAnswer { json, given: None }));
        }
        HookEventKind::Prompted(prompt) if event.reaches_model() => {
            let fitting = skills::matching_skills(prompt, world)?;
            if fitting.is_empty() {
                return Ok(None);
            }
            // Slow work is done before other hooks of the session have to wait.
            let Some(tool) = ConnectableTool::from_name(agent) else { return Ok(None) };
            let mut given = DeliveredTexts::of(agent, &event.session, world);
            let told = skills::build_hint(&fitting, tool, &mut given, world)?;
            // The reporting thread may be gone; then the names are not needed.
            let _ = chosen.send(told.names);
            return Ok(told
                .text
                .map(|(text, note)| HookAnswer { json: event.answer(&text, &note), given: Some(given) }));
        }
        // An ended session may be resumed, with all its context.
        HookEventKind::Prompted(_)
        | HookEventKind::Waiting(_)
        | HookEventKind::Stopped
        | HookEventKind::Ended
        | HookEventKind::Other => {}
    }
    Ok(None)
}
