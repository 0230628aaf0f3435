//! Reports of agents and sub-agents, and what follows from them.

use serde_json::{Map, Value as Json};

use super::walk::{Move, Walk};
use super::{Child, Refusal, RunEvent, Seen, Ticket, Wait, review};
use crate::workflow::definition::{Agent, Part, Step, Task, Work};
use crate::workflow::name::Outcome;
use crate::workflow::value::{Unfit, admit_fields};

/// How many bytes a report's result may have, and what results that add up may come to.
const MAX_RESULT: usize = 256 * 1024;

fn bounded(result: &Map<String, Json>) -> Result<(), Refusal> {
    let size = serde_json::to_string(result).map_or(usize::MAX, |text| text.len());
    if size <= MAX_RESULT {
        return Ok(());
    }
    Err(Refusal::Result(Unfit(format!(
        "it has {size} bytes, and {MAX_RESULT} are allowed; write to a file and name it"
    ))))
}

impl<'d> Walk<'d> {
    pub(super) fn report(
        &mut self,
        ticket: &Ticket,
        outcome: Option<Outcome>,
        set: Map<String, Json>,
        result: Map<String, Json>,
        seen: &Seen,
    ) -> Result<Move, Refusal> {
        let Some((_, position, _, step)) = self.run.current(self.definition) else {
            return Err(Refusal::OtherDefinition);
        };
        bounded(&result)?;
        match (position.wait.clone(), &step.work) {
            (Wait::Agent, Work::Agent(agent)) => {
                self.set_variables(set)?;
                self.agent(step, agent, outcome, result, seen)
            }
            (Wait::Children(children), Work::Dispatch(dispatch)) => {
                let index = self.index(&children, ticket)?;
                if let (Task::Call(workflow, _), false) = (&dispatch.task, outcome == Some(Outcome::FAIL)) {
                    return Err(Refusal::Walks(workflow.clone()));
                }
                if !set.is_empty() {
                    // Children run beside each other: what one sets another would undo.
                    let reason = Unfit("a sub-agent sets no variables; put it into the result".into());
                    return Err(Refusal::Value { name: set.keys().next().cloned().unwrap_or_default(), reason });
                }
                self.child(step, &children, index, outcome, result, seen)
            }
            _ => Err(self.not_awaited(ticket.clone())),
        }
    }

    /// The walk of a sub-agent came to its end.
    pub(super) fn walked(
        &mut self,
        ticket: &Ticket,
        outcome: Outcome,
        result: Map<String, Json>,
    ) -> Result<Move, Refusal> {
        let Some((_, position, _, step)) = self.run.current(self.definition) else {
            return Err(Refusal::OtherDefinition);
        };
        bounded(&result)?;
        let Wait::Children(children) = position.wait.clone() else { return Err(self.not_awaited(ticket.clone())) };
        let index = self.index(&children, ticket)?;
        self.child(step, &children, index, Some(outcome), result, &Seen::default())
    }

    /// The place of the sub-agent whose ticket this is.
    fn index(&self, children: &[Child], ticket: &Ticket) -> Result<usize, Refusal> {
        let own = |(index, child): (usize, &Child)| self.run.child_ticket(index, child).as_ref() == Some(ticket);
        children.iter().enumerate().position(own).ok_or_else(|| self.not_awaited(ticket.clone()))
    }

    fn set_variables(&mut self, set: Map<String, Json>) -> Result<(), Refusal> {
        for (key, value) in set {
            let refuse = |reason| Refusal::Value { name: key.clone(), reason };
            let workflow = self.workflow()?;
            let Some(variable) = workflow.variables.iter().find(|variable| variable.name.as_str() == key) else {
                return Err(refuse(Unfit("there is no such variable".into())));
            };
            let by_engine = |step: &Step| matches!(&step.work, Work::Set(values) if values.iter().any(|(name, ..)| *name == variable.name));
            if workflow.steps.iter().any(by_engine) {
                return Err(refuse(Unfit("only the workflow sets it".into())));
            }
            let value = variable.kind.admit(value, variable.max_length).map_err(refuse)?;
            self.emit(RunEvent::Set { name: variable.name.clone(), value });
        }
        Ok(())
    }

    fn agent(
        &mut self,
        step: &'d Step,
        agent: &'d Agent,
        outcome: Option<Outcome>,
        mut result: Map<String, Json>,
        seen: &Seen,
    ) -> Result<Move, Refusal> {
        let derived = !agent.outcome_from.is_empty();
        // Where the outcome follows from the result it need not be said, and `ok` only says that there is one.
        let said = outcome.unwrap_or(Outcome::OK);
        let possible = agent.outcomes.contains(&said) || (derived && said == Outcome::OK);
        if !possible {
            return Err(Refusal::Outcome(agent.outcomes.clone()));
        }
        // A failed step needs no result.
        let nothing_said = !derived && said != Outcome::OK && result.is_empty();
        let fixes = step.work.review().is_some_and(|part| part.part == Part::Fix) && said != Outcome::FAIL;
        if !nothing_said || fixes {
            self.review_part(step, &mut result, seen, None)?;
        }
        if !nothing_said {
            self.keep_result(step, agent, result)?;
        }
        let outcome = if derived { self.derived(step, agent)? } else { said };
        Ok(Move::Leave(step.id.clone(), outcome))
    }

    fn keep_result(&mut self, step: &Step, agent: &Agent, result: Map<String, Json>) -> Result<(), Refusal> {
        if agent.result.is_empty() {
            return match result.keys().next() {
                None => Ok(()),
                Some(unknown) => Err(Refusal::Result(Unfit(format!("`{unknown}` is not declared")))),
            };
        }
        let mut result = admit_fields(&agent.result, result).map_err(Refusal::Result)?;
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
                let refuse = |reason| Refusal::Value { name: key.to_owned(), reason };
                let value = variable.kind.admit(value, variable.max_length.max(field.max_length)).map_err(refuse)?;
                self.emit(RunEvent::Set { name: field.name.clone(), value });
            }
        }
        bounded(&result)?;
        self.emit(RunEvent::Resulted { step: step.id.clone(), result });
        Ok(())
    }

    /// The outcome that follows from the result.
    fn derived(&self, step: &Step, agent: &Agent) -> Result<Outcome, Refusal> {
        let result = self.frame()?.results.get(&step.id).cloned().unwrap_or_default();
        let locals = Map::from_iter([("result".to_owned(), Json::Object(result))]);
        let scope = self.scope()?.with(&locals);
        let rule = agent.outcome_from.iter().find(|rule| match &rule.when {
            Some(when) => when.value.holds(&|reference| scope.get(reference)),
            None => true,
        });
        rule.map(|rule| rule.outcome.clone()).ok_or(Refusal::OtherDefinition)
    }

    fn child(
        &mut self,
        step: &'d Step,
        children: &[Child],
        index: usize,
        outcome: Option<Outcome>,
        mut result: Map<String, Json>,
        seen: &Seen,
    ) -> Result<Move, Refusal> {
        let outcome = outcome.unwrap_or(Outcome::OK);
        if outcome != Outcome::OK && outcome != Outcome::FAIL {
            return Err(Refusal::Outcome(vec![Outcome::OK, Outcome::FAIL]));
        }
        if outcome == Outcome::OK || result.contains_key("items") {
            self.review_part(step, &mut result, seen, Some(&children[index]))?;
        }
        self.emit(RunEvent::ChildEnded { child: index, outcome, result });
        let Some(Wait::Children(children)) = self.run.position().map(|position| &position.wait) else {
            return Err(Refusal::OtherDefinition);
        };
        let ended: Option<Vec<Outcome>> = children.iter().map(|child| child.outcome.clone()).collect();
        let Some(ended) = ended else { return Ok(Move::Wait) };
        let results = children.iter().map(|child| Json::Object(child.result.clone())).collect();
        let result = Map::from_iter([("results".to_owned(), Json::Array(results))]);
        self.emit(RunEvent::Resulted { step: step.id.clone(), result });
        let outcome = match (ended.contains(&Outcome::OK), ended.contains(&Outcome::FAIL)) {
            (_, false) => Outcome::OK,
            (false, true) => Outcome::FAIL,
            (true, true) => Outcome::PARTIAL,
        };
        Ok(Move::Leave(step.id.clone(), outcome))
    }

    /// What a report says to a review.
    fn review_part(
        &mut self,
        step: &Step,
        result: &mut Map<String, Json>,
        seen: &Seen,
        child: Option<&Child>,
    ) -> Result<(), Refusal> {
        let Some(part) = step.work.review() else { return Ok(()) };
        let name = part.review.clone();
        let declared = self.workflow()?.reviews.get(&name).ok_or(Refusal::OtherDefinition)?;
        let items = self.frame()?.reviews.get(&name).cloned().unwrap_or_default();
        match part.part {
            Part::Decompose => {
                let mut added = review::items(result, declared.max_items).map_err(Refusal::Result)?;
                // Several sub-agents may each say a part of what is to be checked.
                if let Some(child) = child.filter(|_| !items.is_empty()) {
                    for item in &mut added {
                        item.id = format!("{}-{}", child.name, item.id);
                    }
                }
                let all: Vec<_> = items.into_iter().chain(added).collect();
                if all.len() > declared.max_items {
                    let reason = format!("a review has at most {} items", declared.max_items);
                    return Err(Refusal::Result(Unfit(reason)));
                }
                self.emit(RunEvent::ItemsAdded { review: name, items: all });
            }
            Part::Verify => {
                let given: Vec<&str> = match child {
                    Some(child) if !child.items.is_empty() => {
                        child.items.iter().filter_map(|item| item.get("id").and_then(Json::as_str)).collect()
                    }
                    _ => {
                        let open = items.iter().filter(|item| item.status == review::ItemStatus::Todo);
                        open.map(|item| item.id.as_str()).collect()
                    }
                };
                let judgements = review::judgements(result, &given).map_err(Refusal::Result)?;
                self.emit(RunEvent::ItemsJudged { review: name, judgements, tree: seen.tree.clone() });
            }
            Part::Fix => {
                let ids = review::touched(&items, seen.changed.as_deref());
                if !ids.is_empty() {
                    self.emit(RunEvent::ItemsReset { review: name, ids });
                }
            }
        }
        Ok(())
    }
}
