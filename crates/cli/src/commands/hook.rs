//! `maestro hook AGENT`: an agent that somebody started themselves tells what happens, and hears which skill fits.
//!
//! It is called at every prompt, and must never be in the way: whatever goes wrong, and whatever takes longer than a
//! blink, is an empty answer. What went wrong is kept, and told with the next report that arrives.

mod given;
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
use crate::args::HookArgs;
use crate::context;
use crate::error::CommandError;
use crate::reply::Reply;
use crate::world::World;

/// How many milliseconds an agent may have to wait, unless `MAESTRO_HOOK_MS` says otherwise.
const PATIENCE: u64 = 100;
/// The most that it may say.
const MOST_PATIENCE: u64 = 10_000;
/// How much an agent may say.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// What there is to wait for.
enum Part {
    /// What the agent is answered, if anything.
    Answer(Result<Option<Answer>, CommandError>),
    /// Whether others know of it.
    Told(Result<(), CommandError>),
}

/// What an agent is answered, and what its session knows by it.
struct Answer {
    json: Json,
    given: Given,
}

pub(crate) fn run(args: &HookArgs, world: &World) -> Reply {
    let begun = Instant::now();
    let patience = patience(world);
    // Who was started by Maestro has its skills, and is watched over already.
    if context::session(world).is_some() {
        return Reply::text("");
    }
    let (sender, parts) = mpsc::channel();
    let (agent, own) = (args.agent.clone(), world.clone());
    thread::spawn(move || work(&agent, &own, &sender));
    let heard = collected(&parts, begun, patience);
    for why in &heard.missed {
        missed::keep(&args.agent, why, world);
    }
    let reply = heard.answer.and_then(|answer| {
        // Only now it is sure that the session gets it.
        answer.given.keep();
        Reply::json(&answer.json).ok()
    });
    reply.unwrap_or_else(|| Reply::text(""))
}

/// What there is when there is no more time.
struct Collected {
    answer: Option<Answer>,
    /// What went wrong.
    missed: Vec<String>,
}

fn patience(world: &World) -> Duration {
    let said = world.variable("MAESTRO_HOOK_MS").and_then(|text| text.parse::<u64>().ok());
    Duration::from_millis(said.unwrap_or(PATIENCE).min(MOST_PATIENCE))
}

fn collected(parts: &Receiver<Part>, begun: Instant, patience: Duration) -> Collected {
    let mut all = Collected { answer: None, missed: Vec::new() };
    loop {
        match parts.recv_timeout(patience.saturating_sub(begun.elapsed())) {
            Ok(Part::Answer(Ok(answer))) => all.answer = answer,
            Ok(Part::Answer(Err(error)) | Part::Told(Err(error))) => all.missed.push(error.message().to_owned()),
            Ok(Part::Told(Ok(()))) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return all,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                all.missed.push(format!("it took longer than {} ms", patience.as_millis()));
                return all;
            }
        }
    }
}

/// Does all of it, and says what there is as soon as it is there.
fn work(agent: &str, world: &World, parts: &Sender<Part>) {
    let understood = listened(agent, world);
    let (heard, session, world) = match understood {
        Ok(understood) => understood,
        // Nobody is left to hear it when this fails.
        Err(error) => return drop(parts.send(Part::Answer(Err(error)))),
    };
    let (chosen, names) = mpsc::channel();
    let (teller, happening, place) = (parts.clone(), heard.happening.clone(), world.clone());
    let agent_name = agent.to_owned();
    thread::spawn(move || {
        let told = report::tell(&agent_name, &session, &happening, &names, &place);
        let _ = teller.send(Part::Told(told));
    });
    let answer = answered(agent, &heard, &chosen, &world);
    let _ = parts.send(Part::Answer(answer));
}

/// What the agent says, whose session it is, and the world as it is where the agent works.
fn listened(agent: &str, world: &World) -> Result<(Heard, SessionId, World), CommandError> {
    if Client::from_name(agent).is_none() {
        return Err(CommandError::not_found(format!("no agent called `{agent}` is known")));
    }
    // One value is read, and no end waited for: an agent may leave its end open.
    let mut told = serde_json::Deserializer::from_reader(io::stdin().lock().take(MAX_BYTES));
    let unclear =
        |error: &serde_json::Error| CommandError::invalid(format!("what the hook was told is unclear: {error}"));
    let heard = Json::deserialize(&mut told).and_then(Heard::of).map_err(|error| unclear(&error))?;
    let session: SessionId =
        heard.session.parse().map_err(|_| CommandError::invalid("the session's id is none that Maestro can keep"))?;
    let world = heard.directory.as_deref().map_or_else(|| world.clone(), |directory| world.at(directory));
    Ok((heard, session, world))
}

fn answered(
    agent: &str,
    heard: &Heard,
    chosen: &Sender<Vec<String>>,
    world: &World,
) -> Result<Option<Answer>, CommandError> {
    let mut given = Given::of(agent, &heard.session, world);
    match &heard.happening {
        Happening::Begun { memory: Memory::Lost } => given.forget(),
        Happening::Begun { memory: Memory::Kept } => given::prune(world),
        Happening::Prompted(prompt) => {
            let fitting = skills::for_prompt(prompt, &mut given, world)?;
            // Whoever reports may be gone already; then nobody needs the names.
            let _ = chosen.send(fitting.names);
            return Ok(fitting.text.map(|text| Answer { json: heard.answer(&text), given }));
        }
        // One that has ended may be taken up again, with all it was told.
        Happening::Waits(_) | Happening::Stopped | Happening::Ended | Happening::Other => {}
    }
    Ok(None)
}
