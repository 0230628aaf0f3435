//! What is an agent given before it begins: its skills, its environment, the file about its session?

use std::collections::BTreeMap;
use std::path::Path;

use maestro_core::agent::spawn::SpawnSpec;
use maestro_core::event::SkillsLoadFailed;
use maestro_core::manifest::{About, ManifestTask, manifest};
use maestro_core::session::Session;
use maestro_core::task::Task;
use maestro_core::{Event, Project, Role, RunId};
use maestro_skills::render::{Part, References, body, manifest_entry};
use maestro_skills::{Catalogue, Lookup, Skill, for_role, in_order};
use maestro_store::{Stage, hash};
use serde_json::Value as Json;

/// The skills of a session, as they are handed over.
#[derive(Debug, Default)]
pub(super) struct Handed {
    /// Their texts, dependencies before dependents.
    pub(super) text: String,
    /// Which texts, by skill and hash.
    pub(super) receipts: Vec<(String, String, Stage)>,
    /// The ids of those that arrived.
    pub(super) loaded: Vec<String>,
    /// What did not arrive, in a line each.
    pub(super) missing: Vec<(String, String)>,
}

/// How much of a skill's text is handed over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measure {
    pub(super) references: References,
    pub(super) most_chars: usize,
}

/// The skills of a role and those that were asked for. What cannot be loaded stops nothing.
pub(super) fn skills(catalogue: &Catalogue, role: Role, asked: &[String], measure: Measure) -> Handed {
    let mut handed = Handed::default();
    let mut wanted: Vec<&Skill> = for_role(catalogue, role).skills;
    for name in asked {
        match catalogue.find(name) {
            Lookup::Found(skill) => wanted.push(skill),
            Lookup::Broken(_) => handed.missing.push((name.clone(), "it cannot be loaded".to_owned())),
            Lookup::Ambiguous(_) => handed.missing.push((name.clone(), "several skills have that name".to_owned())),
            Lookup::Missing { .. } => handed.missing.push((name.clone(), "there is no such skill".to_owned())),
        }
    }
    let resolved = in_order(catalogue, wanted);
    for problem in resolved.problems {
        handed.missing.push(("dependencies".to_owned(), problem.message));
    }
    for skill in resolved.skills {
        match body(skill, Part::Body, measure.references, measure.most_chars) {
            Ok(read) => {
                let text = manifest_entry(skill, &read);
                handed.receipts.push((skill.id.to_string(), hash(read.text.as_bytes()), Stage::Handed));
                handed.loaded.push(skill.id.to_string());
                handed.text.push_str(&text);
                handed.text.push_str("\n\n");
            }
            Err(error) => handed.missing.push((skill.id.to_string(), error.to_string())),
        }
    }
    handed
}

/// What is told of a skill that did not arrive.
pub(super) fn not_loaded(run_id: RunId, (name, error): (String, String)) -> Event {
    Event::SkillsLoadFailed(SkillsLoadFailed { run_id, name, error })
}

/// Where an agent's commands find Maestro.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) server: Option<&'a str>,
    pub(super) home: &'a Path,
    pub(super) maestro: &'a Path,
    pub(super) token: &'a str,
}

/// The variables that say to an agent's commands who they are.
pub(super) fn environment(session: &Session, around: Surroundings<'_>) -> BTreeMap<String, String> {
    let ids: Vec<String> = session.tasks.iter().map(ToString::to_string).collect();
    let directory = around.home.join("sessions");
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let mut variables = BTreeMap::from([
        ("MAESTRO_SESSION_ID".to_owned(), session.id.to_string()),
        ("MAESTRO_SESSION_TOKEN".to_owned(), around.token.to_owned()),
        ("MAESTRO_PROJECT_ID".to_owned(), session.project.to_string()),
        ("MAESTRO_ROLE".to_owned(), session.role.as_str().to_owned()),
        ("MAESTRO_STRATEGY".to_owned(), session.strategy.as_str().to_owned()),
        ("MAESTRO_TASK_IDS".to_owned(), ids.join(",")),
        ("MAESTRO_MANIFEST_PATH".to_owned(), path(&manifest_path(around.home, session))),
        ("MAESTRO_BIN".to_owned(), path(around.maestro)),
        ("MAESTRO_HOME".to_owned(), path(around.home)),
        ("SESSION_DIR".to_owned(), path(&directory)),
        ("DATA_DIR".to_owned(), path(around.home)),
    ]);
    variables.extend(ids.first().map(|first| ("MAESTRO_TASK_ID".to_owned(), first.clone())));
    for name in ["MAESTRO_API_URL", "MAESTRO_SERVER_URL"] {
        variables.extend(around.server.map(|url| (name.to_owned(), url.to_owned())));
    }
    variables
}

/// Where the file about a session is.
pub(super) fn manifest_path(home: &Path, session: &Session) -> std::path::PathBuf {
    home.join("sessions").join(session.id.to_string()).join("manifest.json")
}

/// The file about a session.
pub(super) fn session_manifest(session: &Session, spec: &SpawnSpec, project: &Project, tasks: &[Task]) -> Json {
    let about = About {
        role: session.role,
        strategy: session.strategy.as_str(),
        workspace: &project.working_dir,
        skills: (!spec.skills.is_empty()).then_some(spec.skills.as_slice()),
    };
    let task = |task: &Task| ManifestTask {
        id: task.id.to_string(),
        project_id: task.project.to_string(),
        parent_id: task.parent.as_ref().map(ToString::to_string),
        title: task.title.clone(),
        description: task.description.clone(),
        status: task.status.as_str().to_owned(),
        priority: task.priority.as_str().to_owned(),
        created_at: task.created_at,
        session_ids: task.sessions.iter().map(|pair| pair.session.to_string()).collect(),
        dependencies: task.dependencies.iter().map(ToString::to_string).collect(),
        model: task.model.clone(),
    };
    manifest(about, &tasks.iter().map(task).collect::<Vec<_>>())
}
