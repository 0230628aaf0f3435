//! The contract of the HTTP API: its requests, replies, events and errors, and the one client for them.
//!
//! The server answers with these types, its description is derived from them, and the commands and the MCP server read
//! them. A module is one resource: its types, then its requests as values that an [`ApiClient`] sends, over a connection
//! or within the process.

mod change_watch;
mod client;
mod connection;
mod error;
mod retry;
mod socket_path;
mod stream;
mod transport;

#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub mod events;
pub mod fields;
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub mod handoffs;
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub mod ids;
pub mod list_items;
pub mod live;
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub mod messages;
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub mod projects;
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub mod queue;
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub mod reports;
mod request;
mod request_ids;
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub mod runs;
pub mod schemas;
pub mod server;
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub mod sessions;
pub mod skill_trials;
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub mod skills;
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub mod spawns;
pub mod task_counts;
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub mod tasks;
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub mod tokens;
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub mod waiting;
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub mod workflows;

pub use change_watch::ChangeWatch;
pub use client::{ApiClient, ReceivedReply, UnreadAnswer};
pub use connection::HttpConnection;
pub use error::{ClientError, ErrorBody, ErrorCause};
pub use request::{ApiRequest, UntypedRequest, in_path};
pub use retry::RetryPolicy;
pub use socket_path::ShortPath;
pub use stream::LiveStream;
pub use transport::{HttpRequest, HttpResponse, RouterTransport, SendFuture, Transport};

/// The header by which a command on the user's socket says that a run's programs call on this connection. They have the
/// run's rights from then on; it never gives more.
pub const RUN_HEADER: &str = "x-maestro-run";
