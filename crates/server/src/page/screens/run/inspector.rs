//! Inspector of a run: its skills and why, the evidence that its gate looks at, its budget, and facts.

use std::time::Duration;

use maestro_core::agent::TokenUsage;
use maestro_core::event::{RankedSkill, SkillSelection, SkillVerdict};
use maestro_core::excerpt::ellipsize;
use maestro_store::{DeliveryStage, SkillDelivery};
use serde::Serialize;
use serde_json::Value as Json;

use super::entry::{PlanChecklist, TranscriptState};
use super::evidence::EvidenceLine;
use super::mapper::RunMapper;
use super::query::SessionDetail;
use crate::page::clock;
use crate::page::run_overview::RunOverview;
use crate::page::text::{DisplayText, dollars, grouped, short_branch, short_id};
use crate::work_changes::WorkChanges;

/// How many skills that were not taken, files and items are listed.
const RANKED: usize = 12;
const FILES: usize = 50;
/// How many characters are shown of a fact and of a hash.
const FACT: usize = 200;
const HASH: usize = 8;

/// The inspector.
#[derive(Debug, Serialize)]
pub(super) struct RunInspector {
    skills: Vec<SkillLine>,
    /// How many skills were considered and not taken.
    not_taken: usize,
    ranking: Vec<RankLine>,
    plan: Option<PlanChecklist>,
    evidence: Vec<EvidenceLine>,
    /// Whether the gate decides by exactly these.
    has_gate: bool,
    budget: Vec<BudgetLine>,
    spent: Vec<String>,
    files: Vec<DisplayText>,
    more_files: usize,
    facts: Vec<FactLine>,
}

/// A skill, and how far its text was delivered.
#[derive(Debug, Serialize)]
struct SkillLine {
    name: DisplayText,
    is_asked: bool,
    why: Option<String>,
    /// The stages in order, each with the text's hash where it was reached.
    stages: [(&'static str, Option<String>); 3],
    /// Whether the texts of the stages differ.
    is_changed: bool,
    /// Whether it was asked for and never delivered.
    is_missing: bool,
}

/// A skill that was not taken.
#[derive(Debug, Serialize)]
struct RankLine {
    name: DisplayText,
    score: String,
    why: &'static str,
    words: String,
}

/// A budget and what of it is used.
#[derive(Debug, Serialize)]
struct BudgetLine {
    name: &'static str,
    text: String,
    /// How many of 100 parts are used.
    share: u32,
}

/// A fact that can be copied.
#[derive(Debug, Serialize)]
struct FactLine {
    name: &'static str,
    value: String,
    /// What people read in place of an id or a hash, as commands accept it.
    short: Option<String>,
    can_copy: bool,
}

impl RunMapper<'_> {
    /// The inspector. `selection` is how the skills of the step were chosen.
    pub(super) fn inspector(&self, selection: Option<&SkillSelection>, changes: Option<&WorkChanges>) -> RunInspector {
        let focus = self.focus();
        let is_over = focus.is_none_or(|focus| focus.session.status.is_over());
        let course = if is_over { TranscriptState::Ended } else { TranscriptState::Running };
        let files = focus.and_then(|focus| focus.spawn.as_ref()?.outcome.as_ref()?.changed_files());
        let files = files.unwrap_or_default();
        let (evidence, has_gate) = self.evidence(changes);
        let plan = focus.map(|focus| &focus.account.plan).filter(|plan| !plan.is_empty());
        RunInspector {
            skills: focus.map(|focus| skill_lines(focus, selection)).unwrap_or_default(),
            not_taken: selection.map_or(0, |it| it.detail.considered.saturating_sub(it.skills.len())),
            ranking: selection.map(rank_lines).unwrap_or_default(),
            plan: plan.map(|plan| PlanChecklist::of(plan, course)),
            evidence,
            has_gate,
            budget: self.budget(),
            spent: focus.map(spent).unwrap_or_default(),
            more_files: files.len().saturating_sub(FILES),
            files: files.iter().take(FILES).map(|path| DisplayText::exactly(path, FACT)).collect(),
            facts: self.facts(changes),
        }
    }

    /// What may be used up, and how much of it is.
    fn budget(&self) -> Vec<BudgetLine> {
        let mut lines = Vec::new();
        let limits = self.focus().and_then(|focus| focus.spec.as_ref()).map(|spec| spec.budget);
        let run = self.overview.as_ref();
        let minutes = run.and_then(|run| run.task_budget()?.minutes).or(limits.map(|limits| limits.minutes));
        if let (Some(minutes), Some(focus)) = (minutes.filter(|minutes| *minutes > 0.0), self.focus()) {
            let end = focus.session.completed_at.unwrap_or(self.now);
            let used = (end - focus.session.started_at).max(0);
            let text = format!("{} of {minutes} min", clock::elapsed(0, used));
            lines.push(BudgetLine { name: "time", text, share: share(seconds(used), minutes * 60.0) });
        }
        let cost = run.and_then(RunOverview::cost_limit).or(limits.and_then(|limits| limits.cost_usd));
        if let Some(limit) = cost.filter(|limit| *limit > 0.0) {
            let spent = self.cost();
            let limited = dollars(limit);
            let limited = limited.trim_end_matches(".00");
            let text = match spent {
                spent if spent > 0.0 => format!("{} of {limited}", dollars(spent)),
                _ => format!("none reported, of {limited}"),
            };
            lines.push(BudgetLine { name: "money", text, share: share(spent, limit) });
        }
        let tokens = limits.and_then(|limits| limits.tokens);
        if let (Some(limit), Some(focus)) = (tokens.filter(|limit| *limit > 0), self.focus()) {
            let used = focus.account.spent().tokens();
            let text = format!("{} of {}", grouped(used), grouped(limit));
            lines.push(BudgetLine { name: "tokens", text, share: part_of(used, limit) });
        }
        lines
    }

    fn facts(&self, changes: Option<&WorkChanges>) -> Vec<FactLine> {
        let focus = self.focus();
        let spec = focus.and_then(|focus| focus.spec.as_ref());
        let spawn = focus.and_then(|focus| focus.spawn.as_ref());
        let record = self.overview.as_ref().map(|run| &run.record);
        let branch = changes.and_then(|changes| changes.branch.as_ref());
        let found = [
            ("model", focus.and_then(|focus| focus.account.model.clone().or_else(|| spec?.model.clone())), false),
            ("version", focus.and_then(|focus| focus.account.version.clone()), false),
            ("role", focus.map(|focus| focus.session.role.as_str().to_owned()), false),
            ("rights", spec.map(|spec| spec.permission.as_str().to_owned()), false),
            ("workflow", record.map(|record| record.about.workflow.clone()), false),
            ("worktree", spec.map(|spec| spec.workspace.clone()), true),
            ("branch", branch.map(|branch| branch.name.clone()), true),
            ("base", branch.map(|branch| branch.base.clone()), true),
            ("machine", focus.map(|focus| focus.session.hostname.clone()), false),
            ("definition", record.map(|record| record.hash.clone()), true),
            ("run", record.map(|record| record.id.to_string()), true),
            ("session", focus.map(|focus| focus.session.id.to_string()), true),
            ("agent session", spawn.and_then(|spawn| spawn.agent_session.clone()), true),
        ];
        let line = |(name, value, can_copy): (&'static str, Option<String>, bool)| {
            let value = value.filter(|value| !value.is_empty())?;
            let short = match name {
                "definition" | "base" => Some(value.chars().take(HASH).collect()),
                "run" | "session" | "agent session" => Some(short_id(&value)),
                "branch" => Some(short_branch(&value)),
                _ => None,
            };
            Some(FactLine { name, value: ellipsize(&value, FACT), short, can_copy })
        };
        found.into_iter().filter_map(line).collect()
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 0 and 100")]
fn share(used: f64, limit: f64) -> u32 {
    (used / limit * 100.0).clamp(0.0, 100.0) as u32
}

fn seconds(milliseconds: i64) -> f64 {
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0)).as_secs_f64()
}

fn part_of(used: u64, limit: u64) -> u32 {
    u32::try_from(u128::from(used) * 100 / u128::from(limit.max(1))).unwrap_or(100).min(100)
}

/// The usage, as the agent reports it.
fn spent(focus: &SessionDetail) -> Vec<String> {
    let TokenUsage { input, output, cached, reasoning, cost_usd } = focus.account.spent();
    let told = |count: u64, what: &str| (count > 0).then(|| format!("{} {what}", grouped(count)));
    let money = (cost_usd > 0.0).then(|| dollars(cost_usd));
    let context =
        focus.account.context.filter(|(_, size)| *size > 0).map(|(used, size)| {
            format!("context {} % of {}", u128::from(used) * 100 / u128::from(size), grouped(size))
        });
    let tokens =
        [told(input, "tokens in"), told(cached, "cached"), told(output, "tokens out"), told(reasoning, "reasoning")];
    tokens.into_iter().chain([money, context]).flatten().collect()
}

/// The skills that were asked for, then those that were chosen or delivered.
fn skill_lines(focus: &SessionDetail, selection: Option<&SkillSelection>) -> Vec<SkillLine> {
    let asked = focus.session.metadata.get("skills").and_then(Json::as_array);
    let asked: Vec<&str> = asked.into_iter().flatten().filter_map(Json::as_str).collect();
    let given = focus.spec.iter().flat_map(|spec| spec.skills.iter().map(|skill| skill.id.as_str()));
    let mut names = asked.clone();
    for name in given.chain(focus.receipts.iter().map(|receipt| receipt.skill.as_str())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let started = focus.spawn.as_ref().is_some_and(|spawn| spawn.attempt > 0);
    let line = |name: &str| {
        let of: Vec<&SkillDelivery> = focus.receipts.iter().filter(|receipt| receipt.skill == name).collect();
        let given = focus.spec.iter().flat_map(|spec| &spec.skills).find(|skill| skill.id == name);
        let short = |hash: &str| hash.chars().take(HASH).collect::<String>();
        let stage = |stage: DeliveryStage, word| {
            (word, of.iter().rfind(|receipt| receipt.stage == stage).map(|receipt| short(&receipt.hash)))
        };
        let mut stages = [
            stage(DeliveryStage::Handed, "handed"),
            stage(DeliveryStage::Opened, "opened"),
            stage(DeliveryStage::Read, "read"),
        ];
        // Its text is part of the prompt.
        if let (None, Some(given)) = (&stages[0].1, given.filter(|_| started)) {
            stages[0].1 = Some(short(&given.hash));
        }
        let mut hashes = stages.iter().filter_map(|(_, hash)| hash.as_ref());
        let first = hashes.next();
        let why = selection.and_then(|it| it.skills.iter().find(|skill| skill.name == name));
        SkillLine {
            name: DisplayText::exactly(name, FACT),
            is_asked: asked.contains(&name),
            why: why.map(|skill| ellipsize(&skill.reason, FACT)),
            is_changed: hashes.any(|hash| Some(hash) != first),
            is_missing: started && of.is_empty() && given.is_none(),
            stages,
        }
    };
    names.into_iter().map(line).collect()
}

/// The skills that came closest and were not taken.
fn rank_lines(selection: &SkillSelection) -> Vec<RankLine> {
    let taken = |verdict: SkillVerdict| matches!(verdict, SkillVerdict::Chosen | SkillVerdict::Hinted);
    let ranked = selection.detail.ranking.iter().filter(|ranked| !taken(ranked.verdict)).take(RANKED);
    let line = |ranked: &RankedSkill| RankLine {
        name: DisplayText::exactly(&ranked.name, FACT),
        score: format!("{:.1}", ranked.score),
        why: ranked.verdict.meaning(),
        words: ranked.terms.iter().take(4).map(|term| term.word.as_str()).collect::<Vec<_>>().join(", "),
    };
    ranked.map(line).collect()
}
