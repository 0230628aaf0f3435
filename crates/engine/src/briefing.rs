//! Briefing of an agent: its skills, and the file about its session.

use std::path::Path;

use maestro_core::agent::spawn::GivenSkill;
use maestro_core::event::{SkillsLoadFailed, SkillsTruncated};
use maestro_core::manifest::{About, ManifestTask, manifest};
use maestro_core::session::Session;
use maestro_core::task::Task;
use maestro_core::{Event, Project, Role, RunId};
use maestro_skills::render::{Part, References, body, manifest_entry};
use maestro_skills::{Catalogue, Lookup, Skill, for_role, in_order};
use maestro_store::hash;
use serde_json::Value as Json;

/// The skills of a session, as delivered.
#[derive(Debug, Default)]
pub struct Handed {
    /// The delivered skills, dependencies before dependents.
    pub skills: Vec<GivenSkill>,
    /// The skills that could not be delivered, and why.
    pub missing: Vec<Missing>,
    /// The skills whose texts were cut.
    pub cut: Vec<String>,
}

impl Handed {
    /// The notices about it: everything missing or cut is reported.
    pub fn events(&self, run_id: RunId, max_chars: usize) -> Vec<Event> {
        let missing = self.missing.iter().cloned();
        let missing = missing.map(|Missing { name, reason }| SkillsLoadFailed { run_id, name, error: reason });
        let cut = self.cut.iter().cloned().map(|name| SkillsTruncated { run_id, name, max_chars });
        missing.map(Event::SkillsLoadFailed).chain(cut.map(Event::SkillsTruncated)).collect()
    }
}

/// A skill that was not delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The requested name.
    pub name: String,
    /// The reason.
    pub reason: String,
}

/// How much of a skill's text is delivered.
#[derive(Debug, Clone, Copy)]
pub struct Measure {
    /// Whether the files it refers to are part of it.
    pub references: References,
    /// How many characters at most.
    pub most_chars: usize,
}

/// The skills of a role, then the requested ones. A skill that cannot be loaded does not stop the others.
pub fn skills(catalogue: &Catalogue, role: Role, asked: &[String], measure: Measure) -> Handed {
    let mut handed = Handed::default();
    let mut wanted: Vec<&Skill> = for_role(catalogue, role).skills;
    for name in asked {
        let reason = match catalogue.find(name) {
            Lookup::Found(skill) => {
                wanted.push(skill);
                continue;
            }
            Lookup::Broken(broken) => {
                format!("cannot be loaded; run `maestro skills validate {}` for the reason", broken.path.display())
            }
            Lookup::Ambiguous(_) => "several skills have that name; use its id".to_owned(),
            Lookup::Missing { .. } => "there is no such skill".to_owned(),
        };
        handed.missing.push(Missing { name: name.clone(), reason });
    }
    let resolved = in_order(catalogue, wanted);
    for problem in resolved.problems {
        handed.missing.push(Missing { name: "dependencies".to_owned(), reason: problem.message });
    }
    for skill in resolved.skills {
        match body(skill, Part::Body, measure.references, measure.most_chars) {
            Ok(read) => {
                handed.cut.extend(read.truncated.map(|_| skill.id.to_string()));
                handed.skills.push(GivenSkill {
                    id: skill.id.to_string(),
                    path: skill.path.to_string_lossy().into_owned(),
                    hash: hash(read.text.as_bytes()),
                    text: manifest_entry(skill, &read),
                });
            }
            Err(error) => handed.missing.push(Missing { name: skill.id.to_string(), reason: error.to_string() }),
        }
    }
    handed
}

/// The file about a session.
pub fn session_manifest(session: &Session, project: &Project, tasks: &[Task]) -> Json {
    let asked: Vec<String> = session
        .metadata
        .get("skills")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    let about = About {
        role: session.role,
        strategy: session.strategy.as_str(),
        workspace: &project.working_dir,
        skills: (!asked.is_empty()).then_some(asked.as_slice()),
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

/// Writes the file about a session where there is none. The request for a session has written it; only for the session of a
/// step, and on a machine other than the server's, the worker does.
pub(crate) fn ensure_manifest(path: &Path, manifest: &Json) -> std::io::Result<()> {
    if path.is_file() { Ok(()) } else { write_manifest(path, manifest) }
}

/// Writes the file about a session; only its user can read it.
pub fn write_manifest(path: &Path, manifest: &Json) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    if let Some(directory) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    std::io::Write::write_all(&mut file, format!("{manifest:#}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_manifest_is_written_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("session/manifest.json");
        ensure_manifest(&path, &json!({ "by": "worker" })).unwrap();
        write_manifest(&path, &json!({ "by": "request" })).unwrap();
        ensure_manifest(&path, &json!({ "by": "worker" })).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\n  \"by\": \"request\"\n}\n");
    }
}
