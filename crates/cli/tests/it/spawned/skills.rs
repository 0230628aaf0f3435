//! Which skills does an agent get, and who hears of those that it does not?

use serde_json::{Value as Json, json};

use super::{Stage, id, prompts};

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
    assert_eq!(receipts, ["baking", "deploying"], "those of its role it reads if it wants to");
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
    assert_eq!(stages, ["opened", "read"], "{receipts:#}");
}

#[test]
fn a_session_gets_the_skills_that_its_task_names_or_needs() {
    let stage = Stage::prompted();
    let about = |dir: &str, name: &str, description: &str| {
        let manifest = json!({ "name": name, "version": "1.0.0", "description": description, "type": "custom" });
        stage.sandbox.write(&format!("{dir}/{name}/manifest.json"), manifest.to_string());
        stage.sandbox.write(&format!("{dir}/{name}/skill.md"), format!("The way of {name}.\n"));
    };
    about(".skills", "csv-export", "Exports totals and tables as CSV. Use when totals are exported as a CSV file.");
    about(".maestro/skills", "house-style", "How we name things.");
    about(".skills", "baking", "How bread is made.");
    let task = stage.task("Export the totals as CSV");
    for (title, description) in [("Write the header", "One line:\n\n```csv\nmonth,total\n```"), ("Write the rows", "")]
    {
        let part = json!({ "parentId": task, "title": title, "description": description });
        let part = id(&stage.server.make("/api/tasks", &part));
        stage.server.ask("PATCH", &format!("/api/tasks/{part}"), None, Some(&json!({ "status": "completed" })));
    }
    let tried = stage.sandbox.maestro_with(&["skills", "select", "Export the totals as CSV"]);
    assert!(tried.stdout().contains("csv-export"), "{tried}");
    let body = json!({ "projectId": stage.project, "taskIds": [task], "agent": "demo" });
    let spawned = stage.server.make("/api/sessions/spawn", &body);
    let session = spawned["sessionId"].as_str().unwrap();
    let loaded = json!(["maestro-cli", "maestro-worker", "csv-export"]);
    assert_eq!(spawned["session"]["metadata"]["loadedSkills"], loaded, "{spawned:#}");
    stage.settled(session);
    let prompt = &prompts(&stage, session)[0];
    for told in
        ["The way of csv-export.", "<name>house-style</name>", "<name>baking</name>", "month,total", "Write the rows"]
    {
        assert!(prompt.contains(told), "{told}: {prompt}");
    }
    for noise in ["The way of baking.", "plan-loop", "orchestrator", "maestro skills list", "Never claim done"] {
        assert!(!prompt.contains(noise), "{noise}: {prompt}");
    }
    assert_eq!(prompt.matches("maestro complete").count(), 1, "reporting is explained once: {prompt}");
    let named = json!({ "projectId": stage.project, "title": "Name it", "description": "As in @house-style, please." });
    let named = id(&stage.server.make("/api/tasks", &named));
    let body = json!({ "projectId": stage.project, "taskIds": [named], "agent": "demo" });
    let spawned = stage.server.make("/api/sessions/spawn", &body);
    let loaded = json!(["maestro-cli", "maestro-worker", "house-style"]);
    assert_eq!(spawned["session"]["metadata"]["loadedSkills"], loaded, "a hint in the description counts: {spawned:#}");
}

#[test]
fn without_skills_the_prompt_of_a_worker_is_short() {
    let stage = Stage::prompted();
    let spawned = spawn(&stage, None);
    let prompt = &prompts(&stage, spawned["sessionId"].as_str().unwrap())[0];
    // The estimate of `maestro prompt`: four bytes are a token.
    assert!(prompt.len().div_ceil(4) < 900, "{} tokens: {prompt}", prompt.len().div_ceil(4));
    assert_eq!(prompt.matches("maestro complete").count(), 1, "{prompt}");
    assert!(!prompt.contains("<available_skills>"), "{prompt}");
}
