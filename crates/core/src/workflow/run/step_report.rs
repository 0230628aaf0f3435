//! Reports of agents and sub-agents, and what follows from them.

use serde_json::{Map, Value as Json};

use super::branches::joint_outcome;
use super::transition::{NextMove, Transition};
use super::{DispatchChild, FileState, InputRefusal, RunEvent, StepWait, Ticket, review_items};
use crate::workflow::definition::{AgentStep, ReviewStage, StepWork, SubagentTask, WorkflowStep};
use crate::workflow::name::StepOutcome;
use crate::workflow::value_type::{InvalidValue, admit_fields};

/// How many bytes a report's result may have, and what results that add up may come to.
const MAX_RESULT: usize = 256 * 1024;

/// The name by which a failed sub-agent's result says why.
pub const FAILURE: &str = "reason";

fn check_size(result: &Map<String, Json>) -> Result<(), InputRefusal> {
    let size = serde_json::to_string(result).map_or(usize::MAX, |text| text.len());
    if size <= MAX_RESULT {
        return Ok(());
    }
    Err(InputRefusal::Result(InvalidValue(format!(
        "it has {size} bytes, and {MAX_RESULT} are allowed; write to a file and name it"
    ))))
}

/// The field in which reviews say what must be fixed.
const FINDINGS: &str = "findings";

fn declares_findings(agent: &AgentStep) -> bool {
    agent.result.iter().any(|field| field.name.as_str() == FINDINGS)
}

impl<'d> Transition<'d> {
    pub(super) fn accept_report(
        &mut self,
        ticket: &Ticket,
        outcome: Option<StepOutcome>,
        set: Map<String, Json>,
        result: Map<String, Json>,
        seen: &FileState,
    ) -> Result<NextMove, InputRefusal> {
        let Some((_, position, _, step)) = self.run.current(self.definition) else {
            return Err(InputRefusal::OtherDefinition);
        };
        check_size(&result)?;
        match (position.wait.clone(), &step.work) {
            (StepWait::Agent, StepWork::Agent(agent)) => {
                let unfit = self.set_variables(step, set)?;
                self.agent(step, agent, outcome, result, seen, unfit)
            }
            (StepWait::Children(children), StepWork::Dispatch(dispatch)) => {
                let index = self.index(&children, ticket)?;
                if let (SubagentTask::Call(workflow, _), false) = (&dispatch.task, outcome == Some(StepOutcome::FAIL)) {
                    return Err(InputRefusal::HasOwnRun(workflow.clone()));
                }
                if !set.is_empty() {
                    // Children run beside each other: what one sets another would undo.
                    let reason = InvalidValue("a sub-agent sets no variables; put it into the result".into());
                    return Err(InputRefusal::Value { name: set.keys().next().cloned().unwrap_or_default(), reason });
                }
                self.child(step, &children, index, outcome, result, seen)
            }
            _ => Err(self.not_awaited(ticket.clone())),
        }
    }

    /// The walk of a sub-agent came to its end.
    pub(super) fn accept_child_run(
        &mut self,
        ticket: &Ticket,
        outcome: StepOutcome,
        result: Map<String, Json>,
        seen: &FileState,
    ) -> Result<NextMove, InputRefusal> {
        let Some((_, position, _, step)) = self.run.current(self.definition) else {
            return Err(InputRefusal::OtherDefinition);
        };
        check_size(&result)?;
        let StepWait::Children(children) = position.wait.clone() else { return Err(self.not_awaited(ticket.clone())) };
        let index = self.index(&children, ticket)?;
        self.child(step, &children, index, Some(outcome), result, seen)
    }

    /// The place of the sub-agent whose ticket this is.
    fn index(&self, children: &[DispatchChild], ticket: &Ticket) -> Result<usize, InputRefusal> {
        let own =
            |(index, child): (usize, &DispatchChild)| self.run.child_ticket(index, child).as_ref() == Some(ticket);
        children.iter().enumerate().position(own).ok_or_else(|| self.not_awaited(ticket.clone()))
    }

    /// Writes what a report sets, and returns what it may not: what the user answered, a command printed, another step
    /// reports or the workflow sets is not this step's.
    fn set_variables(
        &mut self,
        step: &WorkflowStep,
        set: Map<String, Json>,
    ) -> Result<Vec<InputRefusal>, InputRefusal> {
        let mut unfit = Vec::new();
        for (key, value) in set {
            let workflow = self.workflow()?;
            let variable = workflow.variables.iter().find(|variable| variable.name.as_str() == key);
            let admitted = match variable {
                None => Err(InvalidValue("there is no such variable".into())),
                Some(variable) => match workflow.owner(&variable.name).filter(|_| !step.declares(&variable.name)) {
                    Some(owner) => Err(InvalidValue(owner.refusal().to_owned())),
                    None => variable.admit(value).map(|value| (variable.name.clone(), value)),
                },
            };
            match admitted {
                Ok((name, value)) => self.emit(RunEvent::Set { name, value }),
                Err(reason) => unfit.push(InputRefusal::Value { name: key, reason }),
            }
        }
        Ok(unfit)
    }

    fn agent(
        &mut self,
        step: &'d WorkflowStep,
        agent: &'d AgentStep,
        outcome: Option<StepOutcome>,
        mut result: Map<String, Json>,
        seen: &FileState,
        mut unfit: Vec<InputRefusal>,
    ) -> Result<NextMove, InputRefusal> {
        let derived = !agent.outcome_from.is_empty();
        // Where the outcome follows from the result it need not be said, and `ok` only says that there is one.
        let said = outcome.unwrap_or(StepOutcome::OK);
        let possible = agent.outcomes.contains(&said) || (derived && said == StepOutcome::OK);
        if !possible {
            unfit.push(InputRefusal::Outcome(agent.outcomes.clone()));
        }
        // A failed step needs no result.
        let nothing_said = !derived && said != StepOutcome::OK && result.is_empty();
        let fixes = step.work.review().is_some_and(|part| part.part == ReviewStage::Fix) && said != StepOutcome::FAIL;
        // Names the other mistakes as well; an impossible outcome says nothing about a result that is not there.
        if !unfit.is_empty() && (!result.is_empty() || (possible && !nothing_said)) {
            unfit.extend(self.take_result(step, agent, result.clone(), seen).err());
        }
        InputRefusal::none_of(unfit)?;
        if !nothing_said || fixes {
            self.review_part(step, &mut result, seen, None)?;
        }
        let open = self.run.open_items().map(|item| format!("- {}", item.describe())).collect::<Vec<_>>();
        let is_commented = super::reviews(step) && !open.is_empty() && declares_findings(agent);
        if is_commented {
            // A person's words are findings, whatever the reviewer says.
            let found = result.get(FINDINGS).and_then(Json::as_str).unwrap_or_default();
            let all = [found.trim(), &open.join("\n")].join("\n");
            result.insert(FINDINGS.to_owned(), Json::String(all.trim().to_owned()));
        }
        if !nothing_said || is_commented {
            self.keep_result(step, agent, result)?;
        }
        let outcome = if derived { self.derived(step, agent)? } else { said };
        let outcome = self.with_items(step, outcome);
        Ok(NextMove::Leave(step.id.clone(), outcome))
    }

    /// Takes what a report says to a review, and keeps the rest.
    fn take_result(
        &mut self,
        step: &WorkflowStep,
        agent: &AgentStep,
        mut result: Map<String, Json>,
        seen: &FileState,
    ) -> Result<(), InputRefusal> {
        self.review_part(step, &mut result, seen, None)?;
        self.keep_result(step, agent, result)
    }

    fn keep_result(
        &mut self,
        step: &WorkflowStep,
        agent: &AgentStep,
        result: Map<String, Json>,
    ) -> Result<(), InputRefusal> {
        if agent.result.is_empty() {
            return match result.keys().next() {
                None => Ok(()),
                Some(unknown) => Err(InputRefusal::Result(InvalidValue(format!("`{unknown}` is not declared")))),
            };
        }
        let mut result = admit_fields(&agent.result, result).map_err(InputRefusal::Result)?;
        let before = self.frame()?.results.get(&step.id).cloned().unwrap_or_default();
        for field in &agent.result {
            let key = field.name.as_str();
            if field.append
                && let (Some(Json::Array(old)), Some(Json::Array(new))) = (before.get(key), result.get_mut(key))
            {
                new.splice(0..0, old.iter().cloned());
            }
            if let Some(variable) = self.workflow()?.variable(&field.name) {
                let value = result.get(key).cloned().unwrap_or(Json::Null);
                let refuse = |reason| InputRefusal::Value { name: key.to_owned(), reason };
                let value = variable.kind.admit(value, variable.max_length.max(field.max_length)).map_err(refuse)?;
                let value = variable
                    .limits
                    .check(value)
                    .map_err(|reason| InputRefusal::Value { name: key.to_owned(), reason })?;
                self.emit(RunEvent::Set { name: field.name.clone(), value });
            }
        }
        check_size(&result)?;
        self.emit(RunEvent::Resulted { step: step.id.clone(), result });
        Ok(())
    }

    /// The outcome that follows from the result.
    fn derived(&self, step: &WorkflowStep, agent: &AgentStep) -> Result<StepOutcome, InputRefusal> {
        let result = self.frame()?.results.get(&step.id).cloned().unwrap_or_default();
        let locals = Map::from_iter([("result".to_owned(), Json::Object(result))]);
        let scope = self.scope()?.with(&locals);
        let rule = agent.outcome_from.iter().find(|rule| match &rule.when {
            Some(when) => when.value.holds(&|reference| scope.get(reference)),
            None => true,
        });
        rule.map(|rule| rule.outcome.clone()).ok_or(InputRefusal::OtherDefinition)
    }

    fn child(
        &mut self,
        step: &'d WorkflowStep,
        children: &[DispatchChild],
        index: usize,
        outcome: Option<StepOutcome>,
        mut result: Map<String, Json>,
        seen: &FileState,
    ) -> Result<NextMove, InputRefusal> {
        let outcome = outcome.unwrap_or(StepOutcome::OK);
        if outcome != StepOutcome::OK && outcome != StepOutcome::FAIL {
            return Err(InputRefusal::Outcome(vec![StepOutcome::OK, StepOutcome::FAIL]));
        }
        if outcome == StepOutcome::OK || result.contains_key("items") {
            self.review_part(step, &mut result, seen, Some(&children[index]))?;
        }
        let declared = match &step.work {
            StepWork::Dispatch(dispatch) => dispatch.result_of(index),
            _ => &[],
        };
        if outcome == StepOutcome::OK && !declared.is_empty() {
            result = admit_fields(declared, result).map_err(InputRefusal::Result)?;
        }
        if let Some(reason) = result.get(FAILURE).and_then(Json::as_str).filter(|_| outcome == StepOutcome::FAIL) {
            let reason = Some(format!("sub-agent {}: {reason}", children[index].name));
            self.emit(RunEvent::Executed { step: step.id.clone(), outcome: outcome.clone(), code: None, reason });
        }
        self.emit(RunEvent::ChildEnded { child: index, outcome, result });
        let Some(StepWait::Children(children)) = self.run.position().map(|position| &position.wait) else {
            return Err(InputRefusal::OtherDefinition);
        };
        if children.iter().any(|child| child.outcome.is_none()) {
            return Ok(NextMove::Wait);
        }
        let children = children.clone();
        self.keep_results(step, &children);
        Ok(NextMove::Leave(step.id.clone(), joint_outcome(&children)))
    }

    /// What passed is judged again if a file that it is about changed before the check of its gate begins: the gate would
    /// else let through what no reviewer saw.
    pub(super) fn reopen_changed_items(&mut self, seen: &FileState) {
        let Some(changed) = seen.changed.as_deref().filter(|changed| !changed.is_empty()) else { return };
        let Some((frame, _, workflow, step)) = self.run.current(self.definition) else { return };
        let Some(review) = workflow.review_around(step) else { return };
        let items = frame.reviews.get(review).map_or(&[][..], Vec::as_slice);
        let ids = review_items::outdated_items(items, changed);
        if !ids.is_empty() {
            self.emit(RunEvent::ItemsReset { review: review.clone(), ids, changed: changed.to_vec() });
        }
    }

    /// What a report says to a review.
    fn review_part(
        &mut self,
        step: &WorkflowStep,
        result: &mut Map<String, Json>,
        seen: &FileState,
        child: Option<&DispatchChild>,
    ) -> Result<(), InputRefusal> {
        let Some(part) = step.work.review() else { return Ok(()) };
        let name = part.review.clone();
        let declared = self.workflow()?.reviews.get(&name).ok_or(InputRefusal::OtherDefinition)?;
        let items = self.frame()?.reviews.get(&name).cloned().unwrap_or_default();
        match part.part {
            ReviewStage::Decompose => {
                let mut added = review_items::items(result, declared.max_items).map_err(InputRefusal::Result)?;
                // Several sub-agents may each say a part of what is to be checked.
                if let Some(child) = child.filter(|_| !items.is_empty()) {
                    for item in &mut added {
                        item.id = format!("{}-{}", child.name, item.id);
                    }
                }
                let all: Vec<_> = items.into_iter().chain(added).collect();
                if all.len() > declared.max_items {
                    let reason = format!("a review has at most {} items", declared.max_items);
                    return Err(InputRefusal::Result(InvalidValue(reason)));
                }
                self.emit(RunEvent::ItemsAdded { review: name, items: all });
            }
            ReviewStage::Verify => {
                let given: Vec<&str> = match child {
                    Some(child) if !child.items.is_empty() => {
                        child.items.iter().filter_map(|item| item.get("id").and_then(Json::as_str)).collect()
                    }
                    _ => {
                        let open = items.iter().filter(|item| item.status == review_items::ReviewItemStatus::Todo);
                        open.map(|item| item.id.as_str()).collect()
                    }
                };
                let judgements = review_items::judgements(result, &given).map_err(InputRefusal::Result)?;
                self.emit(RunEvent::ItemsJudged { review: name, judgements, tree: seen.tree.clone() });
            }
            ReviewStage::Fix => {
                let ids = review_items::touched_items(&items, seen.changed.as_deref());
                if !ids.is_empty() {
                    self.emit(RunEvent::ItemsReset { review: name, ids, changed: Vec::new() });
                }
            }
        }
        Ok(())
    }
}
