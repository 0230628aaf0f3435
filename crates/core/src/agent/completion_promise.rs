//! The promise by which an agent says that nothing is left to do.

use super::agent_event::AgentEvent;

/// What it says then, as the last line of its words.
pub const PROMISE: &str = "<promise>COMPLETE</promise>";

/// Whether the agent itself said so; what it read, what its tools printed and its prompt do not count.
///
/// Its words come in pieces of any size, and often a tool is called after them; so it counts at the end of each stretch of
/// words, not only at the end of everything.
pub fn promises_completion<'e>(events: impl IntoIterator<Item = &'e AgentEvent>) -> bool {
    let mut said = String::new();
    for event in events {
        let also = match event {
            AgentEvent::Said { text } => {
                said.push_str(text);
                continue;
            }
            AgentEvent::Ended { text, .. } => text.as_deref(),
            AgentEvent::Began { .. } | AgentEvent::ToolBegan { .. } => None,
            _ => continue,
        };
        if ends_with_it(&said) || also.is_some_and(ends_with_it) {
            return true;
        }
        said.clear();
    }
    ends_with_it(&said)
}

/// Whether the last line is the promise. A sentence may end before it: messages come without a break between
/// them. In the middle of a sentence it is only spoken of.
fn ends_with_it(said: &str) -> bool {
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    let before = last.and_then(|line| line.strip_suffix(PROMISE)).map(str::trim_end);
    before.is_some_and(|before| before.is_empty() || before.ends_with(['.', '!', '?', ':']))
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;
    use crate::agent::{StopReason, ToolKind, ToolStatus};

    fn said(text: &str) -> AgentEvent {
        AgentEvent::Said { text: text.to_owned() }
    }

    fn tool(input: &str, output: &str) -> [AgentEvent; 2] {
        let (id, name, title) = ("1".to_owned(), "shell".to_owned(), input.to_owned());
        let input = Json::String(input.to_owned());
        let began = AgentEvent::ToolBegan { id: id.clone(), name, title, kind: ToolKind::Execute, input };
        [began, AgentEvent::ToolEnded { id, status: ToolStatus::Ok, output: output.to_owned() }]
    }

    fn ended(text: Option<&str>) -> AgentEvent {
        AgentEvent::Ended { stop: StopReason::EndTurn, text: text.map(str::to_owned) }
    }

    #[test]
    fn it_counts_in_pieces_and_before_the_last_report() {
        let pieces: Vec<AgentEvent> = PROMISE.chars().map(|letter| said(&letter.to_string())).collect();
        assert!(promises_completion(&pieces));
        assert!(promises_completion(&[said("All is done."), said(PROMISE), ended(None)]));
        let report = tool("maestro complete", "ok");
        assert!(promises_completion(
            [&said("Nothing is left.\n\n"), &said(PROMISE), &said("\n")].into_iter().chain(&report)
        ));
        assert!(promises_completion(&[said("Nothing"), ended(Some(&format!("Nothing is left.\n{PROMISE}\n")))]));
    }

    #[test]
    fn what_others_say_and_what_is_only_spoken_of_does_not_count() {
        assert!(!promises_completion(&tool(PROMISE, PROMISE)));
        let spoken = [
            format!("I shall say `{PROMISE}` when I am through"),
            format!("I do not say {PROMISE}"),
            format!("{PROMISE}\nBut first I do one more thing."),
            "<promise>COMPLETE".to_owned(),
        ];
        for words in &spoken {
            assert!(!promises_completion(&[said(words)]), "{words}");
        }
        let [began, told] = tool("cat PLAN.md", "COMPLETE</promise>");
        assert!(!promises_completion(&[said("<promise>"), began, told, said("COMPLETE</promise>")]));
        assert!(!promises_completion(&[AgentEvent::Thought { text: PROMISE.to_owned() }]));
    }
}
