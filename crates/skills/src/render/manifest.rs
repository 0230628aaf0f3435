//! Skills as Markdown, one after the other.
//!
//! A rule, the name with its version, the description, then the instructions if there are any. No text in it can begin
//! another skill's entry.

use super::body::LoadedBody;
use super::escape;
use crate::skill::Skill;

/// The first line of an entry.
const RULE: &str = "---";

pub(super) fn row(skill: &Skill, description: &str) -> String {
    let (name, version) = (escape::one_line(&skill.display_name), escape::one_line(&skill.version));
    format!("{RULE}\n# {name} (v{version})\n\n{description}")
}

/// A skill with its instructions. Several are joined by a blank line.
pub fn full(skill: &Skill, body: &LoadedBody) -> String {
    let header = row(skill, &fenced(&escape::visible(&skill.description)));
    if body.text.is_empty() { header } else { format!("{header}\n\n{}", fenced(&body.text)) }
}

/// A text in which no rule with a heading below looks like the beginning of another entry.
pub(super) fn fenced(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let begins = |at: usize| {
        lines[at].trim() == RULE && lines.get(at + 1).is_some_and(|next| next.trim_start().starts_with("# "))
    };
    let line = |at: usize| if begins(at) { lines[at].replacen(RULE, "\\---", 1) } else { lines[at].to_owned() };
    (0..lines.len()).map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_begin_another_entry() {
        assert_eq!(fenced("a\n---\n# Other (v1)\nb"), "a\n\\---\n# Other (v1)\nb");
        assert_eq!(fenced("---\n# Other (v1)"), "\\---\n# Other (v1)");
        assert_eq!(fenced("a\n---\n\n## Part\n--- \ntext"), "a\n---\n\n## Part\n--- \ntext");
    }
}
