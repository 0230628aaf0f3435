//! Descriptions of workflow tools: when to use one comes first and whole, then what it does.

use maestro_core::excerpt::one_line;
use maestro_core::hidden_chars::escape_hidden;

use super::super::clipped;
use super::super::skill_index::WorkflowKind;

/// How sentences begin that say when something is used.
const CUES: [&str; 6] = ["use when", "use this", "use for", "use it", "use after", "use before"];

/// A description in so many characters, that begins with when the tool is used. Sentences are whole where that is
/// possible.
pub(super) fn describe(text: &str, kind: WorkflowKind, most: usize) -> String {
    let text = one_line(&escape_hidden(text));
    let (cues, others): (Vec<&str>, Vec<&str>) = sentences(&text).into_iter().partition(|sentence| is_cue(sentence));
    let first = match (cues.split_first(), kind) {
        // It is whole where that is possible, also if nothing else has room then.
        (Some((cue, _)), _) => clipped(cue, most * 2),
        (None, WorkflowKind::Workflow) => "Use when the user asks for this workflow.".to_owned(),
        // What a command does says when to use it.
        (None, WorkflowKind::Command) => String::new(),
    };
    let mut described = first;
    for sentence in others.into_iter().chain(cues.into_iter().skip(1)) {
        if described.chars().count() + 1 + sentence.chars().count() > most {
            break;
        }
        if !described.is_empty() {
            described.push(' ');
        }
        described.push_str(sentence);
    }
    described
}

fn is_cue(sentence: &str) -> bool {
    CUES.iter().any(|cue| sentence.get(..cue.len()).is_some_and(|start| start.eq_ignore_ascii_case(cue)))
}

/// The sentences of a text on one line.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let (mut rest, mut searched) = (text.trim(), 0);
    while let Some(found) = rest.get(searched..).and_then(|after| after.find(". ")) {
        let end = searched + found + 1;
        let (sentence, after) = rest.split_at(end);
        if is_abbreviated(sentence) || after.trim_start().starts_with(char::is_lowercase) {
            searched = end;
            continue;
        }
        sentences.push(sentence.trim());
        (rest, searched) = (after.trim_start(), 0);
    }
    if !rest.is_empty() {
        sentences.push(rest);
    }
    sentences
}

/// Whether what ends with a point ends with an abbreviation: `e.g.`, `vs.`.
fn is_abbreviated(text: &str) -> bool {
    const SHORT: [&str; 7] = ["vs", "etc", "approx", "incl", "resp", "cf", "ca"];
    let word = text.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default().trim_end_matches('.');
    word.contains('.') || SHORT.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_it_is_used_comes_first_and_whole() {
        let told = describe("Digs a hole. Use when the user wants one dug.", WorkflowKind::Workflow, 200);
        assert_eq!(told, "Use when the user wants one dug. Digs a hole.");
        let long = format!("Digs a hole, {}. Use when it is wanted.", "deep ".repeat(60));
        assert_eq!(describe(&long, WorkflowKind::Workflow, 100), "Use when it is wanted.");
    }

    #[test]
    fn a_point_within_a_sentence_does_not_end_it() {
        let told =
            describe("Prints it. Use when, e.g. in tests, much is printed. It is slow.", WorkflowKind::Workflow, 200);
        assert_eq!(told, "Use when, e.g. in tests, much is printed. Prints it. It is slow.");
        let told =
            describe("Weighs A vs. B. Use for text (PDF, Word, etc.) that is long.", WorkflowKind::Workflow, 200);
        assert_eq!(told, "Use for text (PDF, Word, etc.) that is long. Weighs A vs. B.");
    }

    #[test]
    fn without_such_a_sentence_there_is_still_one() {
        let told = describe("Paints it.", WorkflowKind::Workflow, 100);
        assert_eq!(told, "Use when the user asks for this workflow. Paints it.");
        assert_eq!(describe("Paints it", WorkflowKind::Command, 100), "Paints it");
    }

    #[test]
    fn text_of_any_script_is_cut_between_characters() {
        let told = describe(&"Üben ".repeat(100), WorkflowKind::Workflow, 60);
        assert_eq!(told, "Use when the user asks for this workflow.");
        assert!(describe(&format!("Use when {}", "ü".repeat(300)), WorkflowKind::Workflow, 60).ends_with('…'));
    }
}
