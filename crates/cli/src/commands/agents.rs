//! `maestro agents`: known coding agents, which are installed, and how each is started.

pub(crate) mod check;
mod details;
mod json;

use std::fmt::Write as _;

use maestro_core::agent::{CodingAgent, LaunchChoice};
use maestro_core::settings::{Setting, SettingOrigin as SetBy};
use maestro_core::{Problem, ProblemCode, ProblemSeverity};
use maestro_engine::agents::probe::ProbeAnswer;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::args::AgentsArgs;
use crate::host::agents::{self, AgentTable};
use crate::host::config;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::{self, clean, clean_path, fit, pad};

/// Minimum width of the column of reasons; below that, the terminal breaks the lines.
const NARROWEST: usize = 24;

/// An agent, and its state here.
struct AgentStatus<'a> {
    agent: &'a CodingAgent,
    state: InstallState,
    /// Whether it is the default.
    is_default: bool,
    /// Its answer, if it was asked.
    answer: Option<ProbeAnswer>,
}

/// Whether an agent is installed.
enum InstallState {
    Installed(LaunchChoice),
    Missing,
    /// It has no program of its own; the user passes one.
    Unnamed,
}

impl AgentStatus<'_> {
    fn chosen(&self) -> Option<&LaunchChoice> {
        match &self.state {
            InstallState::Installed(chosen) => Some(chosen),
            InstallState::Missing | InstallState::Unnamed => None,
        }
    }

    /// Whether it was asked and cannot work.
    fn fails(&self) -> bool {
        !matches!(self.answer, None | Some(ProbeAnswer::Answers { .. }))
    }

    /// Its program, as a person would write it.
    fn program(&self, world: &World) -> String {
        match &self.state {
            InstallState::Installed(_) if agents::is_own(self.agent) => "this program".to_owned(),
            InstallState::Installed(chosen) => clean_path(&world.display_path(&chosen.program)).into_owned(),
            InstallState::Missing => "not installed".to_owned(),
            InstallState::Unnamed => "your own program".to_owned(),
        }
    }

    fn why(&self) -> String {
        match &self.state {
            InstallState::Installed(chosen) => clean(&chosen.why).into_owned(),
            InstallState::Missing => format!("not found: {}", clean(&self.agent.programs().join(", "))),
            InstallState::Unnamed => clean(&self.agent.explain_preference()).into_owned(),
        }
    }
}

/// The default agent, and where it comes from.
struct DefaultAgent {
    name: String,
    because: String,
}

pub(crate) fn run(args: &AgentsArgs, world: &World) -> CommandResult {
    let loaded = config::load(world);
    let mut table = agents::table(world);
    let broken = loaded.problems.into_iter().filter(|problem| problem.severity == ProblemSeverity::Error);
    table.problems.extend(broken.chain(unknown_default(&loaded.settings.agent, &table)));
    let usual = default_agent(&loaded.settings.agent, &table, world);
    let asked = match &args.name {
        Some(name) => vec![find_agent(name, &table, world)?],
        None => table.agents.all().iter().collect(),
    };
    let mut known: Vec<AgentStatus<'_>> = asked.into_iter().map(|agent| status(agent, usual.as_ref(), world)).collect();
    if args.check {
        check::probe_installed(&mut known, world)?;
    }
    let problems = &table.problems;
    let absent =
        args.check && args.name.is_some() && known.iter().any(|known| matches!(known.state, InstallState::Missing));
    let failed = absent
        || known.iter().any(AgentStatus::fails)
        || problems.iter().any(|problem| problem.severity == ProblemSeverity::Error);
    let exit = if failed { ExitKind::Failed } else { ExitKind::Ok };
    if world.json {
        let mut told: Vec<_> = known.iter().map(|known| json::of(known, &table)).collect();
        let reply = match (&args.name, told.pop()) {
            (Some(_), Some(mut one)) => {
                one["problems"] = json!(problems);
                one
            }
            (_, last) => {
                told.extend(last);
                json!({ "agents": told, "problems": problems })
            }
        };
        return Ok(CommandOutput::json(&reply)?.with_exit(exit));
    }
    let text = match (&args.name, known.first()) {
        (Some(_), Some(one)) => details::agent_details(one, &table, usual.as_ref(), world),
        _ => list(&known, usual.as_ref(), world),
    };
    let notes: String = problems.iter().map(|problem| screen::problem(problem, world.note_paint)).collect();
    Ok(CommandOutput::text(text).with_notes(notes).with_exit(exit))
}

fn status<'a>(agent: &'a CodingAgent, usual: Option<&DefaultAgent>, world: &World) -> AgentStatus<'a> {
    let state = match agents::choose_driver(agent, world) {
        Some(chosen) => InstallState::Installed(chosen),
        None if agent.programs().is_empty() => InstallState::Unnamed,
        None => InstallState::Missing,
    };
    AgentStatus { agent, state, is_default: usual.is_some_and(|usual| usual.name == agent.name), answer: None }
}

fn find_agent<'a>(name: &str, table: &'a AgentTable, world: &World) -> CommandResult<&'a CodingAgent> {
    table.agents.find(name).map_err(|unknown| {
        let hint = match &unknown.close {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("available: {}", unknown.known.join(", ")),
        };
        let own = world.display_path(&agents::user_file(world));
        CommandError::not_found(unknown.to_string()).hint(hint).hint(format!("define your own agents in {own}"))
    })
}

/// The agent of the setting, else the first installed one.
fn default_agent(setting: &Setting<String>, table: &AgentTable, world: &World) -> Option<DefaultAgent> {
    if !setting.value.is_empty() {
        let because = match &setting.origin {
            SetBy::File { path, .. } => format!("`agent` in {}", world.display_path(path)),
            SetBy::Variable(name) => format!("${name}"),
            SetBy::Flag | SetBy::Default => setting.origin.to_string(),
        };
        return Some(DefaultAgent { name: setting.value.clone(), because: format!("set by {because}") });
    }
    let mut others = table.agents.all().iter().filter(|agent| !agents::is_own(agent));
    let first = others.find(|agent| agents::choose_driver(agent, world).is_some())?;
    Some(DefaultAgent { name: first.name.clone(), because: "the first one installed".to_owned() })
}

/// A setting with the name of an unknown agent.
fn unknown_default(setting: &Setting<String>, table: &AgentTable) -> Option<Problem> {
    let unknown = table.agents.find(&setting.value).err().filter(|_| !setting.value.is_empty())?;
    let help = match unknown.close {
        Some(close) => format!("did you mean `{close}`?"),
        None => "run `maestro agents` for the list".to_owned(),
    };
    let message = format!("unknown agent `{}` in the setting `agent`", unknown.name);
    let problem = |path: &str| {
        Problem::new(ProblemCode::ConfigInvalid, ProblemSeverity::Error, path, message.clone(), help.clone())
    };
    Some(match &setting.origin {
        SetBy::File { path, line, .. } => problem(&path.to_string_lossy()).at(*line, 1),
        SetBy::Variable(name) => problem(&format!("${name}")),
        SetBy::Flag | SetBy::Default => problem("--set"),
    })
}

fn list(known: &[AgentStatus<'_>], usual: Option<&DefaultAgent>, world: &World) -> String {
    let rows: Vec<[String; 4]> = known
        .iter()
        .map(|known| {
            let agent = known.agent;
            let driver = match &known.state {
                InstallState::Installed(chosen) => chosen.driver.to_string(),
                InstallState::Missing => "–".to_owned(),
                InstallState::Unnamed => {
                    agent.drivers().next().map(|(driver, _)| driver.to_string()).unwrap_or_default()
                }
            };
            [agent.name.clone(), clean(&agent.title).into_owned(), driver, known.program(world)]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].width()).max().unwrap_or_default();
    let widths = [0, 1, 2, 3].map(width);
    // The mark, and two blanks after every column.
    let used = 2 + widths.iter().map(|width| width + 2).sum::<usize>();
    let room = world.width.map(|width| width.saturating_sub(used)).filter(|room| *room >= NARROWEST);
    let mut text = String::new();
    for (row, known) in rows.iter().zip(known) {
        let [name, title, driver, program] = [0, 1, 2, 3].map(|column| pad(&row[column], widths[column]));
        let mark = if known.is_default { "*" } else { " " };
        let program = if known.chosen().is_some() { program } else { world.paint.dim(&program) };
        let last = match &known.answer {
            None => {
                let why = known.why();
                world.paint.dim(&room.map_or(why.clone(), |room| fit(&why, room).into_owned()))
            }
            // The reason why it does not answer is shown in full.
            Some(answer) if known.fails() => world.paint.error(&clean(&answer.to_string())),
            Some(answer) => world.paint.good(&clean(&answer.to_string())),
        };
        let _ = writeln!(text, "{mark} {}  {title}  {driver}  {program}  {last}", world.paint.strong(&name));
    }
    match usual {
        Some(usual) => {
            let _ = writeln!(text, "\n* default agent: {}", clean(&usual.because));
        }
        None => text.push_str("\nNo coding agent found. `demo` is part of Maestro and needs no model.\n"),
    }
    text
}
