//! Directories of an agent's data, expanded for this machine.

/// The user's directories: the word, the variable that names it, and where it is otherwise.
const DIRECTORIES: [(&str, &str, &str); 4] = [
    ("{config}", "XDG_CONFIG_HOME", ".config"),
    ("{data}", "XDG_DATA_HOME", ".local/share"),
    ("{state}", "XDG_STATE_HOME", ".local/state"),
    ("{cache}", "XDG_CACHE_HOME", ".cache"),
];

/// The path that an entry stands for; none, if a variable it needs is not set or is no absolute path.
pub(super) fn expand_dir(entry: &str, env: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let set = |name: &str| env(name).filter(|value| value.starts_with('/'));
    let joined = |base: String, rest: &str| format!("{}{rest}", base.trim_end_matches('/'));
    if let Some(rest) = entry.strip_prefix('$') {
        let end = rest.find('/').unwrap_or(rest.len());
        return Some(joined(set(&rest[..end])?, &rest[end..]));
    }
    if let Some(rest) = entry.strip_prefix('~') {
        return Some(joined(set("HOME")?, rest));
    }
    for (word, variable, below_home) in DIRECTORIES {
        if let Some(rest) = entry.strip_prefix(word) {
            let base = set(variable).or_else(|| Some(joined(set("HOME")?, &format!("/{below_home}"))))?;
            return Some(joined(base, rest));
        }
    }
    entry.starts_with('/').then(|| entry.to_owned())
}
