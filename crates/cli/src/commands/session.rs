//! `maestro session`: sessions from the command line, one file a verb.

mod names;
mod suggest_name;

use crate::args::{SessionArgs, SessionCommand};
use crate::error::CommandError;
use crate::reply::Reply;
use crate::world::World;

pub(crate) fn run(args: &SessionArgs, world: &World) -> Result<Reply, CommandError> {
    match &args.command {
        SessionCommand::SuggestName(args) => suggest_name::run(args, world),
    }
}
