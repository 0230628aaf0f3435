//! Spinner on standard error while something takes long.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::screen::TerminalStreams;

/// How often the spinner moves.
const BEAT: Duration = Duration::from_millis(100);

/// Shows a spinner during the work if standard error is a terminal.
pub(crate) fn while_working<T>(terminals: TerminalStreams, what: &str, work: impl FnOnce() -> T) -> T {
    if !terminals.stderr {
        return work();
    }
    let bar = ProgressBar::new_spinner().with_message(what.to_owned());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(BEAT);
    let done = work();
    bar.finish_and_clear();
    done
}
