//! The parts of a workflow. The types that only a sound definition can have.

mod command_action;
mod dispatch_step;
mod gate_and_review;
mod workflow_step;

use std::collections::BTreeMap;

pub use command_action::{
    BuiltinCommand, CommandAction, CommandArgument, CommandEffects, CommandRetry, OutputParsing, ProgramSetting,
};
pub use dispatch_step::{DispatchMode, DispatchStep, ForEach, RosterEntry, SubagentTask};
pub use gate_and_review::{BlockingRule, Gate, GateCheck, ReviewSeverity, ReviewStage, StepReview};
pub use workflow_step::{
    AgentStep, AnswerCheck, AssignedValue, BranchItems, ConditionalCase, EndStatus, ExpectedTemplate, OutcomeRule,
    QuestionOptions, QuestionStep, RouteTarget, SessionSpec, StepBranches, StepRetry, StepRoute, StepWork,
    WorkflowCall, WorkflowStep,
};

use super::name::{Name, StepId};
use super::template::Template;
use super::tool::ToolCapability;
use super::value_type::{InvalidValue, ValueLimits, ValueType};
use crate::yaml::SourcePosition;

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
    pub requires: WorkflowRequirements,
    /// Whether a definition beside the main one is listed by itself.
    pub listed: bool,
    /// What it is started with.
    pub params: Vec<Variable>,
    /// What it remembers.
    pub variables: Vec<Variable>,
    /// Lists of things to be checked.
    pub reviews: BTreeMap<Name, ReviewSpec>,
    /// Who does the work, beside the roles that are always there.
    pub roles: BTreeMap<Name, WorkflowRole>,
    /// How answers are checked.
    pub validators: BTreeMap<Name, AnswerValidator>,
    /// How many transitions a frame may make.
    pub max_transitions: u32,
    /// Where it begins.
    pub start: StepId,
    /// The step with which its last part begins, whatever it ends with, and where that is said.
    pub finally: Option<(StepId, SourcePosition)>,
    /// Its steps, in the order of the file.
    pub steps: Vec<WorkflowStep>,
    /// Texts for `output` steps.
    pub templates: BTreeMap<Name, PlacedValue<Template>>,
    /// Texts an agent is given.
    pub resources: BTreeMap<Name, TextResource>,
    /// What it hands back.
    pub outputs: Vec<(Name, PlacedValue<Template>)>,
    /// The folder of the skill it belongs to, set by the owner of the definition.
    pub folder: String,
}

impl Workflow {
    /// The step with this id.
    pub fn step(&self, id: &StepId) -> Option<&WorkflowStep> {
        self.steps.iter().find(|step| step.id == *id)
    }

    /// The review that a step is about: as a part of it, or as a check of the gate that judges it.
    pub fn review_around<'w>(&'w self, step: &'w WorkflowStep) -> Option<&'w Name> {
        let gates = self.steps.iter().filter_map(|other| match &other.work {
            StepWork::Gate(gate) => Some(gate),
            _ => None,
        });
        let mut asking = gates.filter(|gate| gate.checks.iter().any(|check| check.step == step.id));
        let own = step.work.review().map(|part| &part.review);
        own.or_else(|| asking.find_map(|gate| gate.review.as_ref()).map(|(review, _)| review))
    }

    /// The number of a step in the order of the file, from 1.
    pub fn number(&self, id: &StepId) -> Option<usize> {
        self.steps.iter().position(|step| step.id == *id).map(|index| index + 1)
    }

    /// The place of a step among those that an agent or the user does, from 1, and how many of these there are. A step of
    /// the engine has the place of the one before it.
    pub fn place_of_work(&self, id: &StepId) -> (usize, usize) {
        let total = self.steps.iter().filter(|step| step.work.is_done_outside()).count();
        let upto = self.number(id).unwrap_or_default();
        let number = self.steps[..upto].iter().filter(|step| step.work.is_done_outside()).count();
        (number.max(1), total.max(1))
    }

    /// The place of the step with which its last part begins.
    pub(super) fn last_step(&self) -> Option<usize> {
        let (last, _) = self.finally.as_ref()?;
        self.steps.iter().position(|step| step.id == *last)
    }

    /// The declaration of a variable.
    pub fn variable(&self, name: &Name) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == *name)
    }

    /// The declaration of a parameter.
    pub fn param(&self, name: &Name) -> Option<&Variable> {
        self.params.iter().find(|param| param.name == *name)
    }

    /// What else than an agent writes a variable.
    pub fn owner(&self, name: &Name) -> Option<VariableOwner> {
        let stored = |step: &&WorkflowStep| step.store.as_ref().is_some_and(|(stored, _)| stored == name);
        let by_step = self.steps.iter().filter(stored).find_map(|step| match &step.work {
            StepWork::Question(_) => Some(VariableOwner::User),
            StepWork::Command { .. } | StepWork::Call(_) => Some(VariableOwner::Command),
            _ => None,
        });
        let sets = |step: &WorkflowStep| matches!(&step.work, StepWork::Set(values) if values.iter().any(|(set, ..)| set == name));
        let by_step = by_step.or_else(|| self.steps.iter().any(sets).then_some(VariableOwner::Workflow));
        by_step.or_else(|| self.steps.iter().any(|step| step.declares(name)).then_some(VariableOwner::OtherStep))
    }
}

/// What writes a variable that agents may not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableOwner {
    /// The user, by an answer.
    User,
    /// A command or a called workflow, by what it returns.
    Command,
    /// A step of the workflow that sets values.
    Workflow,
    /// A step of an agent, by what it reports.
    OtherStep,
}

impl VariableOwner {
    /// Why an agent may not set it.
    pub fn refusal(self) -> &'static str {
        match self {
            Self::User => "it is the user's answer, which a report cannot change",
            Self::Command => "it is what a command returned, which a report cannot change",
            Self::Workflow => "only the workflow sets it",
            Self::OtherStep => "another step reports it",
        }
    }
}

/// Something and where it stands in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedValue<T> {
    /// What it is.
    pub value: T,
    /// Where it stands.
    pub place: SourcePosition,
    /// The text it was parsed from, by which a place inside it is found.
    pub text: String,
}

/// What a workflow cannot do without.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkflowRequirements {
    /// Programs that must be there.
    pub commands: Vec<String>,
    /// What the tool must be able to do.
    pub capabilities: Vec<(ToolCapability, SourcePosition)>,
}

/// A parameter or a variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: Name,
    /// Where it is declared.
    pub place: SourcePosition,
    /// What it may hold.
    pub kind: ValueType,
    /// What it holds from the beginning.
    pub default: Option<serde_json::Value>,
    /// Whether a run cannot start without it.
    pub required: bool,
    /// How many bytes it may have.
    pub max_length: usize,
    /// What else a value must keep to.
    pub limits: ValueLimits,
    /// Whether a value may look like an option of a command.
    pub allow_leading_dash: bool,
    /// Whether a run starts only where it names a file that is there.
    pub exists: bool,
    /// What it means.
    pub description: Option<String>,
}

impl Variable {
    /// The value as this variable's or parameter's, or why it is none.
    pub fn admit(&self, value: serde_json::Value) -> Result<serde_json::Value, InvalidValue> {
        self.limits.check(self.kind.admit(value, self.max_length)?)
    }
}

/// A list of things to be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewSpec {
    /// Where it is declared.
    pub place: SourcePosition,
    /// How many items it may have.
    pub max_items: usize,
}

/// Who does some of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowRole {
    /// Where it is declared.
    pub place: SourcePosition,
    /// Which kind of model it wants; the tool decides which one that is.
    pub model: Option<String>,
}

/// A command that says whether an answer is good.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerValidator {
    /// Where it is declared.
    pub place: SourcePosition,
    /// What is run; `{answer}` is the answer.
    pub action: CommandAction,
}

/// A text an agent is given.
#[derive(Debug, Clone, PartialEq)]
pub struct TextResource {
    /// Where it is declared.
    pub place: SourcePosition,
    /// Where the text comes from.
    pub source: ResourceSource,
    /// The heading of the section that is given; without one, all of it.
    pub section: Option<PlacedValue<Template>>,
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
