//! Addresses that screens link to.

use super::screens::ScreenId;

/// The screen of a run, or of its session where runs have none.
pub(super) fn run(run: &str, session: Option<&str>) -> String {
    match session {
        _ if ScreenId::ROUTES.contains(&"/runs/{id}") => format!("/runs/{run}"),
        Some(session) => format!("/sessions/{session}"),
        None => format!("/activity?run={run}"),
    }
}

/// The diff of a run.
pub(super) fn review(id: &str) -> String {
    run(id, None)
}

/// A plan of a project.
pub(super) fn plan(project: &str, path: &str, id: &str) -> String {
    if ScreenId::ROUTES.iter().any(|route| route.starts_with("/work/")) {
        format!("/work/{project}/plan/{path}")
    } else {
        run(id, None)
    }
}

/// Where what a list leaves out can be seen.
pub(super) fn rest() -> Option<&'static str> {
    ["/activity", "/work"].into_iter().find(|route| ScreenId::ROUTES.contains(route))
}
