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

use crate::problem::{Code, Problem, ProblemSeverity};
use crate::rollup::DoneStatus;

pub use layer::{ConfigText, SettingsLayer};
pub use origin::{SettingAuthor, SettingOrigin};
pub use raw_setting::expand_home;
pub use setting_choices::{AuthMode, FormsMode, SkillValidation};
pub use setting_key::Key;

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
    /// See [`Key::SkillsEnabled`].
    pub skills_enabled: Setting<bool>,
    /// See [`Key::SkillsDirs`]. Entries are as written: `~` and relative paths are search patterns.
    pub skills_dirs: Setting<Vec<String>>,
    /// See [`Key::SkillsExtraDirs`].
    pub skills_extra_dirs: Setting<Vec<String>>,
    /// See [`Key::SkillsBuiltin`].
    pub skills_builtin: Setting<bool>,
    /// See [`Key::SkillsBuiltinDir`]. Absolute.
    pub skills_builtin_dir: Setting<PathBuf>,
    /// See [`Key::SkillsSyncDir`]. Absolute.
    pub skills_sync_dir: Setting<PathBuf>,
    /// See [`Key::SkillsSyncOnStart`].
    pub skills_sync_on_start: Setting<bool>,
    /// See [`Key::SkillsValidation`].
    pub skills_validation: Setting<SkillValidation>,
    /// See [`Key::SkillsIndex`].
    pub skills_index: Setting<bool>,
    /// See [`Key::SkillsMaxSelectedImpl`].
    pub skills_max_selected_impl: Setting<u8>,
    /// See [`Key::SkillsMaxSelectedReview`].
    pub skills_max_selected_review: Setting<u8>,
    /// See [`Key::SkillsLoadReferences`].
    pub skills_load_references: Setting<bool>,
    /// See [`Key::SkillsMaxBodyChars`].
    pub skills_max_body_chars: Setting<usize>,
    /// See [`Key::PromptMaxChars`].
    pub prompt_max_chars: Setting<u32>,
    /// See [`Key::SkillsBudgetTokens`].
    pub skills_budget_tokens: Setting<usize>,
    /// See [`Key::SessionSilenceMinutes`].
    pub session_silence_minutes: Setting<u32>,
    /// See [`Key::TaskWhenDone`].
    pub task_when_done: Setting<DoneStatus>,
    /// See [`Key::EventRetentionDays`].
    pub event_retention_days: Setting<u32>,
    /// See [`Key::BackupsKept`].
    pub backups_kept: Setting<u32>,
    /// See [`Key::Verify`].
    pub agent: Setting<String>,
    /// See [`Key::Verify`].
    pub verify: Setting<Vec<String>>,
    /// See [`Key::WorktreeCopy`].
    pub worktree_copy: Setting<Vec<String>>,
    /// See [`Key::WorktreeSetup`].
    pub worktree_setup: Setting<Vec<String>>,
    /// See [`Key::MergeWhenDone`].
    pub merge_when_done: Setting<bool>,
    /// See [`Key::TaskMinutes`].
    pub task_minutes: Setting<Option<f64>>,
    /// See [`Key::TaskTokens`].
    pub task_tokens: Setting<Option<u64>>,
    /// See [`Key::TaskCost`].
    pub task_cost: Setting<Option<f64>>,
    /// See [`Key::PlanMinutes`].
    pub plan_minutes: Setting<Option<f64>>,
    /// See [`Key::PlanTokens`].
    pub plan_tokens: Setting<Option<u64>>,
    /// See [`Key::PlanCost`].
    pub plan_cost: Setting<Option<f64>>,
    /// See [`Key::ToolPrefix`].
    pub tool_prefix: Setting<String>,
    /// See [`Key::McpForms`].
    pub mcp_forms: Setting<FormsMode>,
    /// See [`Key::Auth`].
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
                Code::ConfigInvalid,
                ProblemSeverity::Error,
                format!("`{}` is {}", entry.key.as_str(), misfit.found),
                format!("it must be {}", misfit.expected),
            )
        };
        if layer.comes_with_project() && matches!(entry.key, Key::Auth | Key::EventRetentionDays | Key::BackupsKept) {
            return Err(entry.place.problem(
                Code::ConfigInvalid,
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
                        Code::ConfigInvalid,
                        ProblemSeverity::Error,
                        format!("a project may not set `{}` to more than you allow", entry.key.as_str()),
                        "set it in your own config.toml, or say it with the command",
                    ));
                }
                self.$field = Setting { value, origin: entry.origin.clone() };
            }};
        }
        match entry.key {
            Key::SkillsEnabled => set!(skills_enabled, raw.flag()),
            Key::SkillsDirs => set!(skills_dirs, raw.list()),
            Key::SkillsExtraDirs => set!(skills_extra_dirs, raw.list()),
            Key::SkillsBuiltin => set!(skills_builtin, raw.flag()),
            Key::SkillsBuiltinDir | Key::SkillsSyncDir => {
                let value = path().map_err(misfit)?;
                if layer.comes_with_project() && !inside(&value, &places.project) {
                    return Err(entry.place.problem(
                        Code::ConfigInvalid,
                        ProblemSeverity::Error,
                        format!("a project may not set `{}` to a directory outside itself", entry.key.as_str()),
                        "name a directory inside the project, or set it in your own config.toml",
                    ));
                }
                let setting = Setting { value, origin: entry.origin.clone() };
                match entry.key {
                    Key::SkillsBuiltinDir => self.skills_builtin_dir = setting,
                    _ => self.skills_sync_dir = setting,
                }
            }
            Key::SkillsSyncOnStart => set!(skills_sync_on_start, raw.flag()),
            Key::SkillsValidation => {
                let words = [("lenient", SkillValidation::Lenient), ("strict", SkillValidation::Strict)];
                set!(skills_validation, raw.choice(&words));
            }
            Key::SkillsIndex => set!(skills_index, raw.flag()),
            Key::SkillsMaxSelectedImpl => set!(skills_max_selected_impl, raw.count(255)),
            Key::SkillsMaxSelectedReview => set!(skills_max_selected_review, raw.count(255)),
            Key::SkillsLoadReferences => set!(skills_load_references, raw.flag()),
            Key::SkillsMaxBodyChars => set!(skills_max_body_chars, raw.count(MOST_BODY_CHARS)),
            Key::SkillsBudgetTokens => set!(skills_budget_tokens, raw.count(MOST_BUDGET_TOKENS)),
            Key::PromptMaxChars => set!(prompt_max_chars, raw.number(LEAST_PROMPT_CHARS..=MOST_PROMPT_CHARS)),
            Key::SessionSilenceMinutes => set!(session_silence_minutes, raw.number(1..=MOST_SILENCE_MINUTES)),
            Key::TaskWhenDone => {
                let words = [("completed", DoneStatus::Complete), ("in_review", DoneStatus::Review)];
                set!(task_when_done, raw.choice(&words));
            }
            Key::EventRetentionDays => set!(event_retention_days, raw.number(1..=MOST_RETENTION_DAYS)),
            Key::BackupsKept => set!(backups_kept, raw.number(0..=MOST_BACKUPS)),
            Key::Agent => set!(agent, raw.text()),
            Key::Verify => set!(verify, raw.commands()),
            Key::WorktreeCopy => set!(worktree_copy, raw.list()),
            Key::WorktreeSetup => set!(worktree_setup, raw.commands()),
            Key::MergeWhenDone => set!(merge_when_done, raw.flag()),
            Key::TaskMinutes => bound!(task_minutes, raw.amount()),
            Key::TaskTokens => bound!(task_tokens, tokens()),
            Key::TaskCost => bound!(task_cost, raw.amount()),
            Key::PlanMinutes => bound!(plan_minutes, raw.amount()),
            Key::PlanTokens => bound!(plan_tokens, tokens()),
            Key::PlanCost => bound!(plan_cost, raw.amount()),
            Key::ToolPrefix => set!(tool_prefix, raw.prefix()),
            Key::McpForms => {
                let words = [("auto", FormsMode::Auto), ("always", FormsMode::Always), ("never", FormsMode::Never)];
                set!(mcp_forms, raw.choice(&words));
            }
            Key::Auth => set!(auth, raw.choice(&[("local", AuthMode::Local), ("required", AuthMode::Required)])),
        }
        Ok(())
    }

    /// Whether an entry is one of the places where skills are looked for by default.
    pub fn is_usual_dir(entry: &str) -> bool {
        DIRS.contains(&entry) || EXTRA_DIRS.contains(&entry) || entry == SHARED_DIR
    }

    /// One setting as JSON, with its origin.
    pub fn get(&self, key: Key) -> (Json, &SettingOrigin) {
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
            Key::SkillsEnabled => plain(&self.skills_enabled),
            Key::SkillsDirs => plain(&self.skills_dirs),
            Key::SkillsExtraDirs => plain(&self.skills_extra_dirs),
            Key::SkillsBuiltin => plain(&self.skills_builtin),
            Key::SkillsBuiltinDir => path(&self.skills_builtin_dir),
            Key::SkillsSyncDir => path(&self.skills_sync_dir),
            Key::SkillsSyncOnStart => plain(&self.skills_sync_on_start),
            Key::SkillsValidation => plain(&self.skills_validation),
            Key::SkillsIndex => plain(&self.skills_index),
            Key::SkillsMaxSelectedImpl => plain(&self.skills_max_selected_impl),
            Key::SkillsMaxSelectedReview => plain(&self.skills_max_selected_review),
            Key::SkillsLoadReferences => plain(&self.skills_load_references),
            Key::SkillsMaxBodyChars => plain(&self.skills_max_body_chars),
            Key::SkillsBudgetTokens => plain(&self.skills_budget_tokens),
            Key::PromptMaxChars => plain(&self.prompt_max_chars),
            Key::SessionSilenceMinutes => plain(&self.session_silence_minutes),
            Key::TaskWhenDone => plain(&self.task_when_done),
            Key::EventRetentionDays => plain(&self.event_retention_days),
            Key::BackupsKept => plain(&self.backups_kept),
            Key::Agent => plain(&self.agent),
            Key::Verify => plain(&self.verify),
            Key::WorktreeCopy => plain(&self.worktree_copy),
            Key::WorktreeSetup => plain(&self.worktree_setup),
            Key::MergeWhenDone => plain(&self.merge_when_done),
            Key::TaskMinutes => limit(&self.task_minutes),
            Key::TaskTokens => limit(&self.task_tokens),
            Key::TaskCost => limit(&self.task_cost),
            Key::PlanMinutes => limit(&self.plan_minutes),
            Key::PlanTokens => limit(&self.plan_tokens),
            Key::PlanCost => limit(&self.plan_cost),
            Key::ToolPrefix => plain(&self.tool_prefix),
            Key::McpForms => plain(&self.mcp_forms),
            Key::Auth => plain(&self.auth),
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
