//! What a person reads before a loop begins: its page, and what is set up or missing.

use maestro_api::tokens;

use crate::args::WorkArgs;
use crate::client::{CliClient, ClientTarget};
use crate::commands::{init, proposed_checks};
use crate::host::config;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::screen::clean;

/// Where the page is: on a terminal a link that signs in, once. Output that is stored gets no secret.
pub(super) fn page_line(client: &CliClient, world: &World) -> String {
    let ClientTarget::Server(url) = client.target() else { return String::new() };
    let link = if world.terminals.stdout { client.call(tokens::sign_in_link()).ok() } else { None };
    match link {
        Some(link) => format!("Page: {} (works once; `maestro open` makes another)\n", clean(&link.url)),
        None => format!("Page: {} (sign in with `maestro open`)\n", clean(url)),
    }
}

/// What a person should know before it begins.
pub(super) fn notes(work: &WorkArgs, world: &World) -> CommandResult<Vec<String>> {
    let mut notes = Vec::new();
    if !work.in_place {
        // In place, what we write would get into the first task's commit.
        notes.extend(init::set_up_first(world)?);
    }
    let proposal = proposed_checks::propose(&config::settings(world)?, world)?;
    let settings = config::settings(world)?;
    if settings.verify.value.is_empty() && proposal.is_some() {
        notes.push("note: no checks configured, so only the review decides\n".to_owned());
    } else if settings.verify.value.is_empty() {
        notes.push(
            "note: no checks configured, so only the review decides; set `verify` in .maestro/config.toml\n".to_owned(),
        );
    }
    notes.extend(proposal);
    if !settings.skills_enabled.value && work.skills.is_empty() && !work.no_skills {
        let way = if config::project_file(world).is_file() {
            "set `skills_enabled = true` in .maestro/config.toml"
        } else {
            "run `maestro init`"
        };
        notes.push(format!("note: skills are off here; {way} to turn them on\n"));
    }
    Ok(notes)
}
