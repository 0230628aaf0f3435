//! Skills of every format in one catalogue.
//!
//! This crate reads the file system and never writes to it: what must be written is returned as data. It knows
//! no database, no network and no terminal. Loading executes nothing, and a broken skill never hides a good one:
//! loading returns skills *and* problems. It prints nothing; what is skipped, damaged or slow is logged.

mod bytes;
mod cache;
mod card;
mod card_key;
mod catalogue;
mod catalogue_entry;
mod catalogue_search;
mod checksum;
mod clients;
mod command;
mod dependencies;
mod directory;
mod directory_visit;
mod encoded_skill;
mod file_stamp;
pub mod folder;
mod format;
pub mod frontmatter;
mod habits;
mod index;
mod instructions;
mod pack;
mod plugins;
mod prompt;
pub mod render;
mod roles;
mod roots;
mod rules;
mod scan;
mod select;
mod skill;
mod text;
mod vectors;
mod watch;

pub use cache::CatalogueCache;
pub use card_key::CardKey;
pub use catalogue::{BrokenSkill, Catalogue, NameLookup, RootReport, ShadowedSkill};
pub use catalogue_entry::CatalogueEntry;
pub use clients::{CLIENTS, SkillClient, SkillVisibility};
pub use dependencies::{ResolvedSkills, resolve_dependencies, skills_for_role};
pub use format::split_tools;
pub use habits::{SkillHabits, UsageVerdict, corrections};
pub use index::IndexStore;
pub use instructions::{check_text, envelope, instructions, instructions_file, unplaced_envelope};
pub use pack::{FileWrite, PackError, SkillPack, SyncPlan};
pub use prompt::{PromptLimits, TaskPrompt, skill_table, task_prompt, task_section, task_with_skills};
pub use roles::{RoleSkills, named_roles, role_skills};
pub use roots::{RootOwner, SkillRoot, project_of, root_lists, search_order};
pub use rules::{NameFault, hidden_character, name_fault, valid_name};
pub use select::{SelectionResult, SkillSelector, TYPICAL_TASKS, TaskNeeds, fitting_prompt, prompt_label};
pub use skill::{
    InvocationRules, Skill, SkillCommand, SkillFormat, SkillHeading, SkillId, SkillLocation, SkillSource, SkillType,
};
pub use text::{FileContents, MAX_TEXT_BYTES, read_bounded};
pub use vectors::SkillVectors;
pub use watch::CatalogueWatcher;
