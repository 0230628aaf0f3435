//! Presentation of a session's page: state, transcript and skills.

use maestro_core::agent::{SessionResult, TokenUsage};
use maestro_core::session::SessionStatus;
use maestro_store::{DeliveryStage, SkillDelivery, SpawnState};
use serde::Serialize;
use serde_json::Value as Json;

use super::entry::{self, PlanChecklist, TranscriptLine, TranscriptState};
use super::query::SessionScreenSnapshot;
use crate::page::agent_totals::AgentTotals;
use crate::page::badge::{PAUSED, QUEUED, StateBadge, WAITING, WORKING, state};
use crate::page::cards::{
    DetailLevel, LastPrompt, PermissionCard, TITLE, WaitingCard, end_badge, prompt_view, question, worker_name,
};
use crate::page::text::DisplayText;

/// How many reasons and files are listed.
const REASONS: usize = 20;
const FILES: usize = 50;
/// How many characters are shown: of a reason, of a fact, and of a hash.
const REASON: usize = 2000;
const FACT: usize = 200;
const HASH: usize = 8;

/// The whole page.
#[derive(Debug)]
pub(in crate::page) struct SessionView {
    pub(in crate::page) session: String,
    pub(in crate::page) past: bool,
    pub(in crate::page) about: SessionHeader,
    /// Its question to a person.
    pub(in crate::page) question: Option<WaitingCard>,
    pub(in crate::page) asks: Vec<PermissionCard>,
    pub(in crate::page) entries: Vec<TranscriptLine>,
    pub(in crate::page) older: Option<i64>,
    pub(in crate::page) note: Option<&'static str>,
    pub(in crate::page) talk: MessageForm,
    pub(in crate::page) facts: SessionFacts,
}

/// The header.
#[derive(Debug, Serialize)]
pub(in crate::page) struct SessionHeader {
    session: String,
    pub(in crate::page) title: String,
    state: StateBadge,
    who: String,
    model: Option<String>,
    /// The number of the attempt, from the second on.
    attempt: Option<i64>,
    project: NamedLink,
    since: i64,
    until: Option<i64>,
    /// When it was last active, while it is working.
    active_at: Option<i64>,
    paused: bool,
    over: bool,
    outcome: Option<SessionResultView>,
}

#[derive(Debug, Serialize)]
struct NamedLink {
    id: String,
    name: String,
}

/// The outcome.
#[derive(Debug, Serialize)]
struct SessionResultView {
    state: StateBadge,
    /// Whether it starts again after that.
    again: bool,
    reasons: Vec<DisplayText>,
    more: usize,
}

/// The form to talk to it.
#[derive(Debug, Serialize)]
pub(in crate::page) struct MessageForm {
    session: String,
    who: String,
    over: bool,
    told: Option<LastPrompt>,
}

/// The sidebar.
#[derive(Debug, Serialize)]
pub(in crate::page) struct SessionFacts {
    skills: Vec<SkillLine>,
    plan: Option<PlanChecklist>,
    spent: Vec<String>,
    /// Files that really changed, according to the worktree.
    files: Vec<DisplayText>,
    more_files: usize,
    lines: Vec<(&'static str, String)>,
}

/// A skill, and how far its text was delivered.
#[derive(Debug, Serialize)]
struct SkillLine {
    name: DisplayText,
    asked: bool,
    /// The stages in order, each with the text's hash where it was reached.
    stages: [(&'static str, Option<String>); 3],
    /// Whether the texts of the stages differ.
    changed: bool,
    /// Whether it was asked for and never delivered.
    missing: bool,
}

impl SessionView {
    pub(in crate::page) fn new(sight: &SessionScreenSnapshot) -> Self {
        let SessionScreenSnapshot { session, spawn, account, .. } = sight;
        let who = worker_name(session);
        let full = |asked| PermissionCard::of(asked, who.clone(), DetailLevel::Full);
        let asks: Vec<PermissionCard> = sight.questions.iter().map(full).collect();
        let question = question_card(sight);
        let open = question.as_ref().filter(|question| question.told.is_none());
        let waits = asks.len() + usize::from(open.is_some());
        let over = session.status.is_over();
        let title = DisplayText::exactly(sight.task.as_deref().unwrap_or(&session.name), TITLE).text;
        Self {
            session: session.id.to_string(),
            past: sight.past,
            about: SessionHeader {
                session: session.id.to_string(),
                title,
                state: state_badge(sight, waits > 0),
                who: who.clone(),
                model: account.model.clone().or_else(|| sight.spec.as_ref()?.model.clone()).map(|model| fact(&model)),
                attempt: spawn.as_ref().map(|spawn| spawn.attempt).filter(|attempt| *attempt > 1),
                project: NamedLink { id: session.project.to_string(), name: fact(&sight.project.name) },
                since: session.started_at,
                until: session.completed_at.filter(|_| over),
                active_at: (session.status == SessionStatus::Working).then_some(session.last_activity),
                paused: session.status == SessionStatus::Paused,
                over,
                outcome: session_result(sight),
            },
            question,
            asks,
            entries: entry::entries(&sight.groups.items, session.started_at, transcript_state(sight)),
            older: sight.groups.older,
            note: note(sight),
            talk: MessageForm {
                session: session.id.to_string(),
                who,
                over,
                told: sight.told.as_ref().map(prompt_view),
            },
            facts: facts(sight),
        }
    }
}

/// Whether its unfinished entries may still continue, as far as this page can tell.
fn transcript_state(sight: &SessionScreenSnapshot) -> TranscriptState {
    if sight.session.status.is_over() || sight.past { TranscriptState::Ended } else { TranscriptState::Running }
}

fn fact(text: &str) -> String {
    let shown = DisplayText::exactly(text, FACT);
    if shown.is_whole() { shown.text } else { format!("{}…", shown.text) }
}

/// Its question, until it continues.
fn question_card(sight: &SessionScreenSnapshot) -> Option<WaitingCard> {
    sight.session.needs_input.as_ref().filter(|_| !sight.session.status.is_over())?;
    let asked = sight.words.as_ref().filter(|line| line.kind.as_str() == "needs_input");
    let since = asked.map_or(sight.session.last_activity, |line| line.at);
    let told = sight.told.as_ref().filter(|told| told.created_at >= since).map(prompt_view);
    Some(question(&sight.session, since, told))
}

/// Its state.
fn state_badge(sight: &SessionScreenSnapshot, waits: bool) -> StateBadge {
    let status = sight.session.status;
    let unclaimed = sight.spawn.as_ref().filter(|spawn| spawn.state == SpawnState::Waiting);
    match (status, unclaimed) {
        _ if status.is_over() => end_badge(&sight.session).0,
        (SessionStatus::Paused, _) => PAUSED,
        _ if waits => WAITING,
        (_, Some(spawn)) if spawn.attempt > 0 => state("rest", "○", "queued for a retry"),
        (_, Some(_)) => QUEUED,
        (SessionStatus::Spawning, None) => state("rest", "○", "starting"),
        (SessionStatus::Idle, None) => state("rest", "○", "idle"),
        _ => WORKING,
    }
}

/// The text in place of an empty transcript.
fn note(sight: &SessionScreenSnapshot) -> Option<&'static str> {
    if !sight.groups.items.is_empty() {
        return None;
    }
    Some(match &sight.spawn {
        _ if sight.past => "Nothing older.",
        None => "Maestro did not start this agent; only its reports are shown.",
        Some(_) if sight.session.status.is_over() => "The agent did nothing.",
        Some(spawn) if spawn.state == SpawnState::Waiting => "Starts when a worker is free.",
        Some(_) => "Nothing yet.",
    })
}

/// The outcome of the session, or of the previous attempt. "Done" may be only its claim, so it is not green.
fn session_result(sight: &SessionScreenSnapshot) -> Option<SessionResultView> {
    let spawn = sight.spawn.as_ref()?;
    let result = &spawn.outcome.as_ref()?.result;
    let (state, reasons) = match result {
        SessionResult::Done => (state("plain", "–", "done"), Vec::new()),
        SessionResult::NothingDone { .. } => (state("bad", "✗", "no evidence of work"), Vec::new()),
        SessionResult::Unreported { reason } => (state("bad", "✗", "no report"), vec![reason.clone()]),
        SessionResult::Failed { reasons } => (state("bad", "✗", "failed"), reasons.clone()),
        SessionResult::Cancelled => (state("rest", "○", "cancelled"), Vec::new()),
        SessionResult::Parked { reason } => (state("bad", "✗", "parked"), vec![reason.clone()]),
        SessionResult::Stalled { .. } => (state("bad", "✗", "stalled"), Vec::new()),
        SessionResult::NotStarted { .. } | SessionResult::Unknown => return None,
    };
    Some(SessionResultView {
        state,
        again: spawn.state != SpawnState::Done,
        more: reasons.len().saturating_sub(REASONS),
        reasons: reasons.iter().take(REASONS).map(|reason| DisplayText::printed(reason, REASON)).collect(),
    })
}

fn facts(sight: &SessionScreenSnapshot) -> SessionFacts {
    let changed = sight.spawn.as_ref().and_then(|spawn| spawn.outcome.as_ref()?.changed_files()).unwrap_or_default();
    SessionFacts {
        skills: skills(sight),
        plan: (!sight.account.plan.is_empty()).then(|| PlanChecklist::of(&sight.account.plan, transcript_state(sight))),
        spent: spent(&sight.account),
        more_files: changed.len().saturating_sub(FILES),
        files: changed.iter().take(FILES).map(|path| DisplayText::exactly(path, FACT)).collect(),
        lines: lines(sight),
    }
}

/// The usage, as the agent reports it.
fn spent(account: &AgentTotals) -> Vec<String> {
    let TokenUsage { input, output, cached, reasoning, cost_usd } = account.spent();
    let told = |count: u64, what: &str| (count > 0).then(|| format!("{} {what}", format_number(count)));
    let money =
        (cost_usd > 0.0).then(|| if cost_usd < 0.01 { "under $0.01".to_owned() } else { format!("${cost_usd:.2}") });
    let context = account.context.filter(|(_, size)| *size > 0).map(|(used, size)| {
        format!("context {} % of {}", u128::from(used) * 100 / u128::from(size), format_number(size))
    });
    let tokens =
        [told(input, "tokens in"), told(cached, "cached"), told(output, "tokens out"), told(reasoning, "reasoning")];
    tokens.into_iter().chain([money, context]).flatten().collect()
}

/// A number in a readable form.
fn format_number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The skills that were asked for, then those of the role.
fn skills(sight: &SessionScreenSnapshot) -> Vec<SkillLine> {
    let asked = sight.session.metadata.get("skills").and_then(Json::as_array);
    let asked: Vec<&str> = asked.into_iter().flatten().filter_map(Json::as_str).collect();
    let mut names = asked.clone();
    for receipt in &sight.receipts {
        if !names.contains(&receipt.skill.as_str()) {
            names.push(&receipt.skill);
        }
    }
    let started = sight.spawn.as_ref().is_some_and(|spawn| spawn.attempt > 0);
    let line = |name: &str| {
        let of: Vec<&SkillDelivery> = sight.receipts.iter().filter(|receipt| receipt.skill == name).collect();
        let stage = |stage: DeliveryStage, word| {
            let newest = of.iter().rfind(|receipt| receipt.stage == stage);
            (word, newest.map(|receipt| receipt.hash.chars().take(HASH).collect::<String>()))
        };
        let stages = [
            stage(DeliveryStage::Handed, "handed"),
            stage(DeliveryStage::Opened, "opened"),
            stage(DeliveryStage::Read, "read"),
        ];
        let mut hashes = stages.iter().filter_map(|(_, hash)| hash.as_ref());
        let first = hashes.next();
        SkillLine {
            name: DisplayText::exactly(name, FACT),
            asked: asked.contains(&name),
            changed: hashes.any(|hash| Some(hash) != first),
            missing: started && of.is_empty(),
            stages,
        }
    };
    names.into_iter().map(line).collect()
}

fn lines(sight: &SessionScreenSnapshot) -> Vec<(&'static str, String)> {
    let SessionScreenSnapshot { session, spawn, spec, account, .. } = sight;
    let worker = spawn.as_ref().and_then(|spawn| spawn.worker.clone());
    let own = spawn.as_ref().and_then(|spawn| spawn.agent_session.clone());
    let found = [
        ("session", Some(session.id.to_string())),
        ("role", Some(session.role.as_str().to_owned())),
        ("permission", spec.as_ref().map(|spec| spec.permission.as_str().to_owned())),
        ("version", account.version.clone()),
        ("agent session", own),
        ("worker", worker),
        ("machine", Some(session.hostname.clone())),
        ("directory", spec.as_ref().map(|spec| spec.workspace.clone())),
    ];
    let told =
        |(name, value): (&'static str, Option<String>)| Some((name, fact(&value.filter(|text| !text.is_empty())?)));
    found.into_iter().filter_map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::format_number;

    #[test]
    fn numbers_are_grouped_from_the_right() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(format_number(number), text);
        }
    }
}
