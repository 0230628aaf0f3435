//! Layout of a graph: the position of every step and the path of every edge.
//!
//! Steps stand in layers, each below all that lead to it. What leads back, or far ahead, is taken along the side, on one
//! lane for each place it leads to. All numbers are whole pixels, and the same graph always looks the same.

mod cell_positions;
mod edge_routes;
mod layers;

/// A graph of boxes.
#[derive(Debug, Clone, Default)]
pub(super) struct BoxGraph {
    /// How wide each box is.
    pub(super) widths: Vec<i64>,
    /// From which box to which; no edge stands there twice.
    pub(super) edges: Vec<(usize, usize)>,
    /// The box at the top.
    pub(super) start: usize,
}

/// How tall every box is.
pub(super) const HEIGHT: i64 = 54;
/// How far a line of labels is from the next.
pub(super) const ROW: i64 = 16;
/// What stays free around everything.
const MARGIN: i64 = 20;

/// A box: its corner and how wide it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BoxPosition {
    pub(super) left: i64,
    pub(super) top: i64,
    pub(super) width: i64,
}

impl BoxPosition {
    pub(super) fn bottom(self) -> i64 {
        self.top + HEIGHT
    }
}

/// The way of an edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EdgePath {
    /// Where it turns; the first point is on the lower border of a box, the last on the upper border of another.
    pub(super) points: Vec<(i64, i64)>,
    /// The middle of its label.
    pub(super) label: (i64, i64),
    /// Which side it is taken along.
    pub(super) side: EdgeSide,
}

/// Along which side an edge is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EdgeSide {
    /// The left: it leads far ahead.
    Left,
    /// None: it leads to one of the next layers.
    None,
    /// The right: it leads back.
    Right,
}

/// Where everything is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GraphLayout {
    pub(super) spots: Vec<BoxPosition>,
    /// In the order of the edges.
    pub(super) ways: Vec<EdgePath>,
    pub(super) width: i64,
    pub(super) height: i64,
}

/// Lays a graph out.
pub(super) fn layout(graph: &BoxGraph) -> GraphLayout {
    let layered = layers::assign_layers(graph);
    let placed = cell_positions::place_cells(graph, &layered);
    edge_routes::route_edges(graph, &layered, &placed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A graph of up to 60 boxes, each reached from one before it, with further edges anywhere.
    fn graphs() -> impl Strategy<Value = BoxGraph> {
        let boxes = proptest::collection::vec((60i64..240, any::<prop::sample::Index>()), 1..60);
        let more = proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..80);
        (boxes, more).prop_map(|(boxes, more)| {
            let count = boxes.len();
            let reached = (1..count).map(|to| (boxes[to].1.index(to), to));
            let mut edges: Vec<(usize, usize)> =
                reached.chain(more.iter().map(|(from, to)| (from.index(count), to.index(count)))).collect();
            edges.sort_unstable();
            edges.dedup();
            BoxGraph { widths: boxes.iter().map(|(width, _)| *width).collect(), edges, start: 0 }
        })
    }

    fn overlap(a: BoxPosition, b: BoxPosition) -> bool {
        let apart = a.left + a.width <= b.left || b.left + b.width <= a.left;
        !apart && a.bottom() > b.top && b.bottom() > a.top
    }

    /// Whether an upright or level piece of a way goes through a box.
    fn through((a, b): ((i64, i64), (i64, i64)), spot: BoxPosition) -> bool {
        let straight = a.0 == b.0 || a.1 == b.1;
        let beside = a.0.max(b.0) <= spot.left || a.0.min(b.0) >= spot.left + spot.width;
        straight && !beside && a.1.max(b.1) > spot.top && a.1.min(b.1) < spot.bottom()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn no_boxes_overlap_and_every_edge_is_drawn_beside_them(graph in graphs()) {
            let GraphLayout { spots, ways, width, height } = layout(&graph);
            prop_assert_eq!(spots.len(), graph.widths.len());
            prop_assert_eq!(ways.len(), graph.edges.len());
            for (index, spot) in spots.iter().enumerate() {
                prop_assert_eq!(spot.width, graph.widths[index]);
                prop_assert!(spot.left >= 0 && spot.top >= 0 && spot.left + spot.width <= width && spot.bottom() <= height);
                prop_assert!(spots[..index].iter().all(|other| !overlap(*spot, *other)), "{index}: {spots:?}");
            }
            for (way, (from, to)) in ways.iter().zip(&graph.edges) {
                let (first, last) = (way.points[0], way.points[way.points.len() - 1]);
                let touches = |spot: BoxPosition, x: i64| (spot.left..=spot.left + spot.width).contains(&x);
                prop_assert!(first.1 == spots[*from].bottom() && touches(spots[*from], first.0), "{way:?}");
                prop_assert!(last.1 == spots[*to].top && touches(spots[*to], last.0), "{way:?}");
                prop_assert!(way.points.iter().all(|(x, y)| (0..=width).contains(x) && (0..=height).contains(y)), "{way:?}");
                for piece in way.points.windows(2).map(|pair| (pair[0], pair[1])) {
                    prop_assert!(spots.iter().all(|spot| !through(piece, *spot)), "{piece:?} of {way:?} in {spots:?}");
                    // What is neither upright nor level stays between two layers.
                    let slanted = piece.0.0 != piece.1.0 && piece.0.1 != piece.1.1;
                    let free = |spot: &BoxPosition| spot.bottom() <= piece.0.1 || spot.top >= piece.1.1;
                    prop_assert!(!slanted || spots.iter().all(free), "{piece:?}");
                }
            }
            prop_assert_eq!(layout(&graph), GraphLayout { spots, ways, width, height });
        }
    }

    #[test]
    fn a_loop_is_taken_along_the_right_and_a_leap_along_the_left() {
        let mut edges: Vec<(usize, usize)> = (0..6).map(|from| (from, from + 1)).collect();
        edges.extend([(3, 1), (0, 6), (2, 2)]);
        let layout = layout(&BoxGraph { widths: vec![100; 7], edges, start: 0 });
        let sides: Vec<EdgeSide> = layout.ways[6..].iter().map(|way| way.side).collect();
        assert_eq!(sides, [EdgeSide::Right, EdgeSide::Left, EdgeSide::Right]);
        assert!(layout.spots.windows(2).all(|pair| pair[0].left == pair[1].left && pair[0].bottom() < pair[1].top));
    }
}
