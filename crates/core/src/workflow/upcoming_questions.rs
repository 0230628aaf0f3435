//! Questions that follow one another, so that a user can be asked all of them at once.

use super::definition::{QuestionOptions, RouteTarget, StepWork, Workflow};
use super::directive::QuestionInfo;
use super::name::{StepId, StepOutcome};
use super::run::implied_options;

/// How many questions are asked at once.
const MOST: usize = 10;

/// The questions that certainly follow the one at a step, whatever its answer: each comes right after the one before, and what
/// it asks does not depend on any answer. Who does not want to answer is asked no further.
pub fn upcoming_questions(workflow: &Workflow, step: &StepId) -> Vec<(StepId, QuestionInfo)> {
    let mut found: Vec<(StepId, QuestionInfo)> = Vec::new();
    let mut last = step.clone();
    while let Some((id, question)) = next_question(workflow, &last) {
        if found.len() + 1 >= MOST || id == *step || found.iter().any(|(known, _)| *known == id) {
            break;
        }
        last = id.clone();
        found.push((id, question));
    }
    found
}

/// The question that follows the one at a step.
fn next_question(workflow: &Workflow, step: &StepId) -> Option<(StepId, QuestionInfo)> {
    let unanswered = [StepOutcome::DECLINED, StepOutcome::CANCELLED];
    let step = workflow.step(step)?;
    let answered = step.next.iter().filter(|(outcome, _)| !unanswered.contains(outcome));
    let mut targets = answered.map(|(_, route)| &route.target);
    let RouteTarget::Step(next) = targets.next()? else { return None };
    if !targets.all(|target| *target == RouteTarget::Step(next.clone())) {
        return None;
    }
    let next = workflow.step(next).filter(|next| next.when.is_none())?;
    let StepWork::Question(question) = &next.work else { return None };
    let options = match &question.options {
        QuestionOptions::Free => implied_options(workflow, next),
        QuestionOptions::Listed(options) => Some(options.clone()),
        QuestionOptions::Command(_) | QuestionOptions::Variable(..) => return None,
    };
    let templates = std::iter::once(&question.prompt).chain(&question.default);
    if !templates.map(|text| &text.value).all(super::Template::is_literal) {
        return None;
    }
    let info = QuestionInfo {
        prompt: question.prompt.value.leading_text().to_owned(),
        options,
        titles: question.titles.clone(),
        default: question.default.as_ref().map(|default| default.value.leading_text().to_owned()),
        multiple: question.multiple,
        refused: None,
    };
    Some((next.id.clone(), info))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::{LoadEnvironment, load_workflow};

    fn follow(steps: &str) -> Vec<String> {
        let text = format!("name: a\ndescription: Asks.\nvariables: {{x: {{type: string}}}}\nsteps:\n{steps}");
        let nothing =
            LoadEnvironment { file_exists: &|_| false, convention_exists: &|_| false, callee: &|_| None, tool: None };
        let (workflow, findings) = load_workflow(&text, &nothing);
        let workflow = workflow.unwrap_or_else(|| panic!("{findings:?}"));
        upcoming_questions(&workflow, &workflow.start).into_iter().map(|(_, question)| question.prompt).collect()
    }

    #[test]
    fn questions_in_a_row_are_foreseen_up_to_the_first_that_depends_on_an_answer() {
        let steps = "
  - {id: one, type: question, prompt: One?, store: x}
  - {id: two, type: question, prompt: Two?, options: [a, b], store: x}
  - {id: three, type: question, prompt: Three?, store: x}
  - {id: four, type: question, prompt: 'Four, {x}?', store: x}
";
        assert_eq!(follow(steps), ["Two?", "Three?"]);
    }

    #[test]
    fn what_an_answer_decides_is_not_foreseen() {
        let forks = "
  - {id: one, type: question, prompt: One?, options: [a, b], store: x, next: {a: two, b: three, declined: end}}
  - {id: two, type: question, prompt: Two?, store: x}
  - {id: three, type: question, prompt: Three?, store: x}
";
        assert_eq!(follow(forks), [] as [&str; 0]);
        let sometimes = "
  - {id: one, type: question, prompt: One?, store: x}
  - {id: two, type: question, prompt: Two?, store: x, when: 'x == \"a\"'}
";
        assert_eq!(follow(sometimes), [] as [&str; 0]);
        let circles = "
  - {id: one, type: question, prompt: One?, store: x}
  - {id: two, type: question, prompt: Two?, store: x, max_visits: 3, next: {ok: one, declined: end, cancelled: end, exhausted: end}}
";
        assert_eq!(follow(circles), ["Two?"]);
    }
}
