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

/// A hint about a variable that an agent misses by its own words and that it was not given.
pub(crate) fn missing_hint(
    message: &str,
    agent: &CodingAgent,
    variables: &BTreeMap<String, String>,
    added: &[String],
) -> Option<String> {
    let given = of_agent(agent, variables, added);
    let is_about_variables = message.to_lowercase().contains("environment variable");
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let is_missed = |name: &&str| {
        let is_name = name.contains('_') && name.len() > 3 && name.chars().all(is_part);
        is_name && !given.contains_key(*name) && (is_about_variables || variables.contains_key(*name))
    };
    let name = message.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).find(is_missed)?;
    Some(if variables.contains_key(name) {
        format!("agents do not get your `{name}`; set `agent_env = [\"{name}\"]` in your own config.toml")
    } else {
        format!("`{name}` is not set; set it, and `agent_env = [\"{name}\"]` in your own config.toml")
    })
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use maestro_core::agent::AgentCatalogue;

    use super::*;

    #[test]
    fn a_key_that_an_agent_misses_is_named_with_the_setting_that_gives_it() {
        let catalogue = AgentCatalogue::builtin();
        let codex = catalogue.find("codex").unwrap();
        let variables: BTreeMap<String, String> =
            ["MY_LLM_KEY", "OPENAI_API_KEY"].map(|name| (name.to_owned(), "x".to_owned())).into();
        let hint = |message: &str, added: &[String]| missing_hint(message, codex, &variables, added);
        let said = "Missing environment variable: `MY_LLM_KEY`.";
        assert!(hint(said, &[]).unwrap().contains("agent_env = [\"MY_LLM_KEY\"]"));
        assert_eq!(hint(said, &["MY_LLM_*".to_owned()]), None, "it has it");
        assert_eq!(hint("OPENAI_API_KEY is wrong", &[]), None, "it has it");
        assert!(
            hint("Missing environment variable: `NO_SUCH_KEY`.", &[]).unwrap().starts_with("`NO_SUCH_KEY` is not set")
        );
        assert_eq!(hint("unexpected status 401 INVALID_ARGUMENT", &[]), None);
    }

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
