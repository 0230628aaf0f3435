//! `maestro doctor`: all problems, with file, line and hint.

mod confinement;
mod connections;
mod directory;
mod server;
mod setup;

use std::fmt::Write as _;

use maestro_core::{Problem, ProblemCode, ProblemSeverity, Settings};
use maestro_engine::sleep_inhibitor;
use maestro_skills::{Catalogue, RootOwner, check_text};
use serde_json::json;

use self::connections::ConnectedTool;
use crate::args::DirArgs;
use crate::commands::skills;
use crate::host::world::World;
use crate::host::{agents, catalogue, config, skill_vectors};
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::ExitKind;
use crate::output::screen::{self, clean, clean_path, count, pad};

pub(crate) fn run(args: &DirArgs, world: &World) -> CommandResult {
    let loaded = config::load(world);
    let mut problems = loaded.problems;
    let (mut found, stored) = catalogue::load_and_store(world, &args.dirs, &loaded.settings)?;
    // Elsewhere a failure to store the index is silent; here it is a finding.
    found.problems.extend(stored.err());
    found.problems.extend(skill_vectors::problem(&found, &loaded.settings, world));
    let table = agents::table(world);
    let agents = agents::installed(&table, world);
    problems.extend(table.problems);
    problems.extend(found.problems.iter().cloned());
    let hidden = found.skills.iter().flat_map(|skill| check_text(skill));
    problems.extend(hidden.filter(|problem| problem.code == ProblemCode::HiddenUnicode));
    let connections = connections::probe_all(world);
    problems.extend(connections.iter().filter_map(ConnectedTool::problem));
    problems.extend(old_table(&found, &loaded.settings, world));
    problems.extend(directory::problem(world));
    problems.extend(server::problems(world));
    let sandbox = confinement::probe(world);
    problems.extend(setup::problems(&loaded.settings, &agents, &sandbox, world));
    let inhibits_sleep = agents::program(sleep_inhibitor::PROGRAM, world).is_some();
    let failed = problems.iter().any(|problem| problem.severity == ProblemSeverity::Error);
    let exit = if failed { ExitKind::Failed } else { ExitKind::Ok };
    if world.json {
        let reply = json!({
            "ok": !failed,
            "problems": problems,
            "roots": found.roots,
            "agents": agents,
            "connections": connections,
            "settings": loaded.files,
            "sandbox": sandbox,
            "inhibits_sleep": inhibits_sleep,
        });
        return Ok(CommandOutput::json(&reply)?.with_exit(exit));
    }
    let mut text = String::new();
    section(&mut text, world, "Settings");
    for file in &loaded.files {
        let state = if file.exists { "read" } else { "not found" };
        let _ = writeln!(text, "  {} {}", pad(state, 10), clean(&world.display_path(&file.path)));
    }
    section(&mut text, world, "Agents");
    for agent in &agents {
        let _ = writeln!(text, "  {} {}", pad(&clean(&agent.name), 12), clean(&world.display_path(&agent.path)));
    }
    if agents.is_empty() {
        text.push_str("  no coding agent found on PATH\n");
    }
    if !connections.is_empty() {
        section(&mut text, world, "Connected tools");
    }
    for ConnectedTool { title, file, answer, .. } in &connections {
        let _ = writeln!(text, "  {} {} ({})", pad(title, 12), clean(answer), clean_path(&world.display_path(file)));
    }
    section(&mut text, world, "Sandbox");
    text.push_str(&confinement::lines(&sandbox));
    let program = sleep_inhibitor::PROGRAM;
    let suspend = if inhibits_sleep {
        format!("inhibited by {program} while agents work")
    } else {
        format!("possible while agents work; {program} not found on PATH")
    };
    let _ = writeln!(text, "  {} {suspend}", pad("suspend", 12));
    section(&mut text, world, "Skill directories");
    text.push_str(&roots(&found, world));
    section(&mut text, world, "Problems");
    for problem in &problems {
        text.push_str(&screen::problem(problem, world.paint));
    }
    text.push_str(&summary(&problems));
    Ok(CommandOutput::text(text).with_exit(exit))
}

/// A table of skills in `AGENTS.md` that is not what it would be now.
fn old_table(found: &Catalogue, settings: &Settings, world: &World) -> Option<Problem> {
    let path = world.places.working_dir.join("AGENTS.md");
    let message = "the table of skills is out of date: agents that read it miss some or look for others";
    skills::is_table_old(found, settings, world).then(|| {
        let help = "run `maestro skills sync`";
        Problem::new(ProblemCode::SkillTableOld, ProblemSeverity::Warning, path, message, help)
    })
}

fn section(text: &mut String, world: &World, title: &str) {
    let gap = if text.is_empty() { "" } else { "\n" };
    let _ = writeln!(text, "{gap}{}", world.paint.strong(title));
}

fn roots(found: &Catalogue, world: &World) -> String {
    let mut text = String::new();
    let mut absent = 0;
    for root in &found.roots {
        let state = match (&root.same_as, root.exists) {
            (Some(earlier), _) => format!("the same as {}", world.display_path(earlier)),
            (None, true) => count(root.folders, "skill folder", "skill folders"),
            (None, false) => {
                absent += 1;
                continue;
            }
        };
        let owner = root.owner.as_ref().map(RootOwner::label).unwrap_or_default();
        let path = pad(&clean(&world.display_path(&root.path)), 40);
        let _ = writeln!(text, "  {path} {} {}", pad(&clean(&owner), 11), clean(&state));
    }
    if absent > 0 {
        let _ = writeln!(text, "  {}", world.paint.dim(&format!("and {absent} more that do not exist")));
    }
    text
}

fn summary(problems: &[Problem]) -> String {
    let of = |severity: ProblemSeverity| problems.iter().filter(|problem| problem.severity == severity).count();
    if problems.is_empty() {
        return "  none\n".to_owned();
    }
    format!(
        "\n{}, {}\n",
        count(of(ProblemSeverity::Error), "error", "errors"),
        count(of(ProblemSeverity::Warning), "warning", "warnings")
    )
}
