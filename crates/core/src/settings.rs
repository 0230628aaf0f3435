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

use crate::agent::Permission;
use crate::problem::{Problem, ProblemCode, ProblemSeverity};
use crate::rollup::DoneStatus;

pub use layer::{ConfigText, SettingsLayer};
pub use origin::{SettingAuthor, SettingOrigin};
pub use raw_setting::expand_home;
pub use setting_choices::{AuthMode, ConfinementChoice, FormsMode, NetworkMode, SkillValidation};
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

/// Declares the settings: the key of each, its field, type and default value, and how it is shown.
macro_rules! settings {
    ($places:ident; $($(#[$note:meta])* $key:ident, $field:ident: $kind:ty = $default:expr, $show:ident;)+) => {
        /// Every setting with its origin.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Settings {
            $(#[doc = concat!("See [`SettingKey::", stringify!($key), "`].")] $(#[$note])* pub $field: Setting<$kind>,)+
        }

        impl Settings {
            /// The default settings.
            pub fn defaults($places: &SettingsDirs) -> Self {
                Self { $($field: Setting { value: $default, origin: SettingOrigin::Default },)+ }
            }

            /// One setting as JSON, with its origin.
            pub fn get(&self, key: SettingKey) -> (Json, &SettingOrigin) {
                match key { $(SettingKey::$key => ($show(&self.$field.value), &self.$field.origin),)+ }
            }
        }
    };
}

settings! { places;
    SkillsEnabled, skills_enabled: bool = false, plain;
    /// Entries are as written: `~` and relative paths are search patterns.
    SkillsDirs, skills_dirs: Vec<String> = DIRS.map(str::to_owned).to_vec(), plain;
    SkillsExtraDirs, skills_extra_dirs: Vec<String> = EXTRA_DIRS.into_iter().chain([SHARED_DIR]).map(str::to_owned).collect(), plain;
    SkillsBuiltin, skills_builtin: bool = true, plain;
    /// Absolute.
    SkillsBuiltinDir, skills_builtin_dir: PathBuf = places.project.join("skills"), path;
    /// Absolute.
    SkillsSyncDir, skills_sync_dir: PathBuf = places.data.join("skills"), path;
    SkillsSyncOnStart, skills_sync_on_start: bool = true, plain;
    SkillsValidation, skills_validation: SkillValidation = SkillValidation::Lenient, plain;
    SkillsIndex, skills_index: bool = true, plain;
    SkillsMaxSelectedImpl, skills_max_selected_impl: u8 = 2, plain;
    SkillsMaxSelectedReview, skills_max_selected_review: u8 = 1, plain;
    SkillsLoadReferences, skills_load_references: bool = false, plain;
    SkillsMaxBodyChars, skills_max_body_chars: usize = 20_000, plain;
    PromptMaxChars, prompt_max_chars: u32 = PROMPT_CHARS, plain;
    SkillsBudgetTokens, skills_budget_tokens: usize = 4_000, plain;
    SessionSilenceMinutes, session_silence_minutes: u32 = 15, plain;
    TaskWhenDone, task_when_done: DoneStatus = DoneStatus::Complete, plain;
    EventRetentionDays, event_retention_days: u32 = 30, plain;
    BackupsKept, backups_kept: u32 = 7, plain;
    Agent, agent: String = String::new(), plain;
    DemoAgent, demo_agent: bool = false, plain;
    AgentEnv, agent_env: Vec<String> = Vec::new(), plain;
    Network, network: NetworkMode = NetworkMode::All, plain;
    Confinement, confinement: ConfinementChoice = ConfinementChoice::Auto, plain;
    Verify, verify: Vec<String> = Vec::new(), plain;
    WorktreeCopy, worktree_copy: Vec<String> = Vec::new(), plain;
    WorktreeSetup, worktree_setup: Vec<String> = Vec::new(), plain;
    MergeWhenDone, merge_when_done: bool = false, plain;
    GitSign, git_sign: bool = false, plain;
    GitHooks, git_hooks: bool = false, plain;
    TaskMinutes, task_minutes: Option<f64> = None, limit;
    TaskTokens, task_tokens: Option<u64> = None, limit;
    TaskCost, task_cost: Option<f64> = None, limit;
    PlanMinutes, plan_minutes: Option<f64> = None, limit;
    PlanTokens, plan_tokens: Option<u64> = None, limit;
    PlanCost, plan_cost: Option<f64> = None, limit;
    ToolPrefix, tool_prefix: String = String::new(), plain;
    McpForms, mcp_forms: FormsMode = FormsMode::Auto, plain;
    McpPermission, mcp_permission: Permission = Permission::Edits, plain;
    Auth, auth: AuthMode = AuthMode::Token, plain;
}

fn plain(value: &impl Serialize) -> Json {
    json!(value)
}

fn path(value: &Path) -> Json {
    json!(value.to_string_lossy())
}

/// A limit as it is written; without one it is 0.
#[expect(clippy::ref_option, reason = "it is called as the others are")]
fn limit<T: Serialize + Default + Copy>(value: &Option<T>) -> Json {
    json!(value.unwrap_or_default())
}

impl Settings {
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
        if let Some(help) = entry.key.refused_to_projects().filter(|_| layer.comes_with_project()) {
            let message = format!("a project may not set `{}`", entry.key.as_str());
            return Err(entry.place.problem(ProblemCode::ConfigInvalid, ProblemSeverity::Error, message, help));
        }
        let path = || raw.path(&places.home, layer::base(layer, &places.project, &places.working_dir));
        macro_rules! set {
            ($field:ident, $value:expr) => {
                self.$field = Setting { value: $value.map_err(misfit)?, origin: entry.origin.clone() }
            };
        }
        macro_rules! set_path {
            ($field:ident) => {{
                let value = path().map_err(misfit)?;
                check_inside(&value, entry, layer, places)?;
                self.$field = Setting { value, origin: entry.origin.clone() };
            }};
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
            SettingKey::SkillsBuiltinDir => set_path!(skills_builtin_dir),
            SettingKey::SkillsSyncDir => set_path!(skills_sync_dir),
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
            SettingKey::DemoAgent => set!(demo_agent, raw.flag()),
            SettingKey::AgentEnv => set!(agent_env, raw.list()),
            SettingKey::Network => set!(network, raw.choice(&NetworkMode::WORDS)),
            SettingKey::Confinement => set!(confinement, raw.choice(&ConfinementChoice::WORDS)),
            SettingKey::Verify => set!(verify, raw.commands()),
            SettingKey::WorktreeCopy => set!(worktree_copy, raw.list()),
            SettingKey::WorktreeSetup => set!(worktree_setup, raw.commands()),
            SettingKey::MergeWhenDone => set!(merge_when_done, raw.flag()),
            SettingKey::GitSign => set!(git_sign, raw.flag()),
            SettingKey::GitHooks => set!(git_hooks, raw.flag()),
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
            SettingKey::McpPermission => {
                let words = [Permission::Ask, Permission::Edits, Permission::All].map(|word| (word.as_str(), word));
                set!(mcp_permission, raw.choice(&words));
            }
            SettingKey::Auth => set!(auth, raw.choice_or_old(&AuthMode::WORDS, &AuthMode::OLD_WORDS)),
        }
        Ok(())
    }

    /// Whether an entry is one of the places where skills are looked for by default.
    pub fn is_usual_dir(entry: &str) -> bool {
        DIRS.contains(&entry) || EXTRA_DIRS.contains(&entry) || entry == SHARED_DIR
    }
}

/// Refuses a directory that a project's file names outside of the project.
fn check_inside(
    path: &Path,
    entry: &layer::LayerEntry,
    layer: &SettingsLayer,
    places: &SettingsDirs,
) -> Result<(), Problem> {
    if !layer.comes_with_project() || inside(path, &places.project) {
        return Ok(());
    }
    Err(entry.place.problem(
        ProblemCode::ConfigInvalid,
        ProblemSeverity::Error,
        format!("a project may not set `{}` to a directory outside itself", entry.key.as_str()),
        "name a directory inside the project, or set it in your own config.toml",
    ))
}

/// Whether an absolute path stays below `root` once its `..` are taken literally.
fn inside(path: &Path, root: &Path) -> bool {
    use std::path::Component;
    path.starts_with(root) && !path.components().any(|part| part == Component::ParentDir)
}

#[cfg(test)]
mod tests;
