//! The three skills that come with Maestro, in all their forms.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use crate::sandbox::Sandbox;

const SKILLS: [&str; 3] = ["maestro-cli", "maestro-orchestrator", "maestro-worker"];

fn file(skill: &str, name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "skills", skill, name].iter().collect();
    fs::read_to_string(path).unwrap()
}

fn value(skill: &str, name: &str) -> Json {
    serde_json::from_str(&file(skill, name)).unwrap()
}

#[test]
fn the_manifests_are_those_of_the_specification_value_for_value() {
    assert_eq!(
        value("maestro-cli", "manifest.json"),
        json!({
            "name": "Maestro CLI",
            "version": "1.0.0",
            "description": "Core CLI commands and capabilities for all Maestro sessions",
            "type": "system",
            "assignTo": ["all"],
            "capabilities": ["task-management", "session-tracking", "api-communication"],
            "dependencies": []
        })
    );
    assert_eq!(
        value("maestro-worker", "manifest.json"),
        json!({
            "name": "Maestro Worker",
            "version": "1.0.0",
            "description": "Worker-specific capabilities for task execution",
            "type": "role",
            "assignTo": ["worker"],
            "capabilities": ["task-execution", "status-reporting", "subtask-creation"],
            "dependencies": ["maestro-cli"],
            "config": { "maxConcurrentTasks": 1, "autoReportProgress": true }
        })
    );
    assert_eq!(
        value("maestro-orchestrator", "manifest.json"),
        json!({
            "name": "Maestro Orchestrator",
            "version": "1.0.0",
            "description": "Orchestrator-specific capabilities for task delegation",
            "type": "role",
            "assignTo": ["orchestrator"],
            "capabilities": ["task-planning", "worker-spawning", "progress-monitoring"],
            "dependencies": ["maestro-cli"],
            "config": { "maxWorkers": 5, "parallelExecution": true }
        })
    );
}

#[test]
fn the_workers_skill_json_is_the_worker_skills_block_value_for_value() {
    let block = json!({
        "name": "maestro-worker",
        "description": "Tools for reporting progress on Maestro tasks.",
        "commands": [
            {
                "name": "get_task_info",
                "description": "Get details about the current assigned task and subtasks."
            },
            {
                "name": "report_progress",
                "description": "Log a progress update visible to the user.",
                "parameters": { "message": "String: What was accomplished" }
            },
            {
                "name": "mark_subtask_complete",
                "description": "Mark a specific subtask as done.",
                "parameters": { "subtaskId": "String: ID of the subtask" }
            },
            {
                "name": "signal_completion",
                "description": "Signal that all assigned work in this session is finished."
            },
            {
                "name": "signal_blocker",
                "description": "Signal that you are blocked and cannot proceed.",
                "parameters": { "reason": "String: Why you are blocked" }
            }
        ]
    });
    assert_eq!(value("maestro-worker", "skill.json"), block);
}

#[test]
fn each_built_in_skill_has_three_forms_and_five_sections() {
    for skill in SKILLS {
        let text = file(skill, "skill.md");
        let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        let expected = ["Overview", "Commands", "Usage Examples", "Best Practices", "Error Handling"];
        assert_eq!(headings, expected, "{skill}");
        assert_eq!(value(skill, "skill.json")["name"], skill);
        assert!(!value(skill, "skill.json")["commands"].as_array().unwrap().is_empty());
    }
}

#[test]
fn the_built_in_skills_have_no_problems_and_keep_the_manifests_description() {
    let sandbox = Sandbox::new();
    let listed = sandbox.maestro("skills list --json").json();
    assert_eq!(listed["problems"], json!([]));
    for skill in SKILLS {
        let shown = sandbox.maestro_with(&["skills", "show", skill, "--json"]).json();
        assert_eq!(shown["skill"]["description"], value(skill, "manifest.json")["description"], "{shown}");
    }
}
