//! Folders of site-nine: skills for OpenCode, and handoffs between roles.

use super::{ImportAct, ImportItem, ImportPlan, entries, files_with, read_text};
use crate::args::ImportSource;
use crate::host::world::World;
use crate::output::screen::count;

/// The skills that are built in as workflows.
const BUILT_IN: [&str; 5] = ["session-start", "session-end", "task-management", "tasks-report", "handoff-workflow"];
/// Where the handoffs are, and where they go.
const HANDOFFS: &str = ".opencode/work/sessions/handoffs";
const TARGET: &str = ".maestro/handoffs/site-nine";

pub(super) fn look(world: &World) -> ImportPlan {
    let mut plan = ImportPlan::new(ImportSource::SiteNine);
    let project = &world.places.project;
    let is_site_nine = project.join(".opencode/data/project.db").exists()
        || project.join(HANDOFFS).is_dir()
        || BUILT_IN.iter().any(|name| project.join(".opencode/skills").join(name).join("SKILL.md").is_file());
    if !is_site_nine {
        return plan;
    }
    let names: Vec<String> = entries(&project.join(".opencode/skills"))
        .iter()
        .filter(|path| path.join("SKILL.md").is_file())
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    let (hiding, own): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| BUILT_IN.contains(&name.as_str()));
    if !own.is_empty() {
        plan.works.push(format!("{} in .opencode/skills", count(own.len(), "skill", "skills")));
    }
    for name in hiding {
        plan.works.push(format!(
            ".opencode/skills/{name} comes before the built-in workflow of that name; remove it to use that one"
        ));
    }
    for path in files_with(&project.join(HANDOFFS), "md") {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let target = project.join(TARGET).join(&name);
        if target.exists() {
            plan.works.push(format!("{TARGET}/{name} is here already"));
            continue;
        }
        match read_text(&path) {
            Some(text) => plan.items.push(ImportItem {
                what: format!("the handoff {name}, to {TARGET}"),
                act: ImportAct::Write { path: target, text },
            }),
            None => plan.left.push(format!("{HANDOFFS}/{name}: not a text, or too long")),
        }
    }
    for (path, what) in [
        (".opencode/data/project.db", "site-nine's database: missions, tasks and personas have another shape here"),
        (".opencode/work/planning", "plans: run `maestro loop` with the file that has boxes"),
    ] {
        if project.join(path).exists() {
            plan.left.push(format!("{path}: {what}"));
        }
    }
    plan
}
