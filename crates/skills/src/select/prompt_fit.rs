//! Stricter bar for the prompts of a conversation.
//!
//! A task of a plan says what is wanted. Of what people type to an agent, most is an answer, a correction or a question, and
//! a meaning that comes near a skill's by chance. A skill is added to a prompt only where its own words are in it, or
//! where a whole sentence means what it is for.

use std::sync::Arc;

use maestro_core::event::{RankedSkill, ScoreTerm, SkillVerdict};
use maestro_core::excerpt::head_and_tail;

use super::{SelectionResult, prose};
use crate::skill::{Skill, SkillType};

/// How well a skill's words must fit, where its meaning is not far off.
const WORDS: f64 = 10.0;
/// How near its meaning must be for that: a single rare word is in many prompts that are about something else.
const NOT_FAR: f64 = 0.3;
/// How well its words must fit where its meaning is far off.
const MANY_WORDS: f64 = 18.0;
/// How near its meaning must be where they do not.
const MEANING: f64 = 0.6;
/// How many words a prompt must have for its meaning to count alone.
const LEAST_WORDS: usize = 7;
/// How many words a correction has at most, and the words that make one: "no, not the Docker image".
const CORRECTION_WORDS: usize = 14;
const NEGATIONS: [&str; 17] = [
    "no", "not", "don't", "don’t", "never", "nein", "nicht", "kein", "keine", "keinen", "non", "ne", "pas", "não",
    "nem", "nunca", "niente",
];
/// How many lines of a mail's header make it one.
const LEAST_HEADER: usize = 2;
/// How many characters of a prompt are looked at: its beginning and its end, around what is pasted between them.
const HEAD: usize = 6_000;
const TAIL: usize = 2_000;

/// The part of a prompt that is compared.
pub fn prompt_label(prompt: &str) -> String {
    without_messages(&without_mail(&head_and_tail(prompt.trim(), HEAD, TAIL)))
}

/// A prompt without a pasted mail: from its header on, but for a request below it where none is above.
fn without_mail(prompt: &str) -> String {
    let lines: Vec<&str> = prompt.lines().collect();
    let begins = |at: &usize| {
        let is_first = at.checked_sub(1).and_then(|above| lines.get(above)).is_none_or(|above| above.trim().is_empty());
        let header = lines.iter().skip(*at).take_while(|line| prose::is_mail_header(line));
        is_first && header.count() >= LEAST_HEADER
    };
    let Some(start) = (0..lines.len()).find(begins) else { return prompt.to_owned() };
    let (above, mail) = lines.split_at(start);
    if above.iter().any(|line| !line.trim().is_empty()) {
        return above.join("\n");
    }
    let last = mail.rsplit(|line| line.trim().is_empty()).next().unwrap_or_default();
    last.join("\n")
}

/// A prompt without the sentences of pasted paragraphs: what follows output, or the name of who wrote it, belongs to it up
/// to the next blank line. The last line may be the request below what is pasted.
fn without_messages(prompt: &str) -> String {
    let mut paragraph = Paragraph::Begins;
    let mut fenced = false;
    let count = prompt.lines().count();
    let kept = prompt.lines().enumerate().filter(|(number, line)| {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        fenced ^= is_fence;
        if line.trim().is_empty() || is_fence || fenced {
            paragraph = Paragraph::Begins;
            return true;
        }
        if paragraph == Paragraph::Begins {
            paragraph = Paragraph::of(line);
            return true;
        }
        let is_last = number + 1 == count;
        prose::is_output(line)
            || match paragraph {
                Paragraph::Begins | Paragraph::Request => true,
                Paragraph::Output => is_last,
                Paragraph::Message => false,
            }
    });
    kept.map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}

/// What a paragraph is, by its first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paragraph {
    Begins,
    Request,
    Output,
    Message,
}

impl Paragraph {
    fn of(first: &str) -> Self {
        if prose::is_speaker(first) {
            Self::Message
        } else if prose::is_output(first) {
            Self::Output
        } else {
            Self::Request
        }
    }
}

/// Whether a prompt is so short, and says what is not wanted, that single words of it say little.
fn is_correction(words: &[&str]) -> bool {
    let plain = |word: &str| word.trim_matches(['.', ',', ';', ':', '!', '?']).to_lowercase();
    words.len() < CORRECTION_WORDS && words.iter().any(|word| NEGATIONS.contains(&plain(word).as_str()))
}

/// Whether at least half of what the words of a prompt say for a skill is not said for the one before it as well.
fn adds_words(ranked: &RankedSkill, first: &RankedSkill) -> bool {
    let is_own = |term: &&ScoreTerm| first.terms.iter().all(|other| other.word != term.word);
    let own: f64 = ranked.terms.iter().filter(is_own).map(|term| term.adds).sum();
    own * 2.0 >= ranked.words
}

/// Whether a skill's own words are in a prompt.
fn fit_by_words(ranked: &RankedSkill) -> bool {
    let is_near = ranked.meaning.is_none_or(|meaning| meaning >= NOT_FAR);
    ranked.words >= MANY_WORDS || (ranked.words >= WORDS && is_near)
}

/// The chosen skills that are worth adding to a prompt. Skills of roles are for those who play them.
pub fn fitting_prompt(selection: &SelectionResult, label: &str) -> Vec<Arc<Skill>> {
    let text = prose::prose(label);
    let words: Vec<&str> = text.split_whitespace().collect();
    let (is_sentence, is_correction) = (words.len() >= LEAST_WORDS, is_correction(&words));
    let place = |name: &str| selection.record.detail.ranking.iter().find(|ranked| ranked.name == name);
    let first = selection.skills.first().and_then(|skill| place(skill.id.as_str()));
    // A second skill is one too many where it is there for the words of the first.
    let adds = |ranked: &RankedSkill| first.is_none_or(|first| first.name == ranked.name || adds_words(ranked, first));
    let fits = |ranked: &RankedSkill| {
        ranked.verdict == SkillVerdict::Hinted
            || (!is_correction && fit_by_words(ranked) && adds(ranked))
            || (is_sentence && ranked.meaning.is_some_and(|meaning| meaning >= MEANING))
    };
    let is_fitting = |skill: &&Arc<Skill>| {
        // A skill that the prompt names need not be ranked.
        place(skill.id.as_str()).is_none_or(fits) && skill.kind != SkillType::Role
    };
    selection.skills.iter().filter(is_fitting).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_others_are_no_request() {
        let chat =
            "answer ben in my name\n\nana  10:02 AM\nthe rollout of kubernetes is stuck again, can somebody look?";
        assert_eq!(prompt_label(chat), "answer ben in my name\n\nana  10:02 AM");
        let time = "Deploy at 18:30\nand watch the readiness probes of the pods";
        assert_eq!(prompt_label(time), time);
        let below = "error: linking with `cc` failed\nthe linker could not find one of the libraries it needs\nsay so in the guide";
        assert_eq!(prompt_label(below), "error: linking with `cc` failed\nsay so in the guide");
        let request = "Merge the forms.\nerror: the file is not there\nThen rotate the second page of each of them.";
        assert_eq!(prompt_label(request), request);
    }

    #[test]
    fn a_pasted_mail_is_no_request() {
        let mail =
            "From: Ana <ana@example.org>\nSubject: accessibility and SEO\nHi,\n\nthe audit names three faults.\n\n";
        let above = format!("answer this in two sentences\n\n{mail}Best, Ana");
        assert_eq!(prompt_label(&above), "answer this in two sentences");
        assert_eq!(prompt_label(&format!("{mail}answer her that it is done")), "answer her that it is done");
        let german = "sag ihm ab\n\nVon: Ben\nBetreff: Kubernetes\nAn: alle\nDer Cluster steht.";
        assert_eq!(prompt_label(german), "sag ihm ab");
        let request = "To: the header of the page\nadd a line with the date";
        assert_eq!(prompt_label(request), request, "one such line is no mail");
    }

    #[test]
    fn a_correction_is_short_and_says_no() {
        let is_one = |text: &str| is_correction(&text.split_whitespace().collect::<Vec<_>>());
        assert!(is_one("no, not the Docker image") && is_one("le schéma GraphQL ne change pas"));
        assert!(!is_one("Build the Docker image with several stages"));
        let long = "Add a NOT NULL column for the region to the table of bookings without locking it during the day";
        assert!(!is_one(long));
    }
}
