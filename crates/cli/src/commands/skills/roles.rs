//! `maestro skills roles`: the skills of each role's sessions, dependencies first.

use std::fmt::Write as _;

use maestro_core::SessionRole;
use maestro_skills::{Catalogue, ResolvedSkills, Skill, skills_for_role};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{self, clean, pad};

/// A role's skill for programs. The id is the name shown to people, as it always was; the real one is beside it.
#[derive(Debug, Serialize)]
struct RoleRow<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    #[serde(rename = "type")]
    kind: maestro_skills::SkillType,
    version: &'a str,
    #[serde(rename = "skillId")]
    skill_id: &'a str,
}

impl<'a> From<&'a Skill> for RoleRow<'a> {
    fn from(skill: &'a Skill) -> Self {
        Self {
            id: &skill.display_name,
            name: &skill.display_name,
            description: &skill.description,
            kind: skill.kind,
            version: &skill.version,
            skill_id: skill.id.as_str(),
        }
    }
}

pub(super) fn run(catalogue: &Catalogue, role: Option<&str>, world: &World) -> CommandResult {
    let roles = match role {
        None => SessionRole::ALL.to_vec(),
        Some(name) => vec![name.parse::<SessionRole>().map_err(|_| {
            CommandError::invalid(format!("unknown role `{name}`"))
                .hint("use worker or orchestrator; without a role both are listed")
        })?],
    };
    let resolved: Vec<(SessionRole, ResolvedSkills<'_>)> =
        roles.iter().map(|&role| (role, skills_for_role(catalogue, role))).collect();
    if world.json {
        let rows = |resolved: &ResolvedSkills<'_>| {
            json!(resolved.skills.iter().map(|&s| RoleRow::from(s)).collect::<Vec<_>>())
        };
        if let (Some(_), [(_, only)]) = (role, resolved.as_slice()) {
            return CommandOutput::json(&rows(only));
        }
        let by_role: Map<String, Json> =
            resolved.iter().map(|(role, resolved)| (role.to_string(), rows(resolved))).collect();
        return CommandOutput::json(&by_role);
    }
    let mut text = String::new();
    let mut notes = String::new();
    for (role, resolved) in &resolved {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}{}", world.paint.strong(role.as_str()));
        for skill in &resolved.skills {
            let name = world.paint.skill(&pad(&clean(skill.id.as_str()), 24));
            let _ = writeln!(text, "  {name} {}", clean(&skill.description));
        }
        for problem in &resolved.problems {
            notes.push_str(&screen::problem(problem, world.note_paint));
        }
    }
    Ok(CommandOutput::text(text).with_notes(notes))
}
