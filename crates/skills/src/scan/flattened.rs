//! Links to skill folders that became plain files: a checkout without symbolic links writes the link's path into a file.

use std::path::Path;

use maestro_core::workflow::executions::quote_word;
use maestro_core::{Problem, ProblemCode, ProblemSeverity};

use crate::text::{read_bounded, text_of};

/// The longest text that is taken for the path of a link.
const MAX_PATH_BYTES: u64 = 1024;

/// Whether a file in a root has a name that a link to a folder would have.
pub(super) fn is_named_like_a_folder(name: &str) -> bool {
    !name.contains('.')
}

/// Reports a file of a root that holds nothing but the path of a folder elsewhere.
pub(super) fn problem(path: &Path) -> Option<Problem> {
    let contents = read_bounded(path, MAX_PATH_BYTES).ok().filter(|contents| !contents.cut)?;
    let target = target(text_of(&contents.bytes).ok()?)?;
    let message = format!("its only text is the path `{target}`: a symbolic link to a skill that became a plain file");
    let help = format!("make it a link again: ln -sfn {} {}", quote_word(target), quote_word(&path.to_string_lossy()));
    Some(Problem::new(ProblemCode::LinkFlattened, ProblemSeverity::Error, path, message, help))
}

/// The path of a link that leads out of its folder, as links between folders of skills do.
fn target(text: &str) -> Option<&str> {
    let path = text.trim_end_matches(['\r', '\n']);
    let is_path = !path.contains(|c: char| c.is_whitespace() || c.is_control());
    (is_path && path.starts_with("../") && path.len() > "../".len()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lone_path_to_elsewhere_is_a_link() {
        assert_eq!(target("../../.agents/skills/pdf"), Some("../../.agents/skills/pdf"));
        assert_eq!(target("../shared/pdf\r\n"), Some("../shared/pdf"));
        for text in ["", "../", "pdf", "All rights reserved", "../a\n../b", "/etc/x", "../a b"] {
            assert_eq!(target(text), None, "{text}");
        }
    }
}
