//! Watch over the lease of a program's session: a program whose worker is silent does not go on.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::process_tree::ProcessTree;

/// Pauses a program when its lease lapses, and resumes it when the lease is renewed.
pub(super) struct LeaseWatch {
    renewals: Sender<Duration>,
    /// Whether it is paused on request; then no renewal resumes it.
    paused: Arc<Mutex<bool>>,
}

impl LeaseWatch {
    /// Starts to watch with the first renewal; without any, the program runs as long as its supervisor wants.
    pub(super) fn start(family: ProcessTree) -> Self {
        let (renewals, renewed) = channel();
        let paused = Arc::new(Mutex::new(false));
        let requested = Arc::clone(&paused);
        thread::spawn(move || watch(family, &renewed, &requested));
        Self { renewals, paused }
    }

    /// The lease holds for this time from now on.
    pub(super) fn renew(&self, lease: Duration) {
        // Its thread ends with this process.
        let _ = self.renewals.send(lease);
    }

    /// Notes that the program is paused or resumed on request next; a renewal does not get in between.
    pub(super) fn set_paused(&self, paused: bool) {
        *self.paused.lock().unwrap_or_else(PoisonError::into_inner) = paused;
    }
}

fn watch(family: ProcessTree, renewed: &Receiver<Duration>, paused: &Mutex<bool>) {
    let Ok(mut lease) = renewed.recv() else { return };
    loop {
        match renewed.recv_timeout(lease) {
            Ok(renewal) => lease = renewal,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                family.pause();
                let Ok(renewal) = renewed.recv() else { return };
                lease = renewal;
                let paused = paused.lock().unwrap_or_else(PoisonError::into_inner);
                if !*paused {
                    family.resume();
                }
            }
        }
    }
}
