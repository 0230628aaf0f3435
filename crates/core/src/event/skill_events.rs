//! The skill events. Their keys and types are those of the format they come from; whatever Maestro adds
//! lies under `detail`.

use serde::{Deserialize, Serialize};

use super::{Event, RunId};

crate::word_enum! {
    /// Which kind of work skills are chosen for.
    #[derive(Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum StepKind {
        /// The task is implemented.
        Implementation = "implementation",
        /// The work is reviewed.
        Review = "review",
    }
}

/// How skills were chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SelectionStrategy {
    /// At least one of them was named in the task.
    Hint,
    /// They fit the task's words.
    Match,
    /// None was chosen.
    None,
}

/// Payload of [`Event::SkillsDiscovered`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SkillsDiscovered {
    /// The run it happened in.
    pub run_id: RunId,
    /// How many skills there are.
    pub count: usize,
    /// The locations they are from, each once, sorted.
    pub locations: Vec<String>,
    /// Their names, in search order.
    pub names: Vec<String>,
}

/// Payload of [`Event::SkillsSelected`]: which skills a task gets, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SkillSelection {
    /// The run it happened in.
    pub run_id: RunId,
    /// What they are for.
    pub step_kind: StepKind,
    /// The task's text.
    pub task_label: String,
    /// The chosen ones, best first.
    pub skills: Vec<SelectedSkill>,
    /// How they were chosen.
    pub strategy: SelectionStrategy,
    /// What went wrong without stopping anything.
    pub errors: Vec<String>,
    /// What Maestro adds.
    pub detail: SelectionDetail,
}

/// A chosen skill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelectedSkill {
    /// Its name.
    pub name: String,
    /// `hint: @name`, or `keyword: …` with what matched.
    pub reason: String,
}

/// How the choice came about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SelectionDetail {
    /// The skills that came closest, best first, the chosen ones included.
    pub ranking: Vec<RankedSkill>,
    /// What the first choice had to reach.
    pub threshold: f64,
    /// What a second one had to reach.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub second_threshold: f64,
    /// How many skills were considered.
    pub considered: usize,
}

/// A skill's standing in a selection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankedSkill {
    /// The skill.
    pub name: String,
    /// How well it fits: by words and meaning, or by words alone where no meaning is known.
    pub score: f64,
    /// How well its words fit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub words: f64,
    /// How near its meaning is to the task's, from -1 to 1, where that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub meaning: Option<f64>,
    /// The words that count, with what each adds, most first.
    pub terms: Vec<ScoreTerm>,
    /// The task has its exact name, or a name that hardly another skill mentions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact_name: bool,
    /// What became of it.
    pub verdict: SkillVerdict,
}

/// A word of the task and what it adds to a skill's score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoreTerm {
    /// The word as the task has it.
    pub word: String,
    /// Its share of the score.
    pub adds: f64,
    /// The skill's word that means the same, where it is another one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub means: Option<String>,
}

crate::word_enum::described_words! {
    /// What became of a skill in a selection.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SkillVerdict {
        Hinted = "hinted", "The task names it.";
        Chosen = "chosen", "It fits.";
        BelowThreshold = "below_threshold", "It does not fit well enough.";
        AddsLittle = "adds_little", "It fits, but a chosen one is for the same.";
        NoRoom = "no_room", "It fits, but there is no room left.";
        NotByModel = "not_by_model", "It is used only when it is named.";
        Excluded = "excluded", "The task says not to use it.";
    }
}

/// Payload of [`Event::SkillsLoadFailed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillsLoadFailed {
    /// The run it happened in.
    pub run_id: RunId,
    /// The skill, or its directory where it has no name.
    pub name: String,
    /// Why.
    pub error: String,
}

/// Payload of [`Event::SkillsTruncated`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillsTruncated {
    /// The run it happened in.
    pub run_id: RunId,
    /// The skill.
    pub name: String,
    /// How many characters it was cut to.
    pub max_chars: usize,
}

/// The four counters that follow from the skill events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkillMetrics {
    /// `skills_discovered_total`.
    pub discovered: u64,
    /// `skills_selected_total`.
    pub selected: u64,
    /// `skills_load_failed_total`.
    pub load_failed: u64,
    /// `skills_truncated_total`.
    pub truncated: u64,
}

impl SkillMetrics {
    /// Counts what an event adds.
    pub fn observe(&mut self, event: &Event) {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        match event {
            Event::SkillsDiscovered(discovered) => self.discovered += count(discovered.count),
            Event::SkillsSelected(selection) => self.selected += count(selection.skills.len()),
            Event::SkillsLoadFailed(_) => self.load_failed += 1,
            Event::SkillsTruncated(_) => self.truncated += 1,
            _ => {}
        }
    }

    /// The counters under the names they are published by.
    pub fn named(&self) -> [(&'static str, u64); 4] {
        [
            ("skills_discovered_total", self.discovered),
            ("skills_selected_total", self.selected),
            ("skills_load_failed_total", self.load_failed),
            ("skills_truncated_total", self.truncated),
        ]
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn run_id() -> RunId {
        "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap()
    }

    fn keys(value: &Json) -> Vec<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }

    fn selection() -> SkillSelection {
        SkillSelection {
            run_id: run_id(),
            step_kind: StepKind::Implementation,
            task_label: "Merge the reports into one PDF".into(),
            skills: vec![SelectedSkill { name: "pdf".into(), reason: "keyword: pdf, merge".into() }],
            strategy: SelectionStrategy::Match,
            errors: Vec::new(),
            detail: SelectionDetail::default(),
        }
    }

    #[test]
    fn event_payloads_have_exactly_the_keys_of_the_seed_and_detail() {
        let selected = serde_json::to_value(Event::SkillsSelected(selection())).unwrap();
        assert_eq!(keys(&selected), ["type", "payload"]);
        assert_eq!(selected["type"], "SKILLS_SELECTED");
        let payload = &selected["payload"];
        assert_eq!(keys(payload), ["run_id", "step_kind", "task_label", "skills", "strategy", "errors", "detail"]);
        assert_eq!(payload["run_id"], "01890a5d-ac96-774b-bcce-b302099a8057");
        assert_eq!(payload["step_kind"], "implementation");
        assert_eq!(payload["skills"], json!([{"name": "pdf", "reason": "keyword: pdf, merge"}]));
        assert_eq!(payload["strategy"], "match");
        assert_eq!(payload["errors"], json!([]));

        let discovered = SkillsDiscovered {
            run_id: run_id(),
            count: 1,
            locations: vec!["project".into()],
            names: vec!["pdf".into()],
        };
        let discovered = serde_json::to_value(Event::SkillsDiscovered(discovered)).unwrap();
        assert_eq!(discovered["type"], "SKILLS_DISCOVERED");
        assert_eq!(keys(&discovered["payload"]), ["run_id", "count", "locations", "names"]);

        let failed = SkillsLoadFailed { run_id: run_id(), name: "x".into(), error: "y".into() };
        let failed = serde_json::to_value(Event::SkillsLoadFailed(failed)).unwrap();
        assert_eq!(failed["type"], "SKILLS_LOAD_FAILED");
        assert_eq!(keys(&failed["payload"]), ["run_id", "name", "error"]);

        let cut = SkillsTruncated { run_id: run_id(), name: "x".into(), max_chars: 20_000 };
        let cut = serde_json::to_value(Event::SkillsTruncated(cut)).unwrap();
        assert_eq!(cut["type"], "SKILLS_TRUNCATED");
        assert_eq!(keys(&cut["payload"]), ["run_id", "name", "max_chars"]);
    }

    #[test]
    fn an_event_survives_being_written_and_read() {
        let event = Event::SkillsSelected(selection());
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }

    #[test]
    fn skill_metrics_follow_the_events() {
        let mut metrics = SkillMetrics::default();
        metrics.observe(&Event::SkillsSelected(selection()));
        metrics.observe(&Event::SkillsTruncated(SkillsTruncated { run_id: run_id(), name: "x".into(), max_chars: 1 }));
        let names: Vec<_> = metrics.named().into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(names, [("skills_selected_total", 1), ("skills_truncated_total", 1)]);
    }
}
