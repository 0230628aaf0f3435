//! Messages of the Agent Client Protocol: JSON-RPC 2.0, one per line.

use serde_json::{Value as Json, json};

/// The error code for an unknown method.
pub(super) const NO_SUCH_METHOD: i64 = -32601;
/// The error code that asks the user to log in.
const LOGIN: i64 = -32000;

/// A message from an agent.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::agents) enum AcpMessage {
    /// A request.
    Request { id: Json, method: String, parameters: Json },
    /// A notification.
    Notification { method: String, parameters: Json },
    /// A response to our request.
    Response { id: Json, answer: Result<Json, AcpRefusal> },
}

/// Why an agent refused a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::agents) struct AcpRefusal {
    /// The provider's HTTP status, where the agent passes it on.
    pub(super) status: Option<u16>,
    pub(in crate::agents) message: String,
}

impl AcpMessage {
    /// Parses a line; nothing if it is not a message.
    pub(in crate::agents) fn read(line: &[u8]) -> Option<Self> {
        let mut message: Json = serde_json::from_slice(line).ok()?;
        let fields = message.as_object_mut()?;
        let id = fields.remove("id").filter(|id| !id.is_null());
        let parameters = fields.remove("params").unwrap_or_default();
        match (fields.remove("method"), id) {
            (Some(Json::String(method)), Some(id)) => Some(Self::Request { id, method, parameters }),
            (Some(Json::String(method)), None) => Some(Self::Notification { method, parameters }),
            (None, Some(id)) => {
                let answer = match fields.remove("error").filter(|error| !error.is_null()) {
                    Some(error) => Err(AcpRefusal::read(&error)),
                    None => Ok(fields.remove("result")?),
                };
                Some(Self::Response { id, answer })
            }
            _ => None,
        }
    }
}

impl AcpRefusal {
    /// Agents say little in the message itself, and put the reason beside it.
    fn read(error: &Json) -> Self {
        let code = error["code"].as_i64().unwrap_or_default();
        let status = u16::try_from(code).ok().filter(|code| (400..600).contains(code));
        let mut message = error["message"].as_str().unwrap_or("no reason given").to_owned();
        let data = &error["data"];
        let detail = ["details", "message", "error"].iter().find_map(|name| data[name].as_str()).or(data.as_str());
        if let Some(detail) = detail.filter(|detail| !message.contains(detail)) {
            message = format!("{message}: {detail}");
        }
        if code == LOGIN && !message.to_lowercase().contains("auth") {
            message = format!("authentication required: {message}");
        }
        Self { status, message }
    }
}

/// A request as a line.
pub(in crate::agents) fn request(id: u64, method: &str, parameters: &Json) -> String {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }))
}

/// A notification as a line.
pub(in crate::agents) fn notification(method: &str, parameters: &Json) -> String {
    line(&json!({ "jsonrpc": "2.0", "method": method, "params": parameters }))
}

/// An answer as a line.
pub(super) fn answer(id: &Json, result: &Json) -> String {
    line(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// An error response as a line.
pub(super) fn refusal(id: &Json, code: i64, message: &str) -> String {
    line(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }))
}

fn line(message: &Json) -> String {
    format!("{message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<AcpMessage> {
        AcpMessage::read(text.as_bytes())
    }

    #[test]
    fn messages_are_told_apart() {
        let asked = read(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1}}"#);
        assert_eq!(asked, Some(AcpMessage::Request { id: json!("a"), method: "m".into(), parameters: json!({"x":1}) }));
        let told = read(r#"{"jsonrpc":"2.0","method":"m"}"#);
        assert_eq!(told, Some(AcpMessage::Notification { method: "m".into(), parameters: Json::Null }));
        let answered = read(r#"{"jsonrpc":"2.0","id":1,"result":null}"#);
        assert_eq!(answered, Some(AcpMessage::Response { id: json!(1), answer: Ok(Json::Null) }));
        for nonsense in ["", "[]", "1", "{", r#"{"id":1}"#, r#"{"id":null,"error":{}}"#, "\u{feff}{}"] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_refusal_tells_its_reason() {
        let refused = |error: Json| AcpRefusal::read(&error);
        let gemini = refused(json!({ "code": 400, "message": "bad key" }));
        assert_eq!(gemini, AcpRefusal { status: Some(400), message: "bad key".to_owned() });
        let opencode = refused(json!({ "code": -32603, "message": "Internal error", "data": { "details": "401 no" } }));
        assert_eq!((opencode.status, opencode.message.as_str()), (None, "Internal error: 401 no"));
        let login = refused(json!({ "code": -32000, "message": "log in" }));
        assert_eq!(login.message, "authentication required: log in");
        assert_eq!(refused(Json::Null).message, "no reason given");
    }
}
