//! Requests of WebSocket clients.

use std::collections::HashSet;

use maestro_core::id::{Id, ProjectId};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::frame::Frame;

/// A client's request.
#[derive(Debug)]
pub(crate) enum Request {
    Ping,
    /// A keep-alive.
    Alive,
    Subscribe {
        wish: Wish,
        /// The last `seq` the client knows.
        since: Option<i64>,
    },
    Unsubscribe,
}

/// The frames a client wants; without any filter, all of them.
#[derive(Debug, Default)]
pub(crate) struct Wish {
    pub(crate) project: Option<ProjectId>,
    tasks: Option<HashSet<String>>,
    sessions: Option<HashSet<String>>,
}

/// A message as it is sent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    #[serde(rename = "type")]
    kind: String,
    project_id: Option<String>,
    task_ids: Option<HashSet<String>>,
    session_ids: Option<HashSet<String>>,
    since: Option<i64>,
}

impl Request {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let said: Said = serde_json::from_str(text).map_err(|error| format!("not a valid message: {error}"))?;
        match said.kind.as_str() {
            "ping" => Ok(Self::Ping),
            "heartbeat" | "keepalive" => Ok(Self::Alive),
            "unsubscribe" => Ok(Self::Unsubscribe),
            "subscribe" => said.subscribe(),
            other => {
                let shown: String = other.chars().take(64).collect();
                Err(format!("unknown type `{shown}`; expected ping, heartbeat, keepalive, subscribe, unsubscribe"))
            }
        }
    }
}

impl Said {
    fn subscribe(self) -> Result<Request, String> {
        let project = self.project_id.map(|id| ProjectId::parse(&id)).transpose();
        let project = project.map_err(|error| format!("projectId: {error}"))?;
        if self.since.is_some_and(|since| since < 0) {
            return Err("since: must not be negative".to_owned());
        }
        let wish = Wish { project, tasks: self.task_ids, sessions: self.session_ids };
        Ok(Request::Subscribe { wish, since: self.since })
    }
}

impl Wish {
    /// Whether a frame passes the filter: it belongs to the project, and to one of the named tasks or sessions.
    pub(crate) fn admits(&self, frame: &Frame) -> bool {
        let of_project = self.project.as_ref().is_none_or(|wanted| frame.project.as_deref() == Some(wanted.as_str()));
        let named = |ids: &Option<HashSet<String>>| {
            ids.as_ref().is_some_and(|ids| frame.about.iter().any(|id| ids.contains(id)))
        };
        let all = self.tasks.is_none() && self.sessions.is_none();
        of_project && (all || named(&self.tasks) || named(&self.sessions))
    }

    /// The confirmation the client receives of its filter.
    pub(crate) fn confirmation(&self, since: i64, now: i64) -> Json {
        let sorted = |ids: &Option<HashSet<String>>| {
            let mut ids: Vec<String> = ids.iter().flatten().cloned().collect();
            ids.sort_unstable();
            ids
        };
        let mut answer = json!({ "type": "subscribed" });
        if let Some(project) = &self.project {
            answer["projectId"] = project.as_str().into();
        }
        if self.tasks.is_some() {
            answer["taskIds"] = sorted(&self.tasks).into();
        }
        if self.sessions.is_some() {
            answer["sessionIds"] = sorted(&self.sessions).into();
        }
        answer["since"] = since.into();
        answer["timestamp"] = now.into();
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_named() {
        let wrong = |text: &str| Request::parse(text).unwrap_err();
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
        let frame = |project: &str, about: &[&str]| Frame {
            text: String::new().into(),
            project: Some(project.to_owned()),
            about: about.iter().map(|id| (*id).to_owned()).collect(),
            own: 1,
            seq: 1,
        };
        let wish = |text: &str| match Request::parse(text) {
            Ok(Request::Subscribe { wish, .. }) => wish,
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
