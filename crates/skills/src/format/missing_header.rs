//! Reasons why a `SKILL.md` has no header that can be read, each with its way out.

use std::path::Path;

use maestro_core::workflow::executions::quote_word;
use maestro_core::yaml::SourcePosition;
use maestro_core::{Problem, ProblemCode, ProblemSeverity};

use super::findings::FileFindings;
use crate::frontmatter::{self, HeaderError};
use crate::text::{self, FileHead};

/// The longest text that is taken for the path of a link.
const MAX_PATH_BYTES: usize = 1024;

/// Reports why no header was found.
pub(super) fn explain(head: &FileHead<'_>, reason: HeaderError, findings: &mut FileFindings<'_>) {
    let text = match head.text() {
        Ok(text) => text,
        Err(place) => {
            findings.add(text::not_utf8(&findings.path(), place));
            return;
        }
    };
    if let Some(target) = flattened_link(text).filter(|_| head.whole) {
        findings.add(flattened_link_problem(&findings.path(), target));
    } else if let Some((place, message, help)) = merge_conflict(text) {
        findings.error(ProblemCode::MergeConflict, place, message, help);
    } else if reason == HeaderError::Unclosed && !head.whole {
        findings.error(
            ProblemCode::FrontmatterTooLarge,
            SourcePosition { line: 1, column: 1 },
            "the frontmatter does not end within 64 KiB",
            "put a line `---` after the last field, and move long texts into the body",
        );
    } else {
        let (code, place, message, help) = frontmatter::explain_missing(text, reason);
        findings.error(code, place, message, help);
    }
}

/// Where an unfinished merge left its markers, what that means, and what to do.
pub(super) fn merge_conflict(text: &str) -> Option<(SourcePosition, String, String)> {
    let mut lines = text.lines().enumerate();
    let (begin, _) = lines.find(|(_, line)| line.starts_with("<<<<<<< "))?;
    let divided = lines.any(|(_, line)| line == "=======" || line.starts_with(">>>>>>> "));
    // What a text begins with is a marker even where the rest of the conflict was not read.
    (divided || begin == 0).then(|| {
        let message = "the text has the markers of a merge conflict (`<<<<<<<`, `=======`, `>>>>>>>`)";
        let help = "keep one of the two sides and delete the three marker lines";
        (SourcePosition { line: begin + 1, column: 1 }, message.to_owned(), help.to_owned())
    })
}

/// The path that a file holds in the place of its text: a symbolic link, checked out where links were not supported.
fn flattened_link(text: &str) -> Option<&str> {
    let path = text.trim_end_matches(['\r', '\n']);
    let is_path = path.len() <= MAX_PATH_BYTES && !path.contains(|c: char| c.is_whitespace() || c.is_control());
    let is_markdown = Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
    (is_path && is_markdown && path.contains('/')).then_some(path)
}

fn flattened_link_problem(path: &Path, target: &str) -> Problem {
    let message = format!("its only text is the path `{target}`: a symbolic link that became a plain file");
    let help = format!("make it a link again: ln -sf {} {}", quote_word(target), quote_word(&path.to_string_lossy()));
    Problem::new(ProblemCode::LinkFlattened, ProblemSeverity::Error, path, message, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lone_path_to_a_text_is_a_flattened_link() {
        assert_eq!(flattened_link("../../x/SKILL.md"), Some("../../x/SKILL.md"));
        assert_eq!(flattened_link("skills/x/SKILL.md\r\n"), Some("skills/x/SKILL.md"));
        for text in ["", "SKILL.md", "# Title", "See docs/x.md", "a/b.md\nc/d.md", "https://example.org/x"] {
            assert_eq!(flattened_link(text), None, "{text}");
        }
    }

    #[test]
    fn markers_count_only_as_a_conflict() {
        let text = "---\nname: a\n<<<<<<< HEAD\ndescription: one\n=======\ndescription: two\n>>>>>>> theirs\n---\n";
        assert_eq!(merge_conflict(text).map(|(place, ..)| place.line), Some(3));
        assert!(merge_conflict("Title\n=======\ntext\n").is_none(), "a heading");
        assert!(merge_conflict("In a conflict:\n<<<<<<< is what git writes\n").is_none());
    }
}
