//! `maestro workflow run`: a whole run in the terminal: commands are executed, texts shown, questions asked.

use std::fmt::Write as _;

use inquire::{InquireError, MultiSelect, Select, Text};
use maestro_api::events::EventQuery;
use maestro_api::runs::{self as runs_api, NoAnswer, RunAnswer, RunBody};
use maestro_core::WorkState;
use maestro_core::workflow::definition::EndStatus;
use maestro_core::workflow::directive::{Directive, QuestionInfo};
use maestro_core::workflow::render::{self, RenderForm};
use maestro_core::workflow::run::{AnswerAuthor, AwaitedParty};
use maestro_core::workflow::run_reply::{NextAction, RunUpdate};
use maestro_core::workflow::tool::CodingTool;
use maestro_engine::workflows::WorkflowIndex;
use serde_json::{Value as Json, json};

use super::start::{self, RunHand, StartedRun};
use crate::args::WorkflowRunArgs;
use crate::client::CliClient;
use crate::client::own_server::ServedClient;
use crate::client::runs;
use crate::host::agents;
use crate::host::world::World;
use crate::output::command_output::{self, CommandOutput, CommandResult};
use crate::output::error::{CommandError, ExitKind};
use crate::output::progress;
use crate::output::screen::{clean, clean_lines};

/// Source of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerSource {
    /// The person at the terminal.
    Person,
    /// The default answers.
    Default,
    /// None: there is no terminal.
    None,
}

pub(super) fn run(workflows: &WorkflowIndex<'_>, args: &WorkflowRunArgs, world: &World) -> CommandResult {
    let asks = world.terminals.stdin && world.terminals.stderr && !world.json;
    let answers = match (args.yes, asks) {
        (true, _) => AnswerSource::Default,
        (false, true) => AnswerSource::Person,
        (false, false) => AnswerSource::None,
    };
    let agent = args.agent.as_deref();
    // Agents are started by a server; one that is started here ends with the command.
    let _served = match agent {
        Some(agent) => {
            agents::require_agent(agent, world).map_err(CommandError::of_spawn)?;
            Some(ServedClient::open(world)?)
        }
        None => None,
    };
    let hand = agent.map_or(RunHand::Tool(None), RunHand::Agent);
    let StartedRun { client, reply, notes } = start::start_run(workflows, &args.name, &args.params, hand, world)?;
    let tool = CodingTool::unknown().with_form(RenderForm::Markdown);
    TerminalRun { client, answers, tool, agent, notes, world }.run(reply)
}

struct TerminalRun<'w> {
    client: CliClient,
    answers: AnswerSource,
    tool: CodingTool,
    /// The agent that the server starts for the steps.
    agent: Option<&'w str>,
    /// What is said about the workflow.
    notes: String,
    world: &'w World,
}

impl TerminalRun<'_> {
    fn run(&self, mut reply: RunBody) -> CommandResult {
        let mut updates = Vec::new();
        loop {
            if self.agent.is_none() {
                let working = format!("{}: working", reply.summary.workflow);
                reply = progress::while_working(self.world.terminals, &working, || {
                    runs::drive_run(&self.client, reply.clone(), self.world)
                })?;
            }
            updates.append(&mut reply.updates);
            if !self.world.json {
                self.show_updates(&std::mem::take(&mut updates))?;
            }
            let (id, now) = (reply.summary.id.clone(), reply.next.clone());
            match now {
                NextAction::Directive { directive } => match self.answer(&id, &directive, &reply)? {
                    Some(next) => reply = next,
                    None => return self.page(reply, updates),
                },
                NextAction::Finished { finished, .. } => {
                    let exit =
                        if finished.outcome == Some(EndStatus::Success) { ExitKind::Ok } else { ExitKind::Failed };
                    return Ok(self.page(reply, updates)?.with_exit(exit));
                }
                NextAction::Busy { title, .. } if self.agent.is_some() && reply.summary.state != WorkState::Waiting => {
                    reply = self.wait_change(&reply, &format!("working: {title}"))?;
                }
                NextAction::Busy { .. } | NextAction::Paused | NextAction::Noted { .. } | NextAction::Handed(_) => {
                    return self.page(reply, updates);
                }
            }
        }
    }

    /// The state of the run; as JSON the whole run, with the updates that were not shown on the way.
    fn page(&self, reply: RunBody, updates: Vec<RunUpdate>) -> CommandResult {
        if self.world.json {
            return Ok(CommandOutput::json(&RunBody { updates, ..reply })?.with_notes(self.notes.as_str()));
        }
        let notes = format!("{}{}", self.notes, self.waits_for(&reply));
        Ok(CommandOutput::text(self.text(reply)).with_notes(notes))
    }

    fn text(&self, reply: RunBody) -> String {
        clean_lines(&render::render_reply(&runs::reply(reply), &self.tool))
    }

    /// The next directive after an answer or report; `None` if there can be none.
    fn answer(&self, id: &str, directive: &Directive, reply: &RunBody) -> CommandResult<Option<RunBody>> {
        let Some(question) = &directive.question else {
            if let (Some(agent), true) = (self.agent, directive.dispatches.is_empty()) {
                let step = clean(&directive.step.title);
                self.say(&format!("[agent] {step}: {} works on it\n", clean(agent)))?;
                return self.wait_change(reply, &format!("{agent}: {step}")).map(Some);
            }
            return match self.answers {
                AnswerSource::Person => self.wait_report(reply).map(Some),
                AnswerSource::Default | AnswerSource::None => Ok(None),
            };
        };
        let given = match self.answers {
            // Whether to repeat something that may have happened is never answered by default.
            AnswerSource::Default if reply.summary.waiting == Some(AwaitedParty::Consent) => return Ok(None),
            AnswerSource::Default => match &question.default {
                Some(default) => TerminalAnswer::Value(json!(default)),
                None => TerminalAnswer::Instead(NoAnswer::Declined),
            },
            AnswerSource::None => return Ok(None),
            AnswerSource::Person => ask(question)?,
        };
        let ticket = Some(directive.ticket.as_str().to_owned());
        let by = Some(if self.answers == AnswerSource::Person { AnswerAuthor::User } else { AnswerAuthor::Script });
        let answer = match given {
            TerminalAnswer::Value(value) => RunAnswer { ticket, value: Some(value), instead: None, by },
            TerminalAnswer::Instead(instead) => RunAnswer { ticket, value: None, instead: Some(instead), by },
        };
        self.client.call(runs_api::answer(id, &answer)).map(Some)
    }

    /// Events are shown as they happen.
    fn show_updates(&self, updates: &[RunUpdate]) -> CommandResult<()> {
        let mut text = String::new();
        for update in updates {
            let (mark, line) = match update {
                RunUpdate::Shown { text: shown, .. } => {
                    let _ = writeln!(text, "{}\n", clean_lines(shown.trim_end()));
                    continue;
                }
                RunUpdate::Judged { title, outcome, .. } => ("gate", format!("{title}: {outcome}")),
                RunUpdate::Failed { step, reason, .. } => ("failed", format!("{step}: {reason}")),
                RunUpdate::Tolerated { step, reason, .. } => ("optional", format!("{step}: went wrong; {reason}")),
                RunUpdate::Cut { name, bytes } => ("cut", format!("{name}: {bytes} bytes omitted")),
                RunUpdate::RiskAccepted { gate, items, by } => {
                    ("risk", format!("{gate}: {} accepts {}", by.describe(), items.join(", ")))
                }
            };
            let first = line.lines().next().unwrap_or_default();
            let _ = writeln!(text, "{} {}", self.world.paint.dim(&format!("[{mark}]")), clean(first));
        }
        command_output::show(&text)
    }

    /// Waits for an agent's report; the person may leave, and the run stays as it is.
    fn wait_report(&self, reply: &RunBody) -> CommandResult<RunBody> {
        command_output::show(&self.text(reply.clone()))?;
        self.wait_change(reply, "waiting for an agent; press Ctrl-C to leave the run as it is")
    }

    /// Waits until something else is to be done, or a person must allow what is.
    fn wait_change(&self, reply: &RunBody, what: &str) -> CommandResult<RunBody> {
        progress::while_working(self.world.terminals, what, || {
            let of_run = EventQuery { run_id: Some(reply.summary.id.clone()), ..EventQuery::default() };
            let mut changes = self.client.watch(of_run);
            loop {
                let now = runs::get(&self.client, &reply.summary.id)?;
                if now.next != reply.next || now.summary.state != reply.summary.state {
                    return Ok(now);
                }
                self.client.wait(changes.changed());
            }
        })
    }

    /// Prints a line, unless the result is printed as JSON.
    fn say(&self, line: &str) -> CommandResult<()> {
        if self.world.json { Ok(()) } else { command_output::show(line) }
    }

    /// Whom a run that is left waits for, and how it goes on.
    fn waits_for(&self, reply: &RunBody) -> String {
        let id = clean(self.client.short_ids().shorten(&reply.summary.id)).into_owned();
        let reason = || reply.summary.state_reason.as_deref().map(|reason| clean(reason).into_owned());
        match &reply.next {
            NextAction::Directive { directive } if directive.question.is_some() => {
                let options = directive.question.as_ref().and_then(|question| question.options.as_ref());
                let answers = options.map_or_else(|| "\"TEXT\"".to_owned(), |all| all.join("|"));
                format!(
                    "note: it waits for an answer; give it with `maestro session answer {id} {}`, or run it in a terminal\n",
                    clean(&answers)
                )
            }
            NextAction::Directive { directive } if !directive.dispatches.is_empty() => {
                let step = clean(&directive.step.title);
                format!(
                    "note: `{step}` waits for sub-agents; a coding tool goes on with `maestro workflow next {id}`\n"
                )
            }
            NextAction::Directive { directive } => {
                let (step, name) = (clean(&directive.step.title), clean(&reply.summary.workflow));
                format!(
                    "note: `{step}` waits for an agent; it goes on with `maestro workflow next {id}`, or start again \
                     with `maestro workflow run {name} --agent NAME`\n"
                )
            }
            NextAction::Busy { title, .. } => {
                let why = reason().map(|reason| format!(": {reason}")).unwrap_or_default();
                format!("note: `{}` is not executed yet{why}\n", clean(title))
            }
            NextAction::Finished { .. } | NextAction::Paused | NextAction::Noted { .. } | NextAction::Handed(_) => {
                String::new()
            }
        }
    }
}

enum TerminalAnswer {
    Value(Json),
    Instead(NoAnswer),
}

/// Asks the person at the terminal.
fn ask(question: &QuestionInfo) -> CommandResult<TerminalAnswer> {
    let prompt = match &question.refused {
        Some(refused) => clean_lines(&format!("{refused}\n{}", question.prompt)),
        None => clean_lines(&question.prompt),
    };
    let answer = match (&question.options, question.multiple) {
        (Some(options), true) => {
            let shown: Vec<String> = options.iter().map(|option| clean_lines(question.title(option))).collect();
            let chosen = MultiSelect::new(&prompt, shown).raw_prompt();
            chosen.map(|chosen| chosen.into_iter().map(|one| options[one.index].clone()).collect::<Json>())
        }
        (Some(options), false) => {
            let usual = question.default.as_ref().and_then(|usual| options.iter().position(|one| one == usual));
            let shown: Vec<String> = options.iter().map(|option| clean_lines(question.title(option))).collect();
            let select = Select::new(&prompt, shown).with_starting_cursor(usual.unwrap_or_default());
            select.raw_prompt().map(|chosen| Json::from(options[chosen.index].clone()))
        }
        (None, _) => {
            let text = Text::new(&prompt);
            let text = match &question.default {
                Some(usual) => text.with_default(usual),
                None => text,
            };
            text.prompt().map(Json::from)
        }
    };
    match answer {
        Ok(value) => Ok(TerminalAnswer::Value(value)),
        Err(InquireError::OperationCanceled) => Ok(TerminalAnswer::Instead(NoAnswer::Declined)),
        Err(InquireError::OperationInterrupted) => Ok(TerminalAnswer::Instead(NoAnswer::Cancelled)),
        Err(error) => Err(CommandError::io("cannot ask the question", &error)
            .hint("use `maestro workflow start` and `maestro workflow answer`")),
    }
}
