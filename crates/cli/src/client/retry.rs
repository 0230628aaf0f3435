//! Retries of requests without an answer: as often as the environment says, with growing pauses.

use std::time::Duration;

use crate::host::world::World;
use crate::output::error::CommandError;

/// Default number of retries.
const RETRIES: u32 = 3;
/// After how many milliseconds, the first time.
const DELAY: u64 = 1000;
/// The longest pause there is.
const LONGEST: Duration = Duration::from_mins(1);

/// How much a command puts up with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    retries: u32,
    delay: Duration,
}

impl Patience {
    /// None at all.
    pub(crate) const NONE: Self = Self { retries: 0, delay: Duration::ZERO };

    /// What `MAESTRO_RETRIES` and `MAESTRO_RETRY_DELAY` say.
    pub(crate) fn of(world: &World) -> Result<Self, CommandError> {
        let retries = number(world, "MAESTRO_RETRIES", u64::from(RETRIES))?;
        let delay = number(world, "MAESTRO_RETRY_DELAY", DELAY)?;
        Ok(Self { retries: u32::try_from(retries).unwrap_or(u32::MAX), delay: Duration::from_millis(delay) })
    }

    /// The pauses before each further try.
    pub(crate) fn tries(self) -> impl Iterator<Item = Duration> {
        (0..self.retries).map(move |tried| self.delay.saturating_mul(1 << tried.min(16)).min(LONGEST))
    }
}

fn number(world: &World, name: &str, usual: u64) -> Result<u64, CommandError> {
    world.variable(name).map_or(Ok(usual), |text| {
        text.trim().parse().map_err(|_| {
            CommandError::invalid(format!("{name} is not a number: `{text}`")).hint(format!("unset {name}"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pause_is_twice_as_long_up_to_a_minute() {
        let patience = Patience { retries: 8, delay: Duration::from_secs(1) };
        let seconds: Vec<u64> = patience.tries().map(|pause| pause.as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(Patience { retries: 0, delay: Duration::ZERO }.tries().count(), 0);
    }
}
