//! Waiting for what a run orders, on behalf of a request.

use std::time::Duration;

pub(crate) use maestro_engine::daemon::GRACE;
use maestro_engine::runs::{RunError, RunView};

use crate::app::AppState;

/// How long a request waits for what is executed unless it says otherwise; what takes longer is shown as busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

impl AppState {
    /// The run after what is the server's to execute was executed, if that does not take too long.
    pub(crate) async fn drive_within(&self, view: RunView, patience: Duration) -> Result<RunView, RunError> {
        self.drivers.drive_within(view, patience).await
    }
}
