//! Skills as Markdown, one after the other.
//!
//! A rule, the name with its version, the description, then the instructions if there are any.

use super::body::LoadedBody;
use crate::skill::Skill;

pub(super) fn row(skill: &Skill, description: &str) -> String {
    format!("---\n# {} (v{})\n\n{description}", skill.display_name, skill.version)
}

/// A skill with its instructions. Several are joined by a blank line.
pub fn full(skill: &Skill, body: &LoadedBody) -> String {
    let header = row(skill, &skill.description);
    if body.text.is_empty() { header } else { format!("{header}\n\n{}", body.text) }
}
