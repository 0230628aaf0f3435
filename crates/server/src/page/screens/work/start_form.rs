//! Form that starts an agent for a task: which agent, what it may do, and which skills it gets.

use std::path::{Path, PathBuf};

use maestro_core::StepKind;
use maestro_core::agent::DEMO_AGENT;
use maestro_core::excerpt::ellipsize;
use maestro_engine::{Freshness, Host, ProjectSkills};
use serde::Serialize;

use super::query::TaskDrawer;
use crate::api::skills::{choose, fresh_run};
use crate::app::AppState;
use crate::error::ApiError;
use crate::page::cards::TITLE;

/// How many skills that were not chosen are offered.
const OFFERED: usize = 8;

/// The form.
#[derive(Debug, Serialize)]
pub(super) struct StartForm {
    agents: Vec<AgentChoice>,
    skills: Vec<OfferedSkill>,
    /// Why no skills can be offered.
    no_skills: Option<String>,
}

/// An agent that can be started.
#[derive(Debug, Clone, Serialize)]
pub(in crate::page) struct AgentChoice {
    pub(in crate::page) name: String,
    pub(in crate::page) title: String,
    pub(in crate::page) chosen: bool,
}

/// A skill that can be given.
#[derive(Debug, Serialize)]
struct OfferedSkill {
    name: String,
    reason: String,
    chosen: bool,
}

impl StartForm {
    /// For a task, as its project is set up.
    pub(super) async fn load(app: &AppState, open: &TaskDrawer) -> Result<Self, ApiError> {
        let directory = open.project.as_ref().map(|project| PathBuf::from(&project.working_dir));
        let text = format!("{}\n{}", open.task.title, open.task.description);
        let asked = open.task.skills.clone();
        let host = app.host.clone();
        let read = move || {
            let directory = directory.filter(|directory| !directory.as_os_str().is_empty());
            let shelf = host.skills(directory.as_deref(), Freshness::Kept);
            let agents = installed_agents(&*host, directory.as_deref().unwrap_or(Path::new(".")), shelf.as_ref().ok());
            let (skills, no_skills) = match &shelf {
                Ok(shelf) => (skill_choices(shelf, &text, &asked), None),
                Err(error) => (Vec::new(), Some(error.to_string())),
            };
            Self { agents, skills, no_skills }
        };
        tokio::task::spawn_blocking(read).await.map_err(|error| ApiError::internal(error.to_string()))
    }
}

/// The agents that are installed; the one of the settings is chosen.
pub(in crate::page) fn installed_agents(
    host: &dyn Host,
    directory: &Path,
    skills: Option<&ProjectSkills>,
) -> Vec<AgentChoice> {
    let usual = skills.map(|skills| skills.settings.agent.value.clone()).unwrap_or_default();
    let agents = host.agents(directory);
    let installed = agents.all().iter().filter(|agent| agent.choose_launch(|name| host.find_program(name)).is_some());
    let mut choices: Vec<AgentChoice> = installed
        .map(|agent| AgentChoice { name: agent.name.clone(), title: agent.title.clone(), chosen: agent.name == usual })
        .collect();
    // The demonstration is for people who have nothing else.
    choices.sort_by_key(|choice| choice.name == DEMO_AGENT);
    if choices.iter().all(|choice| !choice.chosen)
        && let Some(first) = choices.first_mut()
    {
        first.chosen = true;
    }
    choices
}

/// The skills that would be chosen, each with the words that decided, and those that came close.
fn skill_choices(shelf: &ProjectSkills, task: &str, asked: &[String]) -> Vec<OfferedSkill> {
    let most = shelf.settings.skills_max_selected_impl.value.into();
    let found = choose(shelf, fresh_run(), task, StepKind::Implementation, most);
    let mut choices: Vec<OfferedSkill> = asked
        .iter()
        .map(|name| OfferedSkill { name: name.clone(), reason: "the task asks for it".to_owned(), chosen: true })
        .collect();
    for skill in &found.skills {
        if choices.iter().all(|choice| choice.name != skill.name) {
            let (name, reason) = (skill.name.clone(), ellipsize(&skill.reason, TITLE));
            choices.push(OfferedSkill { name, reason, chosen: true });
        }
    }
    let close = found.detail.ranking.iter().filter(|ranked| !ranked.terms.is_empty()).take(OFFERED);
    for ranked in close {
        if choices.iter().all(|choice| choice.name != ranked.name) {
            let words: Vec<&str> = ranked.terms.iter().take(3).map(|term| term.word.as_str()).collect();
            let reason = format!("came close: {}", words.join(", "));
            choices.push(OfferedSkill { name: ranked.name.clone(), reason, chosen: false });
        }
    }
    choices
}
