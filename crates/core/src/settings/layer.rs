//! Layers of settings. One reader for each kind of source; none of them
//! opens a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::raw_setting::{ListSeparator, RawSetting};
use super::{SettingAuthor, SettingKey, SettingOrigin};
use crate::problem::{Problem, ProblemCode, ProblemSeverity};

/// One source of settings. Later layers win over earlier ones.
#[derive(Debug, Clone)]
pub enum SettingsLayer {
    /// The user's own `config.toml`.
    User(ConfigText),
    /// A project's `.loop/config` in `key=value` lines.
    LoopConfig(ConfigText),
    /// A project's `.maestro/config.toml`.
    Project(ConfigText),
    /// `MAESTRO_*` variables.
    Environment(BTreeMap<String, String>),
    /// `--set key=value` pairs.
    Flags(Vec<String>),
}

/// A configuration file's place and contents.
#[derive(Debug, Clone)]
pub struct ConfigText {
    /// Where it was read.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// A setting as one layer gives it.
#[derive(Debug)]
pub(super) struct LayerEntry {
    pub(super) key: SettingKey,
    pub(super) raw: RawSetting,
    pub(super) origin: SettingOrigin,
    pub(super) place: EntryPlace,
}

/// Where an entry stands, for problems about it.
#[derive(Debug, Clone)]
pub(super) struct EntryPlace {
    path: PathBuf,
    line: usize,
    column: usize,
}

impl EntryPlace {
    pub(super) fn problem(
        &self,
        code: ProblemCode,
        severity: ProblemSeverity,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Problem {
        Problem::new(code, severity, &self.path, message, help).at(self.line, self.column)
    }
}

impl SettingsLayer {
    /// Whether a checked-out project wrote this layer, rather than the user.
    pub(super) fn comes_with_project(&self) -> bool {
        matches!(self, Self::LoopConfig(_) | Self::Project(_))
    }

    pub(super) fn entries(&self, problems: &mut Vec<Problem>) -> Vec<LayerEntry> {
        match self {
            Self::User(file) => from_toml(file, SettingAuthor::User, problems),
            Self::Project(file) => from_toml(file, SettingAuthor::Project, problems),
            Self::LoopConfig(file) => from_key_value_lines(file, problems),
            Self::Environment(variables) => from_environment(variables, problems),
            Self::Flags(pairs) => from_flags(pairs, problems),
        }
    }
}

fn from_toml(file: &ConfigText, author: SettingAuthor, problems: &mut Vec<Problem>) -> Vec<LayerEntry> {
    let place = |offset: usize| {
        let (line, column) = line_and_column(&file.text, offset);
        EntryPlace { path: file.path.clone(), line, column }
    };
    let table = match DeTable::parse(&file.text) {
        Ok(table) => table,
        Err(error) => {
            let at = place(error.span().map_or(0, |span| span.start));
            problems.push(at.problem(
                ProblemCode::ConfigInvalid,
                ProblemSeverity::Error,
                format!("not valid TOML: {}", error.message()),
                "write one `key = value` a line; text stands in quotes, lists in [ ]",
            ));
            return Vec::new();
        }
    };
    let mut entries = Vec::new();
    for (name, value) in table.get_ref() {
        let at = place(name.span().start);
        match SettingKey::from_word(name.get_ref()) {
            Some(key) => entries.push(LayerEntry {
                key,
                raw: raw_toml(value),
                origin: SettingOrigin::File { path: file.path.clone(), line: at.line, author },
                place: place(value.span().start),
            }),
            None => problems.push(unknown_key(&at, name.get_ref(), ProblemSeverity::Error)),
        }
    }
    entries
}

fn raw_toml(value: &Spanned<DeValue<'_>>) -> RawSetting {
    match value.get_ref() {
        DeValue::Boolean(flag) => RawSetting::Bool(*flag),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(RawSetting::Other("a very large number"), RawSetting::Int),
        DeValue::String(text) => RawSetting::Text(text.to_string()),
        DeValue::Array(items) => items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::String(text) => Some(text.to_string()),
                _ => None,
            })
            .collect::<Option<Vec<_>>>()
            .map_or(RawSetting::Other("a list with something else than text in it"), RawSetting::List),
        DeValue::Float(number) => {
            number.as_str().parse().map_or(RawSetting::Other("a strange number"), RawSetting::Fraction)
        }
        DeValue::Datetime(_) => RawSetting::Other("a date"),
        DeValue::Table(_) => RawSetting::Other("a table"),
    }
}

/// Keys of the plan loop whose configuration this is; they are known, and read where the loop needs them.
const LOOP_KEYS: &[&str] = &[
    "artifact_mode",
    "base_branch",
    "claude_retries",
    "claude_retry_backoff_sec",
    "claude_timeout_sec",
    "completion_mode",
    "context_files",
    "global_log_dir",
    "iterations",
    "log_dir",
    "max_consecutive_review_failures",
    "max_consecutive_verification_failures",
    "measure_cmd",
    "measure_timeout_sec",
    "merge_strategy",
    "merge_target_branch",
    "mode",
    "model",
    "no_gum",
    "no_wait",
    "plans_dir",
    "postmortem",
    "prompt_file",
    "queue_policy",
    "review_model",
    "reviewer",
    "run_branch_prefix",
    "run_naming_mode",
    "run_naming_model",
    "specs_dir",
    "summary_json",
    "verify_timeout_sec",
    "worktree_cleanup",
    "worktree_path_template",
    "worktree_provider",
    "worktrunk_bin",
    "worktrunk_config_path",
    "worktrunk_copy_ignored",
];

/// The checks of a plan loop: on one line, with bars between them, each for a shell.
fn loop_checks(value: &str) -> Vec<String> {
    let is_plain = |check: &str| !check.contains(['&', ';', '<', '>', '$', '`', '*', '?', '(', '{', '\'', '"']);
    let check = |check: &str| if is_plain(check) { check.to_owned() } else { format!("sh -c {}", quoted(check)) };
    value.split('|').map(str::trim).filter(|check| !check.is_empty()).map(check).collect()
}

/// A text as one word of a command.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn from_key_value_lines(file: &ConfigText, problems: &mut Vec<Problem>) -> Vec<LayerEntry> {
    let mut entries = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let place = EntryPlace { path: file.path.clone(), line: index + 1, column: 1 };
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            problems.push(place.problem(
                ProblemCode::ConfigInvalid,
                ProblemSeverity::Error,
                format!("`{line}` is not a `key=value` line"),
                "write key=value, or put # before a comment",
            ));
            continue;
        };
        let (name, value) = (name.trim(), unquoted(value.trim()));
        let known = match name {
            "verify_cmds" => Some((SettingKey::Verify, RawSetting::List(loop_checks(value)))),
            _ => SettingKey::from_word(name).map(|key| (key, RawSetting::Word(value.to_owned(), ListSeparator::Blank))),
        };
        match known {
            Some((key, raw)) => entries.push(LayerEntry {
                key,
                raw,
                origin: SettingOrigin::File {
                    path: file.path.clone(),
                    line: index + 1,
                    author: SettingAuthor::Project,
                },
                place,
            }),
            None if LOOP_KEYS.contains(&name) => {}
            None => problems.push(unknown_key(&place, name, ProblemSeverity::Warning)),
        }
    }
    entries
}

fn unquoted(value: &str) -> &str {
    ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(value)
}

fn from_environment(variables: &BTreeMap<String, String>, problems: &mut Vec<Problem>) -> Vec<LayerEntry> {
    let mut entries = Vec::new();
    for (variable, value) in variables {
        let Some(name) = variable.strip_prefix("MAESTRO_").filter(|_| !value.is_empty()) else { continue };
        let place = EntryPlace { path: format!("${variable}").into(), line: 1, column: 1 };
        let name = name.to_lowercase();
        match SettingKey::from_word(&name) {
            Some(key) => entries.push(LayerEntry {
                key,
                raw: RawSetting::Word(value.clone(), ListSeparator::Colon),
                origin: SettingOrigin::Variable(variable.clone()),
                place,
            }),
            // Other MAESTRO_ variables have other readers; only this family is settings through and through.
            None if name.starts_with("skills_") => problems.push(unknown_key(&place, &name, ProblemSeverity::Error)),
            None => {}
        }
    }
    entries
}

fn from_flags(pairs: &[String], problems: &mut Vec<Problem>) -> Vec<LayerEntry> {
    let mut entries = Vec::new();
    for pair in pairs {
        let place = EntryPlace { path: "--set".into(), line: 1, column: 1 };
        let Some((name, value)) = pair.split_once('=') else {
            problems.push(place.problem(
                ProblemCode::ConfigInvalid,
                ProblemSeverity::Error,
                format!("`{pair}` is not a key=value pair"),
                "write --set key=value",
            ));
            continue;
        };
        match SettingKey::from_word(name.trim()) {
            Some(key) => entries.push(LayerEntry {
                key,
                raw: RawSetting::Word(value.to_owned(), ListSeparator::Colon),
                origin: SettingOrigin::Flag,
                place,
            }),
            None => problems.push(unknown_key(&place, name.trim(), ProblemSeverity::Error)),
        }
    }
    entries
}

fn unknown_key(place: &EntryPlace, name: &str, severity: ProblemSeverity) -> Problem {
    let help = match SettingKey::closest(name) {
        Some(known) => format!("did you mean `{}`?", known.as_str()),
        None => "`maestro config show` lists every setting".to_owned(),
    };
    place.problem(ProblemCode::ConfigUnknown, severity, format!("unknown setting `{name}`"), help)
}

/// Line and column of a byte offset, both from 1, the column in characters.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset.min(text.len())).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |tail| tail.chars().count()) + 1;
    (line, column)
}

/// The directory a relative path of this layer starts from.
pub(super) fn base<'a>(layer: &'a SettingsLayer, project: &'a Path, working_dir: &'a Path) -> &'a Path {
    match layer {
        SettingsLayer::User(file) => file.path.parent().unwrap_or(working_dir),
        SettingsLayer::LoopConfig(_) | SettingsLayer::Project(_) => project,
        SettingsLayer::Environment(_) | SettingsLayer::Flags(_) => working_dir,
    }
}
