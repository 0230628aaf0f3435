//! `maestro` without a command: what is here, and what to do next. Starts and writes nothing, and is fast.

mod server_lines;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use maestro_core::plan::select_task;
use maestro_core::{ProblemSeverity, Settings};
use maestro_skills::{Catalogue, SkillPack, SkillRoot, search_order};
use serde::Serialize;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use self::server_lines::{ServerLines, server_lines};
use crate::client::named_by_variable;
use crate::client::waiting::ServerGlance;
use crate::commands::import;
use crate::host::agents::{self, InstalledAgent};
use crate::host::config;
use crate::host::git_gap::{GitGap, no_project_here};
use crate::host::plans::{self, PlanFile};
use crate::host::skill_index;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{clean, count, fit, pad};

/// How long the overview waits for the count of skills.
const PATIENCE: Duration = Duration::from_millis(140);

/// How many plans are listed.
const MOST_PLANS: usize = 3;

/// Numbers of the skills.
#[derive(Debug, Serialize)]
struct SkillFigures {
    skills: usize,
    not_loaded: usize,
    warnings: usize,
    shadowed: usize,
}

pub(crate) fn run(world: &World) -> CommandResult {
    let loaded = config::load(world);
    let figures = count_skills(world, &loaded.settings);
    let table = agents::table(world);
    let agents = agents::installed(&table, world);
    let plans = glance_at_plans(&world.places.project);
    let problems = loaded.problems.iter().chain(&table.problems);
    let config_errors = problems.filter(|problem| problem.severity == ProblemSeverity::Error).count();
    let has_config = loaded.files.iter().any(|file| file.exists && file.path.starts_with(&world.places.project));
    if world.json {
        let plans: Vec<_> = plans
            .iter()
            .map(|PlanGlance { path, plan }| match plan {
                Ok(plan) => {
                    let next = select_task(&plan.plan);
                    json!({ "path": path.to_string_lossy(), "done": plan.done(), "total": plan.total(), "next": next })
                }
                Err(error) => json!({ "path": path.to_string_lossy(), "error": error.message() }),
            })
            .collect();
        let (server, waiting) = match ServerGlance::at(world) {
            ServerGlance::Running { url, waiting } => (Some(url), Some(waiting)),
            // An empty list would say that nothing waits.
            ServerGlance::Failed { url, .. } => (url, None),
            ServerGlance::Stored | ServerGlance::Nothing => (None, Some(Vec::new())),
        };
        return CommandOutput::json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "project": world.places.project.to_string_lossy(),
            "agents": agents,
            "skills": figures,
            "plans": plans,
            "server": server,
            "waiting": waiting,
            "config_errors": config_errors,
        }));
    }
    if !has_config && plans.is_empty() && is_first_run(world) {
        return Ok(CommandOutput::text(first_lines(world)));
    }
    let mut text = format!(
        "{} {} in {}\n\n",
        world.paint.strong("Maestro"),
        env!("CARGO_PKG_VERSION"),
        clean(&world.display_path(&world.places.project))
    );
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "  {} {value}", world.paint.dim(&pad(name, 8)));
    };
    row("agents", &agents_line(&agents));
    row("skills", &skills_line(figures.as_ref(), world));
    let plan_lines = plan_lines(&plans, world);
    for (index, line) in plan_lines.iter().enumerate() {
        row(if index == 0 { "plans" } else { "" }, line);
    }
    let no_project = no_project_here(world);
    match (no_project, GitGap::at_a_glance(world)) {
        (Some(place), _) => row("project", &format!("none: this is {place}; change to a project's directory first")),
        (None, Some(gap)) => row("git", &format!("{}: {}", gap.message(), gap.hint())),
        (None, None) => {}
    }
    let ServerLines { server, working, waiting, next: waiting_next, plans: taken } = server_lines(world);
    row("server", &server);
    for (name, lines) in [("working", &working), ("waits", &waiting)] {
        for (index, line) in lines.iter().enumerate() {
            row(if index == 0 { name } else { "" }, line);
        }
    }
    if config_errors > 0 {
        row("config", &world.paint.error(&count(config_errors, "error", "errors")));
    }
    text.push_str("\nNext\n");
    let has_problems = config_errors > 0 || figures.as_ref().is_some_and(|figures| figures.not_loaded > 0);
    let mut next = if no_project.is_some() {
        usual_commands()
    } else {
        let has_agent = !agents.is_empty();
        let setup = if has_config {
            SetupState::Done
        } else if import::has_sources(world) {
            SetupState::Importable
        } else {
            SetupState::Missing
        };
        let glance = ProjectGlance { plans: &plans, taken: &taken, has_problems, setup, has_agent };
        next_commands(&glance, world)
    };
    if let Some(first) = waiting_next.filter(|first| !next.contains(first)) {
        next.insert(0, first);
    }
    let width = next.iter().map(|(command, _)| command.width()).max().unwrap_or_default();
    for (command, why) in next {
        let _ = writeln!(text, "  {}  {why}", world.paint.strong(&pad(&command, width)));
    }
    Ok(CommandOutput::text(text))
}

/// A plan at a glance, or why it cannot be read.
struct PlanGlance {
    path: PathBuf,
    plan: CommandResult<PlanFile>,
}

/// The project's plans. Files without a task are none; an unreadable one may be.
fn glance_at_plans(project: &Path) -> Vec<PlanGlance> {
    let glances = plans::candidates(project).into_iter().map(|path| {
        let plan = PlanFile::glance(&path);
        PlanGlance { path, plan }
    });
    glances.filter(|glance| glance.plan.as_ref().map_or(true, |plan| !plan.plan.tasks.is_empty())).collect()
}

/// Counts in the background and stops waiting before a person would notice; the process ends anyway.
fn count_skills(world: &World, settings: &Settings) -> Option<SkillFigures> {
    let (settings, places) = (settings.clone(), world.places.clone());
    let memory = skill_index::load_store(world, &settings);
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut roots = search_order(&settings, &places);
        let mut not_copied = None;
        if settings.skills_builtin.value {
            let pack = SkillPack::builtin();
            let directory = pack.directory(&settings.skills_sync_dir.value);
            if directory.is_dir() {
                roots.push(SkillRoot::builtin(directory));
            } else {
                // Not copied yet, and this command writes nothing.
                not_copied = Some(pack);
            }
        }
        let (validation, progress) = (settings.skills_validation.value, AtomicUsize::new(0));
        let catalogue = match &memory {
            // What could be kept is dropped: this command writes nothing.
            Some(memory) => Catalogue::load_with(memory, &roots, &places, validation, &progress).0,
            None => Catalogue::load(&roots, &places, validation, &progress),
        };
        let warnings = catalogue.problems.iter().filter(|problem| problem.severity == ProblemSeverity::Warning).count();
        let names = not_copied.iter().flat_map(SkillPack::skill_names);
        let unseen = names.filter(|name| catalogue.get(name).is_none());
        // The receiver is gone if it took too long.
        let _ = send.send(SkillFigures {
            skills: catalogue.skills.len() + unseen.count(),
            not_loaded: catalogue.not_loaded(),
            warnings,
            shadowed: catalogue.shadowed.len(),
        });
    });
    receive.recv_timeout(PATIENCE).ok()
}

fn agents_line(agents: &[InstalledAgent]) -> String {
    if agents.is_empty() {
        return "no coding agent found".to_owned();
    }
    agents.iter().map(|agent| clean(&agent.name)).collect::<Vec<_>>().join(", ")
}

fn skills_line(figures: Option<&SkillFigures>, world: &World) -> String {
    let Some(figures) = figures else {
        return "still counting; `maestro skills list` shows them".to_owned();
    };
    let mut parts = vec![figures.skills.to_string()];
    if figures.not_loaded > 0 {
        parts.push(world.paint.error(&format!("{} not loaded", figures.not_loaded)));
    }
    if figures.warnings > 0 {
        parts.push(world.paint.warning(&count(figures.warnings, "warning", "warnings")));
    }
    if figures.shadowed > 0 {
        parts.push(format!("{} shadowed", figures.shadowed));
    }
    parts.join(" · ")
}

fn plan_lines(plans: &[PlanGlance], world: &World) -> Vec<String> {
    if plans.is_empty() {
        return vec!["none found".to_owned()];
    }
    let mut lines: Vec<String> = plans
        .iter()
        .take(MOST_PLANS)
        .map(|PlanGlance { path, plan }| {
            let path = world.display_path(path);
            let plan = match plan {
                Ok(plan) => plan,
                Err(error) => return format!("{}  {}", clean(&path), world.paint.warning(&clean(error.message()))),
            };
            let next = match select_task(&plan.plan) {
                Some(task) => format!("next: {} (line {})", fit(&clean(&task.label), 60), task.line_number),
                None => "no open task".to_owned(),
            };
            format!("{}  {} of {} done, {next}", clean(&path), plan.done(), plan.total())
        })
        .collect();
    if plans.len() > MOST_PLANS {
        lines.push(format!("and {} more", plans.len() - MOST_PLANS));
    }
    lines
}

/// Whether nothing of Maestro's is here yet, neither for this user nor in this project, and no server is named.
fn is_first_run(world: &World) -> bool {
    let has_files = [&world.maestro_home, &world.user_config].into_iter().any(|path| path.exists());
    !has_files && named_by_variable(world).is_none()
}

/// What someone reads who has never used it: what it is, and the two commands to begin with.
fn first_lines(world: &World) -> String {
    let init = if no_project_here(world).is_some() { "cd PROJECT && maestro init" } else { "maestro init" };
    let command = |name: &str| world.paint.strong(&pad(name, init.len()));
    format!(
        "Maestro {} gives coding agents the right skills, has them do tasks, and accepts work that is checked and reviewed.\n  \
         {}  watch it work; needs no model, changes nothing of yours\n  \
         {}  look at this project, propose what fits it, and set it up after one yes\n",
        env!("CARGO_PKG_VERSION"),
        command("maestro demo"),
        command(init)
    )
}

/// Whether the project has settings of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SetupState {
    /// It has.
    Done,
    /// It has none, and something of an earlier system is here that was not imported yet.
    Importable,
    /// It has none.
    Missing,
}

/// What is known of the project, for what to do next.
struct ProjectGlance<'a> {
    plans: &'a [PlanGlance],
    /// The plans that runs work on or wait with.
    taken: &'a [String],
    has_problems: bool,
    setup: SetupState,
    has_agent: bool,
}

/// What to do next, the most important first.
fn next_commands(glance: &ProjectGlance<'_>, world: &World) -> Vec<(String, &'static str)> {
    let mut next = Vec::new();
    if glance.has_problems {
        next.push(("maestro doctor".to_owned(), "show problems and how to fix them"));
    }
    let is_open = |glance: &&PlanGlance| glance.plan.as_ref().is_ok_and(|plan| select_task(&plan.plan).is_some());
    let project = &world.places.project;
    let is_free = |glance_of: &&PlanGlance| !glance.taken.iter().any(|plan| project.join(plan) == glance_of.path);
    if let Some(plan) = glance.plans.iter().filter(is_open).find(is_free) {
        let path = world.display_path(&plan.path);
        next.push(if glance.has_agent {
            (format!("maestro loop {}", clean(&path)), "do, check, review and commit its tasks; `--dry-run` first")
        } else {
            (
                format!("maestro loop {} --dry-run", clean(&path)),
                "its next task, with skills and prompt; an agent does it",
            )
        });
    }
    if glance.setup == SetupState::Importable {
        next.push(("maestro import --dry-run".to_owned(), "what an earlier system left here and can come along"));
    }
    if glance.setup != SetupState::Done {
        next.push(("maestro init".to_owned(), "look at this project, and set it up after one yes"));
    }
    if glance.has_agent {
        next.push(("maestro do \"TASK\"".to_owned(), "have an agent do one task"));
    } else {
        next.push(("maestro agents".to_owned(), "which coding agents Maestro can start, once one is installed"));
        next.push((
            "maestro do \"TASK\" --agent demo".to_owned(),
            "without a model: tasks like \"Add a file hi.txt that says hi\"",
        ));
    }
    if !glance.plans.iter().any(|plan| plan.plan.is_ok()) {
        next.push(("maestro plan new \"GOAL\"".to_owned(), "write a plan, for `maestro loop`"));
    }
    next.extend(usual_commands());
    next
}

/// What can be done anywhere.
fn usual_commands() -> Vec<(String, &'static str)> {
    let commands = [
        ("maestro demo", "watch it work; needs no model, changes nothing of yours"),
        ("maestro skills try \"TASK\"", "which skills a task would get, and why"),
        ("maestro --help", "all commands"),
    ];
    commands.map(|(command, why)| (command.to_owned(), why)).into()
}
