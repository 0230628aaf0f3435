//! Self-attention over the tokens of one text.

use pulp::{Arch, NullaryFnOnce};

use crate::functions::{exp, sum};
use crate::rows::FloatRows;

/// What each token gathers from the others. Each row of `projected` holds query, key and value of a token.
pub(crate) fn attend(arch: Arch, projected: &FloatRows, heads: usize) -> FloatRows {
    let hidden = projected.width() / 3;
    let mut gathered = FloatRows::zeros(projected.count(), hidden);
    arch.dispatch(AttentionKernel { projected, heads, gathered: &mut gathered });
    gathered
}

/// Attention that is compiled for each kind of processor.
struct AttentionKernel<'a> {
    projected: &'a FloatRows,
    heads: usize,
    gathered: &'a mut FloatRows,
}

impl NullaryFnOnce for AttentionKernel<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "only inlined code is compiled for the processor that is found")]
    #[inline(always)]
    fn call(self) {
        let size = self.gathered.width() / self.heads.max(1);
        for head in 0..self.heads {
            attend_head(self.projected, head, size, self.gathered);
        }
    }
}

#[inline(always)]
#[expect(clippy::cast_precision_loss, reason = "a head has far fewer than 2^24 numbers")]
#[expect(clippy::inline_always, reason = "only inlined code is compiled for the processor that is found")]
fn attend_head(projected: &FloatRows, head: usize, size: usize, gathered: &mut FloatRows) {
    let (count, hidden) = (projected.count(), projected.width() / 3);
    let part = |row: usize, which: usize| {
        let start = which * hidden + head * size;
        projected.row(row).get(start..start + size).unwrap_or_default()
    };
    // Keys by dimension, so that all scores of a token grow together.
    let mut keys = FloatRows::zeros(size, count);
    let mut values = FloatRows::zeros(count, size);
    for token in 0..count {
        for (&value, keys) in part(token, 1).iter().zip(keys.iter_mut()) {
            if let Some(slot) = keys.get_mut(token) {
                *slot = value;
            }
        }
        values.row_mut(token).copy_from_slice(part(token, 2));
    }
    let scale = 1.0 / (size as f32).sqrt();
    let mut scores = vec![0.0_f32; count];
    let mut sums = vec![0.0_f32; size];
    for token in 0..count {
        scores.fill(0.0);
        for (&query, keys) in part(token, 0).iter().zip(keys.iter()) {
            for (score, key) in scores.iter_mut().zip(keys) {
                *score += query * key;
            }
        }
        soften(&mut scores, scale);
        sums.fill(0.0);
        for (&share, values) in scores.iter().zip(values.iter()) {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += share * value;
            }
        }
        if let Some(target) = gathered.row_mut(token).get_mut(head * size..(head + 1) * size) {
            target.copy_from_slice(&sums);
        }
    }
}

/// Turns scores into shares that add up to one.
#[inline(always)]
#[expect(clippy::inline_always, reason = "only inlined code is compiled for the processor that is found")]
fn soften(scores: &mut [f32], scale: f32) {
    let largest = scores.iter().fold(f32::MIN, |largest, &score| if score > largest { score } else { largest });
    for score in scores.iter_mut() {
        *score = exp((*score - largest) * scale);
    }
    let factor = 1.0 / sum(scores, |score| score);
    for score in scores {
        *score *= factor;
    }
}
