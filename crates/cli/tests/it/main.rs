//! The `maestro` program as a user meets it: real processes, a home and a project of their own, whole outputs.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod sandbox;

mod builtin_skills;
mod builtin_skills_commands;
mod completions;
mod config;
mod db;
mod doctor;
mod errors;
mod examples;
mod execute;
mod handoff;
mod help;
mod home;
mod hooks;
mod init;
mod kill;
mod manifest;
mod network;
mod plan;
mod projects;
mod prompt;
mod queue;
mod reference;
mod rights;
mod roles;
mod seeds;
mod served;
mod served_runs;
mod server;
mod server_skills;
mod server_token;
mod session_names;
mod sessions;
mod skills_index;
mod skills_list;
mod skills_prompt;
mod skills_read;
mod skills_roles;
mod skills_select;
mod skills_show;
mod skills_sync;
mod skills_validate;
mod tasks;
mod track_file;
mod trust;
mod worker;
mod workflow;
mod workspace;
