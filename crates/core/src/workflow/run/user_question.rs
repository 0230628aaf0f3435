//! The user's answers, and what follows from them.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::command_result::lines;
use super::transition::{NextMove, Transition};
use super::{
    AnswerAuthor, AskedQuestion, CommandExit, CommandSpec, ExecutionProgress, GateVerdict, InputRefusal, RunEvent,
    StepWait, UserAnswer, ValueScope, command_spec, judge_gate,
};
use crate::workflow::definition::{AnswerCheck, Gate, QuestionOptions, QuestionStep, Workflow, WorkflowStep};
use crate::workflow::name::StepOutcome;
use crate::workflow::value_type::{ValueType, value_text};

/// How many bad answers are one too many.
const MAX_TRIES: u32 = 3;
/// How many more rounds a gate gets when the user says so.
const GRANTED: u32 = 2;

impl<'d> Transition<'d> {
    pub(super) fn ask(&mut self, step: &'d WorkflowStep, question: &QuestionStep) -> Result<NextMove, InputRefusal> {
        let (options, titles) = match &question.options {
            QuestionOptions::Free => (implied_options(self.workflow()?, step), BTreeMap::new()),
            QuestionOptions::Listed(options) => (Some(options.clone()), question.titles.clone()),
            QuestionOptions::Variable(reference, _) => match self.scope()?.get(reference).as_ref() {
                Json::Array(items) => titled(items.iter().map(item_option)),
                _ => (Some(Vec::new()), BTreeMap::new()),
            },
            QuestionOptions::Command(action) => {
                return match command_spec::build_command(action, &self.scope()?, self.workflow()?) {
                    Ok(_) => Ok(self.wait(StepWait::Listing(ExecutionProgress::Ready))),
                    Err(reason) => self.accept_output(step, StepOutcome::FAIL, None, Some(reason)),
                };
            }
        };
        self.offer(step, options, titles)
    }

    /// Asks, unless there are no options.
    fn offer(
        &mut self,
        step: &'d WorkflowStep,
        options: Option<Vec<String>>,
        titles: BTreeMap<String, String>,
    ) -> Result<NextMove, InputRefusal> {
        if options.as_ref().is_some_and(Vec::is_empty) {
            let reason = "there are no options".to_owned();
            return self.accept_output(step, StepOutcome::FAIL, None, Some(reason));
        }
        Ok(self.wait(StepWait::Answer(AskedQuestion { options, titles, refused: None, tries: 0 })))
    }

    pub(super) fn accept_options(
        &mut self,
        step: &'d WorkflowStep,
        finish: CommandExit,
    ) -> Result<NextMove, InputRefusal> {
        match finish {
            CommandExit::Exited { code: 0, output } => {
                let (options, titles) = titled(lines(&output).iter().map(|line| line_option(line)));
                self.offer(step, options, titles)
            }
            CommandExit::Exited { code, .. } => {
                self.accept_output(step, StepOutcome::FAIL, Some(code), Some("its options cannot be listed".to_owned()))
            }
            CommandExit::TimedOut => {
                self.accept_output(step, StepOutcome::FAIL, None, Some("listing its options took too long".into()))
            }
            CommandExit::Failed(reason) => self.accept_output(step, StepOutcome::FAIL, None, Some(reason)),
        }
    }

    pub(super) fn accept_answer(
        &mut self,
        step: &'d WorkflowStep,
        question: &'d QuestionStep,
        asked: AskedQuestion,
        answer: UserAnswer,
    ) -> Result<NextMove, InputRefusal> {
        let value = match answer {
            UserAnswer::Declined => return Ok(NextMove::Leave(step.id.clone(), StepOutcome::DECLINED)),
            UserAnswer::Cancelled => return Ok(NextMove::Leave(step.id.clone(), StepOutcome::CANCELLED)),
            UserAnswer::Value(value) => parse_answer(question, &asked, value),
        };
        if let Err(reason) = check_answer(question, &asked, &value).and_then(|()| self.storable(step, &value)) {
            return Ok(self.ask_again(step, asked, reason));
        }
        let Some(action) = validator(self.workflow()?, question) else {
            return self.take(step, &asked, value);
        };
        let locals = answer_locals(&value);
        match command_spec::build_command(action, &self.scope()?.with(&locals), self.workflow()?) {
            Ok(_) => Ok(self.wait(StepWait::Validating { answer: value, asked, progress: ExecutionProgress::Ready })),
            Err(reason) => Ok(self.ask_again(step, asked, reason)),
        }
    }

    pub(super) fn accept_validation(
        &mut self,
        step: &'d WorkflowStep,
        answer: Json,
        asked: AskedQuestion,
        finish: CommandExit,
    ) -> Result<NextMove, InputRefusal> {
        let reason = match finish {
            CommandExit::Exited { code: 0, .. } => return self.take(step, &asked, answer),
            CommandExit::Exited { output, .. } => lines(&output).into_iter().next(),
            CommandExit::TimedOut => Some("checking it took too long".to_owned()),
            CommandExit::Failed(reason) => Some(reason),
        };
        let reason = reason.unwrap_or_else(|| format!("`{}` was not accepted", value_text(&answer)));
        Ok(self.ask_again(step, asked, reason))
    }

    fn ask_again(&mut self, step: &WorkflowStep, asked: AskedQuestion, reason: String) -> NextMove {
        let tries = asked.tries + 1;
        if tries >= MAX_TRIES {
            let reason = Some(format!("{MAX_TRIES} answers were not accepted, the last one because {reason}"));
            let (step, outcome) = (step.id.clone(), StepOutcome::DECLINED);
            self.emit(RunEvent::Executed { step: step.clone(), outcome: outcome.clone(), code: None, reason });
            return NextMove::Leave(step, outcome);
        }
        self.wait(StepWait::Answer(AskedQuestion { refused: Some(reason), tries, ..asked }))
    }

    fn storable(&self, step: &WorkflowStep, value: &Json) -> Result<(), String> {
        let workflow = self.workflow().map_err(|refusal| refusal.to_string())?;
        let Some(variable) = step.store.as_ref().and_then(|(name, _)| workflow.variable(name)) else { return Ok(()) };
        variable.admit(value.clone()).map(|_| ()).map_err(|unfit| unfit.to_string())
    }

    /// Keeps a good answer. An option that has a way of its own is the outcome.
    fn take(&mut self, step: &WorkflowStep, asked: &AskedQuestion, value: Json) -> Result<NextMove, InputRefusal> {
        let word = value_text(&value);
        if let Some((name, _)) = &step.store
            && let Some(variable) = self.workflow()?.variable(name)
        {
            let value =
                variable.admit(value).map_err(|reason| InputRefusal::Value { name: name.to_string(), reason })?;
            self.emit(RunEvent::Set { name: name.clone(), value });
        }
        let own = StepOutcome::new(word);
        let is_option =
            asked.options.as_ref().is_some_and(|options| options.iter().any(|option| option == own.as_str()));
        let outcome = if is_option && step.route(&own).is_some() { own } else { StepOutcome::OK };
        Ok(NextMove::Leave(step.id.clone(), outcome))
    }

    /// The user's word at a gate whose rounds are used up.
    pub(super) fn accept_decision(
        &mut self,
        step: &'d WorkflowStep,
        gate: &Gate,
        answer: &UserAnswer,
        by: AnswerAuthor,
    ) -> Result<NextMove, InputRefusal> {
        let frame = self.frame()?;
        let mut verdict = judge_gate(&self.run, frame, &step.id, gate);
        // The round that failed has been counted; what blocked is what blocked in it.
        let done = frame.rounds.get(&step.id).copied().unwrap_or_default().done;
        let items = gate.review.as_ref().and_then(|(name, _)| frame.reviews.get(name)).map_or(&[][..], Vec::as_slice);
        let open = |item: &&super::ReviewItem| {
            item.status != super::ReviewItemStatus::Pass && gate.blocking.blocks(done, item.severity)
        };
        verdict.items = items.iter().filter(open).cloned().collect();
        let possible = choices(gate, &verdict);
        let word = match answer {
            UserAnswer::Value(value) => option(&possible, &value_text(value)).unwrap_or_default(),
            UserAnswer::Declined | UserAnswer::Cancelled => ABORT,
        };
        match (word, &gate.review) {
            (CONTINUE | ACCEPT, _) if by == AnswerAuthor::Agent => Err(InputRefusal::UsersDecision),
            (CONTINUE, _) => {
                self.emit(RunEvent::RoundsGranted { gate: step.id.clone(), rounds: GRANTED });
                Ok(NextMove::Leave(step.id.clone(), StepOutcome::FAIL))
            }
            (ACCEPT, Some((review, _))) if verdict.acceptable() => {
                let (gate, review, items) = (step.id.clone(), review.clone(), verdict.items);
                self.emit(RunEvent::RiskAccepted { gate: gate.clone(), review, items, by });
                let reasons = vec![format!("{} accepts the risk", by.describe())];
                self.emit(RunEvent::Judged { gate, round: done, outcome: StepOutcome::PASS, reasons });
                Ok(NextMove::Leave(step.id.clone(), StepOutcome::PASS))
            }
            (ABORT, _) => Ok(NextMove::Leave(step.id.clone(), StepOutcome::EXHAUSTED)),
            _ => Err(InputRefusal::Outcome(possible.iter().map(|word| StepOutcome::new(*word)).collect())),
        }
    }
}

/// Options with their titles.
fn titled(options: impl Iterator<Item = (String, Option<String>)>) -> (Option<Vec<String>>, BTreeMap<String, String>) {
    let (mut values, mut titles) = (Vec::new(), BTreeMap::new());
    for (value, title) in options {
        if let Some(title) = title.filter(|title| *title != value) {
            titles.insert(value.clone(), title);
        }
        values.push(value);
    }
    (Some(values), titles)
}

/// An item of a list as an option: itself, or its `value` with its `title`.
fn item_option(item: &Json) -> (String, Option<String>) {
    let text = |key: &str| item.get(key).map(value_text);
    match text("value") {
        Some(value) => (value, text("title")),
        None => (value_text(item), None),
    }
}

/// A line that a command printed as an option: its value, and after a tab its title.
fn line_option(line: &str) -> (String, Option<String>) {
    match line.split_once('\t') {
        Some((value, title)) => (value.trim().to_owned(), Some(title.trim().to_owned())),
        None => (line.to_owned(), None),
    }
}

/// The option that an answer means: by its words, its number, or its title.
fn chosen<'a>(asked: &'a AskedQuestion, said: &str) -> Option<&'a str> {
    let by_title = || {
        let own = asked.titles.iter().find(|(_, title)| title.eq_ignore_ascii_case(said.trim()));
        own.map(|(value, _)| value.as_str())
    };
    option(asked.options.as_deref()?, said).or_else(by_title)
}

/// What there is to choose from where nothing is listed: the values that what the answer is stored in can have, if they are few.
pub(in crate::workflow) fn implied_options(workflow: &Workflow, step: &WorkflowStep) -> Option<Vec<String>> {
    let (name, _) = step.store.as_ref()?;
    match &workflow.variable(name)?.kind {
        ValueType::Bool => Some(["true", "false"].map(str::to_owned).to_vec()),
        ValueType::Enum(values) => Some(values.clone()),
        ValueType::Text
        | ValueType::Int
        | ValueType::Number
        | ValueType::List(_)
        | ValueType::Path
        | ValueType::Object(_) => None,
    }
}

/// What a user says who wants more rounds.
pub(in crate::workflow) const CONTINUE: &str = "continue";
pub(super) const ACCEPT: &str = "accept";
const ABORT: &str = "abort";

/// What a user may decide at a gate.
pub(super) fn choices(gate: &Gate, verdict: &GateVerdict) -> Vec<&'static str> {
    let acceptable = gate.review.is_some() && verdict.acceptable();
    if acceptable { vec![CONTINUE, ACCEPT, ABORT] } else { vec![CONTINUE, ABORT] }
}

/// What a decision at a gate means.
pub(super) fn meaning(choice: &str) -> String {
    match choice {
        CONTINUE => format!("{GRANTED} more rounds"),
        ACCEPT => "continue with what is open; it is recorded as an accepted risk".to_owned(),
        _ => "give up at this gate".to_owned(),
    }
}

/// The command that checks the answer to a question.
pub(super) fn validator<'d>(
    workflow: &'d Workflow,
    question: &QuestionStep,
) -> Option<&'d crate::workflow::definition::CommandAction> {
    match &question.validate {
        Some(AnswerCheck::Named(name, _)) => workflow.validators.get(name).map(|validator| &validator.action),
        Some(AnswerCheck::OneOf(_)) | None => None,
    }
}

/// What a validator knows beside the declared names.
pub(super) fn answer_locals(answer: &Json) -> Map<String, Json> {
    Map::from_iter([("answer".to_owned(), answer.clone())])
}

/// What is executed to check an answer.
pub(super) fn validation(
    workflow: &Workflow,
    question: &QuestionStep,
    scope: ValueScope<'_>,
    answer: &Json,
) -> Option<CommandSpec> {
    let locals = answer_locals(answer);
    command_spec::build_command(validator(workflow, question)?, &scope.with(&locals), workflow).ok()
}

/// The option that an answer means: by its words in any case, or by its number in the list.
pub(super) fn option<'o, T: AsRef<str>>(options: &'o [T], answer: &str) -> Option<&'o str> {
    let words = || options.iter().map(AsRef::as_ref);
    let answer = answer.trim();
    let exact = words().find(|option| *option == answer);
    let loose = || {
        let mut found = words().filter(|option| option.eq_ignore_ascii_case(answer));
        found.next().filter(|_| found.next().is_none())
    };
    let numbered = || words().nth(answer.trim_end_matches('.').parse::<usize>().ok()?.checked_sub(1)?);
    exact.or_else(loose).or_else(numbered)
}

/// The answer with each option as it is written; what is no option stays as it was said.
fn parse_answer(question: &QuestionStep, asked: &AskedQuestion, value: Json) -> Json {
    let one = |said: &Json| {
        let found = chosen(asked, &value_text(said));
        found.map_or_else(|| said.clone(), |word| Json::String(word.to_owned()))
    };
    match value {
        Json::Array(items) if question.multiple => items.iter().map(one).collect(),
        Json::String(said) if question.multiple => several(asked, &said).iter().map(one).collect(),
        Json::Number(_) | Json::Bool(_) if question.multiple => Json::Array(vec![one(&value)]),
        Json::String(_) | Json::Number(_) => one(&value),
        other => other,
    }
}

/// The answers in a text: several in one breath, as people say it, unless the whole is an option or no part is.
fn several(asked: &AskedQuestion, said: &str) -> Vec<Json> {
    let known = |said: &str| asked.options.is_none() || chosen(asked, said).is_some();
    let parts: Vec<&str> = said.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    let is_whole = asked.options.is_some() && known(said);
    if is_whole || !parts.iter().copied().all(known) {
        return vec![Json::String(said.to_owned())];
    }
    parts.into_iter().map(|part| Json::String(part.to_owned())).collect()
}

/// Whether an answer is one of those that can be given.
fn check_answer(question: &QuestionStep, asked: &AskedQuestion, value: &Json) -> Result<(), String> {
    let chosen: Vec<String> = match value {
        Json::Array(items) if question.multiple => items.iter().map(value_text).collect(),
        Json::Array(_) | Json::Object(_) | Json::Null => return Err("one answer is needed".to_owned()),
        one => vec![value_text(one)],
    };
    let one_of = match &question.validate {
        Some(AnswerCheck::OneOf(values)) => Some(values),
        Some(AnswerCheck::Named(..)) | None => None,
    };
    for allowed in [asked.options.as_ref(), one_of].into_iter().flatten() {
        if let Some(stranger) = chosen.iter().find(|answer| !allowed.contains(answer)) {
            return Err(format!("`{stranger}` is none of {}", allowed.join(", ")));
        }
    }
    Ok(())
}
