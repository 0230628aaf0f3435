//! `maestro hook AGENT`: events of a session that a person started, answered with the skill that fits.
//!
//! It is called at every prompt, and must never be in the way: a failure, or anything slower than a
//! blink, gives an empty answer. Failures are stored, and sent with the next report that arrives.

mod given;
mod misread;
mod missed;
mod report;
mod skills;

use std::io::{self, Read as _};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use maestro_core::connect::Client;
use maestro_core::hook::{Happening, Heard, Memory};
use maestro_core::id::SessionId;
use serde::Deserialize as _;
use serde_json::Value as Json;

use self::given::Given;
pub(crate) use self::misread::{is_meant, note};
use crate::args::HookArgs;
use crate::client::context;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::{self, Reply};

/// How many milliseconds an agent may have to wait, unless `MAESTRO_HOOK_MS` sets it.
const PATIENCE: u64 = 100;
/// Maximum of that variable.
const MOST_PATIENCE: u64 = 10_000;
/// Maximum size of the input.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Results to wait for.
enum Part {
    /// The answer for the agent, if any.
    Answer(Result<Option<Answer>, CommandError>),
    /// The outcome of the report.
    Told(Result<(), CommandError>),
}

/// The answer for an agent, and the texts its session has by then.
struct Answer {
    json: Json,
    given: Given,
}

pub(crate) fn run(args: &HookArgs, world: &World) -> Reply {
    let started = Instant::now();
    let patience = patience(world);
    // A session that Maestro started has its skills, and is recorded already.
    if context::session(world).is_some() {
        return Reply::text("");
    }
    let (sender, parts) = mpsc::channel();
    let (agent, own) = (args.agent.clone(), world.clone());
    thread::spawn(move || work(&agent, &own, &sender));
    for why in passed_on(&parts, started, patience) {
        missed::keep(&args.agent, &why, world);
    }
    Reply::text("")
}

impl Answer {
    /// Prints the answer. Other hooks of the session may continue then, so this waits for nothing else.
    fn give(self) -> Result<(), CommandError> {
        reply::show(&format!("{}\n", self.json))?;
        // Only now it is certain that the session gets it.
        self.given.keep();
        Ok(())
    }
}

fn patience(world: &World) -> Duration {
    let said = world.variable("MAESTRO_HOOK_MS").and_then(|text| text.parse::<u64>().ok());
    Duration::from_millis(said.unwrap_or(PATIENCE).min(MOST_PATIENCE))
}

/// Prints results while there is time, and returns the failures.
fn passed_on(parts: &Receiver<Part>, started: Instant, patience: Duration) -> Vec<String> {
    let mut missed = Vec::new();
    loop {
        let done = match parts.recv_timeout(patience.saturating_sub(started.elapsed())) {
            Ok(Part::Answer(answer)) => answer.and_then(|answer| answer.map_or(Ok(()), Answer::give)),
            Ok(Part::Told(told)) => told,
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
fn work(agent: &str, world: &World, parts: &Sender<Part>) {
    let understood = listened(agent, world);
    let (event, session, world) = match understood {
        Ok(understood) => understood,
        // The receiver is gone if it took too long.
        Err(error) => return drop(parts.send(Part::Answer(Err(error)))),
    };
    let (chosen, names) = mpsc::channel();
    let (teller, happening, place) = (parts.clone(), event.happening.clone(), world.clone());
    let agent_name = agent.to_owned();
    thread::spawn(move || {
        let told = report::tell(&agent_name, &session, &happening, &names, &place);
        let _ = teller.send(Part::Told(told));
    });
    let answer = answered(agent, &event, &chosen, &world);
    let _ = parts.send(Part::Answer(answer));
}

/// The agent's input, its session, and the environment in the agent's directory.
fn listened(agent: &str, world: &World) -> Result<(Heard, SessionId, World), CommandError> {
    if Client::from_name(agent).is_none() {
        return Err(CommandError::not_found(format!("unknown agent `{agent}`")));
    }
    // One value is read, and no end waited for: an agent may leave its end open.
    let mut told = serde_json::Deserializer::from_reader(io::stdin().lock().take(MAX_BYTES));
    let unclear = |error: &serde_json::Error| CommandError::invalid(format!("cannot read the hook's input: {error}"));
    let event = Json::deserialize(&mut told).and_then(Heard::of).map_err(|error| unclear(&error))?;
    let session: SessionId =
        event.session.parse().map_err(|_| CommandError::invalid("the session's ID is not valid"))?;
    let world = event.directory.as_deref().map_or_else(|| world.clone(), |directory| world.at(directory));
    Ok((event, session, world))
}

fn answered(
    agent: &str,
    event: &Heard,
    chosen: &Sender<Vec<String>>,
    world: &World,
) -> Result<Option<Answer>, CommandError> {
    match &event.happening {
        Happening::Begun { memory: Memory::Lost } => given::forget(agent, &event.session, world),
        Happening::Begun { memory: Memory::Kept } => given::prune(world),
        Happening::Prompted(prompt) => {
            let fitting = skills::fitting(prompt, world)?;
            if fitting.is_empty() {
                return Ok(None);
            }
            // Slow work is done before other hooks of the session have to wait.
            let mut given = Given::of(agent, &event.session, world);
            let told = skills::told(&fitting, &mut given)?;
            // The reporting thread may be gone; then the names are not needed.
            let _ = chosen.send(told.names);
            return Ok(told.text.map(|text| Answer { json: event.answer(&text), given }));
        }
        // An ended session may be resumed, with all its context.
        Happening::Waits(_) | Happening::Stopped | Happening::Ended | Happening::Other => {}
    }
    Ok(None)
}
