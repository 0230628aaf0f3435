//! Rows of numbers, one per token.

/// A matrix of floats, stored row by row.
#[derive(Debug, Clone, Default)]
pub(crate) struct FloatRows {
    values: Vec<f32>,
    width: usize,
}

impl FloatRows {
    pub(crate) fn zeros(count: usize, width: usize) -> Self {
        Self { values: vec![0.0; count * width], width }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn count(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or_default()
    }

    pub(crate) fn iter(&self) -> std::slice::ChunksExact<'_, f32> {
        self.values.chunks_exact(self.width.max(1))
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::ChunksExactMut<'_, f32> {
        self.values.chunks_exact_mut(self.width.max(1))
    }

    pub(crate) fn row(&self, number: usize) -> &[f32] {
        self.values.get(number * self.width..(number + 1) * self.width).unwrap_or_default()
    }

    pub(crate) fn row_mut(&mut self, number: usize) -> &mut [f32] {
        self.values.get_mut(number * self.width..(number + 1) * self.width).unwrap_or_default()
    }

    pub(crate) fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }
}
