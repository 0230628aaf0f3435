//! What waits for a person: counted once, and the same for everybody who asks.

use serde_json::json;

use crate::world::{Api, both};

both! { what_blocks_a_session_waits_once_until_it_is_answered, every_record_has_an_id_that_commands_may_shorten, }

async fn what_blocks_a_session_waits_once_until_it_is_answered(api: &Api) {
    let project = api.project().await;
    let task = api.task(&project, "Fix the login").await;
    let session = api.session(&project, &[&task]).await;
    let report = async |body| assert_eq!(api.post(&format!("/api/sessions/{session}/reports"), body).await.status, 200);
    report(json!({ "kind": "blocked", "message": "No key" })).await;
    assert_eq!(api.get(&format!("/api/tasks/{task}")).await.body["status"], "blocked");
    let waiting = api.get("/api/waiting").await.body;
    let [item] = waiting.as_array().unwrap().as_slice() else { panic!("{waiting:#}") };
    assert_eq!((&item["kind"], &item["text"], &item["id"]), (&json!("question"), &json!("No key"), &json!(session)));
    assert_eq!(api.get(&format!("/api/sessions/{session}")).await.body["state"], "waiting");

    api.wait(1000);
    report(json!({ "message": "trying something else" })).await;
    assert_eq!(api.get("/api/waiting").await.body.as_array().unwrap().len(), 1, "no one has answered");
    api.wait(1000);
    let said = json!({ "text": "It is in the safe" });
    assert_eq!(api.post(&format!("/api/sessions/{session}/messages"), said).await.status, 201);
    assert_eq!(api.get("/api/waiting").await.body, json!([]));
    report(json!({ "message": "found it" })).await;
    assert_eq!(api.get(&format!("/api/sessions/{session}")).await.body["state"], "working");
}

async fn every_record_has_an_id_that_commands_may_shorten(api: &Api) {
    let project = api.project().await;
    let task = api.task(&project, "T").await;
    let session = api.session(&project, &[&task]).await;
    let ids = api.get("/api/ids").await.body;
    for (kind, id) in [("project", &project), ("task", &task), ("session", &session)] {
        assert!(ids.as_array().unwrap().contains(&json!({ "kind": kind, "id": id })), "{ids:#}");
    }
}
