//! Daemon: the worker, the sessions of steps and maintenance, with one error policy.
//!
//! A server starts it; a process without a server runs the maintenance alone. What fails here is recorded in the
//! [`DaemonHealth`], which says how often and since when, and after which pause it is tried again.

mod notifier;
mod run_drivers;

use std::time::Duration;

use maestro_core::event::RunId;
use maestro_store::{
    AnySilentSession, AutomaticBackups, Clock, ExpireSilentSessions, PruneHistory, Store, UndrivenRuns,
};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

pub use crate::daemon_health::{DaemonFailure, DaemonHealth, DaemonPart, DaemonTask, PassingError};
pub use run_drivers::{GRACE, LocalRunApi, RunDriverOptions, RunDriverPool};

use crate::runs::{RunEngine, RunError};
use crate::worker::AgentWorker;

/// How often maintenance looks whether something is due.
const BEAT: Duration = Duration::from_secs(1);
/// How many beats pass until it is looked again whether a backup is due and events are old.
const BEATS_PER_RETENTION: u64 = 3600;
/// How long a backup that failed rests: each attempt writes the whole database.
const BACKUP_REST: Duration = Duration::from_mins(5);
/// How often runs are looked at, even if nothing changed.
const LOOK: Duration = Duration::from_secs(1);
/// How long changes are gathered before they are looked at.
const GATHER: Duration = Duration::from_millis(10);

/// All that works in the background for a database.
pub struct Daemon {
    /// What maintenance needs.
    pub maintenance: Maintenance,
    /// Starts queued agents, where this process does.
    pub worker: Option<AgentWorker>,
}

/// What becomes of the old events of finished things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventRetention {
    /// They stay: a command leaves them to the server, which makes a backup first.
    Keep,
    /// They go once they are older than so many milliseconds.
    Forget {
        /// How old they may get.
        after: i64,
    },
}

/// What is done beside all requests, whether or not agents are started here.
#[derive(Clone)]
pub struct Maintenance {
    /// Where everything is kept.
    pub store: Store,
    /// The runs.
    pub runs: RunEngine,
    /// The clock.
    pub clock: Clock,
    /// What becomes of the old events of finished things.
    pub retention: EventRetention,
    /// The automatic backups of the database, where this process makes them.
    pub backups: Option<AutomaticBackups>,
    /// Executes what runs order.
    pub drivers: RunDriverPool,
}

impl Daemon {
    /// Works until the future is dropped; agents that the worker started end with it.
    pub async fn run(self) {
        let mut parts = JoinSet::new();
        parts.spawn(run_step_sessions(self.maintenance.clone()));
        parts.spawn(notifier::run_notifier(self.maintenance.clone()));
        parts.spawn(run_maintenance(self.maintenance));
        if let Some(worker) = self.worker {
            parts.spawn(worker.run());
        }
        while let Some(ended) = parts.join_next().await {
            if let Err(error) = ended {
                tracing::error!("a part of the daemon ended: {error}");
            }
        }
    }
}

/// Starts sessions for steps of runs, and continues the runs whose sessions have ended.
async fn run_step_sessions(context: Maintenance) {
    let Some(sessions) = context.drivers.step_sessions() else { return };
    let mut bell = context.store.changes();
    loop {
        for run in sessions.reconcile(context.drivers.health()).await {
            context.drivers.drive(run);
        }
        // Changes come in crowds, and one look finds them all; the first of them is not kept waiting.
        sleep(GATHER).await;
        if let Ok(Err(_)) = timeout(LOOK, bell.next()).await {
            return;
        }
    }
}

/// Ends sessions that fell silent, continues runs, backs up, and then forgets what is old, until the future is dropped.
pub async fn run_maintenance(context: Maintenance) {
    let mut beats = interval(BEAT);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for beat in 0_u64.. {
        beats.tick().await;
        context.expire_silent().await;
        context.continue_runs().await;
        if beat % BEATS_PER_RETENTION == 0 || context.is_backup_to_be_repeated() {
            // What goes is in a backup of its day, or stays until there is one.
            let backed_up = context.back_up().await.is_some();
            context.forget_old(if backed_up { context.retention } else { EventRetention::Keep }).await;
        } else if context.store.failure().is_some() {
            // A change that stores nothing new: it shows whether the database can be written to again.
            context.forget_old(EventRetention::Keep).await;
        }
    }
}

impl Maintenance {
    fn health(&self) -> &DaemonHealth {
        self.drivers.health()
    }

    async fn expire_silent(&self) {
        let task = DaemonTask::new(DaemonPart::Maintenance, "silent sessions");
        if !self.health().is_due(&task) {
            return;
        }
        let look = AnySilentSession { now: (self.clock)(), silence: self.store.rules().silence_limit };
        let expired = match self.store.read(look).await {
            Ok(true) => self.store.write(ExpireSilentSessions).await.map(drop),
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        self.health().record(&task, expired);
    }

    async fn continue_runs(&self) {
        let task = DaemonTask::new(DaemonPart::Maintenance, "timers of runs");
        if self.health().is_due(&task) {
            let unreadable = self.health().record(&task, self.runs.apply_timeouts((self.clock)()).await);
            self.note_unreadable(&unreadable.unwrap_or_default());
        }
        let task = DaemonTask::new(DaemonPart::Maintenance, "runs of servers that are gone");
        if self.health().is_due(&task) {
            self.health().record(&task, self.runs.adopt_left().await);
        }
        let Some(host) = self.runs.host().cloned() else { return };
        let task = DaemonTask::new(DaemonPart::Maintenance, "runs without a driver");
        if self.health().is_due(&task) {
            for id in self.health().record(&task, self.store.read(UndrivenRuns { host }).await).unwrap_or_default() {
                self.drivers.drive(id);
            }
        }
    }

    /// Shows runs that cannot be read. The timers of the others do not wait for them.
    fn note_unreadable(&self, unreadable: &[(RunId, RunError)]) {
        let task = DaemonTask::new(DaemonPart::Maintenance, "runs that cannot be read");
        match unreadable.first() {
            Some((id, error)) => drop(self.health().record::<(), _>(&task, Err(format!("run {id}: {error}")))),
            None => self.health().forget(&task),
        }
    }

    /// Whether a backup failed and has rested.
    fn is_backup_to_be_repeated(&self) -> bool {
        let task = backup_task();
        self.health().is_failing(&task) && self.health().is_due(&task)
    }

    /// Makes the backup of the day where this process makes them; nothing comes back if it is missing.
    async fn back_up(&self) -> Option<()> {
        let Some(backups) = self.backups.clone() else { return Some(()) };
        let task = backup_task();
        if !self.health().is_due(&task) {
            return None;
        }
        let now = (self.clock)();
        let made = tokio::task::spawn_blocking(move || backups.make_due(now)).await;
        let made = made.map_err(|error| error.to_string()).and_then(|made| made.map_err(|error| error.to_string()));
        self.health().record_costly(&task, made, BACKUP_REST).map(drop)
    }

    async fn forget_old(&self, retention: EventRetention) {
        let task = DaemonTask::new(DaemonPart::Maintenance, "old events");
        if !self.health().is_due(&task) {
            return;
        }
        let events = match retention {
            EventRetention::Keep => i64::MAX,
            EventRetention::Forget { after } => after,
        };
        let (mut next, mut removed) = (Some(0), 0);
        while let Some(from) = next {
            let pruned = self.health().record(&task, self.store.write(PruneHistory { events, from }).await);
            removed += pruned.map_or(0, |pruned| pruned.events);
            next = pruned.and_then(|pruned| pruned.next);
        }
        if removed > 0 {
            tracing::info!("{removed} old events of finished work were removed");
        }
    }
}

fn backup_task() -> DaemonTask {
    DaemonTask::new(DaemonPart::Maintenance, "automatic backup")
}
