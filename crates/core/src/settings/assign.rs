//! Assignment of written values to settings, and the values that a project may not set.

use std::path::{Component, Path, PathBuf};

use super::layer::{self, LayerEntry, SettingsLayer};
use super::raw_setting::{RawSetting, SettingMismatch};
use super::{
    AuthMode, ConfinementChoice, FormsMode, NetworkMode, Setting, SettingKey, Settings, SettingsDirs, SkillValidation,
};
use crate::agent::Permission;
use crate::problem::{Problem, ProblemCode, ProblemSeverity};
use crate::rollup::DoneStatus;

/// The most characters of a skill that a prompt may be asked to hold.
const MOST_BODY_CHARS: i64 = 10_000_000;

/// The most tokens that a table of skills may be allowed.
const MOST_BUDGET_TOKENS: i64 = 1_000_000;

/// The smallest useful limit of a prompt, in characters.
const LEAST_PROMPT_CHARS: i64 = 2_000;

/// The largest limit of a prompt, in characters.
const MOST_PROMPT_CHARS: i64 = 10_000_000;

/// The most minutes that a session may be silent: a week.
const MOST_SILENCE_MINUTES: i64 = 7 * 24 * 60;

/// The most days that events may be kept: a century.
const MOST_RETENTION_DAYS: i64 = 36_500;

/// The most automatic backups that may be kept.
const MOST_BACKUPS: i64 = 1000;

/// The most skills that one task may get.
const MOST_SELECTED: i64 = 255;

const VALIDATIONS: [(&str, SkillValidation); 2] =
    [("lenient", SkillValidation::Lenient), ("strict", SkillValidation::Strict)];

const DONE_STATUSES: [(&str, DoneStatus); 2] = [("completed", DoneStatus::Complete), ("in_review", DoneStatus::Review)];

const FORMS_MODES: [(&str, FormsMode); 3] =
    [("auto", FormsMode::Auto), ("always", FormsMode::Always), ("never", FormsMode::Never)];

const PERMISSIONS: [(&str, Permission); 3] = [
    (Permission::Ask.as_str(), Permission::Ask),
    (Permission::Edits.as_str(), Permission::Edits),
    (Permission::All.as_str(), Permission::All),
];

impl Settings {
    /// Sets what an entry of a layer says, unless its value does not fit or its author may not set it.
    pub(super) fn assign(
        &mut self,
        entry: &LayerEntry,
        layer: &SettingsLayer,
        dirs: &SettingsDirs,
    ) -> Result<(), Problem> {
        let given = GivenSetting { entry, layer, dirs };
        given.check_author()?;
        match entry.key {
            SettingKey::SkillsEnabled => self.skills_enabled = given.value(RawSetting::flag)?,
            SettingKey::SkillsDirs => self.skills_dirs = given.value(RawSetting::list)?,
            SettingKey::SkillsExtraDirs => self.skills_extra_dirs = given.value(RawSetting::list)?,
            SettingKey::SkillsBuiltin => self.skills_builtin = given.value(RawSetting::flag)?,
            SettingKey::SkillsBuiltinDir => self.skills_builtin_dir = given.directory()?,
            SettingKey::SkillsSyncDir => self.skills_sync_dir = given.directory()?,
            SettingKey::SkillsSyncOnStart => self.skills_sync_on_start = given.value(RawSetting::flag)?,
            SettingKey::SkillsValidation => self.skills_validation = given.choice(&VALIDATIONS)?,
            SettingKey::SkillsIndex => self.skills_index = given.value(RawSetting::flag)?,
            SettingKey::PromptSkills => self.prompt_skills = given.value(RawSetting::flag)?,
            SettingKey::SkillsLearn => self.skills_learn = given.value(RawSetting::flag)?,
            SettingKey::SkillsMaxSelectedImpl => self.skills_max_selected_impl = given.number(0, MOST_SELECTED)?,
            SettingKey::SkillsMaxSelectedReview => self.skills_max_selected_review = given.number(0, MOST_SELECTED)?,
            SettingKey::SkillsLoadReferences => self.skills_load_references = given.value(RawSetting::flag)?,
            SettingKey::SkillsMaxBodyChars => self.skills_max_body_chars = given.number(0, MOST_BODY_CHARS)?,
            SettingKey::SkillsBudgetTokens => self.skills_budget_tokens = given.number(0, MOST_BUDGET_TOKENS)?,
            SettingKey::PromptMaxChars => {
                self.prompt_max_chars = given.number(LEAST_PROMPT_CHARS, MOST_PROMPT_CHARS)?;
            }
            SettingKey::SessionSilenceMinutes => {
                self.session_silence_minutes = given.number(1, MOST_SILENCE_MINUTES)?;
            }
            SettingKey::SessionMinutes => self.session_minutes = given.value(RawSetting::duration)?,
            SettingKey::SessionSilence => self.session_silence = given.value(RawSetting::duration)?,
            SettingKey::WaitMinutes => self.wait_minutes = given.value(RawSetting::duration)?,
            SettingKey::OutagePause => self.outage_pause = given.value(RawSetting::duration)?,
            SettingKey::TaskWhenDone => self.task_when_done = given.choice(&DONE_STATUSES)?,
            SettingKey::EventRetentionDays => self.event_retention_days = given.number(1, MOST_RETENTION_DAYS)?,
            SettingKey::BackupsKept => self.backups_kept = given.number(0, MOST_BACKUPS)?,
            SettingKey::Agent => self.agent = given.value(RawSetting::text)?,
            SettingKey::DemoAgent => self.demo_agent = given.value(RawSetting::flag)?,
            SettingKey::AgentEnv => self.agent_env = given.value(RawSetting::list)?,
            SettingKey::Network => self.network = given.choice(&NetworkMode::WORDS)?,
            SettingKey::NetworkHosts => self.network_hosts = given.value(RawSetting::hosts)?,
            SettingKey::AgentMemoryMib => self.agent_memory_mib = given.value(count)?,
            SettingKey::AgentProcesses => self.agent_processes = given.value(count)?,
            SettingKey::Confinement => self.confinement = given.choice(&ConfinementChoice::WORDS)?,
            SettingKey::Verify => self.verify = given.value(RawSetting::commands)?,
            SettingKey::WorktreeCopy => self.worktree_copy = given.value(RawSetting::list)?,
            SettingKey::WorktreeSetup => self.worktree_setup = given.value(RawSetting::commands)?,
            SettingKey::MergeWhenDone => self.merge_when_done = given.right(&self.merge_when_done)?,
            SettingKey::GitSign => self.git_sign = given.value(RawSetting::flag)?,
            SettingKey::GitHooks => self.git_hooks = given.value(RawSetting::flag)?,
            SettingKey::TaskMinutes => self.task_minutes = given.limit(&self.task_minutes, RawSetting::amount)?,
            SettingKey::TaskTokens => self.task_tokens = given.limit(&self.task_tokens, count)?,
            SettingKey::TaskCost => self.task_cost = given.limit(&self.task_cost, RawSetting::amount)?,
            SettingKey::MaxCostDay => self.max_cost_day = given.limit(&self.max_cost_day, RawSetting::amount)?,
            SettingKey::Notify => self.notify = given.value(RawSetting::list)?,
            SettingKey::NotifyUrl => self.notify_url = given.value(RawSetting::web_address)?,
            SettingKey::PlanMinutes => self.plan_minutes = given.limit(&self.plan_minutes, RawSetting::amount)?,
            SettingKey::PlanTokens => self.plan_tokens = given.limit(&self.plan_tokens, count)?,
            SettingKey::PlanCost => self.plan_cost = given.limit(&self.plan_cost, RawSetting::amount)?,
            SettingKey::ToolPrefix => self.tool_prefix = given.value(RawSetting::prefix)?,
            SettingKey::McpForms => self.mcp_forms = given.choice(&FORMS_MODES)?,
            SettingKey::McpPermission => self.mcp_permission = given.choice(&PERMISSIONS)?,
            SettingKey::Auth => {
                self.auth = given.value(|raw| raw.choice_or_old(&AuthMode::WORDS, &AuthMode::OLD_WORDS))?;
            }
        }
        Ok(())
    }
}

/// An entry of a layer, as it becomes the value of a setting.
struct GivenSetting<'a> {
    entry: &'a LayerEntry,
    layer: &'a SettingsLayer,
    dirs: &'a SettingsDirs,
}

impl GivenSetting<'_> {
    /// Refuses what a project may not set at all.
    fn check_author(&self) -> Result<(), Problem> {
        if let Some(help) = self.entry.key.refused_to_projects().filter(|_| self.layer.comes_with_project()) {
            return Err(self.problem(format!("a project may not set `{}`", self.entry.key.as_str()), help));
        }
        Ok(())
    }

    fn value<T>(&self, read: impl FnOnce(&RawSetting) -> Result<T, SettingMismatch>) -> Result<Setting<T>, Problem> {
        let value = read(&self.entry.raw).map_err(|mismatch| {
            let found = format!("`{}` is {}", self.entry.key.as_str(), mismatch.found);
            self.problem(found, &format!("it must be {}", mismatch.expected))
        })?;
        Ok(Setting { value, origin: self.entry.origin.clone() })
    }

    fn number<N: TryFrom<i64>>(&self, least: i64, most: i64) -> Result<Setting<N>, Problem> {
        self.value(|raw| raw.number(least..=most))
    }

    fn choice<T: Copy>(&self, words: &[(&str, T)]) -> Result<Setting<T>, Problem> {
        self.value(|raw| raw.choice(words))
    }

    /// A directory; a project may only name one inside itself.
    fn directory(&self) -> Result<Setting<PathBuf>, Problem> {
        let base = layer::base(self.layer, &self.dirs.project, &self.dirs.working_dir);
        let given = self.value(|raw| raw.path(&self.dirs.home, base))?;
        if self.layer.comes_with_project() && !is_inside(&given.value, &self.dirs.project) {
            return Err(self.problem(
                format!("a project may not set `{}` to a directory outside itself", self.entry.key.as_str()),
                "name a directory inside the project, or set it in your own config.toml",
            ));
        }
        Ok(given)
    }

    /// A limit of what work may cost; checking out a project must not raise it.
    fn limit<T: PartialOrd + Copy>(
        &self,
        own: &Setting<Option<T>>,
        read: impl FnOnce(&RawSetting) -> Result<Option<T>, SettingMismatch>,
    ) -> Result<Setting<Option<T>>, Problem> {
        let given = self.value(read)?;
        let is_raised = own.value.is_some_and(|own| given.value.is_none_or(|new| new > own));
        if self.layer.comes_with_project() && is_raised {
            return Err(self.problem(
                format!("a project may not set `{}` to more than you allow", self.entry.key.as_str()),
                "set it in your own config.toml, or say it with the command",
            ));
        }
        Ok(given)
    }

    /// Whether something is done without asking; checking out a project must not turn it on.
    fn right(&self, own: &Setting<bool>) -> Result<Setting<bool>, Problem> {
        let given = self.value(RawSetting::flag)?;
        if self.layer.comes_with_project() && given.value && !own.value {
            return Err(self.problem(
                format!("a project may not turn on `{}`", self.entry.key.as_str()),
                "set it in your own config.toml, or say it with the command",
            ));
        }
        Ok(given)
    }

    fn problem(&self, message: String, help: &str) -> Problem {
        self.entry.place.problem(ProblemCode::ConfigInvalid, ProblemSeverity::Error, message, help)
    }
}

/// A limit in whole numbers; 0 means that there is none.
fn count(raw: &RawSetting) -> Result<Option<u64>, SettingMismatch> {
    raw.number(0..=i64::MAX).map(|number| Some(number).filter(|number| *number > 0))
}

/// Whether an absolute path stays below `root` once its `..` are taken literally.
fn is_inside(path: &Path, root: &Path) -> bool {
    path.starts_with(root) && !path.components().any(|part| part == Component::ParentDir)
}
