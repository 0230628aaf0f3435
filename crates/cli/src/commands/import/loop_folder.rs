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
const ELSEWHERE: [(&str, &str); 33] = [
    ("artifact_mode", "prompts, outputs and diffs are kept in `~/.maestro/runs`"),
    ("base_branch", "a run starts from the branch that is checked out"),
    ("claude_retries", "temporary failures are retried by themselves"),
    ("claude_retry_backoff_sec", "retries wait longer each time by themselves"),
    ("claude_timeout_sec", "`task_minutes`"),
    ("completion_mode", "no word ends a run: it is over when no box is open, after checks and review"),
    ("context_files", "name them in the plan's first lines; every prompt has those"),
    ("global_log_dir", "`maestro loop log`, `maestro show RUN`"),
    ("iterations", "`maestro loop --max-tasks N`"),
    ("log_dir", "`maestro loop log`, `maestro show RUN`"),
    ("max_consecutive_review_failures", "work without progress is stopped by itself"),
    ("max_consecutive_verification_failures", "work without progress is stopped by itself"),
    ("merge_strategy", "`maestro merge`"),
    ("merge_target_branch", "`maestro merge` merges into the branch that is checked out"),
    ("model", "the agent's own setting, or `tail` in agents.toml"),
    ("plans_dir", "name the plan: `maestro loop PLAN.md`"),
    ("postmortem", "`maestro show RUN`, or `maestro workflow start problem-analysis`"),
    ("prompt_file", "`.loop/prompt.txt` is read; another file: copy its text there"),
    ("queue_policy", "runs start at once, as many as `maestro up --agents N` allows"),
    ("review_model", "`--reviewer`"),
    ("reviewer", "`--no-review`"),
    ("run_branch_prefix", "branches are called `maestro/…`"),
    ("run_naming_mode", "a run is named by its plan"),
    ("run_naming_model", "a run is named by its plan"),
    ("specs_dir", "name the file in the plan's first lines; every prompt has those"),
    ("summary_json", "`maestro show RUN --json`"),
    ("verify_timeout_sec", "checks end with their task's limit, `task_minutes`"),
    ("worktree_cleanup", "`maestro merge` and `maestro discard` remove the worktree"),
    ("worktree_path_template", "worktrees are in `.maestro/worktrees`"),
    ("worktree_provider", "worktrees are made with git"),
    ("worktrunk_bin", "worktrees are made with git"),
    ("worktrunk_config_path", "worktrees are made with git"),
    ("worktrunk_copy_ignored", "`.worktreeinclude` names ignored files to copy"),
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
