//! Account of an agent's work from its start: usage and state.

use maestro_core::agent::{AgentEvent, PlanEntry, TokenUsage, UsageLedger};
use maestro_core::id::SessionId;
use maestro_store::{DbTx, Query as _, StoreError, TranscriptEvents};

/// The kinds of transcript events that count.
const KINDS: &[&str] = &["agent:began", "agent:usage", "agent:context", "agent:planned"];

/// An agent's usage and state. It can be continued, so that an open page does not read from the start again.
#[derive(Debug, Clone, Default)]
pub(in crate::page) struct AgentTotals {
    /// The place of the last event that was counted.
    upto: i64,
    ledger: UsageLedger,
    /// How full its context is, and its size.
    pub(in crate::page) context: Option<(u64, u64)>,
    pub(in crate::page) plan: Vec<PlanEntry>,
    pub(in crate::page) model: Option<String>,
    pub(in crate::page) version: Option<String>,
}

impl AgentTotals {
    /// The same, with the events since.
    pub(in crate::page) fn read_new(mut self, session: &SessionId, db: &mut DbTx<'_>) -> Result<Self, StoreError> {
        let of = TranscriptEvents { session: session.clone(), after: self.upto, kinds: KINDS };
        for entry in of.load(db)? {
            self.upto = entry.ord;
            self.note(entry.event);
        }
        Ok(self)
    }

    /// The usage so far.
    pub(in crate::page) fn spent(&self) -> TokenUsage {
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
