//! Reminder for a session at a step that ends without a report.

use maestro_core::workflow::directive::Directive;

use super::prompt::verdict_instructions;

/// The words for a session that ended without a report.
pub(super) fn text(directive: &Directive) -> String {
    let verdict = verdict_instructions(directive);
    let text = if verdict.is_empty() {
        "You ended without a report, so it is not known whether the work is done. Look at the files first. If \
         something is missing, finish it. Then run `maestro complete \"what you did\"`; if you cannot continue, \
         run `maestro blocked \"why\"` instead."
    } else {
        "You ended without your report of this step, so your work does not count yet. Finish what is missing of it, report \
         as described below, and then run `maestro complete \"what you did\"`; if you cannot continue, run \
         `maestro blocked \"why\"` instead."
    };
    format!("{text}\n{verdict}").trim_end().to_owned()
}
