//! Requests to the API as values: what is asked for, whether it may be repeated, and the type of its answer.

use std::fmt::Write as _;
use std::marker::PhantomData;

use http::Method;
use serde::Serialize;
use serde_json::Value as Json;

/// What may be done about a request that got no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RepeatPolicy {
    /// Ask again: twice is the same as once.
    Safe,
    /// Ask again with the same key, by which the server knows a request it has carried out.
    ByKey(Option<String>),
    /// Only if it certainly was not carried out.
    Never,
}

/// A request to the API, whatever its answer says. Everything that is done with requests is done with these, once for all types.
#[derive(Debug, Clone)]
pub struct UntypedRequest {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// The body as JSON, or why it or the query cannot be written.
    pub(crate) body: Option<Result<String, String>>,
    pub(crate) repeat: RepeatPolicy,
}

impl UntypedRequest {
    fn new(method: Method, path: String, repeat: RepeatPolicy) -> Self {
        Self { method, path, body: None, repeat }
    }

    fn add_query(&mut self, query: serde_json::Result<Json>) {
        let fields = match query {
            Ok(fields) => fields,
            Err(error) => {
                self.body = Some(Err(error.to_string()));
                return;
            }
        };
        for (name, value) in fields.as_object().into_iter().flatten() {
            let text = match value {
                Json::Null => continue,
                Json::String(text) => text.clone(),
                other => other.to_string(),
            };
            let mark = if self.path.contains('?') { '&' } else { '?' };
            let _ = write!(self.path, "{mark}{name}={}", in_path(&text));
        }
    }

    /// Whether it does more than ask.
    pub fn changes_something(&self) -> bool {
        self.method != Method::GET
    }

    /// What is asked for.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// A request to the API that is answered with a `T`.
#[derive(Debug)]
pub struct ApiRequest<T> {
    untyped: UntypedRequest,
    answer: PhantomData<fn() -> T>,
}

impl<T> ApiRequest<T> {
    fn of(untyped: UntypedRequest) -> Self {
        Self { untyped, answer: PhantomData }
    }

    fn with_body(method: Method, path: impl Into<String>, repeat: RepeatPolicy, body: &impl Serialize) -> Self {
        let body = Some(serde_json::to_string(body).map_err(|error| error.to_string()));
        Self::of(UntypedRequest { body, ..UntypedRequest::new(method, path.into(), repeat) })
    }

    /// Gets a resource.
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::of(UntypedRequest::new(Method::GET, path.into(), RepeatPolicy::Safe))
    }

    /// Sends a request; sent again, it is still carried out once.
    pub(crate) fn post(path: impl Into<String>, body: &impl Serialize) -> Self {
        Self::with_body(Method::POST, path, RepeatPolicy::ByKey(None), body)
    }

    /// Takes a step that would be another step if it were taken twice.
    pub(crate) fn step(path: impl Into<String>, body: &impl Serialize) -> Self {
        Self::with_body(Method::POST, path, RepeatPolicy::Never, body)
    }

    /// Changes something.
    pub(crate) fn patch(path: impl Into<String>, body: &impl Serialize) -> Self {
        Self::with_body(Method::PATCH, path, RepeatPolicy::ByKey(None), body)
    }

    /// Removes something.
    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self::of(UntypedRequest::new(Method::DELETE, path.into(), RepeatPolicy::Safe))
    }

    /// The same request with what a query says added to its path.
    #[must_use]
    pub fn with_query(mut self, query: &impl Serialize) -> Self {
        self.untyped.add_query(serde_json::to_value(query));
        self
    }

    /// The same request under a key of the caller's: with the same key it is carried out once.
    #[must_use]
    pub fn under_key(mut self, key: impl Into<String>) -> Self {
        self.untyped.repeat = RepeatPolicy::ByKey(Some(key.into()));
        self
    }

    /// The same request under a key of its own, if it needs one to be repeated.
    #[must_use]
    pub fn with_fresh_key(self) -> Self {
        match self.untyped.repeat {
            RepeatPolicy::ByKey(None) => self.under_key(uuid::Uuid::now_v7().to_string()),
            _ => self,
        }
    }

    /// What is asked for.
    pub fn path(&self) -> &str {
        self.untyped.path()
    }

    /// The request without the type of its answer.
    pub fn into_untyped(self) -> UntypedRequest {
        self.untyped
    }
}

impl<T> Clone for ApiRequest<T> {
    fn clone(&self) -> Self {
        Self::of(self.untyped.clone())
    }
}

/// A value as it stands in a path or query of the API.
pub fn in_path(value: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    value.bytes().fold(String::new(), |mut text, byte| {
        if keep(byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use crate::tasks::{TaskQuery, summaries};

    #[test]
    fn a_query_names_only_what_is_set() {
        let query = TaskQuery { project_id: Some("a b&c".to_owned()), ..TaskQuery::default() };
        assert_eq!(summaries(&query).path(), "/api/tasks?projectId=a%20b%26c&fields=summary");
        assert_eq!(crate::tasks::list(&TaskQuery::default()).path(), "/api/tasks");
    }
}
