//! Raw values of settings, and their conversion to the right type.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::network_host::NetworkHost;
use crate::workflow::command_words;

/// How long what a tool's name begins with may be.
const LONGEST_PREFIX: usize = 16;

/// A value as a layer gives it, before the key says what kind it must be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RawSetting {
    Bool(bool),
    Int(i64),
    Fraction(f64),
    Text(String),
    List(Vec<String>),
    /// Untyped text, from the environment, a flag or a `key=value` line.
    Word(String, ListSeparator),
    /// Something no setting can be; the text says what it was.
    Other(&'static str),
}

/// What stands between the items of a list in untyped text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ListSeparator {
    Blank,
    Colon,
}

/// Why a value does not fit: what was expected, and what it was.
#[derive(Debug, PartialEq)]
pub(super) struct SettingMismatch {
    pub(super) expected: String,
    pub(super) found: String,
}

impl RawSetting {
    fn misfit(&self, expected: impl Into<String>) -> SettingMismatch {
        let found = match self {
            Self::Bool(flag) => flag.to_string(),
            Self::Int(number) => number.to_string(),
            Self::Fraction(number) => number.to_string(),
            Self::Text(text) | Self::Word(text, _) => format!("`{text}`"),
            Self::List(_) => "a list".to_owned(),
            Self::Other(what) => (*what).to_owned(),
        };
        SettingMismatch { expected: expected.into(), found }
    }

    pub(super) fn flag(&self) -> Result<bool, SettingMismatch> {
        match self {
            Self::Bool(flag) => Ok(*flag),
            Self::Word(word, _) => match word.trim().to_lowercase().as_str() {
                "true" | "1" | "yes" | "y" | "on" => Ok(true),
                "false" | "0" | "no" | "n" | "off" => Ok(false),
                _ => Err(self.misfit("true or false")),
            },
            _ => Err(self.misfit("true or false")),
        }
    }

    pub(super) fn number<N: TryFrom<i64>>(&self, range: RangeInclusive<i64>) -> Result<N, SettingMismatch> {
        let number = match self {
            Self::Int(number) => Some(*number),
            Self::Word(word, _) => word.trim().parse().ok(),
            _ => None,
        };
        number
            .filter(|number| range.contains(number))
            .and_then(|number| N::try_from(number).ok())
            .ok_or_else(|| self.misfit(format!("a whole number from {} to {}", range.start(), range.end())))
    }

    /// An amount that is a limit, in parts as well; 0 means that there is none.
    pub(super) fn amount(&self) -> Result<Option<f64>, SettingMismatch> {
        let number = match self {
            Self::Int(number) => number.to_string().parse().ok(),
            Self::Fraction(number) => Some(*number),
            Self::Word(word, _) => word.trim().parse().ok(),
            _ => None,
        };
        let number = number.filter(|number: &f64| number.is_finite() && *number >= 0.0);
        let number = number.ok_or_else(|| self.misfit("a number, or 0 for no limit"))?;
        Ok(Some(number).filter(|number| *number > 0.0))
    }

    /// How long something may take, in parts as well: more than nothing, and at most a month of minutes.
    pub(super) fn duration(&self) -> Result<f64, SettingMismatch> {
        const MOST: f64 = 31.0 * 24.0 * 60.0;
        let number = self.amount().ok().flatten().filter(|number| *number <= MOST);
        number.ok_or_else(|| self.misfit("a number greater than 0 and at most 44640"))
    }

    pub(super) fn path(&self, home: &Path, base: &Path) -> Result<PathBuf, SettingMismatch> {
        match self {
            Self::Text(text) | Self::Word(text, _) if !text.trim().is_empty() => {
                Ok(base.join(expand_home(text.trim(), home)))
            }
            _ => Err(self.misfit("a path")),
        }
    }

    /// A word such as the name of a program.
    pub(super) fn text(&self) -> Result<String, SettingMismatch> {
        match self {
            Self::Text(text) | Self::Word(text, _) => Ok(text.trim().to_owned()),
            _ => Err(self.misfit("a name")),
        }
    }

    /// What a tool's name may begin with.
    pub(super) fn prefix(&self) -> Result<String, SettingMismatch> {
        let fits = |text: &String| {
            text.len() <= LONGEST_PREFIX && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        };
        let misfit = || self.misfit(format!("at most {LONGEST_PREFIX} letters, digits, `-` and `_`"));
        self.text().ok().filter(fits).ok_or_else(misfit)
    }

    /// An address on the web, or nothing.
    pub(super) fn web_address(&self) -> Result<String, SettingMismatch> {
        let fits =
            |text: &String| text.is_empty() || ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme));
        self.text().ok().filter(fits).ok_or_else(|| self.misfit("an address with `http://` or `https://`"))
    }

    pub(super) fn list(&self) -> Result<Vec<String>, SettingMismatch> {
        let items: Vec<String> = match self {
            Self::List(items) => items.clone(),
            Self::Word(word, ListSeparator::Blank) => word.split_whitespace().map(str::to_owned).collect(),
            Self::Word(word, ListSeparator::Colon) => word.split(':').map(str::to_owned).collect(),
            _ => return Err(self.misfit("a list of paths")),
        };
        Ok(items.into_iter().filter(|item| !item.trim().is_empty()).collect())
    }

    /// Hosts; in untyped text there are blanks between them.
    pub(super) fn hosts(&self) -> Result<Vec<NetworkHost>, SettingMismatch> {
        let items: Vec<&str> = match self {
            Self::List(items) => items.iter().map(String::as_str).collect(),
            Self::Text(text) | Self::Word(text, _) => text.split_whitespace().collect(),
            _ => return Err(self.misfit("a list of hosts")),
        };
        let parse = |item: &&str| item.parse::<NetworkHost>();
        items.iter().map(parse).collect::<Result<_, _>>().map_err(|bad| SettingMismatch {
            expected: format!("a list of hosts: {bad}"),
            found: "no list of hosts".to_owned(),
        })
    }

    /// Commands that can be executed; what is untyped is one.
    pub(super) fn commands(&self) -> Result<Vec<String>, SettingMismatch> {
        let commands = match self {
            Self::List(items) => items.clone(),
            Self::Text(text) | Self::Word(text, _) => vec![text.clone()],
            _ => return Err(self.misfit("a list of commands")),
        };
        let commands: Vec<String> = commands.into_iter().filter(|command| !command.trim().is_empty()).collect();
        for command in &commands {
            command_words::parse_command(command).map_err(|bad| SettingMismatch {
                expected: format!(
                    "commands: in `{command}` {}; list them one by one, as in `[\"make lint\", \"make test\"]`, or \
                     put them into a script: `sh check.sh`",
                    bad.message
                ),
                found: "no list of commands".to_owned(),
            })?;
        }
        Ok(commands)
    }

    /// What one of these words stands for, or one of the old ones, which are not named any more.
    pub(super) fn choice_or_old<T: Copy>(&self, words: &[(&str, T)], old: &[(&str, T)]) -> Result<T, SettingMismatch> {
        self.choice(old).or_else(|_| self.choice(words))
    }

    /// What one of these words stands for.
    pub(super) fn choice<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, SettingMismatch> {
        let chosen = match self {
            Self::Text(text) | Self::Word(text, _) => words.iter().find(|(word, _)| word == text),
            _ => None,
        };
        chosen.map(|(_, value)| *value).ok_or_else(|| {
            let quoted: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            self.misfit(quoted.join(" or "))
        })
    }
}

/// A path with a leading `~` replaced by the home directory. `~name` is left alone.
pub fn expand_home(path: &str, home: &Path) -> PathBuf {
    match path.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) => rest.strip_prefix('/').map_or_else(|| PathBuf::from(path), |rest| home.join(rest)),
        None => PathBuf::from(path),
    }
}
