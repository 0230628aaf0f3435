//! Vectors of texts, as they are compared and stored.

/// The meaning of a text: a vector of unit length, rounded to one byte per number.
#[derive(Debug, Clone, PartialEq)]
pub struct TextVector {
    values: Vec<i8>,
    scale: f32,
}

/// Bytes that are no vector of the model's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a vector of {expected} numbers")]
pub struct UnknownLength {
    /// How many numbers the model's vectors have.
    pub expected: usize,
}

impl TextVector {
    /// Rounds a vector.
    #[expect(clippy::cast_possible_truncation, reason = "scaled numbers are at most 127")]
    pub(crate) fn round(values: &[f32]) -> Self {
        let largest = values.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        let factor = if largest > 0.0 { 127.0 / largest } else { 0.0 };
        let values = values.iter().map(|value| (value * factor).round_ties_even() as i8).collect();
        Self { values, scale: largest / 127.0 }
    }

    /// The cosine of the angle between two texts: 1 for the same meaning, about 0 for unrelated ones.
    #[expect(clippy::cast_precision_loss, reason = "a sum of some hundred products of bytes is below 2^24")]
    pub fn similarity(&self, other: &Self) -> f32 {
        let products = self.values.iter().zip(&other.values).map(|(&a, &b)| i32::from(a) * i32::from(b));
        products.sum::<i32>() as f32 * (self.scale * other.scale)
    }

    /// How many bytes a vector of so many numbers takes.
    pub fn stored_bytes(length: usize) -> usize {
        length + size_of::<f32>()
    }

    /// The vector as bytes, for a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let values = self.values.iter().map(|value| value.cast_unsigned());
        self.scale.to_le_bytes().into_iter().chain(values).collect()
    }

    /// A vector of `length` numbers from bytes of [`TextVector::to_bytes`].
    pub fn from_bytes(bytes: &[u8], length: usize) -> Result<Self, UnknownLength> {
        let unknown = UnknownLength { expected: length };
        let (scale, values) = bytes.split_first_chunk().ok_or(unknown)?;
        if values.len() != length {
            return Err(unknown);
        }
        let values = values.iter().map(|value| value.cast_signed()).collect();
        Ok(Self { values, scale: f32::from_le_bytes(*scale) })
    }

    /// The numbers themselves.
    pub fn values(&self) -> impl Iterator<Item = f32> {
        self.values.iter().map(|&value| f32::from(value) * self.scale)
    }
}
