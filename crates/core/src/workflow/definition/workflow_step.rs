//! Steps, and the route of each outcome.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::dispatch_step::{DispatchMode, DispatchStep, ForEach};
use super::{
    CommandAction, CommandEffects, CommandRetry, Gate, OutputParsing, PlacedValue, ProgramSetting, StepReview,
};
use crate::workflow::StepPhase;
use crate::workflow::condition::Condition;
use crate::workflow::name::{Name, StepId, StepOutcome};
use crate::workflow::template::{Template, ValueReference};
use crate::workflow::value_type::ResultField;
use crate::yaml::SourcePosition;

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowStep {
    /// Its id.
    pub id: StepId,
    /// Where it stands.
    pub place: SourcePosition,
    /// Its title; the id where there is none.
    pub title: String,
    /// What it is about.
    pub description: Option<PlacedValue<Template>>,
    /// The part of the workflow it belongs to.
    pub phase: Option<StepPhase>,
    /// When it is done at all.
    pub when: Option<PlacedValue<Condition>>,
    /// Whether the run continues when it fails.
    pub optional: bool,
    /// How many seconds it may take.
    pub timeout: Option<u32>,
    /// The variable that keeps what it produced.
    pub store: Option<(Name, SourcePosition)>,
    /// How often it may be visited.
    pub max_visits: Option<u32>,
    /// What it is done for, one branch each, if it is a command or a call that goes through a list.
    pub branches: Option<StepBranches>,
    /// When it is tried again, if an agent, sub-agents or a workflow do it.
    pub retry: Option<StepRetry>,
    /// Where each outcome leads. What is missing here ends the run in failure.
    pub next: BTreeMap<StepOutcome, StepRoute>,
    /// What is done.
    pub work: StepWork,
}

impl WorkflowStep {
    /// Has the workflows of its branches called one after the other.
    pub(in crate::workflow) fn call_in_turn(&mut self) {
        if let (StepWork::Call(_), Some(branches)) = (&self.work, &mut self.branches) {
            branches.max_parallel = 1;
        }
    }

    /// Whether a report about this step may set the variable: the step stores there, or it is a field of its result.
    pub fn declares(&self, name: &Name) -> bool {
        let is_field =
            matches!(&self.work, StepWork::Agent(agent) if agent.result.iter().any(|field| field.name == *name));
        is_field || self.store.as_ref().is_some_and(|(stored, _)| stored == name)
    }

    /// Where the run goes with this outcome.
    pub fn route(&self, outcome: &StepOutcome) -> Option<&RouteTarget> {
        self.next.get(outcome).map(|route| &route.target)
    }

    /// The list that it goes through, and where that is said.
    pub fn listed_items(&self) -> Option<(&ValueReference, SourcePosition)> {
        match (&self.branches, &self.work) {
            (Some(StepBranches { items: BranchItems::List(reference, place), .. }), _) => Some((reference, *place)),
            (None, StepWork::Dispatch(dispatch)) => match &dispatch.mode {
                DispatchMode::Template { items: ForEach::List(reference, place), .. } => Some((reference, *place)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Every way out of the step, with the word that leads there.
    pub fn routes(&self) -> Vec<(String, &StepRoute)> {
        let routed = self.next.iter().map(|(outcome, route)| (outcome.to_string(), route));
        match &self.work {
            StepWork::Conditional { cases, otherwise } => {
                let cases = cases.iter().map(|case| (case.when.text.clone(), &case.next));
                cases.chain(otherwise.iter().map(|route| ("else".to_owned(), route))).chain(routed).collect()
            }
            _ => routed.collect(),
        }
    }
}

/// What a command or a call is done for, one branch each.
#[derive(Debug, Clone, PartialEq)]
pub struct StepBranches {
    /// The items, of which each is `{item}` in its branch.
    pub items: BranchItems,
    /// How many commands are executed at the same time.
    pub max_parallel: usize,
}

/// The items of the branches.
#[derive(Debug, Clone, PartialEq)]
pub enum BranchItems {
    /// Those of a list.
    List(ValueReference, SourcePosition),
    /// These.
    Fixed(Vec<AssignedValue>),
}

/// When a step is tried again, and what is said then.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRetry {
    /// How many more times.
    pub max: u32,
    /// With which outcomes, and where that is said.
    pub on: Vec<(StepOutcome, SourcePosition)>,
    /// What is said to those who try again.
    pub feedback: Option<PlacedValue<Template>>,
}

/// Where an outcome leads, and where that is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRoute {
    /// Where it leads.
    pub target: RouteTarget,
    /// Where that is said; the step's own place where it follows from the order.
    pub place: SourcePosition,
}

/// Where a run goes next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteTarget {
    /// To this step.
    Step(StepId),
    /// Nowhere: it ends well.
    End,
}

/// What is done at a step.
#[derive(Debug, Clone, PartialEq)]
pub enum StepWork {
    /// An agent does it.
    Agent(Box<AgentStep>),
    /// Sub-agents do it.
    Dispatch(Box<DispatchStep>),
    /// The engine executes something.
    Command {
        /// What.
        action: CommandAction,
        /// What is made of its output.
        parse: OutputParsing,
        /// Whether it can be repeated.
        effects: CommandEffects,
        /// How often it is tried again.
        retry: CommandRetry,
        /// What a program is executed with.
        setting: ProgramSetting,
    },
    /// The engine shows a text.
    Output {
        /// Which.
        template: (Name, SourcePosition),
        /// Names that are known in the text only.
        data: Vec<(Name, PlacedValue<Template>)>,
        /// An object whose fields are known in the text.
        source: Option<(ValueReference, SourcePosition)>,
    },
    /// The user is asked.
    Question(Box<QuestionStep>),
    /// The engine decides.
    Conditional {
        /// What is asked, in order.
        cases: Vec<ConditionalCase>,
        /// Where it goes when nothing holds. Only a definition with findings lacks it.
        otherwise: Option<StepRoute>,
    },
    /// The engine remembers something.
    Set(Vec<(Name, SourcePosition, AssignedValue)>),
    /// The engine lets the run through, or does not.
    Gate(Gate),
    /// Another workflow is walked through.
    Call(WorkflowCall),
    /// The run ends.
    End {
        /// How.
        status: EndStatus,
        /// What is said.
        message: Option<PlacedValue<Template>>,
    },
}

impl StepWork {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Agent(_) => "agent",
            Self::Dispatch(_) => "dispatch",
            Self::Command { .. } => "command",
            Self::Output { .. } => "output",
            Self::Question(_) => "question",
            Self::Conditional { .. } => "conditional",
            Self::Set(_) => "set",
            Self::Gate(_) => "gate",
            Self::Call(_) => "call",
            Self::End { .. } => "end",
        }
    }

    /// Whether an agent, sub-agents or the user do it, and not the engine.
    pub fn is_done_outside(&self) -> bool {
        matches!(self, Self::Agent(_) | Self::Dispatch(_) | Self::Question(_))
    }

    /// What it does for a review.
    pub fn review(&self) -> Option<&StepReview> {
        match self {
            Self::Agent(agent) => agent.review.as_ref(),
            Self::Dispatch(dispatch) => dispatch.review.as_ref(),
            _ => None,
        }
    }
}

/// The instructions of an agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentStep {
    /// What it does, one thing each.
    pub actions: Vec<PlacedValue<Template>>,
    /// What it must not do.
    pub forbidden: Vec<PlacedValue<Template>>,
    /// What is expected of it.
    pub expected: ExpectedTemplate,
    /// The texts it is given.
    pub resources: Vec<(Name, SourcePosition)>,
    /// The values it is given.
    pub data: Vec<(Name, PlacedValue<Template>)>,
    /// Who it is.
    pub role: Option<(Name, SourcePosition)>,
    /// Skills it uses.
    pub skills: Vec<String>,
    /// The session that is started for it.
    pub session: Option<SessionSpec>,
    /// What it does for a review.
    pub review: Option<StepReview>,
    /// The fields of its result.
    pub result: Vec<ResultField>,
    /// What it may end with.
    pub outcomes: Vec<StepOutcome>,
    /// How the outcome follows from the result, if it does. The last one is without a condition.
    pub outcome_from: Vec<OutcomeRule>,
}

/// What is expected of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpectedTemplate {
    /// These things.
    List(Vec<PlacedValue<Template>>),
    /// This when all is well, that when it is not.
    Verdict {
        /// What to say when nothing was found.
        if_pass: Option<PlacedValue<Template>>,
        /// How to report what was found.
        when_issues: Option<PlacedValue<Template>>,
        /// What there is to be found.
        categories: Vec<PlacedValue<Template>>,
    },
}

impl ExpectedTemplate {
    /// Every text in it.
    pub fn texts(&self) -> Vec<&PlacedValue<Template>> {
        match self {
            Self::List(items) => items.iter().collect(),
            Self::Verdict { if_pass, when_issues, categories } => {
                if_pass.iter().chain(when_issues).chain(categories).collect()
            }
        }
    }
}

impl Default for ExpectedTemplate {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

/// One line of `outcome_from`.
#[derive(Debug, Clone, PartialEq)]
pub struct OutcomeRule {
    /// When it counts; always, without one.
    pub when: Option<PlacedValue<Condition>>,
    /// What the step then ended with.
    pub outcome: StepOutcome,
}

/// The session that is started for an agent step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionSpec {
    /// Which agent.
    pub agent: Option<PlacedValue<Template>>,
    /// Which model, if not the agent's own choice.
    pub model: Option<PlacedValue<Template>>,
    /// In which role.
    pub role: Option<PlacedValue<Template>>,
    /// In which directory below the workspace.
    pub worktree: Option<PlacedValue<Template>>,
    /// What it may do without asking.
    pub permission: Option<PlacedValue<Template>>,
    /// The task that it gets skills for, as the plan says it.
    pub task: Option<PlacedValue<Template>>,
    /// The section of the plan that the task is in.
    pub section: Option<PlacedValue<Template>>,
    /// The plan that the task is in.
    pub plan: Option<PlacedValue<Template>>,
    /// The line of the plan that the task is at.
    pub line: Option<PlacedValue<Template>>,
    /// Which skills it gets: `auto`, `none`, or names.
    pub skills: Option<PlacedValue<Template>>,
    /// What all sessions of this walk through the workflow may use up together.
    pub budget: Option<PlacedValue<Template>>,
    /// What all sessions of the run may use up together.
    pub run_budget: Option<PlacedValue<Template>>,
    /// Findings about the work so far, which the session fixes first.
    pub feedback: Option<PlacedValue<Template>>,
    /// For how many minutes a question of its waits for an answer.
    pub wait: Option<PlacedValue<Template>>,
    /// Whether the session continues the one before it in the same walk through the workflow.
    pub resume: bool,
}

impl SessionSpec {
    /// Every text in it.
    pub fn texts(&self) -> impl Iterator<Item = &PlacedValue<Template>> {
        let who = [&self.agent, &self.model, &self.role, &self.worktree, &self.permission];
        let what = [&self.task, &self.section, &self.plan, &self.line, &self.skills, &self.feedback];
        who.into_iter().chain(what).chain([&self.budget, &self.run_budget, &self.wait]).flatten()
    }
}

/// What the user is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionStep {
    /// The question.
    pub prompt: PlacedValue<Template>,
    /// What there is to choose from.
    pub options: QuestionOptions,
    /// What people read instead of an option that is listed, by the option.
    pub titles: BTreeMap<String, String>,
    /// The answer when the user only confirms.
    pub default: Option<PlacedValue<Template>>,
    /// Whether several options may be chosen.
    pub multiple: bool,
    /// How the answer is checked.
    pub validate: Option<AnswerCheck>,
}

/// What there is to choose from.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionOptions {
    /// Any text.
    Free,
    /// These.
    Listed(Vec<String>),
    /// The lines that a command prints.
    Command(CommandAction),
    /// The items of a list.
    Variable(ValueReference, SourcePosition),
}

/// How an answer is checked.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerCheck {
    /// By a validator.
    Named(Name, SourcePosition),
    /// It must be one of these.
    OneOf(Vec<String>),
}

/// One case of a conditional.
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionalCase {
    /// When it counts.
    pub when: PlacedValue<Condition>,
    /// Where it then goes.
    pub next: StepRoute,
}

/// What a variable is set to.
#[derive(Debug, Clone, PartialEq)]
pub enum AssignedValue {
    /// What is written.
    Literal(Json),
    /// What a text says once it is filled; a sole name keeps its type.
    Text(PlacedValue<Template>),
}

/// Another workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowCall {
    /// Which.
    pub workflow: (String, SourcePosition),
    /// Its parameters.
    pub with: Vec<(Name, SourcePosition, AssignedValue)>,
}

crate::word_enum! {
    /// How a run ends.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum EndStatus {
        /// It did what it should.
        Success = "success",
        /// It did not.
        Failure = "failure",
        /// It waits for someone outside the run.
        Blocked = "blocked",
    }
}

impl EndStatus {
    /// The outcome of a step that called a workflow which ended so.
    pub fn outcome(self) -> StepOutcome {
        match self {
            Self::Success => StepOutcome::OK,
            Self::Failure => StepOutcome::FAIL,
            Self::Blocked => StepOutcome::BLOCKED,
        }
    }
}
