//! Metrics of this process in the Prometheus text format.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use maestro_core::Event;
use maestro_core::event::SkillMetrics;

/// The counts since the server started.
#[derive(Debug, Default)]
pub(crate) struct ServerMetrics {
    skills: Mutex<SkillMetrics>,
    /// Requests by the first digit of their status.
    answers: [AtomicU64; 6],
}

/// The counts that other parts of the process keep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessCounts {
    /// Committed transactions.
    pub(crate) commits: u64,
    /// Changes in them.
    pub(crate) changes: u64,
    /// Readers of the live events.
    pub(crate) watchers: u64,
    /// The time since the start.
    pub(crate) uptime: Duration,
}

impl ServerMetrics {
    pub(crate) fn observe(&self, event: &Event) {
        self.skills.lock().unwrap_or_else(PoisonError::into_inner).observe(event);
    }

    pub(crate) fn answered(&self, status: StatusCode) {
        if let Some(count) = self.answers.get(usize::from(status.as_u16() / 100)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Every counter with its description.
    pub(crate) fn to_text(&self, process: &ProcessCounts) -> String {
        let mut text = String::new();
        let mut tell = |name: &str, kind: &str, help: &str, values: &[(String, f64)]| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        };
        let one = |value: f64| [(String::new(), value)];
        let skills = *self.skills.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, count) in skills.named() {
            tell(name, "counter", "Skill events.", &one(as_float(count)));
        }
        let answers: Vec<(String, f64)> = (1..6)
            .map(|class| (format!("{{status=\"{class}xx\"}}"), as_float(self.answers[class].load(Ordering::Relaxed))))
            .collect();
        let ProcessCounts { commits, changes, watchers, uptime } = *process;
        tell("maestro_requests_total", "counter", "Requests answered.", &answers);
        tell("maestro_commits_total", "counter", "Transactions committed.", &one(as_float(commits)));
        tell("maestro_changes_total", "counter", "Changes in committed transactions.", &one(as_float(changes)));
        tell("maestro_watchers", "gauge", "Readers of the live events.", &one(as_float(watchers)));
        tell("maestro_uptime_seconds", "gauge", "Seconds since the start.", &one(uptime.as_secs_f64()));
        text
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay below what a float holds exactly")]
fn as_float(count: u64) -> f64 {
    count as f64
}
