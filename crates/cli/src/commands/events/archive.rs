//! Events of an archive that `maestro db prune` wrote.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use maestro_api::events::EventBody;

use crate::args::EventsArgs;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// The longest line that is read.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The events that are asked for, oldest first: the first ones after an event, or the last ones there are.
pub(super) fn read(file: &Path, args: &EventsArgs, most: usize, world: &World) -> CommandResult<Vec<EventBody>> {
    let path = world.places.working_dir.join(file);
    let failed = |error: &std::io::Error| {
        CommandError::io(format!("cannot read {}", path.display()), error)
            .hint("pass a file that `maestro db prune` wrote")
    };
    let mut reader = BufReader::new(File::open(&path).map_err(|error| failed(&error))?);
    let (mut events, mut line, mut seen) = (VecDeque::new(), Vec::new(), args.since.unwrap_or(0));
    for number in 1.. {
        line.clear();
        let length = (&mut reader).take(MOST_BYTES).read_until(b'\n', &mut line).map_err(|error| failed(&error))?;
        if length == 0 || (args.since.is_some() && events.len() >= most) {
            break;
        }
        let event: EventBody = serde_json::from_slice(&line).map_err(|error| {
            CommandError::invalid(format!("{}:{number} is no event: {error}", path.display()))
                .hint("pass a file that `maestro db prune` wrote")
        })?;
        // After a crash, an event may be there twice.
        if event.seq <= seen || !is_wanted(&event, args, world) {
            continue;
        }
        seen = event.seq;
        events.push_back(event);
        if events.len() > most {
            events.pop_front();
        }
    }
    Ok(events.into())
}

fn is_wanted(event: &EventBody, args: &EventsArgs, world: &World) -> bool {
    let same = |wanted: Option<&String>, found: Option<&String>| wanted.is_none() || wanted == found;
    same(world.aim.project.as_ref(), event.project.as_ref())
        && same(args.task.as_ref(), event.task.as_ref())
        && same(args.session.as_ref(), event.session.as_ref())
}
