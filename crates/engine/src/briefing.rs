//! Briefing of an agent: its skills, its variables, and the file about its session.

use std::collections::HashSet;
use std::path::Path;

use maestro_core::agent::spawn::{AgentEndpoints, SessionIdentity, SkillContent, environment};
use maestro_core::event::{SkillsLoadFailed, SkillsTruncated};
use maestro_core::id::{SessionId, TaskId};
use maestro_core::manifest::{ManifestSubject, ManifestTask, build_manifest};
use maestro_core::plan::skill_hints;
use maestro_core::session::Session;
use maestro_core::settings::SettingOrigin;
use maestro_core::task::Task;
use maestro_core::{Event, Project, RunId, SessionRole, SkillSelection, StepKind};
use maestro_skills::render::{BodyPart, body, manifest_entry};
use maestro_skills::{
    NameLookup, SelectionResult, Skill, SkillId, SkillSelector, SkillSource, SkillType, TaskNeeds,
    resolve_dependencies, skill_table, skills_for_role,
};
use maestro_store::{CreateSession, hash_secret};
use serde_json::Value as Json;

use crate::host::ProjectSkills;

/// The skills of a session, as delivered.
#[derive(Debug, Default)]
pub struct DeliveredSkills {
    /// The delivered skills, dependencies before dependents.
    pub skills: Vec<SkillContent>,
    /// The skills that could not be delivered, and why.
    pub missing: Vec<MissingSkill>,
    /// The skills whose texts were cut.
    pub cut: Vec<String>,
    /// The table of further skills that it could use.
    pub table: String,
    /// The choice for its main task.
    pub selection: Option<SkillSelection>,
}

impl DeliveredSkills {
    /// The notices about it: everything missing or cut is reported.
    pub fn events(&self, run_id: RunId, max_chars: usize) -> Vec<Event> {
        let missing = self.missing.iter().cloned();
        let missing = missing.map(|MissingSkill { name, reason }| SkillsLoadFailed { run_id, name, error: reason });
        let cut = self.cut.iter().cloned().map(|name| SkillsTruncated { run_id, name, max_chars });
        let selected = self.selection.clone().map(Event::SkillsSelected).into_iter();
        selected.chain(missing.map(Event::SkillsLoadFailed)).chain(cut.map(Event::SkillsTruncated)).collect()
    }
}

/// A skill that was not delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingSkill {
    /// The requested name.
    pub name: String,
    /// The reason.
    pub reason: String,
}

/// The work that a session gets skills for.
#[derive(Debug, Clone)]
pub struct SkillNeeds {
    /// The part it plays.
    pub role: SessionRole,
    /// The skills that were asked for by name.
    pub asked: Vec<String>,
    /// Its tasks, the main one first: title and description.
    pub tasks: Vec<(String, String)>,
}

/// The skills of a role, then those that were asked for or that the tasks name, then those that fit. A skill that cannot be
/// loaded does not stop the others.
pub fn skills(skills: &ProjectSkills, needs: &SkillNeeds, run: RunId) -> DeliveredSkills {
    let catalogue = &skills.catalogue;
    let mut handed = DeliveredSkills::default();
    let of_role = skills_for_role(catalogue, needs.role).skills;
    let mut wanted: Vec<&Skill> =
        of_role.iter().copied().filter(|skill| !is_known_by_prompt(skill, needs.role)).collect();
    for name in &needs.asked {
        let reason = match catalogue.find(name) {
            NameLookup::Found(skill) => {
                wanted.push(skill);
                continue;
            }
            NameLookup::Broken(broken) => {
                format!("cannot be loaded; run `maestro skills validate {}` for the reason", broken.path.display())
            }
            NameLookup::Ambiguous(_) => "several skills have that name; use its id".to_owned(),
            NameLookup::Missing { .. } => "there is no such skill".to_owned(),
        };
        handed.missing.push(MissingSkill { name: name.clone(), reason });
    }
    let chosen = select(skills, needs, run);
    wanted.extend(chosen.iter().flat_map(|chosen| &chosen.skills).filter_map(|skill| catalogue.get(skill.id.as_str())));
    for error in chosen.iter().flat_map(|chosen| &chosen.record.errors) {
        let (reason, name) = error.rsplit_once(": @").unwrap_or((error, "skills"));
        handed.missing.push(MissingSkill { name: name.to_owned(), reason: reason.to_owned() });
    }
    if let Some(main) = chosen.into_iter().next() {
        handed.table = skill_table(catalogue, &main, needs.role, skills.settings.skills_budget_tokens.value).text;
        handed.selection = Some(main.record);
    }
    let pasted: HashSet<SkillId> = {
        let resolved = resolve_dependencies(catalogue, wanted.iter().copied());
        let needed = resolved.skills.iter().filter(|skill| {
            !is_known_by_prompt(skill, needs.role) || needs.asked.iter().any(|name| name == skill.id.as_str())
        });
        needed.map(|skill| skill.id.clone()).collect()
    };
    let resolved = resolve_dependencies(catalogue, of_role.into_iter().chain(wanted));
    for problem in resolved.problems {
        handed.missing.push(MissingSkill { name: "dependencies".to_owned(), reason: problem.message });
    }
    let (references, most_chars) = (skills.references(), skills.settings.skills_max_body_chars.value);
    for skill in resolved.skills {
        match body(skill, BodyPart::Body, references, most_chars) {
            Ok(read) => {
                let is_pasted = pasted.contains(&skill.id);
                handed.cut.extend(read.truncated.as_ref().filter(|_| is_pasted).map(|_| skill.id.to_string()));
                handed.skills.push(SkillContent {
                    id: skill.id.to_string(),
                    path: skill.path.to_string_lossy().into_owned(),
                    hash: hash_secret(read.text.as_bytes()),
                    text: if is_pasted { manifest_entry(skill, &read) } else { String::new() },
                });
            }
            Err(error) => handed.missing.push(MissingSkill { name: skill.id.to_string(), reason: error.to_string() }),
        }
    }
    handed
}

/// Whether the prompt itself says what a skill of ours says, so that the agent reads it only if it wants to know more.
fn is_known_by_prompt(skill: &Skill, role: SessionRole) -> bool {
    skill.source == SkillSource::Builtin
        && match skill.kind {
            SkillType::System => true,
            SkillType::Role => role == SessionRole::Worker,
            SkillType::Custom => false,
        }
}

/// The skills for each task: what it names in its title or description, and for a worker that was asked to have none in
/// particular, what fits.
fn select(skills: &ProjectSkills, needs: &SkillNeeds, run: RunId) -> Vec<SelectionResult> {
    let enabled = &skills.settings.skills_enabled;
    // Where nothing is said, a session gets skills; a loop writes the setting when it first runs.
    if !enabled.value && !matches!(enabled.origin, SettingOrigin::Default) {
        return Vec::new();
    }
    let most: usize = skills.settings.skills_max_selected_impl.value.into();
    let is_automatic = needs.role == SessionRole::Worker && needs.asked.is_empty();
    let choose = |(title, description): &(String, String)| {
        let mut hints = skill_hints(title);
        hints.extend(skill_hints(description).into_iter().filter(|hint| !hints.contains(hint)).collect::<Vec<_>>());
        let most = if is_automatic { most } else { hints.len().min(most) };
        let task = TaskNeeds { label: title, hints: &hints, step: StepKind::Implementation, most };
        SkillSelector::for_task(skills.catalogue.clone(), title).select(run, task)
    };
    needs.tasks.iter().map(choose).collect()
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
    let about = ManifestSubject {
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
    build_manifest(about, &tasks.iter().map(task).collect::<Vec<_>>())
}

/// The session to be created under this id, with the variables that its agent's programs find it by.
pub fn compose_environment(session: CreateSession, id: SessionId, endpoints: &AgentEndpoints) -> CreateSession {
    let mut tasks: Vec<TaskId> = Vec::new();
    for task in session.tasks {
        if !tasks.contains(&task) {
            tasks.push(task);
        }
    }
    let (project, role, strategy) = (&session.project, session.role, session.strategy);
    let identity = SessionIdentity { id: &id, project, role, strategy, tasks: &tasks };
    let variables = environment(identity, endpoints).into_iter().map(|(name, value)| (name, value.into()));
    let env = session.env.into_iter().chain(variables).collect();
    CreateSession { id: Some(id), tasks, env, ..session }
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
    use maestro_core::id::{EntityId as _, ProjectId};
    use maestro_core::session::{Approach, SessionStatus};
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn the_variables_of_a_session_name_it_and_each_of_its_tasks_once() {
        let task = |text| TaskId::parse(text).unwrap();
        let session = CreateSession {
            id: None,
            project: ProjectId::parse("p").unwrap(),
            tasks: vec![task("one"), task("two"), task("one")],
            name: None,
            role: SessionRole::Worker,
            agent: None,
            strategy: Approach::Simple,
            status: SessionStatus::Spawning,
            env: Map::new(),
            metadata: Map::new(),
            parent: None,
            hostname: String::new(),
            platform: String::new(),
        };
        let endpoints = AgentEndpoints { sessions: "/home/me/sessions".to_owned(), ..AgentEndpoints::default() };
        let id = SessionId::parse("s").unwrap();
        let session = compose_environment(session, id.clone(), &endpoints);
        assert_eq!((session.id, session.tasks.len()), (Some(id), 2));
        assert_eq!(session.env["MAESTRO_SESSION_ID"], "s");
        assert_eq!(session.env["MAESTRO_TASK_ID"], "one");
        assert_eq!(session.env["MAESTRO_TASK_IDS"], "one,two");
        assert_eq!(session.env["MAESTRO_MANIFEST_PATH"], "/home/me/sessions/s/manifest.json");
    }

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
