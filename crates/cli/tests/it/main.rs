//! The `maestro` program as a user meets it: real processes, a home and a project of their own, whole outputs.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod sandbox;

mod completions;
mod config;
mod doctor;
mod errors;
mod examples;
mod help;
mod home;
mod init;
mod kill;
mod plan;
mod prompt;
mod reference;
mod seeds;
mod skills_index;
mod skills_list;
mod skills_prompt;
mod skills_read;
mod skills_roles;
mod skills_select;
mod skills_show;
mod skills_sync;
mod skills_validate;
mod workflow;
mod workspace;
