//! The decision on an input: events, or a refusal that changes nothing.

use serde_json::{Map, Value as Json};

use super::pending_effects::tickets_in_front;
use super::ticket::fingerprint;
use super::transition::{NextMove, Transition, defaults, params};
use super::user_question::option;
use super::{
    AnswerAuthor, AwaitedInput, CallFrame, ExecutionProgress, FileState, InputRefusal, PersonComment, RecoveryChoice,
    Run, RunDefinition, RunEvent, RunInput, RunStatus, StepWait, Ticket, UserAnswer,
};
use crate::excerpt::ellipsize;
use crate::workflow::definition::{EndStatus, StepWork, Variable};
use crate::workflow::graph::StepGraph;
use crate::workflow::name::{StepId, StepOutcome};
use crate::workflow::value_type::{InvalidValue, value_text};

/// How many characters of an answer are in the log.
const MAX_LOGGED_ANSWER: usize = 1000;

/// What follows from an input.
pub fn decide(definition: &RunDefinition, run: &Run, input: RunInput) -> Result<Vec<RunEvent>, InputRefusal> {
    if let Some((ticket, print)) = reported_text(&input)
        && run.reports_seen.contains(&(ticket.clone(), print))
    {
        return Ok(Vec::new());
    }
    allowed(run, &input)?;
    let mut walk = Transition { definition, run: run.clone(), events: Vec::new(), now: 0 };
    walk.input(input)?;
    Ok(walk.events)
}

/// Whether a run in this status takes such an input at all.
fn allowed(run: &Run, input: &RunInput) -> Result<(), InputRefusal> {
    // A command that runs when the run is paused still comes to its end.
    let even_paused = matches!(
        input,
        RunInput::Resume
            | RunInput::RequestCancel { .. }
            | RunInput::Cancel
            | RunInput::AddItem { .. }
            | RunInput::DeliverItems { .. }
            | RunInput::Finished { .. }
            | RunInput::Lost { .. }
    );
    match (&run.status, input) {
        (RunStatus::New, input) if !matches!(input, RunInput::Start { .. }) => Err(InputRefusal::NotStarted),
        (RunStatus::Ended(ending), RunInput::Reopen { .. }) if ending.status != EndStatus::Success => Ok(()),
        (RunStatus::Cancelled, RunInput::Reopen { .. } | RunInput::Branch { .. })
        | (RunStatus::Ended(_), RunInput::Branch { .. }) => Ok(()),
        (RunStatus::Paused | RunStatus::Active, RunInput::Branch { .. }) => Err(InputRefusal::NotOver),
        (RunStatus::Ended(_) | RunStatus::Cancelled, _) => Err(InputRefusal::Over),
        (RunStatus::Paused | RunStatus::Active, RunInput::Start { .. } | RunInput::Reopen { .. }) => {
            Err(InputRefusal::AlreadyStarted)
        }
        (RunStatus::Paused, _) if !even_paused => Err(InputRefusal::Paused),
        (RunStatus::Active, RunInput::Resume) => Err(InputRefusal::NotPaused),
        (RunStatus::New | RunStatus::Paused | RunStatus::Active, _) => Ok(()),
    }
}

/// The required parameters that are given without saying anything.
fn empty_params(declared: &[Variable], given: &Map<String, Json>) -> Vec<InputRefusal> {
    let is_blank = |param: &&Variable| match given.get(param.name.as_str()) {
        Some(Json::String(text)) => param.required && text.trim().is_empty(),
        _ => false,
    };
    let refuse = |param: &Variable| {
        let reason = InvalidValue("required, but empty".into());
        InputRefusal::Value { name: param.name.to_string(), reason }
    };
    declared.iter().filter(is_blank).map(refuse).collect()
}

/// The ticket of an input that may be sent twice, and what tells its content apart.
pub(super) fn reported_text(input: &RunInput) -> Option<(Ticket, u64)> {
    let (ticket, text) = match input {
        RunInput::Report { ticket, outcome, set, result, .. } => {
            // JSON can always be written as such.
            let set = serde_json::to_string(set).unwrap_or_default();
            let result = serde_json::to_string(result).unwrap_or_default();
            (ticket, format!("report {outcome:?} {set} {result}"))
        }
        RunInput::ChildRunEnded { ticket, outcome, .. } => (ticket, format!("walked {outcome}")),
        RunInput::Answer { ticket, answer, .. } => (ticket, format!("answer {answer:?}")),
        RunInput::Finished { ticket, finish, .. } => (ticket, format!("finished {finish:?}")),
        RunInput::Consent { ticket, choice, .. } => (ticket, format!("consent {choice:?}")),
        _ => return None,
    };
    Some((ticket.clone(), fingerprint(&text)))
}

impl Transition<'_> {
    /// Records what is said about a step, with the files as they were then.
    fn note_report(&mut self, input: &RunInput) -> Result<(), InputRefusal> {
        let Some((ticket, fingerprint)) = reported_text(input) else { return Ok(()) };
        self.expects(&ticket)?;
        let tree = match input {
            RunInput::Report { seen, .. } | RunInput::ChildRunEnded { seen, .. } => seen.tree.clone(),
            _ => None,
        };
        self.emit(RunEvent::Reported { ticket, fingerprint, tree });
        Ok(())
    }

    fn input(&mut self, input: RunInput) -> Result<(), InputRefusal> {
        let shown = tickets_in_front(&self.run);
        if let Some(ticket) = input.ticket() {
            self.bring_to_front(ticket);
        }
        self.note_report(&input)?;
        let next = match input {
            RunInput::Start { params: given, context, seed, now } => {
                self.now = now;
                self.start(given, context, seed)?
            }
            RunInput::Report { ticket, outcome, set, result, seen, now } => {
                self.now = now;
                self.accept_report(&ticket, outcome, set, result, &seen)?
            }
            RunInput::ChildRunEnded { ticket, outcome, result, seen, now } => {
                self.now = now;
                self.accept_child_run(&ticket, outcome, result, &seen)?
            }
            RunInput::Answer { ticket, answer, by, now } => {
                self.now = now;
                self.answer(&ticket, answer, by)?
            }
            RunInput::Started { ticket, seen, now } => {
                self.now = now;
                self.begin_execution(ticket, &seen)?
            }
            RunInput::Finished { ticket, finish, now } => {
                self.now = now;
                if self.progress(&ticket) != Some(ExecutionProgress::Started) {
                    return Err(self.not_awaited(ticket));
                }
                match self.executed_branch(&ticket) {
                    Some((branch, at)) => self.finish_branch(branch, at.attempt, finish)?,
                    None => self.finish_command(finish)?,
                }
            }
            RunInput::Lost { ticket, now } => {
                self.now = now;
                self.expects(&ticket)?;
                if self.progress(&ticket) != Some(ExecutionProgress::Started) {
                    return Err(self.not_awaited(ticket));
                }
                self.lost(&ticket)?
            }
            RunInput::Consent { ticket, choice, now } => {
                self.now = now;
                if self.progress(&ticket) != Some(ExecutionProgress::Unsure) {
                    return Err(self.not_awaited(ticket));
                }
                self.consent(&ticket, choice)?
            }
            RunInput::Abandon { ticket, reason, now } => {
                self.now = now;
                self.expects(&ticket)?;
                self.abandon(&reason)?
            }
            RunInput::Elapsed { now } => {
                self.now = now;
                self.elapsed()?
            }
            RunInput::AddItem { comment, now } => {
                self.now = now;
                self.add_item(&comment)?;
                NextMove::Wait
            }
            RunInput::DeliverItems { messages, now } => {
                self.now = now;
                self.deliver_items(&messages);
                NextMove::Wait
            }
            RunInput::Pause => {
                self.emit(RunEvent::Paused {});
                NextMove::Wait
            }
            RunInput::Resume => {
                self.emit(RunEvent::Resumed {});
                NextMove::Wait
            }
            RunInput::RequestCancel { now } => {
                self.now = now;
                self.request_cancel()?
            }
            RunInput::Cancel => {
                self.emit(RunEvent::Cancelled {});
                NextMove::Wait
            }
            RunInput::Reopen { params, note, now } => {
                self.now = now;
                self.reopen(params, note)?
            }
            RunInput::Branch { step, visit, state, params, now } => {
                self.now = now;
                self.emit(RunEvent::Branched { step: step.clone(), visit, state });
                self.change_params(params)?;
                NextMove::Enter(step)
            }
        };
        self.proceed(next)?;
        self.call_further_branches(&shown)
    }

    fn begin_execution(&mut self, ticket: Ticket, seen: &FileState) -> Result<NextMove, InputRefusal> {
        self.expects(&ticket)?;
        // Of two executors that want to start it, one is refused.
        if self.progress(&ticket) != Some(ExecutionProgress::Ready) {
            return Err(self.not_awaited(ticket));
        }
        self.reopen_changed_items(seen);
        if let Some((branch, at)) = self.executed_branch(&ticket) {
            return Ok(self.move_branch(branch, at.attempt, ExecutionProgress::Started));
        }
        self.emit(RunEvent::Progressed { progress: ExecutionProgress::Started });
        Ok(NextMove::Wait)
    }

    fn start(
        &mut self,
        given: Map<String, Json>,
        context: Map<String, Json>,
        seed: u64,
    ) -> Result<NextMove, InputRefusal> {
        let main = &self.definition.main;
        let mut unfit = empty_params(&main.params, &given);
        let params = params(&main.params, given);
        unfit.extend(params.as_ref().err().cloned());
        InputRefusal::none_of(unfit)?;
        let params = params?;
        let (workflow, variables) = (main.name.clone(), defaults(&main.variables));
        self.emit(RunEvent::Began { workflow, params, variables, context, seed });
        Ok(NextMove::Enter(main.start.clone()))
    }

    /// Continues a run that stopped: the outermost step that it was at is entered again.
    fn reopen(&mut self, given: Map<String, Json>, note: Option<String>) -> Result<NextMove, InputRefusal> {
        self.emit(RunEvent::Resumed {});
        if let Some(note) = note {
            self.add_item(&PersonComment::for_next_step(note))?;
        }
        let above = self.run.frames.len().saturating_sub(1);
        if above > 0 {
            self.emit(RunEvent::Dropped { frames: above });
        }
        self.change_params(given)?;
        let (workflow, frame) = (self.workflow()?, self.frame()?);
        let last_part = StepGraph::of(workflow).last_part(workflow);
        let is_last =
            |id: &StepId| last_part.as_ref().is_some_and(|part| part.has(workflow.number(id).unwrap_or(1) - 1));
        // What was optional, or is done at every end, is not why it stopped.
        let needed = |id: &&StepId| workflow.step(id).is_some_and(|step| !step.optional && !is_last(&step.id));
        let step = match &frame.position {
            Some(position) if !is_last(&position.step) => Some(&position.step),
            _ => frame.waited.iter().rev().find(needed),
        };
        step.cloned().map(NextMove::Enter).ok_or(InputRefusal::NothingToRepeat)
    }

    /// Lets the run go on with other parameters; those that its workflow does not have are left out.
    fn change_params(&mut self, given: Map<String, Json>) -> Result<(), InputRefusal> {
        let declared = &self.definition.main.params;
        let Some(before) = self.run.frames.first().map(|frame| &frame.params) else {
            return Err(InputRefusal::NotStarted);
        };
        let mut changed = before.clone();
        changed.extend(given.into_iter().filter(|(name, _)| declared.iter().any(|known| known.name.as_str() == name)));
        if changed != *before {
            let params = params(declared, changed)?;
            self.emit(RunEvent::ParamsChanged { params });
        }
        Ok(())
    }

    /// Whether a ticket is one that is waited for.
    pub(super) fn expects(&self, ticket: &Ticket) -> Result<(), InputRefusal> {
        let current = super::pending_effects::tickets(&self.run);
        if current.contains(ticket) { Ok(()) } else { Err(InputRefusal::Ticket(current)) }
    }

    /// That a ticket waits for something else than it was given.
    pub(super) fn not_awaited(&self, ticket: Ticket) -> InputRefusal {
        let wanted = match self.run.position().map(|position| &position.wait) {
            Some(StepWait::Children(_)) if self.executed_branch(&ticket).is_some() => match self.progress(&ticket) {
                Some(ExecutionProgress::Unsure) => AwaitedInput::Answer,
                _ => AwaitedInput::Execution,
            },
            Some(StepWait::Agent | StepWait::Children(_)) => AwaitedInput::Report,
            Some(
                StepWait::Answer(_)
                | StepWait::Decision
                | StepWait::Command { progress: ExecutionProgress::Unsure, .. },
            ) => AwaitedInput::Answer,
            _ => AwaitedInput::Execution,
        };
        InputRefusal::NotAwaited(ticket, wanted)
    }

    fn progress(&self, ticket: &Ticket) -> Option<ExecutionProgress> {
        if let Some((_, at)) = self.executed_branch(ticket) {
            return Some(at.progress);
        }
        match self.run.position().map(|position| &position.wait) {
            Some(
                StepWait::Command { progress, .. }
                | StepWait::Listing(progress)
                | StepWait::Validating { progress, .. },
            ) => Some(*progress),
            _ => None,
        }
    }

    /// A command with an unknown result: it is repeated if that is safe, otherwise it waits for the user.
    fn lost(&mut self, ticket: &Ticket) -> Result<NextMove, InputRefusal> {
        let Some((_, position, _, step)) = self.run.current(self.definition) else {
            return Err(InputRefusal::OtherDefinition);
        };
        let wait = position.wait.clone();
        let repeatable = match (&step.work, &wait) {
            (StepWork::Command { effects, .. }, StepWait::Command { .. } | StepWait::Children(_)) => {
                effects.repeatable()
            }
            // Listing options and checking an answer change nothing.
            _ => true,
        };
        let progress = if repeatable { ExecutionProgress::Ready } else { ExecutionProgress::Unsure };
        if let Some((branch, at)) = self.executed_branch(ticket) {
            return Ok(self.move_branch(branch, at.attempt, progress));
        }
        Ok(self.wait(match wait {
            StepWait::Command { attempt, .. } => StepWait::Command { attempt, progress },
            StepWait::Validating { answer, asked, .. } => StepWait::Validating { answer, asked, progress },
            _ => StepWait::Listing(progress),
        }))
    }

    fn consent(&mut self, ticket: &Ticket, choice: RecoveryChoice) -> Result<NextMove, InputRefusal> {
        let Some((_, position, _, step)) = self.run.current(self.definition) else {
            return Err(InputRefusal::OtherDefinition);
        };
        let attempt = match &position.wait {
            StepWait::Command { attempt, .. } => *attempt,
            _ => 1,
        };
        match (choice, self.executed_branch(ticket)) {
            (RecoveryChoice::Again, Some((branch, at))) => {
                return Ok(self.move_branch(branch, at.attempt, ExecutionProgress::Ready));
            }
            (RecoveryChoice::Done, Some((branch, _))) => {
                return self.accept_branch(step, branch, StepOutcome::OK, Map::new());
            }
            _ => {}
        }
        match choice {
            RecoveryChoice::Again => Ok(self.wait(StepWait::Command { attempt, progress: ExecutionProgress::Ready })),
            RecoveryChoice::Done => {
                let reason = "the user confirmed that it is done".to_owned();
                self.accept_output(step, StepOutcome::OK, None, Some(reason))
            }
            RecoveryChoice::Abort => {
                let message = format!("the user gave up at `{}`", step.id);
                self.emit_left(step, StepOutcome::CANCELLED);
                let below = self.run.frames.len() - 1;
                if below > 0 {
                    self.emit(RunEvent::Dropped { frames: below });
                }
                Ok(NextMove::End(EndStatus::Failure, Some(message)))
            }
        }
    }

    /// The step in front is left as failed, whatever routes it has: nothing that may be reported of it was accepted.
    fn abandon(&mut self, reason: &str) -> Result<NextMove, InputRefusal> {
        let Some((_, _, _, step)) = self.run.current(self.definition) else {
            return Err(InputRefusal::OtherDefinition);
        };
        self.emit_left(step, StepOutcome::FAIL);
        Ok(NextMove::End(EndStatus::Failure, Some(format!("stopped at `{}`: {reason}", step.id))))
    }

    /// The outermost step whose time is up is left; what it called is given up.
    fn elapsed(&mut self) -> Result<NextMove, InputRefusal> {
        let now = self.now;
        let (definition, is_canceling) = (self.definition, self.run.is_canceling);
        let first_due = |run: &Run| {
            // Of what is being canceled only the last part counts.
            let from = run.frames.iter().position(|frame| frame.ending.is_some()).filter(|_| is_canceling);
            let mut frames = run.frames.iter().enumerate().skip(from.unwrap_or_default());
            frames.find(|(_, frame)| until(definition, frame).is_some_and(|at| at <= now)).map(|(index, _)| index)
        };
        self.show_branch(&|run| first_due(run).is_some());
        let Some(index) = first_due(&self.run) else { return Ok(NextMove::Wait) };
        let above = self.run.frames.len() - index - 1;
        if above > 0 {
            self.emit(RunEvent::Dropped { frames: above });
        }
        let Some((_, position, _, step)) = self.run.current(self.definition) else {
            return Err(InputRefusal::OtherDefinition);
        };
        if let StepWait::Children(children) = position.wait.clone() {
            // What some of them found is not lost because others took too long.
            self.keep_results(step, &children);
        }
        Ok(NextMove::Leave(step.id.clone(), StepOutcome::TIMEOUT))
    }

    fn answer(&mut self, ticket: &Ticket, answer: UserAnswer, by: AnswerAuthor) -> Result<NextMove, InputRefusal> {
        let Some((_, position, _, step)) = self.run.current(self.definition) else {
            return Err(InputRefusal::OtherDefinition);
        };
        let wait = position.wait.clone();
        let said = match &answer {
            UserAnswer::Value(value) => Some(ellipsize(&value_text(value), MAX_LOGGED_ANSWER)),
            UserAnswer::Declined | UserAnswer::Cancelled => None,
        };
        self.emit(RunEvent::Answered { step: step.id.clone(), by, answer: said });
        match (&wait, &step.work) {
            (StepWait::Answer(asked), StepWork::Question(question)) => {
                self.accept_answer(step, question, asked.clone(), answer)
            }
            (StepWait::Decision, StepWork::Gate(gate)) => self.accept_decision(step, gate, &answer, by),
            _ if self.progress(ticket) == Some(ExecutionProgress::Unsure) => {
                let possible = RecoveryChoice::ALL.map(|choice| StepOutcome::new(choice.as_str())).to_vec();
                let said = match &answer {
                    UserAnswer::Value(value) => {
                        let word = option(&RecoveryChoice::ALL.map(RecoveryChoice::as_str), &value_text(value))
                            .map(str::to_owned);
                        RecoveryChoice::ALL.into_iter().find(|choice| Some(choice.as_str()) == word.as_deref())
                    }
                    UserAnswer::Declined | UserAnswer::Cancelled => None,
                };
                self.consent(ticket, said.ok_or(InputRefusal::Outcome(possible))?)
            }
            _ => Err(self.not_awaited(ticket.clone())),
        }
    }
}

/// When the time of the step a frame is at is up, if anything is to happen then.
fn until(definition: &RunDefinition, frame: &CallFrame) -> Option<i64> {
    let position = frame.position.as_ref().filter(|position| !is_running(&position.wait))?;
    let timeout = definition.workflow(&frame.workflow)?.step(&position.step)?.timeout?;
    Some(position.entered.saturating_add(i64::from(timeout) * 1000))
}

/// When to check whether time ran out, if ever.
pub fn deadline(definition: &RunDefinition, run: &Run) -> Option<i64> {
    if run.status != RunStatus::Active {
        return None;
    }
    let from = run.frames.iter().position(|frame| frame.ending.is_some()).filter(|_| run.is_canceling);
    let frames =
        if from.is_some() { run.frames.iter().skip(from.unwrap_or_default()).collect() } else { run.all_frames() };
    frames.into_iter().filter_map(|frame| until(definition, frame)).min()
}

/// Whether a command is at work: its own time limit ends it, and it says so.
fn is_running(wait: &StepWait) -> bool {
    if let StepWait::Children(children) = wait {
        return children.iter().any(super::DispatchChild::is_started);
    }
    matches!(
        wait,
        StepWait::Command { progress: ExecutionProgress::Started | ExecutionProgress::Unsure, .. }
            | StepWait::Listing(ExecutionProgress::Started)
            | StepWait::Validating { progress: ExecutionProgress::Started, .. }
    )
}
