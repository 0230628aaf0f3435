//! Exponential, GELU and normalization, in basic arithmetic only.
//!
//! The standard library's `exp` differs between platforms in its last bit. These use additions, multiplications,
//! divisions and square roots, which every platform rounds alike, and have no branches, so that loops over them become
//! vector instructions.

/// Adding and subtracting it rounds a number below 2^22 to the nearest integer.
pub(crate) const ROUNDER: f32 = 12_582_912.0;

/// How many partial sums a reduction has. Fixed, because the order of additions decides the last bits.
const LANES: usize = 8;

/// `e` to the power of `x`, for `x` up to 0; a relative error of about 1e-7.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the exponent lies between -127 and 0")]
#[expect(clippy::cast_sign_loss, reason = "the biased exponent is not negative")]
#[expect(clippy::inline_always, reason = "only inlined code is compiled for the processor that is found")]
pub(crate) fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.0, 0.0);
    let whole = (x * std::f32::consts::LOG2_E + ROUNDER) - ROUNDER;
    // The natural logarithm of two in two parts, so that the product loses nothing.
    let rest = (x - whole * 0.693_359_4) + whole * 2.121_944_4e-4;
    let mut series = 1.987_569_1e-4_f32;
    for factor in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        series = series * rest + factor;
    }
    let fraction = series * rest * rest + rest + 1.0;
    fraction * f32::from_bits(((whole as i32 + 127) as u32) << 23)
}

/// The Gaussian error linear unit, by an approximation of the error function with an error below 2e-7.
#[inline(always)]
#[expect(clippy::inline_always, reason = "only inlined code is compiled for the processor that is found")]
pub(crate) fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let mut series = 1.061_405_4_f32;
    for factor in [-1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6] {
        series = series * t + factor;
    }
    // One minus the error function, which keeps its digits where that function is near one.
    let rest = series * t * exp(-z * z);
    let positive = 0.5 * (2.0 - rest);
    let share = if x < 0.0 { 0.5 * rest } else { positive };
    x * share
}

/// The sum of some numbers, in an order that does not depend on the machine.
#[inline(always)]
#[expect(clippy::inline_always, reason = "only inlined code is compiled for the processor that is found")]
pub(crate) fn sum(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let (blocks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0_f32; LANES];
    for block in blocks {
        for (lane, &value) in lanes.iter_mut().zip(block) {
            *lane += of(value);
        }
    }
    let mut total = 0.0;
    for lane in lanes {
        total += lane;
    }
    for &value in rest {
        total += of(value);
    }
    total
}

/// Scales a row to mean 0 and variance 1, then by `weight` and `bias`.
#[inline(always)]
#[expect(clippy::cast_precision_loss, reason = "rows have far fewer than 2^24 numbers")]
#[expect(clippy::inline_always, reason = "only inlined code is compiled for the processor that is found")]
pub(crate) fn normalize(row: &mut [f32], weight: &[f32], bias: &[f32]) {
    let count = row.len().max(1) as f32;
    let mean = sum(row, |value| value) / count;
    let variance = sum(row, |value| (value - mean) * (value - mean)) / count;
    let scale = 1.0 / (variance + 1e-12).sqrt();
    for ((value, weight), bias) in row.iter_mut().zip(weight).zip(bias) {
        *value = (*value - mean) * scale * weight + bias;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_right_to_seven_digits() {
        for step in 0..8_700_u16 {
            let x = -f32::from(step) / 100.0;
            let right = f64::from(x).exp();
            let error = (f64::from(exp(x)) - right).abs() / right;
            assert!(error < 3e-7, "exp({x}) is off by {error}");
        }
        assert_eq!(exp(0.0).to_bits(), 1.0_f32.to_bits());
        assert!(exp(-1e9) < 1e-37);
    }

    #[test]
    fn the_unit_agrees_with_a_table() {
        let table = [(-6.0, -5.919_5e-9), (-3.0, -0.004_049_694), (-1.0, -0.158_655_25), (-0.1, -0.046_017_216)];
        let more = [(0.0, 0.0), (0.1, 0.053_982_783), (0.5, 0.345_731_23), (1.0, 0.841_344_7), (3.0, 2.995_950_3)];
        for (x, right) in table.into_iter().chain(more) {
            assert!((gelu(x) - right).abs() < 1e-6, "gelu({x}) is {}", gelu(x));
        }
        assert!((gelu(40.0) - 40.0).abs() < 1e-6);
        assert!(gelu(-40.0).abs() < 1e-6);
    }

    #[test]
    fn a_row_is_normalized_whatever_its_length() {
        for length in [1_u8, 7, 8, 100] {
            let mut row: Vec<f32> = (0..length).map(f32::from).collect();
            let (weight, bias) = (vec![1.0; row.len()], vec![0.0; row.len()]);
            normalize(&mut row, &weight, &bias);
            assert!(sum(&row, |value| value).abs() < 1e-4);
        }
    }
}
