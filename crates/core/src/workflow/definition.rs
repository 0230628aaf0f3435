//! The parts of a workflow. The types that only a sound definition can have.

mod command;
mod review;
mod step;

use std::collections::BTreeMap;

pub use command::{Action, Argument, Builtin, Effects, Parse, Retry};
pub use review::{Blocking, Check, Gate, Part, ReviewPart, Severity};
pub use step::{
    Agent, Assigned, Call, Case, Dispatch, EndStatus, Entry, Expected, ForEach, Mode, Options, OutcomeRule, Question,
    Route, Session, Step, Target, Task, Validate, Work,
};

use super::name::{Name, StepId};
use super::template::Template;
use super::tool::Capability;
use super::value::Type;
use crate::yaml::Place;

/// How many transitions a frame makes when the definition does not say.
pub const DEFAULT_TRANSITIONS: u32 = 200;
/// The most transitions a definition may ask for.
pub const MAX_TRANSITIONS: u32 = 100_000;
/// The most visits of one step a definition may ask for.
pub const MAX_VISITS: u32 = 10_000;
/// The most steps a definition may have.
pub const MAX_STEPS: usize = 500;
/// How deep workflows may call each other.
pub const MAX_DEPTH: usize = 8;
/// How many rounds a gate has when it does not say.
pub const DEFAULT_ROUNDS: u32 = 5;

/// The roles that need no declaration.
pub const ROLES: [&str; 6] =
    ["quality-reviewer", "technical-writer", "developer", "explore", "general-purpose", "architect"];

/// A graph of steps with everything they refer to.
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    /// What it is called.
    pub name: String,
    /// Other names it can be started by.
    pub aliases: Vec<String>,
    /// Its version, for people.
    pub version: Option<String>,
    /// What it does and when to use it.
    pub description: String,
    /// What kind of workflow it is.
    pub category: Option<String>,
    /// The tools it was made for; none or `any` is all of them.
    pub compatibility: Vec<String>,
    /// What it cannot do without.
    pub requires: Requires,
    /// Whether a definition beside the main one is listed by itself.
    pub listed: bool,
    /// What it is started with.
    pub params: Vec<Variable>,
    /// What it remembers.
    pub variables: Vec<Variable>,
    /// Lists of things to be checked.
    pub reviews: BTreeMap<Name, Review>,
    /// Who does the work, beside the roles that are always there.
    pub roles: BTreeMap<Name, Role>,
    /// How answers are checked.
    pub validators: BTreeMap<Name, Validator>,
    /// How many transitions a frame may make.
    pub max_transitions: u32,
    /// Where it begins.
    pub start: StepId,
    /// Its steps, in the order of the file.
    pub steps: Vec<Step>,
    /// Texts for `output` steps.
    pub templates: BTreeMap<Name, Placed<Template>>,
    /// Texts an agent is given.
    pub resources: BTreeMap<Name, Resource>,
    /// What it hands back.
    pub outputs: Vec<(Name, Placed<Template>)>,
    /// The folder of the skill it belongs to, set by the owner of the definition.
    pub folder: String,
}

impl Workflow {
    /// The step with this id.
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == *id)
    }

    /// The number of a step in the order of the file, from 1.
    pub fn number(&self, id: &StepId) -> Option<usize> {
        self.steps.iter().position(|step| step.id == *id).map(|index| index + 1)
    }

    /// The declaration of a variable.
    pub fn variable(&self, name: &Name) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == *name)
    }

    /// The declaration of a parameter.
    pub fn param(&self, name: &Name) -> Option<&Variable> {
        self.params.iter().find(|param| param.name == *name)
    }
}

/// Something and where it stands in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed<T> {
    /// What it is.
    pub value: T,
    /// Where it stands.
    pub place: Place,
    /// The text it was parsed from, by which a place inside it is found.
    pub text: String,
}

/// What a workflow cannot do without.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requires {
    /// Programs that must be there.
    pub commands: Vec<String>,
    /// What the tool must be able to do.
    pub capabilities: Vec<(Capability, Place)>,
}

/// A parameter or a variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: Name,
    /// Where it is declared.
    pub place: Place,
    /// What it may hold.
    pub kind: Type,
    /// What it holds from the beginning.
    pub default: Option<serde_json::Value>,
    /// Whether a run cannot start without it.
    pub required: bool,
    /// How many bytes it may have.
    pub max_length: usize,
    /// Whether a value may look like an option of a command.
    pub allow_leading_dash: bool,
    /// What it means.
    pub description: Option<String>,
}

/// A list of things to be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// Where it is declared.
    pub place: Place,
    /// How many items it may have.
    pub max_items: usize,
}

/// Who does some of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// Where it is declared.
    pub place: Place,
    /// Which kind of model it wants; the tool decides which one that is.
    pub model: Option<String>,
}

/// A command that says whether an answer is good.
#[derive(Debug, Clone, PartialEq)]
pub struct Validator {
    /// Where it is declared.
    pub place: Place,
    /// What is run; `{answer}` is the answer.
    pub action: Action,
}

/// A text an agent is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Where it is declared.
    pub place: Place,
    /// Where the text comes from.
    pub source: ResourceSource,
    /// What it says, set by the owner of the definition.
    pub text: String,
}

/// Where a resource's text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceSource {
    /// A file of the skill's folder.
    File(String),
    /// A convention by its name.
    Convention(String),
}
