//! Who serves a command that needs a server where none runs? One that it starts itself, and that ends with it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::client::{Client, Target};
use crate::error::CommandError;
use crate::world::World;

/// A server that ends with this command, however that ends: its standard input ends then.
pub(crate) struct OwnServer(Child);

impl Drop for OwnServer {
    fn drop(&mut self) {
        // It ends its agents, and is waited for, so that nothing is left.
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        // Waiting closes its standard input, which would end it as well.
        let _ = self.0.wait();
    }
}

/// A client of the server that runs, or of one that is started now.
pub(crate) fn client(world: &World) -> Result<(Client, Option<OwnServer>), CommandError> {
    let client = Client::open(world)?;
    if matches!(client.target(), Target::Server(_)) {
        return Ok((client, None));
    }
    drop(client);
    let unable = |error: std::io::Error| CommandError::io("a server cannot be started", &error);
    let mut command = Command::new(std::env::current_exe().map_err(unable)?);
    command.args(["up", "--json", "--with-caller"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    if let Some(database) = &world.aim.database {
        command.args(["--database", database]);
    }
    let mut server = OwnServer(command.spawn().map_err(unable)?);
    let mut line = String::new();
    if let Some(out) = server.0.stdout.take() {
        BufReader::new(out).read_line(&mut line).map_err(unable)?;
    }
    if line.trim().is_empty() {
        return Err(CommandError::network("the server that was started ended at once").hint("`maestro up` says why"));
    }
    Ok((Client::open(world)?, Some(server)))
}
