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

/// A request to the API that is answered with a `T`.
#[derive(Debug)]
pub struct ApiRequest<T> {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// The body as JSON, or why it or the query cannot be written.
    pub(crate) body: Option<Result<String, String>>,
    pub(crate) repeat: RepeatPolicy,
    answer: PhantomData<fn() -> T>,
}

impl<T> ApiRequest<T> {
    fn new(method: Method, path: impl Into<String>, repeat: RepeatPolicy) -> Self {
        Self { method, path: path.into(), body: None, repeat, answer: PhantomData }
    }

    fn with_body(mut self, body: &impl Serialize) -> Self {
        self.body = Some(serde_json::to_string(body).map_err(|error| error.to_string()));
        self
    }

    /// Gets a resource.
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path, RepeatPolicy::Safe)
    }

    /// Sends a request; sent again, it is still carried out once.
    pub(crate) fn post(path: impl Into<String>, body: &impl Serialize) -> Self {
        Self::new(Method::POST, path, RepeatPolicy::ByKey(None)).with_body(body)
    }

    /// Takes a step that would be another step if it were taken twice.
    pub(crate) fn step(path: impl Into<String>, body: &impl Serialize) -> Self {
        Self::new(Method::POST, path, RepeatPolicy::Never).with_body(body)
    }

    /// Changes something.
    pub(crate) fn patch(path: impl Into<String>, body: &impl Serialize) -> Self {
        Self::new(Method::PATCH, path, RepeatPolicy::ByKey(None)).with_body(body)
    }

    /// Removes something.
    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path, RepeatPolicy::Safe)
    }

    /// The same request with what a query says added to its path.
    #[must_use]
    pub fn with_query(mut self, query: &impl Serialize) -> Self {
        let fields = match serde_json::to_value(query) {
            Ok(fields) => fields,
            Err(error) => return Self { body: Some(Err(error.to_string())), ..self },
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
        self
    }

    /// The same request under a key of the caller's: with the same key it is carried out once.
    #[must_use]
    pub fn under_key(mut self, key: impl Into<String>) -> Self {
        self.repeat = RepeatPolicy::ByKey(Some(key.into()));
        self
    }

    /// The same request under a key of its own, if it needs one to be repeated.
    #[must_use]
    pub fn with_fresh_key(self) -> Self {
        match self.repeat {
            RepeatPolicy::ByKey(None) => self.under_key(uuid::Uuid::now_v7().to_string()),
            _ => self,
        }
    }

    /// Whether it does more than ask.
    pub fn changes_something(&self) -> bool {
        self.method != Method::GET
    }

    /// The same request, with its answer read as something else.
    pub(crate) fn read_as<U>(self) -> ApiRequest<U> {
        ApiRequest { method: self.method, path: self.path, body: self.body, repeat: self.repeat, answer: PhantomData }
    }

    /// What is asked for.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl<T> Clone for ApiRequest<T> {
    fn clone(&self) -> Self {
        Self {
            method: self.method.clone(),
            path: self.path.clone(),
            body: self.body.clone(),
            repeat: self.repeat.clone(),
            answer: PhantomData,
        }
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
