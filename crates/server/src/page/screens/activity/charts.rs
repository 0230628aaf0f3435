//! Small charts, drawn by the server: bars over days, and bars beside names, each with its table.

#![allow(clippy::cast_precision_loss, reason = "a drawing need not be exact")]

use serde::Serialize;

/// How wide and how high a chart is drawn, in its own units.
const WIDTH: f64 = 280.0;
const HEIGHT: f64 = 64.0;

/// A chart.
#[derive(Debug, Serialize)]
pub(super) struct NumberChart {
    pub(super) id: &'static str,
    title: &'static str,
    note: String,
    /// Whether its bars stand side by side.
    stands: bool,
    bars: Vec<DrawnBar>,
}

/// A number with its name.
#[derive(Debug, Clone)]
pub(super) struct ChartBar {
    pub(super) label: String,
    pub(super) value: f64,
    pub(super) text: String,
}

/// A bar as it is drawn.
#[derive(Debug, Serialize)]
struct DrawnBar {
    label: String,
    text: String,
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

impl NumberChart {
    /// Bars over days.
    pub(super) fn by_day(id: &'static str, title: &'static str, note: String, bars: Vec<ChartBar>) -> Self {
        let most = most_of(&bars);
        let step = WIDTH / bars.len().max(1) as f64;
        let draw = |(index, bar): (usize, ChartBar)| {
            let height = if bar.value > 0.0 { (bar.value / most * HEIGHT).max(2.0) } else { 0.0 };
            let (x, width) = (tenth(step * index as f64), tenth((step - 2.0).max(1.0)));
            DrawnBar { label: bar.label, text: bar.text, x, y: tenth(HEIGHT - height), width, height: tenth(height) }
        };
        Self { id, title, note, stands: true, bars: bars.into_iter().enumerate().map(draw).collect() }
    }

    /// Bars beside names.
    pub(super) fn rows(id: &'static str, title: &'static str, note: String, bars: Vec<ChartBar>) -> Self {
        let most = most_of(&bars);
        let draw = |bar: ChartBar| {
            let width = if bar.value > 0.0 { (bar.value / most * 100.0).max(1.0) } else { 0.0 };
            DrawnBar { label: bar.label, text: bar.text, x: 0.0, y: 0.0, width: tenth(width), height: 8.0 }
        };
        Self { id, title, note, stands: false, bars: bars.into_iter().map(draw).collect() }
    }

    /// Whether there is nothing to see.
    pub(super) fn is_empty(&self) -> bool {
        self.bars.iter().all(|bar| bar.width == 0.0 || bar.height == 0.0)
    }
}

fn most_of(bars: &[ChartBar]) -> f64 {
    bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_bar_fills_its_chart() {
        let bars = [1.0, 4.0, 0.0].map(|value| ChartBar { label: String::new(), value, text: String::new() });
        let chart = NumberChart::by_day("a", "A", String::new(), bars.to_vec());
        assert_eq!(chart.bars.iter().map(|bar| bar.height).collect::<Vec<_>>(), [16.0, 64.0, 0.0]);
        let rows = NumberChart::rows("a", "A", String::new(), bars.to_vec());
        assert_eq!(rows.bars.iter().map(|bar| bar.width).collect::<Vec<_>>(), [25.0, 100.0, 0.0]);
        assert!(NumberChart::rows("a", "A", String::new(), vec![bars[2].clone()]).is_empty());
    }
}
