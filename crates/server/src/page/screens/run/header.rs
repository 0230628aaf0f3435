//! Header of a run: its state, what it costs, where it comes from, and what a person can do now.

use maestro_core::WorkState;
use maestro_core::agent::SessionResult;
use maestro_core::excerpt::ellipsize;
use maestro_core::session::SessionStatus;
use maestro_core::workflow::run::{ReviewItemStatus, RunDriver};
use maestro_engine::worker::LEASE;
use maestro_store::SpawnState;
use serde::Serialize;

use super::mapper::RunMapper;
use super::run_line::{author, item_line};
use crate::page::badge::{PAUSED, QUEUED, StateBadge, WAITING, WORKING, state};
use crate::page::cards::{TITLE, end_badge, worker_name};
use crate::page::run_overview::RunOverview;
use crate::page::text::{DisplayText, short_branch, spent_of};
use crate::page::{clock, links};
use crate::work_changes::WorkChanges;

/// For how long a worker may renew nothing before a person reads about it; it renews every few seconds.
const SILENCE: i64 = LEASE / 2;
/// How many characters of a reason are shown.
const REASON: usize = 2000;
/// How many reasons are listed.
const REASONS: usize = 20;

/// The header.
#[derive(Debug, Serialize)]
pub(super) struct RunHeader {
    pub(super) title: String,
    state: StateBadge,
    /// Where it is: the phase, and the round.
    place: Option<String>,
    since: i64,
    until: Option<i64>,
    /// When it was last active, while it is working.
    active_at: Option<i64>,
    money: Option<String>,
    /// Where its orders are sent.
    orders: Option<String>,
    is_paused: bool,
    can_cancel: bool,
    can_say: bool,
    /// The command that opens the agent's own interface.
    attach: Option<String>,
    origin: Vec<OriginPart>,
    /// Why it stopped.
    reasons: Vec<DisplayText>,
    /// Where its retry is sent.
    retry: Option<String>,
    /// Where another session can be started for the task of a session that stopped.
    again: Option<String>,
    /// The agents that could do it instead.
    others: Vec<String>,
    result: Option<RunResult>,
    /// What a person let pass.
    risks: Vec<String>,
    /// What is unusual now.
    notices: Vec<RunNotice>,
}

/// Something unusual, and where there is more about it.
#[derive(Debug, Default, Serialize)]
struct RunNotice {
    text: String,
    /// The name of the link, and where it leads.
    link: Option<(&'static str, String)>,
}

impl From<String> for RunNotice {
    fn from(text: String) -> Self {
        Self { text, link: None }
    }
}

/// A part of where a run comes from.
#[derive(Debug, Serialize)]
struct OriginPart {
    text: String,
    href: Option<String>,
    is_code: bool,
}

/// What a run left.
#[derive(Debug, Serialize)]
struct RunResult {
    added: usize,
    removed: usize,
    files: usize,
    checks: usize,
    items: usize,
    into: Option<String>,
    /// What is not committed there.
    uncommitted: Vec<String>,
    can_land: bool,
    can_discard: bool,
}

impl RunMapper<'_> {
    /// The header. `changes` is what is known of its branch.
    pub(super) fn header(&self, waits: bool, changes: Option<&WorkChanges>, agents: &[String]) -> RunHeader {
        let badge = self.state(waits);
        let is_over = self.is_over();
        let reasons = self.reasons();
        let id = self.subject.id();
        let focus = self.focus();
        let current = focus.filter(|focus| !focus.session.status.is_over());
        let can_retry = self.overview.as_ref().is_some_and(|run| {
            let is_ours = run.record.about.driver == RunDriver::Server;
            is_ours && run.summary.state == WorkState::Stopped && run.summary.landed_at.is_none()
        });
        let base = self.subject.form_path();
        RunHeader {
            title: self.title(),
            place: self.place(),
            since: self.since(),
            until: self.until().filter(|_| is_over),
            active_at: current.filter(|_| badge.tone == "working").map(|focus| focus.session.last_activity),
            money: self.money(),
            orders: (!is_over).then(|| base.clone()),
            is_paused: badge == PAUSED,
            can_cancel: !is_over,
            can_say: current.is_some(),
            attach: current.filter(|focus| focus.spawn.is_some()).map(|_| format!("maestro attach {id}")),
            origin: self.origin(changes),
            retry: can_retry.then(|| format!("{base}/retry")),
            again: self.again().filter(|_| !reasons.is_empty()),
            others: self.other_agents(agents).unwrap_or_default(),
            result: changes.filter(|_| is_over).map(|changes| self.result(changes)),
            risks: self.risks(),
            notices: self.notices(),
            reasons,
            state: badge,
        }
    }

    /// What it works on.
    pub(super) fn title(&self) -> String {
        let session = || self.head.sessions.first().map(|first| first.session.name.clone()).unwrap_or_default();
        let title = match &self.overview {
            Some(run) => run.title(),
            None => self.head.task.clone().unwrap_or_else(session),
        };
        DisplayText::exactly(&title, TITLE).text
    }

    pub(super) fn is_over(&self) -> bool {
        match &self.overview {
            Some(run) => run.record.run.is_over(),
            None => self.head.sessions.first().is_none_or(|first| first.session.status.is_over()),
        }
    }

    pub(super) fn since(&self) -> i64 {
        match &self.overview {
            Some(run) => run.record.created_at,
            None => self.head.sessions.first().map_or(0, |first| first.session.started_at),
        }
    }

    pub(super) fn until(&self) -> Option<i64> {
        match &self.overview {
            Some(run) => run.record.ended_at,
            None => self.head.sessions.first().and_then(|first| first.session.completed_at),
        }
    }

    /// How it stands.
    fn state(&self, waits: bool) -> StateBadge {
        match &self.overview {
            Some(run) => StateBadge::from(run.summary.state),
            None => self.session_state(waits),
        }
    }

    fn session_state(&self, waits: bool) -> StateBadge {
        let Some(focus) = self.focus() else { return QUEUED };
        let status = focus.session.status;
        let unclaimed = focus.spawn.as_ref().filter(|spawn| spawn.state == SpawnState::Waiting);
        match (status, unclaimed) {
            _ if status.is_over() => end_badge(&focus.session).0,
            (SessionStatus::Paused, _) => PAUSED,
            _ if waits => WAITING,
            (_, Some(spawn)) if spawn.attempt > 0 => state("rest", "○", "queued for a retry"),
            (_, Some(_)) | (SessionStatus::Spawning | SessionStatus::Idle, None) => QUEUED,
            _ => WORKING,
        }
    }

    /// The phase and the round, while it goes on.
    fn place(&self) -> Option<String> {
        let run = self.overview.as_ref().filter(|run| run.summary.state.is_live())?;
        let phase = run.phase().map(str::to_owned).or_else(|| run.step_title())?;
        Some(match run.rounds() {
            Some((round, Some(most))) if round > 1 => format!("{phase}, round {round} of {most}"),
            Some((round, None)) if round > 1 => format!("{phase}, round {round}"),
            _ => phase,
        })
    }

    /// What it cost so far, of what it may cost.
    pub(super) fn money(&self) -> Option<String> {
        spent_of(self.cost(), self.overview.as_ref().and_then(RunOverview::cost_limit))
    }

    fn origin(&self, changes: Option<&WorkChanges>) -> Vec<OriginPart> {
        let part = |text: String, href: Option<String>| OriginPart { text, href, is_code: false };
        let mut parts = Vec::new();
        if let Some(project) = &self.head.project {
            let name = ellipsize(&project.name, TITLE);
            parts.push(part(name, Some(format!("/?project={}", project.id))));
        }
        if let Some((run, (plan, line))) = self.overview.as_ref().and_then(|run| Some((run, run.plan_place()?))) {
            let project = run.record.about.project.as_ref().map(ToString::to_string).unwrap_or_default();
            let place = line.map(|line| format!(":{line}")).unwrap_or_default();
            let href = links::plan(&project, plan, &run.record.id.to_string());
            let href = line.map_or(href.clone(), |line| format!("{href}?task={line}"));
            parts.push(part(format!("plan {}{place}", ellipsize(plan, TITLE)), Some(href)));
        } else if let Some(task) = self.task_link() {
            parts.push(part("task".to_owned(), Some(task)));
        }
        if let Some((run, _)) = self.overview.as_ref().and_then(|run| run.record.about.parent.clone()) {
            parts.push(part("part of a run".to_owned(), Some(format!("/runs/{run}"))));
        }
        let mut agents: Vec<String> = Vec::new();
        for session in &self.head.sessions {
            let name = worker_name(&session.session);
            if !agents.contains(&name) {
                agents.push(name);
            }
        }
        if !agents.is_empty() {
            parts.push(part(agents.join(" → "), None));
        }
        let model = self.focus().and_then(|focus| focus.account.model.clone());
        if let Some(model) = model.filter(|model| !agents.contains(model)) {
            parts.push(part(ellipsize(&model, TITLE), None));
        }
        if let Some(branch) = changes.and_then(|changes| changes.branch.as_ref()) {
            let base: String = branch.base.chars().take(7).collect();
            let from = changes
                .and_then(|changes| changes.into.as_deref())
                .map_or(base.clone(), |into| format!("{into}@{base}"));
            let text = format!("{} from {from}", ellipsize(&short_branch(&branch.name), TITLE));
            parts.push(OriginPart { text, href: None, is_code: true });
        }
        parts
    }

    /// The form that starts another agent for the task of a session alone that is over.
    fn again(&self) -> Option<String> {
        let session = &self.head.sessions.first().filter(|_| self.overview.is_none() && self.is_over())?.session;
        session.tasks.first().map(|task| format!("/work?task={task}&start=yes"))
    }

    fn task_link(&self) -> Option<String> {
        let about = self.overview.as_ref().and_then(|run| run.record.about.task.clone());
        let task = about.or_else(|| self.head.sessions.first()?.session.tasks.first().cloned())?;
        Some(format!("/work?task={task}"))
    }

    /// Why it stopped, one reason each.
    fn reasons(&self) -> Vec<DisplayText> {
        let said: Vec<String> = match &self.overview {
            Some(run) if run.summary.state == WorkState::Stopped => {
                let why = run.summary.message.as_deref().or(run.summary.state_reason.as_deref()).unwrap_or_default();
                vec![stop_reason(why)]
            }
            Some(_) => Vec::new(),
            None => self.session_reasons(),
        };
        said.iter().take(REASONS).map(|reason| DisplayText::printed(reason, REASON)).collect()
    }

    fn session_reasons(&self) -> Vec<String> {
        let Some(focus) = self.focus() else { return Vec::new() };
        let outcome = focus.spawn.as_ref().and_then(|spawn| spawn.outcome.as_ref());
        match outcome.map(|outcome| &outcome.result) {
            Some(SessionResult::Failed { reasons }) => reasons.clone(),
            Some(
                SessionResult::Parked { reason }
                | SessionResult::Unreported { reason }
                | SessionResult::NothingDone { reason },
            ) => vec![reason.clone()],
            Some(SessionResult::Stalled { .. }) => vec!["it gave no sign of life for too long".to_owned()],
            _ if focus.session.status.is_over() => end_badge(&focus.session).1.map(str::to_owned).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// What a person let pass.
    fn risks(&self) -> Vec<String> {
        let risks = self.overview.iter().flat_map(|run| &run.record.run.accepted_risks);
        risks
            .flat_map(|risk| {
                risk.items.iter().map(|item| format!("accepted by {}: {}", author(risk.by), item_line(item)))
            })
            .take(REASONS)
            .collect()
    }

    fn result(&self, changes: &WorkChanges) -> RunResult {
        let run = self.overview.as_ref();
        let items = run.map_or(0, |run| {
            let items = run.record.run.frames.iter().flat_map(|frame| frame.reviews.values().flatten());
            items.filter(|item| item.status == ReviewItemStatus::Pass).count()
        });
        let landed = run.is_some_and(|run| run.record.landing.is_some());
        RunResult {
            added: changes.size.added,
            removed: changes.size.removed,
            files: changes.size.files,
            checks: run.map_or(0, RunOverview::passed_checks),
            items,
            into: changes.into.clone(),
            uncommitted: changes.uncommitted.iter().take(REASONS).cloned().collect(),
            can_land: changes.branch.is_some() && changes.size.files > 0 && !landed,
            can_discard: changes.branch.is_some() && !landed,
        }
    }

    /// The agents that could try instead.
    fn other_agents(&self, agents: &[String]) -> Option<Vec<String>> {
        let run = self.overview.as_ref().filter(|run| run.summary.state == WorkState::Stopped)?;
        let current = run.agent().unwrap_or_default();
        Some(agents.iter().filter(|agent| *agent != current).cloned().collect())
    }

    /// What is unusual: an agent that starts, or is gone, and a run that was restored.
    fn notices(&self) -> Vec<RunNotice> {
        let mut notices: Vec<RunNotice> = Vec::new();
        if self.is_restored && !self.is_over() {
            notices.push("Restored from the log after the server restarted; nothing was lost.".to_owned().into());
        }
        if let Some(change) = self.definition.as_ref().filter(|_| !self.is_over()) {
            let text = format!("Runs on the version it started with ({}).", change.short);
            let compare = format!("{}?tab=definition", self.subject.path());
            notices.push(RunNotice { text, link: Some(("Compare", compare)) });
        }
        let Some(focus) = self.focus().filter(|focus| !focus.session.status.is_over()) else { return notices };
        let who = worker_name(&focus.session);
        let is_claimed = focus.spawn.as_ref().is_some_and(|spawn| spawn.state == SpawnState::Claimed);
        if let Some(until) = focus.lease_until.filter(|_| is_claimed) {
            let renewed = until - LEASE;
            if self.now - renewed > SILENCE {
                notices.push(lost_notice(&who, until, self.now).into());
            } else if focus.session.status == SessionStatus::Spawning {
                notices.push(starting_notice(&who, self.now - focus.session.last_activity, focus.usual_start).into());
            }
        }
        notices
    }
}

/// That the worker of an agent does not renew its lease, and what follows. A lease that was taken from it has ended.
fn lost_notice(who: &str, until: i64, now: i64) -> String {
    let since = match until {
        0 => String::new(),
        until => format!(" for {}", clock::elapsed(until - LEASE, now)),
    };
    let next = if until > now {
        format!("its lease ends in {}, then another worker continues", clock::elapsed(now, until))
    } else {
        "another worker continues".to_owned()
    };
    format!("No sign of life from the worker of {who}{since}; {next}.")
}

/// That an agent has not said anything yet, and how long it usually takes.
fn starting_notice(who: &str, since: i64, usual: Option<i64>) -> String {
    let usual = usual.map(|usual| format!("; usually {} s", (usual + 500) / 1000)).unwrap_or_default();
    format!("{who} is starting ({} s{usual}).", since / 1000)
}

/// Why something stopped, without what its title says already.
fn stop_reason(message: &str) -> String {
    let lines = message.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("Stopped at: "));
    let words = lines.collect::<Vec<_>>().join("\n");
    if words.is_empty() { "no reason was given".to_owned() } else { words }
}
