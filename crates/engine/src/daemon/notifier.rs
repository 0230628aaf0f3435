//! Notices to the person when something waits, stopped or is ready, where the user's settings ask for them.

use std::sync::Arc;
use std::time::Duration;

use maestro_core::Event;
use maestro_core::event::RunId;
use maestro_core::person_notice::{NoticeState, PersonNotice};
use maestro_core::workflow::definition::EndStatus;
use maestro_core::workflow::run::{RunDriver, RunEnding, RunEvent, StepWait};
use maestro_core::workflow::run_reply::NextAction;
use maestro_store::{EventFilter, EventRow, EventsAfter, LastEventSeq, StoreError};
use tokio::time::sleep;

use super::Maintenance;
use crate::host::{self, Host};

/// How often notices are sent at most.
const LOOK: Duration = Duration::from_secs(1);
/// How many events are read at once.
const BATCH: i64 = 500;

/// Sends notices until the future is dropped.
pub(super) async fn run_notifier(context: Maintenance) {
    let Some(host) = context.drivers.step_sessions().map(|sessions| sessions.host) else { return };
    let mut bell = context.store.changes();
    let mut seen = None;
    loop {
        if wants_notices(&host).await {
            match context.send_notices(&host, seen).await {
                Ok(last) => seen = Some(last),
                Err(error) => tracing::warn!("notices cannot be sent: {error}"),
            }
        } else {
            seen = None;
        }
        sleep(LOOK).await;
        if bell.next().await.is_err() {
            return;
        }
    }
}

async fn wants_notices(host: &Arc<dyn Host>) -> bool {
    host::ask(host, |host| Ok(host.wants_notices())).await.unwrap_or(false)
}

impl Maintenance {
    /// Sends what happened since an event, and returns the last one. The first look only finds out where it begins.
    async fn send_notices(&self, host: &Arc<dyn Host>, seen: Option<i64>) -> Result<i64, StoreError> {
        let Some(mut seen) = seen else { return self.store.read(LastEventSeq).await };
        loop {
            let query = EventsAfter { seq: seen, limit: BATCH, filter: EventFilter::default() };
            let events = self.store.read(query).await?;
            let Some(last) = events.last() else { return Ok(seen) };
            seen = last.seq;
            for event in &events {
                if let Some(notice) = self.notice_of(event).await {
                    // A notice that does not arrive is no failure of the run; the host logs it.
                    let _ = host::ask(host, move |host| {
                        host.notify(&notice);
                        Ok(())
                    })
                    .await;
                }
            }
        }
    }

    /// What a person should know of an event.
    async fn notice_of(&self, row: &EventRow) -> Option<PersonNotice> {
        let of_interest = ["permission:asked", "timeline:added", "run:waiting", "run:ended"];
        if !of_interest.contains(&row.kind.as_str()) {
            return None;
        }
        match (event_of(row)?, &row.session, &row.run) {
            (Event::PermissionAsked(asked), Some(session), _) => {
                let command = format!("maestro session answer {session} once|always|deny");
                Some(PersonNotice::new(NoticeState::Waiting, &asked.title, command).about_session(session))
            }
            (Event::TimelineAdded(said), Some(session), _)
                if matches!(said.kind.as_str(), "needs_input" | "task_blocked") =>
            {
                let command = format!("maestro say {session} \"…\"");
                Some(PersonNotice::new(NoticeState::Waiting, &said.message, command).about_session(session))
            }
            (Event::Run(RunEvent::Waiting { wait: StepWait::Answer(_) }), _, Some(run)) => self.question_of(run).await,
            (Event::Run(RunEvent::Ended { ending }), _, Some(run)) => self.end_of(run, &ending).await,
            _ => None,
        }
    }

    /// What a run asks.
    async fn question_of(&self, run: &str) -> Option<PersonNotice> {
        let id: RunId = run.parse().ok()?;
        let view = self.runs.get(id, (self.clock)()).await.ok()?;
        let NextAction::Directive { directive } = &view.reply.next else { return None };
        let question = directive.question.as_ref()?;
        let command = directive.report.join(" ");
        Some(PersonNotice::new(NoticeState::Waiting, &question.prompt, command).about_run(run))
    }

    /// How a run ended that is not part of another, and that no caller follows itself.
    async fn end_of(&self, run: &str, ending: &RunEnding) -> Option<PersonNotice> {
        let id: RunId = run.parse().ok()?;
        let view = self.runs.get(id, (self.clock)()).await.ok()?;
        let about = &view.record.about;
        if about.parent.is_some() || about.driver != RunDriver::Server {
            return None;
        }
        let (state, verb) = match ending.status {
            EndStatus::Success => (NoticeState::Ready, "merge"),
            _ => (NoticeState::Stopped, "show"),
        };
        let what = ending.message.as_deref().unwrap_or("the run ended");
        Some(PersonNotice::new(state, what, format!("maestro {verb} {run}")).about_run(run))
    }
}

/// The event of a row of the log, if this program knows it.
fn event_of(row: &EventRow) -> Option<Event> {
    Event::from_log(&row.kind, row.payload.get()).ok()
}
