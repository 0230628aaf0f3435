//! What becomes of the result of a run.

use crate::word_enum::words;

words! {
    /// What became of the result of a run.
    pub enum LandingKind {
        /// It was merged.
        Merged = "merged",
        /// It was thrown away.
        Discarded = "discarded",
    }
}
