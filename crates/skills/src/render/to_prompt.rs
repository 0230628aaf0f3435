//! Output of `to-prompt` of the Agent Skills reference implementation.

use super::{TableFrame, escape};
use crate::skill::Skill;

pub(super) fn frame() -> TableFrame {
    TableFrame {
        before: "<available_skills>\n".to_owned(),
        after_each: "\n",
        between: "",
        after: "</available_skills>",
    }
}

pub(super) fn row(skill: &Skill, description: &str) -> String {
    let name = escape::html(&escape::one_line(skill.id.as_str()));
    let location = escape::path(&skill.path.join(&skill.file));
    format!(
        "<skill>\n<name>\n{name}\n</name>\n<description>\n{description}\n</description>\n<location>\n{location}\n</location>\n</skill>"
    )
}
