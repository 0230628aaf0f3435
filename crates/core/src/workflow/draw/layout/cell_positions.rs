//! Horizontal positions of boxes.

use super::BoxGraph;
use super::layers::LayeredGraph;

/// What stays free beside a box; two boxes are twice as far from each other.
const BESIDE: i64 = 20;
/// How much room an edge has that goes through a layer.
const LINE: i64 = 16;
/// How much more a box with a way out weighs than an end, so that the main path is straight.
const WEIGHT: f64 = 8.0;
/// How often boxes are drawn towards what they are joined with.
const PULLS: usize = 16;

/// The middle of each cell, the leftmost border being near nothing.
pub(super) struct CellPositions {
    pub(super) middles: Vec<i64>,
    pub(super) left: i64,
    pub(super) right: i64,
}

pub(super) fn place_cells(graph: &BoxGraph, layered: &LayeredGraph) -> CellPositions {
    let room = |cell: usize| layered.cells[cell].node.map_or(LINE, |node| graph.widths[node] + 2 * BESIDE);
    let weight = |cell: usize| if layered.cells[cell].below.is_empty() { 1.0 } else { WEIGHT };
    let mut middles = vec![0; layered.cells.len()];
    for layer in &layered.layers {
        let wanted: Vec<(f64, f64)> = layer.iter().map(|cell| (0.0, weight(*cell))).collect();
        assign(&mut middles, layer, &spread(layer, &wanted, &room));
    }
    for pull in 0..PULLS {
        let downwards = pull % 2 == 0;
        let layers: Vec<&Vec<usize>> =
            if downwards { layered.layers.iter().collect() } else { layered.layers.iter().rev().collect() };
        for layer in layers {
            let wanted = |cell: &usize| {
                let joined = if downwards { &layered.cells[*cell].above } else { &layered.cells[*cell].below };
                let middle = mean(joined.iter().map(|other| (to_float(middles[*other]), weight(*other))));
                (middle.unwrap_or(to_float(middles[*cell])), weight(*cell))
            };
            let wanted: Vec<(f64, f64)> = layer.iter().map(wanted).collect();
            assign(&mut middles, layer, &spread(layer, &wanted, &room));
        }
    }
    let boxes = || (0..layered.cells.len()).map(|cell| (middles[cell], room(cell) / 2));
    let left = boxes().map(|(middle, half)| middle - half).min().unwrap_or_default();
    let right = boxes().map(|(middle, half)| middle + half).max().unwrap_or_default();
    CellPositions { middles, left, right }
}

fn assign(middles: &mut [i64], layer: &[usize], values: &[i64]) {
    for (cell, value) in layer.iter().zip(values) {
        middles[*cell] = *value;
    }
}

/// The mean of values with their weights.
fn mean(values: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (sum, weight) = values.fold((0.0, 0.0), |(sum, all), (value, weight)| (sum + value * weight, all + weight));
    (weight > 0.0).then(|| sum / weight)
}

/// Places that are as near as can be to those that are wanted, in the same order and without touching: neighbours that
/// would come too near form a block, which stands where its members want to be on the whole, each with its weight.
fn spread(layer: &[usize], wanted: &[(f64, f64)], room: &dyn Fn(usize) -> i64) -> Vec<i64> {
    let mut offsets = Vec::new();
    let mut offset = 0;
    for (index, cell) in layer.iter().enumerate() {
        if let Some(before) = index.checked_sub(1).map(|before| layer[before]) {
            offset += (room(before) + 1) / 2 + (room(*cell) + 1) / 2;
        }
        offsets.push(offset);
    }
    // Each block: where it wants to be, times its weight; its weight; how many members it has.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for ((wanted, weight), offset) in wanted.iter().zip(&offsets) {
        let mut block = ((wanted - to_float(*offset)) * weight, *weight, 1);
        while let Some(before) = blocks.pop_if(|before| before.0 / before.1 >= block.0 / block.1) {
            block = (before.0 + block.0, before.1 + block.1, before.2 + block.2);
        }
        blocks.push(block);
    }
    let places =
        blocks.iter().flat_map(|(sum, weight, count)| std::iter::repeat_n(to_whole((sum / weight).floor()), *count));
    places.zip(&offsets).map(|(place, offset)| place + offset).collect()
}

#[allow(clippy::cast_precision_loss, reason = "a picture has no more than some thousands of pixels")]
fn to_float(number: i64) -> f64 {
    number as f64
}

#[allow(clippy::cast_possible_truncation, reason = "a picture has no more than some thousands of pixels")]
fn to_whole(number: f64) -> i64 {
    number as i64
}
