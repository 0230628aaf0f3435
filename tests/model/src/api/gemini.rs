//! Google's Gemini.

use serde_json::{Value, json};

use super::{Answer, Event, Turn, pieces};

pub(super) fn turn(content: &Value) -> Turn {
    if content["role"] == "model" {
        return Turn::default();
    }
    let parts = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let (results, said): (Vec<&Value>, Vec<&Value>) =
        parts.iter().partition(|part| part.get("functionResponse").is_some());
    Turn { said: json!(said).to_string(), results: results.len() }
}

fn calls(answer: &Answer<'_>) -> Vec<Value> {
    answer.calls.iter().map(|call| json!({ "functionCall": { "name": call.name, "args": call.args } })).collect()
}

fn chunk(answer: &Answer<'_>, parts: &[Value], finish: Option<&str>) -> Value {
    let [input, output] = answer.usage;
    let mut candidate = json!({ "content": { "parts": parts, "role": "model" }, "index": 0 });
    let mut usage = json!({ "promptTokenCount": input, "totalTokenCount": input });
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
        usage = json!({ "promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output });
    }
    json!({
        "candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted", "responseId": answer.id,
    })
}

pub(super) fn whole(answer: &Answer<'_>) -> Value {
    let mut parts: Vec<Value> = answer.text.iter().map(|text| json!({ "text": text })).collect();
    parts.extend(calls(answer));
    chunk(answer, &parts, Some("STOP"))
}

pub(super) fn stream(answer: &Answer<'_>) -> Vec<Event> {
    let texts = answer.text.map(pieces).unwrap_or_default();
    let mut all: Vec<Vec<Value>> = texts.into_iter().map(|text| vec![json!({ "text": text })]).collect();
    // Calls come whole.
    all.push(if answer.calls.is_empty() { vec![json!({ "text": "" })] } else { calls(answer) });
    let last = all.len() - 1;
    let chunks = all.iter().enumerate();
    chunks.map(|(number, parts)| Event::data(&chunk(answer, parts, (number == last).then_some("STOP")))).collect()
}

pub(super) fn error(status: u16, message: &str, retry_after: Option<u64>) -> Value {
    let name = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    let mut error = json!({ "error": { "code": status, "message": message, "status": name } });
    if let Some(seconds) = retry_after {
        let kind = "type.googleapis.com/google.rpc.RetryInfo";
        error["error"]["details"] = json!([{ "@type": kind, "retryDelay": format!("{seconds}s") }]);
    }
    error
}
