//! Whatever can go wrong with a model goes wrong here when a script says so, over each API.

use std::time::{Duration, Instant};

use maestro_test_model::{Fault, Model, Script, Step};
use serde_json::{Value, json};

use crate::client::{End, post, send};

/// Each API with a request that is answered in pieces.
fn streaming() -> [(&'static str, Value); 4] {
    let messages = json!([{ "role": "user", "content": "TASK" }]);
    [
        ("/v1/messages", json!({ "stream": true, "messages": messages })),
        ("/v1/responses", json!({ "stream": true, "input": messages })),
        ("/v1/chat/completions", json!({ "stream": true, "messages": messages })),
        (
            "/v1beta/models/g:streamGenerateContent?alt=sse",
            json!({ "contents": [{ "role": "user", "parts": [{ "text": "TASK" }] }] }),
        ),
    ]
}

async fn model(step: Step) -> Model {
    Model::start(Script::new().on("TASK", [step])).await.unwrap()
}

#[tokio::test]
async fn errors_are_worded_as_each_api_does() {
    let model = model(Step::status(429, "slow down").retry_after(7)).await;
    let mut seen = Vec::new();
    for (path, request) in streaming() {
        let answer = post(&model, path, &request).await;
        assert_eq!((answer.status, answer.retry_after.as_deref()), (429, Some("7")));
        let error = answer.json()["error"].clone();
        assert_eq!(error["message"], "slow down");
        seen.push(error);
    }
    assert_eq!(seen[0]["type"], "rate_limit_error");
    assert_eq!((&seen[1]["code"], &seen[2]["code"]), (&json!("rate_limit_exceeded"), &json!("rate_limit_exceeded")));
    assert_eq!(seen[3]["status"], "RESOURCE_EXHAUSTED");
    assert_eq!(seen[3]["details"][0]["retryDelay"], "7s");
}

#[tokio::test]
async fn an_error_may_go_away() {
    let script = Script::new().on("TASK", [Step::status(500, "busy").times(2), Step::text("now")]);
    let model = Model::start(script).await.unwrap();
    let request = json!({ "messages": [{ "role": "user", "content": "TASK" }] });
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(post(&model, "/v1/messages", &request).await.status);
    }
    assert_eq!(statuses, [500, 500, 200, 200]);
}

#[tokio::test]
async fn a_hang_answers_nothing() {
    let model = model(Step::fault(Fault::Hang)).await;
    for (path, request) in streaming() {
        let answer = tokio::time::timeout(Duration::from_millis(300), post(&model, path, &request)).await;
        assert!(answer.is_err(), "{path}");
    }
    assert_eq!(model.requests().len(), 4);
}

#[tokio::test]
async fn a_stall_answers_half_and_keeps_the_connection() {
    let model = model(Step::fault(Fault::Stall)).await;
    for (path, request) in streaming() {
        let answer = post(&model, path, &request).await;
        assert_eq!((answer.status, &answer.end), (200, &End::Silence), "{path}");
        assert!(answer.body.contains("data: {") && !answer.body.contains("several pieces"), "{}", answer.body);
    }
}

#[tokio::test]
async fn a_disconnect_answers_half_and_cuts_the_connection() {
    let model = model(Step::fault(Fault::Disconnect)).await;
    for (path, request) in streaming() {
        let answer = post(&model, path, &request).await;
        assert_eq!((answer.status, &answer.end), (200, &End::Cut), "{path}");
        assert!(answer.body.contains("data: {"), "{path}: {}", answer.body);
    }
}

#[tokio::test]
async fn a_malformed_answer_ends_as_if_it_were_whole() {
    let model = model(Step::fault(Fault::Malformed)).await;
    for (path, mut request) in streaming() {
        let answer = post(&model, path, &request).await;
        assert_eq!((answer.status, &answer.end), (200, &End::Whole), "{path}");
        let last = answer.body.trim_end().rsplit_once("data: ").unwrap().1;
        assert!(serde_json::from_str::<Value>(last).is_err(), "{path}: {last}");
        // The same in one piece.
        request["stream"] = json!(false);
        let answer = post(&model, &path.replace("streamGenerateContent?alt=sse", "generateContent"), &request).await;
        assert!(serde_json::from_str::<Value>(&answer.body).is_err(), "{path}: {}", answer.body);
    }
}

#[tokio::test]
async fn a_sleep_comes_before_the_answer() {
    let model = model(Step::text("late").sleep(0.2)).await;
    let [(path, request), ..] = streaming();
    let begun = Instant::now();
    post(&model, path, &request).await.events();
    assert!(begun.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn who_ends_the_model_ends_its_answers() {
    let model = model(Step::fault(Fault::Stall)).await;
    let url = model.url();
    let [(path, request), ..] = streaming();
    let asked = url.clone();
    let answer = tokio::spawn(async move { send(&asked, "POST", path, request.to_string()).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    drop(model);
    assert_eq!(answer.await.unwrap().end, End::Cut);
    let address = url.strip_prefix("http://").unwrap();
    let refused = async { while tokio::net::TcpStream::connect(address).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(5), refused).await.unwrap();
}
