//! Size limits for the events of an agent.

use serde_json::Value as Json;

use super::agent_event::{AgentEvent, PermissionChoice, PlanEntry};
use crate::excerpt::fit_bytes;

/// How many bytes a text of an event holds at most; what is longer ends with a mark that says how much is missing.
pub const MOST_TEXT: usize = 64 * 1024;

/// How many bytes a name or an id holds at most.
const MOST_NAME: usize = 1024;

/// How many parts a plan, or answers a question, has at most.
const MOST_PARTS: usize = 256;

/// The event, with no text longer than [`MOST_TEXT`].
#[must_use]
pub fn limit_event(mut event: AgentEvent) -> AgentEvent {
    match &mut event {
        AgentEvent::Began { agent_session, model, version } => {
            [agent_session, model, version].into_iter().flatten().for_each(name);
        }
        AgentEvent::Said { text: words }
        | AgentEvent::Thought { text: words }
        | AgentEvent::Printed { text: words, .. } => {
            text(words);
        }
        AgentEvent::ToolBegan { id, name: tool, title, input, .. } => {
            [id, tool, title].into_iter().for_each(name);
            json(input);
        }
        AgentEvent::ToolEnded { id, output, .. } => {
            name(id);
            text(output);
        }
        AgentEvent::Changed { path, diff, .. } => {
            text(path);
            diff.iter_mut().for_each(text);
        }
        AgentEvent::Planned { entries } => {
            parts(entries);
            for PlanEntry { text, .. } in entries {
                name(text);
            }
        }
        AgentEvent::Asked { id, title, detail, call, options } => {
            [id, title].into_iter().chain(call).for_each(name);
            text(detail);
            parts(options);
            for PermissionChoice { id, name: shown, .. } in options {
                name(id);
                name(shown);
            }
        }
        AgentEvent::Answered { id, .. } => name(id),
        AgentEvent::Trouble { message, .. } => text(message),
        AgentEvent::Ended { text: words, .. } => words.iter_mut().for_each(text),
        AgentEvent::Usage { .. }
        | AgentEvent::Context { .. }
        | AgentEvent::Retrying { .. }
        | AgentEvent::Cut { .. } => {}
    }
    event
}

fn text(text: &mut String) {
    truncate_text(text, MOST_TEXT);
}

fn name(text: &mut String) {
    truncate_text(text, MOST_NAME);
}

fn parts<T>(parts: &mut Vec<T>) {
    parts.truncate(MOST_PARTS);
}

/// Cuts a text so that, with its mark, it has at most this many bytes.
fn truncate_text(text: &mut String, most: usize) {
    if text.len() > most {
        *text = fit_bytes(text, most, |gone| format!("… [{gone} bytes cut]")).0;
    }
}

/// JSON that is too long becomes the beginning of its text: half of a structure would claim to be the whole.
fn json(value: &mut Json) {
    if size(value) > MOST_TEXT {
        let mut whole = value.to_string();
        text(&mut whole);
        *value = Json::String(whole);
    }
}

/// About how many bytes a value has as text, without making the text.
fn size(value: &Json) -> usize {
    match value {
        Json::Null | Json::Bool(_) => 5,
        Json::Number(_) => 20,
        Json::String(text) => text.len() + 2,
        Json::Array(items) => 2 + items.iter().map(|item| size(item) + 1).sum::<usize>(),
        Json::Object(fields) => 2 + fields.iter().map(|(key, value)| key.len() + 4 + size(value)).sum::<usize>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::ToolKind;

    #[test]
    fn a_long_text_is_cut_at_a_character_and_says_so() {
        let said = |text: &str| limit_event(AgentEvent::Said { text: text.to_owned() });
        assert_eq!(said("short"), AgentEvent::Said { text: "short".to_owned() });
        let AgentEvent::Said { text } = said(&"é".repeat(MOST_TEXT)) else { panic!("still words") };
        assert!(text.len() <= MOST_TEXT && text.ends_with("bytes cut]"), "{}", text.len());
        assert!(text.starts_with("éé"));
        let AgentEvent::Said { text: again } = said(&text) else { panic!("still words") };
        assert_eq!(again, text, "what was cut is not cut again");
    }

    #[test]
    fn what_a_tool_gets_is_kept_whole_or_as_the_beginning_of_its_text() {
        let began = |input: Json| {
            let (id, name, title) = ("1".repeat(5000), "write".to_owned(), "write".to_owned());
            limit_event(AgentEvent::ToolBegan { id, name, title, kind: ToolKind::Edit, input })
        };
        let small = serde_json::json!({ "path": "a" });
        let AgentEvent::ToolBegan { input, id, .. } = began(small.clone()) else { panic!("still a tool") };
        assert_eq!((input, id.len() <= MOST_NAME), (small, true));
        let AgentEvent::ToolBegan { input, .. } = began(serde_json::json!({ "content": "x".repeat(MOST_TEXT) })) else {
            panic!("still a tool")
        };
        assert!(input.as_str().is_some_and(|text| text.starts_with("{\"content\":\"xx") && text.len() <= MOST_TEXT));
    }

    #[test]
    fn a_plan_has_an_end() {
        let entry = PlanEntry { text: "x".repeat(5000), status: crate::agent::PlanEntryStatus::Pending };
        let AgentEvent::Planned { entries } = limit_event(AgentEvent::Planned { entries: vec![entry; 1000] }) else {
            panic!("still a plan")
        };
        assert_eq!(entries.len(), MOST_PARTS);
        assert!(entries.iter().all(|entry| entry.text.len() <= MOST_NAME));
    }
}
