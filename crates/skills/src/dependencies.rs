//! Dependency order of skills: which ones a skill needs, and in which order they are read.
//!
//! Dependencies come before dependents, through any number of steps. What is missing or goes in a circle is
//! reported and left out; it never stops the rest.

use std::collections::HashSet;

use maestro_core::{Problem, ProblemCode, ProblemSeverity, SessionRole};

use crate::catalogue::Catalogue;
use crate::catalogue_entry::CatalogueEntry;
use crate::skill::{Skill, SkillId};

/// Skills in the order an agent should read them, and what could not be resolved.
#[derive(Debug, Default)]
pub struct ResolvedSkills<'a> {
    /// Dependencies before dependents, each once.
    pub skills: Vec<&'a Skill>,
    /// Missing dependencies and circles.
    pub problems: Vec<Problem>,
}

/// The skill that every session has.
pub(crate) const BASE_SKILL: &str = "maestro-cli";

pub(crate) fn role_skill(role: SessionRole) -> &'static str {
    match role {
        SessionRole::Worker => "maestro-worker",
        SessionRole::Orchestrator => "maestro-orchestrator",
    }
}

/// The skills of a role: the base skill, the role's own, then every other that is assigned to the role.
pub fn skills_for_role(catalogue: &Catalogue, role: SessionRole) -> ResolvedSkills<'_> {
    let mut assigned: Vec<&Skill> =
        catalogue.skills.iter().map(CatalogueEntry::skill).filter(|skill| is_assigned(skill, role)).collect();
    assigned.sort_by(|a, b| a.id.cmp(&b.id));
    let first = [BASE_SKILL, role_skill(role)].into_iter().filter_map(|id| catalogue.get(id));
    resolve_dependencies(catalogue, first.chain(assigned))
}

fn is_assigned(skill: &Skill, role: SessionRole) -> bool {
    skill.assign_to.iter().any(|to| to == "all" || to == role.as_str())
}

/// The wanted skills and all they need.
pub fn resolve_dependencies<'a>(
    catalogue: &'a Catalogue,
    wanted: impl IntoIterator<Item = &'a Skill>,
) -> ResolvedSkills<'a> {
    let mut walk = DependencyWalk { catalogue, done: HashSet::new(), resolved: ResolvedSkills::default() };
    for skill in wanted {
        walk.visit(skill);
    }
    walk.resolved
}

/// Everything wrong with the dependencies of a catalogue.
pub(crate) fn check(catalogue: &Catalogue) -> Vec<Problem> {
    let dependents =
        catalogue.skills.iter().filter(|skill| skill.encoded().has_dependencies()).map(CatalogueEntry::skill);
    resolve_dependencies(catalogue, dependents).problems
}

struct DependencyWalk<'a> {
    catalogue: &'a Catalogue,
    done: HashSet<&'a SkillId>,
    resolved: ResolvedSkills<'a>,
}

/// A skill being visited, and which of its dependencies is next.
struct WalkFrame<'a> {
    skill: &'a Skill,
    next: usize,
}

impl<'a> DependencyWalk<'a> {
    /// Depth first with a stack of its own: a long chain of dependencies must not exhaust the thread's.
    fn visit(&mut self, skill: &'a Skill) {
        if self.done.contains(&skill.id) {
            return;
        }
        let mut path = vec![WalkFrame { skill, next: 0 }];
        while let Some(frame) = path.last_mut() {
            let skill = frame.skill;
            let Some(name) = skill.dependencies.get(frame.next) else {
                path.pop();
                if self.done.insert(&skill.id) {
                    self.resolved.skills.push(skill);
                }
                continue;
            };
            frame.next += 1;
            let Some(needed) = self.catalogue.get(name).or_else(|| self.catalogue.by_directory(name)) else {
                self.resolved.problems.push(missing_problem(skill, name));
                continue;
            };
            if self.done.contains(&needed.id) {
                continue;
            }
            match path.iter().position(|frame| frame.skill.id == needed.id) {
                Some(start) => {
                    let circle: Vec<&str> = path.iter().skip(start).map(|frame| frame.skill.id.as_str()).collect();
                    self.resolved.problems.push(cycle_problem(skill, &circle, needed.id.as_str()));
                }
                None => path.push(WalkFrame { skill: needed, next: 0 }),
            }
        }
    }
}

fn missing_problem(skill: &Skill, name: &str) -> Problem {
    Problem::new(
        ProblemCode::DependencyMissing,
        ProblemSeverity::Warning,
        skill.path.join(&skill.file),
        format!("Missing dependency: {} requires {name}", skill.display_name),
        format!("install `{name}`, or remove it from the dependencies"),
    )
}

fn cycle_problem(skill: &Skill, circle: &[&str], again: &str) -> Problem {
    Problem::new(
        ProblemCode::DependencyCycle,
        ProblemSeverity::Warning,
        skill.path.join(&skill.file),
        format!("Dependency cycle: {} → {again}", circle.join(" → ")),
        "remove one of these dependencies",
    )
}
