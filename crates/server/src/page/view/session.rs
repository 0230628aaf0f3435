//! Presentation of a session's page: state, transcript and skills.

use maestro_core::agent::{SessionResult, Spent};
use maestro_core::session::SessionStatus;
use maestro_store::{Receipt, SpawnState, Stage};
use serde::Serialize;
use serde_json::Value as Json;

use super::entry::{self, Course, Entry, Plan};
use super::looks::{TITLE, end, question, state, tell, who};
use super::permission::{Ask, Depth};
use super::{Back, State, Told, Wait};
use crate::page::session::{Account, Sight};
use crate::page::text::Shown;

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
    pub(in crate::page) now: i64,
    pub(in crate::page) seq: i64,
    pub(in crate::page) session: String,
    pub(in crate::page) waiting: i64,
    pub(in crate::page) past: bool,
    pub(in crate::page) about: About,
    /// Its question to a person.
    pub(in crate::page) question: Option<Wait>,
    pub(in crate::page) asks: Vec<Ask>,
    pub(in crate::page) entries: Vec<Entry>,
    pub(in crate::page) older: Option<i64>,
    pub(in crate::page) note: Option<&'static str>,
    pub(in crate::page) talk: Talk,
    pub(in crate::page) facts: Facts,
}

/// The header.
#[derive(Debug, Serialize)]
pub(in crate::page) struct About {
    session: String,
    pub(in crate::page) title: String,
    state: State,
    who: String,
    model: Option<String>,
    /// The number of the attempt, from the second on.
    attempt: Option<i64>,
    project: Named,
    since: i64,
    until: Option<i64>,
    /// When it was last active, while it is working.
    heard: Option<i64>,
    paused: bool,
    over: bool,
    outcome: Option<Came>,
    back: Back,
}

#[derive(Debug, Serialize)]
struct Named {
    id: String,
    name: String,
}

/// The outcome.
#[derive(Debug, Serialize)]
struct Came {
    state: State,
    /// Whether it starts again after that.
    again: bool,
    reasons: Vec<Shown>,
    more: usize,
}

/// The form to talk to it.
#[derive(Debug, Serialize)]
pub(in crate::page) struct Talk {
    session: String,
    who: String,
    over: bool,
    told: Option<Told>,
    back: Back,
}

/// The sidebar.
#[derive(Debug, Serialize)]
pub(in crate::page) struct Facts {
    skills: Vec<SkillLine>,
    plan: Option<Plan>,
    spent: Vec<String>,
    /// Files that really changed, according to the worktree.
    files: Vec<Shown>,
    more_files: usize,
    lines: Vec<(&'static str, String)>,
}

/// A skill, and how far its text was delivered.
#[derive(Debug, Serialize)]
struct SkillLine {
    name: Shown,
    asked: bool,
    /// The stages in order, each with the text's hash where it was reached.
    stages: [(&'static str, Option<String>); 3],
    /// Whether the texts of the stages differ.
    changed: bool,
    /// Whether it was asked for and never delivered.
    missing: bool,
}

impl SessionView {
    pub(in crate::page) fn new(sight: &Sight) -> Self {
        let Sight { session, spawn, account, .. } = sight;
        let back = Back { name: "session", value: session.id.to_string() };
        let who = who(session);
        let asks: Vec<Ask> =
            sight.questions.iter().map(|asked| Ask::of(asked, who.clone(), Depth::Full, Some(back.clone()))).collect();
        let question = asking(sight, &back);
        let open = question.as_ref().filter(|question| question.told.is_none());
        let waits = asks.len() + usize::from(open.is_some());
        let over = session.status.is_over();
        let title = Shown::exactly(sight.task.as_deref().unwrap_or(&session.name), TITLE).text;
        Self {
            now: sight.at,
            seq: sight.seq,
            session: session.id.to_string(),
            waiting: i64::try_from(waits).unwrap_or(i64::MAX),
            past: sight.past,
            about: About {
                session: session.id.to_string(),
                title,
                state: standing(sight, waits > 0),
                who: who.clone(),
                model: account.model.clone().or_else(|| sight.spec.as_ref()?.model.clone()).map(|model| fact(&model)),
                attempt: spawn.as_ref().map(|spawn| spawn.attempt).filter(|attempt| *attempt > 1),
                project: Named { id: session.project.to_string(), name: fact(&sight.project.name) },
                since: session.started_at,
                until: session.completed_at.filter(|_| over),
                heard: (session.status == SessionStatus::Working).then_some(session.last_activity),
                paused: session.status == SessionStatus::Paused,
                over,
                outcome: came(sight),
                back: back.clone(),
            },
            question,
            asks,
            entries: entry::entries(&sight.groups.items, session.started_at, course(sight)),
            older: sight.groups.older,
            note: note(sight),
            talk: Talk { session: session.id.to_string(), who, over, told: sight.told.as_ref().map(tell), back },
            facts: facts(sight),
        }
    }
}

/// Whether its unfinished entries may still continue, as far as this page can tell.
fn course(sight: &Sight) -> Course {
    if sight.session.status.is_over() || sight.past { Course::Over } else { Course::Going }
}

fn fact(text: &str) -> String {
    let shown = Shown::exactly(text, FACT);
    if shown.is_whole() { shown.text } else { format!("{}…", shown.text) }
}

/// Its question, until it continues.
fn asking(sight: &Sight, back: &Back) -> Option<Wait> {
    sight.session.needs_input.as_ref().filter(|_| !sight.session.status.is_over())?;
    let asked = sight.words.as_ref().filter(|line| line.kind.as_str() == "needs_input");
    let since = asked.map_or(sight.session.last_activity, |line| line.at);
    let told = sight.told.as_ref().filter(|told| told.created_at >= since).map(tell);
    Some(question(&sight.session, since, told, Some(back.clone())))
}

/// Its state.
fn standing(sight: &Sight, waits: bool) -> State {
    let status = sight.session.status;
    let unclaimed = sight.spawn.as_ref().filter(|spawn| spawn.state == SpawnState::Waiting);
    match (status, unclaimed) {
        _ if status.is_over() => end(&sight.session).0,
        (SessionStatus::Paused, _) => state("rest", "○", "paused"),
        _ if waits => state("waits", "?", "waiting for you"),
        (_, Some(spawn)) if spawn.attempt > 0 => state("rest", "○", "queued for a retry"),
        (_, Some(_)) => state("rest", "○", "queued"),
        (SessionStatus::Spawning, None) => state("rest", "○", "starting"),
        (SessionStatus::Idle, None) => state("rest", "○", "idle"),
        _ => state("working", "●", "working"),
    }
}

/// The text in place of an empty transcript.
fn note(sight: &Sight) -> Option<&'static str> {
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
fn came(sight: &Sight) -> Option<Came> {
    let spawn = sight.spawn.as_ref()?;
    let result = &spawn.outcome.as_ref()?.result;
    let (state, reasons) = match result {
        SessionResult::Done => (state("plain", "–", "done"), Vec::new()),
        SessionResult::NothingDone { .. } => (state("bad", "✗", "no evidence of work"), Vec::new()),
        SessionResult::Failed { reasons } => (state("bad", "✗", "failed"), reasons.clone()),
        SessionResult::Cancelled => (state("rest", "○", "cancelled"), Vec::new()),
        SessionResult::Parked { reason } => (state("bad", "✗", "parked"), vec![reason.clone()]),
        SessionResult::Stalled { .. } => (state("bad", "✗", "stalled"), Vec::new()),
        SessionResult::NotStarted { .. } | SessionResult::Unknown => return None,
    };
    Some(Came {
        state,
        again: spawn.state != SpawnState::Done,
        more: reasons.len().saturating_sub(REASONS),
        reasons: reasons.iter().take(REASONS).map(|reason| Shown::printed(reason, REASON)).collect(),
    })
}

fn facts(sight: &Sight) -> Facts {
    let changed = sight.spawn.as_ref().and_then(|spawn| spawn.outcome.as_ref()?.changed_files()).unwrap_or_default();
    Facts {
        skills: skills(sight),
        plan: (!sight.account.plan.is_empty()).then(|| Plan::of(&sight.account.plan, course(sight))),
        spent: spent(&sight.account),
        more_files: changed.len().saturating_sub(FILES),
        files: changed.iter().take(FILES).map(|path| Shown::exactly(path, FACT)).collect(),
        lines: lines(sight),
    }
}

/// The usage, as the agent reports it.
fn spent(account: &Account) -> Vec<String> {
    let Spent { input, output, cached, reasoning, cost_usd } = account.spent();
    let told = |count: u64, what: &str| (count > 0).then(|| format!("{} {what}", grouped(count)));
    let money =
        (cost_usd > 0.0).then(|| if cost_usd < 0.01 { "under $0.01".to_owned() } else { format!("${cost_usd:.2}") });
    let context = account
        .context
        .filter(|(_, size)| *size > 0)
        .map(|(used, size)| format!("context {} % of {}", u128::from(used) * 100 / u128::from(size), grouped(size)));
    let tokens =
        [told(input, "tokens in"), told(cached, "cached"), told(output, "tokens out"), told(reasoning, "reasoning")];
    tokens.into_iter().chain([money, context]).flatten().collect()
}

/// A number in a readable form.
fn grouped(number: u64) -> String {
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
fn skills(sight: &Sight) -> Vec<SkillLine> {
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
        let of: Vec<&Receipt> = sight.receipts.iter().filter(|receipt| receipt.skill == name).collect();
        let stage = |stage: Stage, word| {
            let newest = of.iter().rfind(|receipt| receipt.stage == stage);
            (word, newest.map(|receipt| receipt.hash.chars().take(HASH).collect::<String>()))
        };
        let stages = [stage(Stage::Handed, "handed"), stage(Stage::Opened, "opened"), stage(Stage::Read, "read")];
        let mut hashes = stages.iter().filter_map(|(_, hash)| hash.as_ref());
        let first = hashes.next();
        SkillLine {
            name: Shown::exactly(name, FACT),
            asked: asked.contains(&name),
            changed: hashes.any(|hash| Some(hash) != first),
            missing: started && of.is_empty(),
            stages,
        }
    };
    names.into_iter().map(line).collect()
}

fn lines(sight: &Sight) -> Vec<(&'static str, String)> {
    let Sight { session, spawn, spec, account, .. } = sight;
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
    use super::grouped;

    #[test]
    fn numbers_are_grouped_from_the_right() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
