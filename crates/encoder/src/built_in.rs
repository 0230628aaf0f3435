//! Weights that come with the program.

use crate::encoder::TextEncoder;
use crate::weights::WeightsError;

/// The weights file, made by `model/export.py`.
pub static BUILT_IN_WEIGHTS: &[u8] = include_bytes!("../data/encoder.bin");

impl TextEncoder<'static> {
    /// The encoder that comes with the program. Reading it takes a fraction of a millisecond.
    pub fn built_in() -> Result<Self, WeightsError> {
        Self::parse(BUILT_IN_WEIGHTS)
    }
}
