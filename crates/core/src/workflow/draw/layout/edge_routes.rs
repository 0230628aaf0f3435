//! Paths of edges between the layers.
//!
//! Below every layer there is room for the labels of what leaves it, for level lines towards the sides, for slanted
//! lines, and for level lines from the sides into the next layer, in this order.

use std::collections::{BTreeMap, BTreeSet};

use super::cell_positions::CellPositions;
use super::layers::LayeredGraph;
use super::{BoxGraph, BoxPosition, EdgePath, EdgeSide, GraphLayout, HEIGHT, MARGIN, ROW};

/// How tall the room for slanted lines is.
const SLANT: i64 = 34;
/// How far level or upright lines are from each other.
const TRACK: i64 = 9;
/// What an arrow needs above a box.
const ARROW: i64 = 14;

/// A lane at a side: the side, and the box that it leads to.
type SideLane = (EdgeSide, usize);

pub(super) fn route_edges(graph: &BoxGraph, layered: &LayeredGraph, placed: &CellPositions) -> GraphLayout {
    let lanes = lanes(graph, layered);
    let left_lanes = lanes.iter().filter(|((side, _), _)| *side == EdgeSide::Left).map(|(_, lane)| lane + 1).max();
    let right_lanes = lanes.iter().filter(|((side, _), _)| *side == EdgeSide::Right).map(|(_, lane)| lane + 1).max();
    let room = |lanes: Option<i64>| lanes.map_or(0, |lanes| lanes * TRACK + TRACK);
    let shift = MARGIN + room(left_lanes) - placed.left;
    let right = placed.right + shift;
    let rows = LayerRows::of(graph, layered);
    let middle = |cell: usize| placed.middles[cell] + shift;
    let spot = |node: usize| {
        let width = graph.widths[node];
        BoxPosition { left: middle(node) - width / 2, top: rows.tops[layered.cells[node].layer], width }
    };
    let spots: Vec<BoxPosition> = (0..graph.widths.len()).map(spot).collect();
    let lane_at = |lane: &SideLane| match lane.0 {
        EdgeSide::Left => MARGIN + room(left_lanes) - TRACK - lanes[lane] * TRACK,
        _ => right + TRACK + lanes[lane] * TRACK,
    };
    let ports = BoxPorts::of(graph, layered, &spots, &middle);
    let way = |index: usize| {
        let (from, to) = graph.edges[index];
        let side = layered.sides[index];
        let (out, row) = ports.leaving[&index];
        let into = ports.entering[&index];
        let (above, below) = (layered.cells[from].layer, layered.cells[to].layer);
        let start = spots[from].bottom();
        let mut points = vec![(out, start)];
        if side == EdgeSide::None {
            // Slanted lines stay in the room for them; the rest of the way is upright.
            let mut x = out;
            let turns = layered.through[index].iter().map(|cell| middle(*cell)).chain([into]);
            for (layer, next) in (above..below).zip(turns) {
                points.extend([(x, rows.slants[layer]), (next, rows.slants[layer] + SLANT)]);
                x = next;
            }
        } else {
            let lane = (side, to);
            let (x, leave, enter) = (lane_at(&lane), rows.leave[&(above, lane)], rows.enter[&lane]);
            points.extend([(out, leave), (x, leave), (x, enter), (into, enter)]);
        }
        points.push((into, spots[to].top));
        points.dedup();
        EdgePath { points, label: (out, start + ROW * (row + 1)), side }
    };
    let ways = (0..graph.edges.len()).map(way).collect();
    GraphLayout { spots, ways, width: right + room(right_lanes) + MARGIN, height: rows.height }
}

/// A lane for each box that something at a side leads to; two that would meet get different ones, the shorter one nearer.
fn lanes(graph: &BoxGraph, layered: &LayeredGraph) -> BTreeMap<SideLane, i64> {
    let mut spans: BTreeMap<SideLane, (usize, usize)> = BTreeMap::new();
    for (index, (from, to)) in graph.edges.iter().enumerate() {
        let side = layered.sides[index];
        if side != EdgeSide::None {
            let (a, b) = (layered.cells[*from].layer, layered.cells[*to].layer);
            let span = spans.entry((side, *to)).or_insert((a.min(b), a.max(b)));
            *span = (span.0.min(a.min(b)), span.1.max(a.max(b)));
        }
    }
    let mut sorted: Vec<(SideLane, (usize, usize))> = spans.into_iter().collect();
    sorted.sort_by_key(|(lane, span)| (span.1 - span.0, *lane));
    let mut taken: Vec<(EdgeSide, i64, (usize, usize))> = Vec::new();
    let mut lanes = BTreeMap::new();
    for (lane, span) in sorted {
        let meets = |number: i64| {
            let same = |other: &&(EdgeSide, i64, (usize, usize))| other.0 == lane.0 && other.1 == number;
            taken.iter().filter(same).any(|(.., other)| other.0 <= span.1 + 1 && span.0 <= other.1 + 1)
        };
        let mut number = 0;
        while meets(number) {
            number += 1;
        }
        taken.push((lane.0, number, span));
        lanes.insert(lane, number);
    }
    lanes
}

/// How far down everything is.
struct LayerRows {
    tops: Vec<i64>,
    /// Where slanted lines below a layer begin.
    slants: Vec<i64>,
    /// The level line by which a lane is reached from a layer.
    leave: BTreeMap<(usize, SideLane), i64>,
    /// The level line by which a lane reaches its box.
    enter: BTreeMap<SideLane, i64>,
    height: i64,
}

impl LayerRows {
    fn of(graph: &BoxGraph, layered: &LayeredGraph) -> Self {
        let mut leaving: Vec<BTreeSet<SideLane>> = vec![BTreeSet::new(); layered.layers.len()];
        let mut entering = leaving.clone();
        let mut labels = vec![0; graph.widths.len()];
        for (index, (from, to)) in graph.edges.iter().enumerate() {
            labels[*from] += 1;
            let lane = (layered.sides[index], *to);
            if lane.0 != EdgeSide::None {
                leaving[layered.cells[*from].layer].insert(lane);
                entering[layered.cells[*to].layer].insert(lane);
            }
        }
        let mut rows =
            Self { tops: Vec::new(), slants: Vec::new(), leave: BTreeMap::new(), enter: BTreeMap::new(), height: 0 };
        let mut y = MARGIN;
        for (layer, cells) in layered.layers.iter().enumerate() {
            for lane in &entering[layer] {
                rows.enter.insert(*lane, y);
                y += TRACK;
            }
            y += ARROW;
            rows.tops.push(y);
            y += HEIGHT;
            let tallest = cells.iter().filter_map(|cell| layered.cells[*cell].node).map(|node| labels[node]).max();
            y += ROW * tallest.unwrap_or_default() + 8;
            for lane in &leaving[layer] {
                rows.leave.insert((layer, *lane), y);
                y += TRACK;
            }
            rows.slants.push(y);
            y += SLANT;
        }
        rows.height = y - SLANT + MARGIN;
        rows
    }
}

/// Where edges leave and enter boxes.
struct BoxPorts {
    /// The place of each edge on the lower border, and the row of its label.
    leaving: BTreeMap<usize, (i64, i64)>,
    /// Its place on the upper border.
    entering: BTreeMap<usize, i64>,
}

impl BoxPorts {
    fn of(graph: &BoxGraph, layered: &LayeredGraph, spots: &[BoxPosition], middle: &dyn Fn(usize) -> i64) -> Self {
        let mut ports = Self { leaving: BTreeMap::new(), entering: BTreeMap::new() };
        let key = |index: usize, other: usize| (layered.sides[index], middle(other), index);
        for (node, spot) in spots.iter().enumerate() {
            let edges = || graph.edges.iter().enumerate();
            let mut out: Vec<_> = edges()
                .filter(|(_, edge)| edge.0 == node)
                .map(|(index, edge)| key(index, layered.through[index].first().copied().unwrap_or(edge.1)))
                .collect();
            out.sort_unstable();
            for ((.., index), (x, row)) in out.iter().zip(along(*spot, out.len()).into_iter().zip(0..)) {
                ports.leaving.insert(*index, (x, row));
            }
            let mut into: Vec<_> = edges()
                .filter(|(_, edge)| edge.1 == node)
                .map(|(index, edge)| key(index, layered.through[index].last().copied().unwrap_or(edge.0)))
                .collect();
            into.sort_unstable();
            // What comes along one side comes by one lane, and enters at one place.
            let mut places: Vec<(EdgeSide, Option<usize>)> =
                into.iter().map(|(side, _, index)| (*side, (*side == EdgeSide::None).then_some(*index))).collect();
            places.dedup();
            let xs = along(*spot, places.len());
            for (side, _, index) in into {
                let place = (side, (side == EdgeSide::None).then_some(index));
                let at = places.iter().position(|other| *other == place).unwrap_or_default();
                ports.entering.insert(index, xs[at]);
            }
        }
        ports
    }
}

/// So many places along a box, evenly apart.
fn along(spot: BoxPosition, count: usize) -> Vec<i64> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    (1..=count).map(|index| spot.left + spot.width * index / (count + 1)).collect()
}
