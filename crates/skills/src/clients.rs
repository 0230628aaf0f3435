//! Skill visibility in other clients: whether each finds a skill, and how much of it it shows.
//!
//! Each client looks in other places and cuts at other lengths. This is what is known of them, as data.

use std::fmt;
use std::path::{Path, PathBuf};

use maestro_core::settings::SettingsDirs;

use crate::skill::{Skill, SkillFormat};

/// What is known of how a client finds skills.
#[derive(Debug)]
pub struct SkillClient {
    /// The program that is started.
    pub program: &'static str,
    /// Where it looks in a project.
    project: &'static [&'static str],
    /// Where it looks in the home directory.
    home: &'static [&'static str],
    depth: SearchDepth,
    /// How many characters of a description it shows at most.
    shown: Option<usize>,
}

/// How far below its directories a client looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchDepth {
    /// Only folders right below.
    One,
    /// Groups of folders too.
    Groups,
}

/// The clients whose ways are known.
pub const CLIENTS: &[SkillClient] = &[
    SkillClient {
        program: "claude",
        project: &[".claude/skills"],
        home: &[".claude/skills"],
        depth: SearchDepth::One,
        shown: Some(1536),
    },
    SkillClient {
        program: "codex",
        project: &[".agents/skills", ".codex/skills"],
        home: &[".agents/skills", ".codex/skills"],
        depth: SearchDepth::Groups,
        shown: None,
    },
    SkillClient {
        program: "opencode",
        project: &[".opencode/skills", ".opencode/skill", ".claude/skills", ".agents/skills"],
        home: &[".config/opencode/skills", ".config/opencode/skill", ".claude/skills", ".agents/skills"],
        depth: SearchDepth::Groups,
        shown: None,
    },
    SkillClient {
        program: "gemini",
        project: &[".gemini/skills", ".agents/skills"],
        home: &[".gemini/skills", ".agents/skills"],
        depth: SearchDepth::One,
        shown: None,
    },
    SkillClient {
        program: "goose",
        project: &[".goose/skills", ".claude/skills", ".agents/skills"],
        home: &[".agents/skills", ".config/goose/skills", ".claude/skills", ".config/agents/skills"],
        depth: SearchDepth::Groups,
        shown: None,
    },
    SkillClient {
        program: "copilot",
        project: &[".github/skills", ".agents/skills", ".claude/skills"],
        home: &[".copilot/skills", ".agents/skills"],
        depth: SearchDepth::Groups,
        shown: None,
    },
    SkillClient {
        program: "qwen",
        project: &[".qwen/skills", ".agents/skills"],
        home: &[".qwen/skills", ".agents/skills"],
        depth: SearchDepth::One,
        shown: None,
    },
    SkillClient {
        program: "cline",
        project: &[".cline/skills", ".agents/skills"],
        home: &[".cline/skills", ".agents/skills"],
        depth: SearchDepth::One,
        shown: None,
    },
    SkillClient {
        program: "cursor-agent",
        project: &[".cursor/skills", ".agents/skills", ".claude/skills", ".codex/skills"],
        home: &[".cursor/skills", ".agents/skills", ".claude/skills", ".codex/skills"],
        depth: SearchDepth::Groups,
        shown: None,
    },
];

/// What a client makes of a skill by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillVisibility {
    /// It sees it whole.
    Whole,
    /// It sees it, with the description cut.
    Cut {
        /// How many characters it shows.
        shown: usize,
    },
    /// It reads only `SKILL.md`.
    OtherFormat,
    /// It does not look there.
    NotSearched,
    /// It does not look that deep.
    TooDeep,
}

impl fmt::Display for SkillVisibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("sees it"),
            Self::Cut { shown } => write!(f, "cuts its description at {shown} characters"),
            Self::OtherFormat => f.write_str("misses it: it reads only SKILL.md"),
            Self::NotSearched => f.write_str("misses it: it does not look there"),
            Self::TooDeep => f.write_str("misses it: it does not look into groups"),
        }
    }
}

impl SkillClient {
    /// What this client makes of a skill without Maestro's help.
    pub fn visibility_of(&self, skill: &Skill, places: &SettingsDirs) -> SkillVisibility {
        if skill.format != SkillFormat::SkillMd || skill.file != "SKILL.md" {
            return SkillVisibility::OtherFormat;
        }
        let Some(root) = self.roots(places).into_iter().find(|root| skill.path.starts_with(root)) else {
            return SkillVisibility::NotSearched;
        };
        if self.depth == SearchDepth::One && skill.path.parent() != Some(&root) {
            return SkillVisibility::TooDeep;
        }
        match self.shown.filter(|&shown| skill.description.chars().count() > shown) {
            Some(shown) => SkillVisibility::Cut { shown },
            None => SkillVisibility::Whole,
        }
    }

    fn roots(&self, places: &SettingsDirs) -> Vec<PathBuf> {
        let above = places.working_dir.ancestors().take_while(|dir| dir.starts_with(&places.project));
        let project = above.flat_map(|dir: &Path| self.project.iter().map(move |entry| dir.join(entry)));
        project.chain(self.home.iter().map(|entry| places.home.join(entry))).collect()
    }
}
