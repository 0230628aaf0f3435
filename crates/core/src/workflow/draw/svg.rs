//! SVG pictures of workflows that need no other file and are readable in light and dark.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::layout::{BoxGraph, BoxPosition, EdgePath, EdgeSide, GraphLayout, HEIGHT, layout};
use super::{edges, has_end};
use crate::workflow::definition::{RouteTarget, StepWork, Workflow, WorkflowStep};
use crate::workflow::name::StepId;

/// How wide a box is at least and at most.
const NARROWEST: i64 = 120;
const WIDEST: i64 = 250;
/// The same for a gate.
const NARROWEST_GATE: i64 = 160;
const WIDEST_GATE: i64 = 320;
/// How wide a label is at most.
const WIDEST_LABEL: i64 = 150;

/// Scoped to the picture, so that it changes nothing on a page that it is put into.
const STYLE: &str = "\
.mg{--page:#fff;--ink:#1b1f24;--soft:#57606a;--line:#6e7781;--agent:#ddf4ff;--dispatch:#e6ddff;--engine:#f0f2f4;\
--ask:#fff1c9;--decide:#ffe3d3;--end:#dafbe1;--now:#bf3989;font:13px system-ui,sans-serif}
@media (prefers-color-scheme:dark){.mg{--page:#0d1117;--ink:#e6edf3;--soft:#9da7b3;--line:#8b949e;--agent:#0c2d4f;\
--dispatch:#31235e;--engine:#22272e;--ask:#4a3a00;--decide:#5a2a12;--end:#0f3d20;--now:#ff7bc8}}
.mg .page{fill:var(--page)}
.mg .shape{stroke:var(--line);stroke-width:1.2}
.mg .detail{fill:none;stroke:var(--line)}
.mg .agent .shape{fill:var(--agent)}
.mg .dispatch .shape{fill:var(--dispatch)}
.mg .command .shape,.mg .output .shape,.mg .set .shape,.mg .call .shape{fill:var(--engine)}
.mg .question .shape{fill:var(--ask)}
.mg .conditional .shape,.mg .gate .shape{fill:var(--decide)}
.mg .end .shape{fill:var(--end)}
.mg .visited .shape{stroke:var(--ink);stroke-width:2}
.mg .current .shape{stroke:var(--now);stroke-width:4}
.mg text{fill:var(--ink);text-anchor:middle}
.mg .kind{fill:var(--soft);font-size:11px}
.mg .way{fill:none;stroke:var(--line);stroke-width:1.3;stroke-linejoin:round}
.mg .back{stroke-dasharray:5 3}
.mg .label{font-size:11px;paint-order:stroke;stroke:var(--page);stroke-width:4px;stroke-linejoin:round}
.mg .tip{fill:var(--line)}
";

/// What a picture shows beside the workflow.
#[derive(Debug, Clone, Default)]
pub struct GraphMarks {
    /// The step that a run is at.
    pub current: Option<StepId>,
    /// The steps that were visited, with how often.
    pub visited: BTreeMap<StepId, u32>,
    /// The ways that were taken; nothing where no run is shown.
    pub taken: Option<BTreeSet<(StepId, StepId)>>,
    /// The step that is selected.
    pub selected: Option<StepId>,
}

/// What a picture is made for.
#[derive(Clone, Copy)]
enum PictureUse<'u> {
    /// A file, which needs no other.
    File,
    /// A page that has its own style sheet; each step leads to an address.
    Page(&'u dyn Fn(&StepId) -> String),
}

/// The picture of a workflow: the current step of a run set apart, and those that were visited, with how often.
pub fn draw_svg(workflow: &Workflow, current: Option<&StepId>, visited: &BTreeMap<StepId, u32>) -> String {
    let marks = GraphMarks { current: current.cloned(), visited: visited.clone(), ..GraphMarks::default() };
    draw_picture(workflow, &marks, PictureUse::File)
}

/// The picture of a workflow for a page, which has the styles; each step is a link to the address of it.
pub fn draw_linked_svg(workflow: &Workflow, marks: &GraphMarks, address: &dyn Fn(&StepId) -> String) -> String {
    draw_picture(workflow, marks, PictureUse::Page(address))
}

fn draw_picture(workflow: &Workflow, marks: &GraphMarks, used: PictureUse<'_>) -> String {
    let ended = has_end(workflow);
    let boxes = workflow.steps.iter().map(|step| StepFigure::of(step, workflow, marks, used));
    let boxes: Vec<StepFigure> = boxes.chain(ended.then(StepFigure::end)).collect();
    let index = |target: &RouteTarget| match target {
        RouteTarget::Step(id) => workflow.number(id).map(|number| number - 1),
        RouteTarget::End => ended.then_some(boxes.len() - 1),
    };
    let mut graph = BoxGraph {
        widths: boxes.iter().map(|shape| shape.width).collect(),
        edges: Vec::new(),
        start: workflow.number(&workflow.start).map_or(0, |number| number - 1),
    };
    let (mut labels, mut taken) = (Vec::new(), Vec::new());
    for (from, step) in workflow.steps.iter().enumerate() {
        for (target, words) in edges(step) {
            if let Some(to) = index(target) {
                graph.edges.push((from, to));
                labels.push(words);
                taken.push(is_taken(marks, &step.id, target));
            }
        }
    }
    let layout = layout(&graph);
    let described = graph
        .edges
        .iter()
        .zip(&labels)
        .map(|((from, to), label)| format!("{} leads to {} with {label}.", boxes[*from].title, boxes[*to].title));
    let mut text = opening(&layout, workflow, &described.collect::<Vec<_>>().join(" "), used);
    for (way, taken) in layout.ways.iter().zip(&taken) {
        text.push_str(&line(way, *taken));
    }
    for (shape, spot) in boxes.iter().zip(&layout.spots) {
        text.push_str(&shape.draw(*spot));
    }
    for (way, words) in layout.ways.iter().zip(&labels) {
        text.push_str(&label(way, words));
    }
    text.push_str("</svg>\n");
    text
}

/// Whether a run took a way; nothing where no run is shown.
fn is_taken(marks: &GraphMarks, from: &StepId, target: &RouteTarget) -> Option<bool> {
    let taken = marks.taken.as_ref()?;
    Some(match target {
        RouteTarget::Step(to) => taken.contains(&(from.clone(), to.clone())),
        RouteTarget::End => false,
    })
}

fn opening(layout: &GraphLayout, workflow: &Workflow, described: &str, used: PictureUse<'_>) -> String {
    let GraphLayout { width, height, .. } = layout;
    let count = workflow.steps.len();
    // What has links in it is no picture to a screen reader.
    let role = if matches!(used, PictureUse::File) { "img" } else { "group" };
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"mg\" role=\"{role}\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n"
    );
    let _ = writeln!(text, "<title>Workflow {}</title>", escape(&workflow.name));
    let _ = writeln!(text, "<desc>{count} steps. {}</desc>", escape(described));
    if matches!(used, PictureUse::File) {
        let _ = write!(text, "<style>\n{STYLE}</style>\n");
    }
    let _ = writeln!(text, "<rect class=\"page\" width=\"{width}\" height=\"{height}\"/>");
    text
}

/// A step as it is drawn.
struct StepFigure {
    title: String,
    /// What stands below the title.
    note: String,
    kind: &'static str,
    classes: String,
    width: i64,
    /// Where it leads.
    address: Option<String>,
}

impl StepFigure {
    fn of(step: &WorkflowStep, workflow: &Workflow, marks: &GraphMarks, used: PictureUse<'_>) -> Self {
        let kind = step.work.word();
        let visits = marks.visited.get(&step.id).copied().unwrap_or_default();
        let often = if visits > 1 { format!(" · {visits}×") } else { String::new() };
        let number = workflow.number(&step.id).unwrap_or_default();
        let mut classes = format!("{kind} {}", if visits > 0 { "visited" } else { "open" });
        if marks.current.as_ref() == Some(&step.id) {
            classes.push_str(" current");
        }
        if marks.selected.as_ref() == Some(&step.id) {
            classes.push_str(" selected");
        }
        let ending = match step.work {
            StepWork::End { status, .. } => format!(" · {}", status.as_str()),
            _ => String::new(),
        };
        let address = match used {
            PictureUse::File => None,
            PictureUse::Page(address) => Some(address(&step.id)),
        };
        Self { address, ..Self::new(step.title.clone(), format!("{number} · {kind}{ending}{often}"), kind, classes) }
    }

    fn end() -> Self {
        Self::new("end".to_owned(), "success".to_owned(), "end", "end open".to_owned())
    }

    fn new(title: String, note: String, kind: &'static str, classes: String) -> Self {
        let inner = measure(&title, 7).max(measure(&note, 6));
        let width = match kind {
            // A third of a diamond is corners.
            "gate" => (inner * 3 / 2 + 16).clamp(NARROWEST_GATE, WIDEST_GATE),
            _ => (inner + 44).clamp(NARROWEST, WIDEST),
        };
        Self { width, title, note, kind, classes, address: None }
    }

    fn draw(&self, spot: BoxPosition) -> String {
        let BoxPosition { left, top, width } = spot;
        let (right, bottom, middle) = (left + width, spot.bottom(), left + width / 2);
        let half = top + HEIGHT / 2;
        let rect = |radius: i64| {
            format!(
                "<rect class=\"shape\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{HEIGHT}\" rx=\"{radius}\"/>"
            )
        };
        let shape = match self.kind {
            "agent" => rect(10),
            "end" => rect(HEIGHT / 2),
            "question" => {
                format!("<path class=\"shape\" d=\"M{} {top}H{right}L{} {bottom}H{left}Z\"/>", left + 14, right - 14)
            }
            "gate" => {
                // A diamond with room for its words, and for ways to begin and end.
                let (a, b) = (left + width / 4, right - width / 4);
                format!("<path class=\"shape\" d=\"M{left} {half}L{a} {top}H{b}L{right} {half}L{b} {bottom}H{a}Z\"/>")
            }
            "conditional" => {
                let (a, b) = (left + 16, right - 16);
                format!("<path class=\"shape\" d=\"M{a} {top}H{b}L{right} {half}L{b} {bottom}H{a}L{left} {half}Z\"/>")
            }
            "dispatch" | "call" => {
                let (a, b) = (left + 7, right - 7);
                format!("{}<path class=\"detail\" d=\"M{a} {top}V{bottom}M{b} {top}V{bottom}\"/>", rect(3))
            }
            _ => rect(3),
        };
        let (room, note_room) =
            if self.kind == "gate" { (width * 2 / 3, width * 2 / 3) } else { (width - 40, width - 36) };
        let title = escape(&fit_text(&self.title, room, 7));
        let note = escape(&fit_text(&self.note, note_room, 6));
        let figure = format!(
            "<g class=\"{}\"><title>{}</title>{shape}<text x=\"{middle}\" y=\"{}\">{title}</text>\
             <text class=\"kind\" x=\"{middle}\" y=\"{}\">{note}</text></g>",
            self.classes,
            escape(&self.title),
            top + 24,
            top + 41,
        );
        match &self.address {
            Some(address) => format!("<a href=\"{}\">{figure}</a>\n", escape(address)),
            None => format!("{figure}\n"),
        }
    }
}

/// A line with its arrow. What is slanted is drawn as a curve that begins and ends upright.
fn line(way: &EdgePath, taken: Option<bool>) -> String {
    let mut path = String::new();
    let mut before: Option<(i64, i64)> = None;
    for (x, y) in &way.points {
        let _ = match before {
            None => write!(path, "M{x} {y}"),
            Some((a, b)) if a != *x && b != *y => {
                let between = i64::midpoint(b, *y);
                write!(path, "C{a} {between} {x} {between} {x} {y}")
            }
            Some(_) => write!(path, "L{x} {y}"),
        };
        before = Some((*x, *y));
    }
    let (x, y) = before.unwrap_or_default();
    let class = match (taken, way.side) {
        (Some(true), _) => "way taken",
        (Some(false), _) => "way open",
        (None, EdgeSide::Right) => "way back",
        (None, _) => "way",
    };
    format!("<path class=\"{class}\" d=\"{path}\"/><path class=\"tip\" d=\"M{x} {y}l-4 -8h8Z\"/>\n")
}

fn label(way: &EdgePath, words: &str) -> String {
    let (x, y) = way.label;
    let short = escape(&fit_text(words, WIDEST_LABEL, 6));
    format!("<text class=\"label\" x=\"{x}\" y=\"{y}\"><title>{}</title>{short}</text>\n", escape(words))
}

/// About how wide a text is when most letters are this wide.
fn measure(text: &str, letter: i64) -> i64 {
    text.chars().map(|c| advance(c, letter)).sum()
}

fn advance(c: char, letter: i64) -> i64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | '\'' | '|' => letter / 2 + 1,
        'm' | 'w' | 'A'..='Z' => letter + 2,
        // Scripts whose letters fill a square.
        '\u{1100}'.. => letter * 2,
        _ => letter,
    }
}

/// As much of a text as there is room for.
fn fit_text(text: &str, room: i64, letter: i64) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if measure(&text, letter) <= room {
        return text;
    }
    let mut used = letter * 2;
    let kept: String = text
        .chars()
        .take_while(|c| {
            used += advance(*c, letter);
            used <= room
        })
        .collect();
    format!("{}…", kept.trim_end())
}

/// A text that can stand between tags.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::load::{LoadEnvironment, load_workflow};

    const EXAMPLE: &str = include_str!("../../../../../examples/reviewed-change/workflow.yaml");

    fn workflow(text: &str) -> Workflow {
        let (workflow, findings) = load_workflow(text, &LoadEnvironment::none());
        workflow.unwrap_or_else(|| panic!("{findings:?}"))
    }

    #[test]
    fn the_example_is_drawn_with_where_a_run_is() {
        let id = |text: &str| StepId::parse(text).unwrap();
        let visited = BTreeMap::from([(id("work"), 2), (id("plan"), 1), (id("look"), 1)]);
        insta::assert_snapshot!(draw_svg(&workflow(EXAMPLE), Some(&id("look")), &visited));
    }

    #[test]
    fn titles_and_conditions_stay_text() {
        let text = "name: w\nvariables: {n: {type: int, default: 0}}\nsteps:\n- {id: a, type: agent, title: '</text><script>\"&\u{1f600}', next: {ok: b, fail: end}}\n- {id: b, type: conditional, cases: [{when: n < 3, next: a}], else: end, max_visits: 3, next: {exhausted: end}}\n";
        let drawn = draw_svg(&workflow(text), None, &BTreeMap::new());
        assert!(!drawn.contains("<script"), "{drawn}");
        assert!(drawn.contains("&lt;/text&gt;&lt;script&gt;&quot;&amp;"), "{drawn}");
        assert!(drawn.contains("n &lt; 3"), "{drawn}");
        assert_eq!(drawn, draw_svg(&workflow(text), None, &BTreeMap::new()));
    }

    #[test]
    fn on_a_page_steps_are_links_and_the_page_has_the_styles() {
        let text = "name: w\nsteps:\n- {id: a, type: agent, next: {ok: b, fail: end}}\n- {id: b, type: agent, next: {ok: end, fail: end}}\n";
        let id = |text: &str| StepId::parse(text).unwrap();
        let marks = GraphMarks {
            current: Some(id("b")),
            visited: BTreeMap::from([(id("a"), 2), (id("b"), 1)]),
            taken: Some(BTreeSet::from([(id("a"), id("b"))])),
            selected: Some(id("a")),
        };
        let drawn = draw_linked_svg(&workflow(text), &marks, &|step| format!("/w?step={step}&\"<"));
        assert!(!drawn.contains("<style") && !drawn.contains("style="), "{drawn}");
        assert!(drawn.contains("<a href=\"/w?step=a&amp;&quot;&lt;\""), "{drawn}");
        for class in ["way taken", "way open", " current\"", " selected\""] {
            assert!(drawn.contains(class), "{class}: {drawn}");
        }
    }

    #[test]
    fn a_long_text_ends_with_a_mark_where_its_room_ends() {
        assert_eq!(fit_text("short", 100, 7), "short");
        let cut = fit_text("something that is much too long for its box", 100, 7);
        assert!(cut.ends_with('…') && measure(&cut, 7) <= 110, "{cut}");
    }
}
