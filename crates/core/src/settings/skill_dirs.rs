//! Directories where skills are looked for by default, in order, and whose each is.

use serde::{Serialize, Serializer};

crate::word_enum! {
    /// Whose a directory of skills is, by the name that the tool has on the command line.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum SkillDirOwner {
        /// Several tools look there.
        Shared = "shared",
        /// Maestro.
        Maestro = "maestro",
        /// Claude Code.
        ClaudeCode = "claude-code",
        /// OpenCode.
        OpenCode = "opencode",
        /// Cursor.
        Cursor = "cursor",
        /// Aider.
        Aider = "aider",
        /// Codex.
        Codex = "codex",
        /// Gemini CLI.
        Gemini = "gemini",
        /// GitHub Copilot.
        Copilot = "copilot",
        /// Goose.
        Goose = "goose",
        /// Antigravity.
        Antigravity = "antigravity",
        /// Windsurf.
        Windsurf = "windsurf",
        /// Kiro.
        Kiro = "kiro",
        /// Qwen Code.
        Qwen = "qwen",
        /// Junie.
        Junie = "junie",
        /// Cline.
        Cline = "cline",
        /// Crush.
        Crush = "crush",
        /// Roo Code.
        Roo = "roo",
        /// Kilo Code.
        Kilo = "kilo",
    }
}

impl Serialize for SkillDirOwner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A directory where skills are looked for by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsualSkillDir {
    /// As it is written in the settings.
    pub entry: &'static str,
    /// Whose it is.
    pub owner: SkillDirOwner,
}

const fn dir(entry: &'static str, owner: SkillDirOwner) -> UsualSkillDir {
    UsualSkillDir { entry, owner }
}

/// Where Claude Code keeps its plugins. As an entry it stands for the skills of every plugin that is installed.
pub const CLAUDE_PLUGINS: &str = "~/.claude/plugins";

/// The last of Maestro's own directories, unless the environment names another with `SKILLS_DIR`.
pub(super) const SHARED_DIR: &str = "~/.agents-ui/maestro-skills";

/// Where skills are looked for first.
pub(super) const FIRST_DIRS: &[UsualSkillDir] = &[
    dir(".agent/skills", SkillDirOwner::Shared),
    dir("~/.agent/skills", SkillDirOwner::Shared),
    dir(".claude/skills", SkillDirOwner::ClaudeCode),
    dir("~/.claude/skills", SkillDirOwner::ClaudeCode),
];

/// Where skills are looked for next: what many tools read, Maestro's own, then those of single tools.
pub(super) const EXTRA_DIRS: &[UsualSkillDir] = &[
    dir(".agents/skills", SkillDirOwner::Shared),
    dir("~/.agents/skills", SkillDirOwner::Shared),
    dir(".opencode/skills", SkillDirOwner::OpenCode),
    dir("~/.config/opencode/skills", SkillDirOwner::OpenCode),
    dir(".cursor/skills", SkillDirOwner::Cursor),
    dir(".aider/skills", SkillDirOwner::Aider),
    dir(".skills", SkillDirOwner::Maestro),
    dir(".maestro/skills", SkillDirOwner::Maestro),
    dir("~/.skills", SkillDirOwner::Maestro),
    dir("~/.maestro/skills", SkillDirOwner::Maestro),
    dir(SHARED_DIR, SkillDirOwner::Maestro),
    dir("~/.cursor/skills", SkillDirOwner::Cursor),
    dir(".codex/skills", SkillDirOwner::Codex),
    dir("~/.codex/skills", SkillDirOwner::Codex),
    dir(".gemini/skills", SkillDirOwner::Gemini),
    dir("~/.gemini/skills", SkillDirOwner::Gemini),
    dir(".github/skills", SkillDirOwner::Copilot),
    dir("~/.copilot/skills", SkillDirOwner::Copilot),
    dir(".goose/skills", SkillDirOwner::Goose),
    dir("~/.config/goose/skills", SkillDirOwner::Goose),
    dir("~/.config/agents/skills", SkillDirOwner::Shared),
    dir("~/.gemini/antigravity/skills", SkillDirOwner::Antigravity),
    dir("~/.gemini/antigravity-cli/skills", SkillDirOwner::Antigravity),
    dir(".windsurf/skills", SkillDirOwner::Windsurf),
    dir("~/.codeium/windsurf/skills", SkillDirOwner::Windsurf),
    dir(".kiro/skills", SkillDirOwner::Kiro),
    dir("~/.kiro/skills", SkillDirOwner::Kiro),
    dir(".qwen/skills", SkillDirOwner::Qwen),
    dir("~/.qwen/skills", SkillDirOwner::Qwen),
    dir(".junie/skills", SkillDirOwner::Junie),
    dir("~/.junie/skills", SkillDirOwner::Junie),
    dir(".cline/skills", SkillDirOwner::Cline),
    dir("~/.cline/skills", SkillDirOwner::Cline),
    dir(".crush/skills", SkillDirOwner::Crush),
    dir("~/.config/crush/skills", SkillDirOwner::Crush),
    dir(".roo/skills", SkillDirOwner::Roo),
    dir("~/.roo/skills", SkillDirOwner::Roo),
    dir(".kilocode/skills", SkillDirOwner::Kilo),
    dir("~/.kilocode/skills", SkillDirOwner::Kilo),
    dir(CLAUDE_PLUGINS, SkillDirOwner::ClaudeCode),
];

/// Whose a directory is that is looked into by default; none if it is not.
pub fn usual_owner(entry: &str) -> Option<SkillDirOwner> {
    let all = FIRST_DIRS.iter().chain(EXTRA_DIRS);
    all.clone().find(|usual| usual.entry == entry).map(|usual| usual.owner)
}

/// The entries of a list of directories.
pub(super) fn entries(dirs: &[UsualSkillDir]) -> Vec<String> {
    dirs.iter().map(|usual| usual.entry.to_owned()).collect()
}
