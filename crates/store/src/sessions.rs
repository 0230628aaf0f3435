//! Changes and queries of sessions.

mod create;
mod delete;
mod list;
mod update;

pub use create::CreateSession;
pub use delete::DeleteSession;
pub use list::{LivenessFilter, SessionById, SessionFilter, SessionList};
pub use update::{AddSessionEvent, AddTimelineEntry, UpdateSession};
