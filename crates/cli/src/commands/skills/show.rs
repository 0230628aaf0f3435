//! `maestro skills show`: everything known about one skill.

use std::fmt::Write as _;

use maestro_core::Problem;
use maestro_skills::{Catalogue, ShadowedSkill, Skill, check_text, resolve_dependencies};
use serde_json::json;

use super::find;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{self, clean, pad};

pub(super) fn run(catalogue: &Catalogue, name: &str, world: &World) -> CommandResult {
    let skill = find(catalogue, name)?;
    let texts = check_text(skill);
    let problems: Vec<&Problem> = catalogue.problems_of(&skill.path).chain(&texts).collect();
    let shadows: Vec<&ShadowedSkill> = catalogue.shadowed.iter().filter(|other| other.skill.id == skill.id).collect();
    let needs: Vec<&Skill> =
        resolve_dependencies(catalogue, [skill]).skills.into_iter().filter(|needed| needed.id != skill.id).collect();
    if world.json {
        let hidden: Vec<_> = shadows.iter().map(|other| other.skill.path.to_string_lossy()).collect();
        let needs: Vec<_> = needs.iter().map(|needed| needed.id.as_str()).collect();
        return CommandOutput::json(&json!({
            "skill": skill, "problems": problems, "shadows": hidden, "reads_first": needs,
        }));
    }
    let mut text = format!("{}\n{}\n\n", world.paint.skill(&clean(skill.id.as_str())), clean(&skill.description));
    let mut row = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "  {} {}", world.paint.dim(&pad(name, 13)), clean(value));
        }
    };
    facts(skill, world, &mut row);
    row("needs", &needs.iter().map(|needed| needed.id.as_str()).collect::<Vec<_>>().join(", "));
    for other in shadows {
        let same = if other.same_files { " (the same files)" } else { "" };
        row("shadows", &format!("{}{same}", world.display_path(&other.skill.path)));
    }
    for command in &skill.commands {
        row("command", &format!("{}: {}", command.name, command.description));
    }
    if !problems.is_empty() {
        text.push('\n');
    }
    for problem in problems {
        text.push_str(&screen::problem(problem, world.paint));
    }
    Ok(CommandOutput::text(text))
}

/// Two descriptions of the same thing, unless they are equal.
fn join_distinct(word: &str, other: &str) -> String {
    if word == other { word.to_owned() } else { format!("{word} ({other})") }
}

fn facts(skill: &Skill, world: &World, row: &mut impl FnMut(&str, &str)) {
    let invocation = match (skill.invocation.by_model, skill.invocation.by_user) {
        (true, true) => "",
        (false, true) => "only when a person requests it by name",
        (true, false) => "only by a model",
        (false, false) => "only when a plan or workflow names it",
    };
    if skill.display_name != skill.id.as_str() {
        row("called", &skill.display_name);
    }
    row("in", &world.display_path(&skill.path));
    row("from", &join_distinct(&skill.source.to_string(), &skill.location.to_string()));
    row("format", &join_distinct(&skill.format.to_string(), &skill.file));
    row("type", &format!("{}, version {}", skill.kind, skill.version));
    row("when", skill.when_to_use.as_deref().unwrap_or_default());
    row("triggers", &skill.triggers.join(", "));
    row("tags", &skill.tags.join(", "));
    row("roles", &skill.assign_to.join(", "));
    row("can", &skill.capabilities.join(", "));
    row("tools", &skill.allowed_tools.join(", "));
    row("invoked", invocation);
    row("arguments", skill.argument_hint.as_deref().unwrap_or_default());
    row("compatible", skill.compatibility.as_deref().unwrap_or_default());
    row("author", skill.author.as_deref().unwrap_or_default());
    row("licence", skill.license.as_deref().unwrap_or_default());
    row("workflow", skill.workflow.as_deref().unwrap_or_default());
}
