//! Skills over HTTP, in the shapes that clients of the original know.

use insta::assert_snapshot;
use serde_json::{Value as Json, json};

use crate::sandbox::Sandbox;

fn pretty(value: &Json) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

#[test]
fn a_fresh_install_answers_exactly_as_the_seed_says() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve();
    let seed = |id: &str, name: &str, description: &str, kind: &str| json!({ "id": id, "name": name, "description": description, "type": kind, "version": "1.0.0" });
    let cli = "Core CLI commands and capabilities for all Maestro sessions";
    let worker = "Worker-specific capabilities for task execution";
    let orchestrator = "Orchestrator-specific capabilities for task delegation";
    let listed = server.get("/api/skills");
    let own = listed.as_array().unwrap().iter().filter(|skill| skill["id"].as_str().unwrap().starts_with("maestro-"));
    assert_eq!(
        own.cloned().collect::<Json>(),
        json!([
            seed("maestro-cli", "Maestro CLI", cli, "system"),
            seed("maestro-orchestrator", "Maestro Orchestrator", orchestrator, "role"),
            seed("maestro-worker", "Maestro Worker", worker, "role"),
        ])
    );
    let keys: Vec<&String> = listed[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "name", "description", "type", "version"]);
    for (role, id, name, description) in [
        ("worker", "maestro-worker", "Maestro Worker", worker),
        ("orchestrator", "maestro-orchestrator", "Maestro Orchestrator", orchestrator),
    ] {
        let mut answer = server.get(&format!("/api/skills/role/{role}"));
        let ids: Vec<Json> = answer.as_array_mut().unwrap().iter_mut().map(|skill| skill["skillId"].take()).collect();
        assert_eq!(ids, ["maestro-cli", id]);
        for skill in answer.as_array_mut().unwrap() {
            skill.as_object_mut().unwrap().remove("skillId");
        }
        assert_eq!(
            answer,
            json!([seed("Maestro CLI", "Maestro CLI", cli, "system"), seed(name, name, description, "role")])
        );
    }
}

#[test]
fn a_skill_is_found_by_id_or_unique_name_and_read_with_its_text() {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "pdf", "Merges PDF files.");
    let server = sandbox.serve();
    let mut skill = server.get("/api/skills/pdf");
    assert!(skill["instructions"].as_str().unwrap().contains("Step by step."), "{skill}");
    skill["instructions"] = "…".into();
    assert_snapshot!(pretty(&skill), @r#"
    {
      "id": "pdf",
      "name": "pdf",
      "description": "Merges PDF files.",
      "type": "custom",
      "version": "1.0.0",
      "owner": "claude-code",
      "instructions": "…"
    }
    "#);
    assert_eq!(server.get("/api/skills/Maestro%20Worker")["id"], "maestro-worker");

    sandbox.skill(".claude/skills", "pdf", "Splits PDF files.");
    let (status, reloaded) = server.ask("POST", "/api/skills/pdf/reload", None, None);
    assert_eq!(
        (status, &reloaded["description"], &reloaded["reloaded"]),
        (200, &json!("Splits PDF files."), &json!(true))
    );
    assert_eq!(reloaded.get("instructions"), None);
}

#[test]
fn what_is_not_there_or_broken_is_told_apart() {
    let sandbox = Sandbox::new();
    sandbox.write(".maestro/skills/torn/manifest.json", "{ \"name\": ");
    sandbox.write(".maestro/skills/torn/skill.md", "# Torn\n");
    let server = sandbox.serve();
    assert!(server.get("/api/skills").as_array().unwrap().iter().all(|skill| skill["id"] != "torn"));
    let (status, broken) = server.ask("GET", "/api/skills/torn", None, None);
    assert_eq!((status, &broken["code"]), (500, &json!("INTERNAL_ERROR")), "{broken}");
    let (status, missing) = server.ask("GET", "/api/skills/..%2F..%2Fetc", None, None);
    assert_eq!((status, missing["message"].as_str()), (404, Some("Skill not found: ../../etc")));
    let (status, role) = server.ask("GET", "/api/skills/role/boss", None, None);
    assert_eq!(
        (status, &role["code"], &role["message"]),
        (400, &json!("VALIDATION_ERROR"), &json!("Role must be \"worker\" or \"orchestrator\""),)
    );
    let diagnostics = server.get("/api/skills/diagnostics");
    assert_eq!(diagnostics["notLoaded"].as_array().unwrap().len(), 1, "{diagnostics}");
    assert!(!diagnostics["problems"].as_array().unwrap().is_empty());
}

#[test]
fn without_any_skill_there_is_an_empty_list() {
    let sandbox = Sandbox::new().with_variable("MAESTRO_SKILLS_BUILTIN", "false");
    let server = sandbox.serve();
    assert_eq!(server.get("/api/skills"), json!([]));
    assert_eq!(server.get("/api/skills/role/worker"), json!([]));
}

#[test]
fn skills_are_chosen_and_prompts_made_over_http_and_told_in_the_log() {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "pdf", "Merges PDF reports into one file. Use for PDF documents.");
    let server = sandbox.serve();
    let selection = server.make("/api/skills/select", &json!({ "task": "Merge the PDF reports" }));
    assert_eq!(selection["skills"][0]["name"], "pdf", "{selection}");
    let trial = server.get("/api/skills/try?task=Merge%20the%20PDF%20reports");
    let pdf = &trial["chosen"][0];
    assert_eq!((&pdf["name"], &pdf["because"], &trial["byMeaning"]), (&json!("pdf"), &json!("It fits."), &json!(true)));
    assert!(pdf["phrases"].as_array().unwrap().contains(&json!("Merges PDF reports into one file")), "{pdf}");
    assert!(pdf["words"].as_array().unwrap().iter().any(|word| word["word"] == "pdf"), "{pdf}");
    assert!(pdf["fit"].as_f64() >= trial["bars"]["first"].as_f64(), "{trial}");
    let (status, refused) = server.ask("GET", "/api/skills/try?task=%20", None, None);
    assert_eq!((status, refused["message"].as_str()), (400, Some("task is required")));
    let none = server.make("/api/skills/select", &json!({ "task": "Say hello", "step": "review" }));
    assert_eq!((&none["skills"], &none["strategy"]), (&json!([]), &json!("none")));
    let prompt = server.make("/api/prompts", &json!({ "task": "Merge the PDF reports" }));
    let text = prompt["text"].as_str().unwrap();
    assert!(text.contains("> Merge the PDF reports") && text.contains("Reading: pdf"), "{text}");
    let (status, refused) = server.ask("POST", "/api/prompts", None, Some(&json!({ "task": " " })));
    assert_eq!((status, refused["message"].as_str()), (400, Some("task is required")));

    let events = server.get("/api/events");
    let kinds: Vec<&str> = events.as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["SKILLS_SELECTED", "SKILLS_SELECTED", "SKILLS_DISCOVERED", "SKILLS_SELECTED"]);
}
