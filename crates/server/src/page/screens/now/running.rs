//! Rows for what runs: workflows with their phases, and sessions without one.

use std::collections::BTreeMap;

use maestro_core::agent::DEMO_AGENT;
use maestro_core::id::{EntityId as _, ProjectId};
use maestro_core::session::SessionStatus;
use maestro_core::{Project, Session, WorkState};
use serde_json::Value as Json;

use super::mapper::{OverviewMapper, is_own, run_of, shown};
use super::view::{ProjectGroup, RunningRow};
use crate::page::badge::StateBadge;
use crate::page::cards::{TITLE, worker_name};
use crate::page::links;
use crate::page::run_overview::RunOverview;
use crate::page::text::spent_of;

/// From this many running rows on, they are shown as counts by project, until a project is selected.
const MANY: usize = 12;
/// How many skills are named.
const SKILLS: usize = 2;

/// What runs: in rows, or counted by project where it is too much, and what a person does in a terminal.
pub(super) struct RunningView {
    pub(super) rows: Vec<RunningRow>,
    pub(super) groups: Vec<ProjectGroup>,
    pub(super) own: Vec<RunningRow>,
    /// How many run in all.
    pub(super) total: usize,
}

impl OverviewMapper<'_> {
    pub(super) fn running(&self) -> RunningView {
        let live = self.runs.iter().filter(|run| run.summary.state.is_live());
        let alone = self.seen.alive.items.iter().filter(|session| run_of(session).is_none());
        let (own, others): (Vec<&Session>, Vec<&Session>) = alone.partition(|session| is_own(session));
        let runs = live.map(|run| (run.record.about.project.clone(), self.run_row(run)));
        let sessions = others.into_iter().map(|session| (Some(session.project.clone()), self.session_row(session)));
        let mut rows: Vec<(Option<ProjectId>, RunningRow)> = runs.chain(sessions).collect();
        rows.sort_by_key(|(_, row)| row.since);
        let unread = usize::try_from(self.seen.alive.total).unwrap_or(0).saturating_sub(self.seen.alive.items.len());
        let is_grouped = rows.len() > MANY && self.seen.project.is_none();
        let groups = if is_grouped { self.groups(&rows) } else { Vec::new() };
        let is_counted =
            |project: &ProjectId| is_grouped && self.seen.projects.iter().any(|known| known.id == *project);
        RunningView {
            total: rows.len() + unread,
            // What belongs to no known project is counted in no group.
            rows: rows
                .into_iter()
                .filter(|(project, _)| !project.as_ref().is_some_and(is_counted))
                .map(|(_, row)| row)
                .collect(),
            groups,
            own: own.into_iter().map(|session| self.session_row(session)).collect(),
        }
    }

    fn run_row(&self, run: &RunOverview) -> RunningRow {
        let id = run.record.id.to_string();
        let sessions = self.sessions_of(run);
        let current = sessions.last().copied();
        let words = current.and_then(|session| self.words(&session.id));
        let (skills, more_skills) = current.map(named_skills).unwrap_or_default();
        let is_working = run.summary.state == WorkState::Working;
        let strip = run.strip();
        let plan = run.plan.as_ref();
        let live = sessions.iter().filter_map(|session| self.seen.totals.get(&session.id));
        let live: f64 = live.map(|totals| totals.spent().cost_usd).sum();
        let spent = self.seen.costs.get(&id).map_or(0.0, |cost| cost.cost_usd) + live;
        RunningRow {
            href: links::run(&id, current.map(|session| session.id.as_str())),
            state: StateBadge::from(run.summary.state),
            title: self.run_title(run),
            project: self.project(run.record.about.project.as_ref()),
            round: run.round(),
            step: run.step_title(),
            strip,
            who: current.map_or_else(|| self.performer(run), worker_name),
            words,
            skills,
            more_skills,
            done: plan.map(|plan| plan.done),
            all: plan.map(|plan| plan.all).filter(|all| *all > 0),
            since: run.record.created_at,
            active_at: current.filter(|_| is_working).map(|session| self.active_at(session)),
            money: spent_of(spent, run.cost_limit()),
            steer: Some(format!("/page/runs/{id}")),
            paused: run.summary.state == WorkState::Paused,
            session: current.map(|session| session.id.to_string()),
            told: current.and_then(|session| self.last_prompt(&session.id, i64::MIN)),
            id: format!("run-{id}"),
        }
    }

    /// Who performs a run that has no session: the agent that it was started with, otherwise its workflow.
    fn performer(&self, run: &RunOverview) -> String {
        let workflow = &run.record.about.workflow;
        let name = run.agent().unwrap_or(workflow);
        if *workflow == self.run_title(run) { "workflow".to_owned() } else { shown(name, TITLE) }
    }

    fn session_row(&self, session: &Session) -> RunningRow {
        let state = self.session_state(session);
        let (skills, more_skills) = named_skills(session);
        let spent = self.seen.totals.get(&session.id).map_or(0.0, |totals| totals.spent().cost_usd);
        RunningRow {
            id: format!("run-{}", session.id),
            href: format!("/sessions/{}", session.id),
            title: self.title(session),
            project: self.project(Some(&session.project)),
            strip: Vec::new(),
            round: None,
            step: None,
            who: worker_name(session),
            words: self.words(&session.id),
            skills,
            more_skills,
            done: None,
            all: None,
            since: session.started_at,
            active_at: (state.tone == "working").then(|| self.active_at(session)),
            money: spent_of(spent, None),
            steer: (!is_own(session)).then(|| format!("/page/sessions/{}", session.id)),
            paused: session.status == SessionStatus::Paused,
            session: Some(session.id.to_string()),
            told: self.last_prompt(&session.id, i64::MIN),
            state,
        }
    }

    /// The running rows by project.
    fn groups(&self, rows: &[(Option<ProjectId>, RunningRow)]) -> Vec<ProjectGroup> {
        let mut tones: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
        for (project, row) in rows {
            let counts = tones.entry(project.as_ref().map_or("", |id| id.as_str())).or_default();
            match row.state.tone {
                "working" => counts.0 += 1,
                "waits" => counts.1 += 1,
                _ => counts.2 += 1,
            }
        }
        let group = |project: &Project| {
            let (working, waiting, resting) = *tones.get(project.id.as_str())?;
            let (id, name) = (format!("group-{}", project.id), shown(&project.name, TITLE));
            Some(ProjectGroup { id, project: project.id.to_string(), name, working, waiting, resting })
        };
        self.seen.projects.iter().filter_map(group).collect()
    }

    /// How many sessions of each agent stand so.
    pub(super) fn agents_at(&self, tone: &str) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        let standing = self.seen.alive.items.iter().filter(|session| self.session_state(session).tone == tone);
        for agent in standing.filter_map(|session| session.agent.as_deref()).filter(|agent| *agent != DEMO_AGENT) {
            *counts.entry(agent).or_default() += 1;
        }
        counts
    }
}

/// The first skills of a session, and how many more it has.
fn named_skills(session: &Session) -> (Vec<String>, usize) {
    let listed = |key: &str| session.metadata.get(key).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    let found = ["loadedSkills", "skills"].into_iter().map(listed).find(|found| !found.is_empty());
    let names: Vec<&str> = found.unwrap_or_default().iter().filter_map(Json::as_str).collect();
    (names.iter().take(SKILLS).map(|name| shown(name, TITLE)).collect(), names.len().saturating_sub(SKILLS))
}
