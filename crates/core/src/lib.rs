//! The vocabulary of Maestro and its pure parts.
//!
//! Nothing here touches the file system, reads a clock, starts a process or awaits anything; what a
//! function needs of the world it is handed. So the core cannot fail on I/O and is tested as plain data.

pub mod agent;
pub mod closest_word;
pub mod connect;
pub mod event;
pub mod excerpt;
pub mod handoff;
pub mod hidden_chars;
pub mod hook;
pub mod id;
pub mod landing;
pub mod line_diff;
pub mod manifest;
pub mod message;
pub mod milestone_plan;
pub mod name;
pub mod network_host;
pub mod notice;
pub mod person_notice;
pub mod plan;
pub mod problem;
pub mod project;
pub mod queue;
pub mod report;
pub mod role;
pub mod rollup;
pub mod secret_mask;
pub mod session;
pub mod settings;
pub mod short_id;
pub mod step_session;
pub mod task;
pub mod task_text;
mod toml_table;
pub mod utc_time;
pub mod waiting;
mod word_enum;
pub mod work_state;
pub mod workflow;
pub mod yaml;

pub use event::{Event, RunId, SkillSelection, StepKind};
pub use problem::{Problem, ProblemCode, ProblemSeverity};
pub use project::Project;
pub use role::SessionRole;
pub use session::Session;
pub use settings::Settings;
pub use task::Task;
pub use work_state::WorkState;
