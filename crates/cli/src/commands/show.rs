//! `maestro show`: a session with its agent, result, skills and transcript.

use std::fmt::Write as _;
use std::time::Duration;

use maestro_core::agent::AgentEvent;
use serde_json::{Value as Json, json};

use crate::args::ShowArgs;
use crate::client::wire::{self, Session};
use crate::client::{Client, escaped, with_query};
use crate::commands::info::head;
use crate::commands::session::permit;
use crate::host::world::World;
use crate::output::error::{CommandError, Exit};
use crate::output::reply::{self, Reply};
use crate::output::screen::{clean, pad};
use crate::output::transcript::{self, Form, Shown, Tail};

/// How often it is looked whether there is more.
const LOOK: Duration = Duration::from_millis(150);
/// How much of a hash is shown.
const HASH: usize = 12;

pub(crate) fn run(args: &ShowArgs, world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    if args.follow {
        return follow(&client, &args.id, world);
    }
    let known = Known::of(&client, &args.id)?;
    if world.json {
        return Reply::json(&known.json(args, &client)?);
    }
    let session: Session = wire::read(&known.session)?;
    let mut text = head(&session, world);
    known.agent(&mut text);
    known.questions(&mut text);
    if args.skills {
        known.skills(&mut text);
    }
    if args.transcript {
        let mut shown = Shown::new(world.paint);
        text.push('\n');
        for entry in transcript::whole(&client, &args.id)? {
            if let Ok(event) = serde_json::from_value::<AgentEvent>(entry["event"].clone()) {
                text.push_str(&shown.event(&event));
            }
        }
        text.push_str(&shown.close());
    }
    Ok(Reply::text(text))
}

/// What there is to know of a session.
struct Known {
    session: Json,
    spawn: Json,
    receipts: Vec<Json>,
    questions: Vec<Json>,
}

impl Known {
    fn of(client: &Client, id: &str) -> Result<Self, CommandError> {
        let path = format!("/api/sessions/{}", escaped(id));
        Ok(Self {
            session: client.get(&path)?,
            // A session that Maestro did not spawn has no agent of ours.
            spawn: client.get(&format!("{path}/spawn")).unwrap_or_default(),
            receipts: client.get(&format!("{path}/receipts"))?,
            questions: client.get(&with_query("/api/permissions", &[("sessionId", Some(id))]))?,
        })
    }

    fn json(self, args: &ShowArgs, client: &Client) -> Result<Json, CommandError> {
        let mut whole = json!({
            "session": self.session,
            "spawn": self.spawn,
            "questions": self.questions,
            "skills": { "asked": self.session["metadata"]["skills"], "loaded": self.session["metadata"]["loadedSkills"], "receipts": self.receipts },
        });
        if args.transcript {
            whole["transcript"] = Json::Array(transcript::whole(client, &args.id)?);
        }
        Ok(whole)
    }

    fn agent(&self, text: &mut String) {
        let Some(state) = self.spawn["state"].as_str() else { return };
        let agent = self.spawn["spec"]["agent"].as_str().unwrap_or("any");
        let attempt = self.spawn["attempt"].as_i64().unwrap_or_default();
        let _ = write!(text, "  agent: {} ({}", clean(agent), clean(state));
        let _ = writeln!(text, "{})", if attempt > 1 { format!(", start {attempt}") } else { String::new() });
        let outcome = &self.spawn["outcome"];
        if let Some(kind) = outcome["kind"].as_str() {
            let reasons = outcome["reasons"].as_array().into_iter().flatten().filter_map(Json::as_str);
            let reasons: Vec<String> =
                reasons.chain(outcome["reason"].as_str()).map(|word| clean(word).into_owned()).collect();
            let why = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
            let _ = writeln!(text, "  outcome: {}{why}", clean(kind));
        }
        let listed = |key: &str| -> Vec<String> {
            let words = outcome[key].as_array().into_iter().flatten().filter_map(Json::as_str);
            words.map(|word| clean(word).into_owned()).collect()
        };
        for (key, heading) in [("denied", "denied"), ("changedFiles", "changed")] {
            let words = listed(key);
            if !words.is_empty() {
                let _ = writeln!(text, "  {heading}: {}", words.join(", "));
            }
        }
        if let Some(spent) = outcome["spent"].as_object() {
            let number = |name: &str| spent.get(name).and_then(Json::as_f64).unwrap_or_default();
            let tokens = number("input") + number("output");
            if tokens > 0.0 {
                let cost = number("costUsd");
                // What no agent told is not free.
                let money = if cost > 0.0 { format!(", ${cost:.4}") } else { String::new() };
                let _ = writeln!(text, "  spent: {tokens} tokens{money}");
            }
        }
    }

    fn questions(&self, text: &mut String) {
        for question in &self.questions {
            let title = question["title"].as_str().unwrap_or_default();
            let _ = writeln!(text, "  asks: {} (`maestro session answer {}`)", clean(title), self.id());
        }
    }

    fn id(&self) -> String {
        clean(self.session["id"].as_str().unwrap_or_default()).into_owned()
    }

    /// Which skills were asked for and arrived, and how far each text got.
    fn skills(&self, text: &mut String) {
        let words = |value: &Json| -> String {
            let words: Vec<String> = value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Json::as_str)
                .map(|word| clean(word).into_owned())
                .collect();
            if words.is_empty() { "none".to_owned() } else { words.join(", ") }
        };
        let _ = writeln!(text, "  skills requested: {}", words(&self.session["metadata"]["skills"]));
        let _ = writeln!(text, "  skills delivered: {}", words(&self.session["metadata"]["loadedSkills"]));
        let word = |receipt: &Json, key: &str| clean(receipt[key].as_str().unwrap_or_default()).into_owned();
        let width = self.receipts.iter().map(|receipt| word(receipt, "skill").len()).max().unwrap_or_default();
        for receipt in &self.receipts {
            let hash: String = word(receipt, "hash").chars().take(HASH).collect();
            let _ = writeln!(text, "    {}  {hash}  {}", pad(&word(receipt, "skill"), width), word(receipt, "stage"));
        }
    }
}

/// Shows what a session's agent does until the session has ended.
pub(crate) fn follow(client: &Client, id: &str, world: &World) -> Result<Reply, CommandError> {
    // Who follows wants to know by the exit code how it went; so it is followed before there is a reply.
    let mut tail = Tail { client, session: id, shown: Shown::new(world.paint), after: 0, form: Form::of(world) };
    let mut asked: Vec<Json> = Vec::new();
    let session = loop {
        let session: Json = client.get(&format!("/api/sessions/{}", escaped(id)))?;
        tail.more(reply::show)?;
        let over = matches!(session["status"].as_str(), Some("completed" | "failed" | "stopped"));
        let waits = session["needsInput"]["active"].as_bool() == Some(true);
        if over || waits {
            let spawn: Json = client.get(&format!("/api/sessions/{}/spawn", escaped(id))).unwrap_or_default();
            if spawn["state"] != "claimed" {
                tail.more(reply::show)?;
                break session;
            }
        }
        if world.terminals.stdin && world.terminals.stderr {
            let path = with_query("/api/permissions", &[("sessionId", Some(id))]);
            for question in client.get::<Vec<Json>>(&path)? {
                if !asked.contains(&question["request"]) {
                    permit::ask(client, &question)?;
                    asked.push(question["request"].clone());
                }
            }
        }
        std::thread::sleep(LOOK);
    };
    reply::show(&tail.shown.close())?;
    let known = Known::of(client, id)?;
    let exit = match session["status"].as_str() {
        Some("completed") => Exit::Ok,
        _ if known.spawn["outcome"]["kind"] == "not_started" => Exit::NotSpawned,
        _ => Exit::Failed,
    };
    if world.json {
        let args = ShowArgs { id: id.to_owned(), skills: false, transcript: false, follow: true };
        return Ok(Reply::json(&known.json(&args, client)?)?.ending(exit));
    }
    let mut text = head(&wire::read::<Session>(&session)?, world);
    known.agent(&mut text);
    Ok(Reply::text(text).ending(exit))
}
