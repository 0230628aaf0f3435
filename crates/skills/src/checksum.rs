//! Checksum of bytes and numbers. It detects damage, not tampering.

/// The checksum of some bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> u64 {
    // Four at a time, for one step need not wait for the other then.
    let (blocks, rest) = bytes.as_chunks::<32>();
    let mut sums = [0_u64, 1, 2, 3];
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        for (sum, word) in sums.iter_mut().zip(words) {
            *sum = step(*sum, u64::from_le_bytes(*word));
        }
    }
    let rest = rest.iter().map(|&byte| u64::from(byte));
    of_words(sums.into_iter().chain(rest).chain([bytes.len() as u64]))
}

/// The checksum of some numbers.
pub(crate) fn of_words(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0, step)
}

/// Can be undone as long as one of the two is known, so no single number changes without a trace.
fn step(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}
