//! Tickets: the names of directives, by which a report says which one it answers.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::workflow::name::StepId;

/// The name of one directive: `step#visit.nonce`, or `step#visit/child.nonce` for a sub-agent's. An outsider
/// cannot guess it, and no two directives of a run have the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticket(String);

impl Ticket {
    /// The ticket that a caller quotes.
    pub fn quoted(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The ticket's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The sub-agent whose it is, and how the tickets of all sub-agents of the same dispatch begin.
    pub fn sub_agent(&self) -> Option<(&str, &str)> {
        let (visit, child) = self.0.rsplit_once('.')?.0.split_once('/')?;
        Some((child, visit))
    }

    /// Which visit of its step it is for; 0 for what is no ticket.
    pub fn visit(&self) -> u32 {
        let visit = self.0.rsplit_once('.').and_then(|(before, _)| before.rsplit_once('#'));
        let visit = visit.and_then(|(_, visit)| visit.split('/').next());
        visit.and_then(|visit| visit.parse().ok()).unwrap_or(0)
    }

    pub(super) fn step(step: &StepId, visit: u32, seed: u64, serial: u64) -> Self {
        Self(format!("{step}#{visit}.{}", nonce(seed, serial, 0)))
    }

    pub(super) fn child(step: &StepId, visit: u32, child: &str, seed: u64, serial: u64, index: usize) -> Self {
        Self(format!("{step}#{visit}/{child}.{}", nonce(seed, serial, index as u64 + 1)))
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Six characters that follow from the seed.
fn nonce(seed: u64, serial: u64, index: u64) -> String {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut mixed = mix(mix(mix(seed) ^ serial) ^ index);
    let mut text = String::new();
    for _ in 0..6 {
        text.push(char::from(DIGITS[usize::try_from(mixed % 32).unwrap_or_default()]));
        mixed /= 32;
    }
    text
}

/// `SplitMix64`: every bit of the input reaches every bit of the output.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A hash of a text (FNV-1a); it is kept, so it must be the same in every build.
pub(super) fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
