//! Processes beside a command: the server, its database, file and token, and its workers.

pub(crate) mod database;
pub(crate) mod found;
pub(crate) mod own_server;
pub(crate) mod token;
pub(crate) mod workers;
