//! The form for Aider: plain text, with every command as a `/run` line at the margin, where no value can stand.

use super::outline::{AIDER_RESULT, PageBlock};
use super::phrases::{command, escape_hidden, lines};
use super::text::TextPage;

/// A page for Aider.
pub(super) fn page(blocks: &[PageBlock]) -> String {
    let mut page = TextPage::default();
    for block in blocks {
        match block {
            PageBlock::Command(argv) => page.line(&format!("/run {}", lines(&command(&from_file(argv))).join(" "))),
            // Only what is to be done stands at the margin: a file of these lines does one thing.
            PageBlock::Instead(when, argv) => page.indented(&format!("{when}: /run {}", command(argv))),
            other => page.block(other),
        }
    }
    escape_hidden(&page.text)
}

/// The command with a result that is read from a file: nothing can be written to what `/run` starts.
fn from_file(argv: &[String]) -> Vec<String> {
    let mut argv = argv.to_vec();
    let at = argv.iter().position(|word| word == "--result-file").map(|at| at + 1);
    if let Some(source) = at.and_then(|at| argv.get_mut(at)).filter(|source| *source == "-") {
        AIDER_RESULT.clone_into(source);
    }
    argv
}
