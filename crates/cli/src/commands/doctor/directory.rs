//! Check whether the current directory can be a project at all.

use maestro_core::{Problem, ProblemCode, ProblemSeverity};

use crate::host::world::World;

/// The problem, if this is the user's home directory or the root: what a tool starts here sees no project's skills.
pub(super) fn problem(world: &World) -> Option<Problem> {
    let here = &world.places.working_dir;
    let what = if here.parent().is_none() {
        "the root directory"
    } else if world.places.home.canonicalize().is_ok_and(|home| home == *here) {
        "your home directory"
    } else {
        return None;
    };
    let message = format!("this is {what}, not a project: a tool that starts Maestro here sees no project's skills");
    let help = "open a project in the tool, or have it start `maestro mcp --directory PROJECT`".to_owned();
    Some(Problem::new(ProblemCode::DirectoryNotProject, ProblemSeverity::Warning, here.clone(), message, help))
}
