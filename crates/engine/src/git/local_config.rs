//! Settings of a repository's own config that our git calls use: those that say what its contents mean.
//!
//! The config itself is never given to git. It may name programs (filters, hooks, monitors, merge and diff drivers,
//! transports, signers), and everything that is not on the list here is left out.

use std::fmt::Write as _;

/// Settings that are copied.
const COPIED: &[&str] = &[
    "author.email",
    "author.name",
    "committer.email",
    "committer.name",
    "core.autocrlf",
    "core.bigfilethreshold",
    "core.checkstat",
    "core.eol",
    "core.excludesfile",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.safecrlf",
    "core.sharedrepository",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.trustctime",
    "extensions.objectformat",
    "extensions.partialclone",
    "extensions.refstorage",
    "i18n.commitencoding",
    "user.email",
    "user.name",
];

/// Settings of each remote that are copied.
const COPIED_OF_REMOTES: [&str; 5] = ["fetch", "partialclonefilter", "promisor", "pushurl", "url"];

/// Extensions that change nothing for us.
const HARMLESS_EXTENSIONS: [&str; 4] = ["noop", "preciousobjects", "relativeworktrees", "worktreeconfig"];

/// One setting: its name, with section and key in lower case, and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ConfigEntry {
    section: String,
    subsection: Option<String>,
    key: String,
    value: String,
}

impl ConfigEntry {
    /// The name of a setting without a subsection.
    fn plain_name(&self) -> Option<String> {
        self.subsection.is_none().then(|| format!("{}.{}", self.section, self.key))
    }

    fn is_copied(&self) -> bool {
        let of_remote =
            self.section == "remote" && self.subsection.is_some() && COPIED_OF_REMOTES.contains(&self.key.as_str());
        of_remote || self.plain_name().is_some_and(|name| COPIED.contains(&name.as_str()))
    }
}

/// Who uses a config that we write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigUser {
    /// Our own git calls.
    Ourselves,
    /// An agent, in a repository of its own.
    Agent,
}

/// The settings of a repository's own config.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct LocalConfig(Vec<ConfigEntry>);

/// An extension of the repository format that we do not know.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("this repository uses the extension `{0}`, which Maestro does not support")]
pub(crate) struct UnknownExtension(String);

impl LocalConfig {
    /// Parses such a file. What git itself would refuse ends the parsing: nothing after it counts.
    pub(super) fn parse(text: &str) -> Self {
        let text = text.replace("\r\n", "\n");
        Self(ConfigReader { rest: &text, section: String::new(), subsection: None }.collect())
    }

    /// These settings and those of a file that counts more.
    pub(super) fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// The last value of a setting without a subsection.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|entry| entry.plain_name().as_deref() == Some(name)).map(|entry| entry.value.as_str())
    }

    /// The names of the filters it defines.
    pub(super) fn filters(&self) -> impl Iterator<Item = &str> {
        let filters = self.0.iter().filter(|entry| entry.section == "filter");
        filters.filter_map(|entry| entry.subsection.as_deref())
    }

    /// The config of a directory that is ours: the copied settings and nothing else.
    pub(super) fn guarded(&self, user: ConfigUser) -> Result<String, UnknownExtension> {
        let known =
            |key: &str| HARMLESS_EXTENSIONS.contains(&key) || COPIED.contains(&format!("extensions.{key}").as_str());
        if let Some(other) = self.0.iter().find(|entry| entry.section == "extensions" && !known(&entry.key)) {
            return Err(UnknownExtension(other.key.clone()));
        }
        let version = u8::from(self.0.iter().any(|entry| entry.section == "extensions" && entry.is_copied()));
        let logs = user == ConfigUser::Agent;
        let mut text =
            format!("[core]\n\trepositoryformatversion = {version}\n\tbare = false\n\tlogallrefupdates = {logs}\n");
        // The references of an agent are files that we wrote.
        let is_left_out = |entry: &ConfigEntry| {
            entry.value.contains(char::is_control) || (user == ConfigUser::Agent && entry.key == "refstorage")
        };
        for entry in self.0.iter().filter(|entry| entry.is_copied() && !is_left_out(entry)) {
            let quoted = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = match entry.subsection.as_deref().filter(|name| !name.contains(char::is_control)) {
                Some(name) => writeln!(text, "[{} \"{}\"]", entry.section, quoted(name)),
                None if entry.subsection.is_none() => writeln!(text, "[{}]", entry.section),
                None => continue,
            };
            let _ = writeln!(text, "\t{} = \"{}\"", entry.key, quoted(&entry.value));
        }
        Ok(text)
    }
}

/// Iterator over the settings of a config file.
struct ConfigReader<'a> {
    rest: &'a str,
    section: String,
    subsection: Option<String>,
}

impl Iterator for ConfigReader<'_> {
    type Item = ConfigEntry;

    fn next(&mut self) -> Option<ConfigEntry> {
        loop {
            self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\u{feff}');
            match self.rest.chars().next()? {
                '#' | ';' => self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest),
                '[' => self.header()?,
                _ => return self.entry(),
            }
        }
    }
}

impl<'a> ConfigReader<'a> {
    /// Reads `[section]`, `[section "sub"]` or `[section.sub]`.
    fn header(&mut self) -> Option<()> {
        let inner = &self.rest[1..];
        let end = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.'))?;
        let (name, rest) = inner.split_at(end);
        let name = name.to_ascii_lowercase();
        if let Some(rest) = rest.strip_prefix(']') {
            (self.section, self.subsection) = match name.split_once('.') {
                Some((section, sub)) => (section.to_owned(), Some(sub.to_owned())),
                None => (name, None),
            };
            self.rest = rest;
            return Some(());
        }
        let mut chars = rest.trim_start_matches([' ', '\t']).strip_prefix('"')?.chars();
        let mut sub = String::new();
        loop {
            match chars.next()? {
                '\\' => sub.push(chars.next()?),
                '\n' => return None,
                '"' => break,
                other => sub.push(other),
            }
        }
        self.rest = chars.as_str().strip_prefix(']')?;
        (self.section, self.subsection) = (name, Some(sub));
        Some(())
    }

    /// Reads `key`, or `key = value`.
    fn entry(&mut self) -> Option<ConfigEntry> {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(self.rest.len());
        let (key, rest) = self.rest.split_at(end);
        if !key.starts_with(|c: char| c.is_ascii_alphabetic()) || self.section.is_empty() {
            return None;
        }
        let key = key.to_ascii_lowercase();
        let rest = rest.trim_start_matches([' ', '\t']);
        let value = if let Some(rest) = rest.strip_prefix('=') {
            self.value(rest)?
        } else {
            // A comment after it is none for git, and no value either.
            self.rest = if rest.is_empty() { rest } else { rest.strip_prefix('\n')? };
            "true".to_owned()
        };
        Some(ConfigEntry { section: self.section.clone(), subsection: self.subsection.clone(), key, value })
    }

    fn value(&mut self, rest: &'a str) -> Option<String> {
        let mut chars = rest.chars();
        // Blanks count only before something else.
        let (mut value, mut length, mut is_quoted, mut is_comment) = (String::new(), 0, false, false);
        loop {
            match chars.next() {
                None | Some('\n') if is_quoted => return None,
                None | Some('\n') => break,
                Some(_) if is_comment => continue,
                Some('#' | ';') if !is_quoted => is_comment = true,
                Some('"') => is_quoted = !is_quoted,
                Some('\\') => match chars.next()? {
                    '\n' => {}
                    'n' => value.push('\n'),
                    't' => value.push('\t'),
                    'b' => value.push('\u{8}'),
                    same @ ('\\' | '"') => value.push(same),
                    _ => return None,
                },
                Some(blank) if blank.is_ascii_whitespace() && !is_quoted => {
                    value.extend(Some(blank).filter(|_| !value.is_empty()));
                    continue;
                }
                Some(other) => value.push(other),
            }
            if !is_comment {
                length = value.len();
            }
        }
        value.truncate(length);
        self.rest = chars.as_str();
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<(String, String)> {
        let name = |entry: &ConfigEntry| match &entry.subsection {
            Some(sub) => format!("{}.{sub}.{}", entry.section, entry.key),
            None => format!("{}.{}", entry.section, entry.key),
        };
        LocalConfig::parse(text).0.iter().map(|entry| (name(entry), entry.value.clone())).collect()
    }

    #[test]
    fn a_config_is_read_as_git_reads_it() {
        let text = "[core]\r\n\tbare = false ; no\n\tignoreCase\n[Remote \"a \\\"b\"] # x\n url = \"c d\"  e \n\
                    [filter.X]\n\tclean = cat \\\n more\n[user]name=A \\\"B\\\" \n";
        // As printed by `git config --list`.
        let real = [
            ("core.bare", "false"),
            ("core.ignorecase", "true"),
            ("remote.a \"b.url", "c d  e"),
            ("filter.x.clean", "cat  more"),
            ("user.name", "A \"B\""),
        ];
        assert_eq!(named(text), real.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn only_settings_of_the_list_are_copied() {
        let text = "[core]\n fsmonitor = evil\n hooksPath = h\n sshCommand = evil\n autocrlf = input\n\
                    [filter \"own\"]\n clean = evil\n[diff \"d\"]\n textconv = evil\n[include]\n path = evil\n\
                    [remote \"o\\\\\\\"\"]\n url = u\n uploadpack = evil\n[merge \"m\"]\n driver = evil\n\
                    [credential]\n helper = evil\n[gpg]\n program = evil\n[alias]\n log = !evil\n";
        let config = LocalConfig::parse(text);
        assert_eq!(config.filters().collect::<Vec<_>>(), ["own"]);
        let guarded = config.guarded(ConfigUser::Ourselves).unwrap();
        assert!(!guarded.contains("evil") && guarded.contains("autocrlf = \"input\""), "{guarded}");
        assert!(guarded.contains("[remote \"o\\\\\\\"\"]\n\turl = \"u\"\n"), "{guarded}");
    }

    #[test]
    fn an_extension_is_copied_or_refused() {
        let sha256 = LocalConfig::parse("[extensions]\n objectFormat = sha256\n worktreeConfig = true\n");
        assert_eq!(sha256.value("extensions.objectformat"), Some("sha256"));
        assert!(sha256.guarded(ConfigUser::Agent).unwrap().contains("repositoryformatversion = 1"));
        let other = LocalConfig::parse("[extensions]\n other = 1\n");
        assert_eq!(other.guarded(ConfigUser::Agent), Err(UnknownExtension("other".to_owned())));
    }
}
