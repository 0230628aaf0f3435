//! How is a directive told? Each form is a pure function from the same data.

#[cfg(test)]
mod tests;
mod text;
mod xml;

use std::fmt::Write as _;

use super::directive::{Directive, Finished, Round, RoundMode};

pub use text::{finished_text, text};
pub use xml::{finished_xml, xml};

/// A directive as JSON, with its keys as they are.
pub fn json(directive: &Directive) -> String {
    serde_json::to_string_pretty(directive).unwrap_or_default()
}

/// What is said of a run that is over, as JSON.
pub fn finished_json(finished: &Finished) -> String {
    serde_json::to_string_pretty(finished).unwrap_or_default()
}

/// The banner that tells whoever works in a review which round it is.
pub fn banner(round: &Round) -> Option<String> {
    let review = round.review.as_ref()?.as_str().replace(['-', '_'], " ").to_uppercase();
    let name = if review.ends_with("REVIEW") { review } else { format!("{review} REVIEW") };
    Some(match round.mode {
        RoundMode::Initial => format!("{name}: Review the work for issues."),
        RoundMode::FreshReview => {
            format!("{name} (Iteration {}, fresh review): Previous review found issues.", round.number)
        }
        RoundMode::ReVerify => {
            format!("{name} (Iteration {}, re-verify fixes): Previous review found issues.", round.number)
        }
    })
}

/// A command as it can be typed.
fn command(argv: &[String]) -> String {
    let mut text = String::new();
    for word in argv {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./#:=".contains(c);
        // A word that begins with `#` would be a comment.
        let quoted = if !word.is_empty() && word.chars().all(plain) && !word.starts_with('#') {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        };
        let _ = write!(text, "{}{quoted}", if text.is_empty() { "" } else { " " });
    }
    text
}
