//! Items that a person adds to a run: comments on its work, which are fixed and verified before it ends well.

use serde::{Deserialize, Serialize};

use super::InputRefusal;
use super::transition::Transition;
use super::{Run, RunDefinition, RunEvent, RunStatus};
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
    /// What the person wants with it.
    #[serde(default, skip_serializing_if = "PersonItemKind::is_comment")]
    pub kind: PersonItemKind,
    /// The id of the message that told it to the agent at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How far it is.
    pub state: PersonItemState,
    /// When it was added.
    pub at: i64,
}

word_enum! {
    /// What a person wants with an item.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum PersonItemKind {
        /// Something to fix: the work is not done before it is.
        #[default]
        Comment = "comment",
        /// Words for the agent of the next step.
        Message = "message",
    }
}

impl PersonItemKind {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_comment(&self) -> bool {
        *self == Self::Comment
    }
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
            kind: comment.kind,
            message: comment.message.clone(),
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

    /// Whether it is a comment of which no agent has said that it is done.
    pub fn is_open(&self) -> bool {
        self.kind.is_comment() && self.state < PersonItemState::Fixed
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
    /// What the person wants.
    pub kind: PersonItemKind,
    /// The id of the message that told it to the agent at work.
    pub message: Option<String>,
}

impl PersonComment {
    /// Words for the agent of the next step.
    pub fn for_next_step(text: String) -> Self {
        Self { text, kind: PersonItemKind::Message, ..Self::default() }
    }
}

impl Run {
    /// Whether an agent is at work that can fix a comment now.
    pub fn can_fix_now(&self, definition: &RunDefinition) -> bool {
        let step = self.frame().and_then(|frame| {
            let position = frame.position.as_ref()?;
            definition.workflow(&frame.workflow)?.step(&position.step)
        });
        self.status == RunStatus::Active && step.is_some_and(does_work)
    }

    /// What people said about the work.
    pub fn comments(&self) -> impl Iterator<Item = &PersonItem> {
        self.person_items.iter().filter(|item| item.kind == PersonItemKind::Comment)
    }

    /// The comments that no agent has fixed yet.
    pub fn open_items(&self) -> impl Iterator<Item = &PersonItem> {
        self.person_items.iter().filter(|item| item.is_open())
    }

    /// The items of a kind in this state, one a line, as an agent reads them; nothing where there is none.
    pub fn items_text(&self, kind: PersonItemKind, state: PersonItemState) -> Option<String> {
        let lines: Vec<String> = self
            .person_items
            .iter()
            .filter(|item| item.kind == kind && item.state == state)
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

    /// Notes that the items of a kind got further.
    pub(super) fn move_items(&mut self, kind: PersonItemKind, from: PersonItemState, to: PersonItemState) {
        let is_moved = |item: &&PersonItem| item.kind == kind && item.state == from;
        self.emit_moved(self.run.person_items.iter().filter(is_moved).map(|item| item.id.clone()).collect(), to);
    }

    /// Notes that the agent at work has received comments as messages.
    pub(super) fn deliver_items(&mut self, messages: &[String]) {
        let is_told = |item: &&PersonItem| {
            let told = item.message.as_ref().is_some_and(|message| messages.contains(message));
            told && item.state == PersonItemState::Queued
        };
        let ids = self.run.person_items.iter().filter(is_told).map(|item| item.id.clone()).collect();
        self.emit_moved(ids, PersonItemState::Delivered);
    }

    /// Gives an agent that begins a step what waits for it.
    pub(super) fn hand_over_items(&mut self, step: &WorkflowStep) {
        self.move_items(PersonItemKind::Message, PersonItemState::Queued, PersonItemState::Delivered);
        if does_work(step) {
            self.move_items(PersonItemKind::Comment, PersonItemState::Queued, PersonItemState::Delivered);
        }
    }

    fn emit_moved(&mut self, ids: Vec<String>, state: PersonItemState) {
        if !ids.is_empty() {
            self.emit(RunEvent::ItemsMoved { ids, state });
        }
    }

    /// What becomes of the outcome of an agent step: a review does not pass while a person waits for something.
    pub(super) fn with_items(&mut self, step: &WorkflowStep, outcome: StepOutcome) -> StepOutcome {
        let is_well = [StepOutcome::OK, StepOutcome::PASS].contains(&outcome);
        if is_well {
            // One that failed is not the last to receive it.
            self.move_items(PersonItemKind::Message, PersonItemState::Delivered, PersonItemState::Fixed);
        }
        if does_work(step) && is_well {
            self.move_items(PersonItemKind::Comment, PersonItemState::Delivered, PersonItemState::Fixed);
        }
        if !reviews(step) || !is_well {
            return outcome;
        }
        let can_fail = matches!(&step.work, StepWork::Agent(agent) if agent.outcomes.contains(&StepOutcome::FAIL));
        if can_fail && self.run.open_items().next().is_some() {
            return StepOutcome::FAIL;
        }
        self.move_items(PersonItemKind::Comment, PersonItemState::Fixed, PersonItemState::Verified);
        outcome
    }
}
