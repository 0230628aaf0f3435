//! Products of rows with int8 matrices, exact in integers.
//!
//! Each row is scaled to whole numbers of at most ±8191; a product of these with weights of at most ±127, summed over a
//! row, fits 32 bits. Integer sums have one result whatever their order, so any vector instruction gives the same.

use pulp::{Arch, NullaryFnOnce};

use crate::functions::ROUNDER;
use crate::rows::FloatRows;

/// The largest number a row is scaled to.
const LARGEST: f32 = 8191.0;

/// The longest row whose products cannot overflow: 127 · 8191 · 2064 is below 2^31.
pub(crate) const LONGEST_ROW: usize = 2064;

/// How many rows of a matrix are multiplied at once.
const BLOCK: usize = 4;

/// An int8 matrix with one scale for each row, as it lies in the weights file.
#[derive(Debug, Clone)]
pub(crate) struct ByteMatrix<'w> {
    pub(crate) weights: &'w [u8],
    pub(crate) scales: Vec<f32>,
    /// How long a row is.
    pub(crate) width: usize,
}

impl ByteMatrix<'_> {
    /// Writes row `number` as floats.
    pub(crate) fn read_row(&self, number: usize, scale: f32, out: &mut [f32]) {
        let row = self.weights.get(number * self.width..(number + 1) * self.width).unwrap_or_default();
        for (value, &byte) in out.iter_mut().zip(row) {
            *value = f32::from(byte.cast_signed()) * scale;
        }
    }
}

/// Rows scaled to whole numbers, with the scale of each.
struct ScaledRows {
    values: Vec<i16>,
    scales: Vec<f32>,
    width: usize,
}

/// Multiplies every row with the matrix and adds the bias, which may be empty.
pub(crate) fn multiply(arch: Arch, rows: &FloatRows, matrix: &ByteMatrix<'_>, bias: &[f32]) -> FloatRows {
    let mut out = FloatRows::zeros(rows.count(), matrix.scales.len());
    arch.dispatch(ProductKernel { rows, matrix, bias, out: &mut out });
    out
}

/// A product that is compiled for each kind of processor. A closure would not be inlined for sure, and then not be.
struct ProductKernel<'a, 'w> {
    rows: &'a FloatRows,
    matrix: &'a ByteMatrix<'w>,
    bias: &'a [f32],
    out: &'a mut FloatRows,
}

impl NullaryFnOnce for ProductKernel<'_, '_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "only inlined code is compiled for the processor that is found")]
    #[inline(always)]
    fn call(self) {
        multiply_scaled(&scale_rows(self.rows), self.matrix, self.bias, self.out);
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "scaled numbers are at most 8191")]
#[expect(clippy::inline_always, reason = "only inlined code is compiled for the processor that is found")]
fn scale_rows(rows: &FloatRows) -> ScaledRows {
    let width = rows.width();
    let mut scaled = ScaledRows { values: vec![0; rows.count() * width], scales: Vec::new(), width };
    for (row, whole) in rows.iter().zip(scaled.values.chunks_exact_mut(width.max(1))) {
        let largest =
            row.iter().fold(0.0_f32, |largest, value| if value.abs() > largest { value.abs() } else { largest });
        let factor = if largest > 0.0 { LARGEST / largest } else { 0.0 };
        for (whole, value) in whole.iter_mut().zip(row) {
            *whole = ((value * factor + ROUNDER) - ROUNDER) as i32 as i16;
        }
        scaled.scales.push(largest / LARGEST);
    }
    scaled
}

#[inline(always)]
#[expect(clippy::cast_precision_loss, reason = "sums are rounded to floats, everywhere alike")]
#[expect(clippy::inline_always, reason = "only inlined code is compiled for the processor that is found")]
fn multiply_scaled(rows: &ScaledRows, matrix: &ByteMatrix<'_>, bias: &[f32], out: &mut FloatRows) {
    let (width, height) = (rows.width, matrix.scales.len());
    let mut wide = vec![0_i16; BLOCK * width];
    let blocks = matrix.weights.chunks(BLOCK * width.max(1));
    for (number, (block, scales)) in blocks.zip(matrix.scales.chunks(BLOCK)).enumerate() {
        for (wide, &byte) in wide.iter_mut().zip(block) {
            *wide = i16::from(byte.cast_signed());
        }
        let (first, second) = wide.split_at(2 * width);
        let ((a, b), (c, d)) = (first.split_at(width), second.split_at(width));
        let biases = bias.get(number * BLOCK..).unwrap_or_default();
        let sources = rows.values.chunks_exact(width.max(1)).zip(&rows.scales);
        let targets = out.values_mut().chunks_exact_mut(height.max(1));
        for ((row, row_scale), target) in sources.zip(targets) {
            let sums = dot_four(row, a, b, c, d);
            let Some(target) = target.get_mut(number * BLOCK..) else { continue };
            for (at, ((value, sum), scale)) in target.iter_mut().zip(sums).zip(scales).enumerate() {
                *value = sum as f32 * (row_scale * scale) + biases.get(at).copied().unwrap_or_default();
            }
        }
    }
}

/// The products of one row with four others.
#[inline(always)]
#[expect(clippy::inline_always, reason = "only inlined code is compiled for the processor that is found")]
#[expect(clippy::many_single_char_names, reason = "four rows that differ in nothing")]
fn dot_four(row: &[i16], a: &[i16], b: &[i16], c: &[i16], d: &[i16]) -> [i32; BLOCK] {
    let mut sums = [0_i32; BLOCK];
    for ((((&x, &a), &b), &c), &d) in row.iter().zip(a).zip(b).zip(c).zip(d) {
        let x = i32::from(x);
        sums = [
            sums[0].wrapping_add(x * i32::from(a)),
            sums[1].wrapping_add(x * i32::from(b)),
            sums[2].wrapping_add(x * i32::from(c)),
            sums[3].wrapping_add(x * i32::from(d)),
        ];
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_that_of_the_floats_within_the_scale() {
        let (width, height) = (48, 6);
        let weights: Vec<u8> = (0..width * height).map(|at| u8::try_from((at * 37) % 255).unwrap()).collect();
        let scales: Vec<f32> = (1_u8..7).map(|at| f32::from(at) / 100.0).collect();
        let matrix = ByteMatrix { weights: &weights, scales, width };
        let mut rows = FloatRows::zeros(3, width);
        for (at, value) in rows.values_mut().iter_mut().enumerate() {
            *value = f32::from(u8::try_from(at % 13).unwrap()) - 6.0;
        }
        let bias = [0.5; 6];
        let product = multiply(Arch::new(), &rows, &matrix, &bias);
        assert_eq!(product.count(), 3);
        for number in 0..3 {
            for column in 0..height {
                let mut plain = vec![0.0; width];
                matrix.read_row(column, matrix.scales[column], &mut plain);
                let right: f32 = 0.5 + plain.iter().zip(rows.row(number)).map(|(a, b)| a * b).sum::<f32>();
                assert!((product.row(number)[column] - right).abs() < 0.05 * right.abs().max(1.0));
            }
        }
    }

    #[test]
    fn the_longest_row_cannot_overflow() {
        assert!(i32::try_from(127 * 8191 * LONGEST_ROW).is_ok());
    }
}
