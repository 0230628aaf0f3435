//! `maestro roles`: roles, and whether the skills each needs exist.

use std::fmt::Write as _;

use maestro_core::closest_word;
use maestro_skills::{Catalogue, RoleSkills, named_roles, role_skills};
use serde_json::{Value as Json, json};

use crate::args::{RolesArgs, RolesCommand};
use crate::host::world::World;
use crate::host::{catalogue, config};
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::{self, clean, count, pad};

pub(crate) fn run(args: &RolesArgs, world: &World) -> CommandResult {
    let settings = config::settings(world)?;
    let catalogue = catalogue::load(world, &[], &settings)?;
    let names = named_roles(&catalogue);
    match &args.command {
        RolesCommand::List => list(&catalogue, &names, world),
        RolesCommand::Check { role: None } => check(&catalogue, &names, world),
        RolesCommand::Check { role: Some(role) } => check(&catalogue, &[require_role(&names, role)?], world),
    }
}

fn require_role(names: &[String], role: &str) -> CommandResult<String> {
    if let Some(name) = names.iter().find(|name| *name == role) {
        return Ok(name.clone());
    }
    let error = CommandError::not_found(format!("unknown role `{role}`"));
    Err(match closest_word::closest(role, names.iter().map(String::as_str)) {
        Some(close) => error.hint(format!("did you mean `{close}`?")),
        None => error.hint("run `maestro roles list` for the list; a skill of type `role` adds one"),
    })
}

fn ids<'a>(role: &RoleSkills<'a>) -> Vec<&'a str> {
    role.resolved.skills.iter().map(|skill| skill.id.as_str()).collect()
}

fn list(catalogue: &Catalogue, names: &[String], world: &World) -> CommandResult {
    let roles: Vec<RoleSkills<'_>> = names.iter().map(|name| role_skills(catalogue, name)).collect();
    if world.json {
        let row = |role: &RoleSkills<'_>| {
            json!({
                "role": role.name,
                "kind": if role.is_session_role { "session" } else { "named" },
                "description": role.own.map(|skill| skill.description.as_str()),
                "skills": ids(role),
            })
        };
        return CommandOutput::json(&roles.iter().map(row).collect::<Vec<_>>());
    }
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for role in &roles {
        let name = world.paint.strong(&pad(&clean(&role.name), width));
        let _ = writeln!(text, "{name}  {}", clean(&ids(role).join(", ")));
        if let Some(own) = role.own {
            let _ = writeln!(text, "{}  {}", pad("", width), world.paint.dim(&clean(&own.description)));
        }
    }
    Ok(CommandOutput::text(text))
}

fn check(catalogue: &Catalogue, names: &[String], world: &World) -> CommandResult {
    let roles: Vec<RoleSkills<'_>> = names.iter().map(|name| role_skills(catalogue, name)).collect();
    let is_ready = |role: &RoleSkills<'_>| role.missing.is_empty() && role.resolved.problems.is_empty();
    let exit = if roles.iter().all(is_ready) { ExitKind::Ok } else { ExitKind::Failed };
    if world.json {
        let row = |role: &RoleSkills<'_>| -> Json {
            json!({
                "role": role.name,
                "ok": is_ready(role),
                "skills": ids(role),
                "missing": role.missing,
                "problems": role.resolved.problems,
            })
        };
        let rows: Vec<Json> = roles.iter().map(row).collect();
        return Ok(CommandOutput::json(&json!({ "ok": exit == ExitKind::Ok, "roles": rows }))?.with_exit(exit));
    }
    let (mut text, mut notes) = (String::new(), String::new());
    for role in &roles {
        let (mark, state) = if is_ready(role) {
            let skills = count(role.resolved.skills.len(), "skill", "skills");
            (world.paint.good("ready"), format!("{skills}: {}", ids(role).join(", ")))
        } else {
            let what = if role.missing.is_empty() { "dependencies are missing" } else { "skills are missing" };
            let names = if role.missing.is_empty() { String::new() } else { format!(": {}", role.missing.join(", ")) };
            (world.paint.error("not ready"), format!("{what}{names}"))
        };
        let _ = writeln!(text, "{} {mark}: {}", world.paint.strong(&clean(&role.name)), clean(&state));
        for problem in &role.resolved.problems {
            notes.push_str(&screen::problem(problem, world.note_paint));
        }
    }
    Ok(CommandOutput::text(text).with_notes(notes).with_exit(exit))
}
