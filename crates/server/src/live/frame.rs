//! Frames for WebSocket clients: the original's objects in their current state, encoded once for all clients.

use axum::extract::ws::Utf8Bytes;
use maestro_api::projects::ProjectBody;
use maestro_api::tasks::TaskBody;
use maestro_core::agent::spawn::init_command;
use maestro_core::id::{EntityId, ProjectId, SessionId, TaskId};
use maestro_core::session::Session;
use maestro_engine::briefing::session_manifest;
use maestro_store::{DbTx, ProjectById, Query, SessionById, StoreError, TaskById};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::signal::{ClientSignal, SignalSubject};
use crate::full_session::FullSession;

/// An event, ready to be sent.
#[derive(Debug)]
pub(crate) struct SocketFrame {
    pub(crate) text: Utf8Bytes,
    pub(crate) project: Option<String>,
    /// The tasks and sessions it is about.
    pub(crate) about: Vec<String>,
    /// The last line of the log that it covers.
    pub(crate) own: i64,
    /// A client that has this frame has everything up to here.
    pub(crate) seq: i64,
}

/// Makes a frame of each sign, all as of one moment. A subject that no longer exists gets none; its deletion has a frame
/// of its own.
pub(crate) struct FrameQuery {
    pub(crate) signals: Vec<ClientSignal>,
    pub(crate) now: i64,
}

impl Query for FrameQuery {
    type Output = Vec<Option<SocketFrame>>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<Option<SocketFrame>>, StoreError> {
        let mut frames = Vec::with_capacity(self.signals.len());
        for sign in &self.signals {
            match data(sign, db) {
                Ok((data, about)) => frames.push(Some(self.frame(sign, &data, about))),
                Err(StoreError::NotFound { .. }) => frames.push(None),
                Err(error) => return Err(error),
            }
        }
        Ok(frames)
    }
}

impl FrameQuery {
    fn frame(&self, sign: &ClientSignal, data: &str, about: Vec<String>) -> SocketFrame {
        let (name, now, seq) = (sign.name, self.now, sign.seq);
        let text = format!(r#"{{"type":"{name}","event":"{name}","data":{data},"timestamp":{now},"seq":{seq}}}"#);
        SocketFrame { text: text.into(), project: sign.project.clone(), about, own: sign.own, seq }
    }
}

/// The data of a frame, and the tasks and sessions it is about.
fn data(sign: &ClientSignal, db: &mut DbTx<'_>) -> Result<(String, Vec<String>), StoreError> {
    match &sign.subject {
        SignalSubject::Pair { task, session } => {
            let pair = if sign.name.starts_with("task:") {
                json!({ "taskId": task, "sessionId": session })
            } else {
                json!({ "sessionId": session, "taskId": task })
            };
            Ok((pair.to_string(), vec![task.clone(), session.clone()]))
        }
        SignalSubject::Project(id) | SignalSubject::Task(id) | SignalSubject::Session(id) if sign.is_deletion() => {
            Ok((json!({ "id": id }).to_string(), vec![id.clone()]))
        }
        SignalSubject::Project(id) => {
            let project = ProjectById(parse::<ProjectId>(id)?).load(db)?;
            Ok((text(&ProjectBody::from(project))?, Vec::new()))
        }
        SignalSubject::Task(id) => {
            let task = TaskById(parse::<TaskId>(id)?).load(db)?;
            let mut about = vec![id.clone()];
            about.extend(task.sessions.iter().map(|pair| pair.session.to_string()));
            Ok((text(&TaskBody::from(task))?, about))
        }
        SignalSubject::Session(id) if sign.name == "session:spawn" => {
            let (data, session) = spawn_payload(parse::<SessionId>(id)?, db)?;
            let about = std::iter::once(id.clone()).chain(session.tasks.iter().map(ToString::to_string)).collect();
            Ok((data.to_string(), about))
        }
        SignalSubject::Session(id) => {
            let session = FullSession(parse::<SessionId>(id)?).load(db)?;
            let mut about = vec![id.clone()];
            about.extend(session.task_ids.iter().cloned());
            Ok((text(&session)?, about))
        }
    }
}

/// The data a client of the original needs to start a session's agent itself.
fn spawn_payload(id: SessionId, db: &mut DbTx<'_>) -> Result<(Json, Session), StoreError> {
    let session = SessionById(id.clone()).load(db)?;
    let project = ProjectById(session.project.clone()).load(db)?;
    let tasks = session.tasks.iter().map(|task| TaskById(task.clone()).load(db)).collect::<Result<Vec<_>, _>>()?;
    let data = json!({
        "session": FullSession(id).load(db)?,
        "command": init_command(&session),
        "cwd": project.working_dir,
        "envVars": session.env,
        "manifest": session_manifest(&session, &project, &tasks),
        "projectId": session.project,
        "taskIds": session.tasks,
        "spawnSource": session.metadata.get("spawnSource"),
        "parentSessionId": session.parent,
        "_isSpawnCreated": true,
    });
    Ok((data, session))
}

fn parse<I: EntityId>(text: &str) -> Result<I, StoreError> {
    I::parse(text).map_err(|error| StoreError::Corrupt(format!("`{text}`: {error}")))
}

fn text(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Corrupt(error.to_string()))
}
