//! Question of a run, shown with the command that answers it, and asked where a person is at the terminal.

use inquire::Select;
use maestro_api::runs::{self, RunAnswer};
use maestro_core::short_id::ShortIds;
use maestro_core::workflow::directive::Directive;
use maestro_core::workflow::run_reply::NextAction;
use serde_json::json;

use crate::client::CliClient;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::screen::clean;

/// The step of the built-in workflow that asks whether to go on although the checks fail before any change.
const RED_BASE: &str = "base-red";
/// The answer that lets it go on.
const GO_ON: &str = "go-on";

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

    /// Answers in the user's name that a run goes on although its checks fail before any change, if it asks that.
    pub(super) async fn go_on(client: &CliClient, run: &str) -> CommandResult<()> {
        match Self::of(client, run).await? {
            Some(question) if question.directive.step.id.as_str() == RED_BASE => question.answer(GO_ON, client).await,
            _ => Ok(()),
        }
    }

    /// The question, and the command that answers it.
    pub(super) fn text(&self, short: &ShortIds) -> String {
        let Some(question) = &self.directive.question else { return String::new() };
        let lines: Vec<String> = question.prompt.lines().map(|line| clean(line).into_owned()).collect();
        let answers = match self.options().as_slice() {
            [] => "\"TEXT\"".to_owned(),
            options => clean(&options.join("|")).into_owned(),
        };
        let run = clean(short.shorten(&self.run));
        format!("  asks: {}\n    answer with `maestro session answer {run} {answers}`", lines.join("\n    "))
    }

    /// Asks the person at the terminal, and passes the answer on. Who does not answer says nothing.
    pub(super) async fn ask(&self, client: &CliClient, world: &World) -> CommandResult<()> {
        if !world.terminals.stdin || !world.terminals.stderr || world.json || self.options().is_empty() {
            return Ok(());
        }
        let options = self.options();
        let asked = tokio::task::spawn_blocking(move || Select::new("Answer:", options).prompt_skippable());
        let Ok(Ok(Some(chosen))) = asked.await else { return Ok(()) };
        self.answer(&chosen, client).await
    }

    async fn answer(&self, chosen: &str, client: &CliClient) -> CommandResult<()> {
        let ticket = self.directive.ticket.as_str().to_owned();
        let answer = RunAnswer { ticket: Some(ticket), value: Some(json!(chosen)), ..RunAnswer::default() };
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
