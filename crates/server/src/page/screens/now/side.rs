//! Sidebar of the first screen, and the first steps.

use maestro_core::agent::DEMO_AGENT;

use super::mapper::{OverviewMapper, is_own, shown};
use super::view::{AgentLine, FirstSteps, PlanLine, SidePanel};
use crate::page::badge::StateBadge;
use crate::page::cards::TITLE;
use crate::page::links;
use crate::page::run_overview::RunOverview;
use crate::page_memory::Surroundings;

/// Before the time at which an agent is started again.
const NEXT_TRY: &str = "; next try at ";
/// How many pieces of work there are before the first steps are over.
const BEGINNING: usize = 3;

impl OverviewMapper<'_> {
    pub(super) fn side(&self, around: &Surroundings) -> SidePanel {
        let mut plans: Vec<PlanLine> = Vec::new();
        for line in self.runs.iter().filter_map(|run| self.plan_line(run)) {
            // The newest run of a plan says how it stands.
            if !plans.iter().any(|known| known.path == line.path) {
                plans.push(line);
            }
        }
        let (working, waiting) = (self.agents_at("working"), self.agents_at("waits"));
        let mut names: Vec<&str> = around.agents.iter().map(String::as_str).collect();
        let others = working.keys().chain(waiting.keys().filter(|name| !working.contains_key(*name)));
        names.extend(others.filter(|name| !around.agents.iter().any(|known| known == *name)));
        let agent = |name: &str| AgentLine {
            name: shown(name, TITLE),
            running: working.get(name).copied().unwrap_or(0),
            waiting: waiting.get(name).copied().unwrap_or(0),
            limit: self.limit_of(name),
        };
        let (skills, broken_skills) = (around.skills, around.broken_skills);
        SidePanel { plans, agents: names.into_iter().map(agent).collect(), skills, broken_skills }
    }

    fn plan_line(&self, run: &RunOverview) -> Option<PlanLine> {
        let plan = run.plan.as_ref()?;
        let (project, id) = (run.record.about.project.as_ref()?, run.record.id.to_string());
        Some(PlanLine {
            path: shown(&plan.path, TITLE),
            href: links::plan(&project.to_string(), &plan.path, &id),
            done: plan.done,
            all: plan.all,
            now: run.summary.state.is_live().then(|| self.run_title(run)).filter(|title| *title != plan.path),
            state: StateBadge::from(run.summary.state),
        })
    }

    /// Until when an agent is not asked again, as its model provider said.
    fn limit_of(&self, agent: &str) -> Option<String> {
        let sessions = self.seen.alive.items.iter().filter(|session| session.agent.as_deref() == Some(agent));
        let mut waits = sessions.filter_map(|session| {
            let restart = self.seen.restarts.get(&session.id)?;
            let since = self.active_at(session);
            let (_, at) = restart.message.rsplit_once(NEXT_TRY).filter(|_| restart.at >= since)?;
            Some(shown(at, TITLE))
        });
        waits.next()
    }

    /// The first steps, until they are done or real work goes on.
    pub(super) fn first_steps(&self, around: &Surroundings) -> Option<FirstSteps> {
        let is_demo = |run: &&maestro_store::RunRecord| first_param(run, "agent") == Some(DEMO_AGENT);
        let runs = &self.seen.first_runs;
        let real = runs.iter().filter(|run| !is_demo(run)).count();
        let sessions =
            self.seen.alive.items.iter().chain(&self.seen.ended_badly.items).chain(&self.seen.ended_well.items);
        let steps = FirstSteps {
            demo: runs.iter().any(|run| is_demo(&run)),
            task: runs
                .iter()
                .any(|run| !is_demo(&run) && first_param(run, "only").is_some_and(|only| !only.is_empty())),
            connected: sessions.clone().any(is_own),
            missing: if around.agents.is_empty() { around.looked_for.clone() } else { Vec::new() },
        };
        let started =
            real + sessions.filter(|session| !is_own(session) && session.agent.as_deref() != Some(DEMO_AGENT)).count();
        let is_over = steps.demo && steps.task && steps.connected;
        (self.seen.project.is_none() && !is_over && started < BEGINNING).then_some(steps)
    }
}

/// What a run was started with.
fn first_param<'r>(run: &'r maestro_store::RunRecord, name: &str) -> Option<&'r str> {
    run.run.frames.first()?.params.get(name)?.as_str()
}
