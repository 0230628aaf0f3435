//! This machine as the engine sees it: settings, skills, agents, checks, files of the user.

pub(crate) mod agents;
pub(crate) mod catalogue;
pub(crate) mod cli_host;
pub(crate) mod config;
pub(crate) mod connections;
pub(crate) mod consent_questions;
pub(crate) mod event_journal;
pub(crate) mod files;
pub(crate) mod git_gap;
pub(crate) mod notices;
pub(crate) mod packs;
pub(crate) mod plans;
mod project_skills;
pub(crate) mod runtime;
pub(crate) mod sandbox_settings;
pub(crate) mod selection_lines;
pub(crate) mod server_token;
pub(crate) mod skill_habits;
pub(crate) mod skill_index;
pub(crate) mod skill_vectors;
pub(crate) mod workflow_errors;
pub(crate) mod world;
