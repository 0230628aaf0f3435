//! Questions about consent for people at the page: what a project or a run would execute, as it is now.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use maestro_core::Settings;
use maestro_core::settings::Setting;
use maestro_core::workflow::pinned_definition::PinnedText;
use maestro_core::workflow::run::AnswerAuthor;
use maestro_engine::trust::{
    self, CommandsSetting, Consent, ConsentKind, ConsentPlace, ConsentQuestion, ConsentTexts, CoveredCommands,
    TrustStore, WorkflowTexts,
};
use maestro_engine::workflows::WorkflowIndex;
use maestro_engine::{HostError, step_sessions};
use maestro_skills::Catalogue;

use super::world::World;
use super::{agents, config};

/// A consent of now, for this project.
pub(crate) fn consent_of(kind: ConsentKind, name: String, hash: String, path: PathBuf, world: &World) -> Consent {
    let project = &world.places.project;
    let project = project.canonicalize().unwrap_or_else(|_| project.clone());
    Consent { kind, name, hash, path, project, files: BTreeMap::new(), at: now(), by: world.answer_author() }
}

/// What a project is called in consents to its own files.
pub(crate) fn project_name(world: &World) -> String {
    let name = world.places.project.file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "config".to_owned())
}

/// Everything in a project that needs consent. What cannot be read completely cannot be allowed, and is left out.
pub(super) fn of_project(
    catalogue: &Catalogue,
    settings: &Settings,
    world: &World,
) -> Result<Vec<ConsentQuestion>, HostError> {
    let trust = TrustStore::load(&world.maestro_home)?;
    let workflows = WorkflowIndex::of(catalogue, &world.places.working_dir);
    let place = ConsentPlace::project(&world.places.project);
    let mut questions = Vec::new();
    for source in workflows.all() {
        let Ok(pinned) = workflows.pinned(&source.name) else { continue };
        let path = Some(source.path.clone());
        questions.extend(of_workflow(&pinned.main, path, &pinned.definitions, place, world).ok().flatten());
    }
    questions.extend(commands("verify", &settings.verify, CommandsSetting::Checks, &trust, world));
    questions.extend(commands("worktree_setup", &settings.worktree_setup, CommandsSetting::Setup, &trust, world));
    let texts = [agents_text(world), prompt_text(world), demo_text(settings, world)];
    questions.extend(texts.into_iter().flatten().map(|(consent, texts)| ConsentQuestion::new(consent, texts, &trust)));
    Ok(questions)
}

/// A workflow with everything it reaches; nothing where it needs no consent.
pub(super) fn of_workflow(
    name: &str,
    path: Option<PathBuf>,
    definitions: &BTreeMap<String, PinnedText>,
    place: ConsentPlace<'_>,
    world: &World,
) -> Result<Option<ConsentQuestion>, HostError> {
    if !trust::needs_consent(definitions) {
        return Ok(None);
    }
    let trust = TrustStore::load(&world.maestro_home)?;
    let read = WorkflowTexts::read(&world.maestro_home, place, definitions)
        .map_err(|error| HostError::Unreadable(error.to_string()))?;
    let folder = || definitions.get(name).map(|kept| PathBuf::from(&kept.folder)).unwrap_or_default();
    let project = place.project.canonicalize().unwrap_or_else(|_| place.project.to_owned());
    let consent = Consent {
        kind: ConsentKind::Workflow,
        name: name.to_owned(),
        hash: read.hash,
        path: path.unwrap_or_else(folder),
        project,
        files: read.files,
        at: now(),
        by: AnswerAuthor::User,
    };
    Ok(Some(ConsentQuestion::new(consent, read.texts, &trust)))
}

/// The commands of a setting of the project, if it has any.
fn commands(
    key: &str,
    setting: &Setting<Vec<String>>,
    of: CommandsSetting,
    trust: &TrustStore,
    world: &World,
) -> Option<ConsentQuestion> {
    if !setting.origin.comes_with_project() || setting.value.is_empty() {
        return None;
    }
    let covered = CoveredCommands::read(of, ConsentPlace::project(&world.places.project), &setting.value).ok()?;
    let texts = ConsentTexts::of_commands(key, &covered);
    let files = trust::file_hashes(&covered.files);
    let path = config::project_file(world);
    let consent = consent_of(ConsentKind::Config, project_name(world), covered.hash, path, world);
    Some(ConsentQuestion::new(Consent { files, by: AnswerAuthor::User, ..consent }, texts, trust))
}

/// The agents that the project defines.
fn agents_text(world: &World) -> Option<(Consent, ConsentTexts)> {
    let file = agents::of_project(world, &mut Vec::new())?;
    let hash = trust::agents_hash(&world.places.project, &file.text);
    let consent = by_user(consent_of(ConsentKind::Agents, project_name(world), hash, file.path, world));
    Some((consent, ConsentTexts::of_text("agents.toml", &file.text)))
}

/// The project's own words for its agents.
fn prompt_text(world: &World) -> Option<(Consent, ConsentTexts)> {
    let project = &world.places.project;
    let words = step_sessions::prompt_file(project).ok().flatten()?;
    let (path, hash) = (project.join(step_sessions::OWN_WORDS), trust::prompt_hash(project, &words));
    let consent = by_user(consent_of(ConsentKind::Prompt, project_name(world), hash, path, world));
    Some((consent, ConsentTexts::of_text(step_sessions::OWN_WORDS, &words)))
}

/// The demo agent, if the project's file enables it.
fn demo_text(settings: &Settings, world: &World) -> Option<(Consent, ConsentTexts)> {
    let setting = &settings.demo_agent;
    (setting.value && setting.origin.comes_with_project()).then(|| {
        let (path, hash) = (config::project_file(world), trust::demo_hash(&world.places.project));
        let consent = by_user(consent_of(ConsentKind::Config, project_name(world), hash, path, world));
        let words = "demo_agent = true\nAgents may be the demo agent, which executes what its prompt says.";
        (consent, ConsentTexts::of_text("demo_agent", words))
    })
}

/// Given at the page, where only a person who signed in is asked.
fn by_user(consent: Consent) -> Consent {
    Consent { by: AnswerAuthor::User, ..consent }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
