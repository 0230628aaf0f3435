//! Does a run come to the same end wherever whoever drives it dies?

mod handed;
mod landed;
mod mortal;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use maestro_core::workflow::StepOutcome;
use maestro_core::workflow::directive::{Directive, FinishedRun};
use maestro_core::workflow::pinned_definition::{PinnedDefinition, PinnedText};
use maestro_core::workflow::run::{AnswerAuthor, FileState, RunInput, Ticket, UserAnswer};
use maestro_core::workflow::run_reply::NextAction;
use serde_json::{Map, Value as Json, json};

use self::mortal::{Ended, Process, Shop};
use crate::execute::Place;

const VOYAGE: &str = include_str!("crash/voyage.yaml");
const LEG: &str = include_str!("crash/leg.yaml");

/// How many walks go on beside each other.
const BESIDE: usize = 4;

fn pinned() -> PinnedDefinition {
    let text = |text: &str| PinnedText { text: text.to_owned(), folder: "/".to_owned(), resources: BTreeMap::new() };
    let definitions = [("voyage", VOYAGE), ("voyage/leg", LEG)];
    let definitions = definitions.map(|(name, definition)| (name.to_owned(), text(definition))).into();
    PinnedDefinition { main: "voyage".to_owned(), definitions }
}

/// A walk, and what it left behind.
struct Walk {
    finished: FinishedRun,
    message: Option<String>,
    /// The lines that commands wrote, in their order.
    effects: Vec<String>,
    /// How often the process could have died.
    moments: usize,
    /// How often the run changed.
    revision: i64,
    /// The commands that nobody knew about, and what the truth was.
    asked: Vec<(String, &'static str)>,
}

impl Walk {
    /// What was done, however often something was done again that may be.
    fn once(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.effects.iter().map(String::as_str).collect();
        lines.dedup_by(|later, earlier| later == earlier && !later.starts_with("write "));
        lines
    }
}

fn lines(workspace: &Path) -> Vec<String> {
    let text = fs::read_to_string(workspace.join("effects")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Somebody who does what the run says, truthfully, whatever becomes of the processes that carry the words.
struct Script {
    workspace: PathBuf,
    /// How many times each command had been executed when the run first came to it.
    known: BTreeMap<String, usize>,
    asked: Vec<(String, &'static str)>,
}

impl Script {
    /// What is said to a directive: one word for each who is asked.
    fn words(&mut self, directive: &Directive) -> Vec<RunInput> {
        if !directive.dispatches.is_empty() {
            let result = |child: &str| object(&json!({"saw": format!("{child} saw land")}));
            let report = |child: &str, ticket: &Ticket| report(ticket, "ok", result(child));
            return directive.dispatches.iter().map(|one| report(&one.child, &one.ticket)).collect();
        }
        let (step, ticket) = (directive.step.id.as_str(), &directive.ticket);
        if let Some(question) = &directive.question {
            let is_consent = question.options.as_deref() == Some(&["again", "done", "abort"].map(str::to_owned));
            let word = if is_consent { self.truth(step) } else { reply(step) };
            let answer = UserAnswer::Value(json!(word));
            return vec![RunInput::Answer { ticket: ticket.clone(), answer, by: AnswerAuthor::User, now: 0 }];
        }
        let (outcome, result) = match step {
            "plan" => ("ok", json!({"legs": ["one", "two"], "note": "Mind the rocks."})),
            "fathom" => ("ok", json!({"depth": "nine fathoms"})),
            "list-hull" => ("ok", json!({"items": [{"id": "H1", "check": "The hull is dry", "severity": "MUST"}]})),
            "look-at-hull" => {
                let status = if directive.round.number == 1 { "fail" } else { "pass" };
                ("ok", json!({"items": [{"id": "H1", "status": status, "evidence": "seen", "finding": "wet"}]}))
            }
            "look-back" => ("well", json!({"words": "It was a good voyage."})),
            _ => ("ok", json!({})),
        };
        vec![report(ticket, outcome, object(&result))]
    }

    /// Whether a command of which nobody knows was executed, by what it left behind.
    fn truth(&mut self, step: &str) -> &'static str {
        let line = format!("write {step}");
        let done = lines(&self.workspace).iter().filter(|other| **other == line).count();
        let word = if done > self.known.get(step).copied().unwrap_or_default() { "done" } else { "again" };
        self.asked.push((step.to_owned(), word));
        word
    }

    /// Notes what was done before the run comes to a step again.
    fn note(&mut self) {
        for line in lines(&self.workspace) {
            if let Some(step) = line.strip_prefix("write ") {
                let count = lines(&self.workspace).iter().filter(|other| **other == line).count();
                self.known.insert(step.to_owned(), count);
            }
        }
    }
}

fn reply(step: &str) -> &'static str {
    match step {
        "which-way" => "north",
        "crew" => "Bob",
        "captain" => "Ada",
        step => panic!("asked for {step}"),
    }
}

fn object(value: &Json) -> Map<String, Json> {
    value.as_object().unwrap().clone()
}

fn report(ticket: &Ticket, outcome: &str, result: Map<String, Json>) -> RunInput {
    let outcome = Some(StepOutcome::new(outcome));
    RunInput::Report { ticket: ticket.clone(), outcome, set: Map::new(), result, seen: FileState::default(), now: 0 }
}

/// Walks from the start to the end; the first process dies at the given moment, if it comes to it.
async fn walk(shop: &Shop, dies_at: usize) -> Walk {
    let workspace = shop.workspace(dies_at);
    let mut script = Script { workspace: workspace.clone(), known: BTreeMap::new(), asked: Vec::new() };
    let mut process = shop.process(dies_at);
    // What was said and not answered yet: whoever said it says it again.
    let mut said: Vec<RunInput> = Vec::new();
    loop {
        match go_on(&process, &workspace, &mut script, &mut said).await {
            Ok(Some((finished, message, revision))) => {
                let (effects, moments) = (lines(&workspace), process.moments());
                return Walk { finished, message, effects, moments, revision, asked: script.asked };
            }
            Ok(None) => script.note(),
            Err(Ended::Died) => {
                drop(process);
                process = shop.process(usize::MAX);
            }
            Err(Ended::Refused(error)) => panic!("dead at {dies_at}: {error}"),
        }
    }
}

type Over = (FinishedRun, Option<String>, i64);

async fn go_on(
    process: &Process,
    workspace: &Path,
    script: &mut Script,
    said: &mut Vec<RunInput>,
) -> Result<Option<Over>, Ended> {
    let id = match process.find(workspace).await {
        Some(id) => id,
        None => process.start(pinned(), workspace, object(&json!({"ship": "Argo"}))).await?,
    };
    while let Some(input) = said.first() {
        process.write(id, input.clone()).await?;
        said.remove(0);
    }
    process.drive(id).await?;
    let view = process.get(id).await?;
    match view.reply.next {
        NextAction::Directive { directive } => {
            *said = script.words(&directive);
            while let Some(input) = said.first() {
                process.write(id, input.clone()).await?;
                said.remove(0);
            }
            Ok(None)
        }
        NextAction::Finished { finished, message } => Ok(Some((finished, message, view.record.revision))),
        other => panic!("nobody is to do anything: {other:?}"),
    }
}

#[test]
fn a_run_ends_the_same_wherever_its_driver_dies() {
    let place = Place::new();
    let shop = Shop::new(&place, "first");
    let whole = shop.block_on(walk(&shop, usize::MAX));
    assert_eq!(
        whole.finished.outputs,
        *json!({
            "way": "north by north", "note": "Mind the rocks.", "cargo": ["tea", "salt"], "leg": "nine fathoms",
            "seen": [
                {"saw": "1 saw land", "id": "1", "outcome": "ok"},
                {"saw": "2 saw land", "id": "2", "outcome": "ok"},
            ],
            "captain": "Ada",
        })
        .as_object()
        .unwrap()
    );
    assert_eq!(whole.message.as_deref(), Some("Argo is home, north by north; captain Ada."));
    assert_eq!(whole.asked, [], "nobody is asked when nobody died");
    // The first change is the start; every other one is something that was written.
    assert_eq!(i64::try_from(whole.moments).unwrap(), 2 * whole.revision, "each change has a moment before and after");

    let next = AtomicUsize::new(1);
    let asked: Vec<(String, &str)> = std::thread::scope(|scope| {
        let (next, whole, place) = (&next, &whole, &place);
        let walker = move |number: usize| {
            let shop = Shop::new(place, &format!("shop-{number}"));
            let mut asked = Vec::new();
            loop {
                let moment = next.fetch_add(1, Ordering::Relaxed);
                if moment > whole.moments {
                    return asked;
                }
                let again = shop.block_on(walk(&shop, moment));
                assert_eq!(again.finished.outputs, whole.finished.outputs, "dead at {moment}");
                assert_eq!(again.finished.status, whole.finished.status, "dead at {moment}");
                assert_eq!(again.message, whole.message, "dead at {moment}");
                assert_eq!(again.once(), whole.effects, "dead at {moment}, asked {:?}", again.asked);
                asked.extend(again.asked);
            }
        };
        let walkers: Vec<_> = (0..BESIDE).map(|number| scope.spawn(move || walker(number))).collect();
        walkers.into_iter().flat_map(|walker| walker.join().unwrap()).collect()
    });
    // After a command was announced nobody knows of it: before it is executed, and before it is told how it ended.
    let writes = whole.effects.iter().filter(|line| line.starts_with("write ")).count();
    let count = |word| asked.iter().filter(|(_, truth)| *truth == word).count();
    assert_eq!((count("again"), count("done")), (writes, writes), "{asked:?}");
    println!(
        "{} boundaries of {} changes were tried; {writes} writes were asked about twice",
        whole.moments, whole.revision
    );
}
