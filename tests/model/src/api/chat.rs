//! OpenAI's Chat Completions.

use serde_json::{Value, json};

use super::{Answer, Event, Turn, now, pieces};

pub(super) fn turn(message: &Value) -> Turn {
    match message["role"].as_str() {
        Some("tool") => Turn { said: String::new(), results: 1 },
        Some("assistant") => Turn::default(),
        _ => Turn { said: message["content"].to_string(), results: 0 },
    }
}

fn calls(answer: &Answer<'_>) -> Vec<Value> {
    let call = |(number, call): (usize, &crate::script::Call)| {
        json!({
            "id": format!("call_{}{number}", answer.id), "type": "function",
            "function": { "name": call.name, "arguments": call.args.to_string() },
        })
    };
    answer.calls.iter().enumerate().map(call).collect()
}

fn finish_reason(answer: &Answer<'_>) -> &'static str {
    if answer.calls.is_empty() { "stop" } else { "tool_calls" }
}

fn usage(answer: &Answer<'_>) -> Value {
    let [input, output] = answer.usage;
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}

pub(super) fn whole(answer: &Answer<'_>) -> Value {
    let mut message = json!({ "role": "assistant", "content": answer.text, "refusal": null });
    if !answer.calls.is_empty() {
        message["tool_calls"] = json!(calls(answer));
    }
    json!({
        "id": format!("chatcmpl-{}", answer.id), "object": "chat.completion", "created": now(), "model": answer.model(),
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(answer) }],
        "usage": usage(answer),
    })
}

pub(super) fn stream(answer: &Answer<'_>) -> Vec<Event> {
    let counted = answer.request["stream_options"]["include_usage"] == true;
    let created = now();
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = json!({
            "id": format!("chatcmpl-{}", answer.id), "object": "chat.completion.chunk", "created": created,
            "model": answer.model(), "choices": choices,
        });
        if counted {
            chunk["usage"] = usage;
        }
        Event::data(&chunk)
    };
    let delta = |delta: Value, finish: Option<&str>| {
        chunk(json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]), Value::Null)
    };
    let opening = answer.text.map(|_| "");
    let mut events = vec![delta(json!({ "role": "assistant", "content": opening }), None)];
    for text in answer.text.map(pieces).unwrap_or_default() {
        events.push(delta(json!({ "content": text }), None));
    }
    for (index, mut call) in calls(answer).into_iter().enumerate() {
        let arguments = call["function"]["arguments"].take();
        call["index"] = json!(index);
        call["function"]["arguments"] = json!("");
        events.push(delta(json!({ "tool_calls": [call] }), None));
        for piece in pieces(arguments.as_str().unwrap_or_default()) {
            let call = json!({ "index": index, "function": { "arguments": piece } });
            events.push(delta(json!({ "tool_calls": [call] }), None));
        }
    }
    events.push(delta(json!({}), Some(finish_reason(answer))));
    if counted {
        events.push(chunk(json!([]), usage(answer)));
    }
    events.push(Event { name: None, data: "[DONE]".to_owned() });
    events
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let (kind, code) = match status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        404 => ("invalid_request_error", Some("model_not_found")),
        429 => ("tokens", Some("rate_limit_exceeded")),
        400..500 => ("invalid_request_error", None),
        _ => ("server_error", None),
    };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}
