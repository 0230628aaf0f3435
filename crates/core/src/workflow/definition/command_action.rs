//! Commands and built-in actions of engine steps.

use std::collections::BTreeMap;

use super::PlacedValue;
use crate::workflow::name::Name;
use crate::workflow::template::{Template, ValueReference};

/// What is executed.
#[derive(Debug, Clone, PartialEq)]
pub enum CommandAction {
    /// A program with its arguments. The program is a fixed text; there is always one.
    Program {
        /// What is started.
        program: String,
        /// What it is given.
        arguments: Vec<CommandArgument>,
    },
    /// Something the program can do itself.
    BuiltinCommand {
        /// Which.
        builtin: BuiltinCommand,
        /// With what.
        arguments: BTreeMap<Name, PlacedValue<Template>>,
    },
    /// A fixed script; values reach it by its environment only.
    Shell {
        /// The script.
        script: String,
        /// Its environment.
        env: BTreeMap<String, PlacedValue<Template>>,
    },
}

/// What a program or script is executed with beside its arguments.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProgramSetting {
    /// Variables of its environment.
    pub env: BTreeMap<String, PlacedValue<Template>>,
    /// The directory it works in, below the workspace.
    pub cwd: Option<PlacedValue<Template>>,
    /// Variables that it gets from Maestro's own environment, and that are masked in what it prints.
    pub secrets: Vec<String>,
}

impl ProgramSetting {
    /// Every text in it.
    pub fn texts(&self) -> impl Iterator<Item = &PlacedValue<Template>> {
        self.env.values().chain(&self.cwd)
    }
}

/// One argument of a program.
#[derive(Debug, Clone, PartialEq)]
pub enum CommandArgument {
    /// Always exactly one argument.
    Text(PlacedValue<Template>),
    /// As many as files match, one argument each.
    Glob(PlacedValue<Template>),
    /// One argument for each item of a list.
    Spread(ValueReference, crate::yaml::SourcePosition),
}

/// Whether an execution can be repeated without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEffects {
    /// It changes nothing.
    Read,
    /// It changes something, and doing so twice is the same as once.
    Idempotent,
    /// It changes something.
    Write,
}

impl CommandEffects {
    /// Whether it may be run again after a crash.
    pub fn repeatable(self) -> bool {
        matches!(self, Self::Read | Self::Idempotent)
    }
}

/// What is made of a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputParsing {
    /// Text without white space around it.
    #[default]
    Text,
    /// A list of lines.
    Lines,
    /// What the JSON says.
    Json,
}

/// How often a failed execution is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommandRetry {
    /// How many more times.
    pub max: u32,
    /// How many seconds to wait before each.
    pub delay: u32,
}

macro_rules! builtins {
    ($($variant:ident = $word:literal, $effects:ident, [$($argument:literal),*], $doc:literal;)+) => {
        /// What the program can do itself.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum BuiltinCommand {
            $(#[doc = $doc] #[serde(rename = $word)] $variant,)+
        }

        impl BuiltinCommand {
            /// Every one of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Its name.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// Whether it can be repeated.
            pub fn effects(self) -> CommandEffects {
                match self { $(Self::$variant => CommandEffects::$effects,)+ }
            }

            /// Whether it changes nothing.
            pub fn only_reads(self) -> bool {
                self.effects() == CommandEffects::Read
            }

            /// The names of its arguments.
            pub fn arguments(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($argument),*],)+ }
            }
        }
    };
}

builtins! {
    Glob = "glob", Read, ["pattern"], "Files that match a pattern.";
    Now = "now", Read, ["format"], "The time.";
    ReadFile = "read_file", Read, ["path"], "A file's text.";
    Exists = "exists", Read, ["path"], "Whether a file is there.";
    PlanNext = "plan.next", Read, ["plan", "most", "aside", "in"], "The next open task of a plan.";
    SkillsSelect = "skills.select", Read, ["task", "in"], "The skills for a task.";
    GitDiff = "git.diff", Read, ["base", "in"], "What changed.";
    GitHead = "git.head", Read, ["in"], "What is checked out.";
    GitTree = "git.tree", Read, ["in"], "What all files are now.";
    PlanOutline = "plan.outline", Read, ["plan", "stage", "base", "size", "complete", "fingerprint", "in"], "What a milestone plan says, if it is sound.";
    PlanWave = "plan.wave", Read, ["plan", "given", "fingerprint", "in"], "The milestones that come next.";
    PlanChanges = "plan.changes", Read, ["plan", "since", "reasons", "explained", "fingerprint", "in"], "What changed, held against a milestone plan.";
    PlanCoverage = "plan.coverage", Read, ["plan", "review", "items", "scopes", "in"], "Whether the items of a review cover a milestone plan.";
    SkillsSync = "skills.sync", Idempotent, [], "Copy the skill packs.";
    PlanTick = "plan.tick", Idempotent, ["plan", "line", "text", "in"], "Tick a task of a plan.";
    PlanTake = "plan.take", Idempotent, ["plan", "most", "among", "in"], "Take a task of a plan that no other run has taken.";
    BranchOpen = "branch.open", Idempotent, ["name", "base"], "Make a branch that several runs work for.";
    WorktreeOpen = "worktree.open", Idempotent, ["name", "base"], "Open a worktree.";
    WorktreeSetup = "worktree.setup", Idempotent, ["in"], "Make a worktree ready for work.";
    WorktreeClose = "worktree.close", Idempotent, ["name", "landed"], "Close a worktree.";
    GitCommit = "git.commit", Idempotent, ["message", "merges", "since", "in"], "Commit what changed.";
    GitCatchUp = "git.catch_up", Idempotent, ["onto", "plan", "in"], "Put what was done on top of a branch.";
    GitLand = "git.land", Idempotent, ["onto", "message", "plan", "line", "text", "in"], "Commit what was done onto a branch.";
    GitSetAside = "git.set_aside", Idempotent, ["name", "task", "reason", "in"], "Keep the work on a task on a branch of its own.";
    GitMerge = "git.merge", Idempotent, ["branch"], "Merge a branch.";
    Verify = "verify", Idempotent, ["in"], "Run the configured checks.";
}
