//! Drawing of a workflow as a graph.

mod layout;
mod svg;

use std::fmt::Write as _;

pub use svg::{GraphMarks, draw_linked_svg, draw_svg};

use super::definition::{RouteTarget, StepWork, Workflow, WorkflowStep};
use super::name::StepId;

/// What a graph is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphNotation {
    /// Mermaid's flowcharts.
    Mermaid,
    /// Graphviz.
    Dot,
}

/// The graph of a workflow, the current step of a run set apart.
pub fn draw_graph(workflow: &Workflow, notation: GraphNotation, current: Option<&StepId>) -> String {
    match notation {
        GraphNotation::Mermaid => mermaid(workflow, current),
        GraphNotation::Dot => dot(workflow, current),
    }
}

/// Edges with the outcomes that take them, those with one target drawn once.
fn edges(step: &WorkflowStep) -> Vec<(&RouteTarget, String)> {
    let mut edges: Vec<(&RouteTarget, String)> = Vec::new();
    for (word, route) in step.routes() {
        match edges.iter_mut().find(|(target, _)| **target == route.target) {
            Some((_, words)) => {
                words.push_str(", ");
                words.push_str(&word);
            }
            None => edges.push((&route.target, word)),
        }
    }
    edges
}

/// Whether some way leads to the end that needs no step.
fn has_end(workflow: &Workflow) -> bool {
    workflow.steps.iter().flat_map(WorkflowStep::routes).any(|(_, route)| route.target == RouteTarget::End)
}

/// What stands in the box of a step.
fn label(workflow: &Workflow, step: &WorkflowStep) -> String {
    let is_last = workflow.finally.as_ref().is_some_and(|(last, _)| *last == step.id);
    format!("{}{} · {}", if is_last { "finally: " } else { "" }, step.title, step.work.word())
}

fn mermaid(workflow: &Workflow, current: Option<&StepId>) -> String {
    let number = |id: &StepId| workflow.number(id).unwrap_or_default();
    let name = |target: &RouteTarget| match target {
        RouteTarget::Step(id) => format!("s{}", number(id)),
        RouteTarget::End => "done".to_owned(),
    };
    let mut text = "flowchart TD\n".to_owned();
    for step in &workflow.steps {
        let (open, close) = match step.work {
            StepWork::Question(_) => ("[/", "/]"),
            StepWork::Conditional { .. } | StepWork::Gate(_) => ("{", "}"),
            StepWork::Call(_) | StepWork::Dispatch(_) => ("[[", "]]"),
            StepWork::End { .. } => ("([", "])"),
            StepWork::Agent(_) | StepWork::Command { .. } | StepWork::Output { .. } | StepWork::Set(_) => ("[", "]"),
        };
        let label = mermaid_text(&label(workflow, step));
        let _ = writeln!(text, "    s{}{open}\"{label}\"{close}", number(&step.id));
    }
    if has_end(workflow) {
        text.push_str("    done([\"end\"])\n");
    }
    for step in &workflow.steps {
        for (target, words) in edges(step) {
            let _ = writeln!(text, "    s{} -->|\"{}\"| {}", number(&step.id), mermaid_text(&words), name(target));
        }
    }
    if let Some(step) = current {
        let _ = writeln!(text, "    style s{} stroke-width:4px", number(step));
    }
    text
}

/// A text inside quotes: Mermaid knows entities, and nothing else is needed to be safe.
fn mermaid_text(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '"' => safe.push_str("#quot;"),
            '#' => safe.push_str("#35;"),
            '<' => safe.push_str("#lt;"),
            '>' => safe.push_str("#gt;"),
            '&' => safe.push_str("#amp;"),
            '`' => safe.push_str("#96;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

fn dot(workflow: &Workflow, current: Option<&StepId>) -> String {
    let mut text = format!("digraph \"{}\" {{\n    node [shape=box];\n", dot_text(&workflow.name));
    for step in &workflow.steps {
        let shape = match step.work {
            StepWork::Question(_) => "parallelogram",
            StepWork::Conditional { .. } | StepWork::Gate(_) => "diamond",
            StepWork::Call(_) | StepWork::Dispatch(_) => "component",
            StepWork::End { .. } => "oval",
            StepWork::Agent(_) | StepWork::Command { .. } | StepWork::Output { .. } | StepWork::Set(_) => "box",
        };
        let bold = if current == Some(&step.id) { ", penwidth=4" } else { "" };
        let label = dot_text(&label(workflow, step));
        let _ = writeln!(text, "    \"{}\" [label=\"{label}\", shape={shape}{bold}];", step.id);
    }
    if has_end(workflow) {
        text.push_str("    \"end\" [shape=oval];\n");
    }
    for step in &workflow.steps {
        for (target, words) in edges(step) {
            let target = match target {
                RouteTarget::Step(id) => id.as_str(),
                RouteTarget::End => "end",
            };
            let _ = writeln!(text, "    \"{}\" -> \"{target}\" [label=\"{}\"];", step.id, dot_text(&words));
        }
    }
    text.push_str("}\n");
    text
}

fn dot_text(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace(|c: char| c.is_control(), " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::load::{LoadEnvironment, load_workflow};

    #[test]
    fn a_graph_shows_every_step_and_way_whatever_the_titles_hold() {
        let text = "name: w\nvariables: {n: {type: int, default: 0}}\nsteps:\n- {id: a, type: agent, title: 'Say \"hi\" <b>', next: {ok: b, fail: c}}\n- {id: b, type: conditional, cases: [{when: n > 3, next: end}], else: c}\n- {id: c, type: end, title: Enough}\n";
        let (workflow, findings) = load_workflow(text, &LoadEnvironment::none());
        let workflow = workflow.unwrap_or_else(|| panic!("{findings:?}"));
        let current = StepId::parse("b").unwrap();
        let mermaid = draw_graph(&workflow, GraphNotation::Mermaid, Some(&current));
        let expected = "flowchart TD\n    s1[\"Say #quot;hi#quot; #lt;b#gt; · agent\"]\n    s2{\"b · conditional\"}\n    s3([\"Enough · end\"])\n    done([\"end\"])\n    s1 -->|\"fail\"| s3\n    s1 -->|\"ok\"| s2\n    s2 -->|\"n #gt; 3\"| done\n    s2 -->|\"else\"| s3\n    style s2 stroke-width:4px\n";
        assert_eq!(mermaid, expected);
        let dot = draw_graph(&workflow, GraphNotation::Dot, None);
        assert!(dot.contains("\"a\" [label=\"Say \\\"hi\\\" <b> · agent\", shape=box];"), "{dot}");
        assert!(dot.contains("\"b\" -> \"end\" [label=\"n > 3\"];"), "{dot}");
    }
}
