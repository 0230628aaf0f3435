//! Workflows: definitions, and runs through them.
//!
//! A definition is loaded from text with every finding at once, and never runs unless it is sound. A run is a value:
//! what may happen next is decided from the definition, the run and an input, and nothing else moves it.

pub mod command_words;
pub mod condition;
pub mod definition;
pub mod directive;
pub mod draw;
pub mod executions;
pub mod finding;
mod graph;
pub mod language_schema;
pub mod load;
pub use crate::name;
mod name_checks;
mod name_uses;
pub mod new_definition;
pub mod phase;
pub mod pinned_definition;
mod references;
pub mod render;
mod review_checks;
pub mod rights_params;
pub mod run;
pub mod run_reply;
pub mod scripted_case;
pub mod section_steps;
pub mod simulate;
pub mod stateless;
pub mod template;
pub mod text_pattern;
pub mod tool;
mod type_checks;
pub mod upcoming_questions;
pub mod value_type;
mod warnings;

pub use condition::Condition;
pub use definition::Workflow;
pub use directive::Directive;
pub use finding::{FindingCode, WorkflowFinding};
pub use load::{CalleeSignature, LoadEnvironment, load_workflow};
pub use name::{Name, StepId, StepOutcome};
pub use phase::StepPhase;
pub use run::{InputRefusal, Run, RunDefinition, RunEvent, RunInput, decide, evolve, pending_effects};
pub use template::{Template, ValueReference};
pub use tool::CodingTool;
pub use value_type::{ResultField, ValueType};
