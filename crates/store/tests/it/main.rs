//! The store as its callers see it, on both databases.

#![allow(clippy::panic, clippy::print_stderr, clippy::unwrap_used, reason = "a test may fail by panicking")]

mod cast;
mod commits;
mod deletion;
mod events;
mod guards;
mod hosts;
mod journeys;
mod laws;
mod leases;
mod migration;
mod notices;
mod once;
mod opening;
mod overview;
mod paging;
mod parents;
mod plans;
mod processes;
mod queues;
mod races;
mod rights;
mod rollup;
mod runs;
mod searches;
mod seats;
mod spawns;
mod texts;
mod timelines;
mod upkeep;
mod waiting;
mod world;
