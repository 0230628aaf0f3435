//! Prompt of a session's agent when it starts, starts over or resumes.

use maestro_core::Event;
use maestro_core::agent::spawn::SpawnSpec;
use maestro_core::agent::{
    CodingAgent, PromptInput, ReportAbility, ReportProtocol, SkillText, SubtaskBrief, TaskBrief, build_prompt,
};
use maestro_core::event::PromptCutFact;
use maestro_core::message::SessionMessage;
use maestro_core::session::Session;
use maestro_core::task::Task;
use maestro_store::{DeliveryStage, EventScope, RecordDeliveries, RecordEvents, StoreError, TaskFilter, TaskList};

use super::AgentWorker;
use super::history::{self, SessionHistory};

impl AgentWorker {
    /// The prompt of a new agent; cut texts become an event, delivered skills are recorded.
    pub(super) async fn build_prompt(
        &self,
        session: &Session,
        spec: &SpawnSpec,
        tasks: &[Task],
        agent: &CodingAgent,
        unheard: &[SessionMessage],
        history: &SessionHistory,
    ) -> Result<String, StoreError> {
        let work = |task: &Task| -> Vec<String> {
            Some(task.initial_prompt.clone()).filter(|text| !text.trim().is_empty()).into_iter().collect()
        };
        let mut words: Vec<String> = tasks.iter().flat_map(work).collect();
        words.extend(spec.prompt.clone());
        words.extend(unheard.iter().map(|message| format!("{}: {}", message.speaker(), message.text)));
        let words = words.join("\n\n");
        let so_far = history.summary();
        let mut below = Vec::new();
        for task in tasks {
            below.push(self.subtasks(task).await?);
        }
        let briefing = PromptInput {
            session: &session.id,
            role: session.role,
            tasks: tasks
                .iter()
                .zip(&below)
                .map(|(task, below)| TaskBrief {
                    id: &task.id,
                    title: &task.title,
                    description: &task.description,
                    acceptance: vec![],
                    subtasks: in_order(task, below),
                })
                .collect(),
            words: &words,
            skills: spec.skills.iter().map(|skill| SkillText { name: &skill.id, text: &skill.text }).collect(),
            table: &spec.table,
            protocol: match agent.reporting {
                ReportAbility::Able => ReportProtocol::Commands,
                ReportAbility::Unable => ReportProtocol::Silent,
            },
            so_far: so_far.as_deref(),
        };
        let told = build_prompt(&briefing, spec.prompt_max_chars);
        let cuts = told.cuts.iter().map(|cut| PromptCutFact { what: cut.what.clone(), chars: cut.chars });
        let events: Vec<Event> = cuts.map(Event::PromptCut).collect();
        if !events.is_empty() {
            self.store
                .write(RecordEvents { scope: EventScope::project(&session.project).session(&session.id), events })
                .await?;
        }
        let whole = |id: &str| told.cuts.iter().all(|cut| cut.what != id);
        // A skill without text is only named.
        let texts = spec.skills.iter().filter(|skill| !skill.text.is_empty() && whole(&skill.id));
        let texts = texts.map(|skill| (skill.id.clone(), skill.hash.clone(), DeliveryStage::Handed)).collect();
        self.store.write(RecordDeliveries { session: session.id.clone(), texts }).await?;
        Ok(told.text)
    }

    /// All that a task is split into, oldest first.
    async fn subtasks(&self, task: &Task) -> Result<Vec<Task>, StoreError> {
        let filter = TaskFilter { below: Some(task.id.clone()), ..TaskFilter::default() };
        Ok(self.store.read(TaskList { filter, ..TaskList::default() }).await?.items)
    }
}

/// Subtasks with each parent before its parts.
fn in_order<'a>(task: &Task, below: &'a [Task]) -> Vec<SubtaskBrief<'a>> {
    let mut order = Vec::new();
    let children = |parent| below.iter().rev().filter(move |task: &&Task| task.parent.as_ref() == Some(parent));
    let mut open: Vec<(usize, &Task)> = children(&task.id).map(|task| (0, task)).collect();
    while let Some((depth, task)) = open.pop() {
        order.push(SubtaskBrief {
            id: &task.id,
            depth,
            title: &task.title,
            description: &task.description,
            is_closed: task.status.is_closed(),
        });
        open.extend(children(&task.id).map(|task| (depth + 1, task)));
    }
    order
}

/// The prompt of a new agent that was composed before, with the messages and work since.
pub(super) fn with_progress(whole: &str, unheard: &[SessionMessage], history: &SessionHistory) -> String {
    let mut text = whole.to_owned();
    if let Some(so_far) = history.summary() {
        text.push_str("\n\n## Progress so far\n\n");
        text.push_str(&so_far);
        text.push_str("\n\nLook at the files first, and continue from there.");
    }
    for message in unheard {
        text.extend(["\n\n", message.speaker(), " says: ", &message.text]);
    }
    text
}

/// The prompt of an agent that resumes its own session.
pub(super) fn resume(unheard: &[SessionMessage]) -> String {
    if unheard.is_empty() {
        return history::GO_ON.to_owned();
    }
    let said: Vec<String> =
        unheard.iter().map(|message| format!("{} says: {}", message.speaker(), message.text)).collect();
    format!("While you were away:\n\n{}\n\nContinue with this in mind.", said.join("\n\n"))
}
