//! What has to be known of an agent's work from its beginning on? What it spent, and what it told last of itself.

use maestro_core::agent::{AgentEvent, Ledger, Planned, Spent};
use maestro_core::id::SessionId;
use maestro_store::{Db, Read as _, StoreError, TranscriptOf};

/// What of a transcript is looked through for it.
const KINDS: &[&str] = &["agent:began", "agent:usage", "agent:context", "agent:planned"];

/// What an agent spent, and how it stands. It can be read on, so that a page that stays open does not begin again.
#[derive(Debug, Clone, Default)]
pub(in crate::page) struct Account {
    /// The place of the last thing that was noted.
    upto: i64,
    ledger: Ledger,
    /// How full its context is, and how much fits.
    pub(in crate::page) context: Option<(u64, u64)>,
    pub(in crate::page) plan: Vec<Planned>,
    pub(in crate::page) model: Option<String>,
    pub(in crate::page) version: Option<String>,
}

impl Account {
    /// The same, with what came since.
    pub(super) fn read_on(mut self, session: &SessionId, db: &mut Db<'_>) -> Result<Self, StoreError> {
        let of = TranscriptOf { session: session.clone(), after: self.upto, kinds: KINDS };
        for entry in of.load(db)? {
            self.upto = entry.ord;
            self.note(entry.event);
        }
        Ok(self)
    }

    /// What was spent so far.
    pub(in crate::page) fn spent(&self) -> Spent {
        self.ledger.spent()
    }

    fn note(&mut self, event: AgentEvent) {
        self.ledger.note(&event);
        match event {
            AgentEvent::Began { model, version, .. } => {
                self.model = model.or(self.model.take());
                self.version = version.or(self.version.take());
            }
            AgentEvent::Context { used, size } => self.context = Some((used, size)),
            AgentEvent::Planned { entries } => self.plan = entries,
            _ => {}
        }
    }
}
