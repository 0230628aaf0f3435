//! Banner that says what fails in the background.

use maestro_core::utc_time::UtcTime;

use crate::api::health::failures;
use crate::app::AppState;

/// What fails and since when, in a line; nothing while all works.
pub(super) fn banner(app: &AppState) -> Option<String> {
    let failures = failures(app);
    let first = failures.first()?;
    let more = match failures.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    Some(format!("Degraded since {}: {}: {}{more}", UtcTime::of(first.since).iso(), first.what, first.reason))
}
