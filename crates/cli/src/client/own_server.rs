//! Server that a command starts for itself where none runs, and that ends with it.

use std::fs::File;

use maestro_engine::user_program::{CompanionProgram, ProgramError, UserProgram};

use crate::client::{CliClient, ClientTarget};
use crate::host::files;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::server_process::server_file::ServerFile;

/// How often a command that lost its server looks for another, and starts one where there is none.
pub(crate) const MOST: u32 = 10;

/// A server that ends with this command, however that ends: its standard input closes then.
pub(crate) struct OwnServer {
    companion: CompanionProgram,
}

impl OwnServer {
    fn start(world: &World) -> CommandResult<Self> {
        let unable = |error: ProgramError| CommandError::io("cannot start a server", &error);
        let database = world.aim.database.iter().flat_map(|database| ["--database", database]);
        let server = UserProgram::own().map_err(unable)?.args(["up", "--json", "--with-caller"]).args(database);
        let server = server.companion().map_err(unable)?;
        if server.first_line().is_empty() {
            return Err(
                CommandError::network("the server stopped right after its start").hint("run `maestro up` to see why")
            );
        }
        Ok(Self { companion: server })
    }
}

/// A client, and the server that was started for it, if there was none.
pub(crate) struct ServedClient {
    pub(crate) client: CliClient,
    pub(crate) own: Option<OwnServer>,
}

impl ServedClient {
    /// A client of the server that runs, or of one that is started now.
    pub(crate) fn open(world: &World) -> CommandResult<Self> {
        if let Some(client) = running(world) {
            return Ok(Self { client, own: None });
        }
        let unable = |error: std::io::Error| CommandError::io("cannot start a server", &error);
        // One command at a time: a later one finds the server of the first, and a new database is created once.
        files::own_directory(&world.maestro_home).map_err(unable)?;
        let turn = File::create(world.maestro_home.join("server.turn")).map_err(unable)?;
        turn.lock().map_err(unable)?;
        let client = CliClient::open(world)?;
        if is_server(&client) {
            return Ok(Self { client, own: None });
        }
        drop(client);
        let own = OwnServer::start(world)?;
        Ok(Self { client: CliClient::open(world)?, own: Some(own) })
    }

    /// Whether the server stays when commands end.
    pub(crate) fn is_lasting(&self, world: &World) -> bool {
        self.own.is_none() && !ServerFile::read(&world.maestro_home).is_some_and(|file| file.with_caller)
    }

    /// Leaves the server that was started for this command to its work; it ends when that is done.
    pub(crate) fn detach(self) {
        if let Some(own) = self.own {
            own.companion.detach();
        }
    }
}

/// A client of the server that runs, if one does; no database is opened to find out.
pub(crate) fn running(world: &World) -> Option<CliClient> {
    // Where a server cannot be asked, the command that needs it says why.
    CliClient::connect_running(world).ok().flatten().filter(is_server)
}

fn is_server(client: &CliClient) -> bool {
    matches!(client.target(), ClientTarget::Server(_))
}
