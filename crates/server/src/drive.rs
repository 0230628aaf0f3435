//! Execution of what runs order, by a server.
//!
//! What is ordered while a run is driven is found by the next beat, and so is what another server left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use maestro_core::RunId;
use maestro_core::workflow::pinned::PinnedText;
use maestro_core::workflow::run::{Finish, Input, Ticket};
use maestro_core::workflow::told::Now;
use maestro_engine::drive::{Claim, DriveError, RunApi, RunSnapshot, Workshop, drive};
use maestro_engine::runs::{Hand, RunError, Runs, View};
use maestro_engine::step_sessions::StepSessions;
use maestro_store::{Clock, Driver, Executing, RunById, Store, StoreError};

use crate::app::App;

/// How long a caller waits for what is executed unless it says otherwise; what takes longer is told of as busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// Of how many runs it is remembered that nobody has allowed what they would execute.
const MOST_REFUSED: usize = 1024;
/// How long after its time a command is believed to be executed all the same, in milliseconds.
pub(crate) const GRACE: i64 = 30_000;

/// What a server executes, and with what.
#[derive(Clone)]
pub(crate) struct RunDriverPool {
    workshop: Option<Arc<Workshop>>,
    at_work: Arc<Mutex<BTreeSet<RunId>>>,
    /// What runs would execute that nobody has allowed.
    refused: Arc<Mutex<BTreeMap<RunId, String>>>,
}

impl RunDriverPool {
    pub(crate) fn new(workshop: Option<Workshop>, store: &Store) -> Self {
        let workshop = workshop.map(|mut workshop| {
            let store = store.clone();
            workshop.site.abilities.at_work = Arc::new(move |run| Box::pin(is_at_work(store.clone(), run)));
            Arc::new(workshop)
        });
        Self { workshop, at_work: Arc::default(), refused: Arc::default() }
    }

    /// Whether nobody is at this run yet; then the caller is.
    fn take(&self, id: RunId) -> bool {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner).insert(id)
    }

    fn leave(&self, id: RunId) {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// Why what a run orders is not executed here, if nobody has allowed it.
    pub(crate) fn not_allowed(&self, id: RunId) -> Option<String> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    /// Remembers what came of working at a run: nothing, but for what nobody has allowed.
    fn note(&self, id: RunId, driven: &Result<(), DriveError<RunError>>) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        match driven {
            Err(error @ DriveError::NotAllowed { .. }) => {
                // Runs that somebody cancelled are in it for good; those that wait are noted again with the next beat.
                if refused.len() >= MOST_REFUSED {
                    refused.clear();
                }
                refused.insert(id, error.to_string());
            }
            _ => drop(refused.remove(&id)),
        }
    }
}

/// Whether a run is not over; one that cannot be asked about may still be.
async fn is_at_work(store: Store, run: String) -> bool {
    let Ok(id) = run.parse() else { return false };
    match store.read(RunById(id)).await {
        Ok(record) => !record.run.is_over(),
        Err(StoreError::NotFound { .. }) => false,
        Err(_) => true,
    }
}

impl App {
    /// What starts sessions for the steps of runs, where this server executes anything at all.
    pub(crate) fn step_sessions(&self) -> Option<StepSessions> {
        let workshop = self.drivers.workshop.as_ref()?;
        Some(StepSessions {
            store: self.store.clone(),
            runs: self.runs.clone(),
            clock: Arc::clone(&self.clock),
            around: self.facts.around.clone(),
            abilities: workshop.site.abilities.clone(),
            hostname: self.facts.hostname.clone(),
            hears: {
                let app = self.clone();
                Arc::new(move |event| app.heard(event))
            },
        })
    }

    /// The run after what is the server's to execute was executed, if that does not take too long.
    pub(crate) async fn driven(&self, view: View, patience: Duration) -> Result<View, RunError> {
        let ours = view.record.about.driver == Driver::Server && matches!(view.told.now, Now::Busy { .. });
        if !ours {
            return Ok(view);
        }
        let id = view.record.id;
        let Some(work) = self.work_at(id) else { return Ok(view) };
        // Whether it is through or not, where the run stands is told with all that happened on the way.
        let _ = tokio::time::timeout(patience, work).await;
        self.runs.recall(id, (self.clock)()).await
    }

    /// Executes what a run orders, beside everything else.
    pub(crate) fn work_at(&self, id: RunId) -> Option<tokio::task::JoinHandle<()>> {
        let workshop = Arc::clone(self.drivers.workshop.as_ref()?);
        if !self.drivers.take(id) {
            return None;
        }
        let step_sessions = self.step_sessions();
        let (drivers, api) =
            (self.drivers.clone(), LocalRunApi { runs: self.runs.clone(), clock: Arc::clone(&self.clock) });
        Some(tokio::spawn(async move {
            let driven = drive(&api, id, &workshop).await;
            // What was pinned never changes, so nobody could let it go on later. Consent may still come.
            if let Err(DriveError::Forged(_) | DriveError::Unsound(_)) = &driven {
                let _ = api.runs.submit(id, Input::Cancel, Hand::Nobody).await;
            }
            drivers.note(id, &driven);
            drivers.leave(id);
            if let Some(step_sessions) = step_sessions {
                step_sessions.write_summary(id).await;
            }
        }))
    }
}

/// The runs of this server's own store.
struct LocalRunApi {
    runs: Runs,
    clock: Clock,
}

impl RunApi for LocalRunApi {
    type Error = RunError;

    async fn snapshot(&self, id: RunId) -> Result<RunSnapshot, RunError> {
        let now = (self.clock)();
        let record = self.runs.get(id, now).await?.record;
        let (workflow, hash) = (record.about.workflow, record.hash);
        Ok(RunSnapshot { workflow, hash, run: record.run, executor: record.executor, now })
    }

    async fn definitions(&self, id: RunId) -> Result<BTreeMap<String, PinnedText>, RunError> {
        let record = self.runs.get(id, (self.clock)()).await?.record;
        self.runs.pinned(&record).await
    }

    async fn started(&self, id: RunId, ticket: &Ticket, by: &str, seconds: u32) -> Result<Claim, RunError> {
        let now = (self.clock)();
        let executing = Executing { by: by.to_owned(), until: now + i64::from(seconds) * 1000 + GRACE };
        let input = Input::Started { ticket: ticket.clone(), now };
        heard(self.runs.submit(id, input, Hand::Executes(executing)).await)
    }

    async fn finished(&self, id: RunId, ticket: &Ticket, finish: Finish) -> Result<(), RunError> {
        let input = Input::Finished { ticket: ticket.clone(), finish, now: (self.clock)() };
        heard(self.runs.submit(id, input, Hand::Nobody).await).map(|_| ())
    }

    async fn lost(&self, id: RunId, ticket: &Ticket, _: &str) -> Result<(), RunError> {
        let input = Input::Lost { ticket: ticket.clone(), now: (self.clock)() };
        heard(self.runs.submit(id, input, Hand::Nobody).await).map(|_| ())
    }
}

/// Whether a run took what it was told; that it did not is no failure of whoever drives it.
fn heard(answer: Result<View, RunError>) -> Result<Claim, RunError> {
    match answer {
        Ok(_) => Ok(Claim::Granted),
        Err(RunError::Refused { .. }) => Ok(Claim::Denied),
        Err(error) => Err(error),
    }
}
