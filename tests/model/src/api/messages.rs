//! Anthropic's Messages.

use serde_json::{Value, json};

use super::{Answer, Event, Turn, pieces};

pub(super) fn turn(message: &Value) -> Turn {
    if message["role"] == "assistant" {
        return Turn::default();
    }
    let Some(blocks) = message["content"].as_array() else {
        return Turn { said: message["content"].to_string(), results: 0 };
    };
    let (results, said): (Vec<&Value>, Vec<&Value>) = blocks.iter().partition(|block| block["type"] == "tool_result");
    Turn { said: json!(said).to_string(), results: results.len() }
}

fn blocks(answer: &Answer<'_>) -> Vec<Value> {
    let text = answer.text.map(|text| json!({ "type": "text", "text": text }));
    let calls = answer.calls.iter().enumerate().map(|(number, call)| {
        json!({
            "type": "tool_use", "id": format!("toolu_{}{number}", answer.id), "name": call.name, "input": call.args,
        })
    });
    text.into_iter().chain(calls).collect()
}

fn stop_reason(answer: &Answer<'_>) -> &'static str {
    if answer.calls.is_empty() { "end_turn" } else { "tool_use" }
}

fn message(answer: &Answer<'_>, content: &[Value], stop_reason: Option<&str>, output: u64) -> Value {
    json!({
        "id": format!("msg_{}", answer.id), "type": "message", "role": "assistant", "model": answer.model(),
        "content": content, "stop_reason": stop_reason, "stop_sequence": null,
        "usage": {
            "input_tokens": answer.usage[0], "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            "output_tokens": output,
        },
    })
}

pub(super) fn whole(answer: &Answer<'_>) -> Value {
    message(answer, &blocks(answer), Some(stop_reason(answer)), answer.usage[1])
}

pub(super) fn stream(answer: &Answer<'_>) -> Vec<Event> {
    let mut events = Vec::new();
    let mut add = |name: &'static str, mut data: Value| {
        data["type"] = json!(name);
        events.push(Event { name: Some(name), data: data.to_string() });
    };
    add("message_start", json!({ "message": message(answer, &[], None, 1) }));
    for (index, block) in blocks(answer).into_iter().enumerate() {
        let mut empty = block.clone();
        let deltas: Vec<Value> = if let Some(text) = block["text"].as_str() {
            empty["text"] = json!("");
            pieces(text).into_iter().map(|text| json!({ "type": "text_delta", "text": text })).collect()
        } else {
            empty["input"] = json!({});
            let input = block["input"].to_string();
            pieces(&input).into_iter().map(|json| json!({ "type": "input_json_delta", "partial_json": json })).collect()
        };
        add("content_block_start", json!({ "index": index, "content_block": empty }));
        if index == 0 {
            add("ping", json!({}));
        }
        for delta in deltas {
            add("content_block_delta", json!({ "index": index, "delta": delta }));
        }
        add("content_block_stop", json!({ "index": index }));
    }
    add(
        "message_delta",
        json!({
            "delta": { "stop_reason": stop_reason(answer), "stop_sequence": null },
            "usage": { "output_tokens": answer.usage[1] },
        }),
    );
    add("message_stop", json!({}));
    events
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}
