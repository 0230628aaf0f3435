//! Which skills does an agent get, and who hears of those that it does not?

use serde_json::{Value as Json, json};

use super::Stage;

/// A skill in the original's form, with what it needs before it.
fn skill(stage: &Stage, dir: &str, name: &str, needs: &[&str]) {
    let manifest = json!({
        "name": name, "version": "1.0.0", "description": format!("How {name} is done."), "type": "custom",
        "dependencies": needs,
    });
    stage.sandbox.write(&format!("{dir}/{name}/manifest.json"), manifest.to_string());
    stage.sandbox.write(&format!("{dir}/{name}/skill.md"), format!("The way of {name}.\n"));
}

fn spawn(stage: &Stage, skills: Option<Json>) -> Json {
    let task = stage.task("Add a file done.txt that says done");
    let mut body = json!({ "projectId": stage.project, "taskIds": [task], "agent": "demo" });
    if let Some(skills) = skills {
        body["skills"] = skills;
    }
    let spawned = stage.server.make("/api/sessions/spawn", &body);
    stage.wait_for(spawned["sessionId"].as_str().unwrap(), "completed");
    spawned
}

#[test]
fn skills_of_the_project_arrive_after_what_they_need() {
    let stage = Stage::prompted();
    skill(&stage, ".skills", "deploying", &["baking"]);
    skill(&stage, ".maestro/skills", "baking", &["maestro-cli"]);
    let spawned = spawn(&stage, Some(json!(["deploying"])));
    assert_eq!(spawned["skillProblems"], json!([]));
    let session = &spawned["session"];
    assert_eq!(session["metadata"]["skills"], json!(["deploying"]));
    let arrived = json!(["maestro-cli", "maestro-worker", "baking", "deploying"]);
    assert_eq!(session["metadata"]["loadedSkills"], arrived);
    let receipts = stage.server.get(&format!("/api/sessions/{}/receipts", spawned["sessionId"].as_str().unwrap()));
    let receipts: Vec<&Json> = receipts.as_array().unwrap().iter().map(|receipt| &receipt["skill"]).collect();
    assert_eq!(receipts, arrived.as_array().unwrap().iter().collect::<Vec<_>>());
}

#[test]
fn a_skill_that_is_not_there_is_told_of_and_stops_nothing() {
    let stage = Stage::prompted();
    let task = stage.task("Add a file done.txt that says done");
    let spawned = stage.sandbox.maestro(&format!("session spawn --task {task} --agent demo --skill nonesuch"));
    assert!(spawned.stdout().contains("not delivered: nonesuch: there is no such skill"), "{spawned}");
    let session = spawned.id();
    stage.wait_for(&session, "completed");
    assert_eq!(stage.session(&session)["metadata"]["skills"], json!(["nonesuch"]));
    assert_eq!(stage.session(&session)["metadata"]["loadedSkills"], json!(["maestro-cli", "maestro-worker"]));
    let events = stage.server.get(&format!("/api/events?projectId={}&limit=500", stage.project));
    let failed = events.as_array().unwrap().iter().find(|event| event["type"] == "SKILLS_LOAD_FAILED");
    let failed = failed.unwrap_or_else(|| panic!("nobody is told: {events:#}"));
    assert_eq!(failed["payload"]["name"], "nonesuch", "{failed:#}");
}

#[test]
fn who_asks_for_no_skill_gets_those_of_the_role() {
    let stage = Stage::prompted();
    let spawned = spawn(&stage, None);
    assert_eq!(spawned["session"]["metadata"]["skills"], json!([]));
    assert_eq!(spawned["session"]["metadata"]["loadedSkills"], json!(["maestro-cli", "maestro-worker"]));
}

#[test]
fn a_skill_that_an_agent_opens_is_noticed() {
    let stage = Stage::scripted(&format!(
        "{}{}",
        super::run("maestro skills read maestro-worker | head -c 100"),
        super::report(&["complete", "read"])
    ));
    let (session, _) = stage.follow("");
    let receipts = stage.server.get(&format!("/api/sessions/{session}/receipts"));
    let stages: Vec<&str> = receipts
        .as_array()
        .unwrap()
        .iter()
        .filter(|receipt| receipt["skill"] == "maestro-worker")
        .map(|receipt| receipt["stage"].as_str().unwrap())
        .collect();
    assert_eq!(stages, ["handed", "opened", "read"], "{receipts:#}");
}
