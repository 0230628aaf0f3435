//! End of a run: its result, the reason, and what to do next.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use maestro_engine::branches::{Branch, uncommitted};
use maestro_engine::worktrees;
use serde_json::{Value as Json, json};

use super::Audience;
use crate::host::world::World;
use crate::output::error::{CommandError, Exit};
use crate::output::reply::Reply;
use crate::output::screen::{clean, clean_path};
use crate::server_process::own_server::Served;

/// Tells how the runs of a plan ended: programs get the whole state, people the reason and the way on. Of several it is the
/// first that did not get to the end, if there is one; what they did together is on the branch of the first.
pub(super) fn told(states: &[Json], audience: Audience, world: &World) -> Result<Reply, CommandError> {
    let failed = states.iter().find(|state| state["now"]["finished"]["outcome"] != "success");
    let state = failed.or(states.first()).unwrap_or(&Json::Null);
    let first = states.first().unwrap_or(state);
    let outcome = state["now"]["finished"]["outcome"].as_str().or(state["status"].as_str()).unwrap_or_default();
    let exit = if outcome == "success" { Exit::Ok } else { Exit::Failed };
    let id = first["id"].as_str().unwrap_or_default();
    let workspace = Path::new(state["workspace"].as_str().unwrap_or_default());
    // A run in place has left none, and what was merged meanwhile needs no words.
    let left = Branch::of_run(workspace, id).ok();
    if world.json {
        let mut state = state.clone();
        state["left"] = json!(left);
        state["next"] = json!(left.as_ref().map(|_| commands(id)));
        return Ok(Reply::json(&state)?.ending(exit));
    }
    let mut text = match reason(state) {
        // A workflow need not say anything about its end, and who cancels a run gives no reason.
        reason if reason.is_empty() => format!("\n{}\n", clean(outcome)),
        reason => format!("\n{}: {}\n", clean(outcome), reason.replace('\n', "\n  ")),
    };
    text.push_str(&match (&left, exit) {
        _ if audience == Audience::Spectator => String::new(),
        (Some(left), Exit::Ok) => taken_over(left, id),
        (Some(left), _) => stopped(left, id, world),
        (None, Exit::Failed) if uncommitted(workspace).is_ok_and(|files| !files.is_empty()) => {
            "Uncommitted changes are still in your files; run `git status` to see them.\n".to_owned()
        }
        (None, _) => String::new(),
    });
    for lane in states.iter().filter_map(lane) {
        let _ = writeln!(text, "Unfinished work is in {}.", clean_path(&world.short(&lane)));
    }
    Ok(Reply::text(text).ending(exit))
}

/// Where a run's work lies that could not be given to the branch of all.
fn lane(run: &Json) -> Option<PathBuf> {
    let name = format!("loop-{}{}", run["id"].as_str()?, worktrees::LANE);
    let path = worktrees::path(Path::new(run["workspace"].as_str()?), &name);
    path.is_dir().then_some(path)
}

/// What is said about a run's end, a line each.
pub(super) fn reason(run: &Json) -> String {
    let message = run["message"].as_str().unwrap_or_default();
    let lines: Vec<String> = message.lines().map(|line| clean(line).into_owned()).collect();
    lines.join("\n").trim_end().to_owned()
}

/// Where the work of a run lies that did not end well, as far as it is still there.
pub(super) fn worktree(run: &Json) -> Option<PathBuf> {
    let is_over_badly = matches!(run["status"].as_str(), Some("failed" | "cancelled"));
    let workspace = Path::new(run["workspace"].as_str().filter(|_| is_over_badly)?);
    let path = worktrees::path(workspace, &format!("loop-{}", run["id"].as_str()?));
    lane(run).or_else(|| path.is_dir().then_some(path))
}

/// What can be done with what a run left.
fn commands(id: &str) -> [String; 3] {
    ["diff", "merge", "discard"].map(|word| format!("maestro {word} {id}"))
}

fn taken_over(left: &Branch, id: &str) -> String {
    if left.head == left.base {
        return String::new();
    }
    let [diff, merge, _] = commands(&clean(id));
    format!("Branch {}: review with `{diff}`, merge with `{merge}`.\n", clean(&left.branch))
}

fn stopped(left: &Branch, id: &str, world: &World) -> String {
    let [diff, merge, discard] = commands(&clean(id));
    let committed = left.head != left.base;
    let mut text = if committed {
        format!("Commits are on {}: review with `{diff}`.\n", clean(&left.branch))
    } else {
        "No commits.\n".to_owned()
    };
    if let Some(tree) = left.worktree.as_ref().filter(|_| !left.uncommitted.is_empty()) {
        let tree = clean_path(&world.short(tree)).into_owned();
        let _ = writeln!(text, "Uncommitted changes are in {tree}: commit or stash them.");
    }
    if committed || !left.uncommitted.is_empty() {
        let then = if left.uncommitted.is_empty() { "" } else { "Then " };
        let _ = writeln!(text, "{then}`{merge}` merges it, and the same command continues with the rest.");
    }
    let _ = writeln!(text, "`{discard}` deletes its branch and worktree.");
    text
}

/// Reports how a run continues after this command stops waiting.
pub(super) fn left_alone(id: &str, served: &Served, world: &World) -> Result<Reply, CommandError> {
    if world.json {
        return Ok(Reply::json(&json!({ "id": id, "interrupted": true }))?.ending(Exit::Failed));
    }
    let id = clean(id);
    let then = match served.own {
        Some(_) => format!("run {id} continues when a server runs; start one with `maestro up`"),
        None => format!("run {id} continues; stop it with `maestro loop cancel {id}`"),
    };
    Ok(Reply::text(format!("\ninterrupted: {then}\n")).ending(Exit::Failed))
}
