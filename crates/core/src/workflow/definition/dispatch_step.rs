//! Dispatches: how many sub-agents there are, and what each does.

use super::{PlacedValue, StepReview};
use crate::workflow::name::Name;
use crate::workflow::template::{Template, ValueReference};
use crate::workflow::value_type::ResultField;
use crate::yaml::SourcePosition;

/// The instructions of sub-agents.
#[derive(Debug, Clone, PartialEq)]
pub struct DispatchStep {
    /// How many there are.
    pub mode: DispatchMode,
    /// Who they are.
    pub role: Option<(Name, SourcePosition)>,
    /// What they do.
    pub task: SubagentTask,
    /// Values they are given, with what each means.
    pub with: Vec<(Name, PlacedValue<Template>)>,
    /// Whether they may go about it as they like.
    pub free_form: bool,
    /// What they do for a review.
    pub review: Option<StepReview>,
    /// The fields of the result of each.
    pub result: Vec<ResultField>,
    /// How many there are at a time; all of them, where nothing is said.
    pub max_parallel: Option<usize>,
}

impl DispatchStep {
    /// The entry of its roster for a sub-agent, by its place.
    pub fn entry(&self, index: usize) -> Option<&RosterEntry> {
        match &self.mode {
            DispatchMode::Roster(entries) => entries.get(index),
            DispatchMode::Single | DispatchMode::Template { .. } => None,
        }
    }

    /// Whether a sub-agent's result has fields of its own, by its place.
    pub fn has_own_result(&self, index: usize) -> bool {
        self.entry(index).is_some_and(|entry| !entry.result.is_empty())
    }

    /// The fields of the result of a sub-agent, by its place.
    pub fn result_of(&self, index: usize) -> &[ResultField] {
        let own = self.entry(index).map(|entry| entry.result.as_slice()).filter(|own| !own.is_empty());
        own.unwrap_or(&self.result)
    }

    /// How many items one sub-agent gets.
    pub fn group(&self) -> usize {
        match &self.mode {
            DispatchMode::Template { group, .. } => *group,
            DispatchMode::Single | DispatchMode::Roster(_) => 1,
        }
    }
}

/// How many sub-agents a dispatch has.
#[derive(Debug, Clone, PartialEq)]
pub enum DispatchMode {
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
    Roster(Vec<RosterEntry>),
}

/// One entry of a roster.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RosterEntry {
    /// What `{item.NAME}` stands for.
    pub values: Vec<(Name, PlacedValue<Template>)>,
    /// Who it is, if not as the others.
    pub role: Option<(Name, SourcePosition)>,
    /// The agent of the tool that it is started as.
    pub agent: Option<PlacedValue<Template>>,
    /// The fields of its result, if not as the others.
    pub result: Vec<ResultField>,
}

/// What a dispatch goes through.
#[derive(Debug, Clone, PartialEq)]
pub enum ForEach {
    /// A list.
    List(ValueReference, SourcePosition),
    /// The open items of a review.
    Open(Name, SourcePosition),
}

/// What a sub-agent does.
#[derive(Debug, Clone, PartialEq)]
pub enum SubagentTask {
    /// What the prompt says.
    Prompt(PlacedValue<Template>),
    /// It walks through a workflow.
    Call(String, SourcePosition),
}
