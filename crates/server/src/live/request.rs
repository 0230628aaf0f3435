//! Requests of WebSocket clients.

use std::collections::HashSet;

use maestro_api::live::{SocketMessage, SocketReply};
use maestro_core::id::{EntityId, ProjectId};

use super::frame::SocketFrame;

/// A client's request.
#[derive(Debug)]
pub(crate) enum SocketRequest {
    Ping,
    /// A keep-alive.
    Alive,
    Subscribe {
        wish: FrameFilter,
        /// The last `seq` the client knows.
        since: Option<i64>,
    },
    Unsubscribe,
}

/// The frames a client wants; without any filter, all of them.
#[derive(Debug, Default)]
pub(crate) struct FrameFilter {
    pub(crate) project: Option<ProjectId>,
    tasks: Option<HashSet<String>>,
    sessions: Option<HashSet<String>>,
}

impl SocketRequest {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let said: SocketMessage =
            serde_json::from_str(text).map_err(|error| format!("not a valid message: {error}"))?;
        match said.kind.as_str() {
            "ping" => Ok(Self::Ping),
            "heartbeat" | "keepalive" => Ok(Self::Alive),
            "unsubscribe" => Ok(Self::Unsubscribe),
            "subscribe" => subscribe(said),
            other => {
                let shown: String = other.chars().take(64).collect();
                Err(format!("unknown type `{shown}`; expected ping, heartbeat, keepalive, subscribe, unsubscribe"))
            }
        }
    }
}

fn subscribe(said: SocketMessage) -> Result<SocketRequest, String> {
    let project = said.project_id.map(|id| ProjectId::parse(&id)).transpose();
    let project = project.map_err(|error| format!("projectId: {error}"))?;
    if said.since.is_some_and(|since| since < 0) {
        return Err("since: must not be negative".to_owned());
    }
    let wish = FrameFilter { project, tasks: said.task_ids, sessions: said.session_ids };
    Ok(SocketRequest::Subscribe { wish, since: said.since })
}

impl FrameFilter {
    /// Whether a frame passes the filter: it belongs to the project, and to one of the named tasks or sessions.
    pub(crate) fn admits(&self, frame: &SocketFrame) -> bool {
        let of_project = self.project.as_ref().is_none_or(|wanted| frame.project.as_deref() == Some(wanted.as_str()));
        let named = |ids: &Option<HashSet<String>>| {
            ids.as_ref().is_some_and(|ids| frame.about.iter().any(|id| ids.contains(id)))
        };
        let all = self.tasks.is_none() && self.sessions.is_none();
        of_project && (all || named(&self.tasks) || named(&self.sessions))
    }

    /// The confirmation the client receives of its filter.
    pub(crate) fn confirmation(&self, since: i64, now: i64) -> SocketReply {
        let sorted = |ids: &HashSet<String>| {
            let mut ids: Vec<String> = ids.iter().cloned().collect();
            ids.sort_unstable();
            ids
        };
        SocketReply::Subscribed {
            project_id: self.project.as_ref().map(ToString::to_string),
            task_ids: self.tasks.as_ref().map(sorted),
            session_ids: self.sessions.as_ref().map(sorted),
            since,
            timestamp: now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_named() {
        let wrong = |text: &str| SocketRequest::parse(text).unwrap_err();
        assert_eq!(
            wrong(r#"{"type":"dance"}"#),
            "unknown type `dance`; expected ping, heartbeat, keepalive, subscribe, unsubscribe"
        );
        assert!(wrong("[]").starts_with("not a valid message"));
        assert!(wrong(r#"{"type":"subscribe","projectId":"../x"}"#).starts_with("projectId: an id is"));
        assert_eq!(wrong(r#"{"type":"subscribe","since":-1}"#), "since: must not be negative");
        assert!(wrong(r#"{"type":"subscribe","taskIds":"t"}"#).contains("expected a sequence"));
    }

    #[test]
    fn a_wish_names_a_project_and_some_of_its_things() {
        let frame = |project: &str, about: &[&str]| SocketFrame {
            text: String::new().into(),
            project: Some(project.to_owned()),
            about: about.iter().map(|id| (*id).to_owned()).collect(),
            own: 1,
            seq: 1,
        };
        let wish = |text: &str| match SocketRequest::parse(text) {
            Ok(SocketRequest::Subscribe { wish, .. }) => wish,
            other => panic!("{other:?}"),
        };
        let some = wish(r#"{"type":"subscribe","projectId":"p","taskIds":["t"],"sessionIds":["s"]}"#);
        assert!(some.admits(&frame("p", &["t"])) && some.admits(&frame("p", &["x", "s"])));
        assert!(!some.admits(&frame("p", &["x"])) && !some.admits(&frame("q", &["t"])));
        let all = wish(r#"{"type":"subscribe"}"#);
        assert!(all.admits(&frame("q", &[])));
        let none = wish(r#"{"type":"subscribe","taskIds":[]}"#);
        assert!(!none.admits(&frame("q", &["t"])));
    }
}
