//! Unfinished work of an earlier command: found before the same work starts again, and continued instead.

use std::path::Path;

use maestro_core::WorkState;
use maestro_engine::branches::RunBranch;

use super::LoopTarget;
use super::listing::PlanLoop;
use crate::client::CliClient;
use crate::host::world::World;
use crate::output::command_output::{self, CommandResult};
use crate::output::confirm::{EmptyAnswer, confirm};
use crate::output::error::CommandError;
use crate::output::screen::{clean, clean_path, count};

/// What a command does about the same work that was started before.
pub(super) enum EarlierWork {
    /// There is none, or it is done with: a new run starts.
    None,
    /// It goes on, and is followed.
    Live(PlanLoop),
    /// It is paused or stopped, and is continued.
    Resumed(PlanLoop),
}

/// Where work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkPlace {
    /// In a worktree of its own.
    Worktree,
    /// In the user's files.
    InPlace,
}

/// How a command continues what was started before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResumeConsent {
    /// It asks first.
    Asked,
    /// The user agreed on the command line.
    Given,
}

impl EarlierWork {
    /// What there is of this work.
    pub(super) fn find(
        client: &CliClient,
        target: &LoopTarget,
        place: WorkPlace,
        consent: ResumeConsent,
        world: &World,
    ) -> CommandResult<Self> {
        let same = |one: &PlanLoop| match target {
            LoopTarget::Plan { path, .. } => one.plan() == Some(path),
            LoopTarget::Task(task) => one.task() == Some(task),
            LoopTarget::Revision(_) => false,
        };
        let same = |one: &PlanLoop| same(one) && one.place() == place;
        let Some(one) = PlanLoop::all(client, world)?.into_iter().rfind(same) else { return Ok(Self::None) };
        match one.state() {
            WorkState::Queued | WorkState::Working | WorkState::Waiting => Ok(Self::Live(one)),
            WorkState::Paused | WorkState::Stopped if one.is_active() || has_branch(&one) => {
                agree(&one, consent, client, world)?;
                Ok(Self::Resumed(one))
            }
            WorkState::Ready if matches!(target, LoopTarget::Plan { .. }) && has_unmerged_commits(&one) => {
                warn_unmerged(&one, consent, client, world)?;
                Ok(Self::None)
            }
            _ => Ok(Self::None),
        }
    }
}

/// Whether what a run did is still on its branch.
pub(super) fn has_branch(one: &PlanLoop) -> bool {
    RunBranch::of_run(Path::new(&one.lead.workspace), one.id()).is_ok()
}

fn has_unmerged_commits(one: &PlanLoop) -> bool {
    let branch = RunBranch::of_run(Path::new(&one.lead.workspace), one.id());
    branch.is_ok_and(|branch| branch.head != branch.base && !branch.is_merged())
}

/// Makes sure that the user wants an earlier run to continue.
fn agree(one: &PlanLoop, consent: ResumeConsent, client: &CliClient, world: &World) -> CommandResult<()> {
    if consent == ResumeConsent::Given {
        return Ok(());
    }
    let said = describe(one, client)?;
    let short = client.short_ids();
    let id = clean(short.shorten(one.id())).into_owned();
    let is_over = one.state() == WorkState::Stopped;
    let cancel = if is_over { String::new() } else { format!("`maestro loop cancel {id}` and ") };
    let over = format!("to start over, run {cancel}`maestro discard {id} --yes`");
    if !world.terminals.stdin || !world.terminals.stderr {
        return Err(
            CommandError::refused(format!("run {id} {said}")).hint(format!("pass `--yes` to continue it; {over}"))
        );
    }
    if confirm(&format!("Run {id} {said}. Continue it?"), EmptyAnswer::Agrees)? {
        return Ok(());
    }
    Err(CommandError::refused("nothing was started").hint(over))
}

/// How a run stands, after its id: `of PLAN.md is paused, 2 of 5 tasks done`.
fn describe(one: &PlanLoop, client: &CliClient) -> CommandResult<String> {
    let what = match (one.plan(), one.task()) {
        (Some(plan), _) => format!("of {}", clean_path(plan)),
        (None, Some(task)) => format!("\"{}\"", clean(task)),
        (None, None) => String::new(),
    };
    let tasks = match one.progress(client)?.tasks() {
        Some((done, all)) if one.plan().is_some() && all > 0 => {
            format!(", {done} of {} done", count(all, "task", "tasks"))
        }
        _ => String::new(),
    };
    Ok(format!("{what} is {}{tasks}", one.state_words()))
}

/// Says that the plan was worked through before and is not merged; at a terminal, asks whether to do it again.
fn warn_unmerged(one: &PlanLoop, consent: ResumeConsent, client: &CliClient, world: &World) -> CommandResult<()> {
    let short = client.short_ids();
    let id = clean(short.shorten(one.id())).into_owned();
    let plan = clean_path(one.plan().unwrap_or_default()).into_owned();
    let said = format!("run {id} has worked through {plan} and is not merged");
    let hint = format!("review it with `maestro diff {id}`, then run `maestro merge {id}` or `maestro discard {id}`");
    if consent == ResumeConsent::Given || !world.terminals.stdin || !world.terminals.stderr {
        command_output::warn(&format!("{said}; {hint}"), world.note_paint);
        return Ok(());
    }
    if confirm(&format!("{said}. Start another one?"), EmptyAnswer::Refuses)? {
        return Ok(());
    }
    Err(CommandError::refused("nothing was started").hint(hint))
}
