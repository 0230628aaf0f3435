//! loopd's `.loop` folder: its config as settings of the project.

use std::fmt::Write as _;

use maestro_core::Settings;
use maestro_core::settings::{ConfigText, SettingKey, SettingOrigin, SettingsLayer};
use serde_json::json;

use super::{ImportAct, ImportItem, ImportPlan, read_text};
use crate::args::ImportSource;
use crate::host::config;
use crate::host::world::World;

/// Keys of loopd that no setting replaces, with what does the same here.
const ELSEWHERE: [(&str, &str); 14] = [
    ("base_branch", "a run starts from the branch that is checked out"),
    ("claude_retries", "temporary failures are retried by themselves"),
    ("claude_timeout_sec", "`task_minutes`"),
    ("context_files", "name them in the plan's first lines; every prompt has those"),
    ("iterations", "`maestro loop --max-tasks N`"),
    ("log_dir", "`maestro loop log`, `maestro show RUN`"),
    ("max_consecutive_verification_failures", "work without progress is stopped by itself"),
    ("merge_strategy", "`maestro merge`"),
    ("merge_target_branch", "`maestro merge` merges into the branch that is checked out"),
    ("model", "the agent's own setting, or `model` in agents.toml"),
    ("plans_dir", "name the plan: `maestro loop PLAN.md`"),
    ("review_model", "`--reviewer`"),
    ("reviewer", "`--no-review`"),
    ("verify_timeout_sec", "checks end with their task's limit, `task_minutes`"),
];

pub(super) fn look(world: &World) -> ImportPlan {
    let mut plan = ImportPlan::new(ImportSource::Loop);
    let folder = world.places.project.join(".loop");
    if folder.join("prompt.txt").is_file() {
        plan.works.push(".loop/prompt.txt is added to every prompt after `maestro trust --config`".to_owned());
    }
    let path = folder.join("config");
    let Some(text) = read_text(&path) else { return plan };
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let Some((name, _)) = line.split_once('=') else { continue };
        let name = name.trim();
        if name == "verify_cmds" || SettingKey::from_word(name).is_some() {
            continue;
        }
        let known = ELSEWHERE.iter().find(|(key, _)| *key == name);
        let instead = known.map_or("nothing here does the same", |(_, instead)| *instead);
        plan.left.push(format!("{name}: {instead}"));
    }
    let layer = SettingsLayer::LoopConfig(ConfigText { path, text });
    let (settings, _) = Settings::from_layers(&world.places, &[layer]);
    let set: Vec<SettingKey> = SettingKey::ALL
        .iter()
        .copied()
        .filter(|key| matches!(settings.get(*key).1, SettingOrigin::File { .. }))
        .collect();
    if set.is_empty() {
        return plan;
    }
    let names: Vec<&str> = set.iter().map(|key| key.as_str()).collect();
    let target = config::project_file(world);
    if target.symlink_metadata().is_ok() {
        let shown = world.display_path(&target);
        plan.works.push(format!("{} of .loop/config count, where {shown} says nothing else", names.join(", ")));
        return plan;
    }
    let lines: Vec<String> = set.iter().map(|key| format!("{} = {}", key.as_str(), settings.get(*key).0)).collect();
    let checks = settings.verify.value.clone();
    let mut what = format!(".maestro/config.toml with {}", names.join(", "));
    if !checks.is_empty() {
        let _ = write!(what, "; allows the checks {}", json!(checks));
    }
    let text = format!("# Maestro's settings for this project, taken from .loop/config.\n{}\n", lines.join("\n"));
    plan.items.push(ImportItem { what, act: ImportAct::WriteConfig { path: target, text, checks } });
    plan
}
