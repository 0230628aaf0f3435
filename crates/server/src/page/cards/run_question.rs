//! Questions of runs: of their workflow, at a gate, or for consent.

use maestro_api::waiting::WaitingBody;
use maestro_core::excerpt::ellipsize;
use maestro_core::waiting::WaitingKind;

use super::{CardOption, QUESTION, TITLE, WaitingCard};
use crate::page::badge::state;
use crate::page::text::DisplayText;

/// How many options are buttons.
const MOST_OPTIONS: usize = 20;

/// What a run itself asks. `agent` is who works for it.
pub(in crate::page) fn run_question(item: &WaitingBody, agent: Option<&str>) -> WaitingCard {
    let (text, command) = match (item.kind, &item.ticket) {
        (WaitingKind::Consent, None) => split_command(&item.text),
        _ => (item.text.clone(), None),
    };
    WaitingCard {
        id: format!("wait-{}", item.id),
        state: state("waits", "?", item.kind.label()),
        who: agent.map(|agent| ellipsize(agent, TITLE)),
        text: DisplayText::exactly(&text, QUESTION).text,
        since: item.since,
        run: item.run_id.clone(),
        ticket: item.ticket.clone(),
        options: CardOption::of(item, MOST_OPTIONS),
        command,
        ..WaitingCard::default()
    }
}

/// A hint with the command that it names.
fn split_command(text: &str) -> (String, Option<String>) {
    let mut parts = text.split('`');
    match (parts.next(), parts.next()) {
        (Some(words), Some(command)) => {
            (words.trim_end_matches("allow it with ").trim_end_matches("; ").to_owned(), Some(command.to_owned()))
        }
        _ => (text.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::split_command;

    #[test]
    fn a_hint_and_its_command_are_two_things() {
        let (text, command) = split_command("`x` changed");
        assert_eq!((text.as_str(), command.as_deref()), ("", Some("x")));
        let (text, command) = split_command("it is not trusted yet; allow it with `maestro trust w`");
        assert_eq!((text.as_str(), command.as_deref()), ("it is not trusted yet", Some("maestro trust w")));
        assert_eq!(split_command("no command"), ("no command".to_owned(), None));
    }
}
