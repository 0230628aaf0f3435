//! Processes beside a command: the server, its database and file, and its workers.

pub(crate) mod database;
pub(crate) mod server_file;
pub(crate) mod worker_host;
