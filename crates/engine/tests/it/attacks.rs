//! Attacks by an agent, or by a repository that somebody else made: each must fail.

mod git;
