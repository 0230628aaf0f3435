//! Ids that a request names, in its path, its query and its body.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::request::{UntypedRequest, in_path};

/// The resources whose ids stand in paths.
const RESOURCES: [&str; 4] = ["projects", "tasks", "sessions", "runs"];
/// The fields of queries and bodies that hold one id or a list of them.
const FIELDS: [&str; 8] =
    ["projectId", "taskId", "taskIds", "parentId", "sessionId", "runId", "dependencies", "parentSessionId"];

impl UntypedRequest {
    /// The ids that it names.
    pub fn ids(&self) -> Vec<String> {
        let mut ids = Vec::new();
        self.clone().replace_ids(&mut |id| {
            ids.push(id.to_owned());
            None
        });
        ids
    }

    /// The same request with these ids in place of others.
    #[must_use]
    pub fn with_ids(self, full: &BTreeMap<String, String>) -> Self {
        self.replace_ids(&mut |id| full.get(id).cloned())
    }

    fn replace_ids(mut self, replace: &mut dyn FnMut(&str) -> Option<String>) -> Self {
        let (place, query) = match self.path.split_once('?') {
            Some((place, query)) => (place.to_owned(), Some(query.to_owned())),
            None => (self.path.clone(), None),
        };
        let mut parts: Vec<String> = place.split('/').map(str::to_owned).collect();
        // `/api/tasks/ID/…` is split into "", "api", "tasks", ID, …
        if let [_, api, resource, id, ..] = parts.as_mut_slice()
            && api == "api"
            && RESOURCES.contains(&resource.as_str())
            && let Some(full) = replace(id)
        {
            *id = in_path(&full);
        }
        let query = query.map(|query| replace_in_query(&query, replace));
        self.path = parts.join("/") + &query.map(|query| format!("?{query}")).unwrap_or_default();
        if let Some(Ok(body)) = &self.body
            && let Ok(mut value) = serde_json::from_str::<Json>(body)
            && replace_in_body(&mut value, replace)
        {
            self.body = Some(Ok(value.to_string()));
        }
        self
    }
}

fn replace_in_query(query: &str, replace: &mut dyn FnMut(&str) -> Option<String>) -> String {
    let pair = |pair: &str| match pair.split_once('=') {
        Some((name, id)) if FIELDS.contains(&name) => match replace(id) {
            Some(full) => format!("{name}={}", in_path(&full)),
            None => pair.to_owned(),
        },
        _ => pair.to_owned(),
    };
    query.split('&').map(pair).collect::<Vec<_>>().join("&")
}

/// Whether anything in a body was replaced.
fn replace_in_body(body: &mut Json, replace: &mut dyn FnMut(&str) -> Option<String>) -> bool {
    let Some(fields) = body.as_object_mut() else { return false };
    let mut changed = false;
    for (_, value) in fields.iter_mut().filter(|(name, _)| FIELDS.contains(&name.as_str())) {
        let values: &mut [Json] = match value {
            Json::Array(items) => items,
            one => std::slice::from_mut(one),
        };
        for value in values {
            if let Some(full) = value.as_str().and_then(&mut *replace) {
                *value = Json::String(full);
                changed = true;
            }
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::{NewTask, TaskQuery, create, get, list};

    #[test]
    fn ids_are_found_and_replaced_wherever_they_stand() {
        let full = BTreeMap::from([("k7q2".to_owned(), "task_1_k7q2m9x1q".to_owned())]);
        assert_eq!(get("k7q2").into_untyped().with_ids(&full).path(), "/api/tasks/task_1_k7q2m9x1q");
        let query = TaskQuery { parent_id: Some("k7q2".to_owned()), ..TaskQuery::default() };
        assert_eq!(list(&query).into_untyped().ids(), ["k7q2"]);
        assert_eq!(list(&query).into_untyped().with_ids(&full).path(), "/api/tasks?parentId=task_1_k7q2m9x1q");
        let new = NewTask {
            title: Some("k7q2".to_owned()),
            dependencies: Some(vec!["k7q2".to_owned()]),
            ..NewTask::default()
        };
        assert_eq!(create(&new).into_untyped().ids(), ["k7q2"], "a title is no id");
        let body = create(&new).into_untyped().with_ids(&full).body.unwrap().unwrap();
        assert!(
            body.contains(r#""dependencies":["task_1_k7q2m9x1q"]"#) && body.contains(r#""title":"k7q2""#),
            "{body}"
        );
    }
}
