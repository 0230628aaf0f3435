//! What does a run look like on the wire?

use std::collections::BTreeMap;

use maestro_core::workflow::pinned::PinnedText;
use maestro_core::workflow::run::{Effect, Run, Status, Waiting, pending, waiting};
use maestro_core::workflow::told::{News, Now};
use maestro_engine::runs::View;
use maestro_store::{Driver, Executing, RunRecord, RunState};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::wire::words::{DriverWord, Id, RunStateWord, RunUuid, WaitingFor};

/// A run in a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunSummary {
    #[schema(value_type = RunUuid)]
    id: String,
    workflow: String,
    #[schema(value_type = Option<Id>)]
    project_id: Option<String>,
    #[schema(value_type = Option<Id>)]
    task_id: Option<String>,
    #[schema(value_type = Option<Id>)]
    session_id: Option<String>,
    /// The run that this one is a part of.
    #[schema(value_type = Option<RunUuid>)]
    parent_run: Option<String>,
    #[schema(value_type = RunStateWord)]
    status: &'static str,
    /// Whom it waits for.
    #[schema(value_type = Option<WaitingFor>)]
    waiting: Option<&'static str>,
    /// The step it is at.
    step: Option<String>,
    /// What is said about its end.
    message: Option<String>,
    /// The directory it works in.
    workspace: String,
    /// Who executes what it orders.
    #[schema(value_type = DriverWord)]
    driver: &'static str,
    /// The hash of what it was started with; this is what is consented to.
    hash: String,
    revision: i64,
    created_at: i64,
    updated_at: i64,
    ended_at: Option<i64>,
}

impl From<RunRecord> for RunSummary {
    fn from(record: RunRecord) -> Self {
        Self {
            id: record.id.to_string(),
            workflow: record.about.workflow,
            project_id: record.about.project.map(Into::into),
            task_id: record.about.task.map(Into::into),
            session_id: record.about.session.map(Into::into),
            parent_run: record.about.parent.map(|(run, _)| run.to_string()),
            status: RunState::of(&record.run.status).as_str(),
            waiting: waiting(&record.run).map(Waiting::as_str),
            step: record.run.position().map(|position| position.step.to_string()),
            message: match record.run.status {
                Status::Ended(ending) => ending.message,
                _ => None,
            },
            workspace: {
                let workspace = record.run.context.get("workspace").and_then(serde_json::Value::as_str);
                workspace.unwrap_or_default().to_owned()
            },
            driver: record.about.driver.as_str(),
            hash: record.hash,
            revision: record.revision,
            created_at: record.created_at,
            updated_at: record.updated_at,
            ended_at: record.ended_at,
        }
    }
}

/// A run: where it stands, what happened on the way, and what is to be done now.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunJson {
    #[serde(flatten)]
    summary: RunSummary,
    /// What all files together were when the review was last looked through that the current step belongs to.
    reviewed: Option<String>,
    /// Why what it orders is not executed, where nobody has allowed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_allowed: Option<String>,
    /// Whether what is to be done now is done by a session that is started for it.
    by_session: bool,
    /// What happened on the way, oldest first.
    #[schema(value_type = Vec<Object>)]
    news: Vec<News>,
    /// What is to be done now.
    #[schema(value_type = Object)]
    now: Now,
}

impl From<View> for RunJson {
    fn from(view: View) -> Self {
        let due = pending(&view.definition, &view.record.run).into_iter().next();
        let seated = matches!(due, Some(Effect::Instruct { session: Some(_), .. }));
        Self {
            by_session: seated && view.record.about.driver == Driver::Server,
            reviewed: view.record.run.reviewed(&view.definition).map(str::to_owned),
            summary: view.record.into(),
            not_allowed: None,
            news: view.told.news,
            now: view.told.now,
        }
    }
}

impl RunJson {
    /// A run as this server tells of it, which knows what nobody has allowed it to execute.
    pub(super) fn of(view: View, app: &App) -> Self {
        let busy = matches!(view.told.now, Now::Busy { .. });
        let not_allowed = app.drivers.not_allowed(view.record.id).filter(|_| busy);
        Self { not_allowed, ..Self::from(view) }
    }
}

/// A run's whole state.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct StateJson {
    workflow: String,
    hash: String,
    revision: i64,
    /// Who executes something for it, and until when that is believed.
    #[schema(value_type = Option<Object>)]
    executor: Option<Executing>,
    #[schema(value_type = Object)]
    run: Run,
    /// What it was started with, if that was asked for.
    #[schema(value_type = Option<Object>)]
    definitions: Option<BTreeMap<String, PinnedText>>,
}

impl StateJson {
    pub(super) fn new(record: RunRecord, definitions: Option<BTreeMap<String, PinnedText>>) -> Self {
        Self {
            workflow: record.about.workflow,
            hash: record.hash,
            revision: record.revision,
            executor: record.executor,
            run: record.run,
            definitions,
        }
    }
}
