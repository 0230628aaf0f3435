//! The decision on an input: events, or a refusal that changes nothing.

use super::question::option;
use super::ticket::fingerprint;
use super::walk::{Move, Walk, defaults, params};
use super::{Answer, Choice, Definition, Frame, Input, Progress, Refusal, Run, RunEvent, Status, Ticket, Wait, Wanted};
use crate::workflow::definition::{EndStatus, Work};
use crate::workflow::name::Outcome;
use crate::workflow::value::in_text;

/// What follows from an input.
pub fn decide(definition: &Definition, run: &Run, input: Input) -> Result<Vec<RunEvent>, Refusal> {
    if let Some((ticket, print)) = words(&input)
        && run.heard.contains(&(ticket.clone(), print))
    {
        return Ok(Vec::new());
    }
    allowed(run, &input)?;
    let mut walk = Walk { definition, run: run.clone(), events: Vec::new(), now: 0 };
    walk.input(input)?;
    Ok(walk.events)
}

/// Whether a run in this status takes such an input at all.
fn allowed(run: &Run, input: &Input) -> Result<(), Refusal> {
    // A command that runs when the run is paused still comes to its end.
    let even_paused = matches!(input, Input::Resume | Input::Cancel | Input::Finished { .. } | Input::Lost { .. });
    match (&run.status, input) {
        (Status::New, input) if !matches!(input, Input::Start { .. }) => Err(Refusal::NotStarted),
        (Status::Ended(_) | Status::Cancelled, _) => Err(Refusal::Over),
        (Status::Paused | Status::Active, Input::Start { .. }) => Err(Refusal::AlreadyStarted),
        (Status::Paused, _) if !even_paused => Err(Refusal::Paused),
        (Status::Active, Input::Resume) => Err(Refusal::NotPaused),
        (Status::New | Status::Paused | Status::Active, _) => Ok(()),
    }
}

/// The ticket of an input that may be sent twice, and what tells its content apart.
pub(super) fn words(input: &Input) -> Option<(Ticket, u64)> {
    let (ticket, text) = match input {
        Input::Report { ticket, outcome, set, result, .. } => {
            let set = serde_json::to_string(set).unwrap_or_default();
            let result = serde_json::to_string(result).unwrap_or_default();
            (ticket, format!("report {outcome:?} {set} {result}"))
        }
        Input::Walked { ticket, outcome, .. } => (ticket, format!("walked {outcome}")),
        Input::Answer { ticket, answer, .. } => (ticket, format!("answer {answer:?}")),
        Input::Finished { ticket, finish, .. } => (ticket, format!("finished {finish:?}")),
        Input::Consent { ticket, choice, .. } => (ticket, format!("consent {choice:?}")),
        _ => return None,
    };
    Some((ticket.clone(), fingerprint(&text)))
}

impl Walk<'_> {
    fn input(&mut self, input: Input) -> Result<(), Refusal> {
        if let Some((ticket, print)) = words(&input) {
            self.expects(&ticket)?;
            self.emit(RunEvent::Heard { ticket, fingerprint: print });
        }
        let next = match input {
            Input::Start { params: given, context, seed, now } => {
                self.now = now;
                let main = &self.definition.main;
                let params = params(&main.params, given)?;
                let (workflow, variables) = (main.name.clone(), defaults(&main.variables));
                self.emit(RunEvent::Began { workflow, params, variables, context, seed });
                Move::Enter(main.start.clone())
            }
            Input::Report { ticket, outcome, set, result, seen, now } => {
                self.now = now;
                self.report(&ticket, outcome, set, result, &seen)?
            }
            Input::Walked { ticket, outcome, result, now } => {
                self.now = now;
                self.walked(&ticket, outcome, result)?
            }
            Input::Answer { ticket, answer, now } => {
                self.now = now;
                self.answer(&ticket, answer)?
            }
            Input::Started { ticket, now } => {
                self.now = now;
                self.expects(&ticket)?;
                // Of two executors that want to start it, one is refused.
                if self.progress() != Some(Progress::Ready) {
                    return Err(self.not_awaited(ticket));
                }
                self.emit(RunEvent::Progressed { progress: Progress::Started });
                Move::Wait
            }
            Input::Finished { ticket, finish, now } => {
                self.now = now;
                if self.progress() != Some(Progress::Started) {
                    return Err(self.not_awaited(ticket));
                }
                self.finished(finish)?
            }
            Input::Lost { ticket, now } => {
                self.now = now;
                self.expects(&ticket)?;
                if self.progress() != Some(Progress::Started) {
                    return Err(self.not_awaited(ticket));
                }
                self.lost()?
            }
            Input::Consent { ticket, choice, now } => {
                self.now = now;
                if self.progress() != Some(Progress::Unsure) {
                    return Err(self.not_awaited(ticket));
                }
                self.consent(choice)?
            }
            Input::Elapsed { now } => {
                self.now = now;
                self.elapsed()?
            }
            Input::Pause => {
                self.emit(RunEvent::Paused {});
                Move::Wait
            }
            Input::Resume => {
                self.emit(RunEvent::Resumed {});
                Move::Wait
            }
            Input::Cancel => {
                self.emit(RunEvent::Cancelled {});
                Move::Wait
            }
        };
        self.go(next)
    }

    /// Whether a ticket is one that is waited for.
    pub(super) fn expects(&self, ticket: &Ticket) -> Result<(), Refusal> {
        let current = super::pending::tickets(&self.run);
        if current.contains(ticket) { Ok(()) } else { Err(Refusal::Ticket(current)) }
    }

    /// That a ticket waits for something else than it was given.
    pub(super) fn not_awaited(&self, ticket: Ticket) -> Refusal {
        let wanted = match self.run.position().map(|position| &position.wait) {
            Some(Wait::Agent | Wait::Children(_)) => Wanted::Report,
            Some(Wait::Answer(_) | Wait::Decision | Wait::Command { progress: Progress::Unsure, .. }) => Wanted::Answer,
            _ => Wanted::Execution,
        };
        Refusal::NotAwaited(ticket, wanted)
    }

    fn progress(&self) -> Option<Progress> {
        match self.run.position().map(|position| &position.wait) {
            Some(Wait::Command { progress, .. } | Wait::Listing(progress) | Wait::Validating { progress, .. }) => {
                Some(*progress)
            }
            _ => None,
        }
    }

    /// A command with an unknown result: it is repeated if that is safe, otherwise it waits for the user.
    fn lost(&mut self) -> Result<Move, Refusal> {
        let Some((_, position, _, step)) = self.run.current(self.definition) else {
            return Err(Refusal::OtherDefinition);
        };
        let wait = position.wait.clone();
        let repeatable = match (&step.work, &wait) {
            (Work::Command { effects, .. }, Wait::Command { .. }) => effects.repeatable(),
            // Listing options and checking an answer change nothing.
            _ => true,
        };
        let progress = if repeatable { Progress::Ready } else { Progress::Unsure };
        Ok(self.wait(match wait {
            Wait::Command { attempt, .. } => Wait::Command { attempt, progress },
            Wait::Validating { answer, asked, .. } => Wait::Validating { answer, asked, progress },
            _ => Wait::Listing(progress),
        }))
    }

    fn consent(&mut self, choice: Choice) -> Result<Move, Refusal> {
        let Some((_, position, _, step)) = self.run.current(self.definition) else {
            return Err(Refusal::OtherDefinition);
        };
        let attempt = match &position.wait {
            Wait::Command { attempt, .. } => *attempt,
            _ => 1,
        };
        match choice {
            Choice::Again => Ok(self.wait(Wait::Command { attempt, progress: Progress::Ready })),
            Choice::Done => {
                let reason = "the user confirmed that it is done".to_owned();
                self.executed(step, Outcome::OK, None, Some(reason))
            }
            Choice::Abort => {
                let message = format!("the user gave up at `{}`", step.id);
                self.emit_left(step, Outcome::CANCELLED);
                let below = self.run.frames.len() - 1;
                if below > 0 {
                    self.emit(RunEvent::Dropped { frames: below });
                }
                Ok(Move::End(EndStatus::Failure, Some(message)))
            }
        }
    }

    /// The outermost step whose time is up is left; what it called is given up.
    fn elapsed(&mut self) -> Result<Move, Refusal> {
        let now = self.now;
        let frames = self.run.frames.iter();
        let over =
            frames.map(|frame| until(self.definition, frame)).position(|until| until.is_some_and(|at| at <= now));
        let Some(index) = over else { return Ok(Move::Wait) };
        let above = self.run.frames.len() - index - 1;
        if above > 0 {
            self.emit(RunEvent::Dropped { frames: above });
        }
        let position = self.run.position().ok_or(Refusal::OtherDefinition)?;
        Ok(Move::Leave(position.step.clone(), Outcome::TIMEOUT))
    }

    fn answer(&mut self, ticket: &Ticket, answer: Answer) -> Result<Move, Refusal> {
        let Some((_, position, _, step)) = self.run.current(self.definition) else {
            return Err(Refusal::OtherDefinition);
        };
        match (&position.wait, &step.work) {
            (Wait::Answer(asked), Work::Question(question)) => self.answered(step, question, asked.clone(), answer),
            (Wait::Decision, Work::Gate(gate)) => self.decided(step, gate, &answer),
            (Wait::Command { progress: Progress::Unsure, .. }, _) => {
                let possible = Choice::ALL.map(|choice| Outcome::new(choice.word())).to_vec();
                let said = match &answer {
                    Answer::Value(value) => {
                        let word = option(&Choice::ALL.map(Choice::word), &in_text(value)).map(str::to_owned);
                        Choice::ALL.into_iter().find(|choice| Some(choice.word()) == word.as_deref())
                    }
                    Answer::Declined | Answer::Cancelled => None,
                };
                self.consent(said.ok_or(Refusal::Outcome(possible))?)
            }
            _ => Err(self.not_awaited(ticket.clone())),
        }
    }
}

/// When the time of the step a frame is at is up, if anything is to happen then.
fn until(definition: &Definition, frame: &Frame) -> Option<i64> {
    let position = frame.position.as_ref().filter(|position| !is_running(&position.wait))?;
    let timeout = definition.workflow(&frame.workflow)?.step(&position.step)?.timeout?;
    Some(position.entered.saturating_add(i64::from(timeout) * 1000))
}

/// When to check whether time ran out, if ever.
pub fn deadline(definition: &Definition, run: &Run) -> Option<i64> {
    let frames = run.frames.iter().filter(|_| run.status == Status::Active);
    frames.filter_map(|frame| until(definition, frame)).min()
}

/// Whether a command is at work: its own time limit ends it, and it says so.
fn is_running(wait: &Wait) -> bool {
    matches!(
        wait,
        Wait::Command { progress: Progress::Started | Progress::Unsure, .. }
            | Wait::Listing(Progress::Started)
            | Wait::Validating { progress: Progress::Started, .. }
    )
}
