//! Roles, and the skills that each needs.
//!
//! Two roles are there always: the worker's and the orchestrator's, which sessions play. Every other role has a name
//! and comes with a skill: a skill of type `role` makes the role of its id, and a skill that is assigned to a word
//! other than `worker`, `orchestrator` and `all` makes the role of that word. A role needs the base skill, its own
//! skill, the skills that are assigned to it or to all, and everything that these depend on.

use std::collections::BTreeSet;

use maestro_core::SessionRole;

use crate::catalogue::Catalogue;
use crate::catalogue_entry::CatalogueEntry;
use crate::dependencies::{BASE_SKILL, ResolvedSkills, resolve_dependencies, role_skill};
use crate::skill::{Skill, SkillType};

/// What a role needs.
#[derive(Debug)]
pub struct RoleSkills<'a> {
    /// The role.
    pub name: String,
    /// Whether it is one of the two that sessions play.
    pub is_session_role: bool,
    /// The skill that explains the role, where there is one.
    pub own: Option<&'a Skill>,
    /// Its skills, dependencies first, and what is wrong with those.
    pub resolved: ResolvedSkills<'a>,
    /// Skills without which the role is nothing, and which are not there.
    pub missing: Vec<String>,
}

/// Every role: the two that sessions play, then the others by name.
pub fn named_roles(catalogue: &Catalogue) -> Vec<String> {
    let session_skills = SessionRole::ALL.map(role_skill);
    let mut named = BTreeSet::new();
    for skill in catalogue.skills.iter().map(CatalogueEntry::skill) {
        if skill.kind == SkillType::Role && !session_skills.contains(&skill.id.as_str()) && !is_helper(skill) {
            named.insert(skill.id.as_str().to_owned());
        }
        named.extend(skill.assign_to.iter().filter(|word| is_named(word)).cloned());
    }
    SessionRole::ALL.iter().map(ToString::to_string).chain(named).collect()
}

fn is_named(word: &str) -> bool {
    !word.is_empty() && word != "all" && word.parse::<SessionRole>().is_err()
}

/// A skill of type `role` that is assigned to other roles helps these, and makes none of its own.
fn is_helper(skill: &Skill) -> bool {
    !skill.assign_to.is_empty() && !skill.assign_to.iter().any(|word| word == skill.id.as_str())
}

/// The skills that a role needs.
pub fn role_skills<'a>(catalogue: &'a Catalogue, name: &str) -> RoleSkills<'a> {
    let session_role = name.parse::<SessionRole>().ok();
    let own_id = session_role.map_or(name, |role| role_skill(role));
    let own = catalogue.get(own_id);
    let mut missing = Vec::new();
    let mut need = |id: &str, skill: Option<&'a Skill>| {
        if skill.is_none() {
            missing.push(id.to_owned());
        }
        skill
    };
    let base = need(BASE_SKILL, catalogue.get(BASE_SKILL));
    // A role that only assignments name has no skill of its own, and needs none.
    let own = if session_role.is_some() { need(own_id, own) } else { own };
    let is_assigned = |skill: &&Skill| skill.assign_to.iter().any(|word| word == "all" || word == name);
    let mut assigned: Vec<&Skill> = catalogue.skills.iter().map(CatalogueEntry::skill).filter(is_assigned).collect();
    assigned.sort_by(|a, b| a.id.cmp(&b.id));
    let resolved = resolve_dependencies(catalogue, base.into_iter().chain(own).chain(assigned));
    RoleSkills { name: name.to_owned(), is_session_role: session_role.is_some(), own, resolved, missing }
}
