//! Phase of a step: the part of the work it belongs to.
//!
//! Four words are known and drive progress displays. Any other text is a label, shown as it is written.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The part of the work that a step belongs to. A step without one belongs to the phase of the step before it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum StepPhase {
    /// An agent does the work.
    Implement,
    /// Commands check it.
    Check,
    /// Another agent reviews it.
    Review,
    /// It is committed.
    Commit,
    /// Any other phase, by its name in the definition.
    Label(String),
}

impl StepPhase {
    /// The phases that progress displays know, in the order in which work passes through them.
    pub const KNOWN: [Self; 4] = [Self::Implement, Self::Check, Self::Review, Self::Commit];

    /// The text in the definition.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Implement => "implement",
            Self::Check => "check",
            Self::Review => "review",
            Self::Commit => "commit",
            Self::Label(label) => label,
        }
    }

    /// Whether it is one of the words that drive progress.
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Label(_))
    }
}

impl From<String> for StepPhase {
    fn from(text: String) -> Self {
        let known = Self::KNOWN.into_iter().find(|phase| phase.as_str() == text);
        known.unwrap_or(Self::Label(text))
    }
}

impl From<StepPhase> for String {
    fn from(phase: StepPhase) -> Self {
        match phase {
            StepPhase::Label(label) => label,
            known => known.as_str().to_owned(),
        }
    }
}

impl fmt::Display for StepPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_words_are_phases_and_other_texts_are_labels() {
        for phase in StepPhase::KNOWN {
            let read: StepPhase = serde_json::from_value(serde_json::json!(phase.as_str())).unwrap();
            assert_eq!(read, phase);
            assert!(read.is_known());
        }
        let label: StepPhase = serde_json::from_str(r#""Implement""#).unwrap();
        assert_eq!(label, StepPhase::Label("Implement".to_owned()));
        assert!(!label.is_known());
        assert_eq!(serde_json::to_string(&label).unwrap(), r#""Implement""#);
    }
}
