//! `maestro skills why`: how one skill stands for a task, word by word.

use std::fmt::Write as _;
use std::sync::Arc;

use maestro_core::event::Verdict;
use maestro_core::plan::skill_hints;
use maestro_skills::{Catalogue, Selector};
use serde_json::json;

use super::find;
use crate::error::CommandError;
use crate::reply::Reply;
use crate::screen::{clean, pad};
use crate::world::World;

pub(super) fn run(catalogue: &Arc<Catalogue>, name: &str, task: &str, world: &World) -> Result<Reply, CommandError> {
    let skill = find(catalogue, name)?;
    let selector = Selector::for_task(Arc::clone(catalogue), task);
    let standing = selector.explain(task, skill);
    if world.json {
        return Reply::json(&json!({ "name": skill.id, "standing": standing, "threshold": selector.threshold() }));
    }
    if skill_hints(task).iter().any(|hint| hint == skill.id.as_str()) {
        let text = format!("{} is named in the task, and that decides.\n", clean(skill.id.as_str()));
        return Ok(Reply::text(text));
    }
    let shown = world.paint.skill(&clean(skill.id.as_str()));
    let Some(standing) = standing else {
        return Ok(Reply::text(format!("{shown} has none of the task's words, in name, description or text.\n")));
    };
    let bar = selector.threshold();
    let verdict = if standing.verdict == Verdict::Chosen { "enough" } else { "not enough" };
    let mut text = format!("{shown} scores {:.1}, {verdict}: a first choice needs {bar:.1}\n\n", standing.score);
    for term in &standing.terms {
        let _ = writeln!(text, "  {:>5.1}  {}", term.adds, pad(&clean(&term.word), 20).trim_end());
    }
    if !skill.invocation.by_model {
        text.push_str("\nIt is chosen only when somebody names it.\n");
    }
    Ok(Reply::text(text))
}
