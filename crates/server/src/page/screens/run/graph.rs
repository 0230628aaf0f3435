//! Graph of the workflow that a run goes through: taken ways, visits, and the step it is at.

use std::collections::BTreeSet;

use maestro_core::workflow::StepId;
use maestro_core::workflow::draw::{GraphMarks, draw_linked_svg};

use super::mapper::RunMapper;
use crate::page::run_overview::RunOverview;

/// The built-in loop, whose steps the spine shows better.
const LOOP: [&str; 2] = ["plan-loop", "plan-task"];

impl RunMapper<'_> {
    /// Whether it has a graph worth showing.
    pub(super) fn has_graph(&self) -> bool {
        let definition = self.overview.as_ref().and_then(RunOverview::definition);
        definition.is_some_and(|definition| !LOOP.contains(&definition.main.name.as_str()))
    }

    /// The graph as a picture.
    pub(super) fn graph(&self) -> Option<String> {
        let run = self.overview.as_ref().filter(|_| self.has_graph())?;
        let workflow = &run.definition()?.main;
        let frame = run.record.run.frames.first()?;
        let ways = self.history.ways.get(&workflow.name).cloned().unwrap_or_default();
        let parse = |id: &str| StepId::parse(id).ok();
        let taken: BTreeSet<(StepId, StepId)> =
            ways.iter().filter_map(|(from, to)| Some((parse(from)?, parse(to)?))).collect();
        let selected = self.visit.and_then(|visit| self.history.visits.get(visit)).and_then(|it| parse(&it.step));
        let marks = GraphMarks {
            current: frame.position.as_ref().filter(|_| !self.is_over()).map(|position| position.step.clone()),
            visited: frame.visits.clone(),
            taken: Some(taken),
            selected,
        };
        let path = self.subject.path();
        let address = |step: &StepId| {
            let visit = self.history.visits.iter().rposition(|visit| visit.step == step.as_str());
            visit.map_or_else(|| format!("{path}?tab=graph"), |visit| format!("{path}?tab=graph&step={}", visit + 1))
        };
        Some(draw_linked_svg(workflow, &marks, &address))
    }
}
