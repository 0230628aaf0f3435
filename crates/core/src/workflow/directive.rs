//! Directives: what to do now, as plain data; renderers give it a form.

mod directive_builder;
mod preview;
mod step_text;
mod text_section;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

pub use directive_builder::{DirectiveContext, build_directive, finished_run};
pub use preview::preview_step;
pub(super) use step_text::StepText;
use step_text::review_items_key;

use super::StepPhase;
use super::definition::{EndStatus, ReviewStage};
use super::name::{Name, StepId, StepOutcome};
use super::run::{AcceptedRisk, Ticket};
use super::template::TextSpan;

/// What is to be done now, and how to say that it is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Directive {
    /// The run.
    pub run: String,
    /// What a report must quote.
    pub ticket: Ticket,
    /// The workflow.
    pub workflow: String,
    /// The step.
    pub step: StepInfo,
    /// Which time this is, and how often there may be.
    pub round: StepRound,
    /// What to do, one thing each.
    #[serde(rename = "do")]
    pub actions: Vec<String>,
    /// Values to work with. They are material, never instructions.
    pub data: Map<String, Json>,
    /// Texts to work by.
    pub resources: Vec<ResourceText>,
    /// What not to do.
    pub forbidden: Vec<String>,
    /// What is expected.
    pub expected: ExpectedText,
    /// The fields of the result, as the definition declares them.
    pub result: Map<String, Json>,
    /// What the step can end with.
    pub outcomes: Vec<StepOutcome>,
    /// The sub-agents to start.
    pub dispatches: Vec<DispatchInfo>,
    /// What to ask the user.
    pub question: Option<QuestionInfo>,
    /// The command that reports; `OUTCOME` or `ANSWER` in it stands for one of those above.
    pub report: Vec<String>,
    /// How far the run is.
    pub progress: RunProgress,
    /// What the author of the workflow wrote in its texts; everything else in them is values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authored: Vec<AuthoredText>,
}

/// The parts of a directive's text that the author of the workflow wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthoredText {
    /// Which text.
    pub text: DirectiveText,
    /// Which parts of it.
    pub spans: Vec<TextSpan>,
}

/// A text of a directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DirectiveText {
    /// What the step is about.
    Brief,
    /// One of the things to do, from 0.
    Action(usize),
    /// The instructions of a sub-agent, from 0.
    Prompt(usize),
    /// What the user is asked.
    Question,
}

impl Directive {
    /// The parts of a text that the author of the workflow wrote.
    pub(super) fn authored(&self, text: DirectiveText) -> &[TextSpan] {
        let found = self.authored.iter().find(|known| known.text == text);
        found.map_or(&[], |known| known.spans.as_slice())
    }

    /// Notes what the author wrote in a text.
    fn add_authored(&mut self, text: DirectiveText, spans: Vec<TextSpan>) {
        if !spans.is_empty() {
            self.authored.push(AuthoredText { text, spans });
        }
    }

    /// Whether a run waits for its report; a step that is only printed has none.
    pub(super) fn is_checked(&self) -> bool {
        !self.report.is_empty()
    }

    /// What it does for a review, as the result it asks for shows. A fix asks for nothing of its own.
    pub fn part(&self) -> Option<ReviewStage> {
        let asked = self.result.get("items")?.get("description")?.as_str()?;
        ReviewStage::ALL.into_iter().find(|part| review_items_key(*part) == Some(asked))
    }
}

/// What is expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ExpectedText {
    /// These things.
    List(Vec<String>),
    /// This when all is well, that when it is not.
    Verdict {
        /// What to say when nothing was found.
        if_pass: Option<String>,
        /// How to report what was found.
        when_issues: Option<String>,
        /// What there is to be found.
        categories: Vec<String>,
    },
}

/// The step of a directive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepInfo {
    /// Its id.
    pub id: StepId,
    /// Its title.
    pub title: String,
    /// What it is about.
    pub brief: Option<String>,
    /// The part of the workflow it belongs to.
    pub phase: Option<StepPhase>,
    /// Its number among the steps that an agent or the user does, from 1; without a run, in the order of the file.
    pub number: usize,
    /// How many steps there are.
    pub total: usize,
}

/// Which time something is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRound {
    /// From 1.
    pub number: u32,
    /// How often there may be.
    pub limit: Option<u32>,
    /// How to look at it.
    pub mode: RoundMode,
    /// The review it belongs to, once that has started.
    pub review: Option<Name>,
}

/// How to look at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundMode {
    /// For the first time.
    Initial,
    /// Again, and as if for the first time.
    FreshReview,
    /// For what failed before.
    ReVerify,
}

/// A text to work by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceText {
    /// Its name.
    pub name: Name,
    /// What it says.
    pub content: String,
}

/// A sub-agent to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DispatchInfo {
    /// What its report must quote.
    pub ticket: Ticket,
    /// Its name within the dispatch.
    pub child: String,
    /// Who it is.
    pub role: Option<Name>,
    /// Which kind of model it wants.
    #[serde(default)]
    pub model: Option<String>,
    /// Its instructions, unless it runs a workflow of its own.
    pub prompt: Option<String>,
    /// The workflow it walks through.
    pub workflow: Option<String>,
    /// Values it is given.
    pub with: Map<String, Json>,
    /// The items it is given.
    pub items: Vec<Json>,
    /// The agent of the tool that it is started as, where the workflow says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The fields of its result, where they are not those of all.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub result: Map<String, Json>,
    /// Whether it may go about it as it likes.
    pub free_form: bool,
    /// The command by which it reports.
    pub report: Vec<String>,
}

/// What to ask the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionInfo {
    /// The question.
    pub prompt: String,
    /// What there is to choose from; nothing for a free text.
    pub options: Option<Vec<String>>,
    /// What people read instead of an option, by the option.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub titles: BTreeMap<String, String>,
    /// The answer when the user only confirms.
    pub default: Option<String>,
    /// Whether several may be chosen.
    pub multiple: bool,
    /// Why the last answer was no good.
    pub refused: Option<String>,
}

impl QuestionInfo {
    /// What people read of an option.
    pub fn title<'q>(&'q self, option: &'q str) -> &'q str {
        self.titles.get(option).map_or(option, String::as_str)
    }

    /// The options with their titles, each in a line.
    pub fn described_options(&self) -> Vec<String> {
        let described = |option: &String| match self.titles.get(option) {
            Some(title) => format!("{option}: {title}"),
            None => option.clone(),
        };
        self.options.iter().flatten().map(described).collect()
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunProgress {
    /// Whether this is the first directive of the run.
    #[serde(default)]
    pub first: bool,
    /// How many steps were visited at least once.
    pub visited: usize,
    /// How many there are.
    pub total: usize,
    /// How many transitions were made.
    pub transitions: u32,
    /// How many may be made.
    pub limit: u32,
}

/// What is said of a run that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FinishedRun {
    /// The run.
    pub run: String,
    /// How it stands.
    pub status: FinishedStatus,
    /// How it ended, if it came to an end.
    pub outcome: Option<EndStatus>,
    /// What it hands back.
    pub outputs: Map<String, Json>,
    /// What a user let pass.
    pub accepted_risks: Vec<AcceptedRisk>,
}

/// How a run that is over stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FinishedStatus {
    /// It did what it should.
    Completed,
    /// It did not.
    Failed,
    /// It was stopped.
    Cancelled,
}
