//! What does a person see while something takes its time? A sign of life on standard error, and nothing afterwards.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::host::world::World;

/// How often the sign moves.
const BEAT: Duration = Duration::from_millis(100);

/// Shows a sign of life while something is done; where nobody looks, nothing is shown.
pub(crate) fn while_working<T>(world: &World, what: &str, work: impl FnOnce() -> T) -> T {
    if !world.terminals.stderr {
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
