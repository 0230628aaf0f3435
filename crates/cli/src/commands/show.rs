//! `maestro show`: a session with its agent, result, skills and transcript.

use std::fmt::Write as _;

use maestro_api::ReceivedReply;
use maestro_api::events::EventQuery;
use maestro_api::sessions::{self, SessionBody};
use maestro_api::spawns::{self, PermissionBody, PermissionQuery, ReceiptBody, SpawnBody};
use maestro_core::agent::{SessionOutcome, SessionResult};
use maestro_core::session::SessionStatus;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::args::ShowArgs;
use crate::client::CliClient;
use crate::commands::branches::SessionBranch;
use crate::commands::info::head;
use crate::commands::loops;
use crate::commands::session::answer;
use crate::commands::transcript::{self, TranscriptFollower, TranscriptFormat, TranscriptPrinter};
use crate::host::world::World;
use crate::output::command_output::{self, CommandOutput, CommandResult};
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::{clean, pad};

/// How much of a hash is shown.
const HASH: usize = 12;

fn unknown(id: &str) -> CommandError {
    CommandError::not_found(format!("no session and no run `{}`", clean(id)))
        .hint("`maestro session list --all` has the IDs of sessions, `maestro loop status` those of runs")
}

pub(crate) fn run(args: &ShowArgs, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    let id = match client.call(sessions::get(&args.id)) {
        Err(error) if error.is_not_found() => {
            let shown = loops::details::show_loop(&client, &args.id, world);
            return shown.map_err(|run| if run.is_not_found() { unknown(&args.id) } else { run });
        }
        session => session?.id,
    };
    if args.follow {
        return follow(&client, &id, world);
    }
    let known = SessionDetails::of(&client, &id)?;
    if world.json {
        return CommandOutput::json(&known.json(args, &client)?);
    }
    let mut text = head(&known.session.value, world);
    known.agent(&mut text);
    known.questions(&mut text);
    known.work(&client, &mut text)?;
    if args.skills {
        known.skills(&mut text);
    }
    if args.transcript {
        let mut shown = TranscriptPrinter::new(world.paint);
        text.push('\n');
        for entry in transcript::load_all(&client, &id)?.value {
            text.push_str(&shown.event(&entry.event));
        }
        text.push_str(&shown.close());
    }
    Ok(CommandOutput::text(text))
}

/// What there is to know of a session.
struct SessionDetails {
    session: ReceivedReply<SessionBody>,
    /// Nothing for a session that was not spawned: it has no agent of ours.
    spawn: Option<ReceivedReply<SpawnBody>>,
    receipts: ReceivedReply<Vec<ReceiptBody>>,
    questions: ReceivedReply<Vec<PermissionBody>>,
}

/// What a session's metadata says of skills.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SkillMetadata {
    skills: Json,
    loaded_skills: Json,
}

impl SessionDetails {
    fn of(client: &CliClient, id: &str) -> CommandResult<Self> {
        Ok(Self {
            session: client.call_raw(sessions::get(id))?,
            spawn: found(client.call_raw(spawns::get(id)))?,
            receipts: client.call_raw(spawns::receipts(id))?,
            questions: client.call_raw(spawns::permissions(&of_session(id)))?,
        })
    }

    fn json(self, args: &ShowArgs, client: &CliClient) -> CommandResult<Json> {
        let SkillMetadata { skills, loaded_skills } = self.metadata();
        let transcript = if args.transcript { Some(transcript::load_all(client, &args.id)?.raw) } else { None };
        let mut whole = json!({
            "session": self.session.raw,
            "spawn": self.spawn.map(|spawn| spawn.raw),
            "questions": self.questions.raw,
            "skills": { "asked": skills, "loaded": loaded_skills, "receipts": self.receipts.raw },
        });
        if let (Some(whole), Some(transcript)) = (whole.as_object_mut(), transcript) {
            whole.insert("transcript".to_owned(), transcript);
        }
        Ok(whole)
    }

    fn metadata(&self) -> SkillMetadata {
        SkillMetadata::deserialize(Json::Object(self.session.value.metadata.clone())).unwrap_or_default()
    }

    fn agent(&self, text: &mut String) {
        let Some(spawn) = self.spawn.as_ref().map(|spawn| &spawn.value) else { return };
        let agent = spawn.read_spec().agent.unwrap_or_else(|| "any".to_owned());
        let _ = write!(text, "  agent: {} ({}", clean(&agent), clean(&spawn.state));
        let starts = if spawn.attempt > 1 { format!(", start {}", spawn.attempt) } else { String::new() };
        let _ = writeln!(text, "{starts})");
        if let Some(outcome) = &spawn.outcome {
            show_outcome(outcome, text);
        }
    }

    fn questions(&self, text: &mut String) {
        for question in &self.questions.value {
            let id = clean(&self.session.value.id);
            let _ =
                writeln!(text, "  asks: {} (`maestro session answer {id} once|always|deny`)", clean(&question.title));
        }
    }

    /// What it left, and what can be done with that.
    fn work(&self, client: &CliClient, text: &mut String) -> CommandResult<()> {
        if let Some(work) = SessionBranch::of(client, &self.session.value)? {
            text.push_str(&work.describe(&client.short_ids()));
        }
        Ok(())
    }

    /// Which skills were asked for and arrived, and how far each text got.
    fn skills(&self, text: &mut String) {
        let listed = |value: &Json| {
            let words: Vec<String> = Vec::deserialize(value).unwrap_or_default();
            if words.is_empty() { "none".to_owned() } else { joined(&words, ", ") }
        };
        let metadata = self.metadata();
        let _ = writeln!(text, "  skills requested: {}", listed(&metadata.skills));
        let _ = writeln!(text, "  skills available: {}", listed(&metadata.loaded_skills));
        let receipts = &self.receipts.value;
        let width = receipts.iter().map(|receipt| clean(&receipt.skill).len()).max().unwrap_or_default();
        for receipt in receipts {
            let hash: String = clean(&receipt.hash).chars().take(HASH).collect();
            let skill = pad(&clean(&receipt.skill), width);
            let _ = writeln!(text, "    {skill}  {hash}  {}", clean(&receipt.stage));
        }
    }
}

/// Nothing where there is no such thing; any other failure stays one.
fn found<T>(answer: CommandResult<T>) -> CommandResult<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

fn of_session(id: &str) -> PermissionQuery {
    PermissionQuery { session_id: Some(id.to_owned()), all: None }
}

fn joined(words: &[String], between: &str) -> String {
    let words: Vec<String> = words.iter().map(|word| clean(word).into_owned()).collect();
    words.join(between)
}

/// The result of a session: what, why, what was denied and changed, and what it cost.
fn show_outcome(outcome: &SessionOutcome, text: &mut String) {
    let (kind, reasons) = result_words(&outcome.result);
    let why = if reasons.is_empty() { String::new() } else { format!(": {}", joined(&reasons, "; ")) };
    let _ = writeln!(text, "  outcome: {kind}{why}");
    let Some(work) = &outcome.work else { return };
    for (heading, words) in [("denied", &work.denied), ("changed", &work.changed_files)] {
        if !words.is_empty() {
            let _ = writeln!(text, "  {heading}: {}", joined(words, ", "));
        }
    }
    let (tokens, cost) = (work.spent.tokens(), work.spent.cost_usd);
    if tokens > 0 {
        // What no agent reported is not free.
        let money = if cost > 0.0 { format!(", ${cost:.4}") } else { String::new() };
        let _ = writeln!(text, "  spent: {tokens} tokens{money}");
    }
}

/// The word for a result, and its reasons.
fn result_words(result: &SessionResult) -> (&'static str, Vec<String>) {
    let one = |reason: &String| if reason.is_empty() { Vec::new() } else { vec![reason.clone()] };
    match result {
        SessionResult::Done => ("done", Vec::new()),
        SessionResult::NothingDone { reason } => ("nothing_done", one(reason)),
        SessionResult::Unreported { reason } => ("unreported", one(reason)),
        SessionResult::Failed { reasons } => ("failed", reasons.clone()),
        SessionResult::Cancelled => ("cancelled", Vec::new()),
        SessionResult::Parked { reason } => ("parked", one(reason)),
        SessionResult::Stalled { reason } => ("stalled", one(reason)),
        SessionResult::NotStarted { reasons } => ("not_started", reasons.clone()),
        SessionResult::Unknown => ("unknown", Vec::new()),
    }
}

/// Shows what a session's agent does until the session has ended.
pub(crate) fn follow(client: &CliClient, id: &str, world: &World) -> CommandResult {
    // Who follows wants to know by the exit code how it went; so it is followed before there is a reply.
    let mut tail = TranscriptFollower {
        client,
        session: id,
        shown: TranscriptPrinter::new(world.paint),
        after: 0,
        form: TranscriptFormat::of(world),
    };
    let mut asked: Vec<String> = Vec::new();
    let mut changes = client.watch(EventQuery { session_id: Some(id.to_owned()), ..EventQuery::default() });
    let session = loop {
        let session = client.call(sessions::get(id))?;
        tail.more(command_output::show)?;
        if session.status.is_over() || session.needs_input.is_some() {
            let spawn = found(client.call(spawns::get(id)))?;
            if spawn.is_none_or(|spawn| spawn.state != "claimed") {
                tail.more(command_output::show)?;
                break session;
            }
        }
        for question in client.call(spawns::permissions(&of_session(id)))? {
            if asked.contains(&question.request) {
                continue;
            }
            if world.terminals.stdin && world.terminals.stderr {
                answer::ask(client, &question)?;
            } else {
                let how = format!("maestro session answer {} once|always|deny", clean(id));
                command_output::warn(
                    &format!("asks: {}; answer with `{how}`", clean(&question.title)),
                    world.note_paint,
                );
            }
            asked.push(question.request);
        }
        client.wait(changes.changed());
    };
    command_output::show(&tail.shown.close())?;
    let known = SessionDetails::of(client, id)?;
    let outcome = known.spawn.as_ref().and_then(|spawn| spawn.value.outcome.as_ref());
    let not_started = outcome.is_some_and(|outcome| matches!(outcome.result, SessionResult::NotStarted { .. }));
    let exit = match session.status {
        SessionStatus::Completed => ExitKind::Ok,
        _ if not_started => ExitKind::NotSpawned,
        _ => ExitKind::Failed,
    };
    if world.json {
        let args = ShowArgs { id: id.to_owned(), skills: false, transcript: false, follow: true };
        return Ok(CommandOutput::json(&known.json(&args, client)?)?.with_exit(exit));
    }
    let mut text = head(&session, world);
    known.agent(&mut text);
    known.work(client, &mut text)?;
    Ok(CommandOutput::text(text).with_exit(exit))
}
