//! One loop in detail, for `maestro show`, and the sessions that work for it.

use std::fmt::Write as _;
use std::path::Path;

use maestro_api::sessions::{self, SessionBody, SessionQuery};
use maestro_engine::branches::RunBranch;
use serde_json::{Value as Json, json};

use super::listing::PlanLoop;
use super::{ending, status};
use crate::client::CliClient;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{clean, count, fit, pad};

/// How many columns the name of a session gets.
const NAME: usize = 60;

/// The sessions of a loop's runs that were asked for, the oldest first.
pub(crate) fn sessions_of(client: &CliClient, one: &PlanLoop, query: &SessionQuery) -> CommandResult<Vec<SessionBody>> {
    let ids = one.ids();
    let is_ours = |session: &SessionBody| {
        let run = session.metadata.get("run").and_then(Json::as_str);
        run.is_some_and(|run| ids.iter().any(|known| known == run))
    };
    let mut found = client.list(sessions::list(query))?;
    found.retain(is_ours);
    found.sort_by_key(|session| session.started_at);
    Ok(found)
}

/// Shows a loop: what it is for, how far it is, its sessions, its branch, and what to do next.
pub(crate) fn show_loop(client: &CliClient, id: &str, world: &World) -> CommandResult {
    let one = PlanLoop::find(client, id)?;
    let sessions = sessions_of(client, &one, &SessionQuery::default())?;
    let branch = RunBranch::of_run(Path::new(&one.lead.workspace), one.id()).ok();
    if world.json {
        let runs = status::runs_json(&one, client)?;
        return CommandOutput::json(&json!({ "runs": runs, "sessions": sessions, "left": branch }));
    }
    let short = client.short_ids();
    let mut text = status::loop_text(&one, client, &short, world)?;
    for session in &sessions {
        let (id, state) = (clean(short.shorten(&session.id)), pad(session.state.label(), 9));
        let _ = writeln!(text, "  {id}  {state}  {}", fit(&clean(&session.name), NAME));
    }
    if let Some(branch) = branch {
        let commits = branch.commits().unwrap_or_default();
        let _ = writeln!(text, "  {}: {}", clean(&branch.branch), count(commits.len(), "commit", "commits"));
        for commit in commits {
            let _ = writeln!(text, "    {}", clean(&commit));
        }
        if !one.is_active() {
            let id = clean(short.shorten(one.id()));
            let words = ending::commands(&id).map(|command| format!("`{command}`"));
            let _ = writeln!(text, "  next: {}, `maestro revise {id} \"…\"`", words.join(", "));
        }
    }
    Ok(CommandOutput::text(text))
}
