//! What a step gives its program beside arguments: variables, a directory, secrets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use maestro_core::secret_mask::SecretMask;
use maestro_core::workflow::run::{CommandExit, ProgramContext};

/// A line of a secret that is shorter than this is no secret by itself.
const SHORTEST_LINE: usize = 8;

/// What a program gets beside its arguments. It is not shown by `Debug`: it has secrets.
#[derive(Clone, Default)]
pub(super) struct ProgramExtras {
    pub(super) env: BTreeMap<String, String>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) secrets: BTreeMap<String, String>,
}

impl ProgramExtras {
    /// What a step orders, or why that is not there.
    pub(super) fn of(
        context: &ProgramContext,
        workspace: &Path,
        variables: &BTreeMap<String, String>,
    ) -> Result<Self, String> {
        let mut secrets = BTreeMap::new();
        for name in &context.secrets {
            let value = variables.get(name).filter(|value| !value.is_empty());
            let value =
                value.ok_or_else(|| format!("the secret `{name}` is not set where Maestro runs; export it there"))?;
            secrets.insert(name.clone(), value.clone());
        }
        let cwd = context.cwd.as_deref().map(|cwd| directory(workspace, cwd)).transpose()?;
        Ok(Self { env: context.env.clone(), cwd, secrets })
    }

    /// An exit in whose words the secrets are masked.
    pub(super) fn mask(&self, exit: CommandExit) -> CommandExit {
        if self.secrets.is_empty() {
            return exit;
        }
        let values = self.secrets.values();
        let lines = values.clone().flat_map(|value| value.lines()).filter(|line| line.len() >= SHORTEST_LINE);
        let mask = SecretMask::exactly(values.map(String::as_str).chain(lines));
        match exit {
            CommandExit::Exited { code, output } => CommandExit::Exited { code, output: mask.apply_known_cut(&output) },
            CommandExit::Failed(reason) => CommandExit::Failed(mask.apply_known_cut(&reason)),
            CommandExit::TimedOut => CommandExit::TimedOut,
        }
    }
}

/// A directory of the workspace, wherever links lead.
fn directory(workspace: &Path, name: &str) -> Result<PathBuf, String> {
    let root = workspace.canonicalize().map_err(|error| format!("the workspace cannot be read: {error}"))?;
    let path =
        root.join(name).canonicalize().map_err(|_| format!("there is no directory `{name}` in the workspace"))?;
    let inside = path.strip_prefix(&root).map_err(|_| format!("`{name}` leads out of the workspace"))?;
    if path.is_dir() { Ok(workspace.join(inside)) } else { Err(format!("`{name}` is not a directory")) }
}
