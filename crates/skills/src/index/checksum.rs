//! Are these the bytes that were written? Tells damage, not malice.

/// The checksum of some bytes.
pub(super) fn of_bytes(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    of_words(words.chain(rest.iter().map(|&byte| u64::from(byte))).chain([bytes.len() as u64]))
}

/// The checksum of some numbers. Every step can be undone, so no single number changes without a trace.
pub(super) fn of_words(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0, |sum, word| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
}
