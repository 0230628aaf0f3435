//! Choice of a plan's next task, and its checkbox.

use std::path::{Path, PathBuf};

use maestro_core::plan::{self, PlanTaskStatus};
use maestro_skills::read_bounded;
use serde_json::{Value as Json, json};

use super::aside_records::AsideRecords;
use super::files::inside;
use super::{BuiltinCall, BuiltinError, PickTurn};
use crate::execute::Limits;
use crate::plan_files::{PlanWriter, replace_plan};
use crate::worktrees;

/// How large a plan may be.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// The same, from git's output.
pub(super) const PLAN_BYTES: usize = 16 * 1024 * 1024;

/// How many times an agent chooses a task itself, where no number of tasks was given.
const MOST_CHOICES: u32 = 50;

/// The next open task; `done` says that there is none, `enough` that no more were requested. In a plan without a single
/// box (`boxes` is false) the worker chooses the task; `endless` says that this was done too often. There is never one
/// `later`: no other run works through the plan. Tasks that were set aside are left out with what comes after them; once
/// nothing else is left, it fails and explains them.
pub(super) fn next(workspace: &Path, path: &str, turn: PickTurn, aside: &AsideRecords) -> Result<Json, String> {
    let (_, text) = text(workspace, path)?;
    let plan = plan::parse_plan(&text);
    let boxes = !plan.tasks.is_empty();
    let open = plan.tasks.iter().filter(|task| task.is_pending()).count();
    let enough = turn.most > 0 && turn.visit > turn.most;
    let task = aside.tasks().select_task(&plan);
    if let Some(explained) = aside.explain(&plan).filter(|_| task.is_none()) {
        return Err(explained);
    }
    Ok(match task {
        Some(task) => json!({
            "done": false,
            "label": task.label,
            "line_number": task.line_number,
            "section": task.section.unwrap_or_default(),
            "skill_hints": task.skill_hints,
            "open": open,
            "enough": enough,
            "boxes": boxes,
            "endless": false,
            "later": false,
        }),
        None if !boxes && !text.trim().is_empty() => json!({
            "done": false,
            "label": format!("Choose the next open task of {path} and do it"),
            "line_number": 0,
            "section": "",
            "skill_hints": [],
            "open": 0,
            "enough": enough,
            "boxes": boxes,
            "endless": turn.most == 0 && turn.visit > MOST_CHOICES,
            "later": false,
        }),
        None => json!({
            "done": true, "label": "", "line_number": 0, "section": "", "skill_hints": [], "open": 0, "enough": false,
            "boxes": boxes, "endless": false, "later": false,
        }),
    })
}

impl BuiltinCall<'_> {
    /// Ticks a task's box. In a worktree only the agent could have ticked others.
    pub(super) async fn tick(&self) -> Result<Json, BuiltinError> {
        let (workspace, plan, label) =
            (&self.executor.env().workspace, self.required_argument("plan")?, self.required_argument("text")?);
        if worktrees::name_of(workspace).is_some()
            && let Ok(before) = self.committed(plan).await
        {
            check_other_ticks(&before, &text(workspace, plan)?.1, label)?;
        }
        Ok(tick(workspace, plan, self.line()?, label)?)
    }

    /// A plan as the last commit has it.
    async fn committed(&self, plan: &str) -> Result<String, BuiltinError> {
        let limits = Limits { output: PLAN_BYTES, ..self.limits };
        let head = self.commit_of("HEAD").await?;
        (BuiltinCall { limits, ..*self }).git(&["cat-file", "blob", &format!("{head}:./{plan}")]).await
    }
}

/// Ticks the task that stands at a line and says just this; where the plan was edited meanwhile, the first open one that
/// says it. One that is ticked stays so.
fn tick(workspace: &Path, path: &str, line: usize, label: &str) -> Result<Json, String> {
    let (file, text) = text(workspace, path)?;
    let plan = plan::parse_plan(&text);
    let wanted = one_line(label);
    let equal: Vec<&plan::PlanTask> = plan.tasks.iter().filter(|task| one_line(&task.label) == wanted).collect();
    let there = equal.iter().find(|task| task.line_number == line);
    let task = there.or_else(|| equal.iter().find(|task| task.status == PlanTaskStatus::Open)).or(equal.first());
    let task = task.ok_or_else(|| format!("no task of `{path}` says `{label}` any more"))?;
    let line = task.line_number;
    let said = |changed: bool| json!({ "line_number": line, "label": task.label, "changed": changed });
    match task.status {
        PlanTaskStatus::Done | PlanTaskStatus::Reviewed => return Ok(said(false)),
        PlanTaskStatus::Open => {}
        PlanTaskStatus::Deferred | PlanTaskStatus::Optional | PlanTaskStatus::Other(_) => {
            return Err(format!("line {line} of `{path}` is not open"));
        }
    }
    let ticked = with_tick(&text, line, task.column).ok_or_else(|| format!("line {line} of `{path}` has no box"))?;
    let is_done = |task: &plan::PlanTask| task.line_number == line && task.status == PlanTaskStatus::Done;
    if !plan::parse_plan(&ticked).tasks.iter().any(is_done) {
        return Err(format!("line {line} of `{path}` cannot be ticked"));
    }
    replace_plan(&file, &ticked, PlanWriter::Run).map_err(|error| format!("`{path}` cannot be written: {error}"))?;
    Ok(said(true))
}

/// Refuses a plan in which boxes of other tasks were ticked or removed since a commit: those tasks would never be done.
pub(super) fn check_other_ticks(before: &str, now: &str, label: &str) -> Result<(), String> {
    let done = |task: &plan::PlanTask| matches!(task.status, PlanTaskStatus::Done | PlanTaskStatus::Reviewed);
    let count = |plan: &plan::Plan, label: &str| {
        plan.tasks.iter().filter(|task| done(task) && one_line(&task.label) == label).count()
    };
    let (before, now) = (plan::parse_plan(before), plan::parse_plan(now));
    let own = one_line(label);
    let mut others: Vec<String> = Vec::new();
    for task in now.tasks.iter().filter(|task| done(task)) {
        let label = one_line(&task.label);
        let allowed = count(&before, &label) + usize::from(label == own);
        if before.tasks.iter().any(|task| one_line(&task.label) == label) && count(&now, &label) > allowed {
            others.push(label);
        }
    }
    others.dedup();
    if !others.is_empty() {
        return Err(format!("boxes were ticked that belong to other tasks: {}", others.join("; ")));
    }
    let mut cleared: Vec<String> =
        before.tasks.iter().filter(|task| done(task)).map(|task| one_line(&task.label)).collect();
    cleared.retain(|label| {
        count(&now, label) < count(&before, label) && now.tasks.iter().any(|task| one_line(&task.label) == *label)
    });
    cleared.dedup();
    if !cleared.is_empty() {
        return Err(format!("boxes of finished tasks were cleared: {}", cleared.join("; ")));
    }
    let all = |plan: &plan::Plan, label: &str| plan.tasks.iter().filter(|task| one_line(&task.label) == label).count();
    let mut gone: Vec<String> = before.tasks.iter().map(|task| one_line(&task.label)).collect();
    gone.retain(|label| all(&now, label) < all(&before, label));
    gone.dedup();
    match gone.as_slice() {
        [] => Ok(()),
        gone => Err(format!("tasks are missing that were there before: {}", gone.join("; "))),
    }
}

/// The text with the box at a place ticked; its column does not count a byte order mark.
fn with_tick(text: &str, line: usize, column: usize) -> Option<String> {
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let mark = if line == 1 && text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let at = start + mark + column - 1;
    let rest = text.get(at..)?.strip_prefix("[ ]")?;
    Some(format!("{}[x]{rest}", &text[..at]))
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn text(workspace: &Path, path: &str) -> Result<(PathBuf, String), String> {
    let file = inside(workspace, path)?.filter(|file| file.is_file());
    let file = file.ok_or_else(|| format!("there is no plan `{path}`"))?;
    let contents = read_bounded(&file, MAX_BYTES).map_err(|error| format!("`{path}` cannot be read: {error}"))?;
    if contents.cut {
        return Err(format!("the plan `{path}` has more than {MAX_BYTES} bytes"));
    }
    let text = String::from_utf8(contents.bytes).map_err(|_| format!("the plan `{path}` is not UTF-8 text"))?;
    Ok((file, text))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const PLAN: &str = "\u{feff}- [ ] first\n  - [ ] inner *task*\r\n- [x] done\n- [ ]? maybe\n";

    #[test]
    fn the_next_task_is_ticked_once_and_only_where_it_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let plan = dir.path().join("PLAN.md");
        fs::write(&plan, PLAN).unwrap();
        let read = || fs::read_to_string(&plan).unwrap();
        let next = |key: &str| {
            next(dir.path(), "PLAN.md", PickTurn { visit: 1, most: 0 }, &AsideRecords::default()).unwrap()[key].clone()
        };
        let tick = |line, label: &str| tick(dir.path(), "PLAN.md", line, label);
        assert_eq!((next("label"), next("line_number"), next("open")), (json!("inner *task*"), json!(2), json!(2)));
        assert_eq!(tick(2, "other"), Err("no task of `PLAN.md` says `other` any more".to_owned()));
        assert!(tick(4, "maybe").is_err());
        assert_eq!(read(), PLAN);
        assert_eq!(tick(2, "inner  *task*").unwrap()["changed"], json!(true));
        assert_eq!(tick(2, "inner *task*").unwrap()["changed"], json!(false));
        assert_eq!(read(), PLAN.replace("  - [ ] inner", "  - [x] inner"));
        assert_eq!(tick(1, "first").unwrap()["changed"], json!(true));
        assert!(read().starts_with("\u{feff}- [x] first\n"));
        assert_eq!(next("done"), json!(true));
    }

    #[test]
    fn what_was_left_of_a_tick_that_was_cut_short_is_gone_after_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let (plan, elsewhere) = (dir.path().join("PLAN.md"), dir.path().join("elsewhere"));
        fs::write(&plan, "- [ ] one\n").unwrap();
        fs::write(&elsewhere, "mine").unwrap();
        std::os::unix::fs::symlink(&elsewhere, dir.path().join(".PLAN.md.ticked")).unwrap();
        tick(dir.path(), "PLAN.md", 1, "one").unwrap();
        assert_eq!(fs::read_to_string(&plan).unwrap(), "- [x] one\n");
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn only_its_own_box_may_be_ticked_already() {
        let before = "- [ ] a\n- [ ] b\n- [x] c\n- [ ] b\n";
        assert_eq!(check_other_ticks(before, before, "a"), Ok(()));
        assert_eq!(check_other_ticks(before, "- [x] a\n- [ ] b\n- [x] c\n- [ ] b\n- [x] new\n", "a"), Ok(()));
        assert_eq!(check_other_ticks(before, "- [ ] a\n- [x] b\n- [x] c\n- [ ] b\n", "b"), Ok(()));
        let told = "boxes were ticked that belong to other tasks: b".to_owned();
        assert_eq!(check_other_ticks(before, "- [x] a\n- [x] b\n- [x] c\n- [ ] b\n", "a"), Err(told.clone()));
        assert_eq!(
            check_other_ticks(before, "- [x] a\n- [x] b\n- [x] c\n- [x] b\n", "b"),
            Err("boxes were ticked that belong to other tasks: a; b".to_owned())
        );
        let gone = "tasks are missing that were there before: b".to_owned();
        assert_eq!(check_other_ticks(before, "- [x] a\n- [x] c\n- [ ] b\n", "a"), Err(gone));
        assert!(check_other_ticks(before, "", "a").is_err());
        let cleared = "boxes of finished tasks were cleared: c".to_owned();
        assert_eq!(check_other_ticks(before, &before.replace("[x]", "[ ]"), "a"), Err(cleared));
    }

    #[test]
    fn a_task_that_moved_is_found_by_what_it_says() {
        let dir = tempfile::tempdir().unwrap();
        let plan = dir.path().join("PLAN.md");
        fs::write(&plan, "- [x] same\n\nA new line.\n\n- [ ] same\n- [ ] other\n- [ ] same\n").unwrap();
        let told = tick(dir.path(), "PLAN.md", 2, "same").unwrap();
        assert_eq!((&told["line_number"], &told["changed"]), (&json!(5), &json!(true)));
        let read = fs::read_to_string(&plan).unwrap();
        assert_eq!(read, "- [x] same\n\nA new line.\n\n- [x] same\n- [ ] other\n- [ ] same\n");
    }
    #[test]
    fn of_a_plan_without_boxes_somebody_chooses_but_not_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let next = |text: &str, visit, most| {
            fs::write(dir.path().join("PLAN.md"), text).unwrap();
            next(dir.path(), "PLAN.md", PickTurn { visit, most }, &AsideRecords::default()).unwrap()
        };
        let prose = "# Plan\n\nWrite a letter. Then write another one.\n";
        let first = next(prose, 1, 0);
        assert_eq!((&first["done"], &first["boxes"], &first["line_number"]), (&json!(false), &json!(false), &json!(0)));
        assert_eq!(first["label"], "Choose the next open task of PLAN.md and do it");
        assert_eq!((&next(prose, 50, 0)["endless"], &next(prose, 51, 0)["endless"]), (&json!(false), &json!(true)));
        let asked = |visit| {
            let next = next(prose, visit, 70);
            (next["enough"].clone(), next["endless"].clone())
        };
        assert_eq!((asked(70), asked(71)), ((json!(false), json!(false)), (json!(true), json!(false))));
        assert_eq!(next("- [x] a letter\n", 1, 0)["done"], json!(true), "boxes that are all ticked are boxes");
        assert_eq!(next(" \n", 1, 0)["done"], json!(true), "nothing is written, so nothing is to be done");
    }
}
