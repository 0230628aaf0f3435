//! What waits for a person: its kinds.

use crate::word_enum::words;

words! {
    /// What a person is asked for.
    pub enum WaitingKind {
        /// An agent may not do something before a person allows it.
        Permission = "permission",
        /// An agent or a workflow asks something, or cannot continue without help.
        Question = "question",
        /// The rounds of a gate are used up, and a person decides.
        Gate = "gate",
        /// Something is not executed before a person agrees.
        Consent = "consent",
    }
}

impl WaitingKind {
    /// The words for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Gate => "gate decision",
            other => other.as_str(),
        }
    }
}
