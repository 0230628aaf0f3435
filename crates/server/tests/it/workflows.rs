//! Workflows over HTTP: which there are, what one says, and a run begun by its name.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;
use tempfile::TempDir;

use crate::runs::{JOURNEY, ticket};
use crate::world::Api;

fn skills() -> (TempDir, Api) {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let skill = |name: &str| {
        format!("---\nname: {name}\ndescription: Does {name}. Use when it is needed.\n---\n\nDo it well.\n")
    };
    write("journey/SKILL.md", &skill("journey"));
    write(
        "journey/workflow.yaml",
        &JOURNEY.replace("name: journey", "name: journey\naliases: [trip]\ndescription: Goes."),
    );
    write("journey/workflows/detour.yaml", "name: detour\nsteps:\n- {id: a, type: end}\n");
    write("journey/workflows/tour.yaml", "name: tour\nlisted: true\nsteps:\n- {id: a, type: end}\n");
    write("broken/SKILL.md", &skill("broken"));
    write("broken/workflow.yaml", "name: broken\nsteps:\n- {id: a, type: agent, next: {ok: nowhere}}\n");
    write("plain/SKILL.md", &skill("plain"));
    let api = Api::with_skills(folder.path());
    (folder, api)
}

#[tokio::test]
async fn workflows_are_listed_with_what_is_wrong_with_them() {
    let (_folder, api) = skills();
    let listed = api.get("/api/workflows").await;
    assert_eq!(listed.status, 200, "{listed}");
    let line = |workflow: &serde_json::Value| {
        let findings = workflow["findings"].as_array().unwrap().len();
        format!(
            "{} sound={} steps={} findings={findings}",
            workflow["name"],
            workflow["sound"],
            workflow["steps"].as_array().unwrap().len()
        )
    };
    let mut lines: Vec<String> = listed.body.as_array().unwrap().iter().map(line).collect();
    lines.sort();
    assert_snapshot!(lines.join("\n"), @r#"
    "broken" sound=false steps=0 findings=2
    "journey" sound=true steps=7 findings=1
    "journey/tour" sound=true steps=1 findings=0
    "#);
}

#[tokio::test]
async fn one_workflow_is_found_by_name_and_alias() {
    let (folder, api) = skills();
    let found = api.get("/api/workflows/journey").await;
    let path = folder.path().join("journey/workflow.yaml").display().to_string();
    assert_snapshot!(found.to_string().replace(&path, "[PATH]"), @r#"
    200
    {
      "name": "journey",
      "description": "Goes.",
      "category": null,
      "version": null,
      "sound": true,
      "path": "[PATH]",
      "params": [
        {
          "name": "problem",
          "type": "string",
          "required": true,
          "description": null
        }
      ],
      "steps": [
        {
          "id": "look",
          "type": "agent",
          "title": "Look at it",
          "phase": null
        },
        {
          "id": "ask",
          "type": "question",
          "title": "ask",
          "phase": null
        },
        {
          "id": "test",
          "type": "command",
          "title": "test",
          "phase": null
        },
        {
          "id": "gate",
          "type": "gate",
          "title": "gate",
          "phase": null
        },
        {
          "id": "say",
          "type": "output",
          "title": "say",
          "phase": null
        },
        {
          "id": "done",
          "type": "end",
          "title": "done",
          "phase": null
        },
        {
          "id": "stop",
          "type": "end",
          "title": "stop",
          "phase": null
        }
      ],
      "findings": [
        "W01 at 6:13: nothing reads `mood`"
      ]
    }
    "#);
    assert_eq!(api.get("/api/workflows/trip").await.body, found.body);
    assert_eq!(api.get("/api/workflows/journey/detour").await.body["name"], json!("journey/detour"));
    let broken = api.get("/api/workflows/broken").await;
    assert_eq!((broken.status, &broken.body["sound"]), (200, &json!(false)));
    assert!(!broken.body["findings"].as_array().unwrap().is_empty());
    let plain = api.get("/api/workflows/plain").await;
    assert_eq!((plain.status, &plain.body["steps"][0]["type"]), (200, &json!("agent")), "instructions are a step");
    assert_snapshot!(api.get("/api/workflows/jurney").await.line(), @"404 NOT_FOUND there is no workflow `jurney`; did you mean `journey`?");
    assert_eq!(api.get("/api/workflows/..%2F..%2Fetc").await.status, 404);
    assert_eq!(api.get("/api/workflows/journey/..").await.status, 404);
    assert_eq!(api.get("/api/workflows?projectId=ghost").await.status, 404);
}

#[tokio::test]
async fn a_run_is_begun_by_the_name_of_its_workflow_and_keeps_what_it_was_begun_with() {
    let (folder, api) = skills();
    let body = |name: &str| json!({ "workflow": name, "params": { "problem": "p" }, "driver": "caller", "workspace": folder.path() });
    let keyed = api.with("idempotency-key", "k");
    let begun = keyed.post("/api/runs", body("trip")).await;
    assert_eq!((begun.status, &begun.body["workflow"]), (201, &json!("journey")), "{begun}");
    // The definition is changed, and then deleted, under the run.
    fs::write(folder.path().join("journey/workflow.yaml"), "name: journey\nparams: {problem: {type: string}}\naliases: [trip]\nsteps:\n- {id: other, type: agent, next: {ok: end, fail: end}}\n").unwrap();
    let again = keyed.post("/api/runs", body("trip")).await;
    assert_eq!((again.status, &again.body), (201, &begun.body), "the same request is answered the same");
    fs::remove_dir_all(folder.path().join("journey")).unwrap();
    let path = format!("/api/runs/{}", begun.id());
    let report = json!({ "ticket": ticket(&begun.body), "result": { "cause": "a loop" } });
    let asked = api.post(&format!("{path}/report"), report).await;
    assert_eq!((asked.status, &asked.body["step"]), (200, &json!("ask")), "{asked}");
    assert_snapshot!(api.post("/api/runs", body("broken")).await.line().replace(&folder.path().display().to_string(), "[SKILLS]"), @"422 BUSINESS_RULE_ERROR the workflow `broken` has errors; `maestro workflow check [SKILLS]/broken/workflow.yaml` shows them");
    assert_snapshot!(api.post("/api/runs", body("journey")).await.line(), @"404 NOT_FOUND there is no workflow `journey`");
}
