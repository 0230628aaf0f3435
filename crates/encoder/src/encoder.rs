//! Encoder: word pieces, layers, and one vector for all of a text.

use pulp::{Arch, NullaryFnOnce};

use crate::attention::attend;
use crate::functions::{gelu, normalize, sum};
use crate::linear::multiply;
use crate::rows::FloatRows;
use crate::tokenizer::tokenize;
use crate::vector::TextVector;
use crate::weights::{LayerWeights, ModelId, ModelWeights, NormWeights, WeightsError};

/// What a text is. Cards are read further than tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// Something to be done.
    Task,
    /// A skill's name, description and headings.
    Card,
}

/// A model that is ready to encode.
#[derive(Debug, Clone)]
pub struct TextEncoder<'w> {
    weights: ModelWeights<'w>,
    arch: Arch,
}

impl<'w> TextEncoder<'w> {
    /// Reads a weights file, whose matrices stay where they are.
    ///
    /// The file, all numbers little-endian: `maestenc`, the format (u32, 1), the model's id (16 bytes: the start of the
    /// SHA-256 of everything after it), ten sizes (u32: pieces, embedding, hidden, layers, inner, positions, output,
    /// heads, tokens of a task, tokens of a card), the numbers of the first, last and unknown token (u32), the length of
    /// each piece (u8) and the pieces themselves, sorted. Then the tensors: a matrix is int8 row by row, then a float
    /// for each row, its scale; a vector is floats. Tokens; widening (only where embedding and hidden differ);
    /// positions; first normalization (weight, bias); for each layer query, key and value in one (matrix, bias),
    /// attention's output (matrix, bias), normalization, inner (matrix, bias), its output (matrix, bias),
    /// normalization; output.
    pub fn parse(bytes: &'w [u8]) -> Result<Self, WeightsError> {
        Ok(Self { weights: ModelWeights::parse(bytes)?, arch: Arch::new() })
    }

    /// The same without vector instructions beyond those that every machine has. The vectors are the same.
    #[must_use]
    pub fn without_vector_instructions(mut self) -> Self {
        self.arch = Arch::Scalar;
        self
    }

    /// Which weights these are.
    pub fn model(&self) -> ModelId {
        self.weights.id
    }

    /// How many numbers a vector has.
    pub fn vector_length(&self) -> usize {
        self.weights.shape.output
    }

    /// The word pieces of a text by number, as far as they are read.
    pub fn tokens(&self, text: &str, kind: TextKind) -> Vec<usize> {
        let most = match kind {
            TextKind::Task => self.weights.shape.task_tokens,
            TextKind::Card => self.weights.shape.card_tokens,
        };
        tokenize(&self.weights.pieces, text, most)
    }

    /// The meaning of a text.
    pub fn encode(&self, text: &str, kind: TextKind) -> TextVector {
        TextVector::round(&self.encode_exactly(text, kind))
    }

    /// The same before it is rounded to bytes.
    pub fn encode_exactly(&self, text: &str, kind: TextKind) -> Vec<f32> {
        let mut rows = self.embed(&self.tokens(text, kind));
        for layer in &self.weights.layers {
            rows = self.apply(layer, rows);
        }
        let pooled = mean(&rows);
        let mut vector = multiply(self.arch, &pooled, &self.weights.output, &[]);
        let vector = vector.row_mut(0);
        let length = sum(vector, |value| value * value).sqrt();
        let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
        vector.iter().map(|value| value * scale).collect()
    }

    /// The tokens and their positions as rows.
    fn embed(&self, tokens: &[usize]) -> FloatRows {
        let weights = &self.weights;
        let mut rows = FloatRows::zeros(tokens.len(), weights.shape.embedding);
        for (&token, row) in tokens.iter().zip(rows.iter_mut()) {
            weights.tokens.read_row(token, weights.tokens.scales.get(token).copied().unwrap_or_default(), row);
        }
        if let Some(widen) = &weights.widen {
            rows = multiply(self.arch, &rows, widen, &[]);
        }
        for (value, position) in rows.values_mut().iter_mut().zip(&weights.positions) {
            *value += position;
        }
        self.normalize_rows(&mut rows, &weights.norm);
        rows
    }

    fn apply(&self, layer: &LayerWeights<'_>, rows: FloatRows) -> FloatRows {
        let arch = self.arch;
        let projected = multiply(arch, &rows, &layer.attention_in.matrix, &layer.attention_in.bias);
        let gathered = attend(arch, &projected, self.weights.shape.heads);
        let attended = multiply(arch, &gathered, &layer.attention_out.matrix, &layer.attention_out.bias);
        let rows = self.add_and_normalize(rows, &attended, &layer.attention_norm);
        let mut inner = multiply(arch, &rows, &layer.inner_in.matrix, &layer.inner_in.bias);
        arch.dispatch(GeluKernel { values: inner.values_mut() });
        let changed = multiply(arch, &inner, &layer.inner_out.matrix, &layer.inner_out.bias);
        self.add_and_normalize(rows, &changed, &layer.inner_norm)
    }

    fn add_and_normalize(&self, mut rows: FloatRows, change: &FloatRows, norm: &NormWeights) -> FloatRows {
        for (row, change) in rows.iter_mut().zip(change.iter()) {
            for (value, change) in row.iter_mut().zip(change) {
                *value += change;
            }
        }
        self.normalize_rows(&mut rows, norm);
        rows
    }

    fn normalize_rows(&self, rows: &mut FloatRows, norm: &NormWeights) {
        self.arch.dispatch(NormKernel { rows, norm });
    }
}

/// The activation, compiled for each kind of processor.
struct GeluKernel<'a> {
    values: &'a mut [f32],
}

impl NullaryFnOnce for GeluKernel<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "only inlined code is compiled for the processor that is found")]
    #[inline(always)]
    fn call(self) {
        for value in self.values {
            *value = gelu(*value);
        }
    }
}

/// The normalization, compiled for each kind of processor.
struct NormKernel<'a> {
    rows: &'a mut FloatRows,
    norm: &'a NormWeights,
}

impl NullaryFnOnce for NormKernel<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "only inlined code is compiled for the processor that is found")]
    #[inline(always)]
    fn call(self) {
        for row in self.rows.iter_mut() {
            normalize(row, &self.norm.weight, &self.norm.bias);
        }
    }
}

/// The mean of all rows, as one row.
#[expect(clippy::cast_precision_loss, reason = "a text has far fewer than 2^24 tokens")]
fn mean(rows: &FloatRows) -> FloatRows {
    let mut pooled = FloatRows::zeros(1, rows.width());
    for row in rows.iter() {
        for (sum, value) in pooled.row_mut(0).iter_mut().zip(row) {
            *sum += value;
        }
    }
    let count = rows.count().max(1) as f32;
    for value in pooled.row_mut(0) {
        *value /= count;
    }
    pooled
}
