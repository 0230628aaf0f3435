//! `maestro session suggest-name`: unused names for a session, each with a line of background.

use std::collections::HashSet;
use std::fmt::Write as _;

use maestro_api::sessions::{self, SessionQuery};
use serde::Serialize;

use super::names::{NAMES, SessionName};
use crate::args::SuggestNameArgs;
use crate::client::CliClient;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::pad;

/// A name that is free.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct NameSuggestion {
    name: String,
    person: &'static str,
    background: &'static str,
}

pub(crate) fn run(args: &SuggestNameArgs, world: &World) -> CommandResult {
    let (taken, note) = match used_words(world) {
        Ok(taken) => (taken, String::new()),
        // A name that is taken does less harm than none at all.
        Err(error) => (HashSet::new(), format!("cannot check which names are in use: {}\n", error.message())),
    };
    let suggestions = suggest(&args.role, usize::from(args.count), &taken);
    if world.json {
        return Ok(CommandOutput::json(&suggestions)?.with_notes(note));
    }
    let mut text = String::new();
    for NameSuggestion { name, person, background } in suggestions {
        let _ = writeln!(text, "{}  {person}: {background}", world.paint.strong(&pad(&name, 12)));
    }
    Ok(CommandOutput::text(text).with_notes(note))
}

/// The words that the names of living sessions are made of, in small letters.
fn used_words(world: &World) -> CommandResult<HashSet<String>> {
    let client = CliClient::open(world)?;
    // For callers of old, only `completed` is an end.
    let sessions = client.list(sessions::summaries(&SessionQuery::active()))?;
    Ok(sessions.iter().filter(|session| !session.status.is_over()).flat_map(|session| words(&session.name)).collect())
}

/// `Ada (reviewer)` takes the name `ada`, and `ada-2` only that.
fn words(name: &str) -> impl Iterator<Item = String> {
    let parts = name.split(|c: char| !c.is_alphanumeric() && c != '-');
    parts.filter(|part| !part.is_empty()).map(str::to_lowercase)
}

/// The first free names from the role's place in the list on; a second round numbers them.
fn suggest(role: &str, count: usize, taken: &HashSet<String>) -> Vec<NameSuggestion> {
    let start = role.bytes().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
    let rounds = (1_usize..).flat_map(|round| {
        let names = NAMES.iter().cycle().skip(start % NAMES.len()).take(NAMES.len());
        names.map(move |name| suggestion(name, round))
    });
    rounds.filter(|suggestion| !taken.contains(&suggestion.name)).take(count).collect()
}

fn suggestion(&SessionName { word, person, background }: &'static SessionName, round: usize) -> NameSuggestion {
    let name = if round == 1 { word.to_owned() } else { format!("{word}-{round}") };
    NameSuggestion { name, person, background }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_the_same_every_time_and_never_taken() {
        let none = HashSet::new();
        let first = suggest("reviewer", 3, &none);
        assert_eq!(first, suggest("reviewer", 3, &none));
        let taken: HashSet<String> = first.iter().map(|suggestion| suggestion.name.clone()).collect();
        let next = suggest("reviewer", 3, &taken);
        assert!(next.iter().all(|suggestion| !taken.contains(&suggestion.name)));
        assert_ne!(suggest("developer", 3, &none), first);
    }

    #[test]
    fn when_all_names_are_taken_they_are_numbered() {
        let taken: HashSet<String> = NAMES.iter().map(|name| name.word.to_owned()).collect();
        assert!(suggest("worker", 2, &taken).iter().all(|suggestion| suggestion.name.ends_with("-2")));
        assert_eq!(words("Ada-2 (worker)").collect::<Vec<_>>(), ["ada-2", "worker"]);
    }

    #[test]
    fn names_are_many_and_each_its_own() {
        let names: HashSet<&str> = NAMES.iter().map(|name| name.word).collect();
        assert!(NAMES.len() >= 40 && names.len() == NAMES.len());
        assert!(NAMES.iter().all(|name| name.word.bytes().all(|byte| byte.is_ascii_lowercase())));
        assert!(NAMES.iter().all(|name| name.background.ends_with('.')));
    }
}
