//! Variables of the user's environment that an agent gets: those it needs to find its way, and its own.

use std::collections::BTreeMap;

use maestro_core::agent::CodingAgent;

/// Variables that every agent gets; `*` at the end stands for any rest.
const USUAL: [&str; 42] = [
    // The user, the language and the terminal.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "CI",
    "EDITOR",
    "XDG_CONFIG_*",
    "XDG_DATA_*",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    // The way to the network.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_*",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_*",
    // Who commits, and where tools are.
    "GIT_AUTHOR_*",
    "GIT_COMMITTER_*",
    "CARGO_HOME",
    "RUSTUP_*",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_*",
    "PYENV_*",
    "VIRTUAL_ENV",
];

/// The variables of an agent: the usual ones, those of its table and those the user added.
pub(crate) fn of_agent(
    agent: &CodingAgent,
    variables: &BTreeMap<String, String>,
    added: &[String],
) -> BTreeMap<String, String> {
    let own = agent.inherits.iter().chain(added).map(String::as_str);
    let patterns: Vec<&str> = USUAL.into_iter().chain(own).collect();
    let chosen = |name: &str| patterns.iter().any(|pattern| matches(pattern, name));
    let given = variables.iter().filter(|(name, _)| chosen(name));
    given.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use maestro_core::agent::AgentCatalogue;

    use super::*;

    #[test]
    fn an_agent_gets_its_own_key_and_no_other() {
        let names = [
            "PATH",
            "LC_ALL",
            "XDG_CONFIG_HOME",
            "XDG_RUNTIME_DIR",
            "SSH_AUTH_SOCK",
            "DBUS_SESSION_BUS_ADDRESS",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "MAESTRO_SESSION_TOKEN",
            "LD_PRELOAD",
            "MY_TOOL",
        ];
        let variables = names.map(|name| (name.to_owned(), "x".to_owned())).into();
        let agents = AgentCatalogue::builtin();
        let of = |agent: &str, added: &[&str]| {
            let added: Vec<String> = added.iter().map(|name| (*name).to_owned()).collect();
            of_agent(agents.find(agent).unwrap(), &variables, &added).into_keys().collect::<Vec<_>>()
        };
        assert_eq!(of("claude", &[]), ["ANTHROPIC_API_KEY", "LC_ALL", "PATH", "XDG_CONFIG_HOME"]);
        assert_eq!(of("codex", &["MY_*"]), ["LC_ALL", "MY_TOOL", "OPENAI_API_KEY", "PATH", "XDG_CONFIG_HOME"]);
    }
}
