//! Scope of a caller: which records it may name in a path.
//!
//! A session, and a program whose token is for one project, see that project only: what a path or a query names is
//! checked before any handler runs, and a query that names no project gets theirs.

use axum::extract::{Query, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use maestro_core::event::RunId;
use maestro_core::id::{EntityId as _, HandoffId, ProjectId, SessionId, TaskId};
use maestro_store::{HandoffById, RunById, SessionById, TaskById};

use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;

/// The record that a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NamedRecord {
    Project(ProjectId),
    Task(TaskId),
    Session(SessionId),
    Run(RunId),
    Handoff(HandoffId),
}

impl NamedRecord {
    /// The record that a path names, if it names one. What is no id names none, and handlers refuse it.
    fn of(path: &str) -> Result<Option<Self>, ApiError> {
        let mut parts = path.strip_prefix("/api/").unwrap_or_default().split('/');
        let (Some(kind), Some(id)) = (parts.next(), parts.next()) else { return Ok(None) };
        let named = match kind {
            "projects" => ProjectId::parse(id).ok().map(Self::Project),
            "tasks" => TaskId::parse(id).ok().map(Self::Task),
            "sessions" => SessionId::parse(id).ok().map(Self::Session),
            "runs" => id.parse().ok().map(Self::Run),
            "handoffs" => HandoffId::parse(id).ok().map(Self::Handoff),
            _ => return Ok(None),
        };
        // An id needs no encoding; one that has some would be another id here than in its handler.
        if id.contains('%') { Err(ApiError::invalid("an id is not percent-encoded")) } else { Ok(named) }
    }
}

/// Passes a request on if its caller may name what its path names.
pub(crate) async fn check(State(app): State<AppState>, mut request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Caller>().cloned();
    if let Some(caller) = caller
        && let Some(own) = caller.project()
    {
        let checked = match NamedRecord::of(request.uri().path()) {
            Ok(Some(named)) => check_named(&app, &caller, own, named).await,
            Ok(None) => narrow_query(&caller, own, &mut request),
            Err(error) => Err(error),
        };
        if let Err(error) = checked {
            return error.into_response();
        }
    }
    next.run(request).await
}

/// Adds the caller's only project to a query that names none, so that every list is of that project.
fn narrow_query(caller: &Caller, own: &ProjectId, request: &mut Request) -> Result<(), ApiError> {
    let unfit = |_| ApiError::invalid("the query cannot be read");
    // Read as handlers read it: however a name or an id is encoded, it is the same one.
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(request.uri()).map_err(unfit)?;
    let projects: Vec<&str> = pairs.iter().filter(|(name, _)| name == "projectId").map(|(_, id)| id.as_str()).collect();
    for wanted in &projects {
        let wanted = ProjectId::parse(wanted).map_err(|error| ApiError::field("projectId", error))?;
        caller.check_project(Some(&wanted))?;
    }
    if !projects.is_empty() {
        return Ok(());
    }
    if !request.method().is_safe() {
        return Ok(());
    }
    let query = request.uri().query().unwrap_or_default();
    let mark = if query.is_empty() { "" } else { "&" };
    let narrowed = format!("{}?{query}{mark}projectId={own}", request.uri().path());
    *request.uri_mut() = narrowed.parse().map_err(|_| ApiError::invalid("the query cannot be read"))?;
    Ok(())
}

/// Refuses a record of another project. One that does not exist is reported by its handler.
async fn check_named(app: &AppState, caller: &Caller, own: &ProjectId, named: NamedRecord) -> Result<(), ApiError> {
    let project = match named {
        NamedRecord::Project(id) => Some(id),
        NamedRecord::Task(id) => app.store.read(TaskById(id)).await.ok().map(|task| task.project),
        NamedRecord::Session(id) => app.store.read(SessionById(id)).await.ok().map(|session| session.project),
        NamedRecord::Handoff(id) => app.store.read(HandoffById(id)).await.ok().map(|handoff| handoff.project_id),
        NamedRecord::Run(id) => {
            let Ok(run) = app.store.read(RunById(id)).await else { return Ok(()) };
            let is_own = run.about.session.is_some() && run.about.session.as_ref() == caller.session_id();
            if is_own || run.about.project.as_ref() == Some(own) {
                return Ok(());
            }
            return Err(ApiError::forbidden(format!("run '{id}' is not of project '{own}'")));
        }
    };
    caller.check_project(project.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_named_by_the_second_part_of_a_path() {
        let task = NamedRecord::of("/api/tasks/task_1/children").unwrap();
        assert_eq!(task, Some(NamedRecord::Task(TaskId::parse("task_1").unwrap())));
        assert_eq!(NamedRecord::of("/api/skills/p%64f").unwrap(), None);
        assert_eq!(NamedRecord::of("/api/tasks").unwrap(), None);
        assert!(NamedRecord::of("/api/tasks/task%5F1").is_err());
    }
}
