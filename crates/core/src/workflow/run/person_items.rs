//! Items that a person adds to a run: comments on its work, which are fixed and verified before it ends well.

use serde::{Deserialize, Serialize};

use super::InputRefusal;
use super::transition::Transition;
use super::{Run, RunEvent};
use crate::excerpt::one_line;
use crate::word_enum;
use crate::workflow::StepPhase;
use crate::workflow::definition::{ReviewStage, StepWork, WorkflowStep};
use crate::workflow::name::StepOutcome;
use crate::workflow::value_type::InvalidValue;

/// How many characters an item has at most.
pub const MAX_ITEM: usize = 8000;
/// How many items a run has at most.
const MOST: usize = 200;

/// A comment of a person on the work of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonItem {
    /// Its id within the run.
    pub id: String,
    /// What the person says.
    pub text: String,
    /// The file it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line of that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// How far it is.
    pub state: PersonItemState,
    /// When it was added.
    pub at: i64,
}

word_enum! {
    /// How far an item of a person is.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum PersonItemState {
        /// No agent has it yet.
        Queued = "queued",
        /// An agent works on it.
        Delivered = "delivered",
        /// The agent says that it is done.
        Fixed = "fixed",
        /// A review passed since.
        Verified = "verified",
    }
}

impl PersonItem {
    /// The item that a comment becomes.
    pub fn of(comment: &PersonComment) -> Self {
        Self {
            id: String::new(),
            text: comment.text.trim().to_owned(),
            file: comment.file.clone().filter(|file| !file.trim().is_empty()),
            line: comment.line,
            state: PersonItemState::Queued,
            at: 0,
        }
    }

    /// The item in a line, as an agent reads it.
    pub fn describe(&self) -> String {
        let place = match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            (Some(file), None) => format!("{file}: "),
            (None, _) => String::new(),
        };
        format!("{place}{}", one_line(&self.text))
    }

    /// Whether no agent has said that it is done.
    pub fn is_open(&self) -> bool {
        self.state < PersonItemState::Fixed
    }
}

/// What a person says about the work of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PersonComment {
    /// The words.
    pub text: String,
    /// The file they are about.
    pub file: Option<String>,
    /// The line of that file.
    pub line: Option<u32>,
}

impl Run {
    /// The items that no agent has fixed yet.
    pub fn open_items(&self) -> impl Iterator<Item = &PersonItem> {
        self.person_items.iter().filter(|item| item.is_open())
    }

    /// The items in this state, one a line, as an agent reads them; nothing where there is none.
    pub fn items_text(&self, state: PersonItemState) -> Option<String> {
        let lines: Vec<String> = self
            .person_items
            .iter()
            .filter(|item| item.state == state)
            .map(|item| format!("- {}", item.describe()))
            .collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// Whether an agent works at a step, as opposed to one that reviews.
pub(in crate::workflow) fn does_work(step: &WorkflowStep) -> bool {
    let judges = step.work.review().is_some_and(|part| part.part != ReviewStage::Fix);
    matches!(step.work, StepWork::Agent(_)) && !judges && !reviews(step)
}

/// Whether an agent reviews the work at a step.
pub(in crate::workflow) fn reviews(step: &WorkflowStep) -> bool {
    let verifies = step.work.review().is_some_and(|part| part.part == ReviewStage::Verify);
    matches!(step.work, StepWork::Agent(_)) && (verifies || step.phase == Some(StepPhase::Review))
}

impl Transition<'_> {
    /// Adds what a person says.
    pub(super) fn add_item(&mut self, comment: &PersonComment) -> Result<(), InputRefusal> {
        let refuse = |why: String| InputRefusal::Value { name: "text".to_owned(), reason: InvalidValue(why) };
        let text = comment.text.trim();
        if text.is_empty() {
            return Err(refuse("it is empty".to_owned()));
        }
        if text.chars().count() > MAX_ITEM {
            return Err(refuse(format!("it has more than {MAX_ITEM} characters")));
        }
        if self.run.person_items.len() >= MOST {
            return Err(refuse(format!("the run has {MOST} items already")));
        }
        let id = format!("you-{}", self.run.person_items.len() + 1);
        let item = PersonItem { id, at: self.now, ..PersonItem::of(comment) };
        self.emit(RunEvent::ItemAdded { item });
        Ok(())
    }

    /// Notes that items got further.
    pub(super) fn move_items(&mut self, from: &[PersonItemState], to: PersonItemState) {
        let moved = self.run.person_items.iter().filter(|item| from.contains(&item.state));
        let ids: Vec<String> = moved.map(|item| item.id.clone()).collect();
        if !ids.is_empty() {
            self.emit(RunEvent::ItemsMoved { ids, state: to });
        }
    }

    /// What becomes of the outcome of an agent step: a review does not pass while a person waits for something.
    pub(super) fn with_items(&mut self, step: &WorkflowStep, outcome: StepOutcome) -> StepOutcome {
        let is_well = [StepOutcome::OK, StepOutcome::PASS].contains(&outcome);
        if does_work(step) && is_well {
            self.move_items(&[PersonItemState::Delivered], PersonItemState::Fixed);
        }
        if !reviews(step) || !is_well {
            return outcome;
        }
        let can_fail = matches!(&step.work, StepWork::Agent(agent) if agent.outcomes.contains(&StepOutcome::FAIL));
        if can_fail && self.run.open_items().next().is_some() {
            return StepOutcome::FAIL;
        }
        self.move_items(&[PersonItemState::Fixed], PersonItemState::Verified);
        outcome
    }
}
