//! Settings and the origin of each value.
//!
//! Settings are built from layers of text: defaults, the user's file, the project's files, the environment,
//! flags. Every value remembers where it came from. Reading the files is the caller's business.

mod assign;
mod layer;
mod origin;
mod raw_setting;
mod setting_choices;
mod setting_key;
mod skill_dirs;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::agent::Permission;
use crate::agent::spawn::SessionLimits;
use crate::network_host::NetworkHost;
use crate::problem::Problem;
use crate::rollup::DoneStatus;
use skill_dirs::{EXTRA_DIRS, FIRST_DIRS, SHARED_DIR};

pub use layer::{ConfigText, SettingsLayer};
pub use origin::{SettingAuthor, SettingOrigin};
pub use raw_setting::expand_home;
pub use setting_choices::{AuthMode, ConfinementChoice, FormsMode, NetworkMode, SkillValidation};
pub use setting_key::SettingKey;
pub use skill_dirs::{CLAUDE_PLUGINS, SkillDirOwner, UsualSkillDir, usual_owner};

/// The default limit of a prompt, in characters.
const PROMPT_CHARS: u32 = 200_000;

/// The default limit of a task's cost, in dollars.
const TASK_COST: f64 = 5.0;

/// The default limit of what all agents cost within a day, in dollars.
const DAY_COST: f64 = 50.0;

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
    SkillsDirs, skills_dirs: Vec<String> = skill_dirs::entries(FIRST_DIRS), plain;
    SkillsExtraDirs, skills_extra_dirs: Vec<String> = skill_dirs::entries(EXTRA_DIRS), plain;
    SkillsBuiltin, skills_builtin: bool = true, plain;
    /// Absolute.
    SkillsBuiltinDir, skills_builtin_dir: PathBuf = places.project.join("skills"), path;
    /// Absolute.
    SkillsSyncDir, skills_sync_dir: PathBuf = places.data.join("skills"), path;
    SkillsSyncOnStart, skills_sync_on_start: bool = true, plain;
    SkillsValidation, skills_validation: SkillValidation = SkillValidation::Lenient, plain;
    SkillsIndex, skills_index: bool = true, plain;
    SkillsLearn, skills_learn: bool = true, plain;
    PromptSkills, prompt_skills: bool = true, plain;
    SkillsMaxSelectedImpl, skills_max_selected_impl: u8 = 2, plain;
    SkillsMaxSelectedReview, skills_max_selected_review: u8 = 1, plain;
    SkillsLoadReferences, skills_load_references: bool = false, plain;
    SkillsMaxBodyChars, skills_max_body_chars: usize = 20_000, plain;
    PromptMaxChars, prompt_max_chars: u32 = PROMPT_CHARS, plain;
    SkillsBudgetTokens, skills_budget_tokens: usize = 4_000, plain;
    SessionSilenceMinutes, session_silence_minutes: u32 = 15, plain;
    SessionMinutes, session_minutes: f64 = 60.0, plain;
    SessionSilence, session_silence: f64 = 10.0, plain;
    WaitMinutes, wait_minutes: f64 = 30.0, plain;
    OutagePause, outage_pause: f64 = 30.0, plain;
    TaskWhenDone, task_when_done: DoneStatus = DoneStatus::Complete, plain;
    EventRetentionDays, event_retention_days: u32 = 30, plain;
    BackupsKept, backups_kept: u32 = 7, plain;
    Agent, agent: String = String::new(), plain;
    DemoAgent, demo_agent: bool = false, plain;
    AgentEnv, agent_env: Vec<String> = Vec::new(), plain;
    Network, network: NetworkMode = NetworkMode::All, plain;
    NetworkHosts, network_hosts: Vec<NetworkHost> = Vec::new(), plain;
    AgentMemoryMib, agent_memory_mib: Option<u64> = None, limit;
    AgentProcesses, agent_processes: Option<u64> = Some(4096), limit;
    Confinement, confinement: ConfinementChoice = ConfinementChoice::Auto, plain;
    Verify, verify: Vec<String> = Vec::new(), plain;
    WorktreeCopy, worktree_copy: Vec<String> = Vec::new(), plain;
    WorktreeSetup, worktree_setup: Vec<String> = Vec::new(), plain;
    MergeWhenDone, merge_when_done: bool = false, plain;
    GitSign, git_sign: bool = false, plain;
    GitHooks, git_hooks: bool = false, plain;
    TaskMinutes, task_minutes: Option<f64> = None, limit;
    TaskTokens, task_tokens: Option<u64> = None, limit;
    TaskCost, task_cost: Option<f64> = Some(TASK_COST), limit;
    MaxCostDay, max_cost_day: Option<f64> = Some(DAY_COST), limit;
    PlanMinutes, plan_minutes: Option<f64> = None, limit;
    PlanTokens, plan_tokens: Option<u64> = None, limit;
    PlanCost, plan_cost: Option<f64> = None, limit;
    Notify, notify: Vec<String> = Vec::new(), plain;
    NotifyUrl, notify_url: String = String::new(), plain;
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
    /// The limits of a session for which nothing else is said.
    pub fn session_limits(&self) -> SessionLimits {
        SessionLimits {
            minutes: self.session_minutes.value,
            idle_minutes: self.session_silence.value,
            question_minutes: self.wait_minutes.value,
            outage_seconds: self.outage_pause.value,
            ..SessionLimits::default()
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
}

#[cfg(test)]
mod tests;
