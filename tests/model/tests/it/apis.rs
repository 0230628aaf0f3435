//! A text, calls of tools and what they cost, over each API.

use maestro_test_model::{Model, Script, Step};
use serde_json::{Value, json};

use crate::client::{get, post};

const SENTENCE: &str = "I write the file, then I say so.";

/// First a text with two calls, then the end.
async fn model() -> Model {
    let both = Step::text(SENTENCE)
        .and_call("shell", json!({ "command": "echo hi > a.txt" }))
        .and_call("report", json!({ "n": 1 }))
        .namespace("mcp__maestro")
        .usage(1000, 50);
    Model::start(Script::new().on("TASK", [both, Step::text("Done.")])).await.unwrap()
}

/// What is in `field` of every event that has it, joined.
fn joined(events: &[(String, Value)], pointer: &str) -> String {
    events.iter().filter_map(|(_, data)| data.pointer(pointer)?.as_str()).collect()
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    let mut names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    names.dedup();
    names
}

#[tokio::test]
async fn messages() {
    let model = model().await;
    let user = json!({ "role": "user", "content": [{ "type": "text", "text": "do TASK" }] });
    let tools = json!([{ "name": "shell" }]);
    let request = json!({ "model": "m", "stream": true, "tools": tools, "messages": [user] });
    let events = post(&model, "/v1/messages?beta=true", &request).await.events();
    assert_eq!(
        names(&events),
        [
            "message_start",
            "content_block_start",
            "ping",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    );
    assert!(events.iter().all(|(name, data)| data["type"] == name.as_str()));
    assert_eq!(joined(&events, "/delta/text"), SENTENCE);
    assert_eq!(joined(&events, "/delta/partial_json"), r#"{"command":"echo hi > a.txt"}{"n":1}"#);
    assert_eq!(events[0].1["message"]["usage"]["input_tokens"], 1000);
    let end = &events[events.len() - 2].1;
    assert_eq!((&end["delta"]["stop_reason"], &end["usage"]["output_tokens"]), (&json!("tool_use"), &json!(50)));

    let mut request = json!({ "model": "m", "tools": tools, "messages": [user] });
    let whole = post(&model, "/v1/messages", &request).await.json();
    assert_eq!(whole["content"][0], json!({ "type": "text", "text": SENTENCE }));
    let ids: Vec<&Value> = whole["content"].as_array().unwrap()[1..].iter().map(|call| &call["id"]).collect();
    let results: Vec<Value> =
        ids.iter().map(|id| json!({ "type": "tool_result", "tool_use_id": id, "content": "TASK ok" })).collect();
    request["messages"] = json!([user, { "role": "assistant", "content": whole["content"] },
        { "role": "user", "content": results }]);
    let end = post(&model, "/v1/messages", &request).await.json();
    assert_eq!((&end["content"][0]["text"], &end["stop_reason"]), (&json!("Done."), &json!("end_turn")));
    // Said again, it is done again.
    request["messages"].as_array_mut().unwrap().push(user);
    assert_eq!(post(&model, "/v1/messages", &request).await.json()["stop_reason"], "tool_use");
}

#[tokio::test]
async fn responses() {
    let model = model().await;
    let user = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "do TASK" }] });
    let tools = json!([{ "type": "function", "name": "shell" }]);
    let mut request = json!({ "model": "m", "stream": true, "tools": tools, "input": [user] });
    let events = post(&model, "/v1/responses", &request).await.events();
    assert_eq!(
        names(&events),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    let numbers: Vec<u64> = events.iter().filter_map(|(_, data)| data["sequence_number"].as_u64()).collect();
    assert!(numbers.into_iter().eq(0..events.len() as u64));
    let response = &events.last().unwrap().1["response"];
    assert_eq!(response["usage"]["total_tokens"], 1050);
    let output = response["output"].as_array().unwrap();
    assert_eq!(output[0]["content"][0]["text"], SENTENCE);
    assert_eq!(output[1]["arguments"], r#"{"command":"echo hi > a.txt"}"#);
    assert_eq!((&output[1]["namespace"], &output[2]["namespace"]), (&Value::Null, &json!("mcp__maestro")));

    let mut input = vec![user];
    input.extend(output.iter().cloned());
    for call in &output[1..] {
        input.push(json!({ "type": "function_call_output", "call_id": call["call_id"], "output": "TASK ok" }));
    }
    request["stream"] = json!(false);
    request["input"] = json!(input);
    let end = post(&model, "/v1/responses", &request).await.json();
    assert_eq!((&end["status"], &end["output"][0]["content"][0]["text"]), (&json!("completed"), &json!("Done.")));
}

#[tokio::test]
async fn a_text_as_arguments_is_a_custom_call_of_responses() {
    let patch = "*** Begin Patch\n*** End Patch";
    let model = Model::start(Script::new().on("TASK", [Step::call("apply_patch", json!(patch))])).await.unwrap();
    let request = json!({ "tools": [{}], "input": [{ "role": "user", "content": "TASK" }] });
    let call = &post(&model, "/responses", &request).await.json()["output"][0];
    assert_eq!((&call["type"], &call["input"]), (&json!("custom_tool_call"), &json!(patch)));
}

#[tokio::test]
async fn chat_completions() {
    let model = model().await;
    let user = json!({ "role": "user", "content": "do TASK" });
    let tools = json!([{ "type": "function", "function": { "name": "shell" } }]);
    let mut request = json!({ "model": "m", "stream": true, "tools": tools, "messages": [user] });
    let silent = post(&model, "/v1/chat/completions", &request).await;
    assert!(silent.body.ends_with("data: [DONE]\n\n"));
    assert!(silent.events().iter().all(|(_, data)| data.get("usage").is_none()));

    request["stream_options"] = json!({ "include_usage": true });
    let events = post(&model, "/v1/chat/completions", &request).await.events();
    assert_eq!(joined(&events, "/choices/0/delta/content"), SENTENCE);
    let arguments = joined(&events, "/choices/0/delta/tool_calls/0/function/arguments");
    assert_eq!(arguments, r#"{"command":"echo hi > a.txt"}{"n":1}"#);
    let (usage, end) = (&events[events.len() - 1].1, &events[events.len() - 2].1);
    assert_eq!((&usage["choices"], &usage["usage"]["total_tokens"]), (&json!([]), &json!(1050)));
    assert_eq!(end["choices"][0]["finish_reason"], "tool_calls");

    request["stream"] = json!(false);
    let whole = post(&model, "/v1/chat/completions", &request).await.json();
    let message = &whole["choices"][0]["message"];
    let mut messages = vec![user, message.clone()];
    for call in message["tool_calls"].as_array().unwrap() {
        messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": "TASK ok" }));
    }
    request["messages"] = json!(messages);
    let end = &post(&model, "/v1/chat/completions", &request).await.json()["choices"][0];
    assert_eq!((&end["message"]["content"], &end["finish_reason"]), (&json!("Done."), &json!("stop")));
}

#[tokio::test]
async fn gemini() {
    let model = model().await;
    let user = json!({ "role": "user", "parts": [{ "text": "do TASK" }] });
    let mut request = json!({ "tools": [{ "functionDeclarations": [] }], "contents": [user] });
    let path = "/v1beta/models/gemini-2.5-pro:streamGenerateContent";
    let answer = post(&model, &format!("{path}?alt=sse"), &request).await;
    assert!(answer.body.contains("\r\n\r\n"));
    let events = answer.events();
    assert_eq!(joined(&events, "/candidates/0/content/parts/0/text"), SENTENCE);
    let last = &events.last().unwrap().1;
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    assert_eq!(last["usageMetadata"]["totalTokenCount"], 1050);
    let parts = &last["candidates"][0]["content"]["parts"];
    assert_eq!(parts[0]["functionCall"], json!({ "name": "shell", "args": { "command": "echo hi > a.txt" } }));
    // Without `alt=sse` it is one array.
    let array = post(&model, path, &request).await.json();
    assert_eq!(array.as_array().unwrap().len(), events.len());

    let whole = post(&model, "/v1beta/models/gemini-2.5-pro:generateContent", &request).await.json();
    let said = &whole["candidates"][0]["content"];
    assert_eq!(said["parts"].as_array().unwrap().len(), 3);
    let result = json!({ "functionResponse": { "name": "shell", "response": { "output": "TASK ok" } } });
    request["contents"] = json!([user, said, { "role": "user", "parts": [result, result] }]);
    let end = post(&model, "/v1beta/models/gemini-2.5-pro:generateContent", &request).await.json();
    assert_eq!(end["candidates"][0]["content"]["parts"][0]["text"], "Done.");
}

#[tokio::test]
async fn what_clients_ask_beside_is_answered() {
    let model = model().await;
    let count = post(&model, "/v1/messages/count_tokens?beta=true", &json!({})).await.json();
    assert_eq!(count["input_tokens"], 100);
    let count = post(&model, "/v1beta/models/g:countTokens", &json!({})).await.json();
    assert_eq!(count["totalTokens"], 100);
    let models = get(&model, "/v1/models").await;
    assert_eq!(models.json()["data"], json!([]));
    assert_eq!(post(&model, "/v1/embeddings", &json!({})).await.status, 404);
}
