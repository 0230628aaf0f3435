//! Waiting in a call about a run: until it is free, with signs of life for the client, and an end when the
//! client gives up.

use std::sync::atomic::Ordering;
use std::time::Duration;

use maestro_api::events::EventQuery;
use maestro_api::runs::{self, ResumeBody, RunBody};
use maestro_api::sessions::SteerAction;
use maestro_core::workflow::run_reply::NextAction;
use rmcp::model::ProgressNotificationParam;
use tokio::time::{Instant, sleep_until};

use super::{RunCall, page};
use crate::mcp::clipped;
use crate::mcp::tools::ToolFailure;

/// How often a waiting client receives progress.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// How soon a waiting call looks again by itself, at first: a missing consent is no event.
const FIRST_LOOK: Duration = Duration::from_millis(40);

/// What happens to a busy run whose caller gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnCancel {
    /// It is cancelled, and its execution ends: the caller has started it.
    CancelRun,
    /// Nothing: the caller has only looked.
    KeepRun,
}

impl RunCall<'_> {
    /// The run, carried on by the process that answers where the one that had it is gone. A run of agents waits for a
    /// person, and so does one that this caller may not steer.
    pub(super) async fn take_over(&self, reply: RunBody) -> RunBody {
        if reply.by_session || page::reason_left(&reply).is_none() {
            return reply;
        }
        let resume = runs::resume(&reply.summary.id, &ResumeBody::default());
        match self.mcp.api().call(self.who, resume).await {
            Ok(resumed) => RunBody { updates: reply.updates, ..resumed },
            Err(error) => {
                tracing::info!(run = reply.summary.id, "the run was not taken over: {error}");
                reply
            }
        }
    }

    /// The run once it is not busy any more, or after the longest wait.
    pub(super) async fn wait_idle(&self, mut reply: RunBody, stake: OnCancel) -> Result<RunBody, ToolFailure> {
        if self.busy(&reply).is_none() || page::reason_left(&reply).is_some() {
            return Ok(reply);
        }
        let of_run = EventQuery { run_id: Some(reply.summary.id.clone()), ..EventQuery::default() };
        let mut changes = self.mcp.api().watch(self.who, of_run).await?;
        let (mut told, mut at) = (String::new(), Instant::now());
        let mut look_in = FIRST_LOOK;
        while let Some(title) = self.busy(&reply) {
            let now = Instant::now();
            if now >= self.until || (reply.not_allowed.is_some() && now >= self.doubtful_until) {
                return Ok(reply);
            }
            if title != told || at.elapsed() >= SIGN_OF_LIFE {
                (told, at) = (title.to_owned(), now);
                self.progress(title).await;
            }
            tokio::select! {
                biased;
                // The run continues when an executor is available again.
                () = self.mcp.wait_closing() => return Ok(reply),
                () = self.context.ct.cancelled() => {
                    if stake == OnCancel::CancelRun {
                        let cancel = runs::steer(&reply.summary.id, SteerAction::Cancel);
                        if let Err(error) = self.mcp.api().call(self.who, cancel).await {
                            // It may have ended meanwhile, which is as good.
                            tracing::info!(run = reply.summary.id, "the run was not cancelled with its call: {error}");
                        }
                    }
                    return Err(ToolFailure::Message("the call was cancelled".to_owned()));
                }
                () = changes.changed() => {}
                () = sleep_until(self.doubtful_until), if now < self.doubtful_until => {}
                () = sleep_until(self.until.min(at + SIGN_OF_LIFE).min(now + look_in)) => {}
            }
            look_in = (look_in * 2).min(SIGN_OF_LIFE);
            reply = self.get(&reply.summary.id).await?;
        }
        Ok(reply)
    }

    /// The work of others, if the caller has nothing to do but wait. A session may be the one started for it.
    pub(super) fn busy<'r>(&self, reply: &'r RunBody) -> Option<&'r str> {
        let is_session = || self.who.session().is_some() || self.mcp.parts.session.is_some();
        match &reply.next {
            NextAction::Busy { title, .. } => Some(title),
            NextAction::Directive { directive } if reply.by_session && !is_session() => Some(&directive.step.title),
            _ => None,
        }
    }

    /// Sends a line to a client that asked for log messages.
    pub(super) async fn log(&self, line: &str) {
        self.mcp.link.log.write(&self.context.peer, line).await;
    }

    /// Sends progress to a client that asked for it.
    async fn progress(&self, title: &str) {
        self.log(title).await;
        if let Some(token) = self.context.meta.get_progress_token() {
            let count = self.told_of.fetch_add(1, Ordering::Relaxed) + 1;
            let note = ProgressNotificationParam::new(token, count.into()).with_message(clipped(title, 200));
            // A send error means that the client disconnected; the response will find that out.
            let _ = self.context.peer.notify_progress(note).await;
        }
    }
}
