//! Trial of a task: the skills that it would get and what decided, those that come next, and why none fits.

use maestro_api::skill_trials::{TaskTrial, TrialSkill};
use maestro_core::StepKind;
use maestro_engine::ProjectSkills;
use serde::Serialize;

use crate::api::skills::try_on;
use crate::page::address::encode;

/// How many skills that were not chosen are shown.
const NEXT: usize = 8;
/// How many words are shown that decided.
const WORDS: usize = 6;

/// A tried task.
#[derive(Debug, Clone, Serialize)]
pub(super) struct TrialView {
    task: String,
    /// The skills, those that were chosen first.
    groups: Vec<TriedGroup>,
    /// Whether a skill was chosen.
    fits: bool,
    /// The one that came closest, where none was chosen.
    closest: Option<TriedSkill>,
    considered: usize,
    by_meaning: bool,
    /// What the first one must reach.
    bar: String,
    errors: Vec<String>,
    /// A name for a new skill.
    name: String,
}

/// Skills that were chosen, or came close.
#[derive(Debug, Clone, Serialize)]
struct TriedGroup {
    heading: &'static str,
    chosen: bool,
    skills: Vec<TriedSkill>,
}

/// A skill that was tried.
#[derive(Debug, Clone, Serialize)]
struct TriedSkill {
    name: String,
    href: String,
    because: String,
    fit: String,
    words: Vec<TriedWord>,
    meaning: Option<String>,
    phrases: Vec<String>,
    exact: bool,
}

/// A word of the task that counts.
#[derive(Debug, Clone, Serialize)]
struct TriedWord {
    word: String,
    adds: String,
}

impl TrialView {
    /// Tries a task on the skills of a project.
    pub(super) fn of(shelf: &ProjectSkills, task: &str) -> Self {
        let most = shelf.settings.skills_max_selected_impl.value.into();
        let TaskTrial { task, by_meaning, bars, chosen, others, considered, errors, .. } =
            try_on(shelf, task, StepKind::Implementation, most);
        let fits = !chosen.is_empty();
        let others: Vec<TriedSkill> =
            others.into_iter().filter(|skill| skill.fit > 0.0).take(NEXT).map(tried).collect();
        let closest = others.first().filter(|_| !fits).cloned();
        let chosen = TriedGroup { heading: "Chosen", chosen: true, skills: chosen.into_iter().map(tried).collect() };
        let heading = if fits { "Next" } else { "Came closest" };
        let mut groups = vec![chosen, TriedGroup { heading, chosen: false, skills: others }];
        groups.retain(|group| !group.skills.is_empty());
        let (bar, name) = (format!("{:.1}", bars.first), skill_name(&task));
        Self { task, groups, fits, closest, considered, by_meaning, bar, errors, name }
    }
}

fn tried(skill: TrialSkill) -> TriedSkill {
    let words = skill.words.into_iter().take(WORDS);
    TriedSkill {
        href: format!("/skills/{}", encode(&skill.name)),
        name: skill.name,
        because: skill.because,
        fit: format!("{:.1}", skill.fit),
        words: words.map(|word| TriedWord { adds: format!("{:.1}", word.adds), word: word.word }).collect(),
        meaning: skill.meaning.map(|meaning| format!("{meaning:.2}")),
        phrases: skill.phrases,
        exact: skill.exact_name,
    }
}

/// A name for a skill that would fit: the first plain words of the task.
fn skill_name(task: &str) -> String {
    let words = task.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() > 2);
    let name = words.take(3).map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-");
    if name.is_empty() { "my-skill".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::skill_name;

    #[test]
    fn a_task_names_the_skill_that_it_lacks() {
        assert_eq!(skill_name("Fill the PDF form `x`"), "fill-the-pdf");
        assert_eq!(skill_name("é ?"), "my-skill");
    }
}
