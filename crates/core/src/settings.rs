//! Settings and the origin of each value.
//!
//! Settings are built from layers of text: defaults, the user's file, the project's files, the environment,
//! flags. Every value remembers where it came from. Reading the files is the caller's business.

mod layer;
mod origin;
mod raw_setting;
mod setting_choices;
mod setting_key;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::problem::{Problem, ProblemCode, ProblemSeverity};
use crate::rollup::DoneStatus;

pub use layer::{ConfigText, SettingsLayer};
pub use origin::{SettingAuthor, SettingOrigin};
pub use raw_setting::expand_home;
pub use setting_choices::{AuthMode, FormsMode, SkillValidation};
pub use setting_key::SettingKey;

/// The most characters of a skill that a prompt may be asked to hold.
const MOST_BODY_CHARS: i64 = 10_000_000;

/// The most tokens that a table of skills may be allowed.
const MOST_BUDGET_TOKENS: i64 = 1_000_000;

/// The default limit of a prompt, in characters.
const PROMPT_CHARS: u32 = 200_000;

/// The smallest useful limit of a prompt, in characters.
const LEAST_PROMPT_CHARS: i64 = 2_000;

/// The largest limit of a prompt, in characters.
const MOST_PROMPT_CHARS: i64 = 10_000_000;

/// The most minutes that a session may be silent: a week.
const MOST_SILENCE_MINUTES: i64 = 7 * 24 * 60;

/// The most days that events may be kept: a century.
const MOST_RETENTION_DAYS: i64 = 36_500;
/// How many automatic backups may be kept.
const MOST_BACKUPS: i64 = 1000;

/// The directories that relative settings are resolved against.
#[derive(Debug, Clone)]
pub struct SettingsDirs {
    /// The user's home.
    pub home: PathBuf,
    /// Where Maestro keeps data of the user, e.g. `~/.local/share/maestro`.
    pub data: PathBuf,
    /// The project: the repository's root, or the working directory outside one.
    pub project: PathBuf,
    /// The working directory.
    pub working_dir: PathBuf,
}

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting<T> {
    /// The value in force.
    pub value: T,
    /// Who set it.
    pub origin: SettingOrigin,
}

/// Every setting with its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// See [`SettingKey::SkillsEnabled`].
    pub skills_enabled: Setting<bool>,
    /// See [`SettingKey::SkillsDirs`]. Entries are as written: `~` and relative paths are search patterns.
    pub skills_dirs: Setting<Vec<String>>,
    /// See [`SettingKey::SkillsExtraDirs`].
    pub skills_extra_dirs: Setting<Vec<String>>,
    /// See [`SettingKey::SkillsBuiltin`].
    pub skills_builtin: Setting<bool>,
    /// See [`SettingKey::SkillsBuiltinDir`]. Absolute.
    pub skills_builtin_dir: Setting<PathBuf>,
    /// See [`SettingKey::SkillsSyncDir`]. Absolute.
    pub skills_sync_dir: Setting<PathBuf>,
    /// See [`SettingKey::SkillsSyncOnStart`].
    pub skills_sync_on_start: Setting<bool>,
    /// See [`SettingKey::SkillsValidation`].
    pub skills_validation: Setting<SkillValidation>,
    /// See [`SettingKey::SkillsIndex`].
    pub skills_index: Setting<bool>,
    /// See [`SettingKey::SkillsMaxSelectedImpl`].
    pub skills_max_selected_impl: Setting<u8>,
    /// See [`SettingKey::SkillsMaxSelectedReview`].
    pub skills_max_selected_review: Setting<u8>,
    /// See [`SettingKey::SkillsLoadReferences`].
    pub skills_load_references: Setting<bool>,
    /// See [`SettingKey::SkillsMaxBodyChars`].
    pub skills_max_body_chars: Setting<usize>,
    /// See [`SettingKey::PromptMaxChars`].
    pub prompt_max_chars: Setting<u32>,
    /// See [`SettingKey::SkillsBudgetTokens`].
    pub skills_budget_tokens: Setting<usize>,
    /// See [`SettingKey::SessionSilenceMinutes`].
    pub session_silence_minutes: Setting<u32>,
    /// See [`SettingKey::TaskWhenDone`].
    pub task_when_done: Setting<DoneStatus>,
    /// See [`SettingKey::EventRetentionDays`].
    pub event_retention_days: Setting<u32>,
    /// See [`SettingKey::BackupsKept`].
    pub backups_kept: Setting<u32>,
    /// See [`SettingKey::Verify`].
    pub agent: Setting<String>,
    /// See [`SettingKey::Verify`].
    pub verify: Setting<Vec<String>>,
    /// See [`SettingKey::WorktreeCopy`].
    pub worktree_copy: Setting<Vec<String>>,
    /// See [`SettingKey::WorktreeSetup`].
    pub worktree_setup: Setting<Vec<String>>,
    /// See [`SettingKey::MergeWhenDone`].
    pub merge_when_done: Setting<bool>,
    /// See [`SettingKey::TaskMinutes`].
    pub task_minutes: Setting<Option<f64>>,
    /// See [`SettingKey::TaskTokens`].
    pub task_tokens: Setting<Option<u64>>,
    /// See [`SettingKey::TaskCost`].
    pub task_cost: Setting<Option<f64>>,
    /// See [`SettingKey::PlanMinutes`].
    pub plan_minutes: Setting<Option<f64>>,
    /// See [`SettingKey::PlanTokens`].
    pub plan_tokens: Setting<Option<u64>>,
    /// See [`SettingKey::PlanCost`].
    pub plan_cost: Setting<Option<f64>>,
    /// See [`SettingKey::ToolPrefix`].
    pub tool_prefix: Setting<String>,
    /// See [`SettingKey::McpForms`].
    pub mcp_forms: Setting<FormsMode>,
    /// See [`SettingKey::Auth`].
    pub auth: Setting<AuthMode>,
}

const DIRS: [&str; 4] = [".agent/skills", "~/.agent/skills", ".claude/skills", "~/.claude/skills"];

const EXTRA_DIRS: [&str; 10] = [
    ".agents/skills",
    "~/.agents/skills",
    ".opencode/skills",
    "~/.config/opencode/skills",
    ".cursor/skills",
    ".aider/skills",
    ".skills",
    ".maestro/skills",
    "~/.skills",
    "~/.maestro/skills",
];

/// The last extra directory, unless the environment names another with `SKILLS_DIR`.
const SHARED_DIR: &str = "~/.agents-ui/maestro-skills";

impl Settings {
    /// The default settings.
    pub fn defaults(places: &SettingsDirs) -> Self {
        fn default<T>(value: T) -> Setting<T> {
            Setting { value, origin: SettingOrigin::Default }
        }
        Self {
            skills_enabled: default(false),
            skills_dirs: default(DIRS.map(str::to_owned).to_vec()),
            skills_extra_dirs: default(EXTRA_DIRS.into_iter().chain([SHARED_DIR]).map(str::to_owned).collect()),
            skills_builtin: default(true),
            skills_builtin_dir: default(places.project.join("skills")),
            skills_sync_dir: default(places.data.join("skills")),
            skills_sync_on_start: default(true),
            skills_validation: default(SkillValidation::Lenient),
            skills_index: default(true),
            skills_max_selected_impl: default(2),
            skills_max_selected_review: default(1),
            skills_load_references: default(false),
            skills_max_body_chars: default(20_000),
            prompt_max_chars: default(PROMPT_CHARS),
            skills_budget_tokens: default(4_000),
            session_silence_minutes: default(15),
            task_when_done: default(DoneStatus::Complete),
            event_retention_days: default(30),
            backups_kept: default(7),
            agent: default(String::new()),
            verify: default(Vec::new()),
            worktree_copy: default(Vec::new()),
            worktree_setup: default(Vec::new()),
            merge_when_done: default(false),
            task_minutes: default(None),
            task_tokens: default(None),
            task_cost: default(None),
            plan_minutes: default(None),
            plan_tokens: default(None),
            plan_cost: default(None),
            tool_prefix: default(String::new()),
            mcp_forms: default(FormsMode::Auto),
            auth: default(AuthMode::Local),
        }
    }

    /// The settings that result from `layers`, later ones winning, and everything wrong with them.
    ///
    /// A problem of severity error means that a value was left at what the layers below say.
    pub fn from_layers(places: &SettingsDirs, layers: &[SettingsLayer]) -> (Self, Vec<Problem>) {
        let mut settings = Self::defaults(places);
        let mut problems = Vec::new();
        for layer in layers {
            if let SettingsLayer::Environment(variables) = layer {
                settings.use_shared_dir(variables.get("SKILLS_DIR"));
            }
            for entry in layer.entries(&mut problems) {
                if let Err(problem) = settings.assign(&entry, layer, places) {
                    problems.push(problem);
                }
            }
        }
        (settings, problems)
    }

    fn use_shared_dir(&mut self, directory: Option<&String>) {
        let shared = self.skills_extra_dirs.value.iter_mut().find(|entry| *entry == SHARED_DIR);
        if let (Some(shared), Some(directory)) = (shared, directory.filter(|text| !text.is_empty())) {
            shared.clone_from(directory);
            self.skills_extra_dirs.origin = SettingOrigin::Variable("SKILLS_DIR".to_owned());
        }
    }

    fn assign(
        &mut self,
        entry: &layer::LayerEntry,
        layer: &SettingsLayer,
        places: &SettingsDirs,
    ) -> Result<(), Problem> {
        let raw = &entry.raw;
        let misfit = |misfit: raw_setting::SettingMismatch| {
            entry.place.problem(
                ProblemCode::ConfigInvalid,
                ProblemSeverity::Error,
                format!("`{}` is {}", entry.key.as_str(), misfit.found),
                format!("it must be {}", misfit.expected),
            )
        };
        if layer.comes_with_project()
            && matches!(entry.key, SettingKey::Auth | SettingKey::EventRetentionDays | SettingKey::BackupsKept)
        {
            return Err(entry.place.problem(
                ProblemCode::ConfigInvalid,
                ProblemSeverity::Error,
                format!("a project may not set `{}`", entry.key.as_str()),
                "set it in your own config.toml: it holds for everything that is stored, of all projects",
            ));
        }
        let path = || raw.path(&places.home, layer::base(layer, &places.project, &places.working_dir));
        macro_rules! set {
            ($field:ident, $value:expr) => {
                self.$field = Setting { value: $value.map_err(misfit)?, origin: entry.origin.clone() }
            };
        }
        let tokens = || raw.count::<u64>(i64::MAX).map(|tokens| Some(tokens).filter(|tokens| *tokens > 0));
        // Checking out a project must not raise the cost of its work.
        macro_rules! bound {
            ($field:ident, $value:expr) => {{
                let value = $value.map_err(misfit)?;
                if layer.comes_with_project() && self.$field.value.is_some_and(|own| value.is_none_or(|new| new > own))
                {
                    return Err(entry.place.problem(
                        ProblemCode::ConfigInvalid,
                        ProblemSeverity::Error,
                        format!("a project may not set `{}` to more than you allow", entry.key.as_str()),
                        "set it in your own config.toml, or say it with the command",
                    ));
                }
                self.$field = Setting { value, origin: entry.origin.clone() };
            }};
        }
        match entry.key {
            SettingKey::SkillsEnabled => set!(skills_enabled, raw.flag()),
            SettingKey::SkillsDirs => set!(skills_dirs, raw.list()),
            SettingKey::SkillsExtraDirs => set!(skills_extra_dirs, raw.list()),
            SettingKey::SkillsBuiltin => set!(skills_builtin, raw.flag()),
            SettingKey::SkillsBuiltinDir | SettingKey::SkillsSyncDir => {
                let value = path().map_err(misfit)?;
                if layer.comes_with_project() && !inside(&value, &places.project) {
                    return Err(entry.place.problem(
                        ProblemCode::ConfigInvalid,
                        ProblemSeverity::Error,
                        format!("a project may not set `{}` to a directory outside itself", entry.key.as_str()),
                        "name a directory inside the project, or set it in your own config.toml",
                    ));
                }
                let setting = Setting { value, origin: entry.origin.clone() };
                match entry.key {
                    SettingKey::SkillsBuiltinDir => self.skills_builtin_dir = setting,
                    _ => self.skills_sync_dir = setting,
                }
            }
            SettingKey::SkillsSyncOnStart => set!(skills_sync_on_start, raw.flag()),
            SettingKey::SkillsValidation => {
                let words = [("lenient", SkillValidation::Lenient), ("strict", SkillValidation::Strict)];
                set!(skills_validation, raw.choice(&words));
            }
            SettingKey::SkillsIndex => set!(skills_index, raw.flag()),
            SettingKey::SkillsMaxSelectedImpl => set!(skills_max_selected_impl, raw.count(255)),
            SettingKey::SkillsMaxSelectedReview => set!(skills_max_selected_review, raw.count(255)),
            SettingKey::SkillsLoadReferences => set!(skills_load_references, raw.flag()),
            SettingKey::SkillsMaxBodyChars => set!(skills_max_body_chars, raw.count(MOST_BODY_CHARS)),
            SettingKey::SkillsBudgetTokens => set!(skills_budget_tokens, raw.count(MOST_BUDGET_TOKENS)),
            SettingKey::PromptMaxChars => set!(prompt_max_chars, raw.number(LEAST_PROMPT_CHARS..=MOST_PROMPT_CHARS)),
            SettingKey::SessionSilenceMinutes => set!(session_silence_minutes, raw.number(1..=MOST_SILENCE_MINUTES)),
            SettingKey::TaskWhenDone => {
                let words = [("completed", DoneStatus::Complete), ("in_review", DoneStatus::Review)];
                set!(task_when_done, raw.choice(&words));
            }
            SettingKey::EventRetentionDays => set!(event_retention_days, raw.number(1..=MOST_RETENTION_DAYS)),
            SettingKey::BackupsKept => set!(backups_kept, raw.number(0..=MOST_BACKUPS)),
            SettingKey::Agent => set!(agent, raw.text()),
            SettingKey::Verify => set!(verify, raw.commands()),
            SettingKey::WorktreeCopy => set!(worktree_copy, raw.list()),
            SettingKey::WorktreeSetup => set!(worktree_setup, raw.commands()),
            SettingKey::MergeWhenDone => set!(merge_when_done, raw.flag()),
            SettingKey::TaskMinutes => bound!(task_minutes, raw.amount()),
            SettingKey::TaskTokens => bound!(task_tokens, tokens()),
            SettingKey::TaskCost => bound!(task_cost, raw.amount()),
            SettingKey::PlanMinutes => bound!(plan_minutes, raw.amount()),
            SettingKey::PlanTokens => bound!(plan_tokens, tokens()),
            SettingKey::PlanCost => bound!(plan_cost, raw.amount()),
            SettingKey::ToolPrefix => set!(tool_prefix, raw.prefix()),
            SettingKey::McpForms => {
                let words = [("auto", FormsMode::Auto), ("always", FormsMode::Always), ("never", FormsMode::Never)];
                set!(mcp_forms, raw.choice(&words));
            }
            SettingKey::Auth => set!(auth, raw.choice(&[("local", AuthMode::Local), ("required", AuthMode::Required)])),
        }
        Ok(())
    }

    /// Whether an entry is one of the places where skills are looked for by default.
    pub fn is_usual_dir(entry: &str) -> bool {
        DIRS.contains(&entry) || EXTRA_DIRS.contains(&entry) || entry == SHARED_DIR
    }

    /// One setting as JSON, with its origin.
    pub fn get(&self, key: SettingKey) -> (Json, &SettingOrigin) {
        fn path(setting: &Setting<PathBuf>) -> (Json, &SettingOrigin) {
            (json!(setting.value.to_string_lossy()), &setting.origin)
        }
        fn plain<T: Serialize>(setting: &Setting<T>) -> (Json, &SettingOrigin) {
            (json!(setting.value), &setting.origin)
        }
        fn limit<T: Serialize + Default + Copy>(setting: &Setting<Option<T>>) -> (Json, &SettingOrigin) {
            (json!(setting.value.unwrap_or_default()), &setting.origin)
        }
        match key {
            SettingKey::SkillsEnabled => plain(&self.skills_enabled),
            SettingKey::SkillsDirs => plain(&self.skills_dirs),
            SettingKey::SkillsExtraDirs => plain(&self.skills_extra_dirs),
            SettingKey::SkillsBuiltin => plain(&self.skills_builtin),
            SettingKey::SkillsBuiltinDir => path(&self.skills_builtin_dir),
            SettingKey::SkillsSyncDir => path(&self.skills_sync_dir),
            SettingKey::SkillsSyncOnStart => plain(&self.skills_sync_on_start),
            SettingKey::SkillsValidation => plain(&self.skills_validation),
            SettingKey::SkillsIndex => plain(&self.skills_index),
            SettingKey::SkillsMaxSelectedImpl => plain(&self.skills_max_selected_impl),
            SettingKey::SkillsMaxSelectedReview => plain(&self.skills_max_selected_review),
            SettingKey::SkillsLoadReferences => plain(&self.skills_load_references),
            SettingKey::SkillsMaxBodyChars => plain(&self.skills_max_body_chars),
            SettingKey::SkillsBudgetTokens => plain(&self.skills_budget_tokens),
            SettingKey::PromptMaxChars => plain(&self.prompt_max_chars),
            SettingKey::SessionSilenceMinutes => plain(&self.session_silence_minutes),
            SettingKey::TaskWhenDone => plain(&self.task_when_done),
            SettingKey::EventRetentionDays => plain(&self.event_retention_days),
            SettingKey::BackupsKept => plain(&self.backups_kept),
            SettingKey::Agent => plain(&self.agent),
            SettingKey::Verify => plain(&self.verify),
            SettingKey::WorktreeCopy => plain(&self.worktree_copy),
            SettingKey::WorktreeSetup => plain(&self.worktree_setup),
            SettingKey::MergeWhenDone => plain(&self.merge_when_done),
            SettingKey::TaskMinutes => limit(&self.task_minutes),
            SettingKey::TaskTokens => limit(&self.task_tokens),
            SettingKey::TaskCost => limit(&self.task_cost),
            SettingKey::PlanMinutes => limit(&self.plan_minutes),
            SettingKey::PlanTokens => limit(&self.plan_tokens),
            SettingKey::PlanCost => limit(&self.plan_cost),
            SettingKey::ToolPrefix => plain(&self.tool_prefix),
            SettingKey::McpForms => plain(&self.mcp_forms),
            SettingKey::Auth => plain(&self.auth),
        }
    }
}

/// Whether an absolute path stays below `root` once its `..` are taken literally.
fn inside(path: &Path, root: &Path) -> bool {
    use std::path::Component;
    path.starts_with(root) && !path.components().any(|part| part == Component::ParentDir)
}

#[cfg(test)]
mod tests;
