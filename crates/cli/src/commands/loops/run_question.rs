//! Question of a run, shown with the command that answers it, and asked where a person is at the terminal.

use std::fmt::Write as _;

use inquire::Select;
use maestro_api::runs::{self, RunAnswer};
use maestro_core::workflow::directive::Directive;
use maestro_core::workflow::run_reply::NextAction;
use serde_json::json;

use crate::client::CliClient;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::screen::clean;

/// A question that a run waits with.
pub(super) struct RunQuestion {
    run: String,
    directive: Box<Directive>,
}

impl RunQuestion {
    /// What a run asks now, if it asks something.
    pub(super) async fn of(client: &CliClient, run: &str) -> CommandResult<Option<Self>> {
        let state = client.send(runs::get(run)).await?;
        Ok(match state.next {
            NextAction::Directive { directive } if directive.question.is_some() => {
                Some(Self { run: run.to_owned(), directive })
            }
            _ => None,
        })
    }

    /// The question, and the command for each answer.
    pub(super) fn text(&self) -> String {
        let Some(question) = &self.directive.question else { return String::new() };
        let lines: Vec<String> = question.prompt.lines().map(|line| clean(line).into_owned()).collect();
        let mut text = format!("  asks: {}", lines.join("\n    "));
        let report = self.directive.report.join(" ");
        for option in self.options() {
            let _ = write!(text, "\n    {}: `{}`", clean(&option), clean(&report.replace("ANSWER", &option)));
        }
        text
    }

    /// Asks the person at the terminal, and passes the answer on. Who does not answer says nothing.
    pub(super) async fn ask(&self, client: &CliClient, world: &World) -> CommandResult<()> {
        if !world.terminals.stdin || !world.terminals.stderr || world.json || self.options().is_empty() {
            return Ok(());
        }
        let options = self.options();
        let asked = tokio::task::spawn_blocking(move || Select::new("Answer:", options).prompt_skippable());
        let Ok(Ok(Some(chosen))) = asked.await else { return Ok(()) };
        let ticket = self.directive.ticket.as_str().to_owned();
        let answer = RunAnswer { ticket: Some(ticket), value: Some(json!(chosen)), instead: None };
        match client.send(runs::answer(&self.run, &answer)).await {
            // Another person answered first.
            Err(error) if error.is_refusal() => Ok(()),
            other => other.map(drop),
        }
    }

    fn options(&self) -> Vec<String> {
        self.directive.question.as_ref().and_then(|question| question.options.clone()).unwrap_or_default()
    }
}
