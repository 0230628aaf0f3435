//! Prompt of a session as it was sent: its parts, what each takes, and what was cut.

use maestro_core::agent::{PromptInput, ReportProtocol, SkillText, TaskBrief, build_prompt};
use maestro_core::excerpt::first_chars;
use maestro_core::task::Task;
use maestro_skills::render::tokens;
use maestro_store::{DbTx, EventRow, EventSearch, Query, StoreError, TaskById};
use serde::Serialize;
use serde_json::Value as Json;

use super::mapper::RunMapper;
use super::query::SessionDetail;
use crate::page::text::{DisplayText, grouped};

/// How many characters of a part are shown.
const PART: usize = 64 * 1024;
/// How many cuts are listed.
const CUTS: i64 = 50;
/// How many characters of a hash are shown.
const HASH: usize = 8;

/// A prompt.
#[derive(Debug, Serialize)]
pub(super) struct PromptView {
    parts: Vec<PromptPart>,
    tokens: String,
    cuts: Vec<String>,
    /// Whether it is composed again, because what was sent is not kept.
    is_composed: bool,
}

/// A part of a prompt.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct PromptPart {
    name: String,
    /// The hash of the skill's text, where it is a skill.
    skill: Option<String>,
    tokens: String,
    text: DisplayText,
}

/// What was cut from the prompt of a session, and its tasks.
#[derive(Debug, Clone)]
pub(super) struct PromptFacts {
    pub(super) session: maestro_core::Session,
}

impl Query for PromptFacts {
    type Output = (Vec<String>, Vec<Task>);

    fn load(&self, db: &mut DbTx<'_>) -> Result<Self::Output, StoreError> {
        let search = EventSearch {
            session: Some(self.session.id.clone()),
            kind: Some("prompt:cut".to_owned()),
            limit: CUTS,
            ..EventSearch::default()
        };
        let cut = |row: &EventRow| {
            let fact: Json = serde_json::from_str(row.payload.get()).ok()?;
            Some(format!("{}: {} characters did not fit", fact.get("what")?.as_str()?, fact.get("chars")?))
        };
        let cuts = search.load(db)?.rows.iter().filter_map(cut).collect();
        let tasks = self.session.tasks.iter().map(|task| TaskById(task.clone()).load(db)).collect::<Result<_, _>>()?;
        Ok((cuts, tasks))
    }
}

impl RunMapper<'_> {
    /// The prompt of the session that is looked at; nothing where Maestro did not start it.
    pub(super) fn prompt(&self, cuts: Vec<String>, tasks: &[Task]) -> Option<PromptView> {
        let focus = self.focus()?;
        let spec = focus.spec.as_ref()?;
        let (text, is_composed) = match &spec.whole {
            Some(whole) => (whole.clone(), false),
            None => (composed(focus, tasks), true),
        };
        let warned = focus.session.metadata.get("skillWarnings").and_then(Json::as_array).cloned().unwrap_or_default();
        let warned = warned.iter().filter_map(Json::as_str).map(str::to_owned);
        Some(PromptView {
            tokens: grouped(u64::try_from(tokens(&text)).unwrap_or(u64::MAX)),
            parts: parts(&text, focus),
            cuts: cuts.into_iter().chain(warned).collect(),
            is_composed,
        })
    }
}

/// The prompt as a worker composes it, from the tasks as they are now.
fn composed(focus: &SessionDetail, tasks: &[Task]) -> String {
    let Some(spec) = &focus.spec else { return String::new() };
    let words = tasks.iter().map(|task| task.initial_prompt.clone()).chain(spec.prompt.clone());
    let words: Vec<String> = words.filter(|words| !words.trim().is_empty()).collect();
    let words = words.join("\n\n");
    let brief = |task: &'_ Task| (task.id.clone(), task.title.clone(), task.description.clone());
    let briefs: Vec<_> = tasks.iter().map(brief).collect();
    let input = PromptInput {
        session: &focus.session.id,
        role: focus.session.role,
        tasks: briefs
            .iter()
            .map(|(id, title, description)| TaskBrief { id, title, description, acceptance: vec![], subtasks: vec![] })
            .collect(),
        words: &words,
        skills: spec.skills.iter().map(|skill| SkillText { name: &skill.id, text: &skill.text }).collect(),
        table: &spec.table,
        protocol: ReportProtocol::Commands,
        so_far: None,
    };
    build_prompt(&input, spec.prompt_max_chars).text
}

/// The parts of a prompt: its sections, and each skill from its first line to its last.
fn parts(text: &str, focus: &SessionDetail) -> Vec<PromptPart> {
    let mut parts: Vec<(String, Option<String>, String)> = vec![("instructions".to_owned(), None, String::new())];
    let mut skill: Option<String> = None;
    for line in text.split_inclusive('\n') {
        let plain = line.trim_end();
        if let Some(id) = plain.strip_prefix("Reading: ").filter(|_| skill.is_none()) {
            skill = Some(id.to_owned());
            parts.push((id.to_owned(), Some(hash_of(focus, id)), String::new()));
        } else if let Some(heading) = plain.strip_prefix("## ").filter(|_| skill.is_none()) {
            parts.push((first_chars(heading, 80).to_owned(), None, String::new()));
        }
        if let Some(last) = parts.last_mut() {
            last.2.push_str(line);
        }
        if skill.as_deref().is_some_and(|id| plain.strip_prefix("Skill read: ") == Some(id)) {
            skill = None;
            parts.push(("after the skill".to_owned(), None, String::new()));
        }
    }
    let is_said = |part: &(String, Option<String>, String)| !part.2.trim().is_empty();
    let part = |(name, skill, text): (String, Option<String>, String)| PromptPart {
        tokens: grouped(u64::try_from(tokens(&text)).unwrap_or(u64::MAX)),
        text: DisplayText::exactly(text.trim_end_matches('\n'), PART),
        name,
        skill,
    };
    parts.into_iter().filter(is_said).map(part).collect()
}

fn hash_of(focus: &SessionDetail, id: &str) -> String {
    let given = focus.spec.iter().flat_map(|spec| &spec.skills).find(|skill| skill.id == id);
    given.map(|skill| first_chars(&skill.hash, HASH).to_owned()).unwrap_or_default()
}
