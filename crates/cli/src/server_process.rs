//! Processes beside a command: the server, its database, file and token, and its workers.

pub(crate) mod database;
pub(crate) mod own_server;
pub(crate) mod server_file;
pub(crate) mod server_token;
pub(crate) mod worker_host;
