//! Environment variables of a program: few, and no credentials.

use std::collections::BTreeMap;

use super::{ExecutionEnv, SandboxReach};
use crate::caller_sockets;

/// Variables that programs need to find their way.
const NAMES: [&str; 9] = ["PATH", "HOME", "LANG", "TERM", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL"];
/// Beginnings of the names of others.
const PREFIXES: [&str; 3] = ["LC_", "XDG_", "MAESTRO_"];
/// What is in the name of a variable that holds a secret.
const SECRETS: [&str; 4] = ["TOKEN", "SECRET", "PASSWORD", "_KEY"];
/// Variables that our own program knows from the originals.
const OURS: [&str; 3] = ["SKILLS_DIR", "DATA_DIR", "SESSION_DIR"];

/// The environment of a program; our own also speaks for the session that started it.
pub(super) fn of_program(env: &ExecutionEnv, reach: SandboxReach) -> BTreeMap<String, String> {
    let known = |name: &str| NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let ours = |name: &str| reach == SandboxReach::Data && (name.starts_with("MAESTRO_") || OURS.contains(&name));
    let given =
        env.machine.variables.iter().filter(|(name, value)| ours(name) || (known(name) && !is_secret(name, value)));
    let mut variables: BTreeMap<String, String> = given.map(|(name, value)| (name.clone(), value.clone())).collect();
    // Whatever is on the path, `maestro` is the one that runs this.
    let bin = env.machine.home.join("bin").display().to_string();
    let path = match variables.get("PATH") {
        Some(path) if !path.is_empty() => format!("{bin}:{path}"),
        _ => format!("{bin}:/usr/local/bin:/usr/bin:/bin"),
    };
    variables.insert("PATH".to_owned(), path);
    variables.insert("MAESTRO_BIN".to_owned(), env.machine.maestro.display().to_string());
    variables.insert("MAESTRO_HOME".to_owned(), env.machine.home.display().to_string());
    variables.insert("MAESTRO_RUN_ID".to_owned(), env.run.clone());
    if let Some(socket) = &env.socket {
        variables.insert(caller_sockets::VARIABLE.to_owned(), socket.display().to_string());
    }
    // Bytecode that Python writes beside a skill's program would change trusted content.
    variables.insert("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned());
    variables
}

/// Whether a variable holds a secret, or an address with one in it.
fn is_secret(name: &str, value: &str) -> bool {
    let in_address = value.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    in_address || SECRETS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::host::{BareHost, ExecutionHost};
    use crate::identity::ProcessIdentity;
    use crate::sandbox::SandboxSettings;

    #[test]
    fn programs_are_told_the_way_and_no_secrets() {
        let variables = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("MAESTRO_API_URL", "http://127.0.0.1:3000"),
            ("MAESTRO_SESSION_TOKEN", "t"),
            ("MAESTRO_DATABASE", "postgres://me:secret@host/db"),
            ("GITHUB_TOKEN", "g"),
            ("AWS_SECRET_ACCESS_KEY", "a"),
            ("LD_PRELOAD", "/evil.so"),
        ];
        let machine = ExecutionHost {
            host: Arc::new(BareHost),
            maestro: "/opt/maestro".into(),
            home: "/home/me/.maestro".into(),
            own_dirs: Vec::new(),
            shared_dirs: Vec::new(),
            sandbox: SandboxSettings::default(),
            variables: variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            identity: ProcessIdentity::of_this_process(),
            sockets: None,
        };
        let env = ExecutionEnv {
            machine: Arc::new(machine),
            workspace: "/work".into(),
            folders: Vec::new(),
            run: "r1".to_owned(),
            socket: None,
        };
        let names = |reach| of_program(&env, reach).into_keys().collect::<Vec<_>>();
        let ours = ["MAESTRO_API_URL", "MAESTRO_BIN", "MAESTRO_HOME", "MAESTRO_RUN_ID"];
        assert_eq!(
            names(SandboxReach::Workspace),
            [&["LC_ALL"], &ours[..], &["PATH", "PYTHONDONTWRITEBYTECODE"]].concat()
        );
        assert!(names(SandboxReach::Data).contains(&"MAESTRO_SESSION_TOKEN".to_owned()));
        assert!(!names(SandboxReach::Data).contains(&"GITHUB_TOKEN".to_owned()));
        assert_eq!(of_program(&env, SandboxReach::Workspace)["PATH"], "/home/me/.maestro/bin:/bin");
    }
}
