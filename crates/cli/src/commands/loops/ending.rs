//! End of a run: its result, the reason, and what to do next.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use maestro_api::ReceivedReply;
use maestro_api::runs::{RunBody, RunSummary};
use maestro_core::WorkState;
use maestro_core::plan::{PlanTask, PlanTaskStatus, parse_plan};
use maestro_core::short_id::ShortIds;
use maestro_core::workflow::definition::EndStatus;
use maestro_core::workflow::run::RunState;
use maestro_core::workflow::run_reply::NextAction;
use maestro_engine::branches::{BranchError, RunBranch, uncommitted};
use maestro_engine::worktrees;
use serde_json::json;

use super::follow::FollowedLoop;
use super::usage::LoopUsage;
use super::{LoopAudience, interruption};
use crate::client::own_server::ServedClient;
use crate::host::world::World;
use crate::output::command_output::{self, CommandOutput, CommandResult};
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::{clean, clean_lines, clean_path};

/// Tells how the runs of a plan ended: programs get the whole state, people the reason and the way on. Of several it is the
/// first that did not get to the end, if there is one; what they did together is on one branch.
pub(super) fn end_report(
    states: &[ReceivedReply<RunBody>],
    followed: &FollowedLoop,
    usage: &LoopUsage,
    audience: LoopAudience,
    short: &ShortIds,
    world: &World,
) -> CommandResult {
    let succeeded = |state: &&ReceivedReply<RunBody>| ended(&state.value) == Some(EndStatus::Success);
    let failed = states.iter().find(|state| !succeeded(state));
    let Some(state) = failed.or(states.first()) else {
        return Err(CommandError::internal("no run was followed"));
    };
    let run = &state.value.summary;
    let exit = if succeeded(&state) { ExitKind::Ok } else { ExitKind::Failed };
    let (id, plan) = (followed.branch_run.as_str(), followed.plan.as_deref());
    let named = clean(short.shorten(id)).into_owned();
    let workspace = Path::new(&run.workspace);
    let left = match RunBranch::of_run(workspace, id) {
        Ok(branch) => Some(branch),
        Err(error) => {
            // A run in place has left none, and what was merged meanwhile needs no words.
            if !matches!(error, BranchError::None) {
                tracing::warn!(run = id, "its branch cannot be looked up: {error}");
            }
            None
        }
    };
    if world.json {
        let mut raw = state.raw.clone();
        if let Some(raw) = raw.as_object_mut() {
            raw.insert("left".to_owned(), json!(left));
            raw.insert("usage".to_owned(), usage.json());
            raw.insert("next".to_owned(), json!(left.as_ref().map(|_| commands(id))));
        }
        return Ok(CommandOutput::json(&raw)?.with_exit(exit));
    }
    let mut text = end_words(run);
    for other in other_reasons(states, run) {
        let _ = writeln!(text, "  {}", other.replace('\n', "\n  "));
    }
    if audience == LoopAudience::Owner {
        text.push_str(&left.as_ref().map(commit_lines).unwrap_or_default());
        text.push_str(&plan.map(|plan| excluded_tasks(plan, left.as_ref(), workspace)).unwrap_or_default());
        text.push_str(
            &plan.zip(left.as_ref()).map(|(plan, left)| unknown_tasks(plan, left, workspace)).unwrap_or_default(),
        );
        text.push_str(&usage.line());
    }
    text.push_str(&match (&left, exit) {
        _ if audience == LoopAudience::Spectator => String::new(),
        (Some(left), ExitKind::Ok) => attach_hint(left, &named),
        (Some(left), _) => stop_reason(left, &named, world),
        (None, ExitKind::Failed) if uncommitted(workspace).is_ok_and(|files| !files.is_empty()) => {
            "Uncommitted changes are still in your files; run `git status` to see them.\n".to_owned()
        }
        (None, _) => String::new(),
    });
    for lane in states.iter().filter_map(|state| unmerged_lane(&state.value.summary)) {
        let _ = writeln!(text, "Unfinished work is in {}.", clean_path(&world.display_path(&lane)));
    }
    Ok(CommandOutput::text(text).with_exit(exit))
}

/// How a run stands at its end, and why. A workflow need not say anything about its end.
fn end_words(run: &RunSummary) -> String {
    let state = run.state.label();
    let reason = reason(run);
    let reason = if reason.is_empty() { run.state_reason.clone().unwrap_or_default() } else { reason };
    match reason.strip_prefix("Stopped at: ") {
        Some(task) if run.state == WorkState::Stopped => format!("\nstopped at: {}\n", task.replace('\n', "\n  ")),
        _ if reason.is_empty() => format!("\n{state}\n"),
        _ => format!("\n{state}: {}\n", clean_lines(&reason).replace('\n', "\n  ")),
    }
}

/// The commits that a run made.
fn commit_lines(left: &RunBranch) -> String {
    let commits = match left.commits() {
        Ok(commits) => commits,
        Err(error) => {
            tracing::warn!("its commits cannot be listed: {error}");
            return String::new();
        }
    };
    let mut text = String::new();
    for (at, commit) in commits.iter().enumerate() {
        let lead = if at == 0 { "Commits:\n" } else { "" };
        let _ = writeln!(text, "{lead}  {}", clean(commit));
    }
    text
}

/// The open boxes of a plan that its own text excludes from the work.
fn excluded_tasks(plan: &str, left: Option<&RunBranch>, workspace: &Path) -> String {
    let on_branch = left.and_then(|left| left.file(plan).ok());
    let Some(text) = on_branch.or_else(|| std::fs::read_to_string(workspace.join(plan)).ok()) else {
        return String::new();
    };
    let parsed = parse_plan(&text);
    let is_excluded = |task: &&PlanTask| {
        let is_done = matches!(task.status, PlanTaskStatus::Done | PlanTaskStatus::Reviewed);
        !is_done && !task.is_pending()
    };
    let excluded: Vec<String> =
        parsed.tasks.iter().filter(is_excluded).map(|task| clean(&task.label).into_owned()).collect();
    match excluded.as_slice() {
        [] => String::new(),
        excluded => format!("Left out, as {} says: {}\n", clean_path(plan), excluded.join("; ")),
    }
}

/// The open tasks that the plan in the project has and the branch has not: they were written while the run worked.
fn unknown_tasks(plan: &str, left: &RunBranch, workspace: &Path) -> String {
    let (Ok(branch), Ok(here)) = (left.file(plan), std::fs::read_to_string(workspace.join(plan))) else {
        return String::new();
    };
    let known: Vec<String> = parse_plan(&branch).tasks.into_iter().map(|task| task.label).collect();
    let here = parse_plan(&here);
    let unknown = here.tasks.iter().filter(|task| task.is_pending() && !known.contains(&task.label));
    let unknown: Vec<String> = unknown.map(|task| clean(&task.label).into_owned()).collect();
    match unknown.as_slice() {
        [] => String::new(),
        unknown => format!(
            "Not done, because {0} got them after the run began: {1}\nMerge first, then `maestro loop {0}` does them.\n",
            clean_path(plan),
            unknown.join("; ")
        ),
    }
}

/// How a run ended, if it came to an end.
fn ended(run: &RunBody) -> Option<EndStatus> {
    match &run.next {
        NextAction::Finished { finished, .. } => finished.outcome,
        _ => None,
    }
}

/// Where a run's work lies that could not be given to the branch of all.
fn unmerged_lane(run: &RunSummary) -> Option<PathBuf> {
    let name = format!("loop-{}{}", run.id, worktrees::LANE);
    let path = worktrees::path(Path::new(&run.workspace), &name);
    path.is_dir().then_some(path)
}

/// Why the other runs did not get to the end, each reason once.
fn other_reasons(states: &[ReceivedReply<RunBody>], run: &RunSummary) -> Vec<String> {
    let stopped = states.iter().filter(|state| ended(&state.value) != Some(EndStatus::Success));
    let mut reasons: Vec<String> = stopped.map(|state| reason(&state.value.summary)).collect();
    reasons.retain(|other| !other.is_empty() && *other != reason(run));
    reasons.dedup();
    reasons
}

/// What is said about a run's end, a line each.
pub(super) fn reason(run: &RunSummary) -> String {
    let message = run.message.as_deref().unwrap_or_default();
    let lines: Vec<String> = message.lines().map(|line| clean(line).into_owned()).collect();
    lines.join("\n").trim_end().to_owned()
}

/// Where the work of a run lies that did not end well, as far as it is still there.
pub(super) fn worktree(run: &RunSummary) -> Option<PathBuf> {
    if !matches!(run.status, RunState::Failed | RunState::Cancelled) {
        return None;
    }
    let path = worktrees::path(Path::new(&run.workspace), &format!("loop-{}", run.id));
    unmerged_lane(run).or_else(|| path.is_dir().then_some(path))
}

/// What can be done with what a run left.
pub(super) fn commands(id: &str) -> [String; 3] {
    ["diff", "merge", "discard"].map(|word| format!("maestro {word} {id}"))
}

fn attach_hint(left: &RunBranch, id: &str) -> String {
    if left.head == left.base {
        return String::new();
    }
    let [diff, merge, _] = commands(id);
    format!("Branch {}: review with `{diff}`, merge with `{merge}`.\n", clean(&left.branch))
}

fn stop_reason(left: &RunBranch, id: &str, world: &World) -> String {
    let [diff, merge, discard] = commands(id);
    let committed = left.head != left.base;
    let mut text = if committed {
        format!("Commits are on {}: review with `{diff}`.\n", clean(&left.branch))
    } else {
        "No commits.\n".to_owned()
    };
    if let Some(tree) = left.worktree.as_ref().filter(|_| !left.uncommitted.is_empty()) {
        let tree = clean_path(&world.display_path(tree)).into_owned();
        let _ = writeln!(text, "Uncommitted changes are in {tree}.");
    }
    if committed || !left.uncommitted.is_empty() {
        let all = if left.uncommitted.is_empty() { "" } else { " --all" };
        let _ = writeln!(text, "`{merge}{all}` merges it.");
    }
    let _ = writeln!(text, "`maestro loop resume {id}` continues it; `{discard}` deletes its branch and worktree.");
    text
}

/// Pauses what was followed, and says how it goes on.
pub(super) fn paused_reply(followed: &FollowedLoop, served: ServedClient, world: &World) -> CommandResult {
    interruption::end_with_next_interrupt();
    if !world.json {
        command_output::show("\npausing (Ctrl-C again to end at once)\n")?;
    }
    interruption::pause(&served.client, &followed.runs)?;
    let id = followed.runs.first().map(String::as_str).unwrap_or_default();
    let short = served.client.short_ids();
    let shown = clean(short.shorten(id)).into_owned();
    // Its agents end with it; the next one starts them again.
    drop(served);
    if world.json {
        let reply = json!({ "id": id, "interrupted": true, "state": WorkState::Paused });
        return Ok(CommandOutput::json(&reply)?.with_exit(ExitKind::Failed));
    }
    let text = format!(
        "paused: run `{}` or `maestro loop resume {shown}` to continue, `maestro loop cancel {shown}` to end it\n",
        followed.name
    );
    Ok(CommandOutput::text(text).with_exit(ExitKind::Failed))
}
