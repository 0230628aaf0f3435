//! Skills of every format in one catalogue.
//!
//! This crate reads the file system and never writes to it: what must be written is returned as data. It knows
//! no database, no network and no terminal. Loading executes nothing, and a broken skill never hides a good one:
//! loading returns skills *and* problems.

mod cache;
mod catalogue;
mod clients;
mod command;
mod dependencies;
mod entry;
pub mod folder;
mod format;
pub mod frontmatter;
mod index;
mod listing;
mod pack;
mod prompt;
mod read;
pub mod render;
mod roles;
mod roots;
mod rules;
mod scan;
mod select;
mod skill;
mod text;
mod watch;

pub use cache::CatalogueCache;
pub use catalogue::{Broken, Catalogue, Lookup, RootReport, Shadowed};
pub use clients::{CLIENTS, Client, Sight};
pub use dependencies::{Resolved, for_role, in_order};
pub use entry::{Entry, Heading};
pub use format::split_tools;
pub use index::Memory;
pub use pack::{Edit, Pack, PackError, SyncPlan};
pub use prompt::{PromptLimits, TaskPrompt, task_prompt, task_section, task_with_skills};
pub use read::{check_text, envelope, instructions, instructions_file};
pub use roles::{RoleSkills, named_roles, role_skills};
pub use roots::{Root, project_of, search_order};
pub use rules::{NameFault, hidden_character, name_fault, valid_name};
pub use select::{Selection, Selector, TaskNeeds};
pub use skill::{Command, Format, Invocation, Location, Skill, SkillId, SkillType, Source};
pub use text::{Contents, MAX_TEXT_BYTES, read_bounded};
pub use watch::CatalogueWatcher;
