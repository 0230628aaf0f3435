//! What can be reviewed, and what ended since the last visit.

use maestro_core::session::{EndReason, SessionStatus};
use maestro_core::{Session, WorkState};

use super::mapper::{OverviewMapper, is_own, run_of, shown};
use super::view::{DoneLink, ReadyRow, StoppedRow, VisitSummary};
use crate::page::cards::{QUESTION, worker_name};
use crate::page::links;
use crate::page::run_overview::RunOverview;
use crate::page::text::{dollars, stop_reason};

/// How many done things are named.
const NAMED: usize = 8;

impl OverviewMapper<'_> {
    /// The runs that passed and left something to merge, the oldest first.
    pub(super) fn ready(&self) -> Vec<ReadyRow> {
        let ready = self.runs.iter().rev().filter(|run| run.summary.state == WorkState::Ready);
        let row = |run: &RunOverview| {
            let size = self.branches.get(&run.record.id)?;
            let id = run.record.id.to_string();
            Some(ReadyRow {
                href: links::review(&id),
                title: self.run_title(run),
                project: self.project(run.record.about.project.as_ref()),
                added: size.added,
                removed: size.removed,
                files: size.files,
                checks: run.passed_checks(),
                at: run.record.ended_at.unwrap_or(run.record.updated_at),
                id: format!("ready-{id}"),
            })
        };
        ready.filter_map(row).collect()
    }

    /// What stopped since the last visit, the latest first.
    pub(super) fn stopped(&self, since: i64) -> Vec<StoppedRow> {
        let stopped = |run: &&RunOverview| run.summary.state == WorkState::Stopped && ended_at(run) >= since;
        let mut rows: Vec<StoppedRow> = self.runs.iter().filter(stopped).map(|run| self.stopped_run(run)).collect();
        let alone = self.seen.ended_badly.items.iter().filter(|session| run_of(session).is_none() && !is_own(session));
        // What holds up a task waits for a person, and is a card.
        let alone = alone.filter(|session| !self.seen.blocked.iter().any(|blocked| blocked.is_by(session)));
        rows.extend(alone.map(|session| self.stopped_session(session)));
        rows.sort_by_key(|row| std::cmp::Reverse(row.at));
        rows
    }

    fn stopped_run(&self, run: &RunOverview) -> StoppedRow {
        let id = run.record.id.to_string();
        let reason = run.summary.message.as_deref().or(run.summary.state_reason.as_deref());
        let resumes = run.summary.state.can_resume() && run.summary.landed_at.is_none();
        StoppedRow {
            href: links::run(&id, None),
            title: self.run_title(run),
            project: self.project(run.record.about.project.as_ref()),
            who: run.agent().unwrap_or(&run.record.about.workflow).to_owned(),
            reason: shown(&stop_reason(reason.unwrap_or_default()), QUESTION),
            at: ended_at(run),
            help: resumes.then(|| ("Retry", format!("/page/runs/{id}/resume"))),
            review: reason.filter(|reason| lacks_consent(reason)).map(|_| match &run.record.about.project {
                Some(project) => format!("/trust?project={project}"),
                None => "/trust".to_owned(),
            }),
            id: format!("stop-{id}"),
        }
    }

    /// Why a session stopped.
    pub(super) fn end_reason(&self, session: &Session) -> String {
        let words = self.words(&session.id);
        match (session.status, session.end) {
            (_, Some(EndReason::Cancelled)) => "canceled".to_owned(),
            (SessionStatus::Stopped, Some(EndReason::Silence)) => {
                "no activity; its tasks are available again".to_owned()
            }
            (_, Some(EndReason::Exited)) => match words {
                Some(words) => format!("its program exited; it last said “{words}”"),
                None => "its program exited".to_owned(),
            },
            _ => words.unwrap_or_else(|| "no reason was given".to_owned()),
        }
    }

    fn stopped_session(&self, session: &Session) -> StoppedRow {
        StoppedRow {
            id: format!("end-{}", session.id),
            href: format!("/sessions/{}", session.id),
            title: self.title(session),
            project: self.project(Some(&session.project)),
            who: worker_name(session),
            reason: self.end_reason(session),
            at: session.completed_at.unwrap_or(session.last_activity),
            help: None,
            review: None,
        }
    }

    /// The numbers since the last visit.
    pub(super) fn visit(&self, since: i64, visited: Option<i64>, stopped: usize) -> VisitSummary {
        let ended = || self.runs.iter().filter(move |run| run.record.ended_at.is_some_and(|at| at >= since));
        let good = |run: &&RunOverview| matches!(run.summary.state, WorkState::Ready | WorkState::Merged);
        let merged = ended().filter(|run| run.summary.state == WorkState::Merged);
        let claimed = self.seen.ended_well.items.iter().filter(|session| run_of(session).is_none() && !is_own(session));
        let link = |run: &RunOverview| DoneLink {
            href: links::run(&run.record.id.to_string(), None),
            title: self.run_title(run),
        };
        let session_link =
            |session: &Session| DoneLink { href: format!("/sessions/{}", session.id), title: self.title(session) };
        let (runs, sessions) = (ended().filter(good).count(), claimed.clone().count());
        let took: i64 = ended().map(|run| ended_at(run) - run.record.created_at).sum::<i64>()
            + claimed
                .clone()
                .map(|session| session.completed_at.unwrap_or(session.last_activity) - session.started_at)
                .sum::<i64>();
        let merged: Vec<DoneLink> = merged.map(link).collect();
        let reported: Vec<DoneLink> = claimed.map(session_link).collect();
        let more = merged.len().saturating_sub(NAMED) + reported.len().saturating_sub(NAMED);
        VisitSummary {
            since: visited,
            done: runs + sessions,
            stopped,
            took: (took > 0).then(|| duration(took)),
            money: (self.seen.spend.cost_usd > 0.0).then(|| dollars(self.seen.spend.cost_usd)),
            unreported: self.seen.spend.unreported,
            merged: merged.into_iter().take(NAMED).collect(),
            reported: reported.into_iter().take(NAMED).collect(),
            more,
        }
    }
}

/// Whether a run stopped because something is not allowed. The reason is text by then, and names the command that helps.
fn lacks_consent(reason: &str) -> bool {
    reason.contains("`maestro trust")
}

fn ended_at(run: &RunOverview) -> i64 {
    run.record.ended_at.unwrap_or(run.record.updated_at)
}

/// `40 s`, `12 min`, `2 h 50`.
fn duration(milliseconds: i64) -> String {
    let seconds = milliseconds / 1000;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes} min"),
        _ => format!("{hours} h {minutes:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn a_duration_is_as_exact_as_needed() {
        for (seconds, text) in [(40, "40 s"), (720, "12 min"), (10_200, "2 h 50"), (3660, "1 h 01")] {
            assert_eq!(duration(seconds * 1000), text);
        }
    }
}
