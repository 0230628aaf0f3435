//! Script workflows (`python3 … --step N --total-steps M`): each becomes a workflow to start from. Nothing is executed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use maestro_skills::valid_name;
use serde_json::Value as Json;

use super::python_steps::{PythonStep, read_steps};
use super::{ImportAct, ImportItem, ImportPlan, entries, read_text};
use crate::args::ImportSource;
use crate::host::world::World;
use crate::output::screen::count;

/// Where such scripts are.
const FOLDERS: [&str; 2] = [".claude/skills", "skills"];
/// How deep a script may lie.
const DEPTH: usize = 6;
/// The folder for the workflows.
const TARGET: &str = ".maestro/skills";

pub(super) fn look(world: &World) -> ImportPlan {
    let mut plan = ImportPlan::new(ImportSource::Scripts);
    let project = &world.places.project;
    let mut scripts = Vec::new();
    for folder in FOLDERS {
        collect(&project.join(folder), DEPTH, &mut scripts);
    }
    for path in scripts {
        let Some(text) = read_text(&path).filter(|text| text.contains("--step")) else { continue };
        let shown = world.display_path(&path);
        let steps = read_steps(&text);
        if steps.is_empty() {
            plan.left.push(format!("{shown}: its steps are computed and cannot be read without running it"));
            continue;
        }
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let name = format!("{}-steps", valid_name(&stem));
        let target = project.join(TARGET).join(&name).join("workflow.yaml");
        if target.symlink_metadata().is_ok() {
            plan.works.push(format!("{TARGET}/{name} is here already"));
            continue;
        }
        let what = format!("{shown} with {}, to {TARGET}/{name}", count(steps.len(), "step", "steps"));
        plan.items
            .push(ImportItem { what, act: ImportAct::Write { path: target, text: definition(&name, &shown, &steps) } });
        plan.left.push(format!("{shown}: handlers, conditions and sub-agents; add them to {TARGET}/{name}"));
    }
    plan
}

/// The Python files below a folder.
fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for path in entries(folder) {
        if path.is_dir() && depth > 0 {
            collect(&path, depth - 1, found);
        } else if path.extension().is_some_and(|end| end == "py") && found.len() < 1_000 {
            found.push(path);
        }
    }
}

/// The workflow: one agent step for each, in their order.
fn definition(name: &str, script: &str, steps: &[PythonStep]) -> String {
    let ids = unique_ids(steps);
    let mut text = format!(
        "# Taken from {script}: titles and actions of its steps, in their order. Add what its code does:\n\
         # outcomes that lead elsewhere, gates, sub-agents. `maestro workflow check {TARGET}/{name}` finds mistakes.\n\
         workflow: 1\nname: {name}\ndescription: {}\n\
         params:\n  task: {{type: string, default: \"\", max_length: 8000, description: What it is to be used for}}\nsteps:\n",
        quoted(&format!("The steps of {script}. Use when a task asks for them by name."))
    );
    for (index, step) in steps.iter().enumerate() {
        let next = ids.get(index + 1).map_or("end", String::as_str);
        let title = if step.title.is_empty() { &ids[index] } else { &step.title };
        let _ = writeln!(text, "  - id: {}\n    type: agent\n    title: {}", ids[index], quoted(title));
        if index == 0 {
            text.push_str("    description: \"{task}\"\n");
        }
        let actions: Vec<&String> = step.actions.iter().filter(|action| !action.trim().is_empty()).collect();
        if !actions.is_empty() {
            text.push_str("    actions:\n");
        }
        for action in actions {
            let _ = writeln!(text, "      - {}", quoted(&braces(action)));
        }
        let _ = writeln!(text, "    next: {{ok: {next}, fail: failed}}");
    }
    text.push_str("  - {id: failed, type: end, status: failure}\n");
    text
}

/// An id for each step: its own, else its title, made valid and unique.
fn unique_ids(steps: &[PythonStep]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let wanted = if step.id.is_empty() { &step.title } else { &step.id };
        let mut id = valid_name(wanted);
        let is_taken = |id: &String| ids.contains(id) || id == "failed" || id == "end";
        if !id.starts_with(|c: char| c.is_ascii_lowercase()) || is_taken(&id) || id.len() > 40 {
            id = format!("step-{}", index + 1);
        }
        ids.push(id);
    }
    ids
}

/// A text as YAML reads it, whatever it holds; JSON quoting is valid YAML.
fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}

/// A text in which no brace is a placeholder.
fn braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}
