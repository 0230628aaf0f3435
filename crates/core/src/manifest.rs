//! The manifest file that a session's agent reads at its start. The format is the original's, word for word.

use serde_json::{Map, Value as Json, json};

use crate::SessionRole;
use crate::utc_time::UtcTime;

/// The default acceptance criterion of a task: the format requires at least one.
const CRITERION: &str = "Task completion as described";
/// The models that a manifest may name.
const MODELS: [&str; 3] = ["haiku", "sonnet", "opus"];

/// A task as a manifest lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of a task")]
pub struct ManifestTask {
    pub id: String,
    pub project_id: String,
    pub parent_id: Option<String>,
    pub title: String,
    pub description: String,
    pub status: String,
    pub priority: String,
    pub created_at: i64,
    pub session_ids: Vec<String>,
    pub dependencies: Vec<String>,
    pub model: Option<String>,
}

/// What a manifest is about.
#[derive(Debug, Clone, Copy)]
pub struct ManifestSubject<'a> {
    /// The part the session plays.
    pub role: SessionRole,
    /// How it goes through its tasks.
    pub strategy: &'a str,
    /// Where it works, if that is known.
    pub workspace: &'a str,
    /// The skills that are asked for; without any, the role's own.
    pub skills: Option<&'a [String]>,
}

/// The manifest of a session.
pub fn build_manifest(about: ManifestSubject<'_>, tasks: &[ManifestTask]) -> Json {
    let model = tasks.iter().find_map(|task| task.model.as_deref().filter(|model| MODELS.contains(model)));
    let mut session = Map::new();
    session.insert("model".to_owned(), json!(model.unwrap_or("sonnet")));
    session.insert("permissionMode".to_owned(), json!("acceptEdits"));
    session.insert("thinkingMode".to_owned(), json!("auto"));
    if !about.workspace.is_empty() {
        session.insert("workingDirectory".to_owned(), json!(about.workspace));
    }
    let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    json!({
        "manifestVersion": "1.0",
        "role": about.role,
        "strategy": about.strategy,
        "tasks": tasks.iter().map(entry).collect::<Vec<_>>(),
        "session": session,
        "context": { "custom": { "taskIds": ids } },
        "skills": skills(about),
    })
}

fn entry(task: &ManifestTask) -> Json {
    json!({
        "id": task.id,
        "title": task.title,
        "description": task.description,
        "acceptanceCriteria": [CRITERION],
        "projectId": task.project_id,
        "createdAt": UtcTime::of(task.created_at).iso(),
        "parentId": task.parent_id,
        "dependencies": task.dependencies,
        "priority": task.priority,
        "status": status(&task.status),
        "sessionIds": task.session_ids,
    })
}

/// The format knows fewer words than we do.
fn status(ours: &str) -> &str {
    match ours {
        "in_review" => "in_progress",
        "archived" => "completed",
        known => known,
    }
}

fn skills(about: ManifestSubject<'_>) -> Vec<&str> {
    let own = match about.role {
        SessionRole::Worker => "maestro-worker",
        SessionRole::Orchestrator => "maestro-orchestrator",
    };
    match about.skills {
        None => vec![own],
        Some(names) => names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect(),
    }
}
