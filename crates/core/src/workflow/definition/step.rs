//! Steps, and the route of each outcome.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Action, Effects, Gate, Parse, Placed, Retry, ReviewPart};
use crate::workflow::StepPhase;
use crate::workflow::condition::Condition;
use crate::workflow::name::{Name, Outcome, StepId};
use crate::workflow::template::{Reference, Template};
use crate::workflow::value::Field;
use crate::yaml::Place;

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its id.
    pub id: StepId,
    /// Where it stands.
    pub place: Place,
    /// Its title; the id where there is none.
    pub title: String,
    /// What it is about.
    pub description: Option<Placed<Template>>,
    /// The part of the workflow it belongs to.
    pub phase: Option<StepPhase>,
    /// When it is done at all.
    pub when: Option<Placed<Condition>>,
    /// Whether the run continues when it fails.
    pub optional: bool,
    /// How many seconds it may take.
    pub timeout: Option<u32>,
    /// The variable that keeps what it produced.
    pub store: Option<(Name, Place)>,
    /// How often it may be visited.
    pub max_visits: Option<u32>,
    /// Where each outcome leads. What is missing here ends the run in failure.
    pub next: BTreeMap<Outcome, Route>,
    /// What is done.
    pub work: Work,
}

impl Step {
    /// Where the run goes with this outcome.
    pub fn route(&self, outcome: &Outcome) -> Option<&Target> {
        self.next.get(outcome).map(|route| &route.target)
    }

    /// Every way out of the step, with the word that leads there.
    pub fn ways(&self) -> Vec<(String, &Route)> {
        let routed = self.next.iter().map(|(outcome, route)| (outcome.to_string(), route));
        match &self.work {
            Work::Conditional { cases, otherwise } => {
                let cases = cases.iter().map(|case| (case.when.text.clone(), &case.next));
                cases.chain(otherwise.iter().map(|route| ("else".to_owned(), route))).chain(routed).collect()
            }
            _ => routed.collect(),
        }
    }
}

/// Where an outcome leads, and where that is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Where it leads.
    pub target: Target,
    /// Where that is said; the step's own place where it follows from the order.
    pub place: Place,
}

/// Where a run goes next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// To this step.
    Step(StepId),
    /// Nowhere: it ends well.
    End,
}

/// What is done at a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// An agent does it.
    Agent(Box<Agent>),
    /// Sub-agents do it.
    Dispatch(Box<Dispatch>),
    /// The engine executes something.
    Command {
        /// What.
        action: Action,
        /// What is made of its output.
        parse: Parse,
        /// Whether it can be repeated.
        effects: Effects,
        /// How often it is tried again.
        retry: Retry,
    },
    /// The engine shows a text.
    Output {
        /// Which.
        template: (Name, Place),
        /// Names that are known in the text only.
        data: Vec<(Name, Placed<Template>)>,
        /// An object whose fields are known in the text.
        source: Option<(Reference, Place)>,
    },
    /// The user is asked.
    Question(Box<Question>),
    /// The engine decides.
    Conditional {
        /// What is asked, in order.
        cases: Vec<Case>,
        /// Where it goes when nothing holds. Only a definition with findings lacks it.
        otherwise: Option<Route>,
    },
    /// The engine remembers something.
    Set(Vec<(Name, Place, Assigned)>),
    /// The engine lets the run through, or does not.
    Gate(Gate),
    /// Another workflow is walked through.
    Call(Call),
    /// The run ends.
    End {
        /// How.
        status: EndStatus,
        /// What is said.
        message: Option<Placed<Template>>,
    },
}

impl Work {
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

    /// What it does for a review.
    pub fn review(&self) -> Option<&ReviewPart> {
        match self {
            Self::Agent(agent) => agent.review.as_ref(),
            Self::Dispatch(dispatch) => dispatch.review.as_ref(),
            _ => None,
        }
    }
}

/// The instructions of an agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Agent {
    /// What it does, one thing each.
    pub actions: Vec<Placed<Template>>,
    /// What it must not do.
    pub forbidden: Vec<Placed<Template>>,
    /// What is expected of it.
    pub expected: Expected,
    /// The texts it is given.
    pub resources: Vec<(Name, Place)>,
    /// The values it is given.
    pub data: Vec<(Name, Placed<Template>)>,
    /// Who it is.
    pub role: Option<(Name, Place)>,
    /// Skills it uses.
    pub skills: Vec<String>,
    /// The session that is started for it.
    pub session: Option<Session>,
    /// What it does for a review.
    pub review: Option<ReviewPart>,
    /// The fields of its result.
    pub result: Vec<Field>,
    /// What it may end with.
    pub outcomes: Vec<Outcome>,
    /// How the outcome follows from the result, if it does. The last one is without a condition.
    pub outcome_from: Vec<OutcomeRule>,
}

/// What is expected of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Expected {
    /// These things.
    List(Vec<Placed<Template>>),
    /// This when all is well, that when it is not.
    Verdict {
        /// What to say when nothing was found.
        if_pass: Option<Placed<Template>>,
        /// How to report what was found.
        when_issues: Option<Placed<Template>>,
        /// What there is to be found.
        categories: Vec<Placed<Template>>,
    },
}

impl Expected {
    /// Every text in it.
    pub fn texts(&self) -> Vec<&Placed<Template>> {
        match self {
            Self::List(items) => items.iter().collect(),
            Self::Verdict { if_pass, when_issues, categories } => {
                if_pass.iter().chain(when_issues).chain(categories).collect()
            }
        }
    }
}

impl Default for Expected {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

/// One line of `outcome_from`.
#[derive(Debug, Clone, PartialEq)]
pub struct OutcomeRule {
    /// When it counts; always, without one.
    pub when: Option<Placed<Condition>>,
    /// What the step then ended with.
    pub outcome: Outcome,
}

/// The session that is started for an agent step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Session {
    /// Which agent.
    pub agent: Option<Placed<Template>>,
    /// In which role.
    pub role: Option<Placed<Template>>,
    /// In which directory below the workspace.
    pub worktree: Option<Placed<Template>>,
    /// What it may do without asking.
    pub permission: Option<Placed<Template>>,
    /// The task that it gets skills for, as the plan says it.
    pub task: Option<Placed<Template>>,
    /// The section of the plan that the task is in.
    pub section: Option<Placed<Template>>,
    /// Which skills it gets: `auto`, `none`, or names.
    pub skills: Option<Placed<Template>>,
    /// What all sessions of this walk through the workflow may use up together.
    pub budget: Option<Placed<Template>>,
    /// What all sessions of the run may use up together.
    pub run_budget: Option<Placed<Template>>,
    /// Findings about the work so far, which the session fixes first.
    pub feedback: Option<Placed<Template>>,
    /// Whether the session continues the one before it in the same walk through the workflow.
    pub resume: bool,
}

impl Session {
    /// Every text in it.
    pub fn texts(&self) -> impl Iterator<Item = &Placed<Template>> {
        let who = [&self.agent, &self.role, &self.worktree, &self.permission];
        let what = [&self.task, &self.section, &self.skills, &self.feedback];
        who.into_iter().chain(what).chain([&self.budget, &self.run_budget]).flatten()
    }
}

/// The instructions of sub-agents.
#[derive(Debug, Clone, PartialEq)]
pub struct Dispatch {
    /// How many there are.
    pub mode: Mode,
    /// Who they are.
    pub role: Option<(Name, Place)>,
    /// What they do.
    pub task: Task,
    /// Values they are given, with what each means.
    pub with: Vec<(Name, Placed<Template>)>,
    /// Whether they may go about it as they like.
    pub free_form: bool,
    /// What they do for a review.
    pub review: Option<ReviewPart>,
}

/// How many sub-agents a dispatch has.
#[derive(Debug, Clone, PartialEq)]
pub enum Mode {
    /// One.
    Single,
    /// One for each item, or for each group of them.
    Template {
        /// The items.
        items: ForEach,
        /// How many items one gets.
        group: usize,
    },
    /// One for each entry, and exactly these.
    Roster(Vec<Entry>),
}

/// One entry of a roster: what `{item.NAME}` stands for.
pub type Entry = Vec<(Name, Placed<Template>)>;

/// What a dispatch goes through.
#[derive(Debug, Clone, PartialEq)]
pub enum ForEach {
    /// A list.
    List(Reference, Place),
    /// The open items of a review.
    Open(Name, Place),
}

/// What a sub-agent does.
#[derive(Debug, Clone, PartialEq)]
pub enum Task {
    /// What the prompt says.
    Prompt(Placed<Template>),
    /// It walks through a workflow.
    Call(String, Place),
}

/// What the user is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The question.
    pub prompt: Placed<Template>,
    /// What there is to choose from.
    pub options: Options,
    /// The answer when the user only confirms.
    pub default: Option<Placed<Template>>,
    /// Whether several options may be chosen.
    pub multiple: bool,
    /// How the answer is checked.
    pub validate: Option<Validate>,
}

/// What there is to choose from.
#[derive(Debug, Clone, PartialEq)]
pub enum Options {
    /// Any text.
    Free,
    /// These.
    Listed(Vec<String>),
    /// The lines that a command prints.
    Command(Action),
    /// The items of a list.
    Variable(Reference, Place),
}

/// How an answer is checked.
#[derive(Debug, Clone, PartialEq)]
pub enum Validate {
    /// By a validator.
    Named(Name, Place),
    /// It must be one of these.
    OneOf(Vec<String>),
}

/// One case of a conditional.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// When it counts.
    pub when: Placed<Condition>,
    /// Where it then goes.
    pub next: Route,
}

/// What a variable is set to.
#[derive(Debug, Clone, PartialEq)]
pub enum Assigned {
    /// What is written.
    Literal(Json),
    /// What a text says once it is filled; a sole name keeps its type.
    Text(Placed<Template>),
}

/// Another workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Which.
    pub workflow: (String, Place),
    /// Its parameters.
    pub with: Vec<(Name, Place, Assigned)>,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndStatus {
    /// It did what it should.
    Success,
    /// It did not.
    Failure,
    /// It waits for someone outside the run.
    Blocked,
}

impl EndStatus {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Success, Self::Failure, Self::Blocked];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Blocked => "blocked",
        }
    }

    /// The outcome of a step that called a workflow which ended so.
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Success => Outcome::OK,
            Self::Failure => Outcome::FAIL,
            Self::Blocked => Outcome::BLOCKED,
        }
    }
}
