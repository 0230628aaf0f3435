//! Layers of a graph, and the order of boxes in each.

use super::{BoxGraph, EdgeSide};

/// An edge that leaps over more layers than this is taken along the side.
const FARTHEST: usize = 3;
/// How often the order is improved.
const SWEEPS: usize = 12;

/// Something that stands in a layer: a box, or the place where an edge goes through.
#[derive(Debug, Clone, Default)]
pub(super) struct LayerCell {
    pub(super) layer: usize,
    /// The box, unless an edge goes through.
    pub(super) node: Option<usize>,
    /// What it is joined with in the layer above.
    pub(super) above: Vec<usize>,
    /// What it is joined with in the layer below.
    pub(super) below: Vec<usize>,
}

/// Boxes in layers. The first cells are the boxes, in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct LayeredGraph {
    pub(super) cells: Vec<LayerCell>,
    /// The cells of each layer from left to right.
    pub(super) layers: Vec<Vec<usize>>,
    /// Along which side each edge is taken.
    pub(super) sides: Vec<EdgeSide>,
    /// The cells that each edge goes through, without its ends.
    pub(super) through: Vec<Vec<usize>>,
}

pub(super) fn assign_layers(graph: &BoxGraph) -> LayeredGraph {
    let back = back_edges(graph);
    let layer_of = longest_paths(graph, &back);
    let mut layered = LayeredGraph::default();
    layered.cells.extend(layer_of.iter().enumerate().map(|(node, layer)| LayerCell {
        layer: *layer,
        node: Some(node),
        ..LayerCell::default()
    }));
    for (index, (from, to)) in graph.edges.iter().enumerate() {
        let side = if back[index] {
            EdgeSide::Right
        } else if layer_of[*to] - layer_of[*from] > FARTHEST {
            EdgeSide::Left
        } else {
            EdgeSide::None
        };
        layered.sides.push(side);
        let mut through = Vec::new();
        if side == EdgeSide::None {
            let mut last = *from;
            for layer in layer_of[*from] + 1..layer_of[*to] {
                layered.cells.push(LayerCell { layer, ..LayerCell::default() });
                let cell = layered.cells.len() - 1;
                layered.join(last, cell);
                through.push(cell);
                last = cell;
            }
            layered.join(last, *to);
        }
        layered.through.push(through);
    }
    layered.order();
    layered
}

/// Which edges lead back to where one came from.
fn back_edges(graph: &BoxGraph) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum SearchState {
        No,
        Open,
        Done,
    }
    let mut leaving: Vec<Vec<usize>> = vec![Vec::new(); graph.widths.len()];
    for (index, (from, _)) in graph.edges.iter().enumerate() {
        leaving[*from].push(index);
    }
    let mut back = vec![false; graph.edges.len()];
    let mut seen = vec![SearchState::No; graph.widths.len()];
    for first in std::iter::once(graph.start).chain(0..graph.widths.len()) {
        if seen.get(first) != Some(&SearchState::No) {
            continue;
        }
        seen[first] = SearchState::Open;
        let mut path = vec![(first, 0)];
        while let Some((node, next)) = path.pop() {
            let Some(edge) = leaving[node].get(next) else {
                seen[node] = SearchState::Done;
                continue;
            };
            path.push((node, next + 1));
            let to = graph.edges[*edge].1;
            match seen[to] {
                SearchState::Open => back[*edge] = true,
                SearchState::Done => {}
                SearchState::No => {
                    seen[to] = SearchState::Open;
                    path.push((to, 0));
                }
            }
        }
    }
    back
}

/// How many edges the longest way to each box has.
fn longest_paths(graph: &BoxGraph, back: &[bool]) -> Vec<usize> {
    let forward: Vec<(usize, usize)> =
        graph.edges.iter().zip(back).filter(|(_, back)| !**back).map(|(edge, _)| *edge).collect();
    let mut entering = vec![0; graph.widths.len()];
    for (_, to) in &forward {
        entering[*to] += 1;
    }
    let mut layer_of = vec![0; graph.widths.len()];
    let mut free: Vec<usize> = (0..entering.len()).filter(|node| entering[*node] == 0).collect();
    while let Some(node) = free.pop() {
        for (_, to) in forward.iter().filter(|(from, _)| *from == node) {
            layer_of[*to] = layer_of[*to].max(layer_of[node] + 1);
            entering[*to] -= 1;
            if entering[*to] == 0 {
                free.push(*to);
            }
        }
    }
    layer_of
}

impl LayeredGraph {
    fn join(&mut self, above: usize, below: usize) {
        self.cells[above].below.push(below);
        self.cells[below].above.push(above);
    }

    /// Puts the cells of each layer into an order with few crossings: each by the middle of what it is joined with.
    fn order(&mut self) {
        let count = self.cells.iter().map(|cell| cell.layer + 1).max().unwrap_or_default();
        self.layers = vec![Vec::new(); count];
        for (index, cell) in self.cells.iter().enumerate() {
            self.layers[cell.layer].push(index);
        }
        let mut rank = vec![0.0; self.cells.len()];
        self.layers.iter().for_each(|layer| rerank(&mut rank, layer));
        let mut best = (self.crossings(), self.layers.clone());
        for sweep in 0..SWEEPS {
            let downwards = sweep % 2 == 0;
            let order: Vec<usize> = if downwards { (1..count).collect() } else { (0..count).rev().collect() };
            for layer in order {
                let middle = |cell: usize| {
                    let joined = if downwards { &self.cells[cell].above } else { &self.cells[cell].below };
                    mean(joined.iter().map(|other| rank[*other])).unwrap_or(rank[cell])
                };
                let mut sorted: Vec<(f64, usize)> =
                    self.layers[layer].iter().map(|cell| (middle(*cell), *cell)).collect();
                sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
                self.layers[layer] = sorted.into_iter().map(|(_, cell)| cell).collect();
                rerank(&mut rank, &self.layers[layer]);
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.layers.clone());
            }
        }
        self.layers = best.1;
    }

    fn crossings(&self) -> usize {
        let mut rank = vec![0; self.cells.len()];
        for layer in &self.layers {
            for (index, cell) in layer.iter().enumerate() {
                rank[*cell] = index;
            }
        }
        let mut crossings = 0;
        for layer in &self.layers {
            let edges: Vec<(usize, usize)> = layer
                .iter()
                .flat_map(|cell| self.cells[*cell].below.iter().map(|below| (rank[*cell], rank[*below])))
                .collect();
            for (index, (above, below)) in edges.iter().enumerate() {
                let crossed = |(a, b): &&(usize, usize)| (a < above && b > below) || (a > above && b < below);
                crossings += edges[..index].iter().filter(crossed).count();
            }
        }
        crossings
    }
}

/// Says where each cell of a layer stands in it, counted from the layer's middle.
fn rerank(rank: &mut [f64], layer: &[usize]) {
    for (index, cell) in layer.iter().enumerate() {
        rank[*cell] = to_float(index) - to_float(layer.len()) / 2.0;
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

fn to_float(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
