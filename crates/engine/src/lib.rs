//! What drives a run? Definitions are found and pinned here, what they order is executed here, and nothing else starts
//! a process.
