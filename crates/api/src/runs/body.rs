//! A run's reply: where it stands, what happened on the way and what to do next, under plain names and the old ones.

use std::borrow::Cow;

use maestro_core::workflow::run_reply::{NextAction, RunUpdate};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::RunSummary;

/// A run: where it stands, what happened on the way, and what to do next.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(into = "WrittenRun", try_from = "WrittenRun")]
pub struct RunBody {
    pub summary: RunSummary,
    /// What all files together were when the review was last looked through that the current step belongs to.
    pub reviewed: Option<String>,
    /// Why its directive is not executed, where consent is missing.
    pub not_allowed: Option<String>,
    /// Whether a session started for it does the current step.
    pub by_session: bool,
    /// What happened on the way, oldest first.
    pub updates: Vec<RunUpdate>,
    /// What to do next.
    pub next: NextAction,
}

/// A run: where it stands, what happened on the way, and what to do next.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RunJson)]
struct WrittenRun {
    #[serde(flatten)]
    summary: RunSummary,
    /// What all files together were when the review was last looked through that the current step belongs to.
    reviewed: Option<String>,
    /// Why its directive is not executed, where consent is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_allowed: Option<String>,
    /// Whether a session started for it does the current step.
    by_session: bool,
    /// What happened on the way, oldest first; each says its `kind`.
    #[schema(value_type = Vec<Object>, required)]
    updates: Option<Vec<RunUpdate>>,
    /// What to do next.
    #[schema(value_type = Object, required)]
    next: Option<NextAction>,
    /// Old name of `updates`; each says its kind under `news`.
    #[schema(value_type = Vec<Object>, required)]
    news: Option<Vec<Json>>,
    /// Old name of `next`.
    #[schema(value_type = Object, required)]
    now: Option<NextAction>,
}

impl From<RunBody> for WrittenRun {
    fn from(run: RunBody) -> Self {
        let old = |update| serde_json::to_value(update).map_or(Json::Null, |update| renamed(update, "kind", "news"));
        Self {
            summary: run.summary,
            reviewed: run.reviewed,
            not_allowed: run.not_allowed,
            by_session: run.by_session,
            news: Some(run.updates.iter().map(old).collect()),
            now: Some(run.next.clone()),
            updates: Some(run.updates),
            next: Some(run.next),
        }
    }
}

impl TryFrom<WrittenRun> for RunBody {
    type Error = serde_json::Error;

    fn try_from(run: WrittenRun) -> Result<Self, Self::Error> {
        let updates = match (run.updates, run.news) {
            (Some(updates), _) => updates,
            (None, Some(news)) => {
                let update = |old| serde_json::from_value(renamed(old, "news", "kind"));
                news.into_iter().map(update).collect::<Result<_, _>>()?
            }
            (None, None) => return Err(serde::de::Error::missing_field("updates")),
        };
        Ok(Self {
            summary: run.summary,
            reviewed: run.reviewed,
            not_allowed: run.not_allowed,
            by_session: run.by_session,
            updates,
            next: run.next.or(run.now).ok_or_else(|| serde::de::Error::missing_field("next"))?,
        })
    }
}

/// An object with one of its keys under another name.
fn renamed(mut object: Json, from: &str, to: &str) -> Json {
    if let Some(fields) = object.as_object_mut()
        && let Some(value) = fields.remove(from)
    {
        fields.insert(to.to_owned(), value);
    }
    object
}

impl PartialSchema for RunBody {
    fn schema() -> RefOr<Schema> {
        WrittenRun::schema()
    }
}

impl ToSchema for RunBody {
    fn name() -> Cow<'static, str> {
        WrittenRun::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        WrittenRun::schemas(schemas);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(progress: &Json) -> Json {
        let mut run = json!({
            "id": "r", "workflow": "w", "projectId": null, "taskId": null, "sessionId": null, "parentRun": null,
            "status": "running", "state": "working", "stateReason": null, "waiting": null, "step": "s", "message": null, "workspace": "", "driver": "server",
            "hash": "h", "revision": 1, "createdAt": 0, "updatedAt": 0, "endedAt": null, "landedAt": null,
            "landedInto": null, "reviewed": null,
            "bySession": false,
        });
        run.as_object_mut().unwrap().extend(progress.as_object().unwrap().clone());
        run
    }

    #[test]
    fn a_run_is_read_under_either_name_and_written_under_both() {
        let next = json!({ "kind": "paused" });
        let plain = json!({ "updates": [{ "kind": "tolerated", "step": "s", "outcome": "fail" }], "next": next });
        let old = json!({ "news": [{ "news": "tolerated", "step": "s", "outcome": "fail" }], "now": next });
        let mut both = plain.clone();
        both.as_object_mut().unwrap().extend(old.as_object().unwrap().clone());
        for progress in [plain, old, both.clone()] {
            let run: RunBody = serde_json::from_value(written(&progress)).unwrap();
            assert_eq!(serde_json::to_value(run).unwrap(), written(&both));
        }
        let incomplete = serde_json::from_value::<RunBody>(written(&json!({ "updates": [] }))).unwrap_err();
        assert_eq!(incomplete.to_string(), "missing field `next`");
    }
}
