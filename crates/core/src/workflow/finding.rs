//! Findings about a definition. One list of codes, and what a finding says.

use std::fmt;

use crate::problem::ProblemSeverity;
use crate::word_enum::described_words;
use crate::yaml::SourcePosition;

/// Declares the codes with their severity and one sentence of meaning.
macro_rules! codes {
    ($($code:ident = $word:literal, $severity:ident, $meaning:literal;)+) => {
        described_words! {
            /// The stable name of a kind of finding.
            pub enum FindingCode { $($code = $word, $meaning;)+ }
        }

        impl FindingCode {
            /// How much it matters.
            pub fn severity(self) -> ProblemSeverity {
                match self { $(Self::$code => ProblemSeverity::$severity,)+ }
            }
        }
    };
}

codes! {
    E01 = "E01", Error, "A key, type or field that is unknown, or one that is missing.";
    E02 = "E02", Error, "Two things have the same id.";
    E03 = "E03", Error, "The run has nowhere to start.";
    E04 = "E04", Error, "A route leads to a step that does not exist.";
    E05 = "E05", Error, "No route leads to a step.";
    E06 = "E06", Error, "An outcome of an `agent`, `dispatch` or `gate` step is not routed.";
    E07 = "E07", Error, "No end can be reached from a step.";
    E08 = "E08", Error, "Steps form a cycle without a bound.";
    E09 = "E09", Error, "A name was never declared, or is read before anything has written it.";
    E10 = "E10", Error, "Types do not fit together.";
    E11 = "E11", Error, "A routed outcome that the step cannot have.";
    E12 = "E12", Error, "A `conditional` without `else`.";
    E13 = "E13", Error, "Something that is referred to is not there, or calls itself.";
    E14 = "E14", Error, "A command that only a shell could understand, or whose program is not fixed.";
    E15 = "E15", Error, "A gate or a review that cannot work.";
    E16 = "E16", Error, "A dispatch over something that is not a list, or over an empty roster.";
    E17 = "E17", Error, "The options of a question make no choice.";
    E18 = "E18", Error, "A limit is too high.";
    E19 = "E19", Error, "The tool lacks a capability.";
    E20 = "E20", Error, "The text is too large, too deep, or has aliases or duplicate keys.";
    E21 = "E21", Error, "`finally` names no step, or its steps and the others are not apart.";
    W01 = "W01", Warning, "A variable or a template that nothing uses.";
    W02 = "W02", Warning, "All outcomes lead to one place.";
    W03 = "W03", Warning, "A command that writes is optional.";
    W04 = "W04", Warning, "A failure ends the run where a route was likely meant.";
    W05 = "W05", Warning, "The workflow was made for other tools.";
    W06 = "W06", Warning, "Doubled braces that are text and no placeholder.";
}

/// Something that is wrong with a definition, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowFinding {
    /// What kind.
    pub code: FindingCode,
    /// Where.
    pub place: SourcePosition,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

impl fmt::Display for WorkflowFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}:{}: {}", self.code, self.place.line, self.place.column, self.message)
    }
}

impl WorkflowFinding {
    /// Whether the definition cannot be used for it.
    pub fn is_error(&self) -> bool {
        self.code.severity() == ProblemSeverity::Error
    }
}
