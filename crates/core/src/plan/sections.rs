//! Sections that set their tasks aside. Works on levels and plain text alone; it never looks at
//! the tasks themselves.

use super::SetAsideReason;
use crate::excerpt::{ellipsize, one_line};

/// Every task carries its section's text, so a heading of absurd length would be copied once per
/// task; this much is enough to find the place.
const MAX_SECTION_CHARS: usize = 256;

/// The plain text of a heading on the top level of the document, while it is being collected.
#[derive(Debug)]
pub(super) struct HeadingText {
    level: u8,
    text: String,
}

/// The part of the document that a heading begins.
#[derive(Debug)]
pub(super) struct PlanSection {
    level: u8,
    /// The heading's text on one line, or `None` when it is empty.
    pub(super) text: Option<String>,
    own_reason: Option<SetAsideReason>,
}

impl HeadingText {
    pub(super) fn new(level: u8) -> Self {
        Self { level, text: String::new() }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn finish(self) -> PlanSection {
        let text = one_line(&self.text);
        let own_reason = own_reason(&text.to_lowercase());
        let text = ellipsize(&text, MAX_SECTION_CHARS);
        PlanSection { level: self.level, text: (!text.is_empty()).then_some(text), own_reason }
    }
}

fn own_reason(text: &str) -> Option<SetAsideReason> {
    if text.contains("verification") {
        Some(SetAsideReason::VerificationSection)
    } else if text.contains("checklist") {
        Some(SetAsideReason::ChecklistSection)
    } else if text.starts_with("manual qa") {
        Some(SetAsideReason::ManualQaSection)
    } else {
        None
    }
}

/// For each section, why its tasks are set aside, if they are. A reason reaches
/// down to sub-headings and ends at the next heading of the same or a higher level.
pub(super) fn reasons(sections: &[PlanSection]) -> Vec<Option<SetAsideReason>> {
    // A single h1 on top is the document's title: "Release checklist" there must not hide the plan.
    let h1_is_title = sections.first().is_some_and(|first| first.level == 1)
        && sections.iter().filter(|section| section.level == 1).count() == 1;
    let mut open: Vec<(u8, Option<SetAsideReason>)> = Vec::new();
    sections
        .iter()
        .map(|section| {
            while open.last().is_some_and(|(level, _)| *level >= section.level) {
                open.pop();
            }
            let inherited = open.last().and_then(|(_, reason)| *reason);
            let is_title = h1_is_title && section.level == 1;
            let own = if is_title { None } else { section.own_reason };
            let reason = own.or(inherited);
            open.push((section.level, reason));
            reason
        })
        .collect()
}
