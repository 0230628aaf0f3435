//! The store as its callers see it, on both databases.

mod journeys;
mod world;
