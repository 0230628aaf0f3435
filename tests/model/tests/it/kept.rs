//! Requests are kept as they came, and scripts can be changed.

use std::process::{Command, Stdio};

use maestro_test_model::{Model, Script, Step};
use serde_json::{Value, json};

use crate::client::{get, post, send};

#[tokio::test]
async fn every_request_is_kept_byte_for_byte() {
    let model = Model::start(Script::new().on("TASK", [Step::text("x")])).await.unwrap();
    // Neither order nor spaces nor escapes are those that a JSON library would write.
    let body = "{ \"stream\":false,\"messages\" : [{\"role\":\"user\",\"content\":\"TASK \\u00fc\\/\"}]}";
    send(&model.url(), "POST", "/v1/messages?beta=true", body.to_owned()).await;
    post(&model, "/v1/chat/completions", &json!({ "messages": [] })).await;
    let requests = model.requests();
    assert_eq!(requests[0].body, body);
    assert_eq!((requests[0].path.as_str(), requests[0].tag.as_deref()), ("/v1/messages?beta=true", Some("TASK")));
    assert_eq!((requests[1].path.as_str(), requests[1].tag.as_deref()), ("/v1/chat/completions", None));

    let list = get(&model, "/__requests").await.json();
    assert_eq!((&list[0]["text"], &list[0]["tag"], &list[1]["tag"]), (&json!(body), &json!("TASK"), &Value::Null));
    assert_eq!(get(&model, "/__requests/0").await.body, body);
    assert_eq!(get(&model, "/__requests/9").await.status, 404);
}

#[tokio::test]
async fn large_requests_are_taken() {
    let model = Model::start(Script::new()).await.unwrap();
    let request = json!({ "messages": [{ "role": "user", "content": "x".repeat(3 << 20) }] });
    assert_eq!(post(&model, "/v1/messages", &request).await.status, 200);
}

#[tokio::test]
async fn the_default_answers_what_has_no_tag_and_offers_no_tools() {
    let script = Script::new().on("TASK", [Step::call("sh", json!({}))]).otherwise(Step::text("A title"));
    let model = Model::start(script).await.unwrap();
    let request = json!({ "messages": [{ "role": "user", "content": "a title for TASK" }] });
    let answer = post(&model, "/v1/chat/completions", &request).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "A title");
}

#[tokio::test]
async fn an_answer_says_again_what_the_prompt_said() {
    let call = Step::call("sh", json!({ "cmd": "report {{RUN}}" }));
    let script = Script::new().on("TASK", [call, Step::text("{{RUN}} is over, {{NOBODY}} knows")]);
    let model = Model::start(script.taking("RUN", "`report ", "`").taking("NOBODY", "never", "said")).await.unwrap();
    let prompt = json!({ "role": "user", "content": "TASK: run\n- `report \"r 1\"`\n" });
    let tools = json!([{ "type": "function", "function": { "name": "sh" } }]);
    let request = json!({ "tools": tools, "messages": [prompt] });
    let answer = post(&model, "/v1/chat/completions", &request).await.json();
    let called = &answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(called, r#"{"cmd":"report \"r 1\""}"#);

    // What a tool printed is not what the model was told.
    let result = json!({ "role": "tool", "tool_call_id": "1", "content": "`report another`" });
    let request = json!({ "tools": tools, "messages": [prompt, result] });
    let answer = post(&model, "/v1/chat/completions", &request).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "\"r 1\" is over, {{NOBODY}} knows");
}

#[test]
fn a_test_without_a_runtime_can_have_a_model() {
    let model = Model::start_blocking(Script::new()).unwrap();
    assert!(model.url().starts_with("http://127.0.0.1:"));
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn the_program_serves_a_file() {
    let directory = std::env::temp_dir().join(format!("maestro-test-model-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("script.json");
    std::fs::write(&file, r#"{"tags": {"TASK": [{"text": "from the file"}]}}"#).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_maestro-test-model"))
        .arg(&file)
        .arg("0")
        .arg(&directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
    let ask = async |method: &str, path: &str, body: &str| send(line.trim(), method, path, body.to_owned()).await;
    let request = r#"{"messages": [{"role": "user", "content": "TASK"}]}"#;
    let first = ask("POST", "/v1/messages", request).await.json();
    assert_eq!(first["content"][0]["text"], "from the file");
    assert_eq!(std::fs::read_to_string(directory.join("0000.json")).unwrap(), request);
    assert_eq!(ask("PUT", "/__script", r#"{"tags": 1}"#).await.status, 400);
    assert_eq!(ask("PUT", "/__script", r#"{"default": {"text": "changed"}}"#).await.status, 204);
    assert_eq!(ask("POST", "/v1/messages", request).await.json()["content"][0]["text"], "changed");
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
}
