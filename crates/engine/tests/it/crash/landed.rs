//! Work that is put on top of another run's and landed: once, and checked together, wherever its driver dies.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use maestro_core::workflow::StepOutcome;
use maestro_core::workflow::pinned_definition::{PinnedDefinition, PinnedText};
use maestro_core::workflow::run::{FileState, RunInput};
use maestro_core::workflow::run_reply::NextAction;
use serde_json::Map;

use super::mortal::{Ended, Process, Shop};
use crate::execute::Place;

const LANE: &str = "\
name: lane
description: One task beside another run's.
variables:
  caught: {type: object, fields: {changed: {type: bool, default: false}}}
  landing: {type: object, fields: {landed: {type: bool, default: false}, left: {type: string, default: ''}}}
steps:
- {id: trunk, type: command, command: {builtin: branch.open, name: all}}
- {id: open, type: command, command: {builtin: worktree.open, name: one-lane, base: maestro/all}}
- {id: work, type: agent, outcomes: [ok]}
- {id: catch-up, type: command, command: {builtin: git.catch_up, onto: all, plan: PLAN.md, in: .maestro/worktrees/one-lane}, parse: json, store: caught, max_visits: 5, next: {ok: together, exhausted: never}}
- {id: together, type: conditional, cases: [{when: caught.changed, next: check}], else: land}
- {id: check, type: command, idempotent: true, shell: {script: 'echo checked >> effects'}}
- {id: land, type: command, command: {builtin: git.land, onto: all, message: Mine, plan: PLAN.md, line: '1', text: Mine, in: .maestro/worktrees/one-lane}, parse: json, store: landing}
- {id: landed, type: conditional, cases: [{when: landing.landed, next: done}, {when: landing.left is not empty, next: never}], else: catch-up}
- {id: done, type: end}
- {id: never, type: end, status: failure, message: '{landing.left}'}
";

fn git(workspace: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(arguments);
    git.current_dir(workspace).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = git.output().unwrap();
    assert!(output.status.success(), "{arguments:?} {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository with a plan of two tasks.
fn repository(workspace: &Path) {
    git(workspace, &["init", "--quiet", "--initial-branch", "main"]);
    fs::write(workspace.join("PLAN.md"), "- [ ] Mine\n- [ ] Other\n").unwrap();
    git(workspace, &["add", "--all"]);
    git(workspace, &["commit", "--quiet", "-m", "first"]);
}

/// The work of this run's agent, and beside it another run's that lands first.
fn work(workspace: &Path) {
    fs::write(workspace.join(".maestro/worktrees/one-lane/mine"), "mine\n").unwrap();
    if git(workspace, &["log", "--format=%s", "maestro/all"]).contains("Other") {
        return;
    }
    git(workspace, &["worktree", "add", "--quiet", "other", "maestro/all"]);
    let other = workspace.join("other");
    fs::write(other.join("PLAN.md"), "- [ ] Mine\n- [x] Other\n").unwrap();
    git(&other, &["commit", "--quiet", "--all", "-m", "Other"]);
    git(workspace, &["worktree", "remove", "other"]);
}

async fn go_on(process: &Process, workspace: &Path) -> Result<Option<String>, Ended> {
    let id = if let Some(id) = process.find(workspace).await {
        id
    } else {
        let text = PinnedText { text: LANE.to_owned(), folder: "/".to_owned(), resources: BTreeMap::new() };
        let definitions = BTreeMap::from([("lane".to_owned(), text)]);
        process.start(PinnedDefinition { main: "lane".to_owned(), definitions }, workspace, Map::new()).await?
    };
    process.drive(id).await?;
    match process.get(id).await?.reply.next {
        NextAction::Directive { directive } => {
            work(workspace);
            let (outcome, seen) = (Some(StepOutcome::OK), FileState::default());
            let (set, result) = (Map::new(), Map::new());
            let report = RunInput::Report { ticket: directive.ticket, outcome, set, result, seen, now: 0 };
            process.write(id, report).await?;
            Ok(None)
        }
        NextAction::Finished { finished, message } => Ok(Some(format!("{:?} {message:?}", finished.status))),
        other => panic!("nobody is to do anything: {other:?}"),
    }
}

/// Walks to the end, and returns how often the first process could have died.
async fn walk(shop: &Shop, dies_at: usize) -> usize {
    let workspace = shop.workspace(dies_at);
    repository(&workspace);
    let mut process = shop.process(dies_at);
    let ended = loop {
        match go_on(&process, &workspace).await {
            Ok(Some(ended)) => break ended,
            Ok(None) => {}
            Err(Ended::Died) => process = shop.process(usize::MAX),
            Err(Ended::Refused(error)) => panic!("dead at {dies_at}: {error}"),
        }
    };
    assert_eq!(ended, "Completed None", "dead at {dies_at}");
    let landed = git(&workspace, &["log", "--format=%s", "maestro/all"]);
    assert_eq!(landed, "Mine\nOther\nfirst", "dead at {dies_at}");
    assert_eq!(git(&workspace, &["show", "maestro/all:PLAN.md"]), "- [x] Mine\n- [x] Other", "dead at {dies_at}");
    let checked = fs::read_to_string(workspace.join("effects")).unwrap_or_default();
    assert!(checked.starts_with("checked\n"), "dead at {dies_at}: nothing lands unchecked");
    process.moments()
}

#[test]
fn work_lands_once_and_checked_wherever_its_driver_dies() {
    let place = Place::new();
    fs::write(place.path("home/.gitconfig"), "[user]\n\tname = A\n\temail = a@example.com\n").unwrap();
    let shop = Shop::new(&place, "lanes");
    let moments = shop.block_on(walk(&shop, usize::MAX));
    for moment in 1..=moments {
        shop.block_on(walk(&shop, moment));
    }
    println!("{moments} boundaries were tried");
}
