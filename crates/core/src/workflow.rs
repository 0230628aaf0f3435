//! Workflows: definitions, and runs through them.
//!
//! A definition is loaded from text with every finding at once, and never runs unless it is sound. A run is a value:
//! what may happen next is decided from the definition, the run and an input, and nothing else moves it.

pub mod condition;
pub mod definition;
pub mod directive;
pub mod draw;
pub mod finding;
pub mod foresight;
mod graph;
pub mod load;
mod missing;
pub mod name;
mod names;
pub mod orders;
pub mod phase;
pub mod pinned;
pub mod render;
mod reviews;
pub mod run;
mod scope;
pub mod simulate;
pub mod stateless;
pub mod template;
pub mod told;
pub mod tool;
mod types;
pub mod value;
mod warnings;
pub mod words;

pub use condition::Condition;
pub use definition::Workflow;
pub use directive::Directive;
pub use finding::{Finding, FindingCode};
pub use load::{Callee, Surroundings, load};
pub use name::{Name, Outcome, StepId};
pub use phase::StepPhase;
pub use run::{Definition, Input, Refusal, Run, RunEvent, decide, evolve, pending};
pub use template::{Reference, Template};
pub use tool::Tool;
pub use value::{Field, Type};
