//! Health and projects.

use insta::assert_snapshot;
use maestro_store::{Change, ChangeTx, StoreError};
use serde_json::json;

use crate::world::{Api, both};

both! {
    a_project_lives_and_dies,
    what_is_wrong_with_a_project_is_said,
    projects_come_in_parts,
    the_server_says_that_it_lives,
    a_full_disk_shows_in_the_health_and_on_the_page_until_it_has_room,
}

async fn a_project_lives_and_dies(api: &Api) {
    let made = api
        .post("/api/projects", json!({ "name": "  shop ", "workingDir": "/w", "isMaster": true, "id": "mine" }))
        .await;
    assert_snapshot!(made, @r#"
    201
    {
      "id": "proj",
      "name": "shop",
      "workingDir": "/w",
      "description": "",
      "createdAt": 1738713600000,
      "updatedAt": 1738713600000,
      "revision": 1
    }
    "#);
    let id = made.id();
    let path = format!("/api/projects/{id}");
    assert_eq!(api.get(&path).await.body, made.body);
    api.wait(1000);
    assert_snapshot!(api.put(&path, json!({ "description": "sells things", "owner": "me" })).await, @r#"
    200
    {
      "id": "proj",
      "name": "shop",
      "workingDir": "/w",
      "description": "sells things",
      "createdAt": 1738713600000,
      "updatedAt": 1738713601000,
      "revision": 2
    }
    "#);
    assert_snapshot!(api.put(&path, json!({ "name": " " })).await, @r#"
    400
    {
      "error": true,
      "statusCode": 400,
      "code": "VALIDATION_ERROR",
      "message": "Project name cannot be empty"
    }
    "#);
    assert_eq!(api.delete(&path).await.body, json!({ "success": true, "id": id }));
    assert_snapshot!(api.get(&path).await, @r#"
    404
    {
      "error": true,
      "statusCode": 404,
      "code": "NOT_FOUND",
      "message": "Project with id 'proj' not found"
    }
    "#);
}

async fn what_is_wrong_with_a_project_is_said(api: &Api) {
    assert_snapshot!(api.post("/api/projects", json!({})).await, @r#"
    400
    {
      "error": true,
      "statusCode": 400,
      "code": "VALIDATION_ERROR",
      "message": "Project name is required"
    }
    "#);
    assert_snapshot!(api.post("/api/projects", json!({ "name": 5 })).await, @r#"
    400
    {
      "error": true,
      "statusCode": 400,
      "code": "VALIDATION_ERROR",
      "message": "name: invalid type: integer `5`, expected a string at line 1 column 9",
      "details": {
        "field": "name"
      }
    }
    "#);
    assert_snapshot!(api.get("/api/projects/nobody").await.line(), @"404 NOT_FOUND Project with id 'nobody' not found");
    assert_snapshot!(api.put("/api/projects/nobody", json!({ "name": "x" })).await.line(), @"404 NOT_FOUND Project with id 'nobody' not found");
    assert_snapshot!(api.delete("/api/projects/nobody").await.line(), @"404 NOT_FOUND Project with id 'nobody' not found");
    let project = api.project().await;
    let task = api.task(&project, "T").await;
    let path = format!("/api/projects/{project}");
    assert_snapshot!(api.delete(&path).await.line(), @"422 BUSINESS_RULE_ERROR Cannot delete project with existing tasks");
    api.session(&project, &[]).await;
    assert_eq!(api.delete(&format!("/api/tasks/{task}")).await.status, 200);
    assert_snapshot!(api.delete(&path).await.line(), @"422 BUSINESS_RULE_ERROR Cannot delete project with existing sessions");
}

async fn projects_come_in_parts(api: &Api) {
    assert_eq!(api.get("/api/projects").await.body, json!([]));
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(api.project().await);
    }
    assert_eq!(api.get("/api/projects").await.ids(), ids);
    let first = api.get("/api/projects?limit=3").await;
    assert_eq!(first.ids(), ids[..3]);
    let next = first.header("maestro-next-cursor");
    let second = api.get(&format!("/api/projects?limit=3&cursor={next}")).await;
    assert_eq!((second.ids(), second.header("maestro-next-cursor")), (vec![ids[3].as_str(), ids[4].as_str()], ""));
    assert_snapshot!(api.get("/api/projects?limit=0").await, @r#"
    400
    {
      "error": true,
      "statusCode": 400,
      "code": "VALIDATION_ERROR",
      "message": "limit: must be 1 to 10000",
      "details": {
        "field": "limit"
      }
    }
    "#);
    assert_snapshot!(api.get("/api/projects?limit=many").await.line(), @"400 VALIDATION_ERROR Failed to deserialize query string: limit: invalid digit found in string");
}

async fn the_server_says_that_it_lives(api: &Api) {
    let mut health = api.get("/health").await;
    assert!(health.body["uptime"].take().as_f64().unwrap() >= 0.0);
    assert_snapshot!(health, @r#"
    200
    {
      "status": "ok",
      "timestamp": 1738713600000,
      "uptime": null,
      "instance": "instance",
      "version": "0.0.0"
    }
    "#);
    assert_snapshot!(api.get("/ws-status").await, @r#"
    200
    {
      "connectedClients": 0,
      "clients": []
    }
    "#);
}

/// A change for which the disk has no room.
#[derive(Debug)]
struct FullDisk;

impl Change for FullDisk {
    type Output = ();

    fn apply(&self, _: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        Err(StoreError::Full)
    }
}

async fn a_full_disk_shows_in_the_health_and_on_the_page_until_it_has_room(api: &Api) {
    assert!(!api.get("/").await.text.contains("Degraded"));
    api.store.write(FullDisk).await.unwrap_err();
    let health = api.get("/health").await;
    assert_eq!((health.status, &health.body["status"]), (200, &json!("degraded")));
    assert_eq!(
        health.body["degraded"],
        json!([{
            "what": "database", "since": 1_738_713_600_000_i64, "failures": 1,
            "reason": StoreError::Full.to_string(),
        }])
    );
    let page = api.get("/").await.text;
    assert!(page.contains("Degraded since 2025-02-05T00:00:00.000Z: database: "), "{page}");
    api.project().await;
    assert_eq!(api.get("/health").await.body["status"], "ok");
    assert!(!api.get("/").await.text.contains("Degraded"));
}
