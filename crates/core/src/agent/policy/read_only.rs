//! Commands that only read files of the workspace.

use std::path::Path;

use super::inside;

/// Programs that write nothing and start nothing, whichever of their short options they get.
const READERS: [&str; 8] = ["cat", "grep", "head", "ls", "nl", "pwd", "tail", "wc"];
/// The commands of git that only print.
const TELLS: [&str; 4] = ["diff", "log", "show", "status"];
/// Options of git that only format its output. Others write files or start programs.
const HOW_IT_TELLS: [&str; 10] = [
    "--cached",
    "--name-only",
    "--name-status",
    "--no-color",
    "--no-ext-diff",
    "--oneline",
    "--patch",
    "--porcelain",
    "--short",
    "--stat",
];

/// Whether a command reads files below `workspace`, or what git knows of them, and does nothing besides.
pub(super) fn is_read_only(workspace: &Path, command: &[String]) -> bool {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["git", "--no-pager", verb, rest @ ..] | ["git", verb, rest @ ..] if TELLS.contains(verb) => {
            rest.iter().all(|word| HOW_IT_TELLS.contains(word) || is_harmless(workspace, word))
        }
        [program, rest @ ..] if READERS.contains(program) => rest.iter().all(|word| is_harmless(workspace, word)),
        _ => false,
    }
}

/// A short option without a path in it, or something that is no way out of the workspace, be it a path or not.
fn is_harmless(workspace: &Path, word: &str) -> bool {
    match word.strip_prefix('-') {
        Some("-") => true,
        Some(letters) => letters.chars().all(|letter| letter.is_ascii_alphanumeric()),
        None => matches!(word, "." | "./") || inside(workspace, Path::new(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(command: &str) -> bool {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        is_read_only(Path::new("/w/project"), &words)
    }

    #[test]
    fn looking_around_in_the_worktree_is_looking() {
        for command in [
            "git status --short",
            "git diff HEAD",
            "git --no-pager diff --stat -U5 HEAD -- src/a.rs",
            "git log --oneline -3 main..HEAD",
            "git show HEAD:src/a.rs",
            "cat src/a.rs /w/project/README.md",
            "grep -rn word .",
            "head -n 20 a",
            "ls -la",
            "pwd",
        ] {
            assert!(looks(command), "{command}");
        }
    }

    #[test]
    fn what_leads_elsewhere_writes_or_starts_something_is_not() {
        for command in [
            "git diff --output=src/a.rs",
            "git diff --ext-diff",
            "git diff --no-index /etc/passwd a",
            "git diff /etc/passwd a",
            "git -c core.pager=x diff",
            "git -C /w/other status",
            "git commit",
            "git",
            "cat /etc/passwd",
            "cat ../other/a",
            "cat .git/config",
            "grep -f/etc/passwd a",
            "grep --file=/etc/passwd a",
            "./cat a",
            "/tmp/cat a",
            "PATH=. cat a",
            "sed -i s a",
            "find . -delete",
            "",
        ] {
            assert!(!looks(command), "{command}");
        }
    }
}
