//! Branches of a command or a call that goes through a list, and what comes of them.

use serde_json::{Map, Value as Json, json};

use super::transition::{NextMove, Transition};
use super::{
    BranchCall, BranchExecution, CommandExit, DispatchChild, ERROR, ExecutionProgress, InputRefusal, RunEvent,
    StepWait, Ticket, command_spec,
};
use crate::excerpt::ellipsize;
use crate::workflow::definition::{BranchItems, StepBranches, StepWork, WorkflowStep};
use crate::workflow::name::StepOutcome;
use crate::workflow::value_type::value_text;

/// The name under which a step with several results keeps them.
const RESULTS: &str = "results";
/// The name of what the command of a branch printed.
const OUTPUT: &str = "output";
/// How many branches a step may have.
const MOST: usize = 500;
/// How much of an item is its id.
const ID: usize = 80;

/// What is known in a branch beside the declared names.
pub(super) fn branch_locals(child: &DispatchChild) -> Map<String, Json> {
    Map::from_iter([("item".to_owned(), child.items.first().cloned().unwrap_or(Json::Null))])
}

/// What a branch or a sub-agent resulted in, with who it was and how it ended.
fn result_entry(child: &DispatchChild) -> Json {
    let item = child.items.first().unwrap_or(&Json::Null);
    let id = match (item.get("id"), item) {
        (Some(id @ (Json::String(_) | Json::Number(_))), _) => value_text(id),
        (_, Json::String(_) | Json::Number(_)) => ellipsize(&value_text(item), ID),
        _ => child.name.clone(),
    };
    let mut entry = child.result.clone();
    entry.entry("id").or_insert_with(|| Json::String(id));
    let outcome = child.outcome.as_ref().map(|outcome| Json::String(outcome.to_string()));
    entry.entry("outcome").or_insert_with(|| outcome.unwrap_or(Json::Null));
    Json::Object(entry)
}

impl<'d> Transition<'d> {
    /// Begins a step that goes through a list.
    pub(super) fn begin_branches(
        &mut self,
        step: &'d WorkflowStep,
        branches: &StepBranches,
    ) -> Result<NextMove, InputRefusal> {
        let items = self.branch_items(branches)?;
        if items.len() > MOST {
            let reason = format!("there are {} items, and a step has at most {MOST} branches", items.len());
            return self.accept_output(step, StepOutcome::FAIL, None, Some(reason));
        }
        let ready = BranchExecution { attempt: 1, progress: ExecutionProgress::Ready };
        let execution = matches!(step.work, StepWork::Command { .. }).then_some(ready);
        let child = |(index, item)| DispatchChild { execution, ..DispatchChild::new(index, vec![item]) };
        let children: Vec<DispatchChild> = items.into_iter().enumerate().map(child).collect();
        if children.is_empty() {
            return self.end_branches(step, &[]);
        }
        self.emit(RunEvent::Waiting { wait: StepWait::Children(children) });
        self.continue_branches(step)
    }

    fn branch_items(&self, branches: &StepBranches) -> Result<Vec<Json>, InputRefusal> {
        match &branches.items {
            BranchItems::List(reference, _) => match self.scope()?.get(reference).into_owned() {
                Json::Array(items) => Ok(items),
                _ => Ok(Vec::new()),
            },
            BranchItems::Fixed(items) => items.iter().map(|item| self.assigned(item)).collect(),
        }
    }

    /// The branches of the current step.
    fn children(&self) -> Result<&[DispatchChild], InputRefusal> {
        match self.run.position().map(|position| &position.wait) {
            Some(StepWait::Children(children)) => Ok(children),
            _ => Err(InputRefusal::OtherDefinition),
        }
    }

    /// Does what is next in the branches of a step: waits for commands or sub-agents, or calls a workflow once more.
    pub(super) fn continue_branches(&mut self, step: &'d WorkflowStep) -> Result<NextMove, InputRefusal> {
        self.end_impossible_branches(step)?;
        let children = self.children()?;
        if children.iter().all(|child| child.outcome.is_some()) {
            let children = children.to_vec();
            return self.end_branches(step, &children);
        }
        let called = children.iter().filter(|child| child.is_in_call()).count();
        let together = step.branches.as_ref().map_or(1, |branches| branches.max_parallel);
        match (&step.work, children.iter().position(DispatchChild::is_callable)) {
            (StepWork::Call(call), Some(next)) if called < together => self.call(step, call, Some(next)),
            _ => Ok(NextMove::Wait),
        }
    }

    /// Ends the branches whose command cannot be built from their items.
    fn end_impossible_branches(&mut self, step: &WorkflowStep) -> Result<(), InputRefusal> {
        let StepWork::Command { action, setting, .. } = &step.work else { return Ok(()) };
        let mut impossible = Vec::new();
        for (index, child) in self.children()?.iter().enumerate().filter(|(_, child)| child.outcome.is_none()) {
            let locals = branch_locals(child);
            let scope = self.scope()?.with(&locals);
            let built = command_spec::build_command(action, &scope, self.workflow()?);
            if let Err(reason) = built.and_then(|_| command_spec::build_context(setting, &scope)) {
                impossible.push((index, reason));
            }
        }
        for (index, reason) in impossible {
            self.end_branch(index, StepOutcome::FAIL, failed(&reason));
        }
        Ok(())
    }

    /// Records the end of one branch.
    pub(super) fn end_branch(&mut self, index: usize, outcome: StepOutcome, result: Map<String, Json>) {
        self.emit(RunEvent::ChildEnded { child: index, outcome, result });
    }

    /// The branch whose command has this ticket.
    pub(super) fn executed_branch(&self, ticket: &Ticket) -> Option<(usize, BranchExecution)> {
        let own = |(index, child): (usize, &DispatchChild)| {
            let execution = child.execution.filter(|_| child.outcome.is_none())?;
            (self.run.child_ticket(index, child).as_ref() == Some(ticket)).then_some((index, execution))
        };
        self.children().ok()?.iter().enumerate().find_map(own)
    }

    /// Records how far the command of a branch is.
    pub(super) fn move_branch(&mut self, child: usize, attempt: u32, progress: ExecutionProgress) -> NextMove {
        self.emit(RunEvent::BranchMoved { child, execution: BranchExecution { attempt, progress } });
        NextMove::Wait
    }

    /// The command of a branch came to its end.
    pub(super) fn finish_branch(
        &mut self,
        index: usize,
        attempt: u32,
        finish: CommandExit,
    ) -> Result<NextMove, InputRefusal> {
        let Some((.., step)) = self.run.current(self.definition) else { return Err(InputRefusal::OtherDefinition) };
        let StepWork::Command { parse, retry, .. } = &step.work else { return Err(InputRefusal::OtherDefinition) };
        let (outcome, result) = match super::command_result::printed(*parse, finish) {
            Ok(output) => (StepOutcome::OK, Map::from_iter([(OUTPUT.to_owned(), output)])),
            Err(_) if attempt <= retry.max => {
                return Ok(self.move_branch(index, attempt + 1, ExecutionProgress::Ready));
            }
            Err(reason) => (StepOutcome::FAIL, failed(&reason)),
        };
        self.accept_branch(step, index, outcome, result)
    }

    /// Records how a branch ended, with why it failed, and goes on with the others.
    pub(super) fn accept_branch(
        &mut self,
        step: &'d WorkflowStep,
        index: usize,
        outcome: StepOutcome,
        result: Map<String, Json>,
    ) -> Result<NextMove, InputRefusal> {
        if let Some(reason) = result.get(ERROR).and_then(Json::as_str).filter(|_| outcome != StepOutcome::OK) {
            let reason = Some(format!("branch {}: {reason}", self.children()?[index].name));
            self.emit(RunEvent::Executed { step: step.id.clone(), outcome: outcome.clone(), code: None, reason });
        }
        self.end_branch(index, outcome, result);
        self.continue_branches(step)
    }

    /// The workflow that a branch called came to its end; without a branch, the one in front.
    pub(super) fn branch_returned(
        &mut self,
        step: &'d WorkflowStep,
        branch: Option<usize>,
        outcome: StepOutcome,
        message: Option<String>,
        outputs: Map<String, Json>,
    ) -> Result<NextMove, InputRefusal> {
        let children = self.children()?;
        let in_front = || children.iter().position(|child| child.call == Some(BranchCall::InFront));
        // In a state of before, the branch in front is not marked.
        let open = || children.iter().position(|child| child.outcome.is_none());
        let branch = branch.or_else(in_front).or_else(open);
        let mut result = outputs;
        if let Some(message) = message.filter(|_| outcome != StepOutcome::OK) {
            result.entry(ERROR).or_insert(Json::String(message));
        }
        self.accept_branch(step, branch.ok_or(InputRefusal::OtherDefinition)?, outcome, result)
    }

    /// Keeps what branches or sub-agents resulted in.
    pub(super) fn keep_results(&mut self, step: &WorkflowStep, children: &[DispatchChild]) {
        let results: Json = children.iter().map(result_entry).collect();
        let result = Map::from_iter([(RESULTS.to_owned(), results)]);
        self.emit(RunEvent::Resulted { step: step.id.clone(), result });
    }

    /// Leaves a step whose branches have all ended.
    fn end_branches(&mut self, step: &'d WorkflowStep, children: &[DispatchChild]) -> Result<NextMove, InputRefusal> {
        self.keep_results(step, children);
        let mut outcome = joint_outcome(children);
        if let Some((name, _)) = &step.store
            && let Some(variable) = self.workflow()?.variable(name)
        {
            match variable.admit(children.iter().map(result_entry).collect()) {
                Ok(value) => self.emit(RunEvent::Set { name: name.clone(), value }),
                Err(unfit) => {
                    let reason = Some(format!("`{name}`: {unfit}"));
                    outcome = StepOutcome::FAIL;
                    self.emit(RunEvent::Executed {
                        step: step.id.clone(),
                        outcome: outcome.clone(),
                        code: None,
                        reason,
                    });
                }
            }
        }
        self.record_check(step, &outcome)?;
        Ok(NextMove::Leave(step.id.clone(), outcome))
    }
}

/// What several together ended with.
pub(super) fn joint_outcome(children: &[DispatchChild]) -> StepOutcome {
    let well = children.iter().filter(|child| child.outcome.as_ref() == Some(&StepOutcome::OK)).count();
    match well {
        all if all == children.len() => StepOutcome::OK,
        0 => StepOutcome::FAIL,
        _ => StepOutcome::PARTIAL,
    }
}

fn failed(reason: &str) -> Map<String, Json> {
    Map::from_iter([(ERROR.to_owned(), json!(reason))])
}
