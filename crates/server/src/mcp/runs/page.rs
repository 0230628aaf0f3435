//! Pages about a run for a model, with data for programs: the same as everywhere, with tool calls in place of commands.

use std::fmt::Write as _;

use maestro_core::work_state::WorkState;
use maestro_core::workflow::directive::{Directive, FinishedStatus, QuestionInfo};
use maestro_core::workflow::render;
use maestro_core::workflow::run::RunState;
use maestro_core::workflow::run_reply::{NextAction, RunReply, RunUpdate};
use maestro_engine::command_workflow::OUTPUT;
use rmcp::model::CallToolResult;
use serde_json::{Value as Json, json};

use super::super::answer_page::{AnswerPage, MOST_CHARS, MOST_DATA};
use super::super::tools::{brief_result, put, tool_result};
use maestro_api::runs::{RunBody, RunSummary};

/// How many characters of a text about a run are on a page; the note below it has room as well.
const PAGE_CHARS: usize = MOST_CHARS - 1_000;
/// An output of so many bytes may be in the data twice.
const SHORT_OUTPUT: usize = 80;

/// A page about a run, from a position in its text on.
pub(super) fn page(reply: RunBody, from: usize) -> CallToolResult {
    let id = reply.summary.id.clone();
    let brief = refer_to_data(&reply).filter(|_| from == 0);
    let (text, data) = text_and_data(reply);
    let text = paged(&text, from, &id);
    match brief {
        Some(brief) => brief_result(text, text_and_data(brief).0, data),
        None => tool_result(text, data),
    }
}

/// The same reply with a reference for each text that the data has whole beside it; none where there is no such text.
/// A client whose model reads the data alone would pass on everything twice.
fn refer_to_data(reply: &RunBody) -> Option<RunBody> {
    let is_whole = |text: &str| text.len() <= MOST_DATA;
    let mut brief = reply.clone();
    let (mut count, mut whole) = (0, true);
    for update in &mut brief.updates {
        if let RunUpdate::Shown { text, authored, .. } = update {
            whole &= is_whole(text);
            *text = format!("(the content of `shown[{count}]`)");
            authored.clear();
            count += 1;
        }
    }
    if let NextAction::Finished { finished, .. } = &mut brief.next {
        for (name, output) in &mut finished.outputs {
            if let Some(text) = output.as_str().filter(|text| text.len() > SHORT_OUTPUT) {
                whole &= is_whole(text);
                *output = json!(format!("(`outputs.{name}`)"));
                count += 1;
            }
        }
    }
    (count > 0 && whole).then_some(brief)
}

/// All of a page's text, and its data.
fn text_and_data(reply: RunBody) -> (String, Json) {
    let left = reason_left(&reply);
    let RunBody { summary, not_allowed, by_session, updates, next, .. } = reply;
    let (id, workflow) = (summary.id, summary.workflow);
    let shown = user_texts(&updates);
    let (text, mut data) = match next {
        NextAction::Directive { .. } if by_session && let Some(reason) = left => {
            let how = format!("The user continues it with `maestro workflow resume {id}`.");
            stopped(&reason, &how, &updates)
        }
        NextAction::Busy { .. } if let Some(reason) = left => {
            let how = format!("Call `run_next` with run_id \"{id}\" to go on.");
            stopped(&reason, &how, &updates)
        }
        NextAction::Directive { directive } if by_session && not_allowed.is_some() => {
            busy(&id, &workflow, &directive.step.title, not_allowed, &updates)
        }
        NextAction::Directive { directive } if by_session => session_page(&id, &directive.step.title, &updates),
        NextAction::Directive { directive } => directive_page(&id, updates, *directive),
        NextAction::Finished { ref finished, ref message } => {
            let data = json!({
                "status": finished.status, "outcome": finished.outcome, "outputs": finished.outputs,
                "message": message,
            });
            (rendered(&id, updates, next), data)
        }
        NextAction::Busy { title, .. } => busy(&id, &workflow, &title, not_allowed, &updates),
        NextAction::Paused => {
            let resume = format!("The run is paused; the user resumes it with `maestro workflow resume {id}`.");
            (update_lines(&updates) + &resume, json!({ "status": "paused" }))
        }
        NextAction::Noted { .. } => (rendered(&id, updates, next), json!({ "status": "noted" })),
        NextAction::Handed(_) => (rendered(&id, updates, next), json!({ "status": "handed" })),
    };
    put(&mut data, "run_id", json!(id));
    put(&mut data, "workflow", json!(workflow));
    if !shown.is_empty() {
        put(&mut data, "shown", json!(shown));
    }
    (text, data)
}

/// Part of a long text about a run; `run_status` returns the rest.
fn paged(text: &str, from: usize, id: &str) -> String {
    let page = AnswerPage::of(text, from, PAGE_CHARS);
    page.with_note(|next| format!("call `run_status` with run_id \"{id}\" and from {next}"))
}

/// The directive of a step, as a client receives it.
pub(super) fn directive_text(directive: Directive) -> String {
    let run = directive.run.clone();
    directive_page(&run, Vec::new(), directive).0
}

/// The content to show to the user, for a client that does so by itself.
fn user_texts(updates: &[RunUpdate]) -> Vec<Json> {
    let output = |update: &RunUpdate| match update {
        RunUpdate::Shown { text, .. } => Some(json!({ "type": "skill-output", "content": text, "format": "markdown" })),
        _ => None,
    };
    updates.iter().filter_map(output).collect()
}

/// The same for the caller that started it and receives its end: a failed run is a failed call.
pub(super) fn start_result(reply: RunBody) -> CallToolResult {
    let failed = is_failed(&reply.next);
    let mut result = page(reply, 0);
    result.is_error = failed.then_some(true).or(result.is_error);
    result
}

/// The output of a command, and nothing else; an unfinished run gets the usual page.
pub(super) fn command_output(reply: RunBody) -> CallToolResult {
    let NextAction::Finished { finished, .. } = &reply.next else { return page(reply, 0) };
    let output = finished.outputs.get(OUTPUT).and_then(Json::as_str).unwrap_or_default();
    let (text, is_error) = match finished.status {
        FinishedStatus::Completed => (output.to_owned(), false),
        FinishedStatus::Failed => (update_lines(&reply.updates), true),
        FinishedStatus::Cancelled => ("The run was cancelled.".to_owned(), true),
    };
    let data = json!({ "status": finished.status, "run_id": reply.summary.id, "workflow": reply.summary.workflow });
    let mut result = tool_result(paged(&text, 0, &reply.summary.id), data);
    result.is_error = Some(is_error);
    result
}

/// Why a run refused an input, and what it expects.
pub(super) fn refusal_result(why: &str, reply: RunBody) -> CallToolResult {
    let (text, data) = text_and_data(reply);
    let text = format!("Refused: {why}\n\n{text}");
    let mut result = tool_result(text, data);
    result.is_error = Some(true);
    result
}

fn is_failed(next: &NextAction) -> bool {
    matches!(next, NextAction::Finished { finished, .. } if finished.status == FinishedStatus::Failed)
}

/// The directive or question.
fn directive_page(id: &str, updates: Vec<RunUpdate>, directive: Directive) -> (String, Json) {
    if let Some(question) = &directive.question {
        return (question_text(id, &directive, question, &updates), question_data(&directive, question));
    }
    let data = json!({
        "status": "todo", "step": directive.step.id, "ticket": directive.ticket, "outcomes": directive.outcomes,
    });
    let next = NextAction::Directive { directive: Box::new(directive) };
    (rendered(id, updates, next), data)
}

/// Progress of an execution, or why it does not happen.
fn busy(id: &str, workflow: &str, title: &str, not_allowed: Option<String>, updates: &[RunUpdate]) -> (String, Json) {
    let updates = update_lines(updates);
    if let Some(why) = not_allowed {
        let text = format!(
            "{updates}Stopped: {why}. Ask the user to run `maestro trust {workflow}`, to review and \
             allow it; then call `run_next` with run_id \"{id}\"."
        );
        return (text, json!({ "status": "not_allowed", "reason": why }));
    }
    let text = format!("{updates}Busy: {title}. Call `run_status` with run_id \"{id}\" and wait_s 45 to wait for it.");
    (text, json!({ "status": "running", "step": title }))
}

/// Why no process continues a run, if the one that did is gone.
pub(super) fn reason_left(reply: &RunBody) -> Option<String> {
    let RunSummary { status, state, state_reason, .. } = &reply.summary;
    let is_left = *status == RunState::Running && *state == WorkState::Stopped;
    state_reason.clone().filter(|_| is_left)
}

/// The notice that no process continues the run, and how it goes on.
fn stopped(reason: &str, how: &str, updates: &[RunUpdate]) -> (String, Json) {
    let text = format!("{}Stopped: {reason}. {how}", update_lines(updates));
    (text, json!({ "status": "stopped", "reason": reason }))
}

/// The notice that a session started for it does the step.
fn session_page(id: &str, title: &str, updates: &[RunUpdate]) -> (String, Json) {
    let text = format!(
        "{}Busy: {title}. An agent of its own does this; `maestro session list` shows it, and it needs a server \
         (`maestro up`). Call `run_status` with run_id \"{id}\" and wait_s 45 to wait for it.",
        update_lines(updates)
    );
    (text, json!({ "status": "running", "step": title }))
}

fn rendered(run: &str, updates: Vec<RunUpdate>, next: NextAction) -> String {
    render::render_tool_calls(&RunReply { run: run.to_owned(), updates, next })
}

fn question_data(directive: &Directive, question: &QuestionInfo) -> Json {
    let mut asked = json!({
        "prompt": question.prompt, "options": question.options, "default": question.default,
        "multiple": question.multiple, "refused": question.refused,
    });
    if !question.titles.is_empty() {
        put(&mut asked, "titles", json!(question.titles));
    }
    json!({ "status": "needs_input", "step": directive.step.id, "ticket": directive.ticket, "question": asked })
}

/// A question that the model has to ask, because the client cannot.
fn question_text(run: &str, directive: &Directive, question: &QuestionInfo, updates: &[RunUpdate]) -> String {
    let mut text = update_lines(updates);
    if let Some(refused) = &question.refused {
        let _ = writeln!(text, "The last answer was refused: {refused}\n");
    }
    let _ = writeln!(text, "Ask the user, and do not answer yourself:\n\n{}\n", question.prompt);
    for option in question.described_options() {
        let _ = writeln!(text, "- {option}");
    }
    if question.multiple {
        text.push_str("(several may be chosen)\n");
    }
    if let Some(usual) = &question.default {
        let _ = writeln!(text, "(usually: {usual})");
    }
    let arguments = json!({ "run_id": run, "ticket": directive.ticket, "value": "ANSWER" });
    let _ = writeln!(
        text,
        "\nThen call `run_answer` with {arguments}, ANSWER being what the user said. If the user does not want to \
         answer, give `instead`: \"declined\" in the place of `value`; to stop here, \"cancelled\"."
    );
    text
}

/// The updates, a line or a text each.
fn update_lines(updates: &[RunUpdate]) -> String {
    let mut text = String::new();
    for update in updates {
        let _ = match update {
            RunUpdate::Shown { text: said, .. } => writeln!(text, "{}\n", said.trim_end()),
            RunUpdate::Judged { title, outcome, .. } => writeln!(text, "[gate] {title}: {outcome}"),
            RunUpdate::Failed { step, reason, .. } => writeln!(text, "[failed] {step}: {reason}"),
            RunUpdate::Tolerated { step, reason, .. } => writeln!(text, "[optional] {step}: went wrong; {reason}"),
            RunUpdate::Cut { name, bytes } => writeln!(text, "[cut] {name}: {bytes} bytes were cut"),
            RunUpdate::RiskAccepted { gate, items, by } => {
                writeln!(text, "[risk] {gate}: {} accepts {}", by.describe(), items.join(", "))
            }
        };
    }
    text
}
