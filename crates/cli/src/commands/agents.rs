//! `maestro agents`: known coding agents, which are installed, and how each is started.

mod check;
mod json;
mod shown;

use std::fmt::Write as _;

use maestro_core::agent::{Agent, Chosen};
use maestro_core::settings::{Origin as SetBy, Setting};
use maestro_core::{Code, Problem, Severity};
use maestro_engine::agents::probe::Answer;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::args::AgentsArgs;
use crate::host::agents::{self, Table};
use crate::host::config;
use crate::host::world::World;
use crate::output::error::{CommandError, Exit};
use crate::output::reply::Reply;
use crate::output::screen::{self, clean, clean_path, fit, pad};

/// Minimum width of the column of reasons; below that, the terminal breaks the lines.
const NARROWEST: usize = 24;

/// An agent, and its state here.
struct Known<'a> {
    agent: &'a Agent,
    state: State,
    /// Whether it is the default.
    is_default: bool,
    /// Its answer, if it was asked.
    answer: Option<Answer>,
}

/// Whether an agent is installed.
enum State {
    Installed(Chosen),
    Missing,
    /// It has no program of its own; the user passes one.
    Unnamed,
}

impl Known<'_> {
    fn chosen(&self) -> Option<&Chosen> {
        match &self.state {
            State::Installed(chosen) => Some(chosen),
            State::Missing | State::Unnamed => None,
        }
    }

    /// Whether it was asked and cannot work.
    fn fails(&self) -> bool {
        !matches!(self.answer, None | Some(Answer::Answers { .. }))
    }

    /// Its program, as a person would write it.
    fn program(&self, world: &World) -> String {
        match &self.state {
            State::Installed(_) if agents::is_own(self.agent) => "this program".to_owned(),
            State::Installed(chosen) => clean_path(&world.short(&chosen.program)).into_owned(),
            State::Missing => "not installed".to_owned(),
            State::Unnamed => "your own program".to_owned(),
        }
    }

    fn why(&self) -> String {
        match &self.state {
            State::Installed(chosen) => clean(&chosen.why).into_owned(),
            State::Missing => format!("not found: {}", clean(&self.agent.programs().join(", "))),
            State::Unnamed => clean(&self.agent.why_first()).into_owned(),
        }
    }
}

/// The default agent, and where it comes from.
struct Usual {
    name: String,
    because: String,
}

pub(crate) fn run(args: &AgentsArgs, world: &World) -> Result<Reply, CommandError> {
    let loaded = config::load(world);
    let mut table = agents::table(world);
    let broken = loaded.problems.into_iter().filter(|problem| problem.severity == Severity::Error);
    table.problems.extend(broken.chain(unknown_default(&loaded.settings.agent, &table)));
    let usual = usual(&loaded.settings.agent, &table, world);
    let asked = match &args.name {
        Some(name) => vec![named(name, &table, world)?],
        None => table.agents.all().iter().collect(),
    };
    let mut known: Vec<Known<'_>> = asked.into_iter().map(|agent| look(agent, usual.as_ref(), world)).collect();
    if args.check {
        check::ask(&mut known, world)?;
    }
    let problems = &table.problems;
    let absent = args.check && args.name.is_some() && known.iter().any(|known| matches!(known.state, State::Missing));
    let failed =
        absent || known.iter().any(Known::fails) || problems.iter().any(|problem| problem.severity == Severity::Error);
    let exit = if failed { Exit::Failed } else { Exit::Ok };
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
        return Ok(Reply::json(&reply)?.ending(exit));
    }
    let text = match (&args.name, known.first()) {
        (Some(_), Some(one)) => shown::one(one, &table, usual.as_ref(), world),
        _ => list(&known, usual.as_ref(), world),
    };
    let notes: String = problems.iter().map(|problem| screen::problem(problem, world.note_paint)).collect();
    Ok(Reply::text(text).with_notes(notes).ending(exit))
}

fn look<'a>(agent: &'a Agent, usual: Option<&Usual>, world: &World) -> Known<'a> {
    let state = match agents::chosen(agent, world) {
        Some(chosen) => State::Installed(chosen),
        None if agent.programs().is_empty() => State::Unnamed,
        None => State::Missing,
    };
    Known { agent, state, is_default: usual.is_some_and(|usual| usual.name == agent.name), answer: None }
}

fn named<'a>(name: &str, table: &'a Table, world: &World) -> Result<&'a Agent, CommandError> {
    table.agents.find(name).map_err(|unknown| {
        let hint = match &unknown.close {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("available: {}", unknown.known.join(", ")),
        };
        let own = world.short(&agents::user_file(world));
        CommandError::not_found(unknown.to_string()).hint(hint).hint(format!("define your own agents in {own}"))
    })
}

/// The agent of the setting, else the first installed one.
fn usual(setting: &Setting<String>, table: &Table, world: &World) -> Option<Usual> {
    if !setting.value.is_empty() {
        let because = match &setting.origin {
            SetBy::File { path, .. } => format!("`agent` in {}", world.short(path)),
            SetBy::Variable(name) => format!("${name}"),
            SetBy::Flag | SetBy::Default => setting.origin.to_string(),
        };
        return Some(Usual { name: setting.value.clone(), because: format!("set by {because}") });
    }
    let mut others = table.agents.all().iter().filter(|agent| !agents::is_own(agent));
    let first = others.find(|agent| agents::chosen(agent, world).is_some())?;
    Some(Usual { name: first.name.clone(), because: "the first one installed".to_owned() })
}

/// A setting with the name of an unknown agent.
fn unknown_default(setting: &Setting<String>, table: &Table) -> Option<Problem> {
    let unknown = table.agents.find(&setting.value).err().filter(|_| !setting.value.is_empty())?;
    let help = match unknown.close {
        Some(close) => format!("did you mean `{close}`?"),
        None => "run `maestro agents` for the list".to_owned(),
    };
    let message = format!("unknown agent `{}` in the setting `agent`", unknown.name);
    let problem = |path: &str| Problem::new(Code::ConfigInvalid, Severity::Error, path, message.clone(), help.clone());
    Some(match &setting.origin {
        SetBy::File { path, line, .. } => problem(&path.to_string_lossy()).at(*line, 1),
        SetBy::Variable(name) => problem(&format!("${name}")),
        SetBy::Flag | SetBy::Default => problem("--set"),
    })
}

fn list(known: &[Known<'_>], usual: Option<&Usual>, world: &World) -> String {
    let rows: Vec<[String; 4]> = known
        .iter()
        .map(|known| {
            let agent = known.agent;
            let driver = match &known.state {
                State::Installed(chosen) => chosen.driver.to_string(),
                State::Missing => "–".to_owned(),
                State::Unnamed => agent.ways().next().map(|(driver, _)| driver.to_string()).unwrap_or_default(),
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
