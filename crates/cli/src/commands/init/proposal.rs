//! Proposal for a project: what was found here, and what one yes would do about it.

use std::fmt::Write as _;

use maestro_core::Settings;
use serde_json::{Value as Json, json};

use crate::args::InitArgs;
use crate::commands::connect::{self, MissingConnections};
use crate::commands::proposed_checks::{self, ProposedCheck};
use crate::host::agents::{self, InstalledAgent};
use crate::host::git_gap::GitGap;
use crate::host::world::World;
use crate::host::{catalogue, config};
use crate::output::command_output::CommandResult;
use crate::output::screen::{clean, clean_path, pad};

/// Whether the project has a config file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigState {
    Missing,
    Written,
}

/// What was found, and what fits.
pub(super) struct SetupProposal {
    agents: Vec<InstalledAgent>,
    pub(super) check: Option<ProposedCheck>,
    setup: Option<&'static str>,
    git: Option<GitGap>,
    pub(super) tools: Option<MissingConnections>,
    /// Why the tools cannot be connected.
    pub(super) obstacle: Option<String>,
}

impl SetupProposal {
    /// Looks at the repository and the machine; writes nothing.
    pub(super) fn look(args: &InitArgs, settings: &Settings, world: &World) -> Self {
        let table = agents::table(world);
        let (tools, obstacle) = if args.no_tools {
            (None, None)
        } else {
            match MissingConnections::find(world) {
                Ok(found) => (Some(found).filter(|found| !found.titles().is_empty()), None),
                // One tool's broken file is no reason not to set the project up.
                Err(error) => (None, Some(error.message().to_owned())),
            }
        };
        Self {
            agents: agents::installed(&table, world),
            check: proposed_checks::missing_check(settings, world),
            setup: proposed_checks::missing_setup(settings, world),
            git: GitGap::find(world),
            tools,
            obstacle,
        }
    }

    /// Both for a person, with what each means.
    pub(super) fn describe(&self, config: &str, state: ConfigState, world: &World) -> CommandResult<String> {
        let settings = config::settings(world)?;
        let has_checks = !settings.verify.value.is_empty();
        let skills = catalogue::load(world, &[], &settings)?.skills.len();
        let mut text = format!("Found in {}\n", clean(&world.display_path(&world.places.project)));
        let mut row = |name: &str, value: String| {
            let _ = writeln!(text, "  {} {value}", world.paint.dim(&pad(name, 8)));
        };
        let agents: Vec<_> = self.agents.iter().map(|agent| clean(&agent.name)).collect();
        let none = "none; `maestro demo` and `--agent demo` work without one".to_owned();
        row("agents", if agents.is_empty() { none } else { agents.join(", ") });
        row("skills", skills.to_string());
        let tools = connect::installed_titles(world);
        row("tools", if tools.is_empty() { "none found".to_owned() } else { tools.join(", ") });
        let unusable = proposed_checks::likely_check(world).filter(|check| !check.is_installed(world));
        row(
            "check",
            match (self.check, unusable) {
                (Some(check), _) => format!("`{}`", check.command),
                (None, Some(check)) => format!("`{}` fits, but `{}` is not installed", check.command, check.program()),
                (None, None) if has_checks => "configured".to_owned(),
                (None, None) => {
                    "none found; `maestro config set --project verify '[\"COMMAND\"]'` names one".to_owned()
                }
            },
        );
        if let Some(gap) = self.git {
            row("git", format!("{}: {}", gap.message(), gap.hint()));
        }
        text.push_str("\nProposed\n");
        let mut step = |what: String, why: &str| {
            let _ = writeln!(text, "  {}\n    {}", what, world.paint.dim(why));
        };
        if state == ConfigState::Missing {
            step(format!("write {config}"), "agents that Maestro starts here get the skills that fit their task");
        }
        if let Some(check) = self.check {
            let what = format!("run `{}` after each task", check.command);
            step(what, "work that fails it is not accepted; the setting `verify` in this file names it");
        }
        if let Some(setup) = self.setup {
            let what = format!("(not done) prepare worktrees with `{setup}`");
            step(what, "it may take long or use the network: set `worktree_setup` if your checks need it");
        }
        if let Some(tools) = &self.tools {
            let files: Vec<_> = tools.files().into_iter().map(clean_path).collect();
            let why = format!("changes {}; `maestro disconnect all` undoes it", files.join(", "));
            step(format!("add skills to your own sessions in {}", tools.titles().join(", ")), &why);
        }
        if state == ConfigState::Written && self.is_empty() && self.setup.is_none() {
            text.push_str("  nothing; it is set up\n");
        }
        Ok(text)
    }

    /// What git lacks before an agent's work can be committed, with the way out.
    pub(super) fn git_hint(&self) -> Option<String> {
        // Who has no git may want the skills alone.
        let gap = self.git.filter(|gap| *gap != GitGap::Program)?;
        Some(format!("hint: {}: {}\n", gap.message(), gap.hint()))
    }

    /// The titles of the tools to connect.
    pub(super) fn tool_titles(&self) -> Vec<&'static str> {
        self.tools.as_ref().map(MissingConnections::titles).unwrap_or_default()
    }

    /// Whether there is anything beside the config file.
    pub(super) fn is_empty(&self) -> bool {
        self.check.is_none() && self.tools.is_none()
    }

    pub(super) fn to_json(&self) -> Json {
        json!({
            "agents": self.agents,
            "check": self.check.map(|check| check.command),
            "tools": self.tool_titles(),
        })
    }
}
