//! OpenAI's Responses.

use serde_json::{Value, json};

use super::{Answer, Event, Turn, now, pieces};

pub(super) fn turn(item: &Value) -> Turn {
    let kind = item["type"].as_str().unwrap_or("message");
    if kind.ends_with("_output") {
        return Turn { said: String::new(), results: 1 };
    }
    if kind != "message" || item["role"] == "assistant" {
        return Turn::default();
    }
    Turn { said: item["content"].to_string(), results: 0 }
}

fn items(answer: &Answer<'_>) -> Vec<Value> {
    let text = answer.text.map(|text| {
        json!({
            "type": "message", "id": format!("msg_{}", answer.id), "status": "completed", "role": "assistant",
            "content": [{ "type": "output_text", "annotations": [], "text": text }],
        })
    });
    let calls = answer.calls.iter().enumerate().map(|(number, call)| {
        let call_id = format!("call_{}{number}", answer.id);
        let mut item = if let Some(input) = call.args.as_str() {
            json!({
                "type": "custom_tool_call", "id": format!("ctc_{}{number}", answer.id), "status": "completed",
                "call_id": call_id, "name": call.name, "input": input,
            })
        } else {
            json!({
                "type": "function_call", "id": format!("fc_{}{number}", answer.id), "status": "completed",
                "call_id": call_id, "name": call.name, "arguments": call.args.to_string(),
            })
        };
        if let Some(namespace) = &call.namespace {
            item["namespace"] = json!(namespace);
        }
        item
    });
    text.into_iter().chain(calls).collect()
}

fn response(answer: &Answer<'_>, status: &str, output: &[Value]) -> Value {
    let [input_tokens, output_tokens] = answer.usage;
    let usage = (status == "completed").then(|| {
        json!({
            "input_tokens": input_tokens, "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": output_tokens, "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": input_tokens + output_tokens,
        })
    });
    json!({
        "id": format!("resp_{}", answer.id), "object": "response", "created_at": now(), "status": status,
        "error": null, "incomplete_details": null, "model": answer.model(), "output": output, "usage": usage,
    })
}

pub(super) fn whole(answer: &Answer<'_>) -> Value {
    response(answer, "completed", &items(answer))
}

pub(super) fn stream(answer: &Answer<'_>) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let mut add = |name: &'static str, mut data: Value| {
        data["type"] = json!(name);
        data["sequence_number"] = json!(events.len());
        events.push(Event { name: Some(name), data: data.to_string() });
    };
    add("response.created", json!({ "response": response(answer, "in_progress", &[]) }));
    add("response.in_progress", json!({ "response": response(answer, "in_progress", &[]) }));
    let items = items(answer);
    for (index, item) in items.iter().enumerate() {
        let of = |mut data: Value| {
            data["item_id"] = item["id"].clone();
            data["output_index"] = json!(index);
            data
        };
        let mut begun = item.clone();
        begun["status"] = json!("in_progress");
        if let Some(text) = item["content"][0]["text"].as_str() {
            begun["content"] = json!([]);
            add("response.output_item.added", json!({ "output_index": index, "item": begun }));
            let empty = json!({ "type": "output_text", "annotations": [], "text": "" });
            add("response.content_part.added", of(json!({ "content_index": 0, "part": empty })));
            for delta in pieces(text) {
                add("response.output_text.delta", of(json!({ "content_index": 0, "delta": delta })));
            }
            add("response.output_text.done", of(json!({ "content_index": 0, "text": text })));
            add("response.content_part.done", of(json!({ "content_index": 0, "part": item["content"][0] })));
        } else {
            let (field, delta_name, done_name) = if item["type"] == "function_call" {
                ("arguments", "response.function_call_arguments.delta", "response.function_call_arguments.done")
            } else {
                ("input", "response.custom_tool_call_input.delta", "response.custom_tool_call_input.done")
            };
            begun[field] = json!("");
            add("response.output_item.added", json!({ "output_index": index, "item": begun }));
            for delta in pieces(item[field].as_str().unwrap_or_default()) {
                add(delta_name, of(json!({ "delta": delta })));
            }
            add(done_name, of(json!({ field: item[field] })));
        }
        add("response.output_item.done", json!({ "output_index": index, "item": item }));
    }
    add("response.completed", json!({ "response": response(answer, "completed", &items) }));
    events
}
