//! Log messages for clients of the earlier protocol that ask for them: what a run does, a line each.

#![allow(deprecated, reason = "the current protocol has no log messages any more")]

use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::{Peer, RoleServer};
use serde_json::json;

use super::clipped;

/// How many characters a line has.
const LINE: usize = 200;

/// Whether a client receives log messages.
#[derive(Default)]
pub(super) struct ClientLog(AtomicBool);

impl ClientLog {
    /// Notes the least level that a client wants. All lines are informative.
    pub(super) fn set_level(&self, level: LoggingLevel) {
        self.0.store(matches!(level, LoggingLevel::Debug | LoggingLevel::Info), Ordering::Relaxed);
    }

    /// Sends a line to a client that wants it.
    pub(super) async fn write(&self, peer: &Peer<RoleServer>, line: &str) {
        if self.0.load(Ordering::Relaxed) {
            let line = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(clipped(line, LINE)));
            // A send error means that the client disconnected; the response will find that out.
            let _ = peer.notify_logging_message(line.with_logger("maestro")).await;
        }
    }
}
