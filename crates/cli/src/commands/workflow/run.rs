//! `maestro workflow run`: a whole run in the terminal: commands are executed, texts shown, questions asked.

use std::fmt::Write as _;
use std::thread;
use std::time::Duration;

use inquire::{InquireError, MultiSelect, Select, Text};
use maestro_api::runs::{self as runs_api, NoAnswer, RunAnswer, RunBody};
use maestro_core::workflow::definition::EndStatus;
use maestro_core::workflow::directive::{Directive, QuestionInfo};
use maestro_core::workflow::render::{self, Form};
use maestro_core::workflow::run::Waiting;
use maestro_core::workflow::told::{News, Now};
use maestro_core::workflow::tool::Tool;
use maestro_engine::workflows::Workflows;
use serde_json::{Value as Json, json};

use super::start::{self, Begun};
use crate::args::RunArgs;
use crate::client::Client;
use crate::client::runs;
use crate::host::world::World;
use crate::output::error::{CommandError, Exit};
use crate::output::progress;
use crate::output::reply::{self, Reply};
use crate::output::screen::{clean, clean_lines};

/// How often the run is polled for an agent's report.
const LOOK: Duration = Duration::from_millis(300);

/// Source of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    /// The person at the terminal.
    Person,
    /// The default answers.
    Usual,
    /// None: there is no terminal.
    Nobody,
}

pub(super) fn run(workflows: &Workflows<'_>, args: &RunArgs, world: &World) -> Result<Reply, CommandError> {
    let answers = match (args.yes, world.terminals.stdin && world.terminals.stderr) {
        (true, _) => Answers::Usual,
        (false, true) => Answers::Person,
        (false, false) => Answers::Nobody,
    };
    let Begun { client, reply, notes } = start::begin(workflows, &args.name, &args.params, None, world)?;
    let walk = Walk { client, answers, tool: Tool::unknown().in_form(Form::Markdown), world };
    Ok(walk.through(reply)?.with_notes(notes))
}

struct Walk<'w> {
    client: Client,
    answers: Answers,
    tool: Tool,
    world: &'w World,
}

impl Walk<'_> {
    fn through(&self, mut reply: RunBody) -> Result<Reply, CommandError> {
        loop {
            reply = progress::while_working(self.world, &format!("{}: working", reply.summary.workflow), || {
                runs::driven(&self.client, reply.clone(), self.world)
            })?;
            self.show_news(&std::mem::take(&mut reply.news))?;
            let (id, now) = (reply.summary.id.clone(), reply.now.clone());
            match now {
                Now::Directive { directive } => match self.answered(&id, &directive, &reply)? {
                    Some(next) => reply = next,
                    None => return Ok(self.page(reply)),
                },
                Now::Finished { finished, .. } => {
                    let exit = if finished.outcome == Some(EndStatus::Success) { Exit::Ok } else { Exit::Failed };
                    return Ok(self.page(reply).ending(exit));
                }
                Now::Busy { .. } | Now::Paused | Now::Noted { .. } | Now::Handed(_) => return Ok(self.page(reply)),
            }
        }
    }

    fn page(&self, reply: RunBody) -> Reply {
        Reply::text(self.text(reply))
    }

    fn text(&self, reply: RunBody) -> String {
        clean_lines(&render::told(&runs::told(reply), &self.tool))
    }

    /// The next directive after an answer or report; `None` if there can be none.
    fn answered(&self, id: &str, directive: &Directive, reply: &RunBody) -> Result<Option<RunBody>, CommandError> {
        let Some(question) = &directive.question else {
            return match self.answers {
                Answers::Person => self.reported(reply).map(Some),
                Answers::Usual | Answers::Nobody => Ok(None),
            };
        };
        let given = match self.answers {
            // Whether to repeat something that may have happened is never answered by default.
            Answers::Usual if reply.summary.waiting == Some(Waiting::Consent) => return Ok(None),
            Answers::Usual => match &question.default {
                Some(default) => Given::Value(json!(default)),
                None => Given::Instead(NoAnswer::Declined),
            },
            Answers::Nobody => return Ok(None),
            Answers::Person => ask(question)?,
        };
        let ticket = Some(directive.ticket.as_str().to_owned());
        let answer = match given {
            Given::Value(value) => RunAnswer { ticket, value: Some(value), instead: None },
            Given::Instead(instead) => RunAnswer { ticket, value: None, instead: Some(instead) },
        };
        self.client.call(runs_api::answer(id, &answer)).map(Some)
    }

    /// Events are shown as they happen.
    fn show_news(&self, news: &[News]) -> Result<(), CommandError> {
        let mut text = String::new();
        for news in news {
            let (mark, line) = match news {
                News::Shown { text: shown, .. } => {
                    let _ = writeln!(text, "{}\n", clean_lines(shown.trim_end()));
                    continue;
                }
                News::Judged { title, outcome, .. } => ("gate", format!("{title}: {outcome}")),
                News::Failed { step, reason, .. } => ("failed", format!("{step}: {reason}")),
                News::Tolerated { step, .. } => ("optional", format!("{step}: skipped")),
                News::Cut { name, bytes } => ("cut", format!("{name}: {bytes} bytes omitted")),
                News::RiskAccepted { gate, items } => ("risk", format!("{gate}: accepted {}", items.join(", "))),
            };
            let first = line.lines().next().unwrap_or_default();
            let _ = writeln!(text, "{} {}", self.world.paint.dim(&format!("[{mark}]")), clean(first));
        }
        reply::show(&text)
    }

    /// Waits for an agent's report; the person may leave, and the run stays as it is.
    fn reported(&self, reply: &RunBody) -> Result<RunBody, CommandError> {
        reply::show(&self.text(reply.clone()))?;
        progress::while_working(self.world, "waiting for an agent; press Ctrl-C to leave the run as it is", || {
            loop {
                let now = runs::get(&self.client, &reply.summary.id)?;
                if now.now != reply.now {
                    return Ok(now);
                }
                thread::sleep(LOOK);
            }
        })
    }
}

enum Given {
    Value(Json),
    Instead(NoAnswer),
}

/// Asks the person at the terminal.
fn ask(question: &QuestionInfo) -> Result<Given, CommandError> {
    let prompt = match &question.refused {
        Some(refused) => clean_lines(&format!("{refused}\n{}", question.prompt)),
        None => clean_lines(&question.prompt),
    };
    let answer = match (&question.options, question.multiple) {
        (Some(options), true) => {
            let shown: Vec<String> = options.iter().map(|option| clean_lines(option)).collect();
            let chosen = MultiSelect::new(&prompt, shown).raw_prompt();
            chosen.map(|chosen| chosen.into_iter().map(|one| options[one.index].clone()).collect::<Json>())
        }
        (Some(options), false) => {
            let usual = question.default.as_ref().and_then(|usual| options.iter().position(|one| one == usual));
            let shown: Vec<String> = options.iter().map(|option| clean_lines(option)).collect();
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
        Ok(value) => Ok(Given::Value(value)),
        Err(InquireError::OperationCanceled) => Ok(Given::Instead(NoAnswer::Declined)),
        Err(InquireError::OperationInterrupted) => Ok(Given::Instead(NoAnswer::Cancelled)),
        Err(error) => Err(CommandError::io("cannot ask the question", &error)
            .hint("use `maestro workflow start` and `maestro workflow answer`")),
    }
}
