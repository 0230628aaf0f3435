//! Specification of a session's agent: its task, its environment and its limits.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::agent_table::{Driver, Permission};
use super::run_rights::{DemoAgentUse, RunRights};
use crate::id::{ProjectId, SessionId, TaskId};
use crate::role::SessionRole;
use crate::session::{Approach, Session};

/// What is needed to start an agent for a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpawnSpec {
    /// Which agent, by its name in the table; the worker chooses where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The agent that takes over where this one reaches a limit, or its model cannot be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// How it is spoken with, if not in the preferred way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// Which model, if not the agent's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where it works.
    pub workspace: String,
    /// The name of its own worktree, which the worker opens there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The skills it is handed, dependencies before dependents.
    #[serde(default)]
    pub skills: Vec<SkillContent>,
    /// The table of further skills.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub table: String,
    /// Instructions beside its tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The task of a plan that it works on, where it has no stored one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_task: Option<PlanTaskText>,
    /// The whole prompt, where it was composed before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// The agent's own name of a conversation that it continues when it is first started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// The reminder that it gets once if it ends without a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminder: Option<String>,
    /// The limit of its prompt, in characters.
    pub prompt_max_chars: usize,
    /// What it may do without asking.
    pub permission: Permission,
    /// Whether it may be the demo agent. What was asked for before this was asked is not refused.
    #[serde(default = "demo_before")]
    pub demo: DemoAgentUse,
    /// How much it may use up.
    #[serde(default)]
    pub budget: SessionLimits,
}

impl SpawnSpec {
    /// The same session with the agent that takes over, if there is another one. It gets what it does not know of the
    /// first: no conversation, no driver, no model; and as much again as the limit was, beyond what was spent.
    #[must_use]
    pub fn taken_over(&self, current: &str, spent: &super::TokenUsage) -> Option<Self> {
        let agent = self.fallback.clone().filter(|agent| agent != current)?;
        let mut budget = self.budget;
        budget.cost_usd = budget.cost_usd.map(|most| spent.cost_usd + budget.more_cost_usd.unwrap_or(most));
        budget.tokens = budget.tokens.map(|most| spent.tokens().saturating_add(budget.more_tokens.unwrap_or(most)));
        let (fallback, driver, model, continues) = (None, None, None, None);
        Some(Self { agent: Some(agent), fallback, driver, model, continues, budget, ..self.clone() })
    }

    /// The most that it, and whatever it starts, may do.
    pub fn rights(&self) -> RunRights {
        RunRights { permission: self.permission, demo: self.demo }
    }
}

fn demo_before() -> DemoAgentUse {
    RunRights::UNLIMITED.demo
}

/// A task of a plan as an agent gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanTaskText {
    /// What is to be done, in a line.
    pub label: String,
    /// The plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Its line there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The whole item, what encloses it and how the plan begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

/// A skill as an agent is handed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillContent {
    /// Its id.
    pub id: String,
    /// Where its text stands, so that it is noticed when the agent opens it.
    pub path: String,
    /// The hash of its text as it is handed over.
    pub hash: String,
    /// Its text.
    pub text: String,
}

/// How much an agent may use up before it is ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionLimits {
    /// How many minutes it may take; half a minute is 0.5.
    pub minutes: f64,
    /// How many minutes it may be silent: without output, an open tool call or use of the processor.
    pub idle_minutes: f64,
    /// How many minutes a question of its waits for an answer before that is a no.
    pub question_minutes: f64,
    /// How many seconds it pauses after the first outage of its model; each further pause is twice as long.
    pub outage_seconds: f64,
    /// How many tokens it may use, in and out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// How much money it may cost, in dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// How many dollars an answer adds when they are used up; without it as many as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_cost_usd: Option<f64>,
    /// How many tokens an answer adds when they are used up; without it as many as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_tokens: Option<u64>,
    /// How many times it may ask the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// How many times it may be started, the first included.
    pub starts: u32,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            minutes: 60.0,
            idle_minutes: 10.0,
            question_minutes: 30.0,
            outage_seconds: 30.0,
            tokens: None,
            cost_usd: None,
            more_cost_usd: None,
            more_tokens: None,
            turns: None,
            starts: 3,
        }
    }
}

/// The most minutes that anything may take: a month.
const MOST_MINUTES: f64 = 31.0 * 24.0 * 60.0;

impl SessionLimits {
    /// A part of it that nothing can be done within, and what it must be.
    pub fn find_invalid(&self) -> Option<(&'static str, &'static str)> {
        let fits = |minutes: f64| minutes > 0.0 && minutes <= MOST_MINUTES;
        let lasting = "more than 0 and at most a month";
        let wrong = [
            (!fits(self.minutes), "minutes", lasting),
            (!fits(self.idle_minutes), "idleMinutes", lasting),
            (!fits(self.question_minutes), "questionMinutes", lasting),
            (!fits(self.outage_seconds / 60.0), "outageSeconds", lasting),
            (self.tokens == Some(0), "tokens", "more than 0"),
            (self.cost_usd.is_some_and(|cost| cost.is_nan() || cost <= 0.0), "costUsd", "more than 0"),
            (self.turns == Some(0), "turns", "more than 0"),
            (self.starts == 0, "starts", "1 to 1000"),
        ];
        wrong.into_iter().find_map(|(is_wrong, field, must)| is_wrong.then_some((field, must)))
    }

    /// How long it may take.
    pub fn time(&self) -> Duration {
        minutes_to_duration(self.minutes)
    }

    /// How long it may be silent.
    pub fn idle(&self) -> Duration {
        minutes_to_duration(self.idle_minutes)
    }

    /// How long a question waits, in milliseconds.
    pub fn patience(&self) -> i64 {
        i64::try_from(minutes_to_duration(self.question_minutes).as_millis()).unwrap_or(i64::MAX)
    }

    /// What of it is used up, in words. A limit of nothing is used up from the start.
    pub fn used_up(&self, spent: &super::TokenUsage, turns: u64) -> Option<String> {
        let is_tokens = |most: &u64| spent.tokens() > *most || *most == 0;
        let is_money = |most: &f64| spent.cost_usd > *most || *most <= 0.0;
        let tokens = self.tokens.filter(is_tokens);
        let tokens = tokens.map(|most| format!("{} tokens", self.more_tokens.unwrap_or(most)));
        let money = || self.cost_usd.filter(is_money).map(|most| format!("${}", self.more_cost_usd.unwrap_or(most)));
        let turns = || self.turns.filter(|most| turns > *most).map(|most| format!("{most} turns"));
        tokens.or_else(money).or_else(turns)
    }
}

/// So many minutes: none where they are negative, a year where they are too many.
fn minutes_to_duration(minutes: f64) -> Duration {
    const YEAR: f64 = 365.0 * 24.0 * 60.0;
    Duration::from_secs_f64(minutes.clamp(0.0, YEAR) * 60.0)
}

/// Where the programs of an agent find Maestro.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentEndpoints {
    /// The server's address.
    pub server: Option<String>,
    /// Where Maestro keeps its data.
    pub home: String,
    /// Where the files about sessions are.
    pub sessions: String,
    /// The program.
    pub maestro: String,
}

impl AgentEndpoints {
    /// Where the file about a session is.
    pub fn manifest_path(&self, session: &SessionId) -> String {
        format!("{}/{session}/manifest.json", self.sessions)
    }
}

/// What an agent's programs learn of their session.
#[derive(Debug, Clone, Copy)]
pub struct SessionIdentity<'a> {
    /// Its id.
    pub id: &'a SessionId,
    /// Its project.
    pub project: &'a ProjectId,
    /// Its role.
    pub role: SessionRole,
    /// How it goes through its tasks.
    pub strategy: Approach,
    /// Its tasks, the main one first.
    pub tasks: &'a [TaskId],
}

impl<'a> From<&'a Session> for SessionIdentity<'a> {
    fn from(session: &'a Session) -> Self {
        let Session { id, project, role, strategy, tasks, .. } = session;
        Self { id, project, role: *role, strategy: *strategy, tasks }
    }
}

/// The variables that say to an agent's programs who they are. What is secret is not among them.
pub fn environment(session: SessionIdentity<'_>, around: &AgentEndpoints) -> BTreeMap<String, String> {
    let ids: Vec<String> = session.tasks.iter().map(ToString::to_string).collect();
    let mut variables: BTreeMap<String, String> = [
        ("MAESTRO_SESSION_ID", session.id.to_string()),
        ("MAESTRO_PROJECT_ID", session.project.to_string()),
        ("MAESTRO_ROLE", session.role.as_str().to_owned()),
        ("MAESTRO_STRATEGY", session.strategy.as_str().to_owned()),
        ("MAESTRO_TASK_IDS", ids.join(",")),
        ("MAESTRO_MANIFEST_PATH", around.manifest_path(session.id)),
        ("MAESTRO_BIN", around.maestro.clone()),
        ("MAESTRO_HOME", around.home.clone()),
        ("DATA_DIR", around.home.clone()),
        ("SESSION_DIR", around.sessions.clone()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    variables.extend(ids.first().map(|first| ("MAESTRO_TASK_ID".to_owned(), first.clone())));
    for name in ["MAESTRO_API_URL", "MAESTRO_SERVER_URL"] {
        variables.extend(around.server.clone().map(|url| (name.to_owned(), url)));
    }
    variables
}

/// The command by which the original's clients start a session's agent themselves.
pub fn init_command(session: &Session) -> String {
    format!("maestro {} init", session.role.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_may_be_parts_of_one_and_any_number_is_a_time() {
        let read = |text: &str| serde_json::from_str::<SessionLimits>(text).unwrap();
        assert_eq!(read(r#"{"idleMinutes": 0.25}"#).idle(), Duration::from_secs(15));
        assert_eq!(read(r#"{"minutes": 2}"#).time(), Duration::from_mins(2));
        assert_eq!(read(r#"{"minutes": -1}"#).time(), Duration::ZERO);
        assert!(read(r#"{"questionMinutes": 1e300}"#).patience() > 0);
    }
}
