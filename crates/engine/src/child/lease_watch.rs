//! Watch over the lease of a program's session: a program whose worker is silent does not go on.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::process_tree::ProcessTree;

/// Pauses a program when its lease lapses, and resumes it when the lease is renewed.
pub(super) struct LeaseWatch {
    renewals: Sender<Duration>,
    /// What was requested last.
    requested: Arc<Mutex<RequestedState>>,
}

/// What a program does on request, whatever its lease says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestedState {
    /// It runs.
    Running,
    /// It is paused; no renewal resumes it.
    Paused,
}

impl LeaseWatch {
    /// Starts to watch with the first renewal; without any, the program runs as long as its supervisor wants.
    pub(super) fn start(family: ProcessTree) -> Self {
        let (renewals, renewed) = channel();
        let requested = Arc::new(Mutex::new(RequestedState::Running));
        let known = Arc::clone(&requested);
        thread::spawn(move || watch(family, &renewed, &known));
        Self { renewals, requested }
    }

    /// The lease holds for this time from now on.
    pub(super) fn renew(&self, lease: Duration) {
        // Its thread ends with this process.
        let _ = self.renewals.send(lease);
    }

    /// Notes that the program is paused or resumed on request next; a renewal does not get in between.
    pub(super) fn request(&self, state: RequestedState) {
        *self.requested.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

fn watch(family: ProcessTree, renewed: &Receiver<Duration>, requested: &Mutex<RequestedState>) {
    let Ok(mut lease) = renewed.recv() else { return };
    loop {
        match renewed.recv_timeout(lease) {
            Ok(renewal) => lease = renewal,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                family.pause();
                let Ok(renewal) = renewed.recv() else { return };
                lease = renewal;
                let requested = requested.lock().unwrap_or_else(PoisonError::into_inner);
                if *requested == RequestedState::Running {
                    family.resume();
                }
            }
        }
    }
}
