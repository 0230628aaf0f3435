//! Whether a server runs, what is at work and what waits, as lines of the overview.

use maestro_api::projects;
use maestro_api::sessions::{self, SessionBody, SessionQuery};
use maestro_api::waiting::WaitingBody;
use maestro_core::short_id::ShortIds;

use crate::client::CliClient;
use crate::client::waiting::{ServerGlance, answers};
use crate::commands::branches::SessionBranch;
use crate::commands::loops;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::screen::{clean, fit};

const NOTHING_WAITS: &str = "nothing waits for you";

/// How many columns a question gets.
const QUESTION: usize = 100;

/// How much of what waits is listed.
const MOST_WAITING: usize = 3;

/// Whether a server runs, what is at work, and what waits for the user, a line each.
pub(super) struct ServerLines {
    pub(super) server: String,
    pub(super) working: Vec<String>,
    pub(super) waiting: Vec<String>,
    /// What to do about the latest run that waits.
    pub(super) next: Option<(String, &'static str)>,
    /// The plans that runs work on or wait with.
    pub(super) plans: Vec<String>,
}

impl ServerLines {
    fn new(server: String, waiting: String) -> Self {
        Self { server, working: Vec::new(), waiting: vec![waiting], next: None, plans: Vec::new() }
    }
}

/// Asks the server, or the database where none runs.
pub(super) fn server_lines(world: &World) -> ServerLines {
    let not_running = || "not running".to_owned();
    let (server, waiting) = match ServerGlance::at(world) {
        ServerGlance::Running { url, waiting } => (clean(&url).into_owned(), waiting),
        ServerGlance::Failed { url, why } => {
            let server = url.map_or_else(|| "unknown".to_owned(), |url| clean(&url).into_owned());
            let why = world.paint.warning(&format!("cannot say what waits: {}", clean(&why)));
            return ServerLines::new(server, why);
        }
        // Without a server only results can wait: questions end with the agent that asked.
        ServerGlance::Stored => (not_running(), Vec::new()),
        ServerGlance::Nothing => return ServerLines::new(not_running(), NOTHING_WAITS.to_owned()),
    };
    let lines = CliClient::open(world).and_then(|client| {
        let mut lines = waiting_lines(&waiting, &client.short_ids());
        let runs = loops::RunsGlance::read(&client, world)?;
        lines.extend(runs.waiting);
        lines.extend(result_lines(&client, world)?);
        if lines.is_empty() {
            lines.push(NOTHING_WAITS.to_owned());
        }
        let (mut working, next, plans) = (runs.working, runs.next, runs.plans);
        working.extend(working_sessions(&client, world)?);
        Ok(ServerLines { server: server.clone(), working, waiting: lines, next, plans })
    });
    lines.unwrap_or_else(|error| {
        let why = world.paint.error(&format!("cannot say what waits: {}", clean(error.message())));
        let doctor = ("maestro doctor".to_owned(), "show problems and how to fix them");
        ServerLines { next: Some(doctor), ..ServerLines::new(server, why) }
    })
}

/// The sessions of this project that have not ended and belong to no run, each with the command that shows it.
fn working_sessions(client: &CliClient, world: &World) -> CommandResult<Vec<String>> {
    let directory = world.places.project.to_string_lossy();
    let projects = client.list(projects::list())?;
    let Some(project) = projects.into_iter().find(|project| project.working_dir == directory) else {
        return Ok(Vec::new());
    };
    let alive = SessionQuery { project_id: Some(project.id), ..SessionQuery::alive() };
    let mut sessions = client.list(sessions::list(&alive))?;
    sessions.retain(|session| !session.metadata.contains_key("run"));
    let short = client.short_ids();
    let line = |session: &SessionBody| {
        let (state, name) = (session.state.label(), fit(&clean(&session.name), QUESTION).into_owned());
        format!("{state}: {name} (`maestro show {}`)", clean(short.shorten(&session.id)))
    };
    let mut lines: Vec<String> = sessions.iter().take(MOST_WAITING).map(line).collect();
    if sessions.len() > MOST_WAITING {
        lines.push(format!("and {} more (`maestro session list`)", sessions.len() - MOST_WAITING));
    }
    Ok(lines)
}

/// What ended sessions left, each with the commands for it.
fn result_lines(client: &CliClient, world: &World) -> CommandResult<Vec<String>> {
    let works = SessionBranch::all(client, world)?;
    let short = client.short_ids();
    let shown = works.iter().take(MOST_WAITING).map(|work| work.line(client, &short));
    let mut lines: Vec<String> = shown.collect::<CommandResult<_>>()?;
    if works.len() > MOST_WAITING {
        lines.push(format!("and {} more (`maestro session list --all`)", works.len() - MOST_WAITING));
    }
    Ok(lines)
}

/// The first of what waits, each with the command that answers.
fn waiting_lines(waiting: &[WaitingBody], short: &ShortIds) -> Vec<String> {
    let line = |item: &WaitingBody| {
        let text = clean(item.text.lines().next().unwrap_or_default().trim_end_matches(':')).into_owned();
        let asks = format!("{}: {}: {}", item.kind.label(), clean(&item.name), fit(&text, QUESTION));
        format!("{asks} (`maestro session answer {} {}`)", clean(short.shorten(&item.id)), answers(item))
    };
    let mut lines: Vec<String> = waiting.iter().take(MOST_WAITING).map(line).collect();
    if waiting.len() > MOST_WAITING {
        lines.push(format!("and {} more (`maestro session answer`)", waiting.len() - MOST_WAITING));
    }
    lines
}
